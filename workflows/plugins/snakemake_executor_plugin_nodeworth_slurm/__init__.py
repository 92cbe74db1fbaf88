"""Submit the jobs of a study to Slurm.

The executor extends Snakemake's executor for Slurm, and takes the same settings with the prefix
``--nodeworth-slurm-``. It differs in five ways:

- A controller that does not answer is asked again for ten minutes. Jobs are not forgotten meanwhile.
- Nodeworth prints why a job waits, and the line with which ``sbatch`` refuses a job.
- A job beyond a limit of submitted jobs is submitted again later.
- ``sbatch`` chooses the partition of a job that names none.
- A job runs Snakemake directly in its allocation, so that its program can start ranks with ``srun`` or
  ``mpirun``.

The executor adds the number of every submitted job to the file that the environment variable
`workflows.jobs.scheduler.SUBMITTED_JOBS` names.
"""

import os
import re
import sys
import threading
import time
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snakemake_executor_plugin_slurm import Executor as SlurmExecutor
from snakemake_executor_plugin_slurm import ExecutorSettings as SlurmSettings
from snakemake_executor_plugin_slurm import common_settings
from snakemake_executor_plugin_slurm.job_status_query import (
    get_min_job_age,
    query_job_status,
    query_job_status_sacct,
    query_job_status_squeue,
)
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface

from workflows.jobs import SCHEDULERS
from workflows.jobs.scheduler import ENDED_STATES, SUBMITTED_JOBS

__all__ = ["Executor", "ExecutorSettings", "common_settings"]

RETRY_SECONDS = 2  # until an unanswered question is asked again
FAILED_STATES = frozenset(ENDED_STATES) - {"COMPLETED"}
SLURM = SCHEDULERS["slurm"]
_REFUSAL = re.compile(r"sbatch: error: [^'\n]*")


@dataclass
class ExecutorSettings(SlurmSettings):
    """Settings of Snakemake's executor for Slurm, and how patient this executor is."""

    silence_limit: int = field(
        default=600,
        metadata={"help": "Seconds for which Slurm may give no answer before the study ends."},
    )
    explain_after: int = field(
        default=120,
        metadata={"help": "Seconds for which a job waits before the reason is printed."},
    )
    resubmit_after: int = field(
        default=10,
        metadata={"help": "Seconds until a job beyond a limit of submitted jobs is submitted again."},
    )
    longest_status_interval: int = field(
        default=180,
        metadata={"help": "Longest time in seconds between two questions about the states of jobs."},
    )


class Executor(SlurmExecutor):
    """Submit jobs to Slurm and follow them to their end."""

    def __post_init__(self, test_mode: bool = False) -> None:
        """Start without answers, refusals or waiting jobs."""
        super().__post_init__(test_mode)
        self.min_job_age: int | None = None
        self.last_answer = time.monotonic()
        self.pending_since: dict[str, float] = {}
        self.printed_subjects: set[str] = set()
        self.resubmissions: list[threading.Timer] = []

    def additional_general_args(self) -> list[str]:
        """Run Snakemake in the allocation itself, not in a step of one task."""
        return []

    def get_partition_arg(self, job: JobExecutorInterface) -> str:
        """Name a partition only if the job or a file of partitions does."""
        if job.resources.get("slurm_partition") or self.workflow.executor_settings.partition_config:
            return super().get_partition_arg(job)
        return ""

    def report_job_submission(self, job_info: SubmittedJobInfo, register_job: bool = True) -> None:
        """Add the job to the list of submitted jobs."""
        if SUBMITTED_JOBS in os.environ:
            file = Path(os.environ[SUBMITTED_JOBS])
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a") as numbers:
                numbers.write(f"{job_info.external_jobid}\n")
        super().report_job_submission(job_info, register_job)

    def report_job_error(self, job_info: SubmittedJobInfo, msg: str | None = None, **kwargs: Any) -> None:
        """Print why ``sbatch`` refused the job; submit it again later if only too many jobs are submitted."""
        refusal = " ".join(_REFUSAL.findall(msg or ""))
        if limit := SLURM.submit_limit(refusal):
            self.print_once(f"{limit}: further jobs are submitted as others end")
            self.resubmit_later(job_info.job)
            return
        if refusal:
            self.print_once(refusal)
        super().report_job_error(job_info, msg=msg, **kwargs)

    def resubmit_later(self, job: JobExecutorInterface) -> None:
        """Submit a job again after a pause."""
        timer = threading.Timer(self.workflow.executor_settings.resubmit_after, self.run_job, [job])
        timer.daemon = True
        self.resubmissions.append(timer)
        timer.start()

    def cancel_jobs(self, active_jobs: list[SubmittedJobInfo]) -> None:
        """Cancel submitted jobs, and jobs that were to be submitted again."""
        for timer in self.resubmissions:
            timer.cancel()
        super().cancel_jobs(active_jobs)

    async def check_active_jobs(self, active_jobs: list[SubmittedJobInfo]) -> AsyncIterator[SubmittedJobInfo]:
        """Report the jobs that have ended, and yield the others.

        Raises
        ------
        WorkflowError
            If Slurm gives no answer for longer than ``silence_limit`` allows.
        """
        if not active_jobs:
            self.last_answer = time.monotonic()
            return
        states = await self.ask_states()
        if states is None:
            limit = self.workflow.executor_settings.silence_limit
            if time.monotonic() - self.last_answer > limit:
                raise WorkflowError(f"nodeworth: Slurm has not answered for {limit} s")
            self.next_seconds_between_status_checks = RETRY_SECONDS
            for job_info in active_jobs:
                yield job_info
            return
        self.last_answer = time.monotonic()
        self.explain_waiting(states)
        ended = [job_info for job_info in active_jobs if self.report_end(job_info, states)]
        self.choose_next_check(any_ended=bool(ended))
        for job_info in active_jobs:
            if job_info not in ended:
                yield job_info

    async def ask_states(self) -> Mapping[str, str] | None:
        """Ask for the state of each job of this run, by its number; None if Slurm gives no answer.

        ``sacct`` is asked where the settings say so, or where the controller forgets ended jobs too soon.
        """
        if self.min_job_age is None:
            self.min_job_age = get_min_job_age()
        if self.min_job_age is None:
            return None
        too_soon = self.min_job_age < 3 * self.first_interval
        query = query_job_status_squeue
        if too_soon or self.get_status_command() == "sacct":
            query = query_job_status_sacct
        async with self.status_rate_limiter:
            states, _ = await query_job_status(query(self.run_uuid), self.logger)
        return states

    def report_end(self, job_info: SubmittedJobInfo, states: Mapping[str, str]) -> bool:
        """Report a job that has ended to Snakemake; return whether it has.

        A job without a state was submitted too recently for Slurm to show it.
        """
        state = states.get(job_info.external_jobid, "")
        log = job_info.aux["slurm_logfile"]
        if state == "COMPLETED":
            self.report_job_success(job_info)
            if not self.workflow.executor_settings.keep_successful_logs:
                log.unlink(missing_ok=True)
            return True
        if state in FAILED_STATES:
            message = f"job {job_info.external_jobid} of Slurm ended as {state}. "
            self.report_job_error(job_info, msg=message, aux_logs=[str(log)])
            return True
        return False

    @property
    def first_interval(self) -> int:
        """Seconds before the first question about a new job, and after a job has ended."""
        return self.workflow.executor_settings.init_seconds_before_status_checks

    def choose_next_check(self, any_ended: bool) -> None:
        """Ask less and less often while nothing ends, but before the controller forgets an ended job."""
        if any_ended or self.min_job_age is None:
            self.next_seconds_between_status_checks = self.first_interval
            return
        longest = min(self.workflow.executor_settings.longest_status_interval, self.min_job_age / 2)
        self.next_seconds_between_status_checks = min(self.next_seconds_between_status_checks + 10, longest)

    def explain_waiting(self, states: Mapping[str, str]) -> None:
        """Print each reason for which jobs wait, once it has lasted for ``explain_after`` seconds."""
        now = time.monotonic()
        pending = {job for job, state in states.items() if state == "PENDING"}
        self.pending_since = {job: self.pending_since.get(job, now) for job in pending}
        seconds = self.workflow.executor_settings.explain_after
        waiting: Collection[str] = [job for job, since in self.pending_since.items() if now - since > seconds]
        for reason, line in SLURM.waiting_reasons(waiting):
            self.print_once(f"waiting for more than {seconds / 60:g} min: {line}", subject=reason)

    def print_once(self, line: str, subject: str | None = None) -> None:
        """Print a line to standard error unless a line about the same subject has been printed."""
        subject = subject or line
        if subject not in self.printed_subjects:
            self.printed_subjects.add(subject)
            print(f"nodeworth: {line}", file=sys.stderr, flush=True)
