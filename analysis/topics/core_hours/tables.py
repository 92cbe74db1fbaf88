"""What a study took in core hours: in runs that count, and lost to what."""

from __future__ import annotations

import pandas as pd

from analysis.runs.columns import COUNT, NUMBER, TEXT, table_schemas, validated

LOSS = "loss"
"""Column of a runs table: what a run that does not count was lost to; empty for one that counts."""
COUNTED, UNUSED, WAITED, PREPARED, INTERRUPTED = "counted", "unused", "waited", "prepared", "interrupted"
REASONS = (COUNTED, UNUSED, WAITED, PREPARED, "failed", "stopped", INTERRUPTED, "noise", "invalid")
"""What core hours went to, in the order of the table."""
CORE_HOURS = table_schemas(
    core_hours=dict(reason=TEXT, runs=COUNT, core_hours=NUMBER, share_percent=NUMBER, source=TEXT),
    job_states=dict(state=TEXT, jobs=COUNT, core_hours=NUMBER, energy_joules=NUMBER),
)
"""Schemas of the tables of this module by their names."""


def make_core_hours(runs: pd.DataFrame, jobs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Make the tables ``core_hours`` and ``job_states``.

    A run takes its cores from launch to end. What accounting says of a job beside that was either allocated
    and unused while a run was under way, or between runs: waited, unless a run ended with the job. A job
    without runs prepared something.

    Parameters
    ----------
    jobs : DataFrame
        The side table of that name; without rows where there is no accounting.

    Returns
    -------
    dict of DataFrame
        Nothing for a study that ran nothing itself; ``job_states`` only where there is accounting.
    """
    if LOSS not in runs or "origin" not in runs:
        return {}
    own = runs[runs["origin"] == "run"]
    if own.empty:
        return {}
    reason = own[LOSS].fillna(COUNTED)
    wall, cores = own["wall_seconds"].fillna(0.0), own["cores"].astype(float)
    seconds = (cores * wall).groupby(reason).sum().reindex(REASONS, fill_value=0.0)
    taken = jobs.assign(core_seconds=jobs["cores"].astype(float) * jobs["seconds"])
    if len(jobs):
        allocated = own["job"].map(jobs.groupby("job")["cores"].max().astype(float)).fillna(cores)
        seconds[UNUSED] = ((allocated - cores) * wall).clip(lower=0).sum()
        under_way = (allocated * wall).groupby(own["job"]).sum()
        beside = taken.groupby("job")["core_seconds"].sum().sub(under_way, fill_value=0.0).clip(lower=0)
        ended = beside.index.isin(own.loc[reason == INTERRUPTED, "job"])
        seconds[INTERRUPTED] += beside[ended].sum()
        measured = beside.index.isin(own["job"])
        seconds[WAITED], seconds[PREPARED] = beside[measured & ~ended].sum(), beside[~measured].sum()
    else:
        seconds[WAITED] = (cores * own["idle_wait_seconds"].fillna(0.0)).sum()
    table = pd.DataFrame({"core_hours": seconds / 3600, "runs": reason.value_counts()}, index=REASONS)
    table["share_percent"] = 100 * seconds / seconds.sum()
    table = table[(table["core_hours"] > 0) | table["runs"].notna()]
    table = table.rename_axis("reason").reset_index().assign(source="accounting" if len(jobs) else "records")
    found = {"core_hours": table}
    if len(jobs):
        by_state = taken.groupby("state")
        states = by_state.agg(jobs=("job", "nunique"), core_hours=("core_seconds", "sum")).reset_index()
        energy = by_state["energy_joules"].sum(min_count=1).to_numpy()
        found["job_states"] = states.assign(core_hours=states["core_hours"] / 3600, energy_joules=energy)
    return {name: validated(CORE_HOURS[name], made) for name, made in found.items()}
