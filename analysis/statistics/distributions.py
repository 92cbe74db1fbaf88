"""Null distributions of the tests that SciPy lacks, and long series made shorter for them."""

from __future__ import annotations

from functools import cache
from itertools import chain, combinations
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from analysis.statistics import Floats

MOST = 1_000
"""Blocks that a test takes; of more, it takes the medians of so many groups in a row."""
EXACT = 10_000
"""Pairs of values up to which the rank-sum test is exact; beyond, the rank sum is taken as normal."""


def thinned(values: Floats) -> Floats:
    """Values (..., n) of at most `MOST` blocks; of more, medians of groups in a row."""
    if values.shape[-1] <= MOST:
        return values
    groups = np.array_split(values, MOST, axis=-1)
    return np.stack([np.median(group, axis=-1) for group in groups], axis=-1)


@cache
def signed_ranks(blocks: int) -> Floats:
    """P(W <= w), w = 0, 1, …, n (n + 1) / 2, of the sum W of the ranks with a positive sign.

    Either sign is as likely, so each further rank convolves with (1 + x^rank) / 2 (Wilcoxon, Biometrics
    Bulletin 1, 1945; Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 2014, section 3.1).
    """
    shares = np.zeros(blocks * (blocks + 1) // 2 + 1)
    shares[0] = 1
    last = 0
    for rank in range(1, blocks + 1):
        shares[: last + 1] /= 2
        shares[rank : last + rank + 1] += shares[: last + 1].copy()
        last += rank
    return np.cumsum(shares)


def signs(blocks: int) -> Floats:
    """P(X <= x), x = 0, 1, …, n, of the number X of positive signs: binomial (n, 1/2)."""
    return stats.binom.cdf(np.arange(blocks + 1), blocks, 0.5)


def last_rank(tail: Floats, alpha: float) -> int:
    """Largest k with 2 P(X <= k - 1) up to `alpha`, P(X <= x) being ``tail[x]``; 0 where there is none.

    An interval from the k-th smallest to the k-th largest then misses in at most `alpha`.
    """
    return int(np.searchsorted(2 * tail, alpha * (1 + 1e-12), side="right"))


@cache
def rank_sum_p(first: int, second: int, above: int) -> float:
    """Two-sided p-value of the rank-sum test of two samples of so many values.

    Mann and Whitney, Annals of Mathematical Statistics 18, 1947.

    Parameters
    ----------
    above : int
        Pairs of values in which the first sample's is above the second's. Samples with as many such pairs
        have the same p-value, so the test is asked about the simplest of them.
    """
    lowest = above // first + (np.arange(first) < above % first)
    values = lowest - 0.5 + np.linspace(0, 0.1, first)  # no two are equal
    method = "exact" if first * second <= EXACT else "asymptotic"
    return float(stats.mannwhitneyu(values, np.arange(second), method=method).pvalue)


@cache
def divisions(first: int, second: int) -> NDArray[np.int64]:
    """Positions (divisions, first) of the first sample among all values in increasing order."""
    count = comb(first + second, first)
    flat = chain.from_iterable(combinations(range(first + second), first))
    return np.fromiter(flat, np.int64, count * first).reshape(count, first)
