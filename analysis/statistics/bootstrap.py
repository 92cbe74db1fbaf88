"""Percentile bootstrap of medians over sweeps.

The draws of each point's median time are made once. Every derived quantity uses the same draws
(Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapters 8 and 13).
"""

from __future__ import annotations

import numpy as np

from analysis.statistics import Flags, Floats, Integers
from analysis.statistics.dependence import effective_sweeps
from analysis.statistics.distributions import last_rank, signs

FEWEST = 5
"""Fewest sweeps to draw from: intervals from 2 to 4 sweeps cover only 48 to 93 % (docs/statistics.md)."""
FEWEST_ALONE = 4
"""Fewest times to draw from for an imported point that shares no sweep with another (docs/statistics.md)."""
LARGEST = 2**24
"""Largest number of picks held in memory at the same time."""


def median_draws(
    times: Floats,
    draws: int,
    rng: np.random.Generator,
    counts: Integers | None = None,
    paces: Floats | None = None,
    fewest_alone: int = FEWEST,
) -> Floats:
    """Draw bootstrap medians of points that share sweeps.

    Whole sweeps are drawn with replacement within strata. A stratum holds the sweeps that carry the same
    counts. A stratum of fewer than `FEWEST` sweeps joins the stratum with the most counts in common.

    A point with n sweeps in a stratum needs n sweeps per draw. It takes the first n drawn sweeps that it has.
    If the draw holds fewer of them, the point draws the rest from its own sweeps. Points with the same sweeps
    share every draw. Points without a common sweep are independent. If sweeps depend on the sweeps before,
    each draw holds only their effective number (`analysis.statistics.dependence.effective_sweeps`).

    Parameters
    ----------
    times : array (points, sweeps)
        Seconds, with the sweeps in their order of execution; NaN if a point lacks a sweep.
    draws : int
        Number of draws.
    rng : Generator
        Source of random numbers.
    counts : array (points,), optional
        Index of each point's process count and level. By default all points have the same.
    paces : array (points, sweeps), optional
        Values from which the dependence of sweeps is judged, if `times` are of another quantity.
    fewest_alone : int
        Fewest sweeps of a point that shares no sweep with another.

    Returns
    -------
    array (points, draws)
        Seconds; NaN for a point with fewer than `FEWEST` or `fewest_alone` sweeps.
    """
    present = ~np.isnan(times)
    counts = np.zeros(len(times), np.int64) if counts is None else counts
    medians = np.full((len(times), draws), np.nan)
    for points in _connected_points(present):
        sweeps = present[points].any(axis=0)
        group_present, group_times = present[np.ix_(points, sweeps)], times[np.ix_(points, sweeps)]
        group_paces = group_times if paces is None else paces[np.ix_(points, sweeps)]
        fewest = fewest_alone if len(points) == 1 else FEWEST
        if group_present.shape[1] < fewest:
            continue
        strata = _strata(group_present, counts[points])
        sizes = [effective_sweeps(group_paces[:, stratum], counts[points]) for stratum in strata]
        step = max(LARGEST // group_present.shape[1], 1)
        for start in range(0, draws, step):
            stop = min(start + step, draws)
            medians[points, start:stop] = _resampled_medians(
                group_times, group_present, strata, sizes, stop - start, rng, fewest
            )
    return medians


def _strata(present: Flags, counts: Integers) -> list[Integers]:
    """Return the sweeps of each stratum, with small strata joined as `median_draws` describes."""
    carried = np.stack([present[counts == count].any(axis=0) for count in np.unique(counts)])
    patterns, pattern_of_sweep = np.unique(carried, axis=1, return_inverse=True)
    strata = [  # counts that the sweeps of a stratum carry, and the sweeps
        (patterns[:, index], np.flatnonzero(pattern_of_sweep.ravel() == index))
        for index in range(patterns.shape[1])
    ]
    while len(strata) > 1:
        smallest = min(range(len(strata)), key=lambda index: len(strata[index][1]))
        pattern, sweeps = strata.pop(smallest)
        if len(sweeps) >= FEWEST:
            strata.append((pattern, sweeps))
            break
        most_in_common = max(range(len(strata)), key=lambda index: (strata[index][0] & pattern).sum())
        other_pattern, other_sweeps = strata[most_in_common]
        joined_sweeps = np.sort(np.concatenate([other_sweeps, sweeps]))
        strata[most_in_common] = other_pattern | pattern, joined_sweeps
    return sorted((sweeps for _, sweeps in strata), key=min)


def _connected_points(present: Flags) -> list[Integers]:
    """Divide the points into sets, such that points of different sets share no sweep.

    Points are connected if they share a sweep, or if a chain of connected points joins them.

    Parameters
    ----------
    present : array (points, sweeps)
        Whether the point has the sweep.
    """
    if present.all():
        return [np.arange(len(present))]
    connected = (present.astype(float) @ present.T > 0) | np.eye(len(present), dtype=bool)
    while not np.array_equal(longer_chains := connected.astype(float) @ connected > 0, connected):
        connected = longer_chains
    first_of_set = connected.argmax(axis=1)
    return [np.flatnonzero(first_of_set == first) for first in np.unique(first_of_set)]


def _resampled_medians(
    times: Floats,
    present: Flags,
    strata: list[Integers],
    sizes: list[int],
    draws: int,
    rng: np.random.Generator,
    fewest: int,
) -> Floats:
    """Compute medians (points, draws) of resampled times, for points that share sweeps.

    Parameters
    ----------
    times, present : arrays (points, sweeps)
        Seconds, and whether the point has the sweep.
    strata : list of arrays
        Positions of the sweeps of each stratum.
    sizes : list of int
        Effective number of sweeps of each stratum.
    """
    medians = np.full((len(times), draws), np.nan)
    shared_draws = [rng.integers(len(stratum), size=(draws, len(stratum))) for stratum in strata]
    patterns, pattern_of_point = np.unique(present, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):  # points of a pattern have the same sweeps
        if pattern.sum() < fewest:
            continue
        sweeps: list[Integers] = []
        picks: list[Integers] = []
        sweeps_before = 0
        for stratum, drawn, size in zip(strata, shared_draws, sizes, strict=True):
            carried = pattern[stratum]
            if carried.any():
                number_drawn = max(round(carried.sum() * size / len(stratum)), 1)
                picks.append(_picks(drawn, carried, rng)[:, :number_drawn] + sweeps_before)
                sweeps.append(stratum[carried])
                sweeps_before += len(sweeps[-1])
        pattern_sweeps, resamples = np.concatenate(sweeps), np.hstack(picks)
        for point in np.flatnonzero(pattern_of_point.ravel() == number):
            medians[point] = np.median(times[point, pattern_sweeps][resamples], axis=1)
    return medians


def _picks(drawn: Integers, carried: Flags, rng: np.random.Generator) -> Integers:
    """Pick sweeps for a point that has n sweeps of a stratum.

    Parameters
    ----------
    drawn : array (draws, sweeps)
        Positions of drawn sweeps among all sweeps of the stratum.
    carried : array (sweeps,)
        Whether the point has the sweep; n are true.

    Returns
    -------
    array (draws, n)
        Positions among the n sweeps of the point: the first drawn sweeps that the point has, then random
        sweeps of the point.
    """
    if carried.all():
        return drawn
    n = int(carried.sum())
    usable = carried[drawn]
    usable_first = np.argsort(~usable, axis=1, kind="stable")[:, :n]
    position_in_point = np.cumsum(carried) - 1
    picks = np.take_along_axis(position_in_point[drawn], usable_first, axis=1)
    is_usable = np.arange(n) < usable.sum(axis=1, keepdims=True)
    return np.where(is_usable, picks, rng.integers(n, size=picks.shape))


def percentile_interval(draws: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Compute the percentile interval of bootstrap draws.

    The ends are the k-th smallest and the k-th largest of B draws, k = (B + 1)(1 - confidence) / 2 rounded
    down, but at least 1 (Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 5.3.1).
    There is no interpolation, so infinite draws stay infinite.

    Parameters
    ----------
    draws : array (..., scenarios, B)
        B draws for each scenario, all NaN or without NaN. A scenario takes each simulated or coarsely rounded
        time at one end of its band; other studies have one scenario. The interval reaches from the lowest to
        the highest end over the scenarios.
    confidence : float
        Nominal coverage.

    Returns
    -------
    low, high : arrays (...)
        NaN if the draws are NaN.
    """
    ordered, k = np.sort(draws, axis=-1), end_rank(draws.shape[-1], confidence)
    low, high = ordered[..., k - 1], ordered[..., -k]
    missing = np.isnan(draws[..., 0])
    low[missing] = high[missing] = np.nan
    return low.min(axis=-1), high.max(axis=-1)


def interval_columns(name: str, draws: Floats, confidence: float) -> dict[str, Floats]:
    """Return the ends of a percentile interval as ``<name>_low`` and ``<name>_high``."""
    low, high = percentile_interval(draws, confidence)
    return {f"{name}_low": low, f"{name}_high": high}


def end_rank(draws: int, confidence: float) -> int:
    """Return the rank k, counted from either end, of the draw at which the percentile interval ends."""
    return max(int((draws + 1) * (1 - confidence) / 2 + 1e-9), 1)


def median_interval(
    times: Floats, confidence: float = 0.95, effective: Floats | None = None
) -> tuple[Floats, Floats, float]:
    """Compute the order-statistic interval of the median and its coverage.

    The interval reaches from the k-th smallest to the k-th largest of n times. It covers 1 - 2 P(X < k) with
    X binomial (n, 1/2), for any continuous distribution (David and Nagaraja, Order Statistics, 2003, section
    7.1). k is the largest rank whose coverage reaches `confidence`. If no rank does, the interval is the
    widest, with coverage 1 - 2 (1/2)^n. If times depend on each other, the ranks lie farther from the
    middle, in proportion to the error of the mean (`analysis.statistics.dependence.widening`).

    Parameters
    ----------
    times : array (points, n)
        Times of each point.
    confidence : float
        Nominal coverage.
    effective : array (points,), optional
        Effective number of independent times of each point; n by default.

    Returns
    -------
    low, high : arrays (points,)
        Ends of the interval, in the unit of `times`.
    coverage : float
        All three are NaN if n is 1.
    """
    blocks = times.shape[1]
    if blocks < 2:
        return np.full(len(times), np.nan), np.full(len(times), np.nan), np.nan
    cumulative = signs(blocks)
    k = max(last_rank(cumulative, 1 - confidence), 1)
    coverage = float(1 - 2 * cumulative[k - 1])
    ordered = np.sort(times, axis=1)
    if effective is None:
        return ordered[:, k - 1], ordered[:, blocks - k], coverage
    rows, middle_rank = np.arange(len(times)), (blocks + 1) / 2
    wider = np.sqrt((blocks - 1) / (effective - 1))
    ranks = np.floor(middle_rank - (middle_rank - k) * wider + 1e-9).clip(min=1).astype(int)
    return ordered[rows, ranks - 1], ordered[rows, blocks - ranks], coverage
