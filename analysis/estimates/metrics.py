"""Scaling metrics: pure functions of times and counts, arrays in, arrays out.

Every function broadcasts; times are in seconds, counts without unit, results without unit unless
said. ``reference_...`` is the run that speedup refers to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from analysis.runs.groups import Floats


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


def incremental_efficiency(seconds: ArrayLike, processes: ArrayLike, scaling: str = "strong") -> Floats:
    """Efficiency of each step between neighbouring counts p < q: (T(p) / T(q)) / (q / p).

    In weak scaling the work grows too, and it is T(p) / T(q).

    Parameters
    ----------
    seconds, processes : arrays (counts, ...)
        In increasing order of processes.

    Returns
    -------
    array (counts, ...)
        NaN for the first count, which has no neighbour below.
    """
    seconds, processes = np.asarray(seconds, float), np.asarray(processes, float)
    steps = np.empty(seconds.shape)
    steps[:1] = np.nan
    np.divide(seconds[:-1], seconds[1:], out=steps[1:])
    if scaling == "strong":
        steps[1:] /= processes[1:] / processes[:-1]
    return steps


def serial_fraction(
    seconds: ArrayLike, reference_seconds: ArrayLike, processes: ArrayLike, reference_processes: ArrayLike
) -> Floats:
    """Experimentally determined serial fraction relative to any reference.

    (R/p0 - 1/p) / ((1 - 1/p) - R (1 - 1/p0)) with R = T(p)/T0: the f for which Amdahl's law,
    T(p) ~ f + (1 - f)/p, gives the measured ratio. With p0 = 1 it is Karp and Flatt's (1/S - 1/p) /
    (1 - 1/p) (Measuring Parallel Processor Performance, CACM 33, 1990).

    Returns
    -------
    array
        NaN where p <= p0, or where no f gives the ratio.
    """
    p, p0 = np.asarray(processes, float), np.asarray(reference_processes, float)
    ratio = np.asarray(seconds, float) / np.asarray(reference_seconds, float)
    below = (1 - 1 / p) - ratio * (1 - 1 / p0)
    with np.errstate(divide="ignore", invalid="ignore"):
        fraction = (ratio / p0 - 1 / p) / below
    return np.where((p > p0) & (below != 0), fraction, np.nan)


def improvement_percent(seconds: ArrayLike, baseline_seconds: ArrayLike) -> Floats:
    """How much faster than the baseline: 100 (T_baseline(p) / T(p) - 1), in percent."""
    percent = np.asarray(baseline_seconds, float) / np.asarray(seconds, float)
    percent -= 1
    percent *= 100
    return percent


def rate(work: ArrayLike, seconds: ArrayLike) -> Floats:
    """Work a second (cell iterations, for one), work / T."""
    return np.asarray(work, float) / np.asarray(seconds, float)


def runs_per_day(seconds: ArrayLike) -> Floats:
    """Runs one after another in 24 hours, 86400 / T (the rating of CFD benchmarks)."""
    return rate(86_400, seconds)
