"""Partial reports of a study whose runs are jobs of a cluster, made where these are submitted from."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from snakemake.logging import get_event, logger
from snakemake_interface_logger_plugins.common import LogEvent

from workflows.plan.jobs import in_jobs
from workflows.plan.plan import Plan
from workflows.results.partial import PartialReports


def report_while_jobs_run(plan: Plan, config: Mapping[str, Any]) -> None:
    """Have partial reports of a study in jobs of a cluster made where they are submitted from."""
    if in_jobs(plan) and plan.asked.study.report_while_running:
        reports = PartialReports(plan.asked.study.file, config, simulated=True)
        logger.addHandler(_WhenJobsEnd(reports))


class _WhenJobsEnd(logging.Handler):
    """Makes a report beside Snakemake when a job has ended, at most every so many seconds."""

    def __init__(self, reports: PartialReports, every_seconds: float = 300.0) -> None:
        super().__init__()
        self._reports, self._every_seconds = reports, every_seconds
        self._last = time.monotonic()
        self._thread = threading.Thread()

    def emit(self, record: logging.LogRecord) -> None:
        ended = get_event(record) == LogEvent.JOB_FINISHED
        if not ended or self._thread.is_alive() or time.monotonic() - self._last < self._every_seconds:
            return
        self._last = time.monotonic()
        self._thread = threading.Thread(target=self._reports.make, args=(None, _tell), daemon=True)
        self._thread.start()


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
