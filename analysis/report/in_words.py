"""The section "In words" behind page one: the results as sentences, and what the table rests on."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.content import Content
from analysis.presentation.contests import Contest
from analysis.presentation.formats import MOST, listed, named_or_counted
from analysis.presentation.labels import Labels, correction_of
from analysis.presentation.sentences import counts_of, fastest_on_one, no_common_count
from analysis.runs.frames import Line, as_lines, interval, is_missing
from analysis.runs.settings import DISTINGUISHABLE
from analysis.topics.simulated.section import models_of

PERCENT = 100
SUPERLINEAR = 1.05
"""Efficiency above which a note gives the reason."""


def table_notes(contests: Sequence[Contest], content: Content) -> list[str]:
    """Write the notes on the table of page one.

    They explain the reference of speedups, brackets, when a difference counts, and anything unusual.
    """
    labels, study = content.labels, content.facts.study
    scaling = pd.concat([contest.scaling for contest in contests])
    improvement = pd.concat([contest.improvement for contest in contests])
    notes = [reference_note(scaling, labels)]
    if scaling["speedup_low"].notna().any():
        notes += _bracket_notes(scaling, improvement, labels)
    notes += _rule_notes(improvement, content)
    is_compared = any(contest.improvement["improvement_percent"].notna().any() for contest in contests)
    if is_compared and not study.names_baseline:
        unit = listed(dict.fromkeys(contest.unit for contest in contests), "or")
        notes.append(
            "In the table on page one, column “Next to the fastest” shows the difference in speed from the "
            f"fastest {labels.noun}. Each {labels.noun} has its best count in this comparison. Column "
            f"“{unit.capitalize()} of the "
            f"fastest” shows how many {unit} of the fastest {labels.noun} reach the same speed."
        )
    elif is_compared:
        units = listed(dict.fromkeys(contest.unit for contest in contests), "or")
        notes.append(
            "In the table on page one, column “Against its baseline” shows how much faster or slower each "
            f"{labels.noun} is than its baseline. Nodeworth compares the two {labels.noun}s at the number of "
            f"{units} with which the baseline is fastest. {no_common_count(labels)} {fastest_on_one(labels)}"
        )
    if any(not contest.targets.empty for contest in contests):
        units = listed(dict.fromkeys(contest.unit for contest in contests), "or")
        notes.append(
            f"Between two numbers of {units} with runs, Nodeworth interpolates {labels.speedup} linearly."
        )
    if "data_servers" in content.runs and content.runs["data_servers"].fillna(0).max() > 0:
        notes.append("Process counts exclude data servers, but processes per core include them.")
    return [*notes, _superlinear_note(scaling, content)]


def _bracket_notes(scaling: pd.DataFrame, improvement: pd.DataFrame, labels: Labels) -> list[str]:
    """Explain brackets: intervals of runs, and bands of simulated values, which have no probability."""
    is_simulated = scaling["kind"] == "simulated"
    notes = [f"Brackets contain {labels.intervals(scaling, comparisons=improvement)}."]
    notes += (
        [] if is_simulated.all() else [f"A {labels.confidence} interval probably contains the true value."]
    )
    if is_simulated.any():
        notes.append(
            "The uncertainty band is the range of results that the uncertain inputs of the simulation allow."
        )
    return notes


def reference_note(scaling: pd.DataFrame, labels: Labels) -> str:
    """Say which run speedups refer to; empty without speedups."""
    keys = ["case", "reference_interconnect", "reference_processes", "reference_nodes", "kind", "unit"]
    references = scaling.dropna(subset=["reference_processes"])[keys].drop_duplicates()
    cases_of_run: dict[str, set[str]] = {}
    for line in as_lines(references):
        is_serial = is_missing(line["reference_interconnect"])
        run = "the serial run" if is_serial else reference_run(line, labels)
        cases_of_run.setdefault(run, set()).add(line["case"])
    if not cases_of_run:
        return ""
    speedup = labels.speedup.capitalize()
    start = f"{speedup} is relative to"
    if len(cases_of_run) <= MOST:
        if len(cases_of_run) == 1:
            return f"{start} {listed(cases_of_run)}."
        return " ".join(
            f"{speedup} of {named_or_counted(map(labels.case, sorted(cases)), 'case')} is relative to {run}."
            for run, cases in cases_of_run.items()
        )
    unit = listed(references["unit"].unique(), "or")
    counts = [references[f"reference_{name}"] for name in references["unit"].unique()]
    ends = [formats.whole(getattr(pd.concat(counts), end)()) for end in ("min", "max")]
    return (
        f"{speedup} of a case is relative to the run with the fewest {unit} at the same site (cluster or "
        f"centre). Depending on the case and the site, this run has {formats.spanned(*ends)} {unit}. Compare "
        f"times, not {labels.speedup}, between sites."
    )


def reference_run(line: Line, labels: Labels) -> str:
    """Name the run that the speedups of a row of ``scaling`` refer to."""
    interconnect = labels.interconnect(line["reference_interconnect"], line["kind"])
    count = counts_of(line["unit"], line[f"reference_{line['unit']}"])
    return f"{interconnect} with {count}"


def _rule_notes(improvement: pd.DataFrame, content: Content) -> list[str]:
    """Say what a direction requires, and how fast simulated cores are."""
    labels = content.labels
    notes, rules = [], []
    if improvement["p_adjusted"].notna().any():
        has_untested = improvement["verdict"].astype(str).str.contains("(untested)", regex=False).any()
        unless = ", unless the verdict is marked “untested”" if has_untested else ""
        rules.append(
            "A verdict of “faster” or “slower” requires a p-value of at most "
            f"{formats.exact(DISTINGUISHABLE)} after {correction_of(content.facts)}{unless}."
        )
    if improvement["verdict"].astype(str).str.contains("the (?:whole )?band$").any():
        rules.append(
            "For simulated times, a verdict requires that the whole uncertainty band of the improvement lies "
            "on one side of 0."
        )
    is_simulated = improvement["kind"].str.contains("simulated")
    if improvement.loc[~is_simulated, "paired"].eq(False).any():
        notes.append(
            f"A block is a group of runs that were made together. If two {labels.noun}s have too few common "
            "blocks, their comparison is unpaired. Nodeworth then divides every time of the baseline by "
            f"every time of the other {labels.noun}. The percentage of the comparison shows how far the "
            "median of these ratios is from 1. This median may deviate from the ratio of the median times."
        )
    notes += rules
    speeds = [model.host.host_speed or 1 for model in models_of(content).values()]
    if set(speeds) - {1}:
        share = formats.spanned(formats.number(min(speeds), 2), formats.number(max(speeds), 2))
        notes.append(f"Simulated cores have {share} times the speed of the cores that recorded the traces.")
    return notes


def _superlinear_note(scaling: pd.DataFrame, content: Content) -> str:
    """State the highest efficiency if it exceeds 100 % for sure, and what may explain it; else empty."""
    one_per_core = (scaling["oversubscription"] == 1) & (scaling["threads"] == 1)
    highest = as_lines(scaling[one_per_core].nlargest(1, "efficiency"))
    if not highest:
        return ""
    line, ends = highest[0], interval(highest[0], "efficiency")
    if min(end for end in ends if not is_missing(end)) <= SUPERLINEAR:
        return ""
    value, low, high = ends
    efficiency = formats.percent_with_interval(PERCENT * value, PERCENT * low, PERCENT * high)
    labels, reference = content.labels, line["reference_interconnect"]
    which = f"{labels.curve(line)} with {counts_of(line['unit'], line[line['unit']])}"
    if scaling["case"].nunique() > 1:
        which += f", in case “{labels.case(line['case'])}”"
    highest_efficiency = f"The highest efficiency is {efficiency}: {which}."
    if is_missing(reference) or reference == line["interconnect"]:
        return (
            f"{highest_efficiency} Efficiency above 100{formats.THIN}% is superlinear speedup. A frequent "
            "cause is that the data of each process fit its cache."
        )
    return (
        f"{highest_efficiency} The reference of this efficiency is {reference_run(line, labels)}. The "
        "efficiency therefore includes the difference between the two interconnects."
    )
