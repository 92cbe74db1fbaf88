"""A single run of a point: stage the case, launch it, read its output."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from workflows.applications import application
from workflows.applications.base import Application
from workflows.applications.tools import TOO_SHORT, beyond_wall
from workflows.domain import Case, Interconnect, Option, Point, Reading
from workflows.jobs.slurm import complaint, first_error, lost_resource, without_chatter
from workflows.launch import attesters
from workflows.launch.attesters import Probe
from workflows.launch.cluster_launch import Node
from workflows.launch.execution import Execution, execute
from workflows.launch.last_words import error_line, explaining_line
from workflows.launch.launch import launch_ranks
from workflows.launch.leftovers import PREFIX, owner
from workflows.launch.mpi.library import Launch, Report
from workflows.launch.mpi.registry import library_of, read_report
from workflows.launch.placement import check_domains, check_placement, check_threads, read_placement
from workflows.measure.energy import Meter
from workflows.measure.noise import killed_for_memory

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that set the number of threads of a process."""
ONE_THREAD = dict.fromkeys(THREADS, "1")


@dataclass(frozen=True)
class Run:
    """Result of a run.

    Attributes
    ----------
    launch : Launch
        Command line and environment.
    execution : Execution
        Output, exit status, wall and CPU time.
    reading : Reading
        Time, answer and problems in the output.
    placement : list of dict
        Host and cores of every rank, as the ranks report them.
    one_sided_windows : dict of str to int
        Number of one-sided windows by the component of Open MPI that carried them.
    probe : Probe or None
        Ping-pong in which the ranks attested the interconnect; None without one.
    world_verified : bool or None
        Whether the size of the world, or the number of processes that the program printed, is that of the
        point; None for a serial run.
    meter_readings : list of str
        Readings of the meter on each machine: see ``workflows/launch/metered``.
    problem : str or None
        Why the run does not count, apart from its answer and its probe. None for a valid run.
    """

    launch: Launch
    execution: Execution
    reading: Reading
    placement: list[dict[str, Any]]
    one_sided_windows: dict[str, int]
    probe: Probe | None
    world_verified: bool | None
    meter_readings: list[str]
    problem: str | None


def run(
    case: Case,
    point: Point,
    prepared: Path,
    interconnect: Interconnect | None,
    nodes: Sequence[Node],
    time_limit_seconds: float,
    prefix: Sequence[str] = (),
    attest: bool = False,
    meter: Meter | None = None,
) -> Run:
    """Run a point once, in a fresh folder that is removed afterwards.

    Parameters
    ----------
    prepared : Path
        The case prepared for the point's processes. It is not changed.
    interconnect : Interconnect or None
        None for a serial run.
    nodes : sequence of Node
        The emulated nodes of the interconnect, or the nodes of the job; else empty.
    prefix : sequence of str
        Words before each rank's command: a program that starts the command, such as ``env`` for a tracer.
    attest : bool
        Whether the ranks attest the interconnect, if its file asks for it and if they can. Nodeworth then
        also checks that all ranks belong to the same MPI world.
    meter : Meter or None
        Meter to read during the run.
    """
    app = application(case.application)
    with scratch_folder() as scratch, contextlib.ExitStack() as stack:
        # Only files of the case go to the disk; files of MPI stay in memory.
        parent = stack.enter_context(scratch_folder(on_disk=True)) if case.drop_page_cache else scratch
        folder = parent / "run"
        folder.mkdir()
        app.stage(case, prepared.absolute(), folder)
        started = started_point(point, case.option)
        environment = case_environment(case, point.processes + point.servers)
        watched = interconnect if attest and started.processes > 1 else None
        reporting: dict[str, str] = {}
        if watched:
            reporting |= attesters.world_environment(watched.launch["mpi"])
        if attest:
            reporting |= _attesting(case, started, interconnect, scratch)
        if point.threads > 1:
            reporting |= threads_environment(point, library_of(interconnect).name)
        readings = scratch / "energy"
        if meter:
            readings.mkdir()
            prefix = [*prefix, *meter.prefix(readings)]
        launch = launch_ranks(
            started,
            interconnect,
            nodes,
            [*prefix, *app.command(case, point.processes, point.threads)],
            environment | reporting,
            scratch,
        )
        killed_before = killed_for_memory()
        execution = execute(launch.argv, launch.env, folder, time_limit_seconds)
        if killed_before is not None and (killed_for_memory() or 0) > killed_before:
            message = "nodeworth: out of memory: the kernel ended a process on this machine during the run\n"
            execution = replace(execution, errors=execution.errors + message)
        if app.reads_errors:
            both = [*execution.lines, *execution.error_lines]
            execution = replace(execution, lines=sorted(both, key=attrgetter("seconds")))
        report = read_report(interconnect, scratch)
        if report.other_messages:
            execution = replace(execution, errors=report.other_messages + execution.errors)
        reading = app.read(case, point.processes, execution.lines, point.threads)
        placement = read_placement(scratch)
        probe = attesters.read_probe(scratch, placement, report.transports) if reporting else None
        worlds = attesters.read_worlds(scratch)
        meter_readings = [file.read_text() for file in sorted(readings.iterdir())] if meter else []
    problem = (
        problem_of(app, execution, reading, time_limit_seconds)
        or (attesters.check_worlds(worlds, started.processes, watched, reading.copies) if watched else None)
        or check_placement(placement, started, nodes)
        or check_threads(placement, point)
        or check_domains(placement, interconnect.launch.get("placement") if interconnect else None)
        or _one_sided_problem(interconnect, report, reading.one_sided and point.processes > 1)
    )
    world_verified = reading.processes == point.processes or any(
        world.processes >= started.processes for world in worlds
    )
    return Run(
        launch,
        execution,
        reading,
        placement,
        report.windows,
        probe,
        world_verified if started.processes > 1 else None,
        meter_readings,
        problem,
    )


def _one_sided_problem(interconnect: Interconnect | None, report: Report, one_sided: bool) -> str | None:
    """Return why one-sided messages did not go through the interconnect; None for a serial run."""
    if interconnect is None:
        return None
    return library_of(interconnect).one_sided_problem(interconnect.launch, report, one_sided)


def case_environment(case: Case, ranks: int) -> dict[str, str]:
    """Return the environment variables of a case for its ranks. Its option applies to several ranks only."""
    option = case.option.environment if case.option and ranks > 1 else {}
    return ONE_THREAD | application(case.application).environment(case) | option


def threads_environment(point: Point, library: str) -> dict[str, str]:
    """Return the environment variables that set the threads of each process, and make threads report cores.

    These variables override those of the case. ``workflows/launch/rank`` binds OpenMP threads to cores.
    """
    passive = {"OMP_WAIT_POLICY": "passive"} if point.running > point.cores else {}
    return dict.fromkeys(THREADS, str(point.threads)) | passive | attesters.thread_environment(library)


def _attesting(case: Case, point: Point, interconnect: Interconnect | None, scratch: Path) -> dict[str, str]:
    """Return the environment variables that make the ranks attest the interconnect; empty if they cannot."""
    if interconnect is None or interconnect.attest is None or attesters.cannot_attest(case, interconnect):
        return {}
    return attesters.environment(point, interconnect, scratch)


def started_point(point: Point, option: Option | None) -> Point:
    """Return the point as the launcher sees it. Data servers that are MPI ranks count as processes there."""
    if option is None or not option.server_ranks:
        return point
    return replace(point, processes=point.running, servers_per_process=0)


def scratch_parent(on_disk: bool = False) -> Path:
    """Return the parent of folders for files of runs.

    It is ``NODEWORTH_SCRATCH`` if set. Else it is /dev/shm in memory, or /var/tmp if the files must be
    `on_disk`. If that is not writable, it is ``$TMPDIR``.
    """
    if chosen := os.environ.get("NODEWORTH_SCRATCH"):
        return Path(chosen)
    preferred = Path("/var/tmp" if on_disk else "/dev/shm")
    return preferred if os.access(preferred, os.W_OK) else Path(tempfile.gettempdir())


@contextlib.contextmanager
def scratch_folder(on_disk: bool = False) -> Iterator[Path]:
    """Make a fresh folder named after this process, and remove it afterwards: see `scratch_parent`."""
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{owner()}-", dir=scratch_parent(on_disk).absolute()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


_ERROR = re.compile(r"\b(?:FATAL|ERROR|Error)\b")


def printed_error(execution: Execution) -> str | None:
    """Return the first line of standard output that names an error; None if no line does."""
    texts = (line.text.strip() for line in execution.lines if line not in execution.error_lines)
    return next(filter(_ERROR.search, texts), None)


def problem_of(
    app: Application, execution: Execution, reading: Reading, time_limit_seconds: float
) -> str | None:
    """Return the first reason in the output why a run does not count; None for a valid run.

    `reading` is the result of `app.read`; `time_limit_seconds` is the limit of `execution`.
    """
    if execution.timed_out:
        return f"stopped at its time limit of {time_limit_seconds:g} s (limits.run_seconds)"
    if execution.signal or execution.exit_status:
        ending = (
            f"ended by {execution.signal}" if execution.signal else f"exit status {execution.exit_status}"
        )
        reason = _reason(app, execution, reading)
        return f"{ending}: {reason}" if reason else ending
    problem = reading.problem or beyond_wall(reading, execution.wall_seconds)
    if problem is None and not (reading.seconds and reading.seconds > 0):
        return TOO_SHORT
    return problem


def _reason(app: Application, execution: Execution, reading: Reading) -> str:
    """Return why a program failed, the cause before its consequences; empty without a reason.

    The order: a lost resource, the error that the program names, what Slurm states about a rank, the best
    line of standard error, what is wrong with the output.
    """
    errors = without_chatter(execution.errors)
    explained, best = app.explain(errors), explaining_line(errors)
    in_output = error_line("\n".join(line.text for line in execution.lines)) if app.reads_errors else None
    general = in_output or best or first_error(execution.errors) or printed_error(execution)
    return (
        lost_resource(execution.errors)
        or (explained if explained != best else None)
        or error_line(errors)
        or complaint(execution.errors)
        or (None if in_output else explained)
        or "; ".join(filter(None, (reading.problem, general)))
    )
