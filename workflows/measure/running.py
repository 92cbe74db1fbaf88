"""One run of one point: stage the case, launch it, read what it printed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from workflows.applications import application
from workflows.applications.base import Application
from workflows.applications.tools import beyond_wall
from workflows.domain import Case, Interconnect, Option, Point, Reading
from workflows.jobs.slurm import complaint, first_error, without_chatter
from workflows.launch import attesters
from workflows.launch.emulation import EmulatedNode
from workflows.launch.execution import Execution, execute
from workflows.launch.last_words import telling_line
from workflows.launch.launch import launch_ranks
from workflows.launch.leftovers import PREFIX, owner
from workflows.launch.mpi.library import Launch, Report
from workflows.launch.mpi.registry import library_of, read_report
from workflows.launch.placement import check_domains, check_placement, check_threads, read_placement
from workflows.launch.probes import Probe
from workflows.measure.energy import Meter

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that say with how many threads a process computes."""
ONE_THREAD = dict.fromkeys(THREADS, "1")


@dataclass(frozen=True)
class Run:
    """What one run came to.

    Attributes
    ----------
    launch : Launch
        Command line and environment.
    execution : Execution
        Output, exit status, wall and CPU time.
    reading : Reading
        What the output says.
    placement : list of dict
        Host and cores of every rank, as the ranks saw them.
    one_sided_windows : dict of str to int
        Number of one-sided windows by the component of Open MPI that carried them.
    probe : Probe or None
        What its ranks attested of the interconnect; None where they did not.
    meter_readings : list of str
        What was read of the meter on each machine: see ``workflows/launch/metered``.
    problem : str or None
        Why it does not count, the answer and the probe apart; None for a sound run.
    """

    launch: Launch
    execution: Execution
    reading: Reading
    placement: list[dict[str, Any]]
    one_sided_windows: dict[str, int]
    probe: Probe | None
    meter_readings: list[str]
    problem: str | None


def run(
    case: Case,
    point: Point,
    prepared: Path,
    interconnect: Interconnect | None,
    nodes: Sequence[EmulatedNode],
    time_limit_seconds: float,
    prefix: Sequence[str] = (),
    attest: bool = False,
    meter: Meter | None = None,
) -> Run:
    """Run a point once in a fresh folder that is gone afterwards.

    Parameters
    ----------
    prepared : Path
        The case prepared for the point's processes; not changed.
    interconnect : Interconnect or None
        None for a serial run.
    nodes : sequence of EmulatedNode
        The emulated nodes of the interconnect; empty where it is not emulated.
    prefix : sequence of str
        What each rank's command begins with: a program that starts the rest of it (``env`` for a tracer).
    attest : bool
        Whether the ranks attest the interconnect, if its file asks for it and they can, and show whether they
        are one run.
    meter : Meter or None
        What counts its energy; it is read beside it.
    """
    app = application(case.application)
    with scratch_folder() as scratch, contextlib.ExitStack() as also:
        # MPI's files stay in memory.
        place = also.enter_context(scratch_folder(on_disk=True)) if case.drop_page_cache else scratch
        folder = place / "run"
        folder.mkdir()
        app.stage(case, prepared.absolute(), folder)
        placed = placed_ranks(point, case.option)
        watched = attest and interconnect is not None and placed.processes > 1
        asked = attesters.watching(interconnect.launch["mpi"]) if watched else {}
        asked |= _attesting(case, placed, interconnect, scratch) if attest else {}
        asked |= threads_environment(point, interconnect) if point.threads > 1 else {}
        readings = scratch / "energy"
        if meter:
            readings.mkdir()
            prefix = [*prefix, *meter.prefix(readings)]
        launch = launch_ranks(
            placed,
            interconnect,
            nodes,
            [*prefix, *app.command(case, point.processes, point.threads)],
            case_environment(case, point.processes + point.servers) | asked,
            scratch,
        )
        execution = execute(launch.argv, launch.env, folder, time_limit_seconds)
        report = read_report(interconnect, scratch)
        if report.other_messages:
            execution = replace(execution, errors=report.other_messages + execution.errors)
        reading = app.read(case, point.processes, execution.lines, point.threads)
        placement = read_placement(scratch)
        probe = attesters.found(scratch, placement, report.transports) if asked else None
        worlds = attesters.read_worlds(scratch)
        meter_readings = [file.read_text() for file in sorted(readings.iterdir())] if meter else []
    check_one_run = partial(attesters.check_worlds, worlds, placed.processes, interconnect, reading.copies)
    problem = (
        problem_of(app, execution, reading, time_limit_seconds)
        or (check_one_run() if watched else None)
        or check_placement(placement, placed, nodes)
        or check_threads(placement, point)
        or check_domains(placement, interconnect and interconnect.launch.get("placement"))
        or _one_sided_problem(interconnect, report, reading.one_sided and point.processes > 1)
    )
    return Run(launch, execution, reading, placement, report.windows, probe, meter_readings, problem)


def _one_sided_problem(interconnect: Interconnect | None, report: Report, one_sided: bool) -> str | None:
    """Return why one-sided messages did not go through the interconnect; None for a serial run."""
    if interconnect is None:
        return None
    return library_of(interconnect).one_sided_problem(interconnect.launch, report, one_sided)


def case_environment(case: Case, ranks: int) -> dict[str, str]:
    """Give what a case adds to the environment of its ranks; its option is one of several ranks."""
    option = case.option.environment if case.option and ranks > 1 else {}
    return ONE_THREAD | application(case.application).environment(case) | option


def threads_environment(point: Point, interconnect: Interconnect) -> dict[str, str]:
    """Give what makes each process of a point compute with its threads, and tell where they ran.

    What it sets goes before what a case sets. `workflows/launch/rank` binds the threads of OpenMP to cores.
    """
    crowded = {"OMP_WAIT_POLICY": "passive"} if point.running > point.cores else {}
    telling = attesters.telling_threads(interconnect.launch["mpi"])
    return dict.fromkeys(THREADS, str(point.threads)) | crowded | telling


def _attesting(case: Case, point: Point, interconnect: Interconnect | None, scratch: Path) -> dict[str, str]:
    """Environment that makes the ranks attest the interconnect; empty where they do not."""
    if interconnect is None or interconnect.attest is None or attesters.hindrance(case, interconnect):
        return {}
    return attesters.environment(point, interconnect, scratch)


def placed_ranks(point: Point, option: Option | None) -> Point:
    """Give the point as its ranks are started: servers that are ranks are placed like any other."""
    if option is None or not option.server_ranks:
        return point
    return replace(point, processes=point.running, servers_per_process=0)


def scratch_parent(on_disk: bool = False) -> Path:
    """Where runs put their files: ``NODEWORTH_SCRATCH``, else in memory or on a disk, or where they may."""
    if given := os.environ.get("NODEWORTH_SCRATCH"):
        return Path(given)
    wanted = Path("/var/tmp" if on_disk else "/dev/shm")
    return wanted if os.access(wanted, os.W_OK) else Path(tempfile.gettempdir())


@contextlib.contextmanager
def scratch_folder(on_disk: bool = False) -> Iterator[Path]:
    """Give a fresh folder, named after this process, that is gone afterwards: see `scratch_parent`."""
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{owner()}-", dir=scratch_parent(on_disk).absolute()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def problem_of(
    app: Application, execution: Execution, reading: Reading, time_limit_seconds: float
) -> str | None:
    """Why a run does not count, placement and answer apart: the first that holds, in one line.

    `reading` is what `app` read of its output, `time_limit_seconds` the limit that `execution` was given.
    """
    if execution.timed_out:
        return f"stopped at its time limit of {time_limit_seconds:g} s (limits.run_seconds)"
    if execution.signal or execution.exit_status:
        ended = f"ended by {execution.signal}" if execution.signal else f"exit status {execution.exit_status}"
        own = without_chatter(execution.errors)
        seen = "; ".join(filter(None, (reading.problem, telling_line(own) or first_error(execution.errors))))
        why = complaint(execution.errors) or app.explain(own) or seen
        return f"{ended}: {why}" if why else ended
    if reading.problem is None and not (reading.seconds and reading.seconds > 0):
        return "main loop too short to be timed"
    return reading.problem or beyond_wall(reading.printed, execution.wall_seconds)
