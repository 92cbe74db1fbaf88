"""Speed of the cores of a repetition: a fixed piece of work, timed before and after the repetition.

The work takes about 0.1 s: half of it computes, half streams memory (`workflows.measure.fixed_work`). It is
launched like the repetition, with one process per core. Its time does not count for the repetition.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from workflows.domain import Interconnect, Point
from workflows.launch.cluster_launch import Node
from workflows.launch.execution import Execution, execute
from workflows.launch.last_words import explaining_line
from workflows.launch.launch import launch_ranks
from workflows.measure.running import scratch_folder
from workflows.plan.record import Speed

FROM_SECONDS = 5.0
"""Expected duration of a repetition from which on the work is timed."""
PROGRAM = Path(__file__).parent.resolve() / "fixed_work.py"
LEAD_SECONDS = 0.4
"""Time from the launch to the beginning of the work. Processes that start later begin at once."""
TIME_LIMIT_SECONDS = 30.0

WorkTimes = tuple[float | None, float | None, str | None]
"""Seconds of the computing part and of the streaming part on the slowest core; or two None and the reason."""

NOT_TIMED: WorkTimes = (None, None, "the run does not count")


def time_fixed_work(point: Point, interconnect: Interconnect | None, nodes: Sequence[Node]) -> WorkTimes:
    """Time the fixed piece of work on all cores of a point at once.

    Parameters
    ----------
    interconnect : Interconnect or None
        None for a serial run.
    nodes : sequence of Node
        The emulated nodes of the interconnect, or the nodes of the job; else empty.
    """
    every_core = replace(point, processes=point.cores, oversubscription=1, servers_per_process=0, threads=1)
    with scratch_folder() as scratch:
        start = time.time() + LEAD_SECONDS
        command = [sys.executable, "-I", "-S", str(PROGRAM), str(start)]
        launch = launch_ranks(every_core, interconnect, nodes, command, {}, scratch)
        done = execute(launch.argv, launch.env, scratch, TIME_LIMIT_SECONDS)
    return read_fixed_work(done, point.cores)


def read_fixed_work(done: Execution, cores: int) -> WorkTimes:
    """Read the seconds that the work printed on each core, and return those of the slowest core."""
    parts = []
    for line in done.lines:
        try:
            compute, stream = map(float, line.text.split())
        except ValueError:
            continue  # a line of the launcher
        parts.append((compute, stream))
    if done.timed_out or len(parts) != cores:
        why = f"stopped after {TIME_LIMIT_SECONDS:g} s" if done.timed_out else explaining_line(done.errors)
        return None, None, f"{len(parts)} of {cores} cores reported their speed" + (f": {why}" if why else "")
    compute_seconds, stream_seconds = map(max, zip(*parts, strict=True))
    return compute_seconds, stream_seconds, None


def speed_of(before: WorkTimes, after: WorkTimes) -> Speed:
    """Return the part of a record that describes the speed before and after a repetition."""
    return Speed(*before[:2], *after[:2], before[2] or after[2])
