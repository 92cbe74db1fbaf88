"""Null distributions of the tests: signed ranks, signs, rank sums, Student's t.

All but the last are counted, once for each number of blocks. Without SciPy, which takes 0.2 s to import: as
long as the tables of a small study.
"""

from __future__ import annotations

from functools import cache
from itertools import chain, combinations
from math import atan, comb, cos, erfc, pi, sin, sqrt

import numpy as np
from numpy.typing import NDArray

from analysis.runs.groups import Floats

MOST = 1_000
"""Blocks that a test takes; of more, it takes the medians of so many groups in a row."""
ADDITIONS = 6 * 10**7
"""Additions up to which rank sums are counted: of 80 blocks against 80, or of 3 against 2,000."""


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


@cache
def signs(blocks: int) -> Floats:
    """P(X <= x), x = 0, 1, …, n, of the number X of positive signs: binomial (n, 1/2)."""
    ways = np.cumsum(np.array([comb(blocks, count) for count in range(blocks + 1)], object))
    return np.array([float(way / 2**blocks) for way in ways])


def last_rank(tail: Floats, alpha: float) -> int:
    """Largest k with 2 P(X <= k - 1) up to `alpha`, P(X <= x) being ``tail[x]``; 0 where there is none.

    An interval from the k-th smallest to the k-th largest then misses in at most `alpha`.
    """
    return int(np.searchsorted(2 * tail, alpha * (1 + 1e-12), side="right"))


@cache
def rank_sums(first: int, second: int) -> Floats | None:
    """P(U <= u), u = 0, 1, …, n m, of the pairs U in which a value of the first sample is the larger.

    Counted over the divisions of n + m ranks (Mann and Whitney, Annals of Mathematical Statistics 18,
    1947). None where that takes more than `ADDITIONS`: see `rank_sum_p`.
    """
    few, every = min(first, second), first + second
    top = first * second
    if few * every * top > ADDITIONS:
        return None
    ways = np.zeros((few + 1, top + 1))
    ways[0, 0] = 1
    for position in range(
        every
    ):  # of the sorted values; the k-th of the few there is above position - k of the many
        for chosen in range(min(few, position + 1), 0, -1):
            above = position - (chosen - 1)
            if above <= every - few:
                ways[chosen, above:] += ways[chosen - 1, : top + 1 - above]
    return np.cumsum(ways[few] / ways[few].sum())


def rank_sum_p(first: int, second: int, above: int) -> float:
    """Two-sided p-value of U, the pairs in which a value of the first sample is above one of the second's."""
    least = min(above, first * second - above)
    tail = rank_sums(min(first, second), max(first, second))
    if tail is not None:
        return min(1.0, 2 * float(tail[least]))
    deviation = sqrt(first * second * (first + second + 1) / 12)
    return min(1.0, erfc((first * second / 2 - least - 0.5) / deviation / sqrt(2)))


def t_tail(t: float, freedom: int) -> float:
    """P(T > t) of Student's t, by its finite series (Abramowitz and Stegun, 1964, 26.7.3 and 26.7.4)."""
    angle = atan(t / sqrt(freedom))
    term = total = cos(angle) if freedom % 2 else 1.0
    for step in range(3 if freedom % 2 else 2, freedom - 1, 2):
        term *= cos(angle) ** 2 * (step - 1) / step
        total += term
    if freedom % 2:
        inside = 2 / pi * (angle + (sin(angle) * total if freedom > 1 else 0))
    else:
        inside = sin(angle) * total
    return (1 - inside) / 2


@cache
def t_quantile(upper: float, freedom: int) -> float:
    """The t that is exceeded with probability `upper`, at most 1/2."""
    low, high = 0.0, 1.0
    while t_tail(high, freedom) > upper:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, freedom) > upper else (low, middle)
    return high


@cache
def divisions(first: int, second: int) -> NDArray[np.int64]:
    """Positions (divisions, first) of the first sample among all values in increasing order."""
    count = comb(first + second, first)
    flat = chain.from_iterable(combinations(range(first + second), first))
    return np.fromiter(flat, np.int64, count * first).reshape(count, first)
