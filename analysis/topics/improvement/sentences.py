"""Sentences about which interconnect is faster, by how much and in how many cases."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import pandas as pd

from analysis.curves.outcomes import (
    DEPENDS_ON_COUNT,
    INSEPARABLE,
    MEDIANS_DISAGREE,
    ONE_NODE,
    ORDER_AND_DRIFT,
    RUNS_DEPEND,
    WITHIN_ROUNDING,
    outcome,
)
from analysis.presentation import formats
from analysis.presentation.content import Content
from analysis.presentation.contests import (
    Contest,
    allows_for_correlation,
    count_interconnects,
    direction,
    direction_with_same_computing,
    has_single_value,
    too_few,
)
from analysis.presentation.formats import MOST, counted, joined, listed, named_or_counted, percents
from analysis.presentation.labels import Labels, correction_of
from analysis.presentation.sentences import counts_of
from analysis.runs.facts import Facts
from analysis.runs.frames import BASELINE, Line, as_lines, percent_interval
from analysis.runs.kinds import side
from analysis.runs.settings import NODES
from analysis.statistics.dependence import MANY
from analysis.topics.quality.sentences import count_disturbed, mostly_disturbed
from analysis.topics.topic import Headline, Page

ROUNDED = "the difference lies within the rounding of the times"
DEPENDENT_AND_FEW = f"{RUNS_DEPEND}, so a verdict needs {MANY} runs per point or a column block"
ONE_FIRST = "all runs of one came before all runs of the other"
DRIFTED = "in every block, one ran before the other, and the drift of the times may explain the difference"
WITHHELD = {
    INSEPARABLE: ONE_FIRST,
    WITHIN_ROUNDING: ROUNDED,
    RUNS_DEPEND: DEPENDENT_AND_FEW,
    ORDER_AND_DRIFT: DRIFTED,
}
"""Reasons for verdicts that replace a direction."""
SAME_NODES = "The data do not show the cause of a difference in speed between these systems."


def headline(page: Page) -> Headline | None:
    """Offer a sentence about which interconnect is faster, if there are several."""
    if count_interconnects(page.contests) < 2:
        return None
    content = page.content
    sentence = which_is_faster(page.contests, content.facts, content.labels)
    first = page.contests[0]
    return Headline(
        sentences=[with_disturbance(sentence, first, content.runs)],
        cautions=[each_at_its_best(first, content.labels)],
    )


def each_at_its_best(contest: Contest, labels: Labels) -> str:
    """Compare interconnects, each at its best count, if the counts differ or decide on the direction."""
    depending: list[str] = []
    comparing: list[str] = []
    labels = replace(labels, given="with kind" if contest.peaks["kind"].nunique() > 1 else "without kind")
    for line in as_lines(contest.against_baseline(contest.improvement)):
        other, baseline = labels.compared(line), labels.baseline(line)
        counts, depends = (line["best_processes"], line["best_processes_other"]), directions_by_count(line)
        if depends:
            depending.append(
                f"Whether {other} is faster than {baseline} depends on the number of {line['unit']}: "
                f"{depends}. The runs do not show which of these counts is fastest."
            )
        is_judged = outcome(line["best_verdict"]) in ("faster", "slower", "not distinguishable")
        if not is_judged or (counts[0] == counts[1] and not depends):
            continue
        best, other_best = (counts_of(line["unit"], count) for count in counts)
        percent = formats.percent_with_interval(*percent_interval(line, "best"), signed=True)
        names = [f"{other} with {other_best}", f"{baseline} with {best}"]
        verdict = str(line["best_verdict"])
        if verdict in ("faster", "slower"):
            sentence = f"{f' is {verdict} than '.join(names)}. The difference in speed is {percent}."
        else:
            sentence = f"It is undecided whether {' or '.join(names)} is faster."
            sentence += f" The estimated speed of {other} differs by {percent} from the speed of {baseline}."
            if line["best_low"] * line["best_high"] > 0:
                correlated = " and for correlated runs" if allows_for_correlation(line) else ""
                sentence += (
                    f" The interval excludes 0, but {formats.p_value(line['best_p_adjusted'])} after "
                    f"{correction_of(labels.facts)} is too large for a verdict. The test allows for the "
                    f"choice of the counts{correlated}."
                )
        comparing.append(sentence)
    sentences = [*depending, *comparing][:MOST]
    if len(sentences) > len(depending):
        best_counts = f"their best counts: the counts with the highest {labels.speedup}"
        sentences.insert(len(depending), f"Nodeworth also compares the {labels.noun}s at {best_counts}.")
    if len(depending) + len(comparing) > MOST:
        sentences.append("tables/improvement.csv has all comparisons at the best counts.")
    return " ".join(sentences)


def directions_by_count(line: Line) -> str:
    """Return the counts at which an interconnect is faster and slower; empty if all have one direction."""
    notes = str(line.get("note")).split("; ")
    matches = [
        note.removeprefix(f"{DEPENDS_ON_COUNT}: ") for note in notes if note.startswith(DEPENDS_ON_COUNT)
    ]
    return matches[0] if matches else ""


def with_disturbance(sentence: str, contest: Contest, runs: pd.DataFrame) -> str:
    """Begin a comparing headline with the number of disturbed runs if these are at least half.

    Parameters
    ----------
    sentence : str
        The sentence of `which_is_faster`.
    contest : Contest
        The contest of the headline, whose valid runs count.
    """
    is_compared = contest.improvement["improvement_percent"].notna().any()
    remark = disturbance(contest, runs) if is_compared else ""
    return sentence.replace(": ", f" ({remark}): ", 1) if remark else sentence


def disturbance(contest: Contest, runs: pd.DataFrame, interconnects: Collection[object] = ()) -> str:
    """Count the disturbed runs of a contest, or of some interconnects; empty if fewer than half."""
    of_contest = runs[(runs["case"] == contest.case) & runs["kind"].isin(contest.kinds)]
    if interconnects:
        of_contest = of_contest[of_contest["interconnect"].isin(list(interconnects))]
    if not mostly_disturbed(of_contest):
        return ""
    disturbed, observed = count_disturbed(of_contest)
    return f"other programs disturbed {formats.whole(disturbed)} of {counted(observed, 'run')}"


def which_is_faster(contests: Sequence[Contest], facts: Facts, labels: Labels) -> str:
    """State for each baseline which interconnect is faster, by how much, and which pairs are not compared."""
    improvement = pd.concat([contest.improvement for contest in contests])
    compared, refused = (
        improvement[improvement["improvement_percent"].notna()],
        not_compared(improvement, labels),
    )
    if compared.empty and not refused:
        return f"Which is faster: unknown. {none_compared(improvement, labels)}"
    decided: list[str] = []
    decided_with_same_computing: list[str] = []
    undecided: dict[str, list[str]] = {}
    single: list[str] = []
    for _, rows in compared.groupby(BASELINE, sort=False, dropna=False):
        lines = as_lines(rows)
        baseline = labels.baseline(lines[0])
        with_direction = [line for line in lines if direction(line)]
        if with_direction:
            decided.append(_fastest_over(baseline, with_direction, rows["case"], facts, labels))
            continue
        if len(lines) == 1:
            case, why = labels.case(lines[0]["case"]), _why_undecided(rows)
            open_pair = f"{labels.compared(lines[0])} is not clearly faster or slower than {baseline}"
            single.append(f"in {case}, {open_pair} {_at(lines, baseline)}. Reason: {why}")
        else:
            why = f"in {_cases(rows['case'], facts)}. Reason: {_why_undecided(rows)}"
            undecided.setdefault(why, []).append(baseline)
        words = map(direction_with_same_computing, lines)
        same_computing = [{**line, "verdict": word} for line, word in zip(lines, words, strict=True) if word]
        if same_computing:
            text = _fastest_over(baseline, same_computing, rows["case"], facts, labels)
            decided_with_same_computing.append(f"if computing takes equally long over both, {text}")
    clauses = decided[:MOST]
    if len(decided) > MOST:
        clauses.append(f"the tables show {counted(len(decided) - MOST, 'other baseline')}")
    for why, names in undecided.items():
        clauses.append(
            f"no {labels.noun} is clearly faster or slower than {named_or_counted(names, 'other baseline')} "
            f"{why}"
        )
    clauses += [*single[:MOST], *decided_with_same_computing[:MOST]]
    if len(refused) > MOST:
        refused = [*refused[: MOST - 1], f"{len(refused) - MOST + 1} more comparisons are not made"]
    starts = "if computing ", "in ", f"no {labels.noun} ", "the tables "
    text = f"Which is faster: {joined([*clauses, *refused], starts)}."
    return f"{text} Runs with fewer processes per node would allow this comparison." if refused else text


def none_compared(improvement: pd.DataFrame, labels: Labels) -> str:
    """State that no interconnects are compared, with the reason of the first pair, and its remedy."""
    notes = improvement["note"].dropna()
    if notes.empty:
        return f"No {labels.noun}s are compared."
    place = " at the best count of their baseline" if notes.iloc[0].endswith(ONE_NODE) else ""
    text = f"No {labels.noun}s are compared{place}. Reason: {notes.iloc[0]}."
    has_counts = notes.iloc[0].startswith("no common process count")
    return f"{text} With a column nodes, Nodeworth can compare by nodes." if has_counts else text


def not_compared(improvement: pd.DataFrame, labels: Labels) -> list[str]:
    """List the interconnects that are not compared because all processes of either side share one node."""
    refused: dict[tuple[str, str, str], list[str]] = {}
    for line in as_lines(improvement[improvement["note"].str.endswith(ONE_NODE, na=False)]):
        key = labels.baseline(line), labels.case(line["case"]), line["note"]
        refused.setdefault(key, []).append(labels.compared(line))
    sentences = []
    for (baseline, case, note), names in refused.items():
        verb = "is" if len(set(names)) == 1 else "are"
        sentences.append(f"{named_or_counted(names)} {verb} not compared with {baseline} in {case}: {note}")
    return sentences


def system_sentences(improvement: pd.DataFrame, content: Content) -> list[str]:
    """State which comparisons are between interconnects on equal nodes, and which are between systems.

    The study states the types of the nodes. Interconnects without a type have no sentence.
    """
    facts, labels = content.facts, content.labels
    sentences = []
    compared = improvement[improvement["improvement_percent"].notna()]
    for name, rows in compared.groupby("baseline_interconnect", sort=False):
        node, baseline = facts.interconnect(str(name)).node_type, labels.baseline(as_lines(rows)[0])
        others: dict[str, dict[str, None]] = {}
        for line in as_lines(rows):
            other = facts.interconnect(line["interconnect"]).node_type
            if node is not None and other is not None:
                others.setdefault(other, {})[labels.compared(line)] = None
        for other, names in others.items():
            if other == node:
                sentences.append(
                    f"{listed([baseline, *names])} ran on the same type of node: {node}. {SAME_NODES}"
                )
            else:
                sentences.append(
                    f"{baseline} ran on {node} nodes. {listed(names)} ran on {other} nodes. Nodes, "
                    "interconnects or software may explain differences in speed."
                )
    return sentences


def subject_of_comparison(contest: Contest, facts: Facts, labels: Labels) -> str:
    """State whether a comparison by nodes compares interconnects or systems; empty by processes."""
    rows = contest.against_baseline(contest.improvement)
    compared = as_lines(rows[rows["improvement_percent"].notna()])
    if contest.unit != NODES or not compared:
        return ""
    baseline = facts.interconnect(str(contest.baseline)).node_type
    types = [facts.interconnect(line["interconnect"]).node_type for line in compared]
    if baseline is None or None in types:
        return (
            "The study does not state the node_type of each interconnect. Different nodes may therefore "
            "explain differences in speed."
        )
    equal = [line for line, other in zip(compared, types, strict=True) if other == baseline]
    if len(equal) == len(compared):
        return f"All compared interconnects ran on the same type of node: {baseline}. {SAME_NODES}"
    if not equal:
        return "The compared systems differ in their nodes. Their software may differ, too."
    names = named_or_counted(map(labels.compared, equal))
    name = labels.baseline(equal[0])
    per_node = sorted({*(contest.scaling["processes"] / contest.scaling["nodes"]).dropna().round(1)})
    layouts = listed(map(formats.plain, per_node), "or")
    with_layouts = f", with {layouts} processes per node" if len(per_node) > 1 else ""
    return (
        f"{names} and {name} ran on the same type of node: {baseline}. {SAME_NODES} Every other "
        f"system that Nodeworth compares with {name} ran on a different type of node{with_layouts}."
    )


def _fastest_over(
    baseline: str, lines: Sequence[Line], cases: pd.Series, facts: Facts, labels: Labels
) -> str:
    """Name the interconnect that is faster than a baseline in most cases, then the others that are faster.

    If all comparisons are slowdowns, the sentence names the slower interconnects.

    Parameters
    ----------
    lines : sequence of Line
        Comparisons that have a direction. Single runs count only if no comparison has more runs.
    cases : Series
        Cases of all comparisons with this baseline.
    """
    word = "faster" if any(direction(line) == "faster" for line in lines) else "slower"
    by_name: dict[str, list[Line]] = {}
    lines = [line for line in lines if not has_single_value(line)] or lines
    for line in sorted(lines, key=lambda line: -line["improvement_percent"]):
        if direction(line) == word:
            by_name.setdefault(labels.compared(line), []).append(line)
    best = max(by_name, key=lambda name: len(by_name[name]))
    best_lines = by_name.pop(best)
    place, remarks = "", []
    number_of_cases = cases.nunique()
    if number_of_cases > 1:
        kinds = {side(str(best_lines[0]["kind"]), place) for place in (0, 1)}
        all_cases = _cases(cases, facts, f"{kinds.pop()} case" if len(kinds) == 1 else "case")
        if len(best_lines) == 1:
            place = f" in {labels.case(best_lines[0]['case'])}, 1 of the {all_cases},"
        elif len(best_lines) == number_of_cases:
            count = formats.whole(number_of_cases)
            place = f" in {all_cases.replace(count, formats.all_of(number_of_cases), 1)}"
        else:
            place = f" in {len(best_lines)} of the {all_cases}"
    untested = sum(map(has_single_value, best_lines))
    if untested:
        single = "a single run"
        remarks.append(single if untested == len(best_lines) else f"{untested} of them from {single}")
    percent = percents(line["improvement_percent"] for line in best_lines)
    text = f"{best} is {percent} {word} than {baseline}{place} {_at(best_lines, baseline)}"
    text += f" ({', '.join(remarks)})" if remarks else ""
    if not by_name:
        return text
    if len(by_name) <= MOST:
        others = listed(
            f"{name} is {percents(line['improvement_percent'] for line in rows)} {word}"
            for name, rows in by_name.items()
        )
        return f"{text}. {others} than {baseline}"
    others = percents(line["improvement_percent"] for rows in by_name.values() for line in rows)
    return f"{text}. {counted(len(by_name), 'other interconnect')} are {others} {word} than {baseline}"


def _at(lines: Sequence[Line], baseline: str) -> str:
    """Write the counts of comparisons with a baseline, as its best counts if they are."""
    at_best = all(line["at_processes"] == line["baseline_peak_processes"] for line in lines)
    counts = {line["at_processes"] for line in lines}
    if len(counts) > 1:
        at_peaks = f"at the best counts of {baseline}"
        return at_peaks if at_best else "at the counts that the tables name"
    best = f", the best count of {baseline}" if at_best else ""
    return f"at {counts_of(lines[0]['unit'], *counts)}{best}"


def _why_undecided(rows: pd.DataFrame) -> str:
    """Say why comparisons show no direction."""
    untestable = as_lines(rows[rows["verdict"].astype(str).str.startswith("untestable")])
    reasons = {
        "untestable": too_few(untestable[0]) if untestable else "",
        "not distinguishable": "the differences may be noise",
        "within the band": "the band includes both directions",
        **WITHHELD,
        "^faster$|^slower$": MEDIANS_DISAGREE,
        DEPENDS_ON_COUNT: DEPENDS_ON_COUNT,
    }
    depends = rows["note"].str.contains(DEPENDS_ON_COUNT, na=False)
    verdicts = rows["verdict"].astype(str).mask(depends, DEPENDS_ON_COUNT)
    matching = [reason for pattern, reason in reasons.items() if verdicts.str.contains(pattern).any()]
    return ", or ".join(matching) or "the runs have no test"


def _cases(cases: pd.Series, facts: Facts, noun: str = "case") -> str:
    """Count cases, and their applications if these are fewer."""
    names = cases.unique().tolist()
    applications = {facts.case(case).application for case in names} - {None}
    text = counted(len(names), noun)
    if not 0 < len(applications) < len(names):
        return text
    number = "one application" if len(applications) == 1 else counted(len(applications), "application")
    return f"{text} of {number}"
