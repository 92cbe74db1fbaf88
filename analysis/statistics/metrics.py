"""Scaling metrics: pure functions of times and counts, arrays in, arrays out.

Every function broadcasts; times are in seconds, counts without unit, results without unit unless
said. ``reference_...`` is the run that speedup refers to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from analysis.statistics import Floats


def speedup(seconds: ArrayLike, reference_seconds: ArrayLike) -> Floats:
    """S(p) = T0 / T(p), relative to the reference (Kumar et al., Introduction to Parallel Computing)."""
    return np.asarray(reference_seconds, float) / np.asarray(seconds, float)


def scaled_speedup(
    seconds: ArrayLike, reference_seconds: ArrayLike, cores: ArrayLike, reference_cores: ArrayLike
) -> Floats:
    """Weak scaling: work done a second, relative to the reference, (cores / cores0) T0 / T(p).

    The work grows with the cores (Gustafson, Reevaluating Amdahl's Law, CACM 31, 1988).
    """
    return speedup(seconds, reference_seconds) * np.asarray(cores, float) / np.asarray(reference_cores, float)


def efficiency(speedup: ArrayLike, cores: ArrayLike, reference_cores: ArrayLike) -> Floats:
    """E(p) = S(p) cores0 / cores; with the scaled speedup, weak scaling's T0 / T(p)."""
    return np.asarray(speedup, float) * np.asarray(reference_cores, float) / np.asarray(cores, float)


def incremental_efficiency(seconds: ArrayLike, cores: ArrayLike, scaling: str = "strong") -> Floats:
    """Efficiency of each step between neighbouring counts p < q: (T(p) / T(q)) / (cores(q) / cores(p)).

    In weak scaling the work grows too, and it is T(p) / T(q).

    Parameters
    ----------
    seconds, cores : arrays (counts, ...)
        In increasing order of processes.

    Returns
    -------
    array (counts, ...)
        NaN for the first count, which has no neighbour below.
    """
    seconds, cores = np.asarray(seconds, float), np.asarray(cores, float)
    steps = np.empty(seconds.shape)
    steps[:1] = np.nan
    np.divide(seconds[:-1], seconds[1:], out=steps[1:])
    if scaling == "strong":
        steps[1:] /= cores[1:] / cores[:-1]
    return steps


def serial_fraction(
    seconds: ArrayLike, reference_seconds: ArrayLike, cores: ArrayLike, reference_cores: ArrayLike
) -> Floats:
    """Experimentally determined serial fraction relative to any reference.

    (R/c0 - 1/c) / ((1 - 1/c) - R (1 - 1/c0)) with R = T(p)/T0 on c and c0 cores: the f for which Amdahl's
    law, T ~ f + (1 - f)/c, gives the measured ratio. With c0 = 1 it is Karp and Flatt's (1/S - 1/c) /
    (1 - 1/c) (Measuring Parallel Processor Performance, CACM 33, 1990).

    Returns
    -------
    array
        NaN where c <= c0, or where no f gives the ratio.
    """
    c, c0 = np.asarray(cores, float), np.asarray(reference_cores, float)
    ratio = np.asarray(seconds, float) / np.asarray(reference_seconds, float)
    below = (1 - 1 / c) - ratio * (1 - 1 / c0)
    with np.errstate(divide="ignore", invalid="ignore"):
        fraction = (ratio / c0 - 1 / c) / below
    return np.where((c > c0) & (below != 0), fraction, np.nan)


def rate(work: ArrayLike, seconds: ArrayLike) -> Floats:
    """Work a second (cell iterations, for one), work / T."""
    return np.asarray(work, float) / np.asarray(seconds, float)


def runs_per_day(seconds: ArrayLike) -> Floats:
    """Runs one after another in 24 hours, 86400 / T (the rating of CFD benchmarks)."""
    return rate(86_400, seconds)
