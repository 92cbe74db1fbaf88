"""How far two sets of log times lie apart: one functional gives the estimate, its interval and its test.

Paired times by their log ratios: the pseudo-median (Hodges and Lehmann, Annals of Mathematical Statistics
34, 1963), the median of all means of two ratios, with the interval and the test of the signed ranks. Unpaired
ones by the median of all differences, with the test below and the interval that follows from it.
"""

from __future__ import annotations

from functools import cache
from math import comb, pi, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from analysis.statistics import Floats, distributions

ASYMMETRIC = 2.576 * sqrt(pi / 2 - 1)
"""Least (mean - median) sqrt(n) / s of ratios that are plainly asymmetric: 1 % of normal ones are beyond."""
ASYMMETRIC_FROM = 10
"""Pairs from which on asymmetry is looked for."""
FEW = 6
"""Blocks below which an unknown spread alone puts all of them on one side in more than 5 %."""
DIVISIONS = 200_000
"""Divisions of two samples up to which all are enumerated: of 10 blocks against 10."""
EQUAL = 1e-12
"""Logs that differ by less differ by rounding alone."""
ROOM = 2**22
"""Numbers held at once."""


class Shift(NamedTuple):
    """Location of log ratios, or of each of several rows of them.

    Attributes
    ----------
    estimate, low, high : float or array
        NaN ends where no interval attains the level.
    coverage : float or array
        What the interval attains; NaN without one.
    p_value : float or array
        Two-sided, of the location being 0.
    least_p : float or array
        The least that so many blocks can give.
    """

    estimate: Floats
    low: Floats
    high: Floats
    coverage: Floats
    p_value: Floats
    least_p: Floats


def paired_shift(ratios: Floats, alpha: Floats | float, by_sign: NDArray[np.bool_] | None = None) -> Shift:
    """Location of paired log ratios, exact for ratios that are symmetric about it.

    Pseudo-median, interval and test are those of the signed ranks: the ends are the k-th smallest and the
    k-th largest mean of two ratios (Lehmann, Nonparametrics, 1975, section 4.4), and the test counts the
    means above and below 0, those at 0 for neither. Plainly asymmetric ratios have their median, its
    order-statistic interval and the sign test instead.

    Parameters
    ----------
    ratios : array (rows, pairs)
    alpha : float or array (rows,)
        By how much the intervals may miss.
    by_sign : array (rows,), optional
        Which have their median; by default those that are plainly asymmetric.
    """
    ratios = distributions.thinned(np.asarray(ratios, float))
    rows, pairs = ratios.shape
    alphas = np.broadcast_to(alpha, rows)
    found = np.empty((len(Shift._fields), rows))
    skewed = plainly_asymmetric(ratios) if by_sign is None else by_sign
    first, second = np.triu_indices(pairs)
    step = max(ROOM // len(first), 1)
    symmetric = np.flatnonzero(~skewed)
    for start in range(0, len(symmetric), step):
        some = symmetric[start : start + step]
        means = (ratios[some][:, first] + ratios[some][:, second]) / 2
        found[:, some] = _of_order(np.sort(means, axis=1), distributions.signed_ranks(pairs), alphas[some])
    if skewed.any():
        found[:, skewed] = _of_order(
            np.sort(ratios[skewed], axis=1), distributions.signs(pairs), alphas[skewed]
        )
    return Shift(*found)


def _of_order(ordered: Floats, tail: Floats, alphas: Floats) -> NDArray[np.float64]:
    """A `Shift` of each row of increasing values, with the distribution of how many are below it."""
    rows, count = ordered.shape
    middle = (ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2
    ends = np.full((3, rows), np.nan)
    for alpha in np.unique(alphas):
        if rank := distributions.last_rank(tail, alpha):
            some = alphas == alpha
            ends[0, some], ends[1, some] = ordered[some, rank - 1], ordered[some, count - rank]
            ends[2, some] = 1 - 2 * tail[rank - 1]
    more = np.maximum((ordered > EQUAL).sum(axis=1), (ordered < -EQUAL).sum(axis=1))
    p_values = np.minimum(2 * tail[count - more], 1)
    return np.stack([middle, *ends, p_values, np.full(rows, 2 * tail[0])])


def plainly_asymmetric(ratios: Floats) -> NDArray[np.bool_]:
    """Which rows of log ratios (rows, pairs) lie plainly otherwise on either side of their median.

    By (mean - median) sqrt(n) / s at 1 % (Cabilio and Masaro, Canadian Journal of Statistics 24, 1996), from
    `ASYMMETRIC_FROM` pairs on. Long tails alone hardly trip it.
    """
    pairs = ratios.shape[1]
    if pairs < ASYMMETRIC_FROM:
        return np.zeros(len(ratios), bool)
    apart = np.abs(ratios.mean(axis=1) - np.median(ratios, axis=1)) * sqrt(pairs)
    spread = ratios.std(axis=1, ddof=1)
    return (apart > ASYMMETRIC * spread) & (spread > EQUAL)


def unpaired_shift(first: Floats, second: Floats, alpha: float) -> Shift:
    """How far the first of two independent samples of log times lies above the second.

    The estimate is the median of all differences. The test is the permutation test of the studentised rank
    statistic, which holds for samples of unequal spread too (Neubert and Brunner, Computational Statistics
    and Data Analysis 51, 2007), on the probit of the share, without which seven wide blocks come out as
    different too often (Pauly, Asendorf and Konietschke, Biometrical Journal 58, 2016): all divisions are
    enumerated up to `DIVISIONS`; beyond, the larger of the p-values of the plain statistic's
    approximation by Student's t (Brunner and Munzel, Biometrical Journal 42, 2000) and of the exact rank-sum
    test. Samples that do not meet are as far apart as can be: p = 2 / C(n + m, n). Those
    that do meet have at least 2 / 2^n where n, the fewer blocks, is below `FEW`: so often chance puts all of
    them on one side of the others' middle, if their spread is the larger. The interval holds the shifts that
    are not rejected.

    Parameters
    ----------
    first, second : arrays (blocks,)
        Two at least.
    """
    first, second = distributions.thinned(first), distributions.thinned(second)
    differences = first[:, None] - second
    ordered = np.sort(differences, axis=None)
    count = len(ordered)
    rank = np.empty(count, np.int64)
    rank[np.argsort(differences, axis=None, kind="stable")] = np.arange(count)
    rank = rank.reshape(differences.shape)

    null = _studentised_null(*sorted(rank.shape))
    enumerated = None if null is None else _enumerated_p(rank, null)

    def p_value(below: int) -> float:
        """Of a shift above so many of the differences."""
        return _approximate_p(rank >= below) if enumerated is None else float(enumerated[below])

    def last_kept(kept: int, rejected: int) -> int:
        while abs(kept - rejected) > 1:
            between = (kept + rejected) // 2
            kept, rejected = (between, rejected) if p_value(between) > alpha else (kept, between)
        return kept

    least = 2 / comb(len(first) + len(second), len(first))
    low = high = coverage = np.nan
    if least <= alpha:
        low = ordered[last_kept(count // 2, 0) - 1]
        high = ordered[last_kept(count // 2, count)]
        coverage = _coverage(*sorted((len(first), len(second))), alpha)
    below, above = int((ordered < -EQUAL).sum()), int((ordered > EQUAL).sum())
    at_zero = 1.0  # the more of differences of 0 are taken to be on the other side
    if max(below, above) > count / 2:
        at_zero = max(p_value(below), p_value(count - above))
    estimate = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    return Shift(estimate, low, high, coverage, at_zero, least)


def _by_chance(few: int) -> float:
    """Least p-value of samples that meet."""
    return 2 / 2**few if few < FEW else 0.0


def _enumerated_p(rank: NDArray[np.int64], null: Floats) -> Floats:
    """Two-sided p-values of shifts above none, one, … all of the differences, with their ranks (n, m).

    Of each the largest of any shift farther out: there the probit may grow by less than its standard error.
    """
    n, m = rank.shape
    above = rank >= np.arange(n * m + 1)[:, None, None]
    below_first, below_second = above.sum(axis=2), n - above.sum(axis=1)
    variance = below_first.var(axis=1, ddof=1) / n / m**2 + below_second.var(axis=1, ddof=1) / m / n**2
    statistics = _studentised(below_first.sum(axis=1), n * m, variance)
    shares = (len(null) - np.searchsorted(null, statistics * (1 - 1e-9))) / len(null)
    shares = np.where(np.isinf(statistics), shares, np.maximum(shares, _by_chance(min(n, m))))
    sides = shares[: n * m // 2 + 1], shares[: n * m // 2 : -1]
    inwards = [np.maximum.accumulate(side) for side in sides]
    return np.concatenate([inwards[0], inwards[1][::-1]])


def _approximate_p(above: NDArray[np.bool_]) -> float:
    """Two-sided p-value from which values of the first sample are above which of the second, array (n, m)."""
    n, m = above.shape
    below_first, below_second = above.sum(axis=1), n - above.sum(axis=0)
    variances = below_first.var(ddof=1) / n / m**2, below_second.var(ddof=1) / m / n**2
    pairs = int(above.sum())
    if sum(variances) == 0:
        return 2 / comb(n + m, n)
    statistic = abs(pairs / (n * m) - 0.5) / sqrt(sum(variances))
    freedom = sum(variances) ** 2 / (variances[0] ** 2 / (n - 1) + variances[1] ** 2 / (m - 1))
    by_t = 2 * stats.t.sf(statistic, max(int(freedom), 1))
    return max(by_t, distributions.rank_sum_p(n, m, pairs), _by_chance(min(n, m)))


def _studentised(above: NDArray[np.int64], pairs: int, variance: Floats) -> Floats:
    """Probit of the share of pairs whose first is above, by its standard error and without its sign.

    Infinite where the samples do not meet, so that nothing varies.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(variance > 0, _probits(pairs)[above] / np.sqrt(variance), np.inf)


@cache
def _probits(pairs: int) -> Floats:
    """Probits of 0, 1, … of so many, without their sign and by their slope; 0 of none and of all."""
    normal = NormalDist()
    values = [normal.inv_cdf(above / pairs) for above in range(1, pairs)]
    return np.array([0, *(abs(value) * normal.pdf(value) for value in values), 0])


@cache
def _studentised_null(few: int, many: int) -> Floats | None:
    """The studentised statistic of all divisions in increasing order; None of more than `DIVISIONS`."""
    if comb(few + many, few) > DIVISIONS:
        return None
    below = distributions.divisions(few, many) - np.arange(few)
    between = np.diff(below, axis=1, prepend=0, append=many)  # values of the many that are above 0, 1, … few
    above = np.arange(few + 1)
    of_few = below.var(axis=1, ddof=1) / few / many**2
    mean = between @ above / many
    of_many = (between @ above**2 - many * mean**2).clip(min=0) / (many - 1) / many / few**2
    return np.sort(_studentised(below.sum(axis=1), few * many, of_few + of_many))


@cache
def _coverage(few: int, many: int, alpha: float) -> float:
    """What the interval of shifts that are not rejected attains."""
    null = _studentised_null(few, many)
    if null is None:
        return 1 - alpha
    shares = (len(null) - np.searchsorted(null, null * (1 - 1e-9))) / len(null)  # of statistics as large
    shares = np.where(np.isinf(null), shares, np.maximum(shares, _by_chance(few)))
    return float(1 - shares[shares <= alpha].max())
