"""The section on turnaround and throughput: the advised process count for each goal."""

from __future__ import annotations

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
    "The best number of processes depends on the goal. Goal “One user” is the shortest time per job. Goal "
    "“Queue” is the most jobs per day at an efficiency of {efficiency} or more. Goal “Shared machine” is the "
    "shortest time per job at an efficiency of {efficiency} or more. Goal “{jobs}” is the shortest time "
    "until all jobs are finished."
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
    these = "this case" if len(cases) == 1 else "these cases"
    return [
        paragraph(
            f"This section has no results for {listed(map(labels.case, cases))}, because Nodeworth compares "
            f"{these} at equal numbers of nodes instead of cores."
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
            "Nodeworth assumes that concurrent jobs do not slow each other down. File tables/packing.csv has "
            "all combinations of process counts and concurrent jobs. File tables/advice.csv has the "
            "recommended combination for each goal."
            + (
                f" If a curve has at least {FEWEST} blocks, this file also has the combinations that may be "
                "as good as the recommended combination."
                if some_unknown
                else ""
            )
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
        names_of_advice: dict[tuple[str, str, str], list[str]] = {}
        for line in labels.lines(rows, "interconnect"):
            as_good = "" if is_missing(line["as_good"]) else line["as_good"]
            name = labels.interconnect(line["interconnect"], str(kind))
            names_of_advice.setdefault((_way(line), _result(line), as_good), []).append(name)
        subject = GOAL_TITLES.get(str(goal), str(goal)) + (f", {kind} runs" if several_kinds else "")
        clauses = []
        for (way, result, as_good), names in names_of_advice.items():
            who = "every interconnect" if 1 < len(names) == len(rows) else listed(names)
            verb = "complete" if goal == "queue" else "take"
            verb += "s" if len(names) in (1, len(rows)) else ""
            how = f"with {way}" if goal in GOAL_TITLES else f"for all jobs. Advice: {way}"
            clauses.append(f"{who} {verb} {result} {how}." if result else f"{way} over {who}.")
            merit = "give as many jobs per day" if goal == "queue" else "be as fast"
            others = "These process counts" if " and " in as_good else "This process count"
            clauses += [f"{others} may {merit}: {as_good}."] if as_good else []
        sentences.append(f"{subject}: {' '.join(clauses)}")
    return sentences


def _way(line: Line) -> str:
    """Describe the advised way: a process count for a single job, or the text of the advice for many jobs."""
    if line["goal"] not in ALONE or is_missing(line["processes"]):
        return line["advice"]
    level = f" at oversubscription {line['oversubscription']}" if line["oversubscription"] > 1 else ""
    each = f" of {line['threads']} threads" if line["threads"] > 1 else ""
    return ", ".join([f"{processes(line['processes'])}{each}{level}", *per_node(line["processes_per_node"])])


def _result(line: Line) -> str:
    """Write the rate or the time of an advice; empty if no way reaches the goal."""
    if line["goal"] == "queue":
        rate = line["jobs_per_day"]
        return "" if is_missing(rate) else f"{formats.number(rate)} jobs per day"
    if line["goal"] in ALONE:
        time = line["time_per_job_seconds"]
        return "" if is_missing(time) else f"{formats.seconds(time)} per job"
    return formats.seconds(line["makespan_seconds"])


def _advice_table(advice: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate the advised counts with their times and rates, one row per interconnect of a case."""
    jobs = _number_of_jobs(advice)
    caption = (
        "Column “Cores” shows how many cores all jobs together can use. Columns “One user” and “Shared "
        "machine” show the processes to use and the time per job. Column “Queue” shows the processes per job "
        f"and the jobs per day. Column “{jobs}” shows the time until all jobs are finished."
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
