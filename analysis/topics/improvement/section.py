"""The section about improvements over the baselines."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.contests import allows_for_correlation
from analysis.presentation.formats import MISSING
from analysis.presentation.labels import LEVEL_OF_TESTS, Labels, correction_of
from analysis.presentation.rows import line_table, numbers, p_value, percent_cell, texts, verdict, with_levels
from analysis.presentation.sentences import bound, fastest_on_one, no_common_count, units_of
from analysis.runs.frames import Line, as_lines, is_missing, percent_interval
from analysis.topics.improvement.sentences import not_compared, system_sentences

MEANS = {"geometric": "Geometric", "plain": "Plain", "weighted": "By the weights of the mix"}
"""Names of the means over cases."""
OF_CORRELATED_RUNS = (
    "In simulations with equal systems and autocorrelations up to 0.7, at most 6 % of studies had a verdict."
)
"""Source: ``tests/benchmarks/imported_coverage.py``."""


def comparison(content: Content) -> Section | None:
    """Write the section that compares the interconnects with their baselines, case by case."""
    improvement = content.tables["improvement"]
    made = improvement_table(improvement, content.labels)
    refused = [f"{text}." for text in not_compared(improvement, content.labels)]
    if not made["groups"]:
        if content.facts.study.unfinished:
            return None
        why = "A comparison needs a common count of two interconnects whose kinds may be compared."
        text = " ".join(refused) or f"There is no comparison. {why}"
        return section("improvement", "Improvement over the baseline", [paragraph(text)])
    blocks = [*content.figures("improvement"), made]
    blocks += (
        [bullets(sentences)] if (sentences := [*system_sentences(improvement, content), *refused]) else []
    )
    if "improvement_mean" in content.tables:
        blocks.append(improvement_mean_table(content.tables["improvement_mean"], content.labels))
    return section("improvement", "Improvement over the baseline", blocks)


def improvement_table(improvement: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate every comparison that could be made, with its interval, test and verdict."""
    rows = improvement[improvement["improvement_percent"].notna()]
    units = units_of(rows)
    is_simultaneous = bool(improvement[["simultaneous_low", "simultaneous_high"]].notna().any(axis=None))
    has_same_computing = bool(improvement["improvement_same_computing_low"].notna().any())
    fields = [
        texts("Case", labels.case, "case"),
        texts(labels.interconnect_head, labels.compared),
        numbers(units.capitalize(), _counts, "at_processes", "at_processes_other"),
        numbers("Improvement (%)", _improvement),
    ]
    caption = (
        f"Improvement over the baseline at the number of {units} with which the baseline is fastest."
        f"{_other_counts(rows, labels)} For column “Average”, Nodeworth compares the geometric means of the "
        f"times of both {labels.noun}s. Each mean covers the numbers of {units} at which both have results, "
        f"up to the number in column “{units.capitalize()}”. Runs on one process do not count, but runs of "
        "several processes on one node do."
    )
    if improvement["improvement_low"].notna().any():
        caption += f" Brackets contain {labels.intervals(improvement, comparisons=improvement)}."
    if improvement["p_adjusted"].notna().any():
        caption += f" p is the p-value after {correction_of(labels.facts)}."
        if any(map(allows_for_correlation, as_lines(improvement))):
            caption += (
                " Successive imported runs may be correlated. Before an unpaired comparison, Nodeworth "
                "therefore spreads the times of each point about their median. If all spread times of one "
                "point are below all spread times of the other point, p is the smallest possible value for "
                f"the numbers of runs. {OF_CORRELATED_RUNS}"
            )
    if has_same_computing:
        fields.append(numbers("With the same computing (%)", _interval_alone("improvement_same_computing")))
    if is_simultaneous:
        fields.append(numbers("All at once (%)", _interval_alone("simultaneous")))
        caption += (
            " The intervals of column “All at once” are wider. All of them together have a nominal "
            f"confidence of at least {LEVEL_OF_TESTS}. A "
            "comparison with too few runs has no such interval."
        )
    if has_same_computing:
        caption += (
            " Column “With the same computing” shows a second band. This band assumes that computing takes "
            "equally long with both interconnects."
        )
    fields += [
        numbers("Average (%)", percent_cell("average")),
        numbers("p", p_value, "p_adjusted"),
        texts("Outcome", verdict),
    ]
    lines = labels.lines(rows, "baseline_interconnect", "oversubscription", "case", "interconnect")
    return line_table(caption, fields, lines, _over_baseline(improvement, labels))


def _other_counts(rows: pd.DataFrame, labels: Labels) -> str:
    """Say at which counts the rows are that are not at the peak of their baseline; empty without any."""
    peaks = rows["baseline_peak_processes"]
    is_elsewhere = rows["at_processes"] != peaks
    text = ""
    if (is_elsewhere & (peaks > 1)).any():
        text += f" {no_common_count(labels)}"
    if (is_elsewhere & (peaks == 1)).any():
        text += f" {fastest_on_one(labels)}"
    return text


def improvement_mean_table(means: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate the means over the cases, one row per pair of interconnects and kind of mean."""
    fields = [
        texts(labels.interconnect_head, labels.compared),
        texts("Mean", MEANS.get, "mean"),
        numbers("Cases", formats.whole, "cases"),
        numbers("Improvement (%)", percent_cell("improvement")),
        numbers("Average (%)", percent_cell("average")),
    ]
    caption = (
        "Means over the cases of the table above. The plain mean is the arithmetic mean of the "
        "percentages. The geometric mean is formed from the factors 1 + percentage / 100."
    )
    if means["mean"].eq("weighted").any():
        caption += " The mean by the weights of the mix is a weighted geometric mean."
    if means["improvement_low"].notna().any():
        caption += (
            f" Brackets contain {labels.confidence} intervals (Student's t). The intervals treat the cases "
            "as a random sample of similar cases."
        )
    if means["cases"].lt(3).any():
        caption += " Means over fewer than three cases have no interval."
    lines = labels.lines(means, "baseline_interconnect", "oversubscription", "interconnect")
    return line_table(caption, fields, lines, _over_baseline(means, labels), of_cases=False)


def _over_baseline(rows: pd.DataFrame, labels: Labels) -> Callable[[Line], str]:
    """Return a function that writes the baseline of a row as the title of a group."""
    return with_levels(rows, lambda line: f"Over {labels.baseline(line)}")


def _counts(count: float, other_count: float) -> str:
    """Write the process count of a comparison, or both counts if they differ."""
    text = formats.whole(other_count)
    return text if is_missing(count) or count == other_count else f"{text} against {formats.whole(count)}"


def _improvement(line: Line) -> str:
    """Write an improvement with its interval. Stopped runs make it a lower or an upper bound."""
    return bound(line["note"]) + formats.bracketed_percent(*percent_interval(line, "improvement"))


def _interval_alone(name: str) -> Callable[[Line], str]:
    """Return a function that writes an interval of the improvement without an estimate."""

    def write(line: Line) -> str:
        places = formats.percent_places(line["improvement_percent"])
        return formats.ends(line[f"{name}_low"], line[f"{name}_high"], places, signed=True).strip() or MISSING

    return write
