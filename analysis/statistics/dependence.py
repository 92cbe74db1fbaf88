"""How far blocks depend on the ones before them, and how many independent ones they are worth."""

from __future__ import annotations

from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from analysis.statistics import Floats, Integers

CREDIBLE = 0.025
"""One-sided p-value up to which a lag-one correlation is credible."""
MANY = 30
"""Blocks from which on a correlation counts that is `LIKELY`: a strict test of it would miss too many."""
LIKELY = 0.35
"""One-sided p-value up to which it does: so intervals hold as stated, of independent blocks and of others."""
ORDERS = 399
"""Random orders of the blocks that a correlation is tested against."""
MOST = 0.95
"""Largest correlation that is believed."""
TINY = 1e-4
"""Smallest level that Student's t is asked about: that of 500 tests at once."""
LEAST = 4
"""Independent blocks that any number of blocks is taken to be worth at least."""


def lag_one(series: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Lag-one correlation of each series, and whether it counts.

    It does with a p-value up to `CREDIBLE`, from `MANY` blocks on up to `LIKELY`.

    r = sum of d_t d_(t+1) / sum of d_t^2, d from the mean; under independence its mean is -1/n, its variance
    about (n - 2)^2 / (n^2 (n - 1)) (Moran, Biometrika 35, 1948), and it is taken as normal.

    Parameters
    ----------
    series : array (..., n)
        In order of execution, log ratios of paired times.

    Returns
    -------
    correlation : array (...)
        NaN from fewer than four blocks, or where nothing varies.
    counts : array (...)
    """
    n = series.shape[-1]
    deviations = series - series.mean(axis=-1, keepdims=True)
    total = (deviations**2).sum(axis=-1)
    told = (total > 1e-20) & (n >= 4)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.where(
            told, (deviations[..., 1:] * deviations[..., :-1]).sum(axis=-1) / total, np.nan
        )
    return correlation, _beyond(correlation, n, CREDIBLE if n < MANY else LIKELY)


def credible(correlation: Floats, n: Floats | int, looks: int = 1) -> NDArray[np.bool_]:
    """Whether lag-one correlations of n blocks are credible; these alone forbid a test that knows none.

    `looks` is among how many correlations the largest is looked for (Bonferroni).
    """
    return _beyond(correlation, n, CREDIBLE / looks)


def _beyond(correlation: Floats, n: Floats | int, p_value: float) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = (n - 2) / (n * np.sqrt(n - 1))
        return (correlation + 1 / n) / scale >= NormalDist().inv_cdf(1 - p_value)


def effective_blocks(series: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Lag-one correlation of each series (..., n), the blocks that it is worth, and whether it counts.

    Where it does not, these are all n; where it does, the fewer by the lag-one correlation and by all lags.
    """
    n = series.shape[-1]
    correlation, counts = lag_one(series)
    effective = np.full(correlation.shape, float(n))
    effective[counts] = np.minimum(worth(correlation[counts], n), _worth_by_lags(series[counts]))
    return correlation, effective, counts


def worth(correlation: Floats, n: int) -> Floats:
    """Independent blocks that n with a lag-one correlation are worth: n (1 - r) / (1 + r), `LEAST` to n.

    Bayley and Hammersley (Supplement to the Journal of the Royal Statistical Society 8, 1946), for a process
    whose correlation falls geometrically.
    """
    corrected = np.clip(_less_bias(correlation, n), 0, MOST)
    return np.maximum(n * (1 - corrected) / (1 + corrected), min(LEAST, n))


def _worth_by_lags(series: Floats) -> Floats:
    """Independent blocks that series (rows, n) are worth by the sum of their correlations at all lags.

    Up to the first that is not above 0, and a quarter of the blocks (after Geyer, Statistical Science 7,
    1992). Where independent noise is mixed with dependent one, the lag-one correlation alone says too little.
    """
    n = series.shape[1]
    deviations = series - series.mean(axis=1, keepdims=True)
    total = (deviations**2).sum(axis=1)
    going, sums = np.ones(len(series), bool), np.zeros(len(series))
    for lag in range(1, n // 4 + 1):
        correlation = _less_bias((deviations[:, lag:] * deviations[:, :-lag]).sum(axis=1) / total, n)
        going &= correlation > 0
        sums += np.where(going, correlation, 0)
    return np.maximum(n / (1 + 2 * sums), min(LEAST, n))


def _less_bias(correlation: Floats, n: int) -> Floats:
    """Correlation of n blocks without its bias, (1 + 4 r)/n (Marriott and Pope, Biometrika 41, 1954)."""
    return correlation + (1 + 4 * correlation) / n


def widening(effective: Floats, n: int, alphas: Floats) -> Floats:
    """By how much intervals of n dependent blocks are wider than those of independent ones, array (rows,).

    By the root of (n - 1) over (m - 1), for m effective blocks: the spread of n dependent values is less than
    that of independent ones, by just so much (Bayley and Hammersley, as above). And by Student's t: its
    freedom is n - 1 where all blocks are independent, and else half of what the effective blocks have, since
    their number is estimated from the same blocks (found by simulation; from `MANY` blocks on, intervals then
    hold as often as stated: docs/statistics.md).

    Parameters
    ----------
    effective, alphas : arrays (rows,)
    """
    freedom = np.maximum((effective - 1) // 2, LEAST - 1)
    uppers = np.maximum(alphas, TINY) / 2
    by_t = stats.t.isf(uppers, freedom) / stats.t.isf(uppers, n - 1)
    return np.sqrt((n - 1) / (effective - 1)) * by_t


def spread_about(series: Floats, centre: Floats, factor: Floats) -> Floats:
    """Series (rows, n) spread about their estimates (rows,) by a factor (rows,).

    What an exact interval and test of independent values say of these is the interval widened by that
    factor, and the test that belongs to it.
    """
    return centre[:, None] + factor[:, None] * (series - centre[:, None])


def effective_sweeps(times: Floats, counts: Integers) -> int:
    """How many of a stratum's sweeps are drawn: all, unless their dependence is credible.

    Judged by the lag-one correlation of all points' log times together, and of what is left of them without
    the mean of their sweep, or of their count in a sweep, which cancel in ratios; against random orders of
    whole sweeps, so what points of a sweep share counts once. Drawing m of n with replacement (Bickel, Goetze
    and van Zwet, Statistica Sinica 7, 1997) widens what follows by the root of n/m.

    Parameters
    ----------
    times : array (points, n)
        Seconds, the sweeps in their order, NaN where a point has none.
    counts : array (points,)
        Number of each point's process count.

    Returns
    -------
    int
        n, or its worth.
    """
    n = times.shape[1]
    if n < 4:
        return n
    logs = np.log(times)
    missing = np.isnan(logs)
    told = np.maximum((~missing).sum(axis=1, keepdims=True), 1)
    logs = np.where(missing, 0, logs - np.where(missing, 0, logs).sum(axis=1, keepdims=True) / told)
    alike = counts[:, None] == counts
    of_count = alike / alike.sum(axis=1, keepdims=True)
    least = n
    for deviations in (logs, logs - logs.mean(axis=0), logs - of_count @ logs):
        if (square := np.einsum("pt,pt->p", deviations, deviations)).max() < 1e-20:
            continue
        scaled = deviations / np.sqrt(np.where(square > 1e-20, square, 1))[:, None]
        products = scaled.T @ scaled
        correlation = np.trace(products, 1) / np.trace(products)
        first, second = _orders(n)
        others = products[first, second].sum(axis=1) / np.trace(products)
        if (1 + (others >= correlation).sum()) / (1 + len(others)) <= CREDIBLE:
            least = min(least, int(worth(correlation, n)))
    return least


@cache
def _orders(n: int) -> tuple[Integers, Integers]:
    orders = np.random.default_rng(n).permuted(np.tile(np.arange(n), (ORDERS, 1)), axis=1)
    return orders[:, :-1], orders[:, 1:]
