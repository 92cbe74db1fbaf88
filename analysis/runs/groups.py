"""Groups of rows with equal keys, as arrays.

Rows are sorted by their keys, so that each group is a slice. Groups of equal size form a rectangular array. A
million small groups would take ``groupby().apply`` too long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.statistics import Floats, Integers

_LARGEST = 2**62
"""Limit of a combined key, which is an int64."""


def coded(column: pd.Series) -> tuple[Integers, Any]:
    """Encode a column as numbers in the order of its values; missing values come last.

    Returns
    -------
    codes : array (rows,)
    values : Index or array (values,)
        Value of each code, without a missing value.
    """
    codes, values = pd.factorize(column, sort=True)
    return np.where(codes < 0, len(values), codes), values


def labelled(column: pd.Series, missing: str | int) -> tuple[Integers, NDArray]:
    """Encode a column as numbers in the order of its values; missing values have code 0.

    Parameters
    ----------
    missing : str or int
        Label of missing values.

    Returns
    -------
    codes : array (rows,)
    labels : array (values + 1,)
        Label of each code, `missing` first: whole numbers if `missing` is a number, else objects.
    """
    codes, values = pd.factorize(column, sort=True)
    return codes + 1, np.array([missing, *values], np.int64 if isinstance(missing, int) else object)


def combined(keys: Sequence[Integers]) -> Integers:
    """Combine several keys into one key, array (rows,), that sorts rows by the first key, then by the next.

    Parameters
    ----------
    keys : sequence of arrays (rows,)
        Whole numbers of 0 or more.
    """
    joint_key = np.zeros(len(keys[0]), np.int64)
    joint_values = 1
    for key in keys:
        values = int(key.max(initial=0)) + 1
        if joint_values * values > _LARGEST:  # number the values in use without gaps
            joint_key = np.unique(joint_key, return_inverse=True)[1].astype(np.int64)
            joint_values = int(joint_key.max(initial=0)) + 1
        joint_key, joint_values = joint_key * values + key, joint_values * values
    return joint_key


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of the rows of a table that agree in their keys.

    Attributes
    ----------
    order : array (rows,)
        Rows sorted by group; within a group in their original order.
    first : array (groups,)
        Position of each group in `order`.
    size : array (groups,)
        Number of rows of each group.
    """

    order: Integers
    first: Integers
    size: Integers

    @classmethod
    def of(cls, *keys: Integers) -> Groups:
        """Group the rows that agree in all `keys`; groups ascend by the first key, then by the next."""
        key = combined(keys)
        order = np.argsort(key, kind="stable")
        return cls(order, *runs_of(key[order]))

    @property
    def number(self) -> Integers:
        """Group of each row, array (rows,)."""
        number = np.empty(len(self.order), np.int64)
        number[self.order] = np.repeat(np.arange(len(self.first)), self.size)
        return number

    @property
    def position(self) -> Integers:
        """Position of each row in its group, from 0, array (rows,)."""
        position = np.empty(len(self.order), np.int64)
        position[self.order] = np.arange(len(self.order)) - np.repeat(self.first, self.size)
        return position

    @property
    def rows(self) -> Integers:
        """First row of each group, array (groups,)."""
        return self.order[self.first]

    def of_size(self) -> Iterator[tuple[Integers, Integers]]:
        """Yield, for each size, the groups of this size (groups,) and their rows (groups, size)."""
        for groups, positions in rectangles(self.first, self.size):
            yield groups, self.order[positions]

    def median(self, values: Floats) -> Floats:
        """Compute the median of each group, array (groups,); NaN if a value of the group is NaN."""
        medians = np.empty(len(self.first))
        for groups, rows in self.of_size():
            medians[groups] = values[rows[:, 0]] if rows.shape[1] == 1 else np.median(values[rows], axis=1)
        return medians


def runs_of(ordered: NDArray) -> tuple[Integers, Integers]:
    """Return the first position and the length of each run of equal values in a row, arrays (runs,)."""
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
    return first, np.diff(first, append=len(ordered))


def rectangles(first: Integers, size: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Yield the slices of each length as a rectangle of positions.

    Parameters
    ----------
    first, size : arrays (slices,)
        First position and length of each slice.

    Yields
    ------
    slices : array (slices of this length,)
        Indices of the slices.
    positions : array (slices of this length, length)
    """
    for length in np.unique(size):
        slices = np.flatnonzero(size == length)
        yield slices, first[slices][:, None] + np.arange(length)
