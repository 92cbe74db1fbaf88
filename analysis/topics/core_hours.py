"""Where did the core hours go?"""

from __future__ import annotations

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Section, left, paragraph, right, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.formats import listed
from analysis.runs.columns import COUNT, NUMBER, TEXT, described, table_schema, table_schemas, validated
from analysis.runs.frames import as_lines
from analysis.runs.runs import INTERRUPTED, LOSS, OUTDATED
from analysis.topics.topic import Topic

COUNTED, UNUSED, WAITED, PREPARED = "counted", "unused", "waited", "prepared"
MEANING = {
    COUNTED: "runs that the results use",
    UNUSED: "cores of a job that the active run left idle",
    WAITED: "waiting for an idle machine, and time of jobs before, between and after runs",
    PREPARED: "jobs without runs: meshes, decompositions, answers, traces; or ended before a run",
    "failed": "runs that failed",
    "stopped": "runs stopped at their time limit",
    INTERRUPTED: "runs that ended with their job",
    "noise": "runs that something else disturbed",
    "invalid": "runs with a wrong answer or place, or over another link than their label says",
    OUTDATED: "runs after which the case, the interconnect or the site file changed",
}
"""Meaning of each use of core hours, in the order of the table."""

CORE_HOURS = table_schemas(
    table_schema(
        "core_hours",
        "One row per reason, with the core hours of the study's runs and, if accounting is "
        "available, of its jobs.",
        reason=described(
            TEXT,
            "`counted` runs; cores of a job left `unused` by its current run; time `waited` for an "
            "idle machine or, by accounting, between runs; jobs without runs, which `prepared`; runs "
            "that `failed`, were `stopped` at their time limit, were `interrupted` by the end of "
            "their job, were disturbed by others (`noise`), are `invalid` for other reasons, or are "
            "`outdated`.",
        ),
        runs=described(COUNT, "Number of runs."),
        core_hours=described(
            NUMBER, "Core hours from launch to end of a run; by accounting, all core hours of jobs."
        ),
        share_percent=described(NUMBER, "Share of the total."),
        source=described(TEXT, "`accounting` if Slurm's accounting answered, else `records`."),
    ),
    table_schema(
        "job_states",
        "One row per state of the study's jobs in Slurm's accounting. The table is empty without accounting.",
        state=described(TEXT, "State of the job; a requeued job has one state for each start."),
        jobs=described(COUNT, "Number of jobs."),
        core_hours=described(NUMBER, "Allocated core hours."),
        energy_joules=described(NUMBER, "Energy of their nodes; empty if Slurm counts none."),
    ),
)


def make_core_hours(runs: pd.DataFrame, jobs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Make the tables ``core_hours`` and ``job_states``.

    A run occupies its cores from launch to end. Accounting adds the rest of each job: cores that a run left
    unused, and time between runs. The time between runs counts as waiting, or as interrupted if a run ended
    with the job. Jobs without runs count as preparation.

    Parameters
    ----------
    jobs : DataFrame
        Side table ``jobs``; has no rows if there is no accounting.

    Returns
    -------
    dict of DataFrame
        Empty for a study without runs on this machine. ``job_states`` needs accounting.
    """
    if LOSS not in runs or "origin" not in runs:
        return {}
    runs = runs[runs["origin"] == "run"]
    if runs.empty:
        return {}
    reason = runs[LOSS].fillna(COUNTED)
    wall, cores = runs["wall_seconds"].fillna(0.0), runs["cores"].astype(float)
    core_seconds = (cores * wall).groupby(reason).sum().reindex(list(MEANING), fill_value=0.0)
    jobs = jobs.assign(core_seconds=jobs["cores"].astype(float) * jobs["seconds"])
    if len(jobs):
        cores_of_job = jobs.groupby("job")["cores"].max().astype(float)
        allocated = runs["job"].map(cores_of_job).fillna(cores)
        core_seconds[UNUSED] = ((allocated - cores) * wall).clip(lower=0).sum()
        during_runs = (allocated * wall).groupby(runs["job"]).sum()
        of_job = jobs.groupby("job")["core_seconds"].sum()
        between_runs = of_job.sub(during_runs, fill_value=0.0).clip(lower=0)
        is_interrupted = between_runs.index.isin(runs.loc[reason == INTERRUPTED, "job"])
        has_runs = between_runs.index.isin(runs["job"])
        core_seconds[INTERRUPTED] += between_runs[is_interrupted].sum()
        core_seconds[WAITED] = between_runs[has_runs & ~is_interrupted].sum()
        core_seconds[PREPARED] = between_runs[~has_runs].sum()
    else:
        core_seconds[WAITED] = (cores * runs["idle_wait_seconds"].fillna(0.0)).sum()
    columns = {"core_hours": core_seconds / 3600, "runs": reason.value_counts()}
    hours = pd.DataFrame(columns, index=list(MEANING))
    hours["share_percent"] = 100 * core_seconds / core_seconds.sum()
    hours = hours[(hours["core_hours"] > 0) | hours["runs"].notna()]
    hours = hours.rename_axis("reason").reset_index().assign(source="accounting" if len(jobs) else "records")
    tables = {"core_hours": hours}
    if len(jobs):
        by_state = jobs.groupby("state")
        states = by_state.agg(jobs=("job", "nunique"), core_hours=("core_seconds", "sum")).reset_index()
        energy = by_state["energy_joules"].sum(min_count=1).to_numpy()
        tables["job_states"] = states.assign(core_hours=states["core_hours"] / 3600, energy_joules=energy)
    return {name: validated(CORE_HOURS[name], table) for name, table in tables.items()}


def core_hours_section(content: Content) -> Section | None:
    """Report the core hours of the study by reason: runs that count, losses, waiting and preparation."""
    if "core_hours" not in content.tables:
        return None
    hours = content.tables["core_hours"]
    total = float(hours["core_hours"].sum())
    counted = float(hours.loc[hours["reason"] == COUNTED, "core_hours"].sum())
    summary = (
        f"The study took {formats.number(total)} core hours. The runs that the results use took "
        f"{formats.number(counted)} core hours"
    )
    waited = float(hours.loc[hours["reason"] == WAITED, "core_hours"].sum())
    if waited > 0:
        outside = " and the time of jobs outside runs" if "job_states" in content.tables else ""
        summary += f". Waiting for an idle machine{outside} took {formats.number(waited)} core hours"
    if "job_states" in content.tables:
        states = content.tables["job_states"]
        jobs = listed(f"{line['jobs']} {line['state']}" for line in as_lines(states))
        joules = states["energy_joules"].sum(min_count=1)
        energy = "" if pd.isna(joules) else f" The jobs took {formats.number(joules / 3.6e6)} kWh."
        summary += f". The core hours are from Slurm's accounting of the study's jobs: {jobs}.{energy}"
    else:
        limit = (
            ". These records do not include the time of jobs outside runs" if "job" in content.runs else ""
        )
        summary += f". The core hours are from the records of the runs{limit}."
    rows = [
        row(
            [
                line["reason"],
                MEANING[line["reason"]],
                formats.whole(line["runs"]),
                formats.number(line["core_hours"]),
                formats.percent(line["share_percent"]),
            ]
        )
        for line in as_lines(hours)
    ]
    columns = [*left("Use", "Meaning"), *right("Runs", "Core hours", "Share")]
    printed = table("Core hours of the study, by use.", columns, {"": rows})
    return section("core_hours", "Cost of the study", [paragraph(summary), printed])


TOPIC = Topic(
    name="core_hours",
    schemas=CORE_HOURS,
    make=lambda context: make_core_hours(context.runs, context.side_tables["jobs"]),
    section=core_hours_section,
    in_appendix=True,
    needs_runs=False,
    on_screen={"table"},
)
