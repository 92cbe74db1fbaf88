"""Grid Engine, through the profile in ``cluster/sge``."""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import time

from workflows.domain import InputError
from workflows.jobs.scheduler import UNKNOWN, HostFileScheduler, Job

ACCOUNTING_SECONDS = 16
"""Time after the end of a job in which the accounting may not show the job yet."""

QUEUE_WIDTH = 30
"""Characters at which ``qstat`` cuts the name of a queue."""


class GridEngine(HostFileScheduler):
    """Grid Engine: a profile, the states of its jobs, and from its accounting how jobs ended."""

    name = "sge"
    title = "Grid Engine"
    submit_program = "qsub"
    job_variable = "JOB_ID"
    job_prefixes = ("PE_HOSTFILE",)
    hosts_variable = "PE_HOSTFILE"

    def job(self, number: str) -> Job:
        """Ask for the state of a job.

        Two kinds of listed jobs count as ended. A job in the error state never starts. A job whose host has
        not reported for ``max_unheard`` has lost its node.
        """
        user = pwd.getpwuid(os.geteuid()).pw_name
        rows = (line.split() for line in self.answer("qstat", "-u", user).splitlines())
        row = next((row for row in rows if row[:1] == [number]), None)
        if row is None:
            return self._ended_job(number)
        state, queue = row[4], row[7] if len(row) > 7 else ""
        if "E" in state:
            details = self.answer("qstat", "-j", number)
            reason = re.search(r"^error reason[ 0-9]*: *(.*)", details, re.MULTILINE)
            return Job(number, "FAILED", reason=reason[1] if reason else None)
        if "@" in queue and self._is_unheard(queue):
            return Job(number, "NODE_FAIL", reason=f"{queue.partition('@')[2]} is not heard of any more")
        return Job(number, "COMPLETING" if "d" in state else "RUNNING")

    def _is_unheard(self, queue: str) -> bool:
        """Whether a queue's host is unknown to the scheduler."""
        pattern = queue if len(queue) < QUEUE_WIDTH else f"{queue}*"
        _, printed = self.ask("qstat", "-f", "-qs", "u", "-q", pattern)
        return "@" in printed

    def _ended_job(self, number: str) -> Job:
        """Ask the accounting how a job ended; wait, since the accounting shows a job some seconds late."""
        for _ in range(ACCOUNTING_SECONDS + 1):
            status, printed = self.ask("qacct", "-j", number)
            if not status:
                return read_accounting(number, printed)
            if "not found" not in printed:
                break
            time.sleep(1)
        return Job(number, UNKNOWN)

    def discard(self, job: Job) -> None:
        """Delete a job in the error state, which would wait for ever, or a job whose host is lost."""
        if job.state not in ("FAILED", "NODE_FAIL"):
            return
        with contextlib.suppress(InputError):
            self.ask("qdel", job.number)
            if job.state == "NODE_FAIL":
                self.ask("qdel", "-f", job.number)


def read_accounting(number: str, printed: str) -> Job:
    """Read how a job ended from what ``qacct -j`` prints.

    Two endings are shown in other words. If the host of a job was lost and the job deleted by force,
    ``qacct`` shows a success that took no time. If a job reached its time limit, ``qacct`` may show it as
    killed: each node counts the time itself, and another node may end the tasks up to two seconds earlier.
    """
    fields = dict(re.findall(r"^(\w+) +(.*)$", printed, re.MULTILINE))
    failed, _, explanation = fields.get("failed", "0").partition(":")
    code = int(failed)
    exit_status = fields.get("exit_status", "0").split()[0]
    seconds = float(fields.get("ru_wallclock", "0").strip().removesuffix("s"))
    limit = re.search(r"h_rt=(\d+)", fields.get("category", ""))
    if code == 37 or (code == 100 and limit and seconds >= int(limit[1]) - 2):
        return Job(number, "TIMEOUT")
    if code == 100:
        return Job(number, "CANCELLED", reason="deleted or killed")
    if code:
        return Job(number, "FAILED", reason=explanation.strip() or None)
    if exit_status != "0":
        return Job(number, "FAILED", reason=f"exit status {exit_status}")
    if seconds == 0 and fields.get("start_time") != fields.get("end_time"):
        return Job(number, "NODE_FAIL")
    return Job(number, "COMPLETED")
