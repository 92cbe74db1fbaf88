"""PBS, through the profile in ``cluster/pbs``."""

from __future__ import annotations

from workflows.jobs.scheduler import HostFileScheduler, Job


class PBS(HostFileScheduler):
    """PBS: a profile, and whether a job is over. Tested with substitutes for ``qsub`` and ``qstat``."""

    name = "pbs"
    title = "PBS"
    submit_program = "qsub"
    job_variable = "PBS_JOBID"
    job_prefixes = ("PBS_",)
    hosts_variable = "PBS_NODEFILE"

    def job(self, number: str) -> Job:
        """Ask whether a job is over; how it ended is not asked."""
        return self.job_unless_over(number, "unknown job|has finished", "qstat", number)
