"""What the study took, and how much of it was lost to what."""

from __future__ import annotations

from analysis.presentation import formats
from analysis.presentation.blocks import Section, left, paragraph, right, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.formats import listed
from analysis.topics.core_hours.tables import COUNTED

MEANING = {
    "counted": "runs that count",
    "unused": "cores of a job that the run under way left idle",
    "waited": "waiting for an idle machine, and in jobs before, between and after runs",
    "prepared": "jobs without runs: meshes, decompositions, answers, traces; or ended before a run",
    "failed": "runs that failed",
    "stopped": "runs stopped at their time limit",
    "interrupted": "runs that ended with their job",
    "noise": "runs that something else disturbed",
    "invalid": "runs with a wrong answer or place, over another link than their label says, or outdated",
}


def core_hours(content: Content) -> Section | None:
    """Core hours, used and lost, by reason."""
    if "core_hours" not in content.tables:
        return None
    taken = content.tables["core_hours"]
    whole = float(taken["core_hours"].sum())
    used = float(taken.loc[taken["reason"] == COUNTED, "core_hours"].sum())
    said = f"The study took {formats.number(whole)} core hours, {formats.number(used)} in runs that count"
    if "job_states" in content.tables:
        states = content.tables["job_states"]
        jobs = listed(f"{one.jobs} {one.state}" for one in states.itertuples())
        joules = states["energy_joules"].sum(min_count=1)
        energy = "" if joules != joules else f"; {formats.number(joules / 3.6e6)} kWh"
        said += f", by Slurm's accounting of its jobs ({jobs}{energy})."
    else:
        beside = (
            ", which tell of runs alone and not of what jobs held beside them"
            if "job" in content.runs
            else ""
        )
        said += f", by its records{beside}."
    rows = [
        row(
            [
                one["reason"],
                MEANING[one["reason"]],
                formats.whole(one["runs"]),
                formats.number(one["core_hours"]),
                formats.percent(one["share_percent"]),
            ]
        )
        for one in taken.to_dict("records")
    ]
    columns = [*left("Went to", "That is"), *right("Runs", "Core hours", "Share")]
    printed = table("What the core hours went to.", columns, {"": rows})
    return section("core_hours", "What the study took", [paragraph(said), printed])
