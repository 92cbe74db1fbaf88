"""Null distributions of tests that SciPy lacks, and thinning of long series for these tests."""

from __future__ import annotations

from functools import cache
from itertools import chain, combinations
from math import comb
from typing import Literal

import numpy as np
from scipy import stats

from analysis.statistics import Floats, Integers

MOST = 1_000
"""Largest number of blocks that a test takes; longer series are thinned to this many medians."""
EXACT = 10_000
"""Largest number of pairs of values for the exact rank-sum test; beyond, the rank sum is taken as normal."""


def thinned(values: Floats) -> Floats:
    """Shorten values (..., blocks) of more than `MOST` blocks to the medians of `MOST` consecutive groups."""
    if values.shape[-1] <= MOST:
        return values
    groups = np.array_split(values, MOST, axis=-1)
    return np.stack([np.median(group, axis=-1) for group in groups], axis=-1)


@cache
def signed_ranks(blocks: int) -> Floats:
    """Compute P(W <= w), w = 0, 1, …, n (n + 1) / 2, for the sum W of the ranks with a positive sign.

    Both signs are equally likely, so each further rank convolves with (1 + x^rank) / 2 (Wilcoxon, Biometrics
    Bulletin 1, 1945; Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 2014, section 3.1).
    """
    shares = np.zeros(blocks * (blocks + 1) // 2 + 1)  # P(W = w)
    shares[0] = 1
    largest_sum = 0
    for rank in range(1, blocks + 1):
        shares[: largest_sum + 1] /= 2
        shares[rank : largest_sum + rank + 1] += shares[: largest_sum + 1].copy()
        largest_sum += rank
    return np.cumsum(shares)


def signs(blocks: int) -> Floats:
    """Compute P(X <= x), x = 0, 1, …, n, for the number X of positive signs: binomial (n, 1/2)."""
    return np.asarray(stats.binom.cdf(np.arange(blocks + 1), blocks, 0.5))


def last_rank(tail: Floats, alpha: float) -> int:
    """Return the largest k with 2 P(X <= k - 1) <= `alpha`; 0 if there is none.

    An interval from the k-th smallest to the k-th largest value then misses with at most this probability.

    Parameters
    ----------
    tail : array
        P(X <= x) for x = 0, 1, …
    alpha : float
        Probability with which the interval may miss.
    """
    return int(np.searchsorted(2 * tail, alpha * (1 + 1e-12), side="right"))


@cache
def rank_sum_p(first: int, second: int, above: int) -> float:
    """Compute the two-sided p-value of the rank-sum test of two samples.

    Mann and Whitney, Annals of Mathematical Statistics 18, 1947.

    Parameters
    ----------
    first, second : int
        Sizes of the samples.
    above : int
        Number of pairs with the value of the first sample above the value of the second. The p-value depends
        on this number only, so SciPy tests the simplest samples that have it.
    """
    # Each value of the first sample is above nearly the same number of values 0, 1, … of the second sample.
    values_below = above // first + (np.arange(first) < above % first)
    first_sample = values_below - 0.5 + np.linspace(0, 0.1, first)  # no two are equal
    second_sample = np.arange(second, dtype=float)
    method: Literal["exact", "asymptotic"] = "exact" if first * second <= EXACT else "asymptotic"
    return float(stats.mannwhitneyu(first_sample, second_sample, method=method).pvalue)


@cache
def divisions(first: int, second: int) -> Integers:
    """List all sets of positions that the first sample can take among the ordered values of both samples.

    Returns
    -------
    array (divisions, first)
        Positions from 0, in increasing order per division.
    """
    count = comb(first + second, first)
    flat = chain.from_iterable(combinations(range(first + second), first))
    return np.fromiter(flat, np.int64, count * first).reshape(count, first)
