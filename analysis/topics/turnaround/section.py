"""One job sooner, or more jobs a day: which process count to advise to whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, left, paragraph, right, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING, listed
from analysis.presentation.labels import Labels
from analysis.presentation.sentences import processes
from analysis.runs.frames import Line, is_missing
from analysis.statistics.best import FEWEST
from analysis.topics.turnaround.ways import NOTED, per_node, with_notes

GOAL_TITLES = {
    "one user": "One user, who wants a job done soonest",
    "queue": "A queue, for the most jobs a day at an efficiency of {efficiency} or more",
    "shared machine": "A shared machine, for the least time at that efficiency",
}
"""For whom, as a sentence begins; any other goal is a number of jobs."""
IN_DETAIL = 5
"""Interconnects up to which sentences say what an advice brings over each; the table says it of all."""
ALONE = ("one user", "shared machine")
"""Goals about the time of one job."""


def turnaround(content: Content) -> Section | None:
    """Advise process counts; none where throughput was not asked for."""
    advice = content.tables.get("advice")
    if advice is None or advice.empty:
        return None
    labels = content.labels
    efficiency = content.facts.queue.efficiency
    blocks: list[Block] = []
    for case, rows in labels.by_case(advice):
        blocks.append(bullets(_advice_sentences(rows, efficiency, labels), labels.case(case), case))
    blocks += content.figures("turnaround")
    blocks.append(_advice_table(advice, labels))
    ways = content.tables["packing"]
    few = ways.loc[ways["kind"] != "simulated", "may_be_least_time"].isna().any()
    blocks.append(
        paragraph(
            "Jobs that run at once are taken not to slow each other. All ways to run are in "
            "tables/packing.csv; what cannot be told apart from an advice is in tables/advice.csv"
            + (f"; below {FEWEST} blocks that is not known." if few else ".")
        )
    )
    heading = "One job sooner, or more jobs a day"
    return section("turnaround", heading, blocks)


def _advice_sentences(advice: pd.DataFrame, efficiency: float, labels: Labels) -> list[str]:
    """Say how to run a case for each goal; interconnects of the same advice share a clause."""
    said = []
    several = advice["kind"].nunique() > 1
    for (goal, kind), rows in advice.groupby(["goal", "kind"], sort=False):
        start = GOAL_TITLES.get(goal, "{goal}, done soonest").format(
            goal=goal, efficiency=formats.percent(100 * efficiency, places=0)
        )
        ways: dict[str, dict[str, list[str]]] = {}
        for line in labels.lines(rows, "interconnect"):
            brings = _brings(line) if len(rows) <= IN_DETAIL else ""
            names = ways.setdefault(_way(line), {}).setdefault(brings, [])
            names.append(labels.interconnect(line["interconnect"], kind))
        of_kind = f" ({kind})" * several
        clauses = [
            f"{way}{',' * (',' in way)} over {_listed(names, len(rows))}" for way, names in ways.items()
        ]
        said.append(f"{start}{of_kind}: {'; '.join(clauses)}.")
    return said


def _listed(names: Mapping[str, Sequence[str]], every: int) -> str:
    """List interconnects by what an advice brings over them; `every` is how many there are in all."""
    return listed(
        f"{'every interconnect' if 1 < len(alike) == every else listed(alike)}{brings}"
        for brings, alike in names.items()
    )


def _way(line: Line) -> str:
    """What to do: a process count for one job, a way to run many."""
    if line["goal"] not in ALONE or is_missing(line["processes"]):
        return line["advice"]
    level = f" at oversubscription {line['oversubscription']}" if line["oversubscription"] > 1 else ""
    each = f" of {line['threads']} threads" if line["threads"] > 1 else ""
    return ", ".join([f"{processes(line['processes'])}{each}{level}", *per_node(line["processes_per_node"])])


def _brings(line: Line) -> str:
    """What an advice brings, and what cannot be told apart from it."""
    notes = []
    if line["goal"] == "queue" and not is_missing(line["jobs_per_day"]):
        notes.append(f"{formats.number(line['jobs_per_day'])} jobs a day")
    elif line["goal"] in ALONE and not is_missing(line["time_per_job_seconds"]):
        notes.append(f"{formats.seconds(line['time_per_job_seconds'])} per job")
    elif line["goal"] not in GOAL_TITLES:
        notes.append(formats.seconds(line["makespan_seconds"]))
    if not is_missing(line["not_told_apart"]):
        notes.append(f"not told apart from {line['not_told_apart']}")
    return f" ({', '.join(notes)})" if notes else ""


def _advice_table(advice: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate counts and rates, a row an interconnect of a case."""
    jobs = next(goal for goal in advice["goal"] if goal not in GOAL_TITLES)
    caption = (
        f"Processes to use, with the time per job (one user, shared machine), the jobs a day (queue) and the "
        f"time for {jobs}."
    )
    groups: dict[str, list] = {}
    keys = ["case", "interconnect", "kind", "available_cores"]
    found = {key: of_way.set_index("goal") for key, of_way in advice.groupby(keys, sort=False)}
    for case, rows in labels.by_case(advice.drop_duplicates(keys)):
        for line in labels.lines(rows, "interconnect"):
            goals = found[tuple(line[key] for key in keys)]
            cells = [
                labels.interconnect(line["interconnect"], line["kind"]),
                formats.whole(line["available_cores"]),
                _cell(goals.loc["one user"], "time_per_job_seconds", f"{formats.THIN}s"),
                _cell(goals.loc["queue"], "jobs_per_day", " a day"),
                _cell(goals.loc["shared machine"], "time_per_job_seconds", f"{formats.THIN}s"),
                formats.seconds(goals.loc[jobs, "makespan_seconds"]),
            ]
            groups.setdefault(labels.case(case), []).append(row(cells, case, line["interconnect"]))
    columns = [*left("Interconnect"), *right("Cores", "One user", "Queue", "Shared machine", jobs)]
    return table(caption, columns, groups)


def _cell(goal: pd.Series, what: str, unit: str) -> str:
    if is_missing(goal["processes"]):
        return MISSING
    count = with_notes(*goal[NOTED])
    return f"{count}: {formats.number(goal[what])}{unit}"
