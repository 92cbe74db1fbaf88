"""Location of the difference between two sets of log times, with its interval and its test.

The estimate, the interval and the test belong to the same location.

- Paired times: the pseudo-median of the log ratios, with the interval and the test of the signed ranks. The
  pseudo-median is the median of all means of two ratios (Hodges and Lehmann, Annals of Mathematical
  Statistics 34, 1963).
- Unpaired times: the median of all differences, with a permutation test. The interval holds the shifts that
  the test does not reject.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import comb, pi, sqrt
from statistics import NormalDist
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from scipy import stats

from analysis.statistics import Flags, Floats, Integers, distributions

ASYMMETRIC = 2.576 * sqrt(pi / 2 - 1)
"""Critical value of (mean - median) sqrt(n) / s for clear asymmetry; 1 % of normal samples exceed it."""
ASYMMETRIC_FROM = 10
"""Smallest number of pairs that is tested for asymmetry."""
FEW = 6
"""Number of blocks below which an unequal spread alone separates the samples in more than 5 % of cases."""
DIVISIONS = 200_000
"""Largest number of divisions of two samples that are enumerated: 10 blocks against 10 have fewer."""
EQUAL = 1e-12
"""Difference of logs that rounding alone can cause."""
ROOM = 2**22
"""Largest number of values held in memory at the same time."""

Value = TypeVar("Value", float, Floats)


class Shift(NamedTuple, Generic[Value]):
    """Location of log ratios, as floats, or as arrays with one value per row of ratios.

    Attributes
    ----------
    estimate, low, high : float or array
        Estimate and ends of its interval; the ends are NaN if no interval attains the level.
    coverage : float or array
        Coverage that the interval attains; NaN without an interval.
    p_value : float or array
        Two-sided p-value of location 0.
    least_p : float or array
        Smallest p-value that is possible with this number of blocks.
    """

    estimate: Value
    low: Value
    high: Value
    coverage: Value
    p_value: Value
    least_p: Value


def paired_shift(ratios: Floats, alpha: Floats | float, by_sign: Flags | None = None) -> Shift[Floats]:
    """Estimate the location of paired log ratios, with an exact interval and test for symmetric ratios.

    The estimate is the pseudo-median. The ends of the interval are the k-th smallest and the k-th largest
    mean of two ratios (Lehmann, Nonparametrics, 1975, section 4.4). The test counts the means above and below
    0; means equal to 0 count for neither side. Clearly asymmetric ratios use their median, its
    order-statistic interval and the sign test.

    Parameters
    ----------
    ratios : array (rows, pairs)
        Log ratios.
    alpha : float or array (rows,)
        Probability with which each interval may miss.
    by_sign : array (rows,), optional
        Rows that use the median and the sign test; by default the clearly asymmetric rows.
    """
    ratios = distributions.thinned(np.asarray(ratios, float))
    rows, pairs = ratios.shape
    alphas = np.broadcast_to(alpha, rows)
    columns = np.empty((len(Shift._fields), rows))
    uses_median = plainly_asymmetric(ratios) if by_sign is None else by_sign
    first, second = np.triu_indices(pairs)
    rows_at_once = max(ROOM // len(first), 1)
    symmetric = np.flatnonzero(~uses_median)
    for start in range(0, len(symmetric), rows_at_once):
        batch = symmetric[start : start + rows_at_once]
        means = (ratios[batch][:, first] + ratios[batch][:, second]) / 2
        tail = distributions.signed_ranks(pairs)
        columns[:, batch] = _estimate_interval_and_test(np.sort(means, axis=1), tail, alphas[batch])
    if uses_median.any():
        columns[:, uses_median] = _estimate_interval_and_test(
            np.sort(ratios[uses_median], axis=1), distributions.signs(pairs), alphas[uses_median]
        )
    return Shift(*columns)


def _estimate_interval_and_test(ordered: Floats, tail: Floats, alphas: Floats) -> Floats:
    """Compute estimate, interval and test of each row of sorted values.

    Parameters
    ----------
    ordered : array of shape (rows, count)
        Sorted log ratios, or sorted means of two log ratios.
    tail : array of shape (count + 1,)
        Cumulative distribution of the number of values below the true location.
    alphas : array of shape (rows,)
        Probability with which the interval may miss.

    Returns
    -------
    array of shape (6, rows)
        In the order of the fields of `Shift`.
    """
    rows, count = ordered.shape
    estimate = (ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2
    interval = np.full((3, rows), np.nan)  # low, high, coverage
    for alpha in np.unique(alphas):
        if rank := distributions.last_rank(tail, alpha):
            same_alpha = alphas == alpha
            interval[0, same_alpha] = ordered[same_alpha, rank - 1]
            interval[1, same_alpha] = ordered[same_alpha, count - rank]
            interval[2, same_alpha] = 1 - 2 * tail[rank - 1]
    larger_side = np.maximum((ordered > EQUAL).sum(axis=1), (ordered < -EQUAL).sum(axis=1))
    p_values = np.minimum(2 * tail[count - larger_side], 1)
    least_p = np.full(rows, 2 * tail[0])
    return np.stack([estimate, *interval, p_values, least_p])


def plainly_asymmetric(ratios: Floats) -> Flags:
    """Return which rows of log ratios (rows, pairs) are clearly asymmetric about their median.

    The test compares (mean - median) sqrt(n) / s at 1 % (Cabilio and Masaro, Canadian Journal of Statistics
    24, 1996), from `ASYMMETRIC_FROM` pairs on. Long tails alone rarely exceed it.
    """
    pairs = ratios.shape[1]
    if pairs < ASYMMETRIC_FROM:
        return np.zeros(len(ratios), bool)
    distance = np.abs(ratios.mean(axis=1) - np.median(ratios, axis=1)) * sqrt(pairs)
    spread = ratios.std(axis=1, ddof=1)
    return np.asarray((distance > ASYMMETRIC * spread) & (spread > EQUAL))


def unpaired_shift(first: Floats, second: Floats, alpha: float) -> Shift[float]:
    """Estimate by how much the first of two independent samples of log times is above the second.

    The estimate is the median of all differences. The test is the permutation test of the studentised rank
    statistic, which allows unequal spread (Neubert and Brunner, Computational Statistics and Data Analysis
    51, 2007). It uses the probit of the share; without it, the test rejects too often for seven wide blocks
    (Pauly, Asendorf and Konietschke, Biometrical Journal 58, 2016).

    Up to `DIVISIONS` divisions are enumerated. Beyond, the p-value is the larger of two: Student's t
    approximation of the plain statistic (Brunner and Munzel, Biometrical Journal 42, 2000), and the exact
    rank-sum test.

    Complete separation is the most extreme outcome: p = 2 / C(n + m, n). For overlapping samples, p is at
    least 2 / 2^n if the smaller number of blocks n is below `FEW`. That is the probability that all of them
    fall on one side of the other sample's centre, if their spread is the larger. The interval holds the
    shifts that the test does not reject.

    Parameters
    ----------
    first, second : arrays (blocks,)
        Log times; at least two each.
    alpha : float
        Probability with which the interval may miss.
    """
    first, second = distributions.thinned(first), distributions.thinned(second)
    differences = first[:, None] - second
    ordered = np.sort(differences, axis=None)
    count = len(ordered)
    p_value = _p_values_by_shift(differences)

    def last_kept(kept: int, rejected: int) -> int:
        """Find, by bisection, the last number of differences below the shift that is not rejected."""
        while abs(kept - rejected) > 1:
            between = (kept + rejected) // 2
            kept, rejected = (between, rejected) if p_value(between) > alpha else (kept, between)
        return kept

    least_p = 2 / comb(len(first) + len(second), len(first))
    low = high = coverage = np.nan
    if least_p <= alpha:
        low = float(ordered[last_kept(count // 2, 0) - 1])
        high = float(ordered[last_kept(count // 2, count)])
        fewer, more = sorted((len(first), len(second)))
        coverage = _coverage(fewer, more, alpha)
    below, above = int((ordered < -EQUAL).sum()), int((ordered > EQUAL).sum())
    p_at_zero = 1.0  # differences of 0 count for the smaller side
    if max(below, above) > count / 2:
        p_at_zero = max(p_value(below), p_value(count - above))
    estimate = float((ordered[(count - 1) // 2] + ordered[count // 2]) / 2)
    return Shift(estimate, low, high, coverage, p_at_zero, least_p)


def _p_values_by_shift(differences: Floats) -> Callable[[int], float]:
    """Return a function from the number of differences below a shift to the two-sided p-value of the shift.

    Parameters
    ----------
    differences : array (n, m)
        Each first log time minus each second log time.
    """
    count = differences.size
    rank = np.empty(count, np.int64)
    rank[np.argsort(differences, axis=None, kind="stable")] = np.arange(count)
    ranks: Integers = rank.reshape(differences.shape)
    fewer, more = sorted(differences.shape)
    null = _studentised_null(fewer, more)
    if null is None:
        return lambda below: _approximate_p(ranks >= below)
    enumerated = _enumerated_p(ranks, null)
    return lambda below: float(enumerated[below])


def _least_overlapping_p(blocks: int) -> float:
    """Return the smallest p-value of overlapping samples, the smaller of which has this many blocks."""
    return 2 / 2**blocks if blocks < FEW else 0.0


def _enumerated_p(ranks: Integers, null: Floats) -> Floats:
    """Compute the two-sided p-values of shifts that lie above 0, 1, … n m differences, array (n m + 1,).

    The p-values fall from the middle outwards: each is the largest of its own and of all p-values farther
    out, since the probit may grow slower than its standard error.

    Parameters
    ----------
    ranks : array (n, m)
        Ranks of the differences, from 0.
    null : array (divisions,)
        As `_studentised_null` returns it.
    """
    n, m = ranks.shape
    above = ranks >= np.arange(n * m + 1)[:, None, None]
    below_first, below_second = above.sum(axis=2), n - above.sum(axis=1)
    variance = below_first.var(axis=1, ddof=1) / n / m**2 + below_second.var(axis=1, ddof=1) / m / n**2
    statistics = _studentised(below_first.sum(axis=1), n * m, variance)
    shares = (len(null) - np.searchsorted(null, statistics * (1 - 1e-9))) / len(null)
    shares = np.where(np.isinf(statistics), shares, np.maximum(shares, _least_overlapping_p(min(n, m))))
    sides = shares[: n * m // 2 + 1], shares[: n * m // 2 : -1]
    inwards = [np.maximum.accumulate(side) for side in sides]
    return np.concatenate([inwards[0], inwards[1][::-1]])


def _approximate_p(above: Flags) -> float:
    """Compute the two-sided p-value without enumeration, by Student's t and by the rank sum.

    Parameters
    ----------
    above : array (n, m)
        Whether each first value is above each second value.
    """
    n, m = above.shape
    pairs_above = int(above.sum())
    # Number of values of the other sample below each value of a sample.
    below_first, below_second = above.sum(axis=1), n - above.sum(axis=0)
    first_variance, second_variance = below_first.var(ddof=1) / n / m**2, below_second.var(ddof=1) / m / n**2
    variance = first_variance + second_variance
    if variance == 0:  # separated samples
        return 2 / comb(n + m, n)
    statistic = abs(pairs_above / (n * m) - 0.5) / sqrt(variance)
    freedom = variance**2 / (first_variance**2 / (n - 1) + second_variance**2 / (m - 1))
    p_by_t = float(2 * stats.t.sf(statistic, max(int(freedom), 1)))
    return max(p_by_t, distributions.rank_sum_p(n, m, pairs_above), _least_overlapping_p(min(n, m)))


def _studentised(above: Integers, pairs: int, variance: Floats) -> Floats:
    """Compute the studentised statistic: the absolute probit of a share, divided by its standard error.

    The share is that of the pairs of values in which the first value is the larger. The statistic is infinite
    for separated samples, whose variance is 0.

    Parameters
    ----------
    above : array (divisions,)
        Number of pairs in which the first value is the larger.
    pairs : int
        Number of all pairs.
    variance : array (divisions,)
        Variance of the share.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(variance > 0, _probits(pairs)[above] / np.sqrt(variance), np.inf)


@cache
def _probits(pairs: int) -> Floats:
    """Compute the absolute probits of the shares 0, 1/pairs, …, 1, times the density; 0 at both ends."""
    normal = NormalDist()
    values = [normal.inv_cdf(above / pairs) for above in range(1, pairs)]
    return np.array([0, *(abs(value) * normal.pdf(value) for value in values), 0])


@cache
def _studentised_null(fewer: int, more: int) -> Floats | None:
    """Compute the studentised statistics of all divisions in increasing order; None beyond `DIVISIONS`."""
    if comb(fewer + more, fewer) > DIVISIONS:
        return None
    below = distributions.divisions(fewer, more) - np.arange(fewer)
    # number of values of the larger sample that are above 0, 1, … of the smaller
    between = np.diff(below, axis=1, prepend=0, append=more)
    above = np.arange(fewer + 1)
    variance = below.var(axis=1, ddof=1) / fewer / more**2
    mean = between @ above / more
    other_variance = (between @ above**2 - more * mean**2).clip(min=0) / (more - 1) / more / fewer**2
    return np.sort(_studentised(below.sum(axis=1), fewer * more, variance + other_variance))


@cache
def _coverage(fewer: int, more: int, alpha: float) -> float:
    """Compute the coverage of the interval that holds all shifts with a p-value above `alpha`.

    Below `FEW` blocks, all blocks of a wide sample fall on one side of a narrow one in 2 / 2^n of all cases.
    The interval then misses, however small the p-value of separate samples is.

    Parameters
    ----------
    fewer, more : int
        Blocks of the smaller and of the larger sample.
    alpha : float
        Probability with which the interval may miss.
    """
    at_most = 1 - _least_overlapping_p(fewer)
    null = _studentised_null(fewer, more)
    if null is None:
        return min(1 - alpha, at_most)
    shares = (len(null) - np.searchsorted(null, null * (1 - 1e-9))) / len(null)
    shares = np.where(np.isinf(null), shares, np.maximum(shares, _least_overlapping_p(fewer)))
    return min(float(1 - shares[shares <= alpha].max()), at_most)
