"""Serial dependence of blocks, and the effective number of independent blocks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy import stats

from analysis.statistics import Flags, Floats, Integers

CREDIBLE = 0.025
"""One-sided p-value at or below which a lag-one correlation is credible."""
MANY = 30
"""Number of blocks from which on a `LIKELY` correlation counts; a strict test would miss too many."""
LIKELY = 0.35
"""One-sided p-value at or below which a correlation of many blocks counts.

With this value, intervals reach their stated coverage for independent and for dependent blocks."""
ORDERS = 399
"""Number of random orders of the sweeps that a correlation is tested against."""
MOST = 0.95
"""Upper limit of a correlation."""
TINY = 1e-4
"""Lower limit of alpha for Student's t, as in a family of 500 tests."""
LEAST = 4
"""Lower limit of the effective number of blocks."""
SHORTEST = 6
"""Fewest runs of a point whose correlation is pooled; fewer runs show almost nothing."""
DOUBTFUL = 0.1
"""p-value of a pooled correlation at or below which fewer than `MANY` runs get no verdict."""
ENOUGH = 20
"""Fewest runs whose pooled correlation shows whether runs depend on each other."""
ASSUMED = 0.4
"""Lower limit of the correlation of fewer than `ENOUGH` runs.

With this value, at most 6 % of verdicts on six runs are wrong, up to a true correlation of 0.7."""


class PooledCorrelation(NamedTuple):
    """Lag-one correlation of the runs of several points.

    Attributes
    ----------
    correlation : float
        Mean over all points, weighted by their runs and corrected for bias.
    p_value : float
        One-sided p-value of independent runs.
    runs : int
        Number of runs of all points.
    """

    correlation: float
    p_value: float
    runs: int

    @property
    def few(self) -> bool:
        """Whether the runs are too few to show whether they depend on each other."""
        return self.runs < ENOUGH

    @property
    def counts(self) -> bool:
        """Whether the correlation widens intervals."""
        return self.few or self.p_value <= LIKELY

    @property
    def forbids_verdict(self) -> bool:
        """Whether the runs depend on each other too clearly for a verdict on fewer than `MANY` runs."""
        return not self.few and self.p_value <= DOUBTFUL

    def effective(self, n: int) -> float:
        """Compute the effective number of n runs, from 2 to n.

        A correlation with a p-value up to `DOUBTFUL` is raised by two standard errors, so that intervals
        hold. The correlation of few runs is at least `ASSUMED`.
        """
        correlation = self.correlation
        if self.p_value <= DOUBTFUL:
            correlation += 2 / np.sqrt(self.runs)
        correlation = float(np.clip(correlation, ASSUMED if self.few else 0, MOST))
        return max(n * (1 - correlation) / (1 + correlation), 2.0)


def pooled_correlation(series: Sequence[Floats]) -> PooledCorrelation:
    """Compute the mean lag-one correlation of several points, whose runs are in order of execution.

    One point of few runs cannot show dependence; all points of a case together can. The test compares the
    mean with `ORDERS` random orders. Each order is the same for all points, since points may share noise.

    Parameters
    ----------
    series : sequence of array (runs,)
        Log times of each point. Points of fewer than `SHORTEST` runs, or of equal times, are left out.

    Returns
    -------
    PooledCorrelation
        Of no runs, with correlation 0 and p-value 1, if no point is left.
    """
    deviations = [values - values.mean() for values in series if len(values) >= SHORTEST]
    scaled = [values / np.sqrt(values @ values) for values in deviations if values @ values > 1e-20]
    if not scaled:
        return PooledCorrelation(0.0, 1.0, 0)
    sizes = np.array([len(values) for values in scaled])
    orders = _random_orders(int(sizes.max()))
    total, without_bias, shuffled = 0.0, 0.0, np.zeros(ORDERS)
    for n in np.unique(sizes).tolist():
        points = np.stack([values for values in scaled if len(values) == n])
        products = n * points.T @ points
        correlation = np.trace(products, 1)
        total += correlation
        without_bias += len(points) * n * _without_bias(correlation / (len(points) * n), n)
        of_points = orders[orders < n].reshape(ORDERS, n)
        shuffled += products[of_points[:, :-1], of_points[:, 1:]].sum(axis=1)
    runs = int(sizes.sum())
    at_least = int((shuffled >= total - 1e-12).sum())
    return PooledCorrelation(float(without_bias / runs), (1 + at_least) / (1 + ORDERS), runs)


def lag_one(series: Floats) -> tuple[Floats, Flags]:
    """Compute the lag-one correlation of each series, and whether it counts.

    A correlation counts if its p-value is at most `CREDIBLE`, or `LIKELY` from `MANY` blocks on.

    The correlation r is the sum of d_t d_(t+1) divided by the sum of d_t^2, with d the deviations from the
    mean. For independent blocks, the mean of r is -1/n and its variance is about (n - 2)^2 / (n^2 (n - 1))
    (Moran, Biometrika 35, 1948). The test takes r as normal.

    Parameters
    ----------
    series : array (..., n)
        Log ratios of paired times in order of execution.

    Returns
    -------
    correlation : array (...)
        NaN for fewer than four blocks, or if nothing varies.
    counts : array (...)
        Whether the correlation counts.
    """
    n = series.shape[-1]
    deviations = series - series.mean(axis=-1, keepdims=True)
    total = (deviations**2).sum(axis=-1)
    varies = (total > 1e-20) & (n >= 4)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.where(
            varies, (deviations[..., 1:] * deviations[..., :-1]).sum(axis=-1) / total, np.nan
        )
    return correlation, _significant(correlation, n, CREDIBLE if n < MANY else LIKELY)


def credible(correlation: Floats | float, n: Floats | int, looks: int = 1) -> Flags:
    """Return whether lag-one correlations of n blocks are credible: their p-value is at most `CREDIBLE`.

    Nodeworth refuses a test that assumes independent blocks only if their correlation is credible.

    Parameters
    ----------
    correlation : array or float
        As `lag_one` returns it.
    n : array or int
        Number of blocks.
    looks : int
        Number of correlations from which the largest was chosen; divides `CREDIBLE` (Bonferroni).
    """
    return _significant(correlation, n, CREDIBLE / looks)


def _significant(correlation: Floats | float, n: Floats | int, alpha: float) -> Flags:
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = (n - 2) / (n * np.sqrt(n - 1))
        return np.asarray((correlation + 1 / n) / scale >= NormalDist().inv_cdf(1 - alpha))


def effective_blocks(series: Floats) -> tuple[Floats, Floats, Flags]:
    """Compute the lag-one correlation of each series, its effective number of blocks, and whether it counts.

    The effective number is n if the correlation does not count. Otherwise it is the smaller of the numbers
    by the lag-one correlation and by all lags.

    Parameters
    ----------
    series : array (..., n)
        As `lag_one` takes it.

    Returns
    -------
    correlation, effective, counts : arrays (...)
    """
    n = series.shape[-1]
    correlation, counts = lag_one(series)
    effective = np.full(correlation.shape, float(n))
    effective[counts] = np.minimum(
        independent_blocks(correlation[counts], n), _independent_blocks_by_lags(series[counts])
    )
    return correlation, effective, counts


def independent_blocks(correlation: Floats, n: int) -> Floats:
    """Compute the effective number of blocks, n (1 - r) / (1 + r), from the lag-one correlation r.

    The formula holds for a process with geometrically falling correlation (Bayley and Hammersley, Supplement
    to the Journal of the Royal Statistical Society 8, 1946). The result is at least `LEAST` and at most n.
    """
    corrected = np.clip(_without_bias(correlation, n), 0, MOST)
    return np.maximum(n * (1 - corrected) / (1 + corrected), min(LEAST, n))


def _independent_blocks_by_lags(series: Floats) -> Floats:
    """Compute the effective number of blocks of series (rows, n) from their correlations at all lags.

    The sum ends before the first correlation that is not positive, and at n/4 lags (after Geyer, Statistical
    Science 7, 1992). Independent noise on a dependent series hides dependence from the lag-one correlation.
    """
    n: int = series.shape[1]
    deviations = series - series.mean(axis=1, keepdims=True)
    total = (deviations**2).sum(axis=1)
    positive, sums = np.ones(len(series), bool), np.zeros(len(series))
    for lag in range(1, n // 4 + 1):
        correlation = _without_bias((deviations[:, lag:] * deviations[:, :-lag]).sum(axis=1) / total, n)
        positive &= correlation > 0
        sums += np.where(positive, correlation, 0)
    return np.maximum(n / (1 + 2 * sums), min(LEAST, n))


def _without_bias(correlation: Floats, n: int) -> Floats:
    """Add the bias (1 + 4 r)/n to the correlation of n blocks (Marriott and Pope, Biometrika 41, 1954)."""
    return correlation + (1 + 4 * correlation) / n


def widening(effective: Floats, n: int, alphas: Floats) -> Floats:
    """Compute the factor by which dependence widens intervals of n blocks, m of them effective.

    The factor is a product of two. The first is the square root of (n - 1) / (m - 1): n dependent values
    spread less than n independent values, by this factor (Bayley and Hammersley, 1946). The second is the
    quantile of Student's t with (m - 1) / 2 degrees of freedom, divided by the quantile with n - 1 degrees of
    freedom. Half of m - 1 stands for the error of m, which is estimated from the same blocks. In simulations,
    intervals then reach their stated coverage from `MANY` blocks on (docs/statistics.md).

    Parameters
    ----------
    effective : array (rows,)
        Effective number of blocks.
    n : int
        Number of blocks.
    alphas : array (rows,)
        Probability with which each interval may miss.

    Returns
    -------
    array (rows,)
    """
    freedom = np.maximum((effective - 1) // 2, LEAST - 1)
    uppers = np.maximum(alphas, TINY) / 2
    ratio_of_quantiles = stats.t.isf(uppers, freedom) / stats.t.isf(uppers, n - 1)
    return np.asarray(np.sqrt((n - 1) / (effective - 1)) * ratio_of_quantiles)


def spread_about(series: Floats, centre: Floats, factor: Floats) -> Floats:
    """Spread series (rows, n) about their centres (rows,) by a factor (rows,).

    An exact method for independent values, applied to the result, returns the interval widened by the factor
    and the corresponding test.
    """
    return centre[:, None] + factor[:, None] * (series - centre[:, None])


def effective_sweeps(times: Floats, counts: Integers) -> int:
    """Compute how many of a stratum's n sweeps a draw holds: all, unless their dependence is credible.

    Three lag-one correlations of log times are tested. Each is a mean over all points:

    - of the deviations from the mean of the point;
    - of these deviations minus their mean in the sweep, which cancels in ratios of points;
    - of these deviations minus their mean over the sweep's points of equal count, which cancels in ratios at
      one count.

    If a correlation is credible, a draw holds m < n sweeps, with replacement. This widens intervals by the
    square root of n/m (Bickel, Goetze and van Zwet, Statistica Sinica 7, 1997).

    Parameters
    ----------
    times : array (points, n)
        Seconds, with the sweeps in their order of execution; NaN if a point lacks a sweep.
    counts : array (points,)
        Index of each point's process count.

    Returns
    -------
    int
        n, or the effective number of sweeps.
    """
    n: int = times.shape[1]
    if n < 4:
        return n
    logs = np.log(times)
    missing = np.isnan(logs)
    present = np.maximum((~missing).sum(axis=1, keepdims=True), 1)
    point_means = np.where(missing, 0, logs).sum(axis=1, keepdims=True) / present
    from_point = np.where(missing, 0, logs - point_means)
    same_count = counts[:, None] == counts
    mean_of_count = same_count / same_count.sum(axis=1, keepdims=True)
    from_sweep = from_point - from_point.mean(axis=0)
    from_count = from_point - mean_of_count @ from_point
    fewest = n
    for deviations in (from_point, from_sweep, from_count):
        correlation, p_value = _correlation_of_sweeps(deviations)
        if p_value <= CREDIBLE:
            fewest = min(fewest, int(independent_blocks(correlation, n)))
    return fewest


def _correlation_of_sweeps(deviations: Floats) -> tuple[Floats, float]:
    """Compute the mean lag-one correlation of the points' deviations (points, sweeps), and its p-value.

    The test compares the correlation with that of `ORDERS` random orders of whole sweeps. A disturbance that
    all points of a sweep share thus counts one time only. Without any deviation, the p-value is 1.
    """
    squares = np.einsum("pt,pt->p", deviations, deviations)
    if squares.max() < 1e-20:
        return np.zeros(()), 1.0
    scaled = deviations / np.sqrt(np.where(squares > 1e-20, squares, 1))[:, None]
    products = scaled.T @ scaled
    correlation = np.trace(products, 1) / np.trace(products)
    orders = _random_orders(deviations.shape[1])
    shuffled = products[orders[:, :-1], orders[:, 1:]].sum(axis=1) / np.trace(products)
    return correlation, float((1 + (shuffled >= correlation).sum()) / (1 + len(shuffled)))


@cache
def _random_orders(n: int) -> Integers:
    """Return `ORDERS` random orders of n sweeps, array (orders, n)."""
    return np.random.default_rng(n).permuted(np.tile(np.arange(n), (ORDERS, 1)), axis=1)
