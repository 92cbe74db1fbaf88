"""Node equivalents: the count at which one interconnect reaches the speedup of another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analysis.curves.curves import Curve
from analysis.runs.settings import Settings
from analysis.statistics import Floats


def equivalent_counts(counts: ArrayLike, speedup: Floats, target: Floats) -> Floats:
    """Compute the smallest count that reaches a speedup.

    The speedup is interpolated linearly between measured counts, at the first crossing, and never beyond
    them.

    Parameters
    ----------
    counts : array (counts,)
        Counts of processes or nodes, in increasing order.
    speedup : array (counts, ...)
        Speedup at each count.
    target : array (targets, ...)
        Speedups to reach, with as many axes as `speedup`; the trailing axes broadcast.

    Returns
    -------
    array (targets, ...)
        Infinity if the curve does not attain the target. Minus infinity if its smallest count is already
        above the target, so that the answer lies below the measured counts. NaN if an input is NaN.
    """
    counts = np.asarray(counts, np.float64)
    speedup, target = np.asarray(speedup, float)[None], np.asarray(target, float)[:, None]
    reached = speedup >= target
    above = reached.argmax(axis=1, keepdims=True)  # the first count that reaches the target
    below = np.maximum(above - 1, 0)
    low, high = (np.take_along_axis(speedup, at, axis=1) for at in (below, above))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(above > 0, (target - low) / (high - low), 0)
    between = counts[below] + share * (counts[above] - counts[below])
    unknown = np.isnan(target) | np.isnan(speedup).any(axis=1, keepdims=True)
    never = ~reached.any(axis=1, keepdims=True)
    result = np.select([unknown, speedup[:, :1] > target, never], [np.nan, -np.inf, np.inf], between)
    return result[:, 0]


class Targets(NamedTuple):
    """Speedups to reach, and the counts at which the baseline reaches them.

    Attributes
    ----------
    speedup, counts : array (targets,)
        Estimates.
    speedup_draws, counts_draws : array (targets, scenarios, B)
        Bootstrap draws; the axes have length 1 if nothing is drawn.
    """

    speedup: Floats
    speedup_draws: Floats
    counts: Floats
    counts_draws: Floats


def targets_of(baseline: Curve, settings: Settings) -> Targets:
    """Return the targets of a baseline: its speedups at each of its own counts up to its peak.

    If the settings name target speedups, these are the targets, and the baseline's counts are interpolated
    (`equivalent_counts`). A count whose messages do not use the interconnect is no target.
    """
    if settings.target_speedups:
        target = np.array(settings.target_speedups)
        target_draws = target[:, None, None]
        counts = equivalent_counts(baseline.counts, baseline.speedup, target)
        draws = equivalent_counts(baseline.counts, baseline.speedup_draws, target_draws)
        uses = baseline.uses_at(counts)
        return Targets(target[uses], target_draws[uses], counts[uses], draws[uses])
    to_peak = slice(baseline.peak + 1)
    positions = np.flatnonzero(~baseline.is_serial[to_peak] & baseline.uses[to_peak])
    counts = baseline.counts[positions].astype(float)
    return Targets(
        baseline.speedup[positions], baseline.speedup_draws[positions], counts, counts[:, None, None]
    )


def equivalents_of(other: Curve, targets: Targets) -> tuple[Floats, Floats]:
    """Compute the equivalents of targets on another interconnect, and their draws.

    Returns
    -------
    equivalents : array (targets,)
    draws : array (targets, scenarios, B)
        As `equivalent_counts` returns them. A count whose messages do not use the interconnect counts as
        below the smallest count.
    """
    equivalents = equivalent_counts(other.counts, other.speedup, targets.speedup)
    draws = equivalent_counts(other.counts, other.speedup_draws, targets.speedup_draws)
    for equivalent in (equivalents, draws):
        equivalent[~other.uses_at(equivalent)] = -np.inf
    return equivalents, draws
