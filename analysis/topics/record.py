"""How were the results made? Method, invalid and missing repetitions, machine and versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, left, paragraph, right, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.formats import counted, listed, named_or_counted
from analysis.presentation.labels import Labels
from analysis.presentation.rows import line_table, numbers, texts
from analysis.presentation.sentences import AT_TARGET, coverage_sentence, invalid_runs
from analysis.runs.facts import AboutStudy, AboutTarget
from analysis.runs.frames import Line, is_missing
from analysis.runs.runs import BLOCK, DATE, SESSION, is_outdated
from analysis.runs.settings import DISTINGUISHABLE, NODES
from analysis.statistics.bootstrap import FEWEST, FEWEST_ALONE
from analysis.statistics.dependence import SHORTEST
from analysis.topics.quality.tables import OR_REPEATED, is_without_block, repeated_points, run_names
from analysis.topics.topic import Topic

STRONG_WORDS = (
    "Scaling is strong: the problem size is the same at all counts. Speedup is the time of the "
    "reference run divided by the time of the point. Efficiency is speedup × cores of the reference / cores "
    "of the point. "
    "The serial fraction is the Karp-Flatt metric, extended to references on several cores."
)
WEAK_WORDS = (
    "Scaling is weak: the problem size grows with the processes. Efficiency is the time of the "
    "reference run divided by the time of the point. Scaled speedup is efficiency × cores of the point / "
    "cores of the reference."
)
ALONE_WORDS = (
    "For imported runs without blocks, the bootstrap draws the runs of each point independently. The "
    f"bootstrap needs at least {FEWEST_ALONE} runs per point. Nodeworth tested the bootstrap on "
    "independent artificial data with a known true value. With 4 runs per point, 92 to "
    "95\N{NARROW NO-BREAK SPACE}% of the intervals contained the true value. With 5 to 10 "
    "runs per point, 96 to 98\N{NARROW NO-BREAK SPACE}% of the intervals contained the true value."
)
"""Source: ``tests/benchmarks/coverage_of_imported.py``."""
MOST_INVALID = 50
"""Largest number of reasons of invalid repetitions, and of parts that are left out, in the report."""
MACHINE_KEYS = {
    "host": "Host",
    "hostname": "Host",
    "node_type": "Node type",
    "cpu": "CPU",
    "cores": "Cores used",
    "cpu_quota_cores": "CPU quota (cores)",
    "memory_GB": "Memory (GB)",
    "kernel": "Kernel",
    "os": "Operating system",
    "tcp_congestion_control": "TCP congestion control",
    "governor": "Frequency governor",
    "adapters": "Network adapters",
    "ucx": "UCX",
    "slurm": "Cluster job (last run)",  # of any scheduler
    "mpi": "MPI library",
    "transports": "Transports that it chose",
}
"""Names of the facts of a machine in the report."""
POINT = ["site", "case", "interconnect", "kind", "oversubscription", "processes", "threads"]


def method_paragraphs(content: Content) -> list[str]:
    """Describe the blocks, the stopping rule, the estimates, the tests and the terms, in a paragraph each."""
    runs, study, scaling = content.runs, content.facts.study, content.tables["scaling"]
    is_of_study = _is_of_study(runs)
    was_run = is_of_study & (runs["kind"] != "simulated")
    count = "nodes" if (scaling["unit"] == NODES).all() else "processes"
    at_site = ", a site (cluster or centre)" if scaling["site"].notna().any() else ""
    paragraphs = [f"A point is a combination of a case, an interconnect{at_site} and a number of {count}."]
    if was_run.any():
        paragraphs.append(_blocks_sentences(runs[was_run], study))
    if study.until:
        paragraphs.append(_stopping_sentences(study.until, study.blocks or 0))
    if not is_of_study.all():
        kinds = listed(dict.fromkeys(runs.loc[~is_of_study, "kind"]))
        blocks = (
            "times in these files. The files name no blocks: the number of blocks of a point is its number "
            "of runs."
        )
        sources = runs.loc[~is_of_study, "order_from"].astype("str")
        if sources.str.startswith(BLOCK, na=True).any():
            blocks = "times and the blocks in these files. The runs of a block were made together."
        elif sources.str.startswith((DATE, SESSION)).any():
            blocks = "times in these files. A block is all runs of a date or session."
        paragraphs.append(
            f"The {kinds} results are imported from files. Nodeworth does not change the {blocks}"
        )
    if not (scaling["kind"] == "simulated").all():
        seed = "" if was_run.any() else _seed_sentence("bootstrap", study)
        paragraphs.append(_interval_sentences(scaling, runs, content.labels, seed))
    paragraphs.append(_test_sentences(content))
    paragraphs.append(" ".join(_definitions(content.tables, content.labels)))
    return list(filter(None, paragraphs))


def _is_of_study(runs: pd.DataFrame) -> pd.Series:
    """Mark repetitions that this study ran or replayed.

    A table without column ``origin`` was made by another program; there, repetitions with a record count.
    """
    return runs["origin"].isin(("run", "replay")) if "origin" in runs else runs["record"].notna()


def _definitions(tables: Mapping[str, pd.DataFrame], labels: Labels) -> list[str]:
    """Write the definitions of the terms that the study's tables use."""
    scaling = tables["scaling"]
    words = WEAK_WORDS if labels.weak else STRONG_WORDS
    is_by_nodes = scaling["unit"] == NODES
    sentences = [words.replace("cores", "nodes") if is_by_nodes.all() else words]
    if is_by_nodes.any() and not is_by_nodes.all():
        sentences.append(
            "Nodeworth compares some cases at equal numbers of nodes. In the formulas of these cases, nodes "
            "replace cores."
        )
    if scaling["oversubscription"].nunique() > 1:
        sentences.append("All oversubscription levels have the same reference.")
    if len(tables["improvement"]):
        sentences.append(f"Improvement is (time of the baseline / time of the {labels.noun}) − 1.")
    if scaling["speedup_low"].notna().any():
        sentences.append(
            f"File tables/peaks.csv lists all counts that may have the highest {labels.speedup}."
        )
    return sentences


def _seed_sentence(purpose: str, study: AboutStudy) -> str:
    return "" if study.seed is None else f" The seed of the {purpose} is {study.seed}."


def _blocks_sentences(runs: pd.DataFrame, study: AboutStudy) -> str:
    """Define the block, and state how many valid blocks the points have."""
    valid = runs[runs["valid"]].groupby([*POINT, "nodes"], dropna=False).size()
    least, most = (int(end) for end in (valid.min(), valid.max()))
    span = "" if least == most else f"{formats.whole(least)} to "
    repeated = _repeated_sentence(runs[runs["valid"]])
    same = "case and process count"
    if runs["oversubscription"].nunique() > 1:
        same = "case, process count and number of processes per core"
    or_repeated = OR_REPEATED if repeated else ""
    return (
        f"A block is one repetition of every point{or_repeated}. The runs of a block with "
        f"the same {same} follow one another, in random order of the interconnects. "
        f"Every point that was run has {span}{counted(most, 'valid run' if repeated else 'valid block')}."
        f"{repeated}"
        f"{_seed_sentence('random order and of the bootstrap', study)}"
    )


def _repeated_sentence(valid: pd.DataFrame) -> str:
    """State how many points the user repeated; empty without such points."""
    is_repeated = repeated_points(valid)
    number = int(is_repeated.sum())
    if number == 0:
        return ""
    repeated = "all points" if number == len(is_repeated) else counted(number, "point")
    return (
        f" The option --again repeated {repeated}. A repeated run enters a comparison of "
        "interconnects only together with the other repeated runs of its request."
    )


def _stopping_sentences(until: AboutTarget, blocks: int) -> str:
    """State the rule by which blocks were added, why the study ended, and the effect on intervals."""
    width = until.half_width_percent
    widest = "One interval is missing"
    widest = widest if width is None else f"The widest interval is ±{formats.percent(width)}"
    end = f"The study ended after {counted(blocks, 'block')}, since {until.reason}"
    if until.reason is None:
        end = f"The study has not ended after {counted(blocks, 'block')}"
    return (
        f"The study first ran {counted(until.least_blocks, 'block')}. The study then added blocks until "
        f"every improvement had an interval of ±{formats.percent(until.interval_percent)} or less. In a case "
        "without comparisons, this rule applies to the intervals of all times. The limits were "
        f"{until.max_blocks} blocks and {formats.number(until.limit_core_hours)} core hours. {end}. "
        f"{widest}. {AT_TARGET}"
    )


def _interval_sentences(scaling: pd.DataFrame, runs: pd.DataFrame, labels: Labels, seed: str) -> str:
    """Describe the intervals of times and of derived quantities, with their coverage and the seed."""
    covered = scaling.dropna(subset=["coverage", "n"]).drop_duplicates("n").sort_values("n")
    if covered.empty:
        return "Each time is a single sample without an interval."
    shares = formats.spanned(
        *(formats.percent(100 * end, places=1) for end in covered["coverage"].agg(["min", "max"]))
    )
    shares += ", depending on the number of runs" if covered["coverage"].nunique() > 1 else ""
    counted_runs = runs[runs["valid"] & (runs["kind"] != "simulated")]
    has_block = ~is_without_block(counted_runs)
    in_blocks, alone = (
        rows.groupby([*POINT, "nodes"], dropna=False)["block"].nunique()
        for rows in (counted_runs[has_block], counted_runs[~has_block])
    )
    noun = "runs" if in_blocks.empty else "blocks"
    text = (
        f"Times are medians over {noun}, including outliers. For the interval of a time, Nodeworth sorts the "
        "times of the runs. Both ends of the interval are two of these times, chosen by position (order "
        f"statistics). Intervals of times have a confidence of {shares}. "
    )
    if covered["n"].max() >= SHORTEST:
        text += "If successive times clearly depend on each other, Nodeworth chooses ends farther apart. "
    blocks, alone_with_draws = in_blocks[in_blocks >= FEWEST], alone[alone >= FEWEST_ALONE]
    if blocks.empty and alone_with_draws.empty:
        needed = [counted(FEWEST, "block")] if len(in_blocks) else []
        needed += [f"{FEWEST_ALONE} runs per point if the runs have no block"] if len(alone) else []
        return (
            f"{text}Speedups and other derived quantities have no interval. An interval needs "
            f"{listed(needed, 'or')}."
        )
    text += (
        "Quantities derived from the times of several points, such as speedups, have percentile intervals "
        f"of a bootstrap, which draws runs at random.{seed} The nominal confidence of these intervals is "
        f"{labels.confidence}. "
    )
    if blocks.empty:
        return f"{text}{ALONE_WORDS}"
    text += "A sweep is all runs of a case in one block. The bootstrap draws whole sweeps at random. "
    text += coverage_sentence(int(blocks.min()))
    return text if alone_with_draws.empty else f"{text} {ALONE_WORDS}"


def _factors(study: AboutStudy) -> str:
    """State the factors of p-values after earlier reports; empty at the first look."""
    if max(study.looks.values(), default=1) == 1:
        return ""
    return " At look k > 1 at a case, Nodeworth multiplies its p-values by 2ᵏ."


def _test_sentences(content: Content) -> str:
    """Describe the tests of the study, or state why nothing is tested."""
    tables = content.tables
    improvement = tables["improvement"]
    if content.facts.study.unfinished:
        return "Nodeworth starts its tests after the last block."
    if improvement.empty:
        return ""
    noun = content.labels.noun
    if improvement["p_adjusted"].isna().all():
        return (
            f"Nodeworth tests no difference between {noun}s. A test needs at least two blocks of both "
            f"{noun}s."
        )
    tested = improvement[improvement["p_adjusted"].notna()]
    has_untested = improvement["verdict"].astype(str).str.contains("(untested)", regex=False).any()
    untested = ", unless the verdict is marked “untested”" if has_untested else ""
    text = "Nodeworth tests whether improvements differ from 0."
    if tested["paired"].any():
        text += (
            " A comparison is paired if at least half of the blocks of either interconnect have runs over "
            "both. The test of a paired comparison is the two-sided exact signed-rank test. This test uses "
            "the log ratio of the two times of each common block."
        )
    if not tested["paired"].all():
        which = "Other comparisons" if tested["paired"].any() else "All comparisons"
        text += (
            f" {which} are unpaired: they do not pair the runs of a block. The test of an unpaired "
            "comparison is a two-sided studentised permutation test. If imported runs may be correlated, "
            "Nodeworth first spreads their times about the median, so that they count as fewer runs."
        )
    if tables["oversubscription"]["p_adjusted"].notna().any():
        text += (
            " Nodeworth compares oversubscription levels with the permutation test, because these levels "
            "have no common blocks."
        )
    return (
        f"{text} The estimate and the interval of a comparison come from the same test. Nodeworth may choose "
        "the process count of a comparison from the runs that it also tests. The p-value then accounts for "
        f"this choice.{_factors(content.facts.study)} Holm's correction covers all p-values of a table. A "
        f"verdict of “faster” or “slower” requires a p-value of at most {formats.exact(DISTINGUISHABLE)} and "
        f"an interval on one side of 0{untested}."
    )


def invalid_blocks(content: Content) -> list[Block]:
    """List invalid repetitions, points with fewer blocks than planned, and items left out."""
    blocks: list[Block] = []
    runs, labels = content.runs, content.labels
    invalid = runs[~runs["valid"]]
    if invalid.empty and len(runs):
        blocks.append(paragraph("Every recorded run is valid."))
    if len(invalid):
        blocks.append(paragraph(f"{invalid_runs(runs)}."))
        if not (days := runs.loc[is_outdated(runs), "started"].dropna().str[:10]).empty:
            last = f" to {days.max()}" if days.max() != days.min() else ""
            blocks.append(paragraph(f"Dates of the outdated runs (UTC): {days.min()}{last}."))
        blocks.append(_invalid_table(runs, labels))
    blocks += _unknown_medians(content) + _missing_repetitions(content)
    if left_out := content.facts.left_out:
        lines = [f"{item.what}: {item.reason}." for item in left_out[:MOST_INVALID]]
        if more := len(left_out) - len(lines):
            lines.append(f"{counted(more, 'further entry', 'further entries')}: see left_out in facts.json.")
        blocks.append(bullets(lines, "Left out"))
    return blocks


def _unknown_medians(content: Content) -> list[Block]:
    """List the points whose median time is unknown, since it lies beyond the time limit of stopped runs."""
    points, labels = content.tables.get("censored"), content.labels
    if points is None or not (unknown := points[points["seconds"].isna()].to_dict("records")):
        return []
    items = [
        f"{labels.case(row['case'])}, {labels.interconnect(row['interconnect'], row['kind'])}, "
        f"{counted(row['processes'], 'process')}, oversubscription {row['oversubscription']}: "
        f"{formats.whole(row['censored'])} of {counted(row['n'], 'block')} stopped"
        for row in unknown
    ]
    return [bullets(items, "Points whose median time is unknown because of a time limit")]


def _invalid_table(runs: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate the reasons of invalid and outdated repetitions, in a row for each case and reason."""
    invalid = runs.assign(name=run_names(runs))[~runs["valid"]]
    lines: list[Line] = []
    for (case, reason), rows in invalid.groupby(["case", "reason"], dropna=False, sort=False):
        sides = zip(rows["interconnect"], rows["kind"], strict=True)
        lines.append(
            {
                "case": case,
                "interconnects": named_or_counted(labels.interconnect(*side) for side in sides),
                "processes": _ends(rows["processes"]),
                "oversubscription": _ends(rows["oversubscription"]),
                "runs": len(rows),
                "first": rows["name"].iloc[0],
                "reason": formats.MISSING if is_missing(reason) else reason,
            }
        )
    fields = [
        texts("Case", labels.case, "case"),
        texts("Interconnect", str, "interconnects"),
        numbers("Processes", str, "processes"),
        numbers("Oversubscription", str, "oversubscription"),
        numbers("Runs", formats.whole, "runs"),
        texts("First", str, "first"),
        texts("Reason", str, "reason"),
    ]
    caption = (
        "Invalid and outdated runs. Each row counts the runs of a case that have the same reason in the last "
        "column. File runs.csv has every run."
    )
    if len(lines) > MOST_INVALID:
        caption += f" The table shows the first {MOST_INVALID} of {len(lines)} rows."
    return line_table(caption, fields, lines[:MOST_INVALID])


def _ends(counts: pd.Series) -> str:
    """Write the smallest and the largest count."""
    return formats.spanned(formats.whole(counts.min()), formats.whole(counts.max()))


def _missing_repetitions(content: Content) -> list[Block]:
    """Count planned repetitions without a record, and list points with fewer valid blocks than planned."""
    blocks: list[Block] = []
    facts, labels = content.facts, content.labels
    planned, recorded = facts.runs.planned, facts.runs.recorded
    if planned is not None and recorded is not None and recorded - facts.runs.outdated < planned:
        missing = (
            f"{formats.whole(planned - recorded + facts.runs.outdated)} of {counted(planned, 'planned run')}"
        )
        blocks.append(paragraph(f"The study lacks {missing}."))
    planned_blocks = facts.study.blocks
    if planned_blocks is None:
        return blocks
    scaling = content.tables["scaling"]
    is_serial = scaling["serial"]
    scaling = scaling.assign(
        interconnect=scaling["interconnect"].mask(is_serial),
        processes_per_node=scaling["processes_per_node"].mask(is_serial),
    )
    points_of_study = content.runs.loc[_is_of_study(content.runs), POINT].drop_duplicates()
    points = scaling.merge(points_of_study, on=POINT).drop_duplicates([*POINT, "processes_per_node"])
    items = [
        f"{labels.case(line['case'])}, {labels.curve(line)}, "
        f"{counted(line['processes'], 'process')}, oversubscription {line['oversubscription']}: "
        f"{formats.whole(line['n'])}"
        for line in points[points["n"] < planned_blocks].to_dict("records")
    ]
    if items:
        title = f"Points with fewer than the planned {formats.whole(planned_blocks)} valid blocks"
        blocks.append(bullets(items, title))
    return blocks


def machine_items(machine: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a machine and the versions of its applications, by their names in the report."""
    items = {MACHINE_KEYS.get(key, key): value for key, value in machine.items() if key != "applications"}
    versions = machine.get("applications") or {}
    return items | {f"Application {name}": version for name, version in versions.items()}


def machine_blocks(content: Content) -> list[Block]:
    """Tabulate the machine and the versions, and name the files that have all numbers of the report."""
    facts = content.facts
    items = machine_items(facts.machine)
    items |= {"Study file": facts.study.file, "Made": facts.made, "Nodeworth": facts.version}
    rows = [row([key, value]) for key, value in items.items() if not is_missing(value)]
    applications = listed(sorted(content.runs["application"].dropna().unique()))
    files = [*(["all runs in runs.csv"] if len(content.runs) else []), "all estimates in tables/"]
    files += ["all other imported values in published/"] if content.published else []
    where = f"The folder of this report has {listed(files)}."
    text = paragraph(f"{where} Applications: {applications}." if applications else where)
    columns = left("Item", "Value")
    return [text, *([table("Machine and versions.", columns, {"": rows})] if rows else [])]


def method(content: Content) -> Section | None:
    """Write the section on measurement, estimates and tests."""
    return section(
        "method",
        "Method in brief",
        [
            *map(paragraph, method_paragraphs(content)),
            reference_table(content.tables["scaling"], content.labels),
        ],
    )


def reference_table(scaling: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate the runs that the speedups of each case and kind refer to."""
    rows = []
    keys = ["site", "reference_interconnect", "reference_processes", "reference_seconds"]
    for case, case_rows in labels.by_case(scaling):
        for _, points in case_rows.groupby(keys, dropna=False, sort=False):
            site, name, count, seconds = (points[key].iloc[0] for key in keys)
            kinds = list(dict.fromkeys(points["kind"]))
            is_serial = is_missing(name)
            reference = labels.interconnect(name, None if is_serial else kinds[0])
            if is_serial and not is_missing(site):
                reference += f" ({site})"
            cells = [
                labels.case(case),
                listed(kinds),
                reference,
                formats.whole(count),
                formats.number(seconds),
            ]
            rows.append(row(cells, case))
    columns = [*left("Case", "Kinds", "Reference"), *right("Processes", "Time (s)")]
    return table("Reference of the speedups.", columns, {"": rows})


def left_out(content: Content) -> Section | None:
    """Write the section on invalid, missing and left-out results."""
    return section("invalid", "What does not count, and why", invalid_blocks(content))


def machine(content: Content) -> Section | None:
    """Write the section on the machine, the versions and the files."""
    return section("machine", "Machine and versions", machine_blocks(content))


METHOD = Topic(name="method", section=method, in_appendix=True, on_screen={"table"})
LEFT_OUT = Topic(name="left_out", section=left_out, in_appendix=True, needs_runs=False)
MACHINE = Topic(name="machine", section=machine, in_appendix=True, needs_runs=False)
