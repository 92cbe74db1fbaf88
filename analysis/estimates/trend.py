"""Trend of a short series: Kendall's test and the Theil-Sen slope, exact for few values."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from analysis.runs.groups import Floats

EXACT = 60
"""Values up to which the distribution of Kendall's S is worked out; beyond, it is taken as normal."""


class Trend(NamedTuple):
    """Trends of many series of the same length, each field an array (series,).

    Attributes
    ----------
    change, low, high : arrays
        Change from the first to the last value along the Theil-Sen line, with its interval; NaN where
        the values are too few for one.
    tau : array
        Kendall's rank correlation with the order, -1 to 1.
    p_value : array
        Two-sided, of no trend.
    """

    change: Floats
    low: Floats
    high: Floats
    tau: Floats
    p_value: Floats


def trend(values: Floats, confidence: float = 0.95) -> Trend:
    """Trend of values against their order.

    Kendall's S (Mann, Econometrica 13, 1945) with its exact distribution, and the median of the slopes
    of all pairs with the interval that belongs to the test (Sen, JASA 63, 1968). Equal values count
    for neither direction.

    Parameters
    ----------
    values : array (series, n)
        In order; n at least 2.
    confidence : float
        Nominal coverage of the interval, which is at least that.
    """
    n = values.shape[1]
    first, second = np.triu_indices(n, 1)
    steps = values[:, second] - values[:, first]
    score = np.sign(steps).sum(axis=1)
    slopes = np.sort(steps / (second - first) * (n - 1), axis=1)
    pairs = len(first)
    critical = _critical(n, confidence)
    none = np.full(len(values), np.nan)
    low, high = none, none
    if critical is not None:
        rank = (pairs - critical) // 2
        low, high = slopes[:, rank], slopes[:, pairs - 1 - rank]
    middle = (slopes[:, (pairs - 1) // 2] + slopes[:, pairs // 2]) / 2
    return Trend(middle, low, high, score / pairs, _p_value(n, score))


@cache
def _distribution(n: int) -> Floats:
    """P(S = -pairs), P(S = -pairs + 2), … for n values in random order (Kendall, Biometrika 30, 1938)."""
    shares = np.ones(1)
    for size in range(2, n + 1):  # a further value adds 0 to size - 1 inversions, each equally likely
        shares = np.convolve(shares, np.full(size, 1 / size))
    return shares


def _p_value(n: int, score: Floats) -> Floats:
    pairs = n * (n - 1) // 2
    if n > EXACT:
        from scipy.special import ndtr  # takes 0.2 s to import, and few series are so long

        deviation = np.sqrt(n * (n - 1) * (2 * n + 5) / 18)
        return np.minimum(1, 2 * ndtr((1 - np.abs(score)) / deviation))
    tail = np.cumsum(_distribution(n))
    inversions = ((pairs - np.abs(score)) // 2).astype(int)
    return np.minimum(1, 2 * tail[inversions])


def _critical(n: int, confidence: float) -> int | None:
    """Smallest S, of the parity of the pairs, that a test at 1 - `confidence` rejects; None without one."""
    pairs = n * (n - 1) // 2
    scores = np.arange(pairs, 0, -2)
    rejected = scores[_p_value(n, scores.astype(float)) <= 1 - confidence]
    return int(rejected[-1]) if len(rejected) else None
