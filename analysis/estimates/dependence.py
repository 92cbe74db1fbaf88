"""How far blocks depend on the ones before them, and how many independent ones they are worth."""

from __future__ import annotations

from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from analysis.runs.groups import Floats, Integers

CREDIBLE = 0.025
"""One-sided p-value up to which a lag-one correlation is credible."""
ORDERS = 399
"""Random orders of the blocks that a correlation is tested against."""
MOST = 0.95
"""Largest correlation that is believed."""


def lag_one(series: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Lag-one correlation of each series, and whether it is credible: its p-value up to `CREDIBLE`.

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
    credible : array (...)
    """
    n = series.shape[-1]
    deviations = series - series.mean(axis=-1, keepdims=True)
    total = (deviations**2).sum(axis=-1)
    told = (total > 1e-20) & (n >= 4)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.where(
            told, (deviations[..., 1:] * deviations[..., :-1]).sum(axis=-1) / total, np.nan
        )
        scale = (n - 2) / (n * np.sqrt(n - 1))
        return correlation, (correlation + 1 / n) / scale >= NormalDist().inv_cdf(1 - CREDIBLE)


def worth(correlation: Floats, n: int) -> Floats:
    """Independent blocks that n with a lag-one correlation are worth: n (1 - r) / (1 + r), from 1 to n.

    Bayley and Hammersley (Supplement to the Journal of the Royal Statistical Society 8, 1946), for a process
    whose correlation falls geometrically; r is corrected for its bias, (1 + 4 r)/n (Marriott and Pope,
    Biometrika 41, 1954).
    """
    corrected = np.clip(correlation + (1 + 4 * correlation) / n, 0, MOST)
    return np.maximum(n * (1 - corrected) / (1 + corrected), 1)


def spread_about(series: Floats, centre: Floats, effective: Floats) -> Floats:
    """Series spread about their estimates by the root of n over the effective number of blocks.

    What an exact interval and test of independent values say of these is the interval widened by that
    factor, and the test that belongs to it.

    Parameters
    ----------
    series : array (..., n)
    centre, effective : arrays (...)
    """
    factor = np.sqrt(series.shape[-1] / effective)[..., None]
    return centre[..., None] + factor * (series - centre[..., None])


def effective_sweeps(times: Floats) -> int:
    """How many of a stratum's sweeps are drawn: all, unless their dependence is credible.

    Judged by the lag-one correlation of all points' log times together, and of what is left of them without
    each sweep's own mean, which cancels in ratios; against random orders of whole sweeps, so what points of
    a sweep share counts once. Drawing m of n with replacement (Bickel, Goetze and van Zwet, Statistica Sinica
    7, 1997) widens what follows by the root of n/m.

    Parameters
    ----------
    times : array (points, n)
        Seconds, the sweeps in their order, NaN where a point has none.

    Returns
    -------
    int
        n, or its worth, at least 2.
    """
    n = times.shape[1]
    if n < 4:
        return n
    logs = np.log(times)
    missing = np.isnan(logs)
    told = np.maximum((~missing).sum(axis=1, keepdims=True), 1)
    logs = np.where(missing, 0, logs - np.where(missing, 0, logs).sum(axis=1, keepdims=True) / told)
    least = n
    for deviations in (logs, logs - logs.mean(axis=0)):
        if (square := np.einsum("pt,pt->p", deviations, deviations)).max() < 1e-20:
            continue
        scaled = deviations / np.sqrt(np.where(square > 1e-20, square, 1))[:, None]
        products = scaled.T @ scaled
        correlation = np.trace(products, 1) / np.trace(products)
        first, second = _orders(n)
        others = products[first, second].sum(axis=1) / np.trace(products)
        if (1 + (others >= correlation).sum()) / (1 + len(others)) <= CREDIBLE:
            least = min(least, int(worth(correlation, n)))
    return max(least, 2)


@cache
def _orders(n: int) -> tuple[Integers, Integers]:
    orders = np.random.default_rng(n).permuted(np.tile(np.arange(n), (ORDERS, 1)), axis=1)
    return orders[:, :-1], orders[:, 1:]
