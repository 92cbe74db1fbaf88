"""Each interconnect next to the fastest, for page one of a study without a baseline.

A comparison or node equivalent that the tables have is shown as in the tables. Others are estimates, since
the fastest interconnect is chosen from the data. Their intervals cover all combinations of the ends of the
intervals of both times.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from analysis.curves.equivalence import equivalent_counts
from analysis.curves.outcomes import INSEPARABLE, MEDIANS_DISAGREE
from analysis.presentation import formats
from analysis.presentation.contests import Contest, whole_count
from analysis.presentation.formats import MISSING, THIN
from analysis.runs.frames import (
    CURVE,
    Line,
    as_float,
    as_lines,
    interval,
    is_missing,
    percent_interval,
    rows_like,
)

PERCENT = 100
NOT_ATTAINED = "not attained"
PLACE = ["case", "oversubscription", "processes_per_node", "threads", "site"]


def next_to_fastest(contest: Contest, peak: Line) -> tuple[str, str]:
    """Write how a curve compares with the fastest of its site, each at its best.

    Parameters
    ----------
    peak : mapping
        Row of ``peaks`` of the curve.

    Returns
    -------
    difference : str
        Difference in speed, in percent.
    equivalent : str
        Count of the fastest that matches the best of the curve.
    """
    rivals = rows_like(contest.peaks, peak, ["site"])
    rivals = rivals.assign(seconds=[_best(contest, line)["seconds"] for line in as_lines(rivals)])
    first = as_lines(rivals.nsmallest(1, "seconds"))[0]
    if rivals["interconnect"].nunique() < 2:
        return MISSING, MISSING
    if _best(contest, peak)["serial"] and _best(contest, first)["serial"]:
        return "same serial runs", MISSING
    if rows_like(rivals, first)["interconnect"].iloc[0] == peak["interconnect"]:
        return "is the fastest", MISSING
    seconds, low, high = interval(_best(contest, peak), "seconds")
    fastest = interval(_best(contest, first), "seconds")
    if _is_inseparable(contest, peak, first):
        low = high = math.nan
    percents = _compared(contest, peak, first) or tuple(
        PERCENT * (ratio - 1) for ratio in (fastest[0] / seconds, fastest[1] / high, fastest[2] / low)
    )
    difference = f"{formats.bracketed_percent(*percents)}{THIN}%"
    count = int(peak["peak_processes"])
    rows = _rows_of(contest.targets, peak, first)
    for line in as_lines(rows[rows["baseline_processes"] == count]):
        if not line["attainable"]:
            return difference, NOT_ATTAINED
        counts = [as_float(line[f"equivalent_{end}"]) for end in ("processes", "low", "high")]
        if not all(map(math.isnan, counts[1:])):  # a single missing end lies below the smallest count
            counts = [-math.inf if math.isnan(end) else end for end in counts]
        elif math.isnan(counts[0]):
            counts[0] = -math.inf
        return difference, _equivalent_text(counts, count)
    if any(MEDIANS_DISAGREE in str(line["note"]) for line in _comparisons(contest, peak, first)):
        return difference, MISSING
    curve = rows_like(contest.scaling, first).sort_values(contest.unit)
    counts = [
        _match(curve, contest.unit, column, target)
        for column, target in (("seconds", seconds), ("seconds_low", high), ("seconds_high", low))
    ]
    return difference, _equivalent_text(counts, count)


def _best(contest: Contest, peak: Line) -> Line:
    """Return the row of ``scaling`` at the best count of a curve."""
    curve = rows_like(contest.scaling, peak)
    return as_lines(curve[curve[contest.unit] == int(peak["peak_processes"])])[0]


def _rows_of(rows: pd.DataFrame, baseline: Line, other: Line) -> pd.DataFrame:
    """Return the rows of ``improvement`` or ``node_equivalent`` that compare two rows of ``peaks``."""
    if any(rows_like(pd.DataFrame([baseline]), other, [key]).empty for key in PLACE):
        return rows.iloc[:0]
    kinds = dict.fromkeys([str(baseline["kind"]), str(other["kind"])])
    pair = {**other, "kind": "/".join(kinds), "baseline_interconnect": baseline["interconnect"]}
    return rows_like(rows, pair, [*CURVE, "site", "baseline_interconnect"])


def _comparisons(contest: Contest, *peaks: Line) -> list[Line]:
    """Return the rows of ``improvement`` that compare two rows of ``peaks``, in either direction."""
    pairs = (peaks, peaks[::-1])
    return [line for pair in pairs for line in as_lines(_rows_of(contest.improvement, *pair))]


def _compared(contest: Contest, peak: Line, first: Line) -> tuple[float, ...] | None:
    """Return how much faster a curve is than the fastest as ``improvement`` has it, each at its best.

    Returns
    -------
    tuple of float or None
        Percentage and the ends of its interval; None if the table does not compare these counts.
    """
    for baseline, other in ((first, peak), (peak, first)):
        counts = [int(line["peak_processes"]) for line in (baseline, other)]
        for line in as_lines(_rows_of(contest.improvement, baseline, other)):
            for quantity, prefix in (("improvement", "at"), ("best", "best")):
                places = [as_float(line[f"{prefix}_processes"]), as_float(line[f"{prefix}_processes_other"])]
                values = percent_interval(line, quantity)
                if places == counts and not is_missing(values[0]):
                    if baseline is first:
                        return values
                    value, low, high = (PERCENT * (1 / (1 + end / PERCENT) - 1) for end in values)
                    return value, high, low
    return None


def _is_inseparable(contest: Contest, *peaks: Line) -> bool:
    """Return whether time may explain the difference of two curves, so that no interval holds it."""
    names = {peak["interconnect"] for peak in peaks}
    rows = contest.improvement[contest.improvement["verdict"] == INSEPARABLE]
    return any({line["baseline_interconnect"], line["interconnect"]} == names for line in as_lines(rows))


def _match(curve: pd.DataFrame, unit: str, column: str, seconds: float) -> float:
    """Return the count at which a curve takes `seconds`, by interpolation of the rate."""
    rates = 1 / curve[column].to_numpy(float)[:, None]
    return as_float(equivalent_counts(curve[unit], rates, np.array([[1 / seconds]]))[0, 0])


def _equivalent_text(counts: list[float], count: int) -> str:
    """Write the interpolated count, its interval, and the count that it matches."""
    needed, *ends = counts
    if needed == math.inf:
        return NOT_ATTAINED
    if not math.isfinite(needed):
        return "fewer than were run" if needed == -math.inf else MISSING
    limits = f" [{', '.join(_end(end) for end in ends)}]" if not any(map(math.isnan, ends)) else ""
    return f"{whole_count(needed)}{limits} for {formats.whole(count)}"


def _end(end: float) -> str:
    """Write an end of an interval, which is open below the smallest count."""
    return MISSING if end == -math.inf else formats.whole(end if math.isinf(end) else whole_count(end))
