"""Trend of a short series: Kendall's test and the Theil-Sen slope, exact for few values."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import stats

from analysis.statistics import Floats
from analysis.statistics.dependence import effective_blocks

EXACT = 60
"""Values up to which the distribution of Kendall's S is worked out; beyond, it is taken as normal."""


class Trend(NamedTuple):
    """Trend of a series.

    Attributes
    ----------
    change, low, high : float
        Change from the first to the last value along the Theil-Sen line, with its interval; the ends are
        NaN where the values are too few for an interval.
    tau : float
        Kendall's rank correlation with the order, -1 to 1.
    p_value : float
        Two-sided, of no trend.
    """

    change: float
    low: float
    high: float
    tau: float
    p_value: float


def trend(values: Floats, confidence: float = 0.95, dependent: bool = False) -> Trend:
    """Find the trend of values against their order.

    Kendall's S (Mann, Econometrica 13, 1945) with its exact distribution given the ties, and the median of
    the slopes of all pairs with the interval that belongs to the test (Sen, JASA 63, 1968). Equal values
    count for neither direction; `tau` is Kendall's tau-b. SciPy has neither that distribution nor that
    interval.

    Parameters
    ----------
    values : array (n,)
        In order; n at least 2.
    confidence : float
        Nominal coverage of the interval, which is at least that.
    dependent : bool
        Whether values may depend on the values before them. S then counts as that of their effective number
        about the line, by the root of its share (Yue and Wang, Water Resources Management 18, 2004).
    """
    n = len(values)
    first, second = np.triu_indices(n, 1)
    steps = values[second] - values[first]
    slopes = np.sort(steps / (second - first) * (n - 1))
    change, score, pairs = np.median(slopes), np.sign(steps).sum(), len(slopes)
    share = 1.0
    if dependent:
        line = change * np.linspace(0, 1, n)
        share = np.sqrt(effective_blocks((values - line)[None])[1][0] / n)
    ties = tuple(sorted(np.unique(values, return_counts=True)[1].tolist()))
    untied = pairs - _tied_pairs(ties)
    tau = score / np.sqrt(pairs * untied) if untied else np.nan
    low = high = np.nan
    critical = _critical(n, ties, confidence)
    if critical is not None and (rank := int((pairs - critical / share) // 2)) >= 0:
        low, high = slopes[rank], slopes[pairs - 1 - rank]
    return Trend(change, low, high, tau, float(_p_value(n, ties, score * share)))


def _tied_pairs(ties: tuple[int, ...]) -> int:
    return sum(size * (size - 1) // 2 for size in ties)


@cache
def _distribution(n: int, ties: tuple[int, ...]) -> Floats:
    """P(S = -m), P(S = -m + 2), … for n values in random order, m of whose pairs are untied.

    `ties` are the sizes of the groups of equal values.

    Kendall, Biometrika 30, 1938. With ties: inversions of n values are those among unequal ones and, apart
    and each as if untied, those within groups of equal ones (MacMahon, Combinatory Analysis, 1915), so their
    generating function is divided by that of each group.
    """
    shares = np.ones(1)
    for size in range(2, n + 1):  # a further value adds 0 to size - 1 inversions, each equally likely
        shares = np.convolve(shares, np.full(size, 1 / size))
    for size in (size for group in ties for size in range(2, group + 1)):
        for place in range(len(shares) - size + 1):  # shares of sums of `size` neighbours, back to the first
            shares[place] = size * shares[place] - shares[max(place - size + 1, 0) : place].sum()
        shares = shares[: len(shares) - size + 1]
    return shares


def _p_value(n: int, ties: tuple[int, ...], score: Floats | float) -> Floats:
    pairs = n * (n - 1) // 2 - _tied_pairs(ties)
    if not pairs:
        return np.ones(np.shape(score))
    if n > EXACT:
        variance = (
            sum(sign * m * (m - 1) * (2 * m + 5) for m, sign in ((n, 1), *((m, -1) for m in ties))) / 18
        )
        deviation = np.sqrt(variance)
        return np.minimum(1, 2 * stats.norm.cdf((1 - np.abs(score)) / deviation))
    tail = np.cumsum(_distribution(n, ties))
    inversions = np.ceil((pairs - np.abs(score)) / 2).astype(int)
    return np.minimum(1, 2 * tail[inversions])


def _critical(n: int, ties: tuple[int, ...], confidence: float) -> int | None:
    """Smallest S, of the parity of the untied pairs, that a test at 1 - `confidence` rejects; or None."""
    pairs = n * (n - 1) // 2 - _tied_pairs(ties)
    scores = np.arange(pairs, 0, -2)
    rejected = scores[_p_value(n, ties, scores.astype(float)) <= 1 - confidence]
    return int(rejected[-1]) if len(rejected) else None
