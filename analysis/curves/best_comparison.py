"""Comparison of two curves, each at its own best count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from analysis.curves.curves import Curve, may_peak
from analysis.curves.outcomes import INSEPARABLE, RUNS_DEPEND, corrected
from analysis.curves.point_comparison import Samples, compare_points, depend_too_much, percent_columns
from analysis.runs.settings import Settings
from analysis.statistics import Floats
from analysis.statistics.shift import EQUAL, Shift

COUNTS = ("best_processes", "best_processes_other")
INPUTS = (
    "best_percent",
    "best_low",
    "best_high",
    "best_p_value",
    "best_least_p",
    "best_blocks",
    "best_withheld",
)
"""Columns of `compare_best` from which a verdict follows."""


def compare_best(
    baseline: Curve,
    other: Curve,
    samples_at: Callable[[tuple[int, int]], Samples],
    turns_at: Callable[[tuple[int, int]], bool | None],
    alpha: float,
) -> dict[str, object]:
    """Make the columns of a comparison in which each curve has its own best count.

    The data choose both counts, so each count q of the baseline that may be best is compared with each such
    count p of the other curve. Each best time is the shortest time of its curve. So the other curve is better
    at its best if one of its counts p is better than all q. The lower end is the largest over p of the
    smallest lower end over q, at level 1 - alpha / (number of p). The upper end is its mirror image. The
    p-value is the smallest over p of the largest over q, times the number of p; and its mirror image for a
    slower curve.

    Parameters
    ----------
    samples_at, turns_at : functions
        From positions in both curves to the samples, and to whether the curves took turns.
    alpha : float
        Probability with which the interval may miss.
    """
    curves = baseline, other
    if any(curve.processes[curve.peak] == 1 or not curve.uses[curve.peak] for curve in curves):
        return {}
    if any(np.ptp(np.log(curve.speedup * curve.table["seconds"])) > EQUAL for curve in curves):
        return {}  # weak scaling: times at different counts are not of the same work
    sets = [_best_positions(curve) for curve in curves]
    if (baseline.processes[sets[0]] == 1).any() or (other.processes[sets[1]] == 1).any():
        return {}
    positions = [(q, p) for q in sets[0] for p in sets[1]]
    samples = [samples_at(pair) for pair in positions]
    shape = len(sets[0]), len(sets[1])

    def fields(alpha_of_pair: float) -> Shift[Floats]:
        comparisons = compare_points(samples, [alpha_of_pair] * len(samples))
        return Shift(*np.array([comparison.shift for comparison in comparisons]).T.reshape(6, *shape))

    faster, slower = fields(alpha / shape[1]), fields(alpha / shape[0])
    chosen = sets[0].index(baseline.peak), sets[1].index(other.peak)
    estimate = float(faster.estimate[chosen])
    low = min(_largest(faster.low.min(axis=0)), estimate)
    high = max(-_largest(-slower.high.max(axis=1)), estimate)
    if np.isnan(low + high):
        low = high = np.nan
    p_faster = shape[1] * _smallest(np.where(faster.estimate > 0, faster.p_value, 1).max(axis=0))
    p_slower = shape[0] * _smallest(np.where(slower.estimate < 0, slower.p_value, 1).max(axis=1))
    counts = int(baseline.counts[baseline.peak]), int(other.counts[other.peak])
    columns: dict[str, object] = dict(zip(COUNTS, counts, strict=True))
    columns |= percent_columns("best", (estimate, low, high))
    if any(turns_at(pair) is False for pair in positions):
        return columns | percent_columns("best", (estimate, np.nan, np.nan)) | {"best_withheld": INSEPARABLE}
    if (low > 0 or high < 0) and any(depend_too_much(*pair) for pair in samples):
        columns["best_withheld"] = RUNS_DEPEND
    tested = not np.isnan(faster.p_value).any()
    return columns | {
        "best_p_value": min(p_faster, p_slower, 1.0) if tested else np.nan,
        "best_least_p": min(max(shape) * float(faster.least_p.max()), 1.0) if tested else np.nan,
        "best_blocks": min(min(len(first.blocks), len(second.blocks)) for first, second, _ in samples),
    }


def _best_positions(curve: Curve) -> list[int]:
    """Return the positions of counts that may be best; all parallel counts if the blocks are too few."""
    may_be_best = np.flatnonzero(may_peak(curve)).tolist()
    return may_be_best or np.flatnonzero(~curve.is_serial).tolist() or [curve.peak]


def _largest(values: Floats) -> float:
    """Return the largest value, ignoring NaN; NaN without values."""
    values = values[~np.isnan(values)]
    return float(values.max()) if len(values) else np.nan


def _smallest(values: Floats) -> float:
    return -_largest(-values)


def with_best_verdicts(table: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Add ``best_p_adjusted`` and ``best_verdict`` to a table with the columns of `compare_best`."""
    if table.empty:
        return table
    table = table.reindex(columns=[*table.columns, *({*COUNTS, *INPUTS} - {*table.columns})])
    names = ("improvement_percent", "improvement_low", "improvement_high", "p_value", "least_p", "blocks")
    inputs = {name: table[source].astype(float) for name, source in zip(names, INPUTS, strict=False)}
    coverage = inputs["improvement_low"].where(inputs["improvement_low"].isna(), settings.level)
    judged = corrected(
        pd.DataFrame(inputs).assign(
            paired=table["paired"], kind=table["kind"], coverage=coverage, withheld=table["best_withheld"]
        ),
        settings.look_factors(table["case"]),
        settings.level,
    )
    return table.assign(best_p_adjusted=judged["p_adjusted"], best_verdict=judged["verdict"])
