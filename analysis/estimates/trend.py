"""Trend of a short series: Kendall's test and the Theil-Sen slope, exact for few values."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from analysis.estimates.dependence import effective_blocks
from analysis.runs.groups import Floats, Integers

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


def trend(values: Floats, confidence: float = 0.95, dependent: bool = False) -> Trend:
    """Trend of values against their order.

    Kendall's S (Mann, Econometrica 13, 1945) with its exact distribution given the ties, and the median of
    the slopes of all pairs with the interval that belongs to the test (Sen, JASA 63, 1968). Equal values
    count for neither direction; `tau` is Kendall's tau-b.

    Parameters
    ----------
    values : array (series, n)
        In order; n at least 2.
    confidence : float
        Nominal coverage of the interval, which is at least that.
    dependent : bool
        Whether values may depend on the ones before: then S counts as that of the blocks that they are worth
        beside the line, by the root of their share (Yue and Wang, Water Resources Management 18, 2004).
    """
    n = values.shape[1]
    first, second = np.triu_indices(n, 1)
    steps = values[:, second] - values[:, first]
    score = np.sign(steps).sum(axis=1)
    slopes = np.sort(steps / (second - first) * (n - 1), axis=1)
    pairs = len(first)
    middle = (slopes[:, (pairs - 1) // 2] + slopes[:, pairs // 2]) / 2
    found = Trend(middle, *np.full((4, len(values)), np.nan))
    share = np.ones(len(values))
    if dependent:
        line = middle[:, None] * np.linspace(0, 1, n)
        share = np.sqrt(effective_blocks(values - line)[1] / n)
    tied = _tied(values)
    for pattern in np.unique(tied, axis=0):
        some, ties = np.flatnonzero((tied == pattern).all(axis=1)), tuple(pattern[pattern > 1].tolist())
        untied = pairs - sum(size * (size - 1) // 2 for size in ties)
        found.p_value[some] = _p_value(n, ties, score[some] * share[some])
        found.tau[some] = score[some] / np.sqrt(pairs * untied) if untied else np.nan
        critical = _critical(n, ties, confidence)
        if critical is not None:
            rank = np.floor((pairs - critical / share[some]) / 2).astype(int)
            some, rank = some[rank >= 0], rank[rank >= 0]
            found.low[some], found.high[some] = slopes[some, rank], slopes[some, pairs - 1 - rank]
    return found


def _tied(values: Floats) -> Integers:
    """Sizes of the groups of equal values of each series, falling, 0 where there is no further group."""
    ordered = np.sort(values, axis=1)
    if (ordered[:, 1:] > ordered[:, :-1]).all():  # as a rule, and far faster
        return np.ones((len(values), 1), int)
    group = np.cumsum(np.diff(ordered, axis=1, prepend=ordered[:, :1]) > 0, axis=1)
    sizes = (group[:, :, None] == np.arange(values.shape[1])).sum(axis=1)
    return -np.sort(-sizes, axis=1)


@cache
def _distribution(n: int, ties: tuple[int, ...]) -> Floats:
    """P(S = -m), P(S = -m + 2), … for n values in random order, m of whose pairs are untied.

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


def _p_value(n: int, ties: tuple[int, ...], score: Floats) -> Floats:
    pairs = n * (n - 1) // 2 - sum(size * (size - 1) // 2 for size in ties)
    if not pairs:
        return np.ones(score.shape)
    if n > EXACT:
        from scipy.special import ndtr  # takes 0.2 s to import, and few series are so long

        variance = (
            sum(sign * m * (m - 1) * (2 * m + 5) for m, sign in ((n, 1), *((m, -1) for m in ties))) / 18
        )
        deviation = np.sqrt(variance)
        return np.minimum(1, 2 * ndtr((1 - np.abs(score)) / deviation))
    tail = np.cumsum(_distribution(n, ties))
    inversions = np.ceil((pairs - np.abs(score)) / 2).astype(int)
    return np.minimum(1, 2 * tail[inversions])


def _critical(n: int, ties: tuple[int, ...], confidence: float) -> int | None:
    """Smallest S, of the parity of the untied pairs, that a test at 1 - `confidence` rejects; or None."""
    pairs = n * (n - 1) // 2 - sum(size * (size - 1) // 2 for size in ties)
    scores = np.arange(pairs, 0, -2)
    rejected = scores[_p_value(n, ties, scores.astype(float)) <= 1 - confidence]
    return int(rejected[-1]) if len(rejected) else None
