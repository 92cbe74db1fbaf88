"""How many processes of one interconnect are worth n of another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.curves.curves import Curve
from analysis.runs.settings import Settings
from analysis.statistics import Floats


def equivalent_processes(processes: NDArray, speedup: Floats, target: Floats) -> Floats:
    """Smallest process count on the rising branch that reaches a speedup.

    Linear interpolation between measured counts, never beyond them. Whatever a curve reaches it
    reaches first on its rising branch.

    Parameters
    ----------
    processes : array (counts,)
        In increasing order.
    speedup : array (counts, ...)
    target : array (targets, ...)
        With as many axes as `speedup`, against whose trailing axes its trailing axes broadcast.

    Returns
    -------
    array (targets, ...)
        Infinity where the curve does not attain the target, minus infinity where its smallest count
        is already above it (the answer lies below what was measured); NaN where an input is.
    """
    processes = np.asarray(processes, float)
    speedup, target = np.asarray(speedup, float)[None], np.asarray(target, float)[:, None]
    reached = speedup >= target
    above = reached.argmax(axis=1, keepdims=True)  # the first count that reaches the target
    below = np.maximum(above - 1, 0)
    low, high = (np.take_along_axis(speedup, at, axis=1) for at in (below, above))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(above > 0, (target - low) / (high - low), 0)
    between = processes[below] + share * (processes[above] - processes[below])
    unknown = np.isnan(target) | np.isnan(speedup).any(axis=1, keepdims=True)
    never = ~reached.any(axis=1, keepdims=True)
    return np.select([unknown, speedup[:, :1] > target, never], [np.nan, -np.inf, np.inf], between)[:, 0]


class Targets(NamedTuple):
    """Speedups for which equivalents are estimated, and the baseline's process counts for them.

    Attributes
    ----------
    speedup, processes : array (targets,)
    speedup_draws, processes_draws : array (targets, scenarios, B)
        Axes of length 1 where nothing is drawn.
    """

    speedup: Floats
    speedup_draws: Floats
    processes: Floats
    processes_draws: Floats


def targets_of(baseline: Curve, settings: Settings) -> Targets:
    """Speedups that a baseline has at each of its own counts up to its peak, drawn anew with it.

    Or the settings' targets, for which the baseline's count is interpolated as `equivalent_processes`
    does. Counts of which no message uses the interconnect give no target.
    """
    if settings.target_speedups:
        target = np.array(settings.target_speedups)
        target_draws = target[:, None, None]
        processes = equivalent_processes(baseline.processes, baseline.speedup, target)
        draws = equivalent_processes(baseline.processes, baseline.speedup_draws, target_draws)
        uses = baseline.uses_at(processes)
        return Targets(target[uses], target_draws[uses], processes[uses], draws[uses])
    to_peak = slice(baseline.peak + 1)
    counts = np.flatnonzero(baseline.own[to_peak] & baseline.uses[to_peak])
    processes = baseline.processes[counts].astype(float)
    return Targets(
        baseline.speedup[counts], baseline.speedup_draws[counts], processes, processes[:, None, None]
    )


def equivalents_of(other: Curve, targets: Targets) -> tuple[Floats, Floats]:
    """Equivalents that use the interconnect, and their draws.

    Returns
    -------
    two arrays (targets,), (targets, scenarios, B)
        As `equivalent_processes` gives them. A count whose messages do not use the interconnect counts as
        below the smallest count.
    """
    point = equivalent_processes(other.processes, other.speedup, targets.speedup)
    draws = equivalent_processes(other.processes, other.speedup_draws, targets.speedup_draws)
    for equivalent in (point, draws):
        equivalent[~other.uses_at(equivalent)] = -np.inf
    return point, draws
