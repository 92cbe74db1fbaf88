"""Flux, through Snakemake's own executor and the profile in ``cluster/flux``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflows.domain import InputError
from workflows.jobs.scheduler import HostFileScheduler, Job, JobRequest, NodeSelection

if TYPE_CHECKING:
    from workflows.jobs.cluster import Cluster


class Flux(HostFileScheduler):
    """Flux: a profile for jobs on a single node, and whether a job is over.

    Tested with a substitute for the command ``flux``.
    """

    name = "flux"
    title = "Flux"
    submit_program = "flux"
    job_variable = "FLUX_JOB_ID"
    job_prefixes = ("FLUX_",)
    hidden_prefixes = ("FLUX_",)
    log_folder = "flux_logs"
    hosts_variable = None

    def job(self, number: str) -> Job:
        """Ask whether a job is over; how it ended is not asked."""
        return self.job_unless_over(number, "INACTIVE|unknown", "flux", "jobs", "-no", "{state}", number)

    def resources(
        self, cluster: Cluster, request: JobRequest, selection: NodeSelection
    ) -> dict[str, int | str | None]:
        """Return the resources that Snakemake's executor for Flux reads."""
        tasks = request.nodes * request.tasks_per_node
        return {
            "nodes": request.nodes,
            "tasks": tasks,
            "mem_mb": request.memory_MB,
            "runtime": self.runtime(request.minutes),
            "cpus_per_task": tasks,
        }

    def runtime(self, minutes: int) -> int:
        """Return the walltime in seconds, the unit of Snakemake's executor for Flux."""
        return 60 * minutes

    def check(self, values: Mapping[str, Any], given: Collection[str], file: Path) -> None:
        """Check a site file; see `Scheduler.check`."""
        super().check(values, given, file)
        if values["nodes"] != 1:
            number = values["nodes"]
            raise InputError(f"{file}: nodes: {number}: a job of Snakemake's executor for Flux has one")
