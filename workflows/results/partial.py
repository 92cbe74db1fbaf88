"""A report of what is recorded of a study that still runs, made between its timed runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from workflows.errors import one_line_errors
from workflows.paths import ROOT, StudyPaths
from workflows.plan.plan import Plan, make_plan

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
            [sys.executable, "-m", __name__],
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


def write_partial(plan: Plan, seconds_left: float | None) -> str | None:
    """Write the report of what is recorded, with its tables and figures, and let ``report.html`` lead to it.

    Returns
    -------
    str or None
        One line: of how many blocks it is, and where. None where the whole report is about to come.
    """
    begun = time.time()
    # Here: what measures imports this module, and none of these.
    from analysis.importers import read_published, write_derived
    from analysis.registry import read_tables
    from analysis.tables.details import write_details
    from workflows.report.report import write_page
    from workflows.results.analysed import write_all_tables
    from workflows.results.collect import collect

    collected, paths = collect(plan), plan.paths
    runs, study = collected.complete, replace(collected.facts.study, seconds_left=seconds_left)
    facts = replace(collected.facts, study=study)
    draft = paths.partial.with_name(".partial")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    details, published, tables = (draft / name for name in ("details", "published", "tables"))
    write_details(collected.details, details)
    write_derived(collected.published, published)
    (draft / "facts.json").write_text(json.dumps(facts.as_json(), indent=1) + "\n")
    write_all_tables(runs, facts, details, published, tables)
    write_page(runs, read_tables(tables), facts, read_published(published), draft)
    if paths.listed_records.exists() and paths.listed_records.stat().st_mtime > begun:
        return None  # by now all is measured
    _publish(draft, paths)
    return f"report of {study.blocks_recorded} of {study.blocks} blocks: {paths.report}"


def _publish(draft: Path, paths: StudyPaths) -> None:
    shutil.rmtree(paths.partial, ignore_errors=True)
    draft.rename(paths.partial)
    link = paths.partial / ".report.html"
    link.symlink_to(Path(paths.partial.name) / paths.report.name)
    link.replace(paths.report)  # whatever was there


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    from analysis.runs.runs import TableError

    with one_line_errors(TableError):
        planned = make_plan(Path(asked["study"]), asked["config"])
        if not asked["simulated"]:
            planned = replace(planned, design=replace(planned.design, simulated=()))
        print(write_partial(planned, asked["seconds_left"]) or "", end="")
