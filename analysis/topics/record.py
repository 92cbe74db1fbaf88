"""What a report puts on record: method, invalid and missing repetitions, machine and versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, left, paragraph, right, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.derived_coverage import AT_TARGET, coverage_sentence
from analysis.presentation.formats import counted, listed
from analysis.presentation.labels import Labels
from analysis.presentation.rows import line_table, numbers, texts
from analysis.runs.facts import AboutStudy, AboutTarget
from analysis.runs.frames import is_missing
from analysis.statistics.bootstrap import FEWEST
from analysis.topics.topic import Topic

STRONG_WORDS = (
    "Scaling is strong: the size stays the same. Speedup is the reference's time over the point's; "
    "efficiency is speedup times the reference's cores over the point's cores. The serial fraction is that "
    "of Karp and Flatt."
)
WEAK_WORDS = (
    "Scaling is weak: the size grows with the processes. Scaled speedup is the reference's time over the "
    "point's times the point's cores over the reference's; efficiency is the reference's time over the "
    "point's."
)
MOST_INVALID = 50
MACHINE_KEYS = {
    "host": "Host",
    "hostname": "Host",
    "node_type": "Node type",
    "cpu": "CPU",
    "cores": "Cores used",
    "memory_GB": "Memory (GB)",
    "kernel": "Kernel",
    "os": "Operating system",
    "tcp_congestion_control": "TCP congestion control",
    "governor": "Frequency governor",
    "adapters": "Network adapters",
    "ucx": "UCX",
    "slurm": "Slurm (last run)",
    "mpi": "MPI library",
    "transports": "Transports that it chose",
}


POINT = ["site", "case", "interconnect", "kind", "oversubscription", "processes", "threads"]


def method_paragraphs(content: Content) -> list[str]:
    """Say how the blocks were run, what was estimated, how it was tested and what the words mean."""
    runs, study, scaling = content.runs, content.facts.study, content.tables["scaling"]
    here, replayed = _run_here(content), runs["kind"] == "simulated"
    own = here & ~replayed
    said = []
    if own.any():
        said.append(_blocks_run(runs[own], study))
    if study.until:
        said.append(_stopping(study.until, study.blocks))
    if not here.all():
        kinds = listed(dict.fromkeys(runs.loc[~here, "kind"]))
        text = f"Imported results ({kinds}) were not run by this study: they are taken as they are, with "
        said.append(
            f"{text}the blocks that their files tell.{'' if own.any() else _seed('bootstrap', study)}"
        )
    if not (scaling["kind"] == "simulated").all():
        said.append(_intervals(scaling, content.labels))
    said.append(_tests(content))
    said.append(" ".join(_words(content.tables, content.labels)))
    return said


def _run_here(content: Content) -> pd.Series:
    """Whether this study ran or replayed a repetition itself; without origins, whether it has a record."""
    runs = content.runs
    return runs["origin"].isin(("run", "replay")) if "origin" in runs else runs["record"].notna()


def _words(tables: Mapping[str, pd.DataFrame], labels: Labels) -> list[str]:
    """Define the words that the study's tables need."""
    scaling = tables["scaling"]
    said = [WEAK_WORDS if labels.weak else STRONG_WORDS]
    if scaling["oversubscription"].nunique() > 1:
        said.append("All oversubscription levels have the same reference.")
    if len(tables["improvement"]):
        said.append("Improvement is the baseline's time over the interconnect's, less 1.")
    if scaling["speedup_low"].notna().any():
        said.append("Counts that cannot be told apart from the peak are in tables/peaks.csv.")
    return said


def _seed(of: str, study: AboutStudy) -> str:
    return "" if study.seed is None else f" The seed of the {of} is {study.seed}."


def _blocks_run(own: pd.DataFrame, study: AboutStudy) -> str:
    valid = own[own["valid"]].groupby([*POINT, "nodes"], dropna=False).size()
    least, most = (int(end) for end in (valid.min(), valid.max()))
    return (
        "A block is one repetition of every interconnect at one case, count and oversubscription level, back "
        f"to back in random order; every point has {'' if least == most else f'{formats.whole(least)} to '}"
        f"{counted(most, 'valid block')}{', spread over the time of the study' if most > 1 else ''}."
        f"{_seed('order and of the bootstrap', study)}"
    )


def _stopping(until: AboutTarget, blocks: int) -> str:
    """State the rule by which blocks were added, why none is added, and what that does to intervals."""
    width = until.half_width_percent
    widest = "one is still missing" if width is None else f"the widest is ±{formats.percent(width)}"
    end = f"It ended after {counted(blocks, 'block')}, since {until.reason}"
    if until.reason is None:
        end = f"It has not ended after {counted(blocks, 'block')}"
    return (
        f"After {counted(until.least_blocks, 'block')}, the study went on block by block until the "
        "interval of every improvement (of every time, in a case where nothing is compared) was no wider "
        f"than ±{formats.percent(until.interval_percent)}, for at most {until.max_blocks} blocks and "
        f"{formats.number(until.limit_core_hours)} core hours. {end}; {widest}. {AT_TARGET}"
    )


def _intervals(scaling: pd.DataFrame, labels: Labels) -> str:
    known = scaling.dropna(subset=["coverage", "n"]).drop_duplicates("n").sort_values("n")
    if known.empty:
        return "Each time is that of one sample, so that it has no interval."
    shares = listed(
        f"{formats.percent(100 * row.coverage, places=1)} at n{formats.THIN}={formats.THIN}{row.n}"
        for row in known.itertuples()
    )
    text = (
        "Times are medians over blocks, outliers included. The interval of a time is that of the order "
        f"statistics of its blocks and covers {shares}. "
    )
    blocks = known.loc[known["n"] >= FEWEST, "n"]
    if blocks.empty:
        takes = counted(FEWEST, "block")
        return f"{text}Speedups, and all that follows from them, have none: that takes {takes}."
    return (
        f"{text}Intervals of what follows from several times are percentile intervals of a bootstrap over "
        f"sweeps (a block of all counts is drawn as one), at a nominal {labels.confidence}. "
        f"{coverage_sentence(int(blocks.min()))}"
    )


def _tests(content: Content) -> str:
    tables = content.tables
    improvement = tables["improvement"]
    if content.facts.study.unfinished:
        return "Nothing is tested before the last block."
    if improvement["p_adjusted"].isna().all():
        return "Nothing is tested: that takes two blocks of both sides at least."
    tested = improvement[improvement["p_adjusted"].notna()]
    tests = [
        "the exact signed-rank test of paired log ratios" if tested["paired"].any() else "",
        "a studentised permutation test of unpaired blocks" if not tested["paired"].all() else "",
    ]
    text = f"Improvements are tested with {listed(filter(None, tests))}, two-sided"
    if tables["oversubscription"]["p_adjusted"].notna().any():
        text += "; oversubscription levels, which share no block, with the permutation test"
    return (
        f"{text}. The estimate and the interval of a comparison follow from its test; a process count that "
        "was chosen from the data is chosen anew wherever the test permutes them. Within each table p-values "
        "are Holm-corrected. Faster or slower is said where p is at most "
        f"{formats.exact(content.facts.all_settings().alpha)} and the interval agrees."
    )


def invalid_blocks(content: Content) -> list[Block]:
    """List invalid repetitions, what was left out, and points with fewer blocks than planned."""
    blocks: list[Block] = []
    runs, labels = content.runs, content.labels
    bad = runs[~runs["valid"]]
    if bad.empty and len(runs):
        blocks.append(paragraph("Every repetition that was recorded is valid."))
    if len(bad):
        of_all = f"{counted(len(bad), 'repetition')} of {formats.whole(len(runs))}"
        verbs = "is invalid and enters" if len(bad) == 1 else "are invalid and enter"
        stopped = int(bad["censored"].sum()) if "censored" in bad else 0
        but = (
            f", except that {formats.whole(stopped)} stopped at a time limit counts as longer than that"
            if stopped
            else ""
        )
        blocks.append(paragraph(f"{of_all} {verbs} no estimate{but}."))
        blocks.append(_invalid_table(bad, labels))
    blocks += _beyond(content) + _missing(content)
    if left_out := content.facts.left_out:
        blocks.append(bullets([f"{item.what}: {item.reason}." for item in left_out], "Left out"))
    return blocks


def _beyond(content: Content) -> list[Block]:
    """List points whose median is not known, since it lies beyond the limit of runs that were stopped."""
    points, labels = content.tables.get("censored"), content.labels
    if points is None or not (unknown := points[points["seconds"].isna()].to_dict("records")):
        return []
    items = [
        f"{labels.case(row['case'])}, {labels.interconnect(row['interconnect'], row['kind'])}, "
        f"{counted(row['processes'], 'process')}, oversubscription {row['oversubscription']}: "
        f"{formats.whole(row['censored'])} of {counted(row['n'], 'block')} stopped"
        for row in unknown
    ]
    return [bullets(items, "Points whose median time lies beyond a time limit, so that it is not known")]


def _invalid_table(bad: pd.DataFrame, labels: Labels) -> Block:
    counts = ("processes", "oversubscription", "block", "attempt")
    fields = [
        texts("Case", labels.case, "case"),
        texts("Interconnect", labels.interconnect, "interconnect", "kind"),
        *(numbers(name.capitalize(), formats.whole, name) for name in counts),
        texts("Reason", lambda reason: formats.MISSING if is_missing(reason) else reason, "reason"),
    ]
    caption = "Invalid repetitions."
    if len(bad) > MOST_INVALID:
        caption += f" The first {MOST_INVALID}; the other {len(bad) - MOST_INVALID} are in runs.csv."
    return line_table(caption, fields, bad.head(MOST_INVALID).to_dict("records"))


def _missing(content: Content) -> list[Block]:
    """Say what of the plan has no record, and which points have fewer valid blocks than the study plans."""
    blocks: list[Block] = []
    facts, labels = content.facts, content.labels
    planned, recorded = facts.runs.planned, facts.runs.recorded
    if planned is not None and recorded is not None and recorded < planned:
        missing = counted(planned - recorded, "repetition")
        blocks.append(paragraph(f"{missing} of {formats.whole(planned)} planned were not run."))
    wanted = facts.study.blocks
    if wanted is None:
        return blocks
    scaling = content.tables["scaling"]
    shared = {name: scaling[name].mask(scaling["serial"]) for name in ("interconnect", "processes_per_node")}
    own = content.runs.loc[_run_here(content), POINT].drop_duplicates()
    here = scaling.assign(**shared).merge(own, on=POINT)
    point, short = [*POINT, "processes_per_node"], here[here["n"] < wanted]
    items = [
        f"{labels.case(line['case'])}, {labels.curve(line)}, "
        f"{counted(line['processes'], 'process')}, oversubscription {line['oversubscription']}: "
        f"{formats.whole(line['n'])}"
        for line in short.drop_duplicates(point).to_dict("records")
    ]
    if items:
        title = f"Points with fewer valid blocks than the {formats.whole(wanted)} of the study"
        blocks.append(bullets(items, title))
    return blocks


def machine_items(machine: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a machine and of its applications' versions, by the names that a table has for them."""
    known = {MACHINE_KEYS.get(key, key): value for key, value in machine.items() if key != "applications"}
    versions = machine.get("applications") or {}
    return known | {f"Application {name}": version for name, version in versions.items()}


def machine_blocks(content: Content) -> list[Block]:
    """Tabulate machine and versions, and say where all numbers are."""
    facts = content.facts
    known = machine_items(facts.machine)
    known |= {"Study file": facts.study.file, "Made": facts.made, "Nodeworth": facts.version}
    rows = [row([key, value]) for key, value in known.items() if not is_missing(value)]
    made_by = listed(sorted(content.runs["application"].dropna().unique()))
    files = ["all repetitions are in runs.csv", "all estimates in tables/"]
    files += ["the published figures in published/"] if content.published else []
    where = f"Beside this report, {listed(files)}"
    said = paragraph(f"{where} (applications: {made_by})." if made_by else f"{where}.")
    columns = left("Item", "Value")
    return [said, *([table("Machine and versions.", columns, {"": rows})] if rows else [])]


def method(content: Content) -> Section | None:
    """How times were taken and what was made of them."""
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
    for case, of_case in labels.by_case(scaling):
        for (site, name, count, seconds), points in of_case.groupby(keys, dropna=False, sort=False):
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
    return table("What speedup refers to.", columns, {"": rows})


def left_out(content: Content) -> Section | None:
    """What is invalid, missing or was left out, and why."""
    return section("invalid", "What does not count, and why", invalid_blocks(content))


def machine(content: Content) -> Section | None:
    """The machine, the versions and where the data are."""
    return section("machine", "Machine and versions", machine_blocks(content))


METHOD = Topic(name="method", section=method, in_appendix=True, on_screen={"table"})
LEFT_OUT = Topic(name="left_out", section=left_out, in_appendix=True, needs_runs=False)
MACHINE = Topic(name="machine", section=machine, in_appendix=True, needs_runs=False)
