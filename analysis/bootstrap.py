"""Percentile bootstrap of medians over blocks, by index.

One set of draws of the median time of every point is made here and carried through every derived
quantity (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapters 8 and 13).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.stats import binom

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]

FEW = 255
"""Blocks whose picks can be counted in a byte."""
LARGEST = 2**24
"""Picks held at once."""


def median_draws(times: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Bootstrap medians of points that share blocks.

    A stream of blocks is drawn with replacement from all blocks. A point with n blocks takes the
    first n of the stream that it has itself, and draws anew what is then still missing. So each point
    is resampled exactly as if alone, n out of its n; points with the same blocks share every draw;
    points without a common block are independent.

    Parameters
    ----------
    times : array (points, blocks)
        Seconds; NaN where a point has no such block.
    draws : int
    rng : numpy Generator

    Returns
    -------
    array (points, draws)
        Seconds; NaN throughout for a point with fewer than two blocks.
    """
    present = ~np.isnan(times)
    medians = np.full((len(times), draws), np.nan)
    for points in _sharing(present):
        blocks = present[points].any(axis=0)
        own, own_times = present[np.ix_(points, blocks)], times[np.ix_(points, blocks)]
        step = max(LARGEST // own.shape[1], 1)
        for start in range(0, draws, step):
            stop = min(start + step, draws)
            medians[points, start:stop] = _stream_medians(own_times, own, stop - start, rng)
    return medians


def _sharing(present: Flags) -> list[Counts]:
    """Points in sets between which no block is shared."""
    if present.all():
        return [np.arange(len(present))]
    common = present.astype(float) @ present.T > 0
    number, set_of = connected_components(common, directed=False)
    return [np.flatnonzero(set_of == one) for one in range(number)]


def _stream_medians(times: Floats, present: Flags, draws: int, rng: np.random.Generator) -> Floats:
    medians = np.full((len(times), draws), np.nan)
    stream = rng.integers(times.shape[1], size=(draws, times.shape[1]))
    patterns, pattern_of = np.unique(present, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        if pattern.sum() > 1:
            points = np.flatnonzero(pattern_of.ravel() == number)
            picks = _own_picks(stream, pattern, rng)
            medians[points] = resampled_medians(times[np.ix_(points, pattern)], picks)
    return medians


def _own_picks(stream: Counts, own: Flags, rng: np.random.Generator) -> Counts:
    """Picks (draws, n) among the n blocks marked in `own`, from a stream over all blocks."""
    if own.all():
        return stream
    blocks = int(own.sum())
    inside = own[stream]
    first = np.argsort(~inside, axis=1, kind="stable")[:, :blocks]
    picks = np.take_along_axis((np.cumsum(own) - 1)[stream], first, axis=1)
    shared = np.arange(blocks) < inside.sum(axis=1, keepdims=True)
    return np.where(shared, picks, rng.integers(blocks, size=picks.shape))


def resampled_medians(times: Floats, picks: Counts) -> Floats:
    """Medians of resamples.

    The same bits as ``np.median(times[:, picks], axis=-1)``, several times faster for few blocks: the
    k-th smallest of a resample is the first time, in increasing order, at which the cumulated number
    of picks reaches k, so only small integers are touched a draw.

    Parameters
    ----------
    times : array (points, n)
    picks : array (draws, n) of int
        Positions of the picked blocks, the same for all points.

    Returns
    -------
    array (points, draws)
    """
    draws, blocks = picks.shape
    if blocks > FEW:
        return np.stack([np.median(one[picks], axis=-1) for one in times])
    flat = picks + blocks * np.arange(draws)[:, None]
    counts = np.bincount(flat.ravel(), minlength=blocks * draws).reshape(draws, blocks)
    counts = np.ascontiguousarray(counts.T, dtype=np.uint8)
    order = np.argsort(times, axis=1)
    cumulated = np.zeros((len(times), draws), np.uint8)
    lower, upper = np.zeros_like(cumulated), np.zeros_like(cumulated)
    for block in order.T[:-1]:
        cumulated += counts[block]
        lower += cumulated <= (blocks - 1) // 2
        upper += cumulated <= blocks // 2
    ordered = np.take_along_axis(times, order, axis=1)
    return (np.take_along_axis(ordered, lower, axis=1) + np.take_along_axis(ordered, upper, axis=1)) / 2


def percentile_interval(draws: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Percentile interval of bootstrap draws.

    The k-th smallest and the k-th largest of B draws, k = (B + 1)(1 - level) / 2 rounded down
    (Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 5.3.1). No
    interpolation, so infinite draws count as what they are.

    Parameters
    ----------
    draws : array (..., scenarios, B)
        Scenarios are the ends of a simulation's band; the interval is then that of all together.
        NaN throughout, or nowhere, in the last axis.

    Returns
    -------
    low, high : arrays (...)
        NaN where the draws are NaN.
    """
    count = draws.shape[-1]
    k = tail(count, level)
    ordered = np.sort(draws, axis=-1)  # several times faster than np.partition with two ranks
    none = np.isnan(draws[..., :1])
    low = np.where(none, np.nan, ordered[..., k - 1 : k])
    high = np.where(none, np.nan, ordered[..., count - k : count - k + 1])
    return low.min(axis=(-2, -1)), high.max(axis=(-2, -1))


def tail(draws: int, level: float) -> int:
    """Rank from either end at which the percentile interval of so many draws ends."""
    return max(int((draws + 1) * (1 - level) / 2 + 1e-9), 1)


def median_interval(times: Floats, level: float = 0.95) -> tuple[Floats, Floats, float]:
    """Order-statistic interval of the median, and its coverage.

    From the k-th smallest to the k-th largest of n times: coverage 1 - 2 P(X < k), X binomial
    (n, 1/2), for any continuous distribution (David and Nagaraja, Order Statistics, 2003, section
    7.1). k is the largest that reaches `level`; where none does, the widest interval is given, with
    its coverage 1 - 2 (1/2)^n.

    Parameters
    ----------
    times : array (points, n)

    Returns
    -------
    low, high : arrays (points,)
    coverage : float
        All NaN where n is 1.
    """
    blocks = times.shape[1]
    if blocks < 2:
        return np.full(len(times), np.nan), np.full(len(times), np.nan), np.nan
    k, coverage = _rank(blocks, level)
    ordered = np.sort(times, axis=1)
    return ordered[:, k - 1], ordered[:, blocks - k], coverage


@cache
def _rank(blocks: int, level: float) -> tuple[int, float]:
    ranks = np.arange(1, blocks // 2 + 1)
    coverage = 1 - 2 * binom.cdf(ranks - 1, blocks, 0.5)
    k = max(int((coverage >= level).sum()), 1)
    return k, float(coverage[k - 1])
