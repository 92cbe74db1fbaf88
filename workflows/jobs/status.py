"""The answer that Snakemake's executor ``cluster-generic`` wants: ``cluster/status.sh SCHEDULER JOB``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from workflows.domain import InputError
from workflows.jobs import SCHEDULERS
from workflows.jobs.scheduler import Scheduler

LOGS = Path(".snakemake/cluster_logs")
"""Folder in which the jobs of ``cluster/*/job.sh`` leave their exit status and their output."""

FILE_SECONDS = 2.0
"""Time after the end of a job in which its files may still be invisible here."""


def status(scheduler: Scheduler, number: str) -> str:
    """Return ``running``, ``success`` or ``failed``.

    A job that is over, or can never end by itself, and left no exit status has failed. Its log gets a line
    with the reason, as far as the scheduler reports it. A scheduler that does not answer ends no job.
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
    """Read how a job ended; None if it has not left its exit status."""
    file = LOGS / f"{number}.status"
    text = file.read_text().strip() if file.exists() else ""
    if not text:
        return None
    return "success" if text == "0" else "failed"


if __name__ == "__main__":
    print(status(SCHEDULERS[sys.argv[1]], sys.argv[2]))
