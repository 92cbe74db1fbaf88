"""Test of a comparison at a count that was chosen from the same data: where one of the two curves peaks."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from analysis.estimates.bootstrap import counted_medians
from analysis.estimates.dependence import credible, lag_one
from analysis.estimates.shift import EQUAL, ROOM
from analysis.runs.groups import Floats

SWEEPS = 17
"""Sweeps up to which every pattern of signs is looked at."""

ROUNDING = 1e-9
"""Statistics, of size 1, that differ by less differ by rounding alone."""

TOGETHER = 2**12
"""Patterns worked on at once, so that they stay in a processor's cache."""


def chosen_p(chooser: Floats, other: Floats, by_sign: NDArray[np.bool_]) -> Floats:
    """Two-sided p-value of the comparison at the count where the chooser's median time is least.

    Were the two alike, either might have had the other's times in each sweep. So whole sweeps change sides,
    in all 2^n patterns (Fisher, The Design of Experiments, 1935, section 21); in each, the count is chosen
    anew (Westfall and Young, Resampling-Based Multiple Testing, 1993, section 2.3), and its statistic is
    worked out: the sum of the signed ranks of its log ratios by their root sum of squares. The p-value is
    the share of the patterns in which that is as large as the observed one. NaN where the ratios at a count
    that some pattern may choose credibly depend on the ones before: then no sweep changes sides alone.

    Parameters
    ----------
    chooser, other : arrays (rows, counts, sweeps)
        Log times; NaN, in all rows alike, where either has no such. At most `SWEEPS` sweeps.
    by_sign : array (rows,)
        Whether signs count instead of signed ranks.
    """
    rows, counts, sweeps = chooser.shape
    flips = _patterns(sweeps)
    step = max(ROOM // (counts * len(flips)), 1)
    pieces = [slice(start, start + step) for start in range(0, rows, step)]
    return np.concatenate([_chosen_p(chooser[some], other[some], by_sign[some], flips) for some in pieces])


def _chosen_p(chooser: Floats, other: Floats, by_sign: NDArray[np.bool_], flips: NDArray[np.uint8]) -> Floats:
    rows, counts, _ = chooser.shape
    statistics = np.empty((rows, counts, len(flips)))
    ends, dependent = np.empty((2, rows, counts)), np.empty((rows, counts), bool)
    paired, sides = [], 1.0 - 2.0 * flips.T
    for count in range(counts):
        there = ~np.isnan(chooser[0, count] + other[0, count])
        mine, theirs = chooser[:, count, there], other[:, count, there]
        paired.append((np.concatenate([mine, theirs], axis=1), flips[:, there]))
        statistics[:, count] = _standardised(theirs - mine, by_sign) @ sides[there]
        dependent[:, count] = credible(lag_one(theirs - mine)[0], there.sum(), looks=counts)
        ends[:, :, count] = (
            np.median(np.minimum(mine, theirs), axis=1),
            np.median(np.maximum(mine, theirs), axis=1),
        )
    statistics = np.abs(statistics)
    possible = ends[0] <= ends[1].min(axis=1, keepdims=True) + EQUAL
    observed = _least(paired, np.arange(rows), np.arange(counts), np.zeros(1, int))[:, 0]
    reached = np.take_along_axis(statistics[:, :, 0], observed[:, None], axis=1) - ROUNDING
    far = statistics >= reached[..., None]
    always = (far | ~possible[..., None]).all(axis=1)
    doubtful = (far & possible[..., None]).any(axis=1) & ~always
    found = always.sum(axis=1)
    some, columns = np.flatnonzero(doubtful.any(axis=1)), np.flatnonzero(doubtful.any(axis=0))
    if len(some):
        among = np.flatnonzero(possible[some].any(axis=0))
        least = _least(paired, some, among, columns)
        picked = np.take_along_axis(far[np.ix_(some, among, columns)], least[:, None], axis=1)[:, 0]
        found[some] += (picked & doubtful[np.ix_(some, columns)]).sum(axis=1)
    return np.where((dependent & possible).any(axis=1), np.nan, found / len(flips))


def _least(
    paired: list[tuple[Floats, NDArray[np.uint8]]],
    rows: NDArray[np.int64],
    counts: NDArray[np.int64],
    patterns: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Position among some counts of the least median time, array (rows, patterns); of equals, the first."""
    pieces = []
    for start in range(0, len(patterns), TOGETHER):
        medians = []
        for count in counts:
            times, flips = paired[count]
            flipped = np.ascontiguousarray(flips[patterns[start : start + TOGETHER]].T)
            twice = 2 * np.concatenate(
                [1 - flipped, flipped]
            )  # as many picks as there are times to pick from
            medians.append(counted_medians(times[None, rows], twice[None])[0])
        found = np.stack(medians)
        pieces.append((found <= found.min(axis=0) + EQUAL).argmax(axis=0))
    return np.concatenate(pieces, axis=1)


def _standardised(ratios: Floats, by_sign: NDArray[np.bool_]) -> Floats:
    """Signed ranks (rows, sweeps) of log ratios by their root sum of squares; 0 where all are 0."""
    ordered = np.where(np.abs(ratios) > EQUAL, np.round(np.abs(ratios), 12), 0)
    ranks = sum(
        (larger(ordered[:, :, None], ordered[:, None])).sum(axis=2)
        for larger in (np.greater, np.greater_equal)
    )
    signed = np.sign(ratios) * np.where(by_sign[:, None], 1, ranks + 1) * (ordered > 0)  # twice the ranks
    length = np.sqrt((signed**2).sum(axis=1, keepdims=True))
    return np.divide(signed, length, out=np.zeros_like(signed, float), where=length > 0)


@cache
def _patterns(sweeps: int) -> NDArray[np.uint8]:
    """Whether each sweep changes sides, array (2^sweeps, sweeps); in the first pattern, none does."""
    return (np.arange(2**sweeps)[:, None] >> np.arange(sweeps) & 1).astype(np.uint8)
