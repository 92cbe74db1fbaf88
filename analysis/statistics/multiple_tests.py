"""Several tests at once: corrections of a family, and a test at a count chosen from the same data."""

from __future__ import annotations

from itertools import count
from math import comb

import numpy as np
from scipy import stats

from analysis.statistics import Floats
from analysis.statistics.dependence import credible, lag_one
from analysis.statistics.shift import EQUAL

SWEEPS = 17
"""Largest number of sweeps whose sign patterns are all enumerated."""

ROUNDING = 1e-9
"""Difference of statistics, which are of size 1, that rounding alone can cause."""


def holm(p_values: Floats) -> Floats:
    """Adjust the p-values of one family (Holm, Scandinavian Journal of Statistics 6, 1979).

    NaN means that there is no test: it stays NaN and does not count.
    """
    p_values = np.asarray(p_values, float)
    adjusted = np.full(p_values.shape, np.nan)
    tests = np.flatnonzero(~np.isnan(p_values))
    order = tests[np.argsort(p_values[tests], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.maximum.accumulate(p_values[order] * factors).clip(max=1)
    return adjusted


def blocks_needed(tests: int, paired: bool, alpha: float = 0.05) -> int:
    """Compute the number of blocks from which the smallest adjusted p-value of a family can reach `alpha`.

    It is the smallest n with ``tests`` × 2 / 2^n <= alpha if paired, or ``tests`` × 2 / C(2n, n) if unpaired.
    A single paired test needs six blocks, sixteen paired tests need ten.
    """
    return next(
        blocks
        for blocks in count(2)
        if 2 * tests / (2**blocks if paired else comb(2 * blocks, blocks)) <= alpha
    )


def chosen_p(chooser: Floats, other: Floats, by_sign: bool) -> float:
    """Compute the two-sided p-value of a comparison at a count that was chosen from the same data.

    The chosen count is that of the chooser's smallest median time. Under the null hypothesis, either curve
    could have had the other's times in each sweep. So whole sweeps change sides, in all 2^n patterns (Fisher,
    The Design of Experiments, 1935, section 21). Each pattern chooses its count again (Westfall and Young,
    Resampling-Based Multiple Testing, 1993, section 2.3). The statistic is the sum of the signed ranks of the
    log ratios at this count, divided by their root sum of squares. The p-value is the share of patterns whose
    statistic is at least as large as the observed statistic.

    Parameters
    ----------
    chooser, other : arrays (counts, sweeps)
        Log times of at most `SWEEPS` sweeps; NaN if either curve lacks a sweep.
    by_sign : bool
        Whether to use signs instead of signed ranks.

    Returns
    -------
    float
        NaN if log ratios depend credibly on the log ratios of earlier sweeps, at any count that a pattern may
        choose. Then sweeps cannot change sides independently.
    """
    counts, sweeps = chooser.shape
    flips = np.arange(2**sweeps)[:, None] >> np.arange(sweeps) & 1 == 1  # the first pattern flips nothing
    timed = ~np.isnan(chooser + other)
    smaller = np.where(timed, np.minimum(chooser, other), np.nan)
    larger = np.where(timed, np.maximum(chooser, other), np.nan)
    least_medians, largest_medians = np.nanmedian(smaller, axis=1), np.nanmedian(larger, axis=1)
    medians, statistics = [], []
    for row in np.flatnonzero(least_medians <= np.min(largest_medians) + EQUAL):  # no pattern chooses others
        both = timed[row]
        times, other_times, flipped = chooser[row, both], other[row, both], flips[:, both]
        if credible(lag_one(other_times - times)[0], int(both.sum()), looks=counts):
            return np.nan
        medians.append(np.median(np.where(flipped, other_times, times), axis=1))
        statistics.append(np.abs(np.where(flipped, -1, 1) @ _standardised(other_times - times, by_sign)))
    choice = (medians <= np.min(medians, axis=0) + EQUAL).argmax(axis=0)  # the first of equal counts
    chosen = np.take_along_axis(np.array(statistics), choice[None], axis=0)[0]
    return float((chosen >= chosen[0] - ROUNDING).mean())


def _standardised(ratios: Floats, by_sign: bool) -> Floats:
    """Divide the signed ranks (sweeps,) of log ratios by their root sum of squares; 0 if all are 0."""
    sizes = np.where(np.abs(ratios) > EQUAL, np.round(np.abs(ratios), 12), 0)
    signed = np.sign(ratios) * (sizes > 0) * (1 if by_sign else stats.rankdata(sizes))
    length = np.sqrt((signed**2).sum())
    return signed / length if length > 0 else signed
