"""At which count is each interconnect fastest? Table ``peaks``, its columns, section and headline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.curves.curves import Curve, may_peak
from analysis.presentation import formats, sentences
from analysis.presentation.blocks import Block, Row, Section, left, paragraph, right, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.contests import (
    DISTURBED,
    ONE_SAMPLE,
    ONLY,
    Contest,
    end_of,
    has_weak_blocks,
    is_best_at_largest,
    on_shared_cores,
    single_runs_remark,
)
from analysis.presentation.formats import MISSING, MOST, counted, joined, listed, named_or_counted
from analysis.presentation.labels import Labels
from analysis.presentation.rows import side_by_side
from analysis.runs.columns import (
    COUNT,
    CURVE_COLUMNS,
    FLAG,
    NOTE,
    POSITIVE,
    UNIT,
    described,
    table_schema,
    table_schemas,
)
from analysis.runs.frames import Line, Piece, Tables, as_lines, interval, is_missing, rows_like, stacked
from analysis.runs.settings import PROCESSES
from analysis.statistics.best import ALPHA, FEWEST
from analysis.topics.quality.sentences import mostly_disturbed
from analysis.topics.scaling.figures import overview_figure
from analysis.topics.topic import Context, Headline, Page, Topic

PEAKS = table_schemas(
    table_schema(
        "peaks",
        "One row per curve.",
        **CURVE_COLUMNS,
        peak_processes=described(COUNT, "Count with the highest speedup, in `unit`."),
        peak_set=described(
            NOTE,
            "Counts that may be the peak, separated by blanks; empty below five blocks. Among several other "
            "counts, the serial run may have fewer blocks.",
        ),
        peak_speedup=described(POSITIVE, "Speedup at `peak_processes`."),
        reached=described(FLAG, "False if the curve may still rise beyond the last count."),
        processes_per_node=POSITIVE,
        peak_speedup_low=POSITIVE,
        peak_speedup_high=POSITIVE,
        blocks=described(COUNT, "Smallest number of blocks of a point of the curve."),
        note=NOTE,
        **UNIT,
    ),
)


ENDS = {
    "alone": ("has its highest value on one process", "have their highest values on one process"),
    "smallest": (
        "is highest at its smallest count with valid runs, and lower at all larger counts",
        "are highest at their smallest counts with valid runs, and lower at all larger counts",
    ),
    "stops": ("peaks before its largest count", "peak before their largest counts"),
    "rises": ("rises up to its largest count", "rise up to their largest counts"),
    "unsure": (
        "may rise or fall at its largest count: the results do not show which",
        "may rise or fall at their largest counts: the results do not show which",
    ),
    "falls": (
        "may peak before its largest count, but its runs are too few or too noisy to show this",
        "may peak before their largest counts, but their runs are too few or too noisy to show this",
    ),
    "one count": ("has only one count", "have only one count"),
}
"""Clauses on how a curve ends, for one curve and for several."""
SOME_WEAK = f"some counts have fewer than {FEWEST} blocks"
"""Note on a curve whose other counts show where it ends."""
MOST_CASES = 6
"""Cases that fit on a page as columns."""
PERCENT = 100


def make_peaks(context: Context) -> Tables:
    """Make the table ``peaks``, with one row per curve."""
    curves = [curve for curves in context.curves.cases for curve in curves]
    return {"peaks": stacked([peak_columns(curve, is_disturbed(curve, context.runs)) for curve in curves])}


def _peak_is_faster(curve: Curve, others: Sequence[int]) -> bool:
    """Return whether all runs of the fastest count are faster than all runs of `others`, beyond chance."""
    work = curve.speedup * curve.table["seconds"]
    paces = [sample.seconds / amount for sample, amount in zip(curve.samples, work, strict=True)]
    best, slower = paces[curve.peak], np.concatenate([np.empty(0), *(paces[number] for number in others)])
    chance = 2 / math.comb(len(best) + len(slower), len(slower))  # in either direction
    return bool(len(slower) and slower.min() > best.max() and chance <= ALPHA)


def is_disturbed(curve: Curve, runs: pd.DataFrame) -> bool:
    """Return whether other programs disturbed at least half of the parallel runs of a curve.

    Such runs cannot show where a curve peaks: disturbance slows runs on many cores more than runs on few.
    """
    line: Line = {"case": curve.case, "interconnect": curve.interconnect, "kind": curve.kind}
    return mostly_disturbed(rows_like(runs, line, ["case", "interconnect", "kind"]))


def peak_columns(curve: Curve, disturbed: bool = False) -> Piece:
    """Return the row of a curve in the table ``peaks``."""
    members, counts, peak = may_peak(curve), curve.counts.astype(str), curve.peak
    return {
        **curve.names,
        "peak_processes": curve.counts[peak],
        **{f"peak_{name}": getattr(curve, name)[peak] for name in ("speedup", "speedup_low", "speedup_high")},
        "peak_set": " ".join(counts[members]) or None,
        "reached": not members[-1] if members.any() else peak < len(counts) - 1,
        "blocks": curve.table["n"].min(),
        "note": _note(curve, members, disturbed),
        "unit": curve.unit,
    }


def _note(curve: Curve, members: NDArray[np.bool_], disturbed: bool) -> str | None:
    if disturbed:
        return DISTURBED
    if curve.kind == "simulated":
        return "simulated" if members.any() else "simulated, without a band"
    if members.any():
        return None
    has_single_runs = curve.table["n"][~curve.is_serial].max() < 2
    if has_single_runs:
        return ONE_SAMPLE
    return SOME_WEAK if _strong_counts_show_end(curve) else f"fewer than {FEWEST} blocks"


def _strong_counts_show_end(curve: Curve) -> bool:
    """Return whether the counts of enough blocks show where a curve ends, although other counts have fewer.

    The fastest count must be among them. If it is the largest count, no other of them may be the peak. If it
    is not, the largest of them may not be the peak, or all runs of larger counts are slower than all runs of
    the fastest count, which has at most a chance of `ALPHA`. A largest count of few blocks is the peak if
    all its runs are faster than all runs of the next fastest count. That count must have enough blocks.
    """
    strong = np.flatnonzero((curve.table["n"] >= FEWEST) & ~curve.is_serial).tolist()
    is_at_end = curve.peak == len(curve.processes) - 1
    if curve.peak not in strong:
        following = np.argsort(curve.speedup)[-2:-1].tolist()  # empty if the curve has a single count
        return is_at_end and any(i in strong for i in following) and _peak_is_faster(curve, following)
    if _peak_is_faster(curve, range(curve.peak + 1, len(curve.processes))):
        return True
    if len(strong) < 2:
        return False
    members = may_peak(curve.at(strong))
    return bool(members.sum() == 1 if is_at_end else not members[-1])


def all_cases(content: Content) -> Section | None:
    """Write the section that shows the peaks of all cases side by side."""
    labels, improvement = content.labels, content.tables["improvement"]
    notes = sentences.blocks_sentences(improvement, "improvements")
    notes += sentences.blocks_sentences(content.tables["oversubscription"], "oversubscription")
    blocks = peak_tables(content.tables["peaks"], content.tables["scaling"], labels)
    blocks += content.figures("overview") if len(content.cases) > 1 else []
    blocks += [paragraph(" ".join(notes))] if notes else []
    return section("peaks", "All cases side by side", blocks)


def peak_tables(peaks: pd.DataFrame, scaling: pd.DataFrame, labels: Labels) -> list[Block]:
    """Tabulate the highest speedup of every curve, with a column for each case."""
    keys = ["oversubscription", "interconnect", "kind", "processes_per_node"]
    several_levels = peaks["oversubscription"].nunique() > 1
    curves = labels.lines(peaks.drop_duplicates(keys), "oversubscription", "interconnect")
    caption = (
        f"Highest {labels.speedup} of each curve, and the number of {sentences.units_of(peaks)} with this "
        f"{labels.speedup}. An arrow ↑ means that {labels.speedup} may still rise beyond the largest number "
        "with results."
    )
    blocks = []
    for cases in side_by_side(labels.sorted_cases(peaks["case"]), MOST_CASES):
        groups: dict[str, list[Row]] = {}
        for curve in curves:
            by_case = {peak["case"]: peak for peak in as_lines(rows_like(peaks, curve, keys))}
            cells = [_peak_cell(by_case[case], scaling) if case in by_case else MISSING for case in cases]
            title = f"Oversubscription {curve['oversubscription']}" if several_levels else ""
            line = row([labels.curve(curve), *cells], "", curve["interconnect"])
            groups.setdefault(title, []).append(line)
        columns = [*left(labels.interconnect_head), *right(*map(labels.case, cases))]
        blocks.append(table(caption, columns, groups))
    return blocks


def _peak_cell(peak: Line, scaling: pd.DataFrame) -> str:
    beyond = "" if peak["reached"] else f"{formats.THIN}↑"
    if end_of(peak, scaling) == "one count":
        beyond = ONLY
    return f"{formats.number(peak['peak_speedup'])} at {formats.whole(peak['peak_processes'])}{beyond}"


def headline(page: Page) -> Headline | None:
    """Write the sentence about how far the curves scale."""
    return Headline(sentences=[how_far(page.contests, page.content.labels)]) if page.contests else None


def how_far(contests: Sequence[Contest], labels: Labels) -> str:
    """State the counts above which more processes or nodes do not pay.

    The sentences name the curves of the headline contest, in at most `MOST` groups. They count all others.
    """
    first, *others = contests
    named_groups = _group_by_end(labels.lines(first.peaks, "interconnect"), first)
    if len(named_groups) > MOST:
        named_groups = _group_by_end(first.compared_peaks(), first)
    if len(named_groups) > MOST:
        groups = list(named_groups.items())
        named_groups = dict([*groups[: MOST - 1], groups[-1]])
    clauses = [_end_clause(end, count, lines, first, labels) for (end, count), lines in named_groups.items()]
    kinds = f" ({listed(first.kinds)})" if len({contest.kinds for contest in contests}) > 1 else ""
    case = f"{labels.case(first.case)}{kinds}{on_shared_cores(first)}"
    text = joined([*clauses, *_beyond_clauses(first, labels)], ("the ",))
    names = {line["interconnect"] for lines in named_groups.values() for line in lines}
    unnamed = first.peaks[~first.peaks["interconnect"].isin(names)]
    text += _count_ends(
        "", f"other {labels.speedup} curve", [_end_in_words(line, first) for line in as_lines(unnamed)]
    )
    elsewhere = [(line, contest) for contest in others for line in as_lines(contest.peaks)]
    place = f"{_other_places(first, others, labels)}, "
    text += _count_ends(
        place, f"{labels.speedup} curve", [_end_in_words(line, contest) for line, contest in elsewhere]
    )
    return f"Scaling of {case}: {text}."


def _other_places(first: Contest, others: Sequence[Contest], labels: Labels) -> str:
    """Name the place of the other contests: one case, several cases, or curves of any case and kind."""
    cases = {contest.case for contest in others}
    if first.case in cases:
        return "In the rest of the study"
    return f"In {labels.case(*cases) if len(cases) == 1 else 'the other cases'}"


def _group_by_end(lines: Iterable[Line], contest: Contest) -> dict[tuple[str, int], list[Line]]:
    """Group rows of ``peaks`` by the end of their curves and their best count, in the order of `ENDS`."""
    groups: dict[tuple[str, int], list[Line]] = {}
    for line in lines:
        key = end_of(line, contest.scaling), int(line["peak_processes"])
        groups.setdefault(key, []).append(line)
    return dict(sorted(groups.items(), key=lambda item: (list(ENDS).index(item[0][0]), item[0][1])))


def _end_clause(end: str, count: int, lines: Sequence[Line], contest: Contest, labels: Labels) -> str:
    """Write the clause on curves that end in the same way at the same best count."""
    curves = list(dict.fromkeys(labels.curve(line) for line in lines))
    names, is_one = named_or_counted(curves), len(curves) == 1
    reaches = f"{names} {'reaches its' if is_one else 'reach their'} highest {labels.speedup}"
    if count == 1 and end == "stops" and contest.unit == PROCESSES:
        return f"{reaches} with one process"
    if end == "one count":
        has = "has" if is_one else "have"
        return f"{names} {has} results only with {contest.counted(count)}, so scaling is unknown"
    which, it_rises = ("speedup", "it rises") if is_one else ("speedups", "they rise")
    subject = f"the {labels.speedup.replace('speedup', which)} of {names}"
    reached = f"{subject} {'is' if is_one else 'are'} {_speedups(lines)} with {contest.counted(count)}"
    largest = contest.largest_of(f"this {labels.noun}" if is_one else f"these {labels.noun}s")
    if end == "rises":
        return f"{reached}, {largest}. {it_rises.capitalize()} up to this count{single_runs_remark(lines)}"
    weak = sorted({line["note"] for line in lines if has_weak_blocks(line)})
    reasons = [note if note == DISTURBED else f"the results are from {note}" for note in weak]
    because = f", because {listed(reasons)}" if reasons else ""
    if end == "unsure" and all(is_best_at_largest(line, contest.scaling) for line in lines):
        return f"{reached}, {largest}. It is undecided whether {it_rises} up to this count{because}"
    if count == 1 and end == "unsure" and contest.unit == PROCESSES:
        has = "has" if is_one else "have"
        return (
            f"{names} {has} no median time below the serial time. It is undecided whether the "
            f"{labels.speedup} rises with more {contest.unit}{because}"
        )
    if weak:
        return f"{reached}. It is undecided whether {it_rises} with more {contest.unit}{because}"
    nearly = _nearly_best_clause(lines[0], contest, labels) if len(lines) == 1 else ""
    but = "" if end == "stops" else ", but larger counts may be as fast"
    return f"{reaches}, {_speedups(lines)}, with {contest.counted(count)}{but}{nearly}"


def _beyond_clauses(contest: Contest, labels: Labels) -> list[str]:
    """State the speedups of more processes than have a core each, for the first counts."""
    keys, clauses = ["processes", "oversubscription"], []
    for line in as_lines(contest.beyond[keys].drop_duplicates().sort_values(keys).head(MOST)):
        speedup = rows_like(contest.beyond, line, keys)["speedup"]
        spread = formats.spanned(formats.number(speedup.min()), formats.number(speedup.max()))
        which = f"{sentences.processes(line['processes'])} at oversubscription {line['oversubscription']}"
        clauses.append(f"{which} have a {labels.speedup} of {spread}")
    return clauses


def _nearly_best_clause(peak: Line, contest: Contest, labels: Labels) -> str:
    """Name a smaller count that is nearly as good as the peak, with its speedup."""
    nearly = contest.nearly_best(peak)
    if nearly is None:
        return ""
    speedup, *ends = interval(nearly, "speedup")
    reached = f"a {labels.speedup} of {formats.bracketed(speedup, *ends)}"
    if any(map(is_missing, ends)):
        share = formats.percent(PERCENT * speedup / peak["peak_speedup"])
        reached = f"{share} of this {labels.speedup}"
    count = int(nearly[contest.unit])
    return f". {contest.counted(count)} {'reaches' if count == 1 else 'reach'} {reached}"


def _speedups(peaks: Sequence[Line]) -> str:
    """List the highest speedups of curves, or their range; that of a single curve has its interval."""
    if len(peaks) == 1:
        return formats.bracketed(*interval(peaks[0], "peak_speedup"))
    speedups = [peak["peak_speedup"] for peak in peaks]
    if len(peaks) <= MOST:
        return listed(map(formats.number, speedups))
    return formats.spanned(formats.number(np.nanmin(speedups)), formats.number(np.nanmax(speedups)))


def _count_ends(place: str, noun: str, ends: Sequence[str]) -> str:
    """Write how many curves end in each way, given the key of `ENDS` of each curve, after their place."""
    numbers = {end: ends.count(end) for end in ENDS if end in ends}
    total, clauses = counted(len(ends), noun), [ENDS[end][number > 1] for end, number in numbers.items()]
    if len(numbers) < 2:
        return "".join(f". {place}{total} {clause}" for clause in clauses)
    of_them = [
        f". {number} of them {clause}" for number, clause in zip(numbers.values(), clauses, strict=True)
    ]
    return f". {f'{place}there are' if place else 'There are'} {total}{''.join(of_them)}"


def _end_in_words(peak: Line, contest: Contest) -> str:
    """Return the key of `ENDS` for a curve, given its row of ``peaks``."""
    end = end_of(peak, contest.scaling)
    if end == "stops" and peak["peak_processes"] == 1 and contest.unit == PROCESSES:
        return "alone"
    if end == "unsure" and not is_best_at_largest(peak, contest.scaling):
        return "falls"
    smallest = rows_like(contest.scaling, peak)[contest.unit].min()
    return "smallest" if end == "stops" and peak["peak_processes"] == smallest else end


TOPIC = Topic(
    name="peaks",
    schemas=PEAKS,
    make=make_peaks,
    by_site=True,
    always=("peaks",),
    draw=lambda view: overview_figure(view.tables["scaling"], view.labels),
    section=all_cases,
    headline=headline,
    on_screen={"figure", "table", "paragraph"},
)
