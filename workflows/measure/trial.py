"""Trial run of a program that Nodeworth has not run before. It must succeed before anything is measured."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from workflows.applications.tools import nearest_lines
from workflows.domain import Case, InputError, Point
from workflows.launch.cluster_launch import JobNode
from workflows.launch.emulation import usable_cores
from workflows.measure.running import run


def trial_seconds(
    case: Case,
    processes: int,
    prepared: Path,
    time_limit_seconds: float,
    nodes: Sequence[JobNode] = (),
    output: Path | None = None,
) -> float:
    """Run a case once on one node, and return its wall time in seconds.

    Parameters
    ----------
    processes : int
        Processes of the run, which may share cores.
    prepared : Path
        The case prepared for any number of processes.
    nodes : sequence of JobNode
        Nodes of the job, on a cluster.
    output : Path or None
        File for everything that a failed run prints. The message names the file.

    Raises
    ------
    InputError
        The run does not count: one line with the reason. If no line matches the pattern of the time, the
        message shows the nearest lines of standard output and standard error.
    """
    level = math.ceil(processes / len(usable_cores()))
    point = Point(case.name, None, processes, level, nodes=1, cores=math.ceil(processes / level))
    trial = run(case, point, prepared, None, nodes[:1], time_limit_seconds)
    execution, pattern = trial.execution, case.settings["read"].get("seconds")
    if trial.problem is None:
        return execution.wall_seconds
    where = ""
    if output is not None and execution.lines:
        output.write_text("".join(f"{line.text}\n" for line in execution.lines), encoding="utf-8")
        where = f"; all output: {output}"
    ended_well = not (execution.timed_out or execution.signal or execution.exit_status)
    if ended_well and pattern and not any(re.search(pattern, line.text) for line in execution.lines):
        printed = [line for line in execution.lines if line not in execution.error_lines]
        raise InputError(
            f"case {case.name}: no line of the trial run matches '{pattern}'; nearest lines of "
            f"standard output: {nearest_lines(pattern, printed)}; "
            f"of standard error: {nearest_lines(pattern, execution.error_lines)}{where}"
        )
    raise InputError(f"case {case.name}: the trial run failed on {point.in_words}: {trial.problem}{where}")
