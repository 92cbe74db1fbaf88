"""Page one in words: which interconnect is faster, by how much, in how many cases."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.curves.outcomes import INSEPARABLE, ONE_NODE, WITHIN_ROUNDING
from analysis.presentation import formats
from analysis.presentation.contests import (
    Contest,
    direction,
    direction_with_same_computing,
    has_one_figure_each,
)
from analysis.presentation.formats import MOST, counted, percents, some
from analysis.presentation.labels import Labels
from analysis.presentation.sentences import processes
from analysis.runs.facts import Facts
from analysis.runs.frames import BASELINE, Line
from analysis.runs.kinds import side
from analysis.topics.topic import Headline, Page

ROUNDED = "the difference lies within the rounding of the times"
WITHHELD = {INSEPARABLE: INSEPARABLE, WITHIN_ROUNDING: ROUNDED}
"""Verdicts that stand in the place of a direction, and why they do."""


def headline(page: Page) -> Headline | None:
    """Offer a sentence about which interconnect is faster."""
    if not page.contests:
        return None
    content = page.content
    return Headline(sentences=[which_is_faster(page.contests, content.facts, content.labels)])


def which_is_faster(contests: Sequence[Contest], facts: Facts, labels: Labels) -> str:
    """Say of each baseline which interconnect is how much faster, and which one is not compared with it."""
    every = pd.concat([contest.improvement for contest in contests])
    table, refused = every[every["improvement_percent"].notna()], not_compared(every, labels)
    if table.empty and not refused:
        return "Which is faster: no two interconnects of kinds that may be compared were run."
    said, untold, of_same_computing = [], {}, []
    for (name, kind, placement), rows in table.groupby(BASELINE, sort=False, dropna=False):
        baseline = labels.placed(name, side(kind, 0), placement)
        lines = rows.to_dict("records")
        if told := [line for line in lines if direction(line)]:
            said.append(_fastest_over(baseline, told, rows["case"], facts, labels))
        else:
            why = f"{_not_told(rows)}, in {_cases(rows['case'], facts)}"
            untold.setdefault(why, []).append(baseline)
            words = map(direction_with_same_computing, lines)
            if told := [{**line, "verdict": word} for line, word in zip(lines, words, strict=True) if word]:
                text = _fastest_over(baseline, told, rows["case"], facts, labels)
                of_same_computing.append(f"where computing takes as long over both, {text}")
    more = [f"for {counted(len(said) - MOST, 'other baseline')} see the tables"] if len(said) > MOST else []
    said = said[:MOST] + more
    said += [f"nothing is faster or slower than {some(names, 'other baseline')} for sure ({why})"
             for why, names in untold.items()]  # fmt: skip
    if len(refused) > MOST:
        refused = [*refused[: MOST - 1], f"{len(refused) - MOST + 1} more comparisons are not made either"]
    text = f"Which is faster: {'; '.join([*said, *of_same_computing[:MOST], *refused])}."
    return f"{text} Run fewer processes per node to compare them." if refused else text


def not_compared(improvement: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the interconnects that are not compared with a baseline, since no message uses one of the two."""
    refused: dict[tuple[str, str, str], list[str]] = {}
    for line in improvement[improvement["note"].str.endswith(ONE_NODE, na=False)].to_dict("records"):
        owner = labels.baseline(line), labels.case(line["case"]), line["note"]
        refused.setdefault(owner, []).append(labels.compared(line))
    sentences = []
    for (baseline, case, note), names in refused.items():
        verb = "is" if len(set(names)) == 1 else "are"
        sentences.append(f"{some(names)} {verb} not compared with {baseline} in {case}: {note}")
    return sentences


def _fastest_over(baseline: str, told: Sequence[Line], cases: pd.Series, facts: Facts, labels: Labels) -> str:
    """Name the interconnect that is faster in most cases, by most, and those that are faster too."""
    by_name: dict[str, list[Line]] = {}
    for line in sorted(told, key=lambda line: -line["improvement_percent"]):
        if direction(line) == direction(told[0]) or direction(line) == "faster":
            by_name.setdefault(labels.compared(line), []).append(line)
    best = max(by_name, key=lambda name: (direction(by_name[name][0]) == "faster", len(by_name[name])))
    lines = [line for line in by_name[best] if direction(line) == direction(by_name[best][0])]
    word, first = direction(lines[0]), lines[0]
    where, aside = _at(lines), []
    if (of := cases.nunique()) > 1:
        whose = _cases(cases, facts, f"{side(str(first['kind']), 1)} case")
        if len(lines) == 1:
            where, aside = f"{where} in {labels.case(first['case'])}", [f"1 of the {whose}"]
        else:
            every = whose.replace(formats.whole(of), formats.all_of(of), 1)
            where += f" in {every}" if len(lines) == of else f" in {len(lines)} of the {whose}"
    if single := sum(map(has_one_figure_each, lines)):
        aside.append("one run each" if single == len(lines) else f"{single} of them one run each")
    gain = percents(line["improvement_percent"] for line in lines)
    text = f"{best} is {gain} {word} than {baseline} {where}" + f" ({', '.join(aside)})" * bool(aside)
    others = [
        (name, line["improvement_percent"])
        for name, rows in by_name.items()
        for line in rows
        if name != best and direction(line) == "faster"
    ]
    if not others or word != "faster":
        return text
    names, gains = zip(*others, strict=True)
    return f"{text}, {some(names, 'other')} by {percents(gains)}"


def _at(lines: Sequence[Line]) -> str:
    """Say at which counts interconnects are compared: their baseline's best, unless that is one process."""
    best = all(line["at_processes"] == line["baseline_peak_processes"] for line in lines)
    if len(counts := {line["at_processes"] for line in lines}) > 1:
        return "at the latter's best counts" if best else "at the counts that the tables name"
    return "at " + "the latter's best of " * best + processes(*counts)


def _not_told(rows: pd.DataFrame) -> str:
    """Say why nothing is told of some comparisons."""
    said = {
        "untestable": f"{counted(int(rows['blocks'].fillna(0).max()), 'block')} are too few to tell",
        "not distinguishable": "the blocks differ by as much",
        "within the band": "the band holds both directions",
        **WITHHELD,
        "^faster$|^slower$": "the medians of the times say the opposite",
    }
    verdicts = rows["verdict"].astype(str)
    why = {what: text for what, text in said.items() if verdicts.str.contains(what).any()}
    return ", or ".join(why.values()) or "what was run has no test"


def _cases(cases: pd.Series, facts: Facts, noun: str = "case") -> str:
    """Count cases, and their applications where these are fewer."""
    names = list(dict.fromkeys(cases))
    applications = {facts.case(case).application for case in names} - {None}
    if not 0 < len(applications) < len(names):
        return counted(len(names), noun)
    whose = "one application" if len(applications) == 1 else counted(len(applications), "application")
    return f"{counted(len(names), noun)} of {whose}"
