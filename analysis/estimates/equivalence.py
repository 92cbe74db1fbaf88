"""How many processes of one interconnect are worth n of another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.estimates.bootstrap import percentile_interval
from analysis.estimates.comparison import Pair, of_one_baseline
from analysis.estimates.curves import Curve
from analysis.runs.groups import Floats
from analysis.runs.settings import Settings
from analysis.tables.frames import Piece


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
    unknown = np.isnan(target) | np.isnan(speedup).any(axis=0)
    target = np.broadcast_to(target, (len(target), *shape))
    last = len(processes) - 1
    short = np.zeros(target.shape, np.min_scalar_type(len(processes)))
    below = np.empty(target.shape, bool)
    for highest in accumulate(speedup, np.maximum):
        short += np.less(highest, target, out=below)
    lower = short.clip(min(1, last), last).astype(np.intp)  # an index: `take` is several times faster with it
    lower -= last > 0
    at = lower * speedup[0].size
    at += np.arange(speedup[0].size).reshape(shape)
    steps = speedup[1:] - speedup[:-1] if last else np.ones_like(speedup)
    found = target - speedup.reshape(-1).take(at)
    with np.errstate(divide="ignore", invalid="ignore"):
        found /= steps.reshape(-1).take(at)
        found *= np.diff(processes, append=processes[-1]).take(lower)
    found += processes.take(lower)
    found[speedup[:1] == target] = processes[0]
    found[speedup[:1] > target] = -np.inf
    found[short == len(processes)] = np.inf
    found[np.broadcast_to(unknown, found.shape)] = np.nan
    return found


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


def equivalent_pieces(pairs: Iterable[Pair], settings: Settings) -> Iterator[Piece]:
    """Rows of the node-equivalent table for pairs of curves, one a target of `targets_of`."""
    for baseline, others, kind in of_one_baseline(pairs):
        targets = targets_of(baseline, settings)
        if len(targets.speedup):
            yield _equivalents(baseline, others, kind, targets, settings.level)


def _equivalents(
    baseline: Curve, others: Sequence[Curve], kind: str, targets: Targets, confidence: float
) -> Piece:
    """Rows of one baseline and others of the same process counts."""
    target, target_draws, processes, _ = targets
    speedup = np.stack([other.speedup for other in others], axis=1)
    speedup_draws = np.stack([other.speedup_draws for other in others], axis=1)
    counts = others[0].processes
    equivalent = equivalent_processes(counts, speedup, target[:, None])
    draws = equivalent_processes(counts, speedup_draws, target_draws[:, None])
    low, high = percentile_interval(draws, confidence)
    equivalent, low, high = (ends.T.ravel() for ends in (equivalent, low, high))
    target, baseline_processes = (np.tile(values, len(others)) for values in (target, _cells(processes)))
    return {
        **baseline.names,
        "target_speedup": target,
        "baseline_interconnect": baseline.interconnect,
        "interconnect": np.repeat(np.array([other.interconnect for other in others], object), len(processes)),
        "kind": kind,
        "baseline_processes": baseline_processes,
        "equivalent_processes": _cells(equivalent),
        "equivalent_low": _cells(low),
        "equivalent_high": _cells(high),
        "processes_saved": baseline_processes - np.where(np.isinf(equivalent), np.nan, equivalent),
        "attainable": equivalent != np.inf,
    }


def _cells(processes: Floats) -> Floats:
    """Cells of a table, which are empty below the smallest count."""
    return np.where(np.isneginf(processes), np.nan, processes)
