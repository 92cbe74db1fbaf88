"""Preparation of cases, and the answers that their runs must give."""

from __future__ import annotations

import errno
import json
import math
import shutil
import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from workflows.applications import application
from workflows.applications.tools import TIME_UNSURE, TOO_SHORT
from workflows.domain import Case, InputError, Point, counted
from workflows.launch.cluster_launch import JobNode
from workflows.measure.answers import Expected
from workflows.measure.running import Run, run, scratch_folder
from workflows.measure.trial import trial_seconds
from workflows.paths import PARAMETER, version_file
from workflows.study.cases import PREPARED_FROM, digest, file_digests

FULL_BYTES = 1_000_000
"""Free space of a file system, in bytes, below which it counts as full when a program has failed."""


def prepare(case: Case, processes: int, folder: Path, base: Path | None = None) -> None:
    """Prepare a case for a process count.

    Parameters
    ----------
    folder : Path
        Folder of the prepared case; it is made if it does not exist.
    base : Path or None
        Folder of the case prepared for one process; None if `processes` is 1.

    Raises
    ------
    InputError
        A program of the preparation fails, or the file system is full: one line.
    """
    prepared_from = digest(case)
    where = f"case {case.name}, {counted(processes, 'process')}: cannot be prepared"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        application(case.application).prepare(case, processes, folder, base)
        (folder / PREPARED_FROM).write_text(prepared_from)
        if base is None:
            _note_version(case, version_file(folder.parent, prepared_from))
    except RuntimeError as error:
        is_full = shutil.disk_usage(folder).free < FULL_BYTES
        raise InputError(f"{where}: {error}" + is_full * f"; no space left in {folder.absolute()}") from None
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise InputError(f"{where}: no space left in {folder.absolute()}") from None


def _note_version(case: Case, file: Path) -> None:
    """Write parameters and digests of files, by which a report names what was edited."""
    file.parent.mkdir(exist_ok=True)
    parameters = {f"{PARAMETER} {name}": value for name, value in case.parameters.items()}
    file.write_text(json.dumps(file_digests(case) | parameters, default=str))


def reference_answer(
    case: Case,
    prepared: Path,
    time_limit_seconds: float,
    nodes: Sequence[JobNode] = (),
    output: Path | None = None,
) -> Expected:
    """Return the answer that every run of a case must give, and its source.

    A case that needs a trial run has no answer; its trial run happens here.

    Parameters
    ----------
    prepared : Path
        The case prepared for one process. It runs once, untimed, if there is no golden answer.
    nodes : sequence of JobNode
        Nodes of the job, on a cluster.
    output : Path or None
        File for everything that a failed trial run prints.

    Returns
    -------
    Expected
        See `workflows.measure.answers.Expected`.

    Raises
    ------
    InputError
        The serial run or the trial run fails: one line.
    """
    if case.trial_processes:
        seconds = trial_seconds(case, case.trial_processes, prepared, time_limit_seconds, nodes, output)
        return {"value": None, "source": "none", "trial_seconds": seconds}
    if not case.needs_serial_run:
        if case.answer is None:
            return {"value": None, "source": "none"}
        return {"value": case.answer.golden, "source": "golden"}
    point = Point(case.name, None, 1, 1, nodes=1, cores=1)
    serial = run(case, point, prepared, None, nodes, time_limit_seconds)
    details, problem = serial.reading.details, _problem_of_untimed(serial)
    if problem is None and case.answer is None:
        spread, failed = ({}, None) if nodes else _spread(case, prepared, details, time_limit_seconds)
        expected: Expected = {"value": None, "source": "serial", "details": details, "spread": spread}
        return expected | {"spread_problem": failed} if failed else expected
    if problem or serial.reading.answer is None:
        raise InputError(f"case {case.name}: the serial run that gives its answer failed: {problem}")
    return {"value": serial.reading.answer, "source": "serial"}


def _problem_of_untimed(done: Run) -> str | None:
    """Return why a run failed whose time does not count; None if only its time is wrong."""
    is_about_time = done.problem is not None and done.problem.startswith((TIME_UNSURE, TOO_SHORT))
    return None if is_about_time else done.problem


def _spread(
    case: Case, prepared: Path, serial: Mapping[str, Any], time_limit_seconds: float
) -> tuple[dict[str, float], str | None]:
    """Return the spread of each quantity: the largest difference between any two of three runs.

    The three runs are the serial run, and two runs on two processes that divide the work in different ways.
    They solve the same equations in another order, so only rounding and the tolerances of solvers make them
    differ.

    Parameters
    ----------
    serial : mapping
        `Reading.details` of the serial run.

    Returns
    -------
    dict of str to float
        Spreads by the names of the quantities. Empty if the case cannot be divided in both ways, or if
        such a run fails.
    str or None
        Sentence on a run that failed, which is also printed.
    """
    app = application(case.application)
    runs = [serial]
    point = Point(case.name, None, 2, 2, nodes=1, cores=1)  # on one core, processes yield and never spin
    for variant in app.variants(case):
        with scratch_folder() as folder:
            try:
                app.prepare(variant, 2, folder / "prepared", prepared)
            except RuntimeError:
                return {}, None
            done = run(variant, point, folder / "prepared", None, (), time_limit_seconds)
        if failed := _problem_of_untimed(done):
            problem = (
                "the spread of two decompositions is unknown, since an untimed run on 2 processes failed: "
                f"{failed}. Only the fixed limits of the comparison count"
            )
            print(f"case {case.name}: {problem}", file=sys.stderr)
            return {}, problem
        runs.append(done.reading.details)
    spread: dict[str, float] = {}
    for first, second in combinations(runs, 2):
        for difference in app.differences(case, second, first):
            quantity, value = difference.quantity, difference.value
            if math.isfinite(value):
                spread[quantity] = max(value, spread.get(quantity, 0.0))
    return spread, None
