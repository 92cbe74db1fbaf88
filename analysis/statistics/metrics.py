"""Scaling metrics: pure functions of times and counts.

Every function broadcasts. Times are in seconds; counts and results have no unit unless stated.
``reference_...`` is the run that speedup refers to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from analysis.statistics import Floats


def _array(values: ArrayLike) -> Floats:
    return np.asarray(values, np.float64)


def speedup(seconds: ArrayLike, reference_seconds: ArrayLike) -> Floats:
    """Compute the speedup S(p) = T0 / T(p) (Kumar et al., Introduction to Parallel Computing)."""
    return _array(reference_seconds) / _array(seconds)


def scaled_speedup(
    seconds: ArrayLike, reference_seconds: ArrayLike, cores: ArrayLike, reference_cores: ArrayLike
) -> Floats:
    """Compute the scaled speedup (cores / cores0) T0 / T(p) for weak scaling.

    It is the work per second relative to the reference; the work grows with the cores (Gustafson,
    Reevaluating Amdahl's Law, CACM 31, 1988).
    """
    return speedup(seconds, reference_seconds) * _array(cores) / _array(reference_cores)


def efficiency(speedup: ArrayLike, cores: ArrayLike, reference_cores: ArrayLike) -> Floats:
    """Compute the efficiency E(p) = S(p) cores0 / cores.

    With the scaled speedup it is the efficiency of weak scaling, T0 / T(p).
    """
    return _array(speedup) * _array(reference_cores) / _array(cores)


def incremental_efficiency(seconds: ArrayLike, cores: ArrayLike, scaling: str = "strong") -> Floats:
    """Compute the efficiency of each step between neighbouring counts p < q.

    It is (T(p) / T(q)) / (cores(q) / cores(p)) in strong scaling and T(p) / T(q) in weak scaling.

    Parameters
    ----------
    seconds, cores : arrays (counts, ...)
        Times and cores in increasing order of processes.
    scaling : str
        ``strong`` or ``weak``.

    Returns
    -------
    array (counts, ...)
        NaN for the first count.
    """
    seconds, cores = _array(seconds), _array(cores)
    steps = np.empty(seconds.shape)
    steps[:1] = np.nan
    np.divide(seconds[:-1], seconds[1:], out=steps[1:])
    if scaling == "strong":
        steps[1:] /= cores[1:] / cores[:-1]
    return steps


def serial_fraction(
    seconds: ArrayLike, reference_seconds: ArrayLike, cores: ArrayLike, reference_cores: ArrayLike
) -> Floats:
    """Compute the serial fraction f with which Amdahl's law, T ~ f + (1 - f)/c, has the measured ratio.

    With the ratio R = T(p)/T0 of times on c and c0 cores, f = (R/c0 - 1/c) / ((1 - 1/c) - R (1 - 1/c0)). For
    c0 = 1, this is the formula of Karp and Flatt, (1/S - 1/c) / (1 - 1/c) (Measuring Parallel Processor
    Performance, CACM 33, 1990).

    Returns
    -------
    array
        NaN if c <= c0, or if no f has the measured ratio.
    """
    c, c0 = _array(cores), _array(reference_cores)
    ratio = _array(seconds) / _array(reference_seconds)
    denominator = (1 - 1 / c) - ratio * (1 - 1 / c0)
    with np.errstate(divide="ignore", invalid="ignore"):
        fraction = (ratio / c0 - 1 / c) / denominator
    return np.where((c > c0) & (denominator > 0), fraction, np.nan)


def rate(work: ArrayLike, seconds: ArrayLike) -> Floats:
    """Compute work per second, work / T, for example cell iterations per second."""
    return _array(work) / _array(seconds)


def runs_per_day(seconds: ArrayLike) -> Floats:
    """Compute the number of consecutive runs in 24 hours, 86400 / T (the rating of CFD benchmarks)."""
    return rate(86_400, seconds)
