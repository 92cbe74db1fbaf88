"""LSF, through the profile in ``cluster/lsf``."""

from __future__ import annotations

from workflows.jobs.scheduler import HostFileScheduler, Job


class LSF(HostFileScheduler):
    """LSF: a profile, and whether a job is over. Tested with substitutes for ``bsub`` and ``bjobs``."""

    name = "lsf"
    title = "LSF"
    submit_program = "bsub"
    job_variable = "LSB_JOBID"
    job_prefixes = ("LSB_",)
    hosts_variable = "LSB_DJOB_HOSTFILE"

    def job(self, number: str) -> Job:
        """Ask whether a job is over; how it ended is not asked."""
        return self.job_unless_over(number, "DONE|EXIT|not found", "bjobs", "-noheader", "-o", "stat", number)
