"""Forecast of a study on a cluster: its jobs, the largest job, core hours, and limits of the site."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from workflows.jobs.cluster import Cluster
from workflows.jobs.scheduler import JobRequest
from workflows.plan import files
from workflows.plan.jobs import (
    batches,
    cluster_of,
    needed_minutes,
    preparing_group,
    preparing_minutes,
    request_of,
    whole_node_request,
)
from workflows.plan.plan import Plan


@dataclass(frozen=True)
class Forecast:
    """Requests of all jobs of a study without earlier results.

    Attributes
    ----------
    measuring, preparing, simulating : int
        Number of jobs: with timed runs, to prepare cases, to trace and replay.
    largest : JobRequest or None
        The job with the most nodes, then the most cores; None if nothing is measured.
    cores : int
        Cores of the largest job as a site counts them: whole nodes if they are exclusive.
    core_hours : float
        Upper bound of the cost: counted cores times walltimes of all jobs.
    cut : tuple of int
        Walltimes in minutes of the jobs that need more than the site allows.
    """

    measuring: int
    preparing: int
    simulating: int
    largest: JobRequest | None
    cores: int
    core_hours: float
    cut: tuple[int, ...]

    @property
    def jobs(self) -> int:
        """Number of all jobs."""
        return self.measuring + self.preparing + self.simulating


def forecast(plan: Plan) -> Forecast:
    """Return the forecast of a study on a cluster.

    Raises
    ------
    InputError
        See `workflows.plan.jobs.batches`.
    """
    cluster, batches_by_name = cluster_of(plan), batches(plan)
    kinds = Counter(
        (request_of(plan, batch), batch.points[0].interconnect) for batch in batches_by_name.values()
    )
    counted = {kind: _counted_cores(cluster, *kind) for kind in kinds}
    largest = max(kinds, key=lambda kind: (kind[0].nodes, counted[kind], kind[0].memory_MB), default=None)
    minutes = sum(number * counted[kind] * kind[0].minutes for kind, number in kinds.items())
    points = [*plan.design.points, *plan.design.simulated]
    steps = _preparing_steps({(point.case, point.processes) for point in points})
    simulating = len(files.traces(plan)) + bool(plan.design.simulated)
    if node := whole_node_request(plan):
        minutes += simulating * node.tasks_per_node * node.minutes
    minutes += sum(steps.values()) * preparing_minutes(cluster)
    needed = (needed_minutes(plan, batch) for batch in batches_by_name.values())
    return Forecast(
        measuring=len(batches_by_name),
        preparing=len(steps) if preparing_group(plan) else sum(steps.values()),
        simulating=simulating,
        largest=largest and largest[0],
        cores=counted[largest] if largest else 0,
        core_hours=minutes / 60,
        cut=tuple(sorted(walltime for walltime in needed if walltime > cluster.minutes)),
    )


def _counted_cores(cluster: Cluster, job: JobRequest, interconnect: str | None) -> int:
    """Return the cores that a site counts for a job."""
    return job.nodes * (cluster.nodes_of(interconnect).cores if cluster.exclusive else job.tasks_per_node)


def _preparing_steps(counts: set[tuple[str, int]]) -> dict[str, int]:
    """Count the steps that prepare each case: mesh, expected answer, a decomposition for each count."""
    return {case: 2 + sum(at == case and count > 1 for at, count in counts) for case, _ in sorted(counts)}


def forecast_lines(seen: Forecast, cluster: Cluster, core_hours_of_runs: float) -> list[str]:
    """Return the lines of a forecast, with the limits of the site that it exceeds; empty without jobs."""
    if not seen.jobs:
        return []
    kinds = {"measure": seen.measuring, "prepare": seen.preparing, "simulate": seen.simulating}
    jobs = ", ".join(f"{number} to {what}" for what, number in kinds.items() if number)
    lines = [f"jobs: {seen.jobs} ({jobs})"]
    if big := seen.largest:
        size = f"{big.nodes} x {big.tasks_per_node} cores, {big.memory_MB} MB a node, {big.minutes} min"
        lines.append(f"largest job: {size}, counted as {seen.cores} cores")
    runs, most = _hours(core_hours_of_runs), _hours(seen.core_hours)
    lines.append(f"core hours: about {runs} in runs; {most} if every job took its whole walltime")
    return lines + [f"{cluster.file}: {limit}" for limit in _limits_met(seen, cluster)]


def _limits_met(seen: Forecast, cluster: Cluster) -> list[str]:
    limits = cluster.limits
    met = []
    if seen.cut:
        number, longest = len(seen.cut), seen.cut[-1]
        met.append(
            f"minutes: {cluster.minutes} is less than {number} of the jobs would ask for "
            f"(up to {longest} min); what does not fit goes on in further jobs"
        )
    if (jobs := limits.get("submitted_jobs")) and seen.jobs > jobs:
        met.append(
            f"limits.submitted_jobs: {jobs} of {seen.jobs} jobs may be submitted at a time: "
            f"give --jobs {jobs}"
        )
    if (hours := limits.get("core_hours")) and seen.core_hours > hours:
        met.append(
            f"limits.core_hours: {hours:g} is less than the {_hours(seen.core_hours)} of all walltimes: "
            "jobs may be held or refused before the study is done"
        )
    if (cores := limits.get("cores")) and seen.cores > cores:
        met.append(
            f"limits.cores: {cores} is less than the {seen.cores} of the largest job, which would never run"
        )
    return met


def _hours(core_hours: float) -> str:
    return f"{core_hours:.2g}" if core_hours < 100 else f"{core_hours:.0f}"
