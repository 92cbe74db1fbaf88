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
"""Sweeps up to which every pattern of signs is looked at."""

ROUNDING = 1e-9
"""Statistics, of size 1, that differ by less differ by rounding alone."""


def holm(p_values: Floats) -> Floats:
    """Holm-adjusted p-values of one family (Holm, Scandinavian Journal of Statistics 6, 1979).

    NaN is no test: it stays NaN and does not count.
    """
    p_values = np.asarray(p_values, float)
    adjusted = np.full(p_values.shape, np.nan)
    tests = np.flatnonzero(~np.isnan(p_values))
    order = tests[np.argsort(p_values[tests], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.maximum.accumulate(p_values[order] * factors).clip(max=1)
    return adjusted


def blocks_needed(tests: int, paired: bool, alpha: float = 0.05) -> int:
    """Blocks at which the smallest p-value of a family of tests can fall to `alpha` at all.

    The smallest n with ``tests`` times the smallest possible p-value up to it: 2 / 2^n paired, 2 / C(2n, n)
    unpaired. For a single paired test six, for sixteen ten.
    """
    return next(
        blocks
        for blocks in count(2)
        if 2 * tests / (2**blocks if paired else comb(2 * blocks, blocks)) <= alpha
    )


def chosen_p(chooser: Floats, other: Floats, by_sign: bool) -> float:
    """Two-sided p-value of the comparison at the count where the chooser's median time is least.

    Were the two alike, either might have had the other's times in each sweep. So whole sweeps change sides,
    in all 2^n patterns (Fisher, The Design of Experiments, 1935, section 21). In each pattern the count is
    chosen again (Westfall and Young, Resampling-Based Multiple Testing, 1993, section 2.3), and its statistic
    is worked out: the sum of the signed ranks of its log ratios by their root sum of squares. The p-value is
    the share of the patterns in which the statistic is as large as observed. It is NaN if the ratios at a
    count that a pattern may choose credibly depend on the ratios before: then no sweep changes sides alone.

    Parameters
    ----------
    chooser, other : arrays (counts, sweeps)
        Log times; NaN for a sweep that either lacks. At most `SWEEPS` sweeps.
    by_sign : bool
        Whether signs count instead of signed ranks.
    """
    counts, sweeps = chooser.shape
    flips = np.arange(2**sweeps)[:, None] >> np.arange(sweeps) & 1 == 1  # in the first pattern, none does
    timed = ~np.isnan(chooser + other)
    least = [np.median(np.minimum(*pair)[both]) for *pair, both in zip(chooser, other, timed, strict=True)]
    most = [np.median(np.maximum(*pair)[both]) for *pair, both in zip(chooser, other, timed, strict=True)]
    medians, statistics = [], []
    for row in np.flatnonzero(least <= np.min(most) + EQUAL):  # no pattern chooses another count
        both = timed[row]
        mine, theirs, flipped = chooser[row, both], other[row, both], flips[:, both]
        if credible(lag_one(theirs - mine)[0], both.sum(), looks=counts):
            return np.nan
        medians.append(np.median(np.where(flipped, theirs, mine), axis=1))
        statistics.append(np.abs(np.where(flipped, -1, 1) @ _standardised(theirs - mine, by_sign)))
    choice = (medians <= np.min(medians, axis=0) + EQUAL).argmax(axis=0)  # of equals, the first
    chosen = np.take_along_axis(np.array(statistics), choice[None], axis=0)[0]
    return float((chosen >= chosen[0] - ROUNDING).mean())


def _standardised(ratios: Floats, by_sign: bool) -> Floats:
    """Signed ranks (sweeps,) of log ratios by their root sum of squares; 0 where all are 0."""
    sizes = np.where(np.abs(ratios) > EQUAL, np.round(np.abs(ratios), 12), 0)
    signed = np.sign(ratios) * (sizes > 0) * (1 if by_sign else stats.rankdata(sizes))
    length = np.sqrt((signed**2).sum())
    return signed / length if length > 0 else signed
