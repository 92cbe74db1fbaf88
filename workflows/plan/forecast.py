"""Forecast of a study on a cluster: its jobs, the largest job, core hours, and limits of the site."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from workflows.jobs.cluster import Cluster
from workflows.jobs.scheduler import JobRequest
from workflows.plan import files
from workflows.plan.design import in_hours
from workflows.plan.jobs import (
    batches,
    cluster_of,
    needed_minutes,
    preparing_group,
    preparing_minutes,
    reference_minutes,
    request_of,
    whole_node_request,
)
from workflows.plan.plan import Plan


@dataclass(frozen=True)
class Forecast:
    """Size and number of all jobs that a study needs if it has no results yet.

    Attributes
    ----------
    measuring, preparing, simulating : int
        Number of jobs that measure runs, that prepare cases, and that trace and replay.
    largest : JobRequest or None
        The job with the most nodes, then the most cores; None if nothing is measured.
    cores : int
        Cores of the largest job as a site counts them: whole nodes if they are exclusive.
    core_hours : float
        Upper bound of the cost: counted cores times walltime, summed over all jobs.
    too_long : tuple of int
        Walltimes in minutes of the jobs that need more than the site allows; in ascending order.
    """

    measuring: int
    preparing: int
    simulating: int
    largest: JobRequest | None
    cores: int
    core_hours: float
    too_long: tuple[int, ...]

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
    cluster, all_batches = cluster_of(plan), batches(plan).values()
    jobs = Counter((request_of(plan, batch), batch.points[0].interconnect) for batch in all_batches)
    cores = {job: _counted_cores(cluster, *job) for job in jobs}
    largest = max(jobs, key=lambda job: (job[0].nodes, cores[job], job[0].memory_MB), default=None)
    core_minutes = sum(number * cores[job] * job[0].minutes for job, number in jobs.items())

    points = [*plan.design.points, *plan.design.simulated]
    steps = _preparing_steps({(point.case, point.processes) for point in points})
    core_minutes += (sum(steps.values()) - len(steps)) * preparing_minutes(cluster)
    core_minutes += sum(reference_minutes(plan).values())

    simulating = len(files.traces(plan)) + bool(plan.design.simulated)
    if node := whole_node_request(plan):
        core_minutes += simulating * node.tasks_per_node * node.minutes

    walltimes = (needed_minutes(plan, batch) for batch in all_batches)
    return Forecast(
        measuring=len(all_batches),
        preparing=len(steps) if preparing_group(plan) else sum(steps.values()),
        simulating=simulating,
        largest=largest and largest[0],
        cores=cores[largest] if largest else 0,
        core_hours=core_minutes / 60,
        too_long=tuple(sorted(walltime for walltime in walltimes if walltime > cluster.minutes)),
    )


def _counted_cores(cluster: Cluster, job: JobRequest, interconnect: str | None) -> int:
    """Return the cores that a site counts for a job."""
    return job.nodes * (cluster.nodes_of(interconnect).cores if cluster.exclusive else job.tasks_per_node)


def _preparing_steps(counts: set[tuple[str, int]]) -> dict[str, int]:
    """Count the steps that prepare each case: mesh, expected answer, a decomposition for each count."""
    steps = Counter({case: 2 for case, _ in sorted(counts)})
    steps.update(case for case, count in counts if count > 1)
    return steps


def forecast_lines(forecast: Forecast, cluster: Cluster, core_hours_of_runs: float) -> list[str]:
    """Return the lines of a forecast, with the limits of the site that it exceeds; empty without jobs."""
    if not forecast.jobs:
        return []
    numbers = {"measure": forecast.measuring, "prepare": forecast.preparing, "simulate": forecast.simulating}
    jobs = ", ".join(f"{number} to {verb}" for verb, number in numbers.items() if number)
    lines = [f"jobs: {forecast.jobs} ({jobs})"]
    if big := forecast.largest:
        size = f"{big.nodes} x {big.tasks_per_node} cores, {big.memory_MB} MB a node, {big.minutes} min"
        lines.append(f"largest job: {size}, counted as {forecast.cores} cores")
    runs, most = in_hours(core_hours_of_runs), in_hours(forecast.core_hours)
    whole = " of whole nodes" if cluster.exclusive else ""
    hours = (
        f"core hours{whole}: about {runs} in runs (only these count against limits.core_hours of the study)"
    )
    # Runs that exceed the walltimes continue in further jobs, so this number is too small.
    is_bound = forecast.core_hours >= core_hours_of_runs
    lines.append(f"{hours}; {most} if every job took its whole walltime" if is_bound else hours)
    return lines + [f"{cluster.file}: {warning}" for warning in _warnings(forecast, cluster)]


def _warnings(forecast: Forecast, cluster: Cluster) -> list[str]:
    """Return one line for each limit in the site file that the forecast exceeds."""
    limits = cluster.limits
    warnings = []
    if forecast.too_long:
        number, longest = len(forecast.too_long), forecast.too_long[-1]
        warnings.append(
            f"minutes: {cluster.minutes} is less than {number} of the jobs would ask for "
            f"(up to {longest} min); what does not fit goes on in further jobs"
        )
    if (jobs := limits.get("submitted_jobs")) and forecast.jobs > jobs:
        warnings.append(
            f"limits.submitted_jobs: {jobs} of {forecast.jobs} jobs may be submitted at a time: "
            f"give --jobs {jobs}"
        )
    if (hours := limits.get("core_hours")) and forecast.core_hours > hours:
        warnings.append(
            f"limits.core_hours: {hours:g} is less than the {in_hours(forecast.core_hours)} of all "
            "walltimes: jobs may be held or refused before the study is done"
        )
    if (cores := limits.get("cores")) and forecast.cores > cores:
        warnings.append(
            f"limits.cores: {cores} is less than the {forecast.cores} of the largest job, "
            "which would never run"
        )
    return warnings
