"""Each interconnect next to the fastest, for page one of a study without a baseline.

The fastest interconnect is chosen from the data, so nothing here is a test. Intervals cover all combinations
of the ends of the intervals of both times.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from analysis.curves.equivalence import equivalent_counts
from analysis.curves.outcomes import INSEPARABLE
from analysis.presentation import formats
from analysis.presentation.contests import Contest, whole_count
from analysis.presentation.formats import MISSING, THIN
from analysis.runs.frames import Line, as_float, as_lines, interval, rows_like

PERCENT = 100


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
    percent, lowest, highest = (
        PERCENT * (ratio - 1) for ratio in (fastest[0] / seconds, fastest[1] / high, fastest[2] / low)
    )
    difference = f"{formats.bracketed_percent(percent, lowest, highest)}{THIN}%"
    curve = rows_like(contest.scaling, first).sort_values(contest.unit)
    counts = [
        _match(curve, contest.unit, column, target)
        for column, target in (("seconds", seconds), ("seconds_low", high), ("seconds_high", low))
    ]
    return difference, _equivalent_text(counts, int(peak["peak_processes"]))


def _best(contest: Contest, peak: Line) -> Line:
    """Return the row of ``scaling`` at the best count of a curve."""
    curve = rows_like(contest.scaling, peak)
    return as_lines(curve[curve[contest.unit] == int(peak["peak_processes"])])[0]


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
    if not math.isfinite(needed):
        return "fewer than were run" if needed == -math.inf else MISSING
    limits = f" [{', '.join(_end(end) for end in ends)}]" if not any(map(math.isnan, ends)) else ""
    return f"{whole_count(needed)}{limits} for {formats.whole(count)}"


def _end(end: float) -> str:
    """Write an end of an interval, which is open below the smallest count."""
    return MISSING if end == -math.inf else formats.whole(end if math.isinf(end) else whole_count(end))
