"""Two populations in one sample: the best split of the sorted values, and its variance ratio.

If a sample is of two populations, its values vary much less within two groups than altogether. The best
division has the smallest sum of squares within the groups (Fisher, JASA 53, 1958); its share of the total
sum of squares is the test of two clusters (Engelman and Hartigan, JASA 64, 1969).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from analysis.statistics import Flags, Floats, Integers

FEWEST = 8
"""Fewest values of a sample that the test applies to."""
LEAST_GROUP = 3
"""Fewest values of a group."""
LIMITS = np.array([0.07, 0.082, 0.0942, 0.1044, 0.1147, 0.12])
"""Largest variance ratio of two populations, for 8, 9, … values; the last entry is also for more values.

``tests/benchmarks/populations.py`` simulates them. Up to 12 values, 1 % of normal samples have a smaller
ratio. With more values, a limit for 1 % would take the long tail of a population, or a trend, for a
second population."""


class Split(NamedTuple):
    """Best division of samples into two groups.

    Attributes
    ----------
    lower : array (samples,)
        Number of values in the group of smaller values.
    ratio : array (samples,)
        Sum of squares within the groups / total sum of squares, from 0 to 1; 1 if all values are equal.
    """

    lower: Integers
    ratio: Floats


def best_split(ordered: Floats) -> Split:
    """Divide each sample into the two groups with the smallest sum of squares within them.

    Parameters
    ----------
    ordered : array (samples, n)
        Values in ascending order, at least `FEWEST`, without NaN.

    Raises
    ------
    ValueError
        For fewer values.
    """
    n = ordered.shape[-1]
    if n < FEWEST:
        raise ValueError(f"{n} values; at least {FEWEST}")
    centred = ordered - ordered[:, [n // 2]]  # exactly 0 if all values are equal
    centred -= centred.mean(axis=1, keepdims=True)
    sizes = np.arange(LEAST_GROUP, n - LEAST_GROUP + 1)
    sums = np.cumsum(centred, axis=1)[:, sizes - 1]
    between = sums**2 * n / (sizes * (n - sizes))
    total = (centred**2).sum(axis=1)
    best = between.argmax(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(total > 0, between[np.arange(len(best)), best] / total, 0)
    return Split(sizes[best], np.clip(1 - share, 0, 1))


def are_two(ratio: Floats, n: int) -> Flags:
    """Return which samples of `n` values have two populations, by their variance ratio."""
    limit = float(LIMITS[min(n - FEWEST, len(LIMITS) - 1)])
    return ratio < limit
