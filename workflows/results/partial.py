"""A report of what is recorded of a study that still runs, made between its timed runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workflows.paths import ROOT

SHARE = 0.05
"""Of a study's time, what its partial reports may take from the second on."""
WORTH_SECONDS = 60.0
"""What is left of a study for which a partial report is worth its time."""


class PartialReports:
    """Makes partial reports of a study, each in a process of its own, which ends before the next run begins.

    Parameters
    ----------
    study : Path
        The study's file.
    config : mapping
        What replaces its keys: Snakemake's ``config``.
    simulated : bool
        Whether what was replayed is of the study as it is now. Else it is left out.
    """

    def __init__(self, study: Path, config: Mapping[str, Any], simulated: bool) -> None:
        self._request = {"study": str(study), "config": dict(config), "simulated": simulated}
        self._took, self._ended = 0.0, time.monotonic()

    def make(self, seconds_left: float | None, say: Callable[[str], None]) -> None:
        """Make a report if it is due; say in one line where it is and what it cost, or why there is none.

        Of a study that goes on until a target, or in jobs, nobody knows what is left.
        """
        begun = time.monotonic()
        if not is_due(begun - self._ended, self._took, seconds_left):
            return
        done = subprocess.run(
            [sys.executable, "-m", "workflows.results.partial_report"],
            input=json.dumps(self._request | {"seconds_left": seconds_left}),
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        self._ended = time.monotonic()
        self._took = self._ended - begun
        if done.returncode:
            why = (done.stderr.splitlines() or [f"exit status {done.returncode}"])[-1]
            say(f"there is no report of what is recorded: {why.removeprefix('nodeworth: ')}")
        elif done.stdout:
            say(f"{done.stdout.strip()} (made in {self._took:.0f} s)")


def is_due(since_seconds: float, took_seconds: float, left_seconds: float | None) -> bool:
    """Whether a report is due: it is worth its time, and one like the last keeps to its SHARE of the time.

    Parameters
    ----------
    took_seconds : float
        What that took; 0 before the first.
    left_seconds : float or None
        What is left of the study; None where that is not known.

    Examples
    --------
    >>> is_due(0, 0, 600), is_due(100, 10, 600), is_due(190, 10, 600), is_due(190, 10, 59)
    (True, False, True, False)
    """
    worth_it = left_seconds is None or left_seconds >= WORTH_SECONDS
    return worth_it and took_seconds <= SHARE * (since_seconds + took_seconds)
