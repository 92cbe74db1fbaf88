"""State of a job for Snakemake's executor ``cluster-generic``, by ``cluster/status.sh SCHEDULER JOB``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from workflows.domain import InputError
from workflows.jobs import SCHEDULERS
from workflows.jobs.scheduler import Scheduler

LOGS = Path(".snakemake/cluster_logs")
"""Folder in which ``cluster/*/job.sh`` writes the exit status and the output of each job."""

FILE_SECONDS = 2.0
"""Time after the end of a job in which this machine may not see the job's files yet."""


def status(scheduler: Scheduler, number: str) -> str:
    """Return the state of a job: ``running``, ``success`` or ``failed``.

    The exit status that the job wrote decides. A job without exit status has failed if the scheduler reports
    it as over. The reason that the scheduler reports is then added to the job's log. If the scheduler does
    not answer, the job counts as running.
    """
    if ended := _exit_status(number):
        return ended
    try:
        job = scheduler.job(number)
    except InputError:
        return "running"
    if not job.is_over:
        return "running"
    time.sleep(FILE_SECONDS)
    if ended := _exit_status(number):
        return ended
    LOGS.mkdir(parents=True, exist_ok=True)
    with (LOGS / f"{number}.log").open("a") as log:
        print(f"nodeworth: job {number} has no exit status:", job.state, job.reason or "", file=log)
    scheduler.discard(job)
    return "failed"


def _exit_status(number: str) -> str | None:
    """Return ``success`` or ``failed`` by the exit status of a job; None if the job has written none."""
    file = LOGS / f"{number}.status"
    text = file.read_text().strip() if file.exists() else ""
    if not text:
        return None
    return "success" if text == "0" else "failed"


if __name__ == "__main__":
    print(status(SCHEDULERS[sys.argv[1]], sys.argv[2]))
