"""Sentences that several topics share."""

from __future__ import annotations

import pandas as pd

from analysis.curves.curve_comparison import NEAR
from analysis.curves.outcomes import AT_LEAST, AT_MOST, MEDIANS_DISAGREE, outcome
from analysis.presentation import formats
from analysis.presentation.formats import counted, listed, named_or_counted
from analysis.presentation.labels import Labels
from analysis.runs.facts import AboutStudy, outdated_runs
from analysis.runs.frames import as_float, is_missing, unit_of
from analysis.runs.runs import count_validity, is_outdated
from analysis.runs.settings import NODES

WEAK = "Scaling is weak: the size grows with the processes."
COVERED = {5: (93.6, 94.6), 6: (93.3, 95.2), 10: (95.3, 97.4), 30: (96.1, 98.4)}
"""Lowest and highest simulated coverage of derived quantities in percent, by number of blocks.

The simulated noise is log-normal, heavy-tailed, bimodal or congested. Source: the last table of
``tests/benchmarks/coverage_of_derived.py``.
"""

AT_TARGET = (
    f"Nodeworth tested this stopping rule on artificial data: 93.8 to 96.9{formats.THIN}% of the intervals "
    "of improvements contained the true value."
)
"""Source: ``tests/benchmarks/analysis_coverage.py --only until``."""

OF_SPEEDUPS = (
    "The interval of a speedup needs 5 blocks of its point and 5 blocks of its reference. Imported runs "
    "without blocks need 4 runs instead of 5 blocks."
)

RATIOS_OF_RUNS = (
    "Nodeworth divides times of single runs by each other, and estimates the percentages from these ratios. "
    "The ratio of two median times may therefore give a different percentage."
)


def no_common_count(labels: Labels) -> str:
    """State where two interconnects are compared if one has no result at the best count of the baseline."""
    return (
        f"If the other {labels.noun} has no result at this number, Nodeworth takes its result at a number "
        f"that differs by at most {round(100 * (NEAR - 1))}{formats.THIN}%. Without such a result, Nodeworth "
        "compares both at the nearest smaller number that both have."
    )


def fastest_on_one(labels: Labels) -> str:
    """State where two interconnects are compared if the baseline is fastest on one process."""
    return (
        "If the baseline is fastest on one process, Nodeworth compares both at the number with which the "
        f"other {labels.noun} is fastest."
    )


def invalid_runs(runs: pd.DataFrame) -> str:
    """Count the invalid and the outdated runs, in a clause for each; empty if every run is valid."""
    validity = count_validity(runs)
    clauses = []
    if validity.invalid:
        verb, has = ("is", "has") if validity.invalid == 1 else ("are", "have")
        is_import = "origin" in runs and runs["origin"].eq("import").all()
        state = f"{has} no valid time and {verb} left out" if is_import else f"{verb} invalid and left out"
        text = f"{formats.whole(validity.invalid)} of {counted(validity.current, 'run')} {state}"
        if stopped := int((runs["censored"] & ~is_outdated(runs)).sum()) if "censored" in runs else 0:
            limit = "was stopped at its time limit" if stopped == 1 else "were stopped at their time limits"
            text += f", except {formats.whole(stopped)} that {limit} and count as longer than the limit"
            if stopped == validity.invalid:
                of_runs = f"{formats.whole(stopped)} of {counted(validity.current, 'run')}"
                verb = "counts" if stopped == 1 else "count"
                text = f"{of_runs} {limit} and {verb} as longer than the limit"
        clauses.append(text)
    if validity.outdated:
        clauses.append(outdated_runs(validity.outdated))
    return ". ".join(clauses)


def processes(*counts: float) -> str:
    """Write process counts: ``4 processes``, ``4 and 8 processes``."""
    noun = "process" if counts == (1,) else "processes"
    return f"{listed(map(formats.plain, counts))}{formats.SPACE}{noun}"


def counts_of(unit: str, *counts: float) -> str:
    """Write counts in a unit: ``64 nodes``, or as `processes` does."""
    if unit != NODES:
        return processes(*counts)
    noun = "node" if counts == (1,) else "nodes"
    return f"{listed(map(formats.plain, counts))}{formats.SPACE}{noun}"


def units_of(rows: pd.DataFrame) -> str:
    """Name the units of rows: ``processes``, ``nodes``, or both if cases differ."""
    return listed(dict.fromkeys(rows["unit"]), "or")


def reference_sentences(scaling: pd.DataFrame, labels: Labels) -> tuple[list[str], list[str]]:
    """State the run that the speedups of a case refer to, with its time.

    Returns
    -------
    sentences, site_references : list of str
        ``site_references`` has a run per site; empty if one run is the reference of all sites.
    """
    columns = ["site", "reference_interconnect", "reference_processes", "reference_seconds"]
    if unit_of(scaling) == NODES:
        columns[2] = "reference_nodes"
    speedup = labels.speedup.capitalize()
    sentences, site_references = [WEAK] if labels.weak else [], []
    for (site, interconnect, count, seconds), rows in scaling.groupby(columns, dropna=False, sort=False):
        kinds = list(dict.fromkeys(rows["kind"]))
        subject = speedup
        subject += f" of {listed(kinds)} runs" if len(kinds) < scaling["kind"].nunique() else ""
        time = formats.seconds(as_float(seconds))
        if is_missing(interconnect):
            subject += "" if is_missing(site) else f" at {site}"
            kind = "simulated " if kinds == ["simulated"] else ""
            sentences.append(f"{subject} is relative to the {kind}serial run of {time}.")
            continue
        size = counts_of(unit_of(scaling), as_float(count))
        reference = f"{labels.interconnect(interconnect, kinds[0])} with {size}"
        if is_missing(site):
            why = "" if unit_of(scaling) == NODES else " No serial time is known."
            sentences.append(
                f"{subject} is relative to {reference}. The time of this reference is {time}.{why}"
            )
        else:
            site_references.append(f"The run over {reference} takes {time}.")
    if site_references:
        condition = "At each site," if unit_of(scaling) == NODES else "If a site has no serial run,"
        sentences.append(
            f"{condition} {labels.speedup} is relative to the site's run with the fewest {unit_of(scaling)}."
        )
    return sentences, site_references


def progress_sentence(study: AboutStudy) -> str:
    """State how far an unfinished study is, and that it shows no direction."""
    planned = study.until.max_blocks if study.until else study.blocks
    most = "at most " if study.until else ""
    left = study.seconds_left
    to_go = "" if left is None else f", {counted(max(round(left / 60), 1), 'minute')} to go"
    blocks = f"{formats.whole(study.blocks_recorded or 0)} of {most}{counted(planned or 0, 'block')}"
    repeats, last = "", "block"
    if study.repeats_left:
        repeats, last = f", {counted(study.repeats_left, 'run')} of --again left", "run"
    return (
        f"{blocks}{repeats}{to_go}. Before the last {last}, Nodeworth shows curves but states no direction."
    )


def look_sentences(study: AboutStudy, labels: Labels) -> list[str]:
    """State which cases got runs after a report, and what follows for their tests."""
    sentences = []
    for look in sorted({*study.looks.values()} - {1}):
        cases = [case for case, number in study.looks.items() if number == look]
        names = named_or_counted([labels.case(case) for case in cases], "case")
        power = f"2{str(look).translate(formats.SUPERSCRIPT)}"
        sentences.append(
            f"Runs of {names} were added after an earlier report. Each report with other runs is a look, and "
            f"makes chance findings more likely. This is look {look} at "
            f"{'this case' if len(cases) == 1 else 'these cases'}, so Nodeworth multiplies the p-values by "
            f"{power}."
        )
    return sentences


def disagreeing(improvement: pd.DataFrame) -> pd.DataFrame:
    """Return the comparisons in which the medians of all runs show the opposite direction."""
    return improvement[improvement["note"].str.contains(MEDIANS_DISAGREE, regex=False).fillna(False)]


def disagreement_sentences(improvement: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the comparisons whose sign the medians of all runs contradict."""
    names = [
        f"{labels.compared(row)} at {counts_of(row['unit'], row['at_processes'])}"
        for row in disagreeing(improvement).to_dict("records")
    ]
    if not names:
        return []
    subject = "comparison of {} has" if len(names) == 1 else "comparisons of {} have"
    return [
        f"The {subject.format(listed(names))} the opposite sign to the medians of all runs. A comparison "
        "uses ratios of runs. Speedups and node equivalents use medians."
    ]


def blocks_sentences(table: pd.DataFrame, quantities: str) -> list[str]:
    """State how many tests of a table have too few blocks for any verdict, and how many blocks they need.

    Parameters
    ----------
    table : DataFrame
        Table of comparisons.
    quantities : str
        Noun in the plural for the compared quantities.
    """
    tested = table[table["p_adjusted"].notna()]
    untestable = tested[tested["verdict"].map(outcome) == "untestable"]
    if untestable.empty:
        return []
    number, total = len(untestable), counted(len(tested), "test")
    which = f"{number} of {total}"
    if number == len(tested):
        which = {1: "The only test", 2: "Both tests"}.get(number, f"All {total}")
    verb = "has" if number == 1 else "have"
    blocks = sorted({int(count) for count in untestable["blocks"]})
    noun = "block (repetition)" if blocks == [1] else "blocks (repetitions)"
    needed = int(untestable["blocks_needed"].max())
    needed_text = f"at least {counted(needed, 'block')}" if needed > max(blocks) else "more blocks"
    if "candidates" in untestable and (untestable["candidates"] > 1).any():
        needed_text += ", because the blocks do not show at which count a baseline is fastest"
    return [
        f"{which} of {quantities} {verb} only {listed(map(str, blocks), 'or')}{formats.SPACE}{noun}, too "
        f"few for a verdict. After Holm's correction for several tests, a verdict may need {needed_text}."
    ]


def bound(note: object) -> str:
    """Return ``at least `` or ``at most `` if stopped runs make an estimate a bound, else an empty text."""
    text = "" if is_missing(note) else str(note)
    words = [word for word, mark in (("at least ", AT_LEAST), ("at most ", AT_MOST)) if mark in text]
    return "".join(words)


def has_several(blocks: pd.Series) -> bool:
    """Return whether any point has more than one block."""
    return bool((blocks.astype(float) > 1).any())


def too_few(blocks: pd.Series) -> str:
    """State the reason why comparisons of points with these numbers of blocks have no interval."""
    return "the blocks are too few" if has_several(blocks) else "each has a single sample"


def coverage_sentence(blocks: int) -> str:
    """Write the simulated coverage of derived intervals for points with at least 5 blocks.

    The sentence refers to the largest simulated number of blocks that does not exceed `blocks`.
    """
    simulated = max(number for number in COVERED if number <= blocks)
    ends = formats.spanned(*(formats.percent(end, places=1) for end in COVERED[simulated]))
    return (
        f"Nodeworth tested the bootstrap on artificial data with {formats.whole(simulated)} blocks. In this "
        f"test, {ends} of the intervals contained the true value."
    )
