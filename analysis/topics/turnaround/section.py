"""The section on turnaround and throughput: the advised process count for each goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, left, paragraph, right, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING, listed
from analysis.presentation.labels import Labels
from analysis.presentation.sentences import processes
from analysis.runs.frames import Line, as_float, is_missing
from analysis.runs.settings import NODES
from analysis.statistics.best import FEWEST
from analysis.topics.turnaround.advice import NOTED, per_node, with_notes
from analysis.topics.turnaround.packing import Queue

GOALS = (
    "The best count depends on the goal. If a single user has the machine, the goal is the shortest time "
    "per job. In a queue, the goal is the most jobs per day at an efficiency of {efficiency} or more. On a "
    "shared machine, the goal is the shortest time per job at this efficiency. In a batch of {jobs}, the "
    "goal is that the last job ends as early as possible."
)
GOAL_TITLES = {"one user": "One user", "queue": "Queue", "shared machine": "Shared machine"}
"""Titles of goals. The goal that is not listed is a number of jobs."""
MOST_IN_SENTENCES = 5
"""Largest number of interconnects for which there are sentences; the table always has them."""
ALONE = ("one user", "shared machine")
"""Goals about the time of a single job."""


def turnaround(content: Content) -> Section | None:
    """Write the section that advises process counts, or names the cases without advice; else None."""
    advice, labels = content.tables.get("advice"), content.labels
    blocks = [] if advice is None or advice.empty else _advice_blocks(content, advice)
    if not labels.weak:
        blocks += _left_out(content.tables["scaling"], labels)
    heading = "One job sooner, or more jobs per day"
    return section("turnaround", heading, blocks)


def _left_out(scaling: pd.DataFrame, labels: Labels) -> list[Block]:
    """Name the cases by nodes, which have no advice."""
    cases = list(dict.fromkeys(scaling.loc[scaling["unit"] == NODES, "case"]))
    if not cases:
        return []
    verb, its = ("is", "its") if len(cases) == 1 else ("are", "their")
    names = listed(map(labels.case, cases))
    return [
        paragraph(
            f"{names} {verb} left out, because {its} runs are compared by nodes and this section counts "
            f"cores. The efficiency of {its} nodes is in tables/scaling.csv."
        )
    ]


def _advice_blocks(content: Content, advice: pd.DataFrame) -> list[Block]:
    """Advise process counts in sentences, a figure and a table."""
    labels = content.labels
    efficiency = content.facts.study_section("queue", Queue).efficiency
    goals = GOALS.format(efficiency=formats.percent(100 * efficiency, places=0), jobs=_number_of_jobs(advice))
    blocks: list[Block] = [paragraph(goals)]
    for case, rows in labels.by_case(advice):
        if sentences := _advice_sentences(rows, labels):
            blocks.append(bullets(sentences, labels.case(case), case))
    blocks += content.figures("turnaround")
    blocks.append(_advice_table(advice, labels))
    packing = content.tables["packing"]
    some_unknown = packing.loc[packing["kind"] != "simulated", "may_be_least_time"].isna().any()
    blocks.append(
        paragraph(
            "Nodeworth assumes that concurrent jobs do not slow each other down. All ways to run a case are "
            "in tables/packing.csv. The recommended way for each goal, and the ways that may be as good, are "
            "in tables/advice.csv."
            + (f" Ways that may be as good are unknown below {FEWEST} blocks." if some_unknown else "")
        )
    )
    return blocks


def _number_of_jobs(advice: pd.DataFrame) -> str:
    """Return the goal that is a number of jobs."""
    return str(next(goal for goal in advice["goal"] if goal not in GOAL_TITLES))


def _advice_sentences(advice: pd.DataFrame, labels: Labels) -> list[str]:
    """Recommend how to run a case for each goal; interconnects with the same advice share a clause.

    There is no sentence about more than `MOST_IN_SENTENCES` interconnects.
    """
    sentences = []
    several_kinds = advice["kind"].nunique() > 1
    for (goal, kind), rows in advice.groupby(["goal", "kind"], sort=False):
        if len(rows) > MOST_IN_SENTENCES:
            continue
        start = GOAL_TITLES.get(str(goal), goal)
        ways: dict[str, dict[str, list[str]]] = {}
        for line in labels.lines(rows, "interconnect"):
            names = ways.setdefault(_way(line), {}).setdefault(_outcome(line), [])
            names.append(labels.interconnect(line["interconnect"], str(kind)))
        suffix = f" ({kind})" if several_kinds else ""
        clauses = [
            f"{way}{',' if ',' in way else ''} over {_interconnects(names, len(rows))}"
            for way, names in ways.items()
        ]
        sentences.append(f"{start}{suffix}: {'; '.join(clauses)}.")
    return sentences


def _interconnects(names_by_outcome: Mapping[str, Sequence[str]], total: int) -> str:
    """List interconnects, grouped by the outcome of an advice; `total` is the number of all interconnects."""
    clauses = []
    for outcome, names in names_by_outcome.items():
        is_every = 1 < len(names) == total
        clauses.append(f"{'every interconnect' if is_every else listed(names)}{outcome}")
    return listed(clauses)


def _way(line: Line) -> str:
    """Describe the advised way: a process count for a single job, or the text of the advice for many jobs."""
    if line["goal"] not in ALONE or is_missing(line["processes"]):
        return line["advice"]
    level = f" at oversubscription {line['oversubscription']}" if line["oversubscription"] > 1 else ""
    each = f" of {line['threads']} threads" if line["threads"] > 1 else ""
    return ", ".join([f"{processes(line['processes'])}{each}{level}", *per_node(line["processes_per_node"])])


def _outcome(line: Line) -> str:
    """Write, in brackets, the rate or time of an advice, and the ways that may be as good."""
    notes = []
    if line["goal"] == "queue" and not is_missing(line["jobs_per_day"]):
        notes.append(f"{formats.number(line['jobs_per_day'])} jobs per day")
    elif line["goal"] in ALONE and not is_missing(line["time_per_job_seconds"]):
        notes.append(f"{formats.seconds(line['time_per_job_seconds'])} per job")
    elif line["goal"] not in GOAL_TITLES:
        notes.append(formats.seconds(line["makespan_seconds"]))
    if not is_missing(line["not_told_apart"]):
        notes.append(f"processes that may be as good: {line['not_told_apart']}")
    return f" ({'; '.join(notes)})" if notes else ""


def _advice_table(advice: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate the advised counts with their times and rates, one row per interconnect of a case."""
    jobs = _number_of_jobs(advice)
    caption = (
        "Each cell states the processes to use, then the time per job (one user, shared machine) or the jobs "
        f"per day (queue). The last column is the time for {jobs}. The second column is the number of cores "
        "for all jobs together."
    )
    groups: dict[str, list] = {}
    keys = ["case", "interconnect", "kind", "available_cores"]
    rows_by_goal = {key: rows.set_index("goal") for key, rows in advice.groupby(keys, sort=False)}
    for case, rows in labels.by_case(advice.drop_duplicates(keys)):
        for line in labels.lines(rows, "interconnect"):
            goals = rows_by_goal[tuple(line[key] for key in keys)]
            cells = [
                labels.interconnect(line["interconnect"], line["kind"]),
                formats.whole(line["available_cores"]),
                _cell(goals.loc["one user"].to_dict(), "time_per_job_seconds", f"{formats.THIN}s"),
                _cell(goals.loc["queue"].to_dict(), "jobs_per_day", " per day"),
                _cell(goals.loc["shared machine"].to_dict(), "time_per_job_seconds", f"{formats.THIN}s"),
                formats.seconds(as_float(goals.loc[jobs, "makespan_seconds"])),
            ]
            groups.setdefault(labels.case(case), []).append(row(cells, case, line["interconnect"]))
    columns = [*left(labels.interconnect_head), *right("Cores", "One user", "Queue", "Shared machine", jobs)]
    return table(caption, columns, groups)


def _cell(goal: Line, column: str, unit: str) -> str:
    if is_missing(goal["processes"]):
        return MISSING
    count = with_notes(*(goal[name] for name in NOTED))
    return f"{count}: {formats.number(goal[column])}{unit}"
