"""Groups of equal rows, as arrays: one sort, then each group is a slice.

A million small groups are no work for ``groupby().apply``: rows are numbered by their keys, sorted once, and
groups of the same size make a rectangular array.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.statistics import Floats, Integers

_ROOM = 2**62


def coded(column: pd.Series) -> tuple[Integers, Any]:
    """Number the values of a column in their order; missing values come last.

    Returns
    -------
    codes : array (rows,)
    values : Index or array (values,)
        Value of each code but the missing one's.
    """
    codes, values = pd.factorize(column, sort=True)
    return np.where(codes < 0, len(values), codes), values


def labelled(column: pd.Series, missing: str | int) -> tuple[Integers, NDArray]:
    """Number the values of a column in their order; `missing` stands for missing values and comes first.

    Returns
    -------
    codes : array (rows,)
    labels : array (values + 1,)
        Value of each code: of counts whole numbers, else objects.
    """
    codes, values = pd.factorize(column, sort=True)
    return codes + 1, np.array([missing, *values], np.int64 if isinstance(missing, int) else object)


def combined(keys: Sequence[Integers]) -> Integers:
    """One number a row that sorts as the keys do, the first key slowest.

    Parameters
    ----------
    keys : sequence of arrays (rows,)
        Of whole numbers, 0 or more.
    """
    whole = np.zeros(len(keys[0]), np.int64)
    room = 1
    for key in keys:
        size = int(key.max(initial=0)) + 1
        if room * size > _ROOM:
            whole = np.unique(whole, return_inverse=True)[1].astype(np.int64)
            room = int(whole.max(initial=0)) + 1
        whole, room = whole * size + key, room * size
    return whole


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows in groups.

    Attributes
    ----------
    order : array (rows,)
        Rows in order of their groups, within a group as they were.
    first : array (groups,)
        Where each group begins in `order`.
    size : array (groups,)
    """

    order: Integers
    first: Integers
    size: Integers

    @classmethod
    def of(cls, *keys: Integers) -> Groups:
        """Rows with the same keys, in order of these (see `combined`)."""
        key = combined(keys)
        order = np.argsort(key, kind="stable")
        return cls(order, *runs_of(key[order]))

    @property
    def number(self) -> Integers:
        """Number of the group of each row, array (rows,)."""
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
        """Groups (some,) of each size that occurs, and their rows (some, size)."""
        for groups, positions in rectangles(self.first, self.size):
            yield groups, self.order[positions]

    def median(self, values: Floats) -> Floats:
        """Median of each group, array (groups,); NaN where a value is."""
        medians = np.empty(len(self.first))
        for groups, rows in self.of_size():
            medians[groups] = values[rows[:, 0]] if rows.shape[1] == 1 else np.median(values[rows], axis=1)
        return medians


def runs_of(ordered: NDArray) -> tuple[Integers, Integers]:
    """First position and length of each run of equal values, arrays (runs,)."""
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
    return first, np.diff(first, append=len(ordered))


def rectangles(first: Integers, size: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Slices of each length that occurs: their numbers (some,), and their positions (some, length)."""
    for length in np.unique(size):
        some = np.flatnonzero(size == length)
        yield some, first[some][:, None] + np.arange(length)
