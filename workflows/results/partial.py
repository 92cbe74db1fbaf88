"""Partial reports of a running study, and its stopping rule applied to its records."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from snakemake.logging import get_event, logger
from snakemake_interface_logger_plugins.common import LogEvent

from workflows.paths import ROOT
from workflows.plan.jobs import in_jobs
from workflows.plan.plan import Plan
from workflows.plan.stopping import Stopping

SHARE = 0.05
"""Share of a study's time that partial reports may take, from the second report on."""
LEAST_SECONDS_LEFT = 60.0
"""Time left of a study below which Nodeworth makes no partial report."""


class PartialReports:
    """Maker of partial reports of a study. Each report is made in its own process.

    Drawing takes memory, which would disturb the next run. So the process ends before the next run starts.

    Parameters
    ----------
    study : Path
        Study file.
    config : mapping
        Snakemake's ``config``, which overrides keys of the study.
    simulated : bool
        Whether the simulated points belong to the current study. Otherwise reports omit them.
    """

    def __init__(self, study: Path, config: Mapping[str, Any], simulated: bool) -> None:
        self._request = {"study": str(study), "config": dict(config), "simulated": simulated}
        self._duration, self._end = 0.0, time.monotonic()

    def make(self, seconds_left: float | None, write_line: Callable[[str], None]) -> None:
        """Make a report if it is due, and write a line with its path or with the reason why it failed.

        Parameters
        ----------
        seconds_left : float or None
            Expected remaining time of the study. None if the study has a target or runs in jobs.
        write_line : callable
            Receives the line.
        """
        start = time.monotonic()
        if not is_due(start - self._end, self._duration, seconds_left):
            return
        process = subprocess.run(
            [sys.executable, "-P", "-m", "workflows.results.partial_report"],
            input=json.dumps(self._request | {"seconds_left": seconds_left}),
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        self._end = time.monotonic()
        self._duration = self._end - start
        if process.returncode:
            why = (process.stderr.splitlines() or [f"exit status {process.returncode}"])[-1]
            write_line(f"there is no report of the recorded runs: {why.removeprefix('nodeworth: ')}")
        elif process.stdout:
            write_line(f"{process.stdout.strip()} (made in {self._duration:.0f} s)")


def is_due(seconds_since: float, duration: float, seconds_left: float | None) -> bool:
    """Return whether a partial report is due.

    A report is due if its time is at most `SHARE` of the time since the last report, and if at least
    `LEAST_SECONDS_LEFT` are left.

    Parameters
    ----------
    seconds_since : float
        Time since the end of the last report.
    duration : float
        Time that the last report took, in seconds; 0 before the first.
    seconds_left : float or None
        Remaining time of the study; None if unknown.

    Examples
    --------
    >>> is_due(0, 0, 600), is_due(100, 10, 600), is_due(190, 10, 600), is_due(190, 10, 59)
    (True, False, True, False)
    """
    is_useful = seconds_left is None or seconds_left >= LEAST_SECONDS_LEFT
    return is_useful and duration <= SHARE * (seconds_since + duration)


def report_while_jobs_run(plan: Plan, config: Mapping[str, Any]) -> None:
    """Make partial reports when jobs of a cluster end, on the machine from which they are submitted."""
    if in_jobs(plan) and plan.asked.study.report_while_running:
        reports = PartialReports(plan.asked.study.file, config, simulated=True)
        logger.addHandler(_WhenJobsEnd(reports))


class _WhenJobsEnd(logging.Handler):
    """Log handler that makes a report in a thread when a job has ended.

    Parameters
    ----------
    every_seconds : float
        Shortest time between the starts of two reports.
    """

    def __init__(self, reports: PartialReports, every_seconds: float = 300.0) -> None:
        super().__init__()
        self._reports, self._every_seconds = reports, every_seconds
        self._last = time.monotonic()
        self._thread = threading.Thread()

    def emit(self, record: logging.LogRecord) -> None:
        has_ended = get_event(record) == LogEvent.JOB_FINISHED
        is_early = time.monotonic() - self._last < self._every_seconds
        if not has_ended or is_early or self._thread.is_alive():
            return
        self._last = time.monotonic()
        self._thread = threading.Thread(target=self._reports.make, args=(None, _write_line), daemon=True)
        self._thread.start()


def _write_line(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def stopping_by_records(plan: Plan) -> Stopping:
    """Apply the stopping rule of a study with a target to its records."""
    from workflows.results.collect import runs_table  # here: other studies measure without the analysis
    from workflows.results.facts import stopping

    return stopping(plan, *runs_table(plan))
