"""How many processes of one interconnect are worth n of another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.bootstrap import Floats, percentile_interval
from analysis.curves import Curve
from analysis.frames import Piece
from analysis.settings import Settings


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
        Trailing axes broadcast against those of `speedup`.

    Returns
    -------
    array (targets, ...)
        Infinity where the curve does not attain the target, minus infinity where its smallest count
        is already above it (the answer lies below what was measured); NaN where an input is.
    """
    processes = np.asarray(processes, float)
    speedup, target = np.asarray(speedup, float), np.asarray(target, float)
    shape = np.broadcast_shapes(speedup.shape[1:], target.shape[1:])
    speedup = np.broadcast_to(speedup, (len(processes), *shape))
    target = np.broadcast_to(target, (len(target), *shape))
    short = np.zeros(target.shape, np.intp)
    attained = np.maximum.accumulate(speedup, axis=0)
    for count in attained:
        short += count < target
    last = len(processes) - 1
    upper = short.clip(min(1, last), last)
    lower = (upper - 1).clip(0)
    above, below = np.take_along_axis(speedup, upper, axis=0), np.take_along_axis(speedup, lower, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (target - below) / (above - below)
        between = processes[lower] + share * (processes[upper] - processes[lower])
    first = np.where(speedup[:1] == target, processes[0], -np.inf)
    found = np.where(short == 0, first, np.where(short == len(processes), np.inf, between))
    return np.where(np.isnan(target) | np.isnan(speedup).any(axis=0), np.nan, found)


class Targets(NamedTuple):
    """Speedups for which equivalents are told, and the baseline's process counts for them.

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
    does.
    """
    if settings.target_speedups:
        target = np.array(settings.target_speedups)
        target_draws = target[:, None, None]
        processes = equivalent_processes(baseline.processes, baseline.speedup, target)
        draws = equivalent_processes(baseline.processes, baseline.speedup_draws, target_draws)
        return Targets(target, target_draws, processes, draws)
    counts = np.flatnonzero(baseline.own[: np.argmax(baseline.speedup) + 1])
    processes = baseline.processes[counts].astype(float)
    return Targets(
        baseline.speedup[counts], baseline.speedup_draws[counts], processes, processes[:, None, None]
    )


def equivalent_pieces(baseline: Curve, other: Curve, kind: str, settings: Settings) -> list[Piece]:
    """Rows of the node-equivalent table for one pair of curves, one a target of `targets_of`."""
    target, target_draws, processes, _ = targets_of(baseline, settings)
    if not len(target):
        return []
    baseline_processes = _told(processes)
    equivalent = equivalent_processes(other.processes, other.speedup, target)
    draws = equivalent_processes(other.processes, other.speedup_draws, target_draws)
    low, high = percentile_interval(draws, settings.level)
    columns = {
        "case": baseline.case,
        "target_speedup": target,
        "baseline_interconnect": baseline.interconnect,
        "interconnect": other.interconnect,
        "kind": kind,
        "oversubscription": baseline.oversubscription,
        "processes_per_node": baseline.processes_per_node,
        "baseline_processes": baseline_processes,
        "equivalent_processes": _told(equivalent),
        "equivalent_low": _told(low),
        "equivalent_high": _told(high),
        "processes_saved": baseline_processes - np.where(np.isinf(equivalent), np.nan, equivalent),
        "attainable": equivalent != np.inf,
    }
    return [columns]


def _told(processes: Floats) -> Floats:
    """What a table says: empty below the smallest count."""
    return np.where(np.isneginf(processes), np.nan, processes)
