"""The table of page one: the best curves, their baselines, and what these need for the same speedup."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice, zip_longest

import pandas as pd

from analysis.curves.outcomes import INSEPARABLE, ONE_NODE, outcome
from analysis.presentation import formats
from analysis.presentation.blocks import Block, Row, left, right, row, table
from analysis.presentation.content import Content
from analysis.presentation.contests import (
    ONLY,
    Contest,
    blocks_or_runs,
    direction,
    end_of,
    nodes_of,
    on_shared_cores,
    single_runs_remark,
    whole_count,
)
from analysis.presentation.formats import MISSING, counted, listed
from analysis.presentation.labels import Labels
from analysis.presentation.sentences import RATIOS_OF_RUNS
from analysis.report.contrast import page_labels
from analysis.report.in_words import reference_note
from analysis.report.next_to_fastest import NOT_ATTAINED, next_to_fastest
from analysis.runs.frames import Line, as_float, as_lines, interval, is_missing, percent_interval, rows_like
from analysis.runs.kinds import ran, side
from analysis.topics.topic import MOST_ROWS

LEAST_ROWS = 3
"""Rows that the headline contest keeps however many other cases there are."""
PERCENT = 100
NOT_COMPARED = "not compared: one node"
BEYOND = {"rises": "+", "unsure": "?", "one count": ONLY}
"""Mark behind the best count of a curve, by how the curve ends."""


def page_one_table(contests: Sequence[Contest], content: Content, in_title: str | None = None) -> Block:
    """Tabulate the fastest curve and the baseline of every contest, then other curves as there is room.

    Parameters
    ----------
    in_title : str, optional
        Interconnect that the title compares with the baseline of the first contest.
    """
    unfinished = content.facts.study.unfinished
    has_baseline = content.facts.study.names_baseline
    labels = page_labels(content.labels, contests)
    ranked = [_rank_curves(contests[0], in_title), *map(_rank_curves, contests[1:])]
    order = _order_of_curves(contests, ranked)
    shown = {id(peak) for peak in islice(order, MOST_ROWS)}
    groups: dict[str, list[Row]] = {}
    for contest, peaks in zip(contests, ranked, strict=True):
        of_contest = [peak for peak in peaks if id(peak) in shown]
        of_contest.sort(key=lambda peak: -as_float(peak["peak_speedup"]))
        rows = [_make_row(contest, peak, labels, unfinished, has_baseline) for peak in of_contest]
        groups.setdefault(_title(contest, contests, labels, has_baseline), []).extend(rows)
    units = listed(dict.fromkeys(contest.unit for contest in contests), "or")
    compared = ["Against its baseline", f"{units.capitalize()} for the same speedup"]
    if not has_baseline:
        compared = ["Next to the fastest (estimate)", f"{units.capitalize()} of the fastest"]
    columns = [
        *left(labels.interconnect_head),
        *right(f"Best at ({units})", content.labels.speedup.capitalize(), time_head(contests, content.runs)),
        *left(*compared),
    ]
    scaling = pd.concat([contest.scaling for contest in contests])
    has_speedups = any(line["cells"][2] != MISSING for rows in groups.values() for line in rows)
    caption = f"The rows of each case are sorted by estimated {labels.speedup}. Their order is not a verdict."
    if has_speedups:
        caption += f" {reference_note(scaling, labels)}"
    if has_speedups and scaling["speedup_low"].notna().any():
        improvement = pd.concat([contest.improvement for contest in contests])
        intervals = content.labels.intervals(scaling, comparisons=improvement)
        caption += f" Brackets contain {intervals}."
        caption += (
            f" The intervals of {labels.speedup} also include the variation of the run to which "
            f"{labels.speedup} is relative."
        )
    caption += _timed_part(content.runs)
    marks = "".join(line["cells"][1] for rows in groups.values() for line in rows)
    largest = listed(dict.fromkeys(contest.largest_of(f"the {labels.noun}") for contest in contests), "or")
    if "+" in marks:
        caption += f" A + after the number of {units} means that {labels.speedup} rises up to {largest}"
        remark = single_runs_remark(peak for contest in contests for peak in as_lines(contest.peaks))
        caption += f"{remark}."
    if "?" in marks:
        caption += (
            f" A ? after the number of {units} means that the results do not show whether this number "
            f"has the highest {labels.speedup}."
        )
    if any(map(_differs_from_times, contests)):
        caption += f" {RATIOS_OF_RUNS}"
    if len(order) > MOST_ROWS:
        more = len(order) - MOST_ROWS
        caption += (
            f" This table omits {counted(more, 'row')}. The table in the section of each case has all "
            f"{labels.noun}s."
        )
    return table(caption, columns, groups)


def _timed_part(runs: pd.DataFrame) -> str:
    """State, after a space, what the times of applications that Nodeworth ran cover; else return nothing."""
    if "origin" not in runs:
        return ""
    applications = runs.loc[runs["valid"] & (runs["origin"] == "run"), "application"]
    is_main_loop = ~applications.isin(["command", "mpi4py"])
    return " Times are times of the main loop, without start-up." if is_main_loop.any() else ""


def time_head(contests: Sequence[Contest], runs: pd.DataFrame) -> str:
    """Name the times of a table; runs with ``run_seconds`` have the inverse of a rate in place of a time."""
    cases = {contest.case for contest in contests}
    of_cases = runs[runs["case"].isin(cases) & runs["valid"]]
    if "run_seconds" not in of_cases or of_cases["run_seconds"].isna().all():
        return "Time (s)"
    if of_cases["run_seconds"].isna().any():
        return "Time or inverse rate (s)"
    work, units = of_cases["work"].dropna().unique(), of_cases["work_unit"].dropna().unique()
    amount = f"{formats.exact(work[0])} " if len(work) == 1 else ""
    return f"Inverse rate (s per {amount}{units[0] if len(units) == 1 else 'units of work'})"


def _rank_curves(contest: Contest, in_title: str | None = None) -> list[Line]:
    """Sort the rows of ``peaks``: the fastest, the baseline, that of the title, then by speedup."""
    peaks = as_lines(contest.peaks.sort_values("peak_speedup", ascending=False, kind="stable"))
    first = [contest.baseline, in_title]
    return sorted(
        peaks, key=lambda peak: (peak is not peaks[0], *(peak["interconnect"] != name for name in first))
    )


def _order_of_curves(contests: Sequence[Contest], ranked: Sequence[list[Line]]) -> list[Line]:
    """Return all rows of ``peaks``, those to be shown first at the beginning.

    The headline contest keeps at least `LEAST_ROWS`, and leaves two rows to each other case, in which the
    fastest curve and its baseline stand. Then the other contests take turns.
    """
    headline = contests[0]
    best: dict[str, list[Line]] = {}
    for contest, peaks in zip(contests, ranked, strict=True):
        if contest.case != headline.case:
            fastest = best.setdefault(contest.case, peaks[:2])
            if peaks[0]["peak_speedup"] > fastest[0]["peak_speedup"]:
                best[contest.case] = peaks[:2]
    room = max(MOST_ROWS - 2 * len(best), LEAST_ROWS)
    turns = [peak for turn in zip_longest(*best.values(), *ranked[1:]) for peak in turn if peak]
    return list({id(peak): peak for peak in [*ranked[0][:room], *turns, *ranked[0]]}.values())


def _title(contest: Contest, contests: Sequence[Contest], labels: Labels, has_baseline: bool) -> str:
    """Name the case of a contest, its kinds if the case has several contests, and its baseline."""
    title = labels.case(contest.case)
    if sum(other.case == contest.case for other in contests) > 1:
        title += f" ({listed(contest.kinds)})"
    title += on_shared_cores(contest)
    if contest.baseline is None or not has_baseline:
        return title
    kind = side(str(contest.against_baseline(contest.improvement)["kind"].iloc[0]), 0)
    return f"{title}; baseline: {labels.interconnect(contest.baseline, kind)}"


def _make_row(contest: Contest, peak: Line, labels: Labels, unfinished: bool, has_baseline: bool) -> Row:
    """Make the row of a curve. In an unfinished study it states no direction."""
    curve = rows_like(contest.scaling, peak)
    count = int(peak["peak_processes"])
    best = curve[curve[contest.unit] == count].iloc[0]
    count_text = formats.whole(count)
    end = end_of(peak, contest.scaling)
    if end == "one count" or not (unfinished and ran(peak["kind"])):
        count_text += BEYOND.get(end, "")
    cells = [
        labels.curve(peak),
        count_text + _nodes_in_brackets(curve, count),
        formats.bracketed(*interval(peak, "peak_speedup")) if best["processes"] > 1 else MISSING,
        formats.number(best["seconds"]),
        *(("", "") if unfinished else _compared_cells(contest, peak, has_baseline)),
    ]
    return row(cells, contest.case, peak["interconnect"])


def _nodes_in_brackets(curve: pd.DataFrame, count: int) -> str:
    nodes = nodes_of(curve, count)
    return "" if nodes is None else f" ({counted(nodes, 'node')})"


def _compared_cells(contest: Contest, peak: Line, has_baseline: bool) -> tuple[str, str]:
    """Compare a curve with its baseline, or with the fastest curve if the study names no baseline."""
    against_baseline = _against_baseline(contest, peak)
    if has_baseline or against_baseline == NOT_COMPARED:
        return against_baseline, _needed_count(contest, peak)
    return next_to_fastest(contest, peak)


def _rows_about(rows: pd.DataFrame, peak: Line) -> pd.DataFrame:
    """Select the comparisons of the curve of a row of ``peaks`` with its baseline."""
    kinds = rows["kind"].map(lambda kind: side(kind, 1)).astype("str")
    return rows.loc[rows_like(rows.assign(kind=kinds), peak).index]


def _against_baseline(contest: Contest, peak: Line) -> str:
    """Write how much faster or slower a curve is than its baseline, or why that is not known."""
    rows = _rows_about(contest.against_baseline(contest.improvement), peak)
    compared = as_lines(rows[rows["improvement_percent"].notna()])
    if not compared:
        if rows["note"].str.endswith(ONE_NODE, na=False).any():
            return NOT_COMPARED
        return "is the baseline" if peak["interconnect"] == contest.baseline else MISSING
    comparison = compared[0]
    if direction(comparison) is None:
        at_count = f"at {formats.whole(comparison['at_processes_other'])}"
        if comparison["verdict"] == INSEPARABLE:
            return f"inseparable from time {at_count}"
        is_untestable = outcome(comparison["verdict"]) == "untestable"
        if is_untestable:
            return f"too few {blocks_or_runs(comparison)} {at_count}"
        percent = formats.bracketed_percent(*percent_interval(comparison, "improvement"))
        return f"undecided: {percent}{formats.THIN}% {at_count}"
    percent = formats.bracketed_percent(*percent_interval(comparison, "improvement"))
    text = f"{percent}{formats.THIN}% at {formats.whole(comparison['at_processes_other'])}"
    return f"{text}, one run" if "untested" in str(comparison["verdict"]) else text


def _differs_from_times(contest: Contest) -> bool:
    """Return whether a comparison at the best counts differs from the ratio of the times by over a point."""
    for line in as_lines(contest.improvement):
        seconds = []
        for place, name in enumerate(("baseline_interconnect", "interconnect")):
            curve = {**line, "interconnect": line[name], "kind": side(str(line["kind"]), place)}
            count = line["best_processes_other" if place else "best_processes"]
            rows = rows_like(contest.scaling, curve)
            seconds.append(as_float(rows.loc[rows[contest.unit] == count, "seconds"].max()))
        if abs(as_float(line["best_percent"]) - PERCENT * (seconds[0] / seconds[1] - 1)) > 1:
            return True
    return False


def _needed_count(contest: Contest, peak: Line) -> str:
    """Write which count of a curve has the speedup of its baseline's best, or why that is not known."""
    equivalents = as_lines(_rows_about(contest.against_baseline(contest.equivalent), peak))
    if not equivalents:
        return MISSING
    line = equivalents[0]
    ends = [line["equivalent_low"], line["equivalent_high"]]
    if not line["attainable"]:
        if is_missing(ends[0]) or math.isinf(ends[0]):
            return _needed_by_baseline(contest, peak) or NOT_ATTAINED
        return f"{NOT_ATTAINED} [{whole_count(ends[0])}, {formats.whole(math.inf)}]"
    if is_missing(line["equivalent_processes"]):
        return "fewer than were run"
    needed, baseline_count = whole_count(line["equivalent_processes"]), line["baseline_processes"]
    if {needed, *_limits(line)} == {baseline_count}:
        return MISSING
    limits_text = _limits_text(line)
    nodes = _nodes_in_brackets(rows_like(contest.scaling, peak), needed)
    return f"{needed}{limits_text}{nodes}, baseline {formats.plain(baseline_count)}"


def _needed_by_baseline(contest: Contest, peak: Line) -> str:
    """Write which count of the baseline matches the best of a slower curve; empty if that is not known."""
    reversed_rows = contest.equivalent[
        contest.equivalent["reversed"]
        & (contest.equivalent["interconnect"] == contest.baseline)
        & (contest.equivalent["baseline_interconnect"] == peak["interconnect"])
    ]
    lines = [line for line in as_lines(reversed_rows) if not is_missing(line["equivalent_processes"])]
    if not lines:
        return ""
    line = lines[0]
    needed = f"{whole_count(line['equivalent_processes'])}{_limits_text(line)}"
    return f"{formats.plain(line['baseline_processes'])}, baseline {needed}"


def _limits(line: Line) -> list[float]:
    """Return the ends of the interval of an equivalent, as whole counts; empty if either is missing."""
    ends = [line["equivalent_low"], line["equivalent_high"]]
    if any(map(is_missing, ends)):
        return []
    return [end if math.isinf(end) else whole_count(end) for end in ends]


def _limits_text(line: Line) -> str:
    limits = _limits(line)
    return f" [{', '.join(map(formats.whole, limits))}]" if limits else ""
