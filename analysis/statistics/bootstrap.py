"""Percentile bootstrap of medians over sweeps, by index.

One set of draws of the median time of every point is made here and carried through every derived
quantity (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapters 8 and 13).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis.statistics import Floats, Integers
from analysis.statistics.dependence import effective_sweeps
from analysis.statistics.distributions import last_rank, signs

Flags = NDArray[np.bool_]

FEWEST = 5
"""Sweeps below which nothing is drawn: intervals from 2, 3 and 4 cover 48 to 93 % (docs/statistics.md)."""
LARGEST = 2**24
"""Picks held at once."""


def median_draws(
    times: Floats,
    draws: int,
    rng: np.random.Generator,
    counts: Integers | None = None,
    paces: Floats | None = None,
) -> Floats:
    """Bootstrap medians of points that share sweeps.

    A sweep is drawn as one, with replacement, among the sweeps of its stratum: those that carry the same
    counts. A stratum of fewer than `FEWEST` sweeps joins the one that it has most counts in common with. A
    point with n sweeps of a stratum takes the first n of its stream that it has itself, and draws anew what
    is then still missing. So each point is resampled n out of its n; points with the same sweeps share every
    draw; points without a common sweep are independent. Where sweeps depend on the ones before, only their
    effective number is drawn (`analysis.statistics.dependence.effective_sweeps`).

    Parameters
    ----------
    times : array (points, sweeps)
        Seconds, the sweeps in their order; NaN where a point has no such sweep.
    counts : array (points,), optional
        Number of the process count and level of each point; by default they are of one.
    paces : array (points, sweeps), optional
        By which the dependence of sweeps is judged, where `times` are of another quantity.

    Returns
    -------
    array (points, draws)
        Seconds; NaN throughout for a point with fewer than `FEWEST` sweeps.
    """
    present = ~np.isnan(times)
    counts = np.zeros(len(times), np.int64) if counts is None else counts
    medians = np.full((len(times), draws), np.nan)
    for points in _sharing(present):
        sweeps = present[points].any(axis=0)
        own, own_times = present[np.ix_(points, sweeps)], times[np.ix_(points, sweeps)]
        own_paces = own_times if paces is None else paces[np.ix_(points, sweeps)]
        if own.shape[1] < FEWEST:
            continue
        strata = _strata(own, counts[points])
        drawn = [effective_sweeps(own_paces[:, stratum], counts[points]) for stratum in strata]
        step = max(LARGEST // own.shape[1], 1)
        for start in range(0, draws, step):
            stop = min(start + step, draws)
            medians[points, start:stop] = _stream_medians(own_times, own, strata, drawn, stop - start, rng)
    return medians


def _strata(present: Flags, counts: Integers) -> list[Integers]:
    """Sweeps in strata that carry the same counts, small ones joined."""
    carried = np.stack([present[counts == count].any(axis=0) for count in np.unique(counts)])
    patterns, of_sweep = np.unique(carried, axis=1, return_inverse=True)
    strata = [
        (patterns[:, index], np.flatnonzero(of_sweep.ravel() == index)) for index in range(patterns.shape[1])
    ]
    while len(strata) > 1:
        least = min(range(len(strata)), key=lambda index: len(strata[index][1]))
        pattern, sweeps = strata.pop(least)
        if len(sweeps) >= FEWEST:
            strata.append((pattern, sweeps))
            break
        nearest = max(range(len(strata)), key=lambda index: (strata[index][0] & pattern).sum())
        theirs, other = strata[nearest]
        strata[nearest] = theirs | pattern, np.sort(np.concatenate([other, sweeps]))
    return sorted((sweeps for _, sweeps in strata), key=min)


def _sharing(present: Flags) -> list[Integers]:
    """Points in sets between which no block is shared."""
    if present.all():
        return [np.arange(len(present))]
    together = (present.astype(float) @ present.T > 0) | np.eye(len(present), dtype=bool)
    while not np.array_equal(further := together.astype(float) @ together > 0, together):
        together = further
    first = together.argmax(axis=1)
    return [np.flatnonzero(first == number) for number in np.unique(first)]


def _stream_medians(
    times: Floats,
    present: Flags,
    strata: list[Integers],
    drawn: list[int],
    draws: int,
    rng: np.random.Generator,
) -> Floats:
    """Medians (points, draws) of resamples: of each stratum's sweeps so many are drawn, for all points."""
    medians = np.full((len(times), draws), np.nan)
    streams = [rng.integers(len(stratum), size=(draws, len(stratum))) for stratum in strata]
    patterns, pattern_of = np.unique(present, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        points = np.flatnonzero(pattern_of.ravel() == number)
        if pattern.sum() < FEWEST:
            continue
        columns, picks, before = [], [], 0
        for stratum, stream, wanted in zip(strata, streams, drawn, strict=True):
            own = pattern[stratum]
            if own.any():
                some = max(round(own.sum() * wanted / len(stratum)), 1)
                picks.append(_own_picks(stream, own, rng)[:, :some] + before)
                columns.append(stratum[own])
                before += len(columns[-1])
        resamples = np.hstack(picks)
        for point in points:
            medians[point] = np.median(times[point, np.concatenate(columns)][resamples], axis=1)
    return medians


def _own_picks(stream: Integers, own: Flags, rng: np.random.Generator) -> Integers:
    """Picks (draws, n) among the n blocks marked in `own`, from a stream over all blocks."""
    if own.all():
        return stream
    blocks = int(own.sum())
    inside = own[stream]
    first = np.argsort(~inside, axis=1, kind="stable")[:, :blocks]
    picks = np.take_along_axis((np.cumsum(own) - 1)[stream], first, axis=1)
    shared = np.arange(blocks) < inside.sum(axis=1, keepdims=True)
    return np.where(shared, picks, rng.integers(blocks, size=picks.shape))


def percentile_interval(draws: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Percentile interval of bootstrap draws.

    The k-th smallest and the k-th largest of B draws, k = (B + 1)(1 - level) / 2 rounded down
    (Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 5.3.1). No
    interpolation, so infinite draws count as what they are.

    Parameters
    ----------
    draws : array (..., scenarios, B)
        Scenarios are a simulated time and the ends of its band; the interval is then that of all together.
        NaN throughout, or nowhere, in the last axis.

    Returns
    -------
    low, high : arrays (...)
        NaN where the draws are NaN.
    """
    ordered, k = np.sort(draws, axis=-1), tail(draws.shape[-1], confidence)
    low, high = ordered[..., k - 1], ordered[..., -k]
    none = np.isnan(draws[..., 0])
    low[none] = high[none] = np.nan
    return low.min(axis=-1), high.max(axis=-1)


def interval_columns(name: str, draws: Floats, confidence: float) -> dict[str, Floats]:
    """Columns of the ends of an interval: see `percentile_interval`."""
    low, high = percentile_interval(draws, confidence)
    return {f"{name}_low": low, f"{name}_high": high}


def tail(draws: int, confidence: float) -> int:
    """Rank from either end at which the percentile interval of so many draws ends."""
    return max(int((draws + 1) * (1 - confidence) / 2 + 1e-9), 1)


def median_interval(
    times: Floats, confidence: float = 0.95, effective: Floats | None = None
) -> tuple[Floats, Floats, float]:
    """Order-statistic interval of the median, and its coverage.

    From the k-th smallest to the k-th largest of n times: coverage 1 - 2 P(X < k), X binomial
    (n, 1/2), for any continuous distribution (David and Nagaraja, Order Statistics, 2003, section
    7.1). k is the largest that reaches `confidence`; where none does, the widest interval is given, with
    its coverage 1 - 2 (1/2)^n. Where times are worth fewer independent ones, the ranks lie farther from the
    middle by as much as the error of their mean is larger (`analysis.statistics.dependence.widening`).

    Parameters
    ----------
    times : array (points, n)
    effective : array (points,), optional
        Independent times that those of each point are worth; by default all.

    Returns
    -------
    low, high : arrays (points,)
    coverage : float
        All NaN where n is 1.
    """
    blocks = times.shape[1]
    if blocks < 2:
        return np.full(len(times), np.nan), np.full(len(times), np.nan), np.nan
    below = signs(blocks)
    k = max(last_rank(below, 1 - confidence), 1)
    coverage = float(1 - 2 * below[k - 1])
    ordered = np.sort(times, axis=1)
    if effective is None:
        return ordered[:, k - 1], ordered[:, blocks - k], coverage
    middle, row = (blocks + 1) / 2, np.arange(len(times))
    wider = np.sqrt((blocks - 1) / (effective - 1))
    ranks = np.floor(middle - (middle - k) * wider + 1e-9).clip(min=1).astype(int)
    return ordered[row, ranks - 1], ordered[row, blocks - ranks], coverage
