"""Trend of a short series: Kendall's test and the Theil-Sen slope, exact for few values."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import stats

from analysis.statistics import Floats
from analysis.statistics.dependence import effective_blocks

EXACT = 60
"""Largest number of values for the exact distribution of Kendall's S; beyond, S is taken as normal."""


class Trend(NamedTuple):
    """Trend of a series.

    Attributes
    ----------
    change, low, high : float
        Change from the first to the last value along the Theil-Sen line, and the ends of its interval. The
        ends are NaN if there are too few values.
    tau : float
        Kendall's rank correlation with the order, -1 to 1.
    p_value : float
        Two-sided p-value of no trend.
    """

    change: float
    low: float
    high: float
    tau: float
    p_value: float


def trend(values: Floats, confidence: float = 0.95, dependent: bool = False) -> Trend:
    """Estimate the trend of values against their order.

    The test is that of Kendall's S (Mann, Econometrica 13, 1945), with its exact distribution given the ties.
    The slope is the median of the slopes of all pairs, with the interval that follows from the test (Sen,
    JASA 63, 1968). Equal values count for neither direction; `tau` is Kendall's tau-b. SciPy has neither the
    exact distribution with ties nor this interval.

    Parameters
    ----------
    values : array (n,)
        At least two values in their order.
    confidence : float
        Nominal coverage of the interval; it covers at least this.
    dependent : bool
        Whether values may depend on the values before. Then m < n effective values remain about the line, and
        S is multiplied by the square root of m / n (Yue and Wang, Water Resources Management 18, 2004).
    """
    n = len(values)
    first, second = np.triu_indices(n, 1)
    steps = values[second] - values[first]
    slopes = np.sort(steps / (second - first) * (n - 1))
    change, score, pairs = np.median(slopes), np.sign(steps).sum(), len(slopes)
    shrink = 1.0
    if dependent:
        line = change * np.linspace(0, 1, n)
        _, effective, _ = effective_blocks((values - line)[None])
        shrink = np.sqrt(effective[0] / n)
    ties = tuple(sorted(np.unique(values, return_counts=True)[1].tolist()))
    untied = pairs - _tied_pairs(ties)
    tau = score / np.sqrt(pairs * untied) if untied else np.nan
    low = high = np.nan
    critical = _critical(n, ties, confidence)
    if critical is not None and (rank := int((pairs - critical / shrink) // 2)) >= 0:
        low, high = slopes[rank], slopes[pairs - 1 - rank]
    return Trend(change, low, high, tau, float(_p_value(n, ties, score * shrink)))


def _tied_pairs(ties: tuple[int, ...]) -> int:
    """Count the pairs of equal values."""
    return sum(size * (size - 1) // 2 for size in ties)


@cache
def _distribution(n: int, ties: tuple[int, ...]) -> Floats:
    """Compute the distribution of Kendall's S for n values in random order.

    S is the number of rising pairs less the number of falling pairs. With m untied pairs, the result has the
    probabilities of S = -m, -m + 2, …, m.

    The recursion for distinct values is Kendall's (Biometrika 30, 1938): the distributions of the number of
    rising pairs that each further value adds are convolved. For ties, the distribution of each group of equal
    values is divided out, as if the group held distinct values (MacMahon, Combinatory Analysis, 1915).

    Parameters
    ----------
    n : int
        Number of values.
    ties : tuple of int
        Sizes of the groups of equal values.
    """
    probabilities = np.ones(1)
    for size in range(2, n + 1):  # another value adds 0 to size - 1 rising pairs, all equally likely
        probabilities = np.convolve(probabilities, np.full(size, 1 / size))
    for size in (size for group in ties for size in range(2, group + 1)):
        quotient = probabilities[: len(probabilities) - size + 1].copy()
        for place in range(len(quotient)):  # undo the convolution from the first probability on
            quotient[place] = size * quotient[place] - quotient[max(place - size + 1, 0) : place].sum()
        probabilities = quotient
    return probabilities


def _p_value(n: int, ties: tuple[int, ...], score: Floats | float) -> Floats:
    """Compute the two-sided p-values of values of Kendall's S (`score`), for n values with these ties."""
    pairs = n * (n - 1) // 2 - _tied_pairs(ties)
    if not pairs:
        return np.ones(np.shape(score))
    if n > EXACT:
        variance = _kendall_variance(n) - sum(map(_kendall_variance, ties))
        deviation = np.sqrt(variance)
        return np.asarray(np.minimum(1, 2 * stats.norm.cdf((1 - np.abs(score)) / deviation)))
    # S is the number of untied pairs minus two times the number of inversions.
    inversions = np.ceil((pairs - np.abs(score)) / 2).astype(int)
    at_most = np.cumsum(_distribution(n, ties))  # P(inversions <= 0), P(inversions <= 1), …
    return np.asarray(np.minimum(1, 2 * at_most[inversions]))


def _kendall_variance(n: int) -> float:
    """Compute the variance of S for n different values; ties subtract the variance of each group."""
    return n * (n - 1) * (2 * n + 5) / 18


def _critical(n: int, ties: tuple[int, ...], confidence: float) -> int | None:
    """Return the smallest S that a test at level 1 - `confidence` rejects; None if it rejects no S."""
    pairs = n * (n - 1) // 2 - _tied_pairs(ties)
    scores = np.arange(pairs, 0, -2)
    rejected = scores[_p_value(n, ties, scores.astype(float)) <= 1 - confidence]
    return int(rejected[-1]) if len(rejected) else None
