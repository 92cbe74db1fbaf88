"""Runs of a case with the tracer: first all ranks together, recorded, then each rank alone."""

from __future__ import annotations

import dataclasses
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflows.applications import application, tools
from workflows.domain import Case, InputError, Point
from workflows.launch.attesters import thread_environment
from workflows.launch.emulation import usable_cores
from workflows.launch.execution import execute
from workflows.launch.last_words import explaining_line
from workflows.launch.launch import environment_alone
from workflows.launch.mpi.library import FINALIZE
from workflows.launch.mpi.registry import library_of
from workflows.launch.placement import check_threads, read_threads
from workflows.measure.noise import noise_between, read_counters
from workflows.measure.running import THREADS, Run, case_environment, run, scratch_folder
from workflows.tracing.alone import (
    Alone,
    Cores,
    UnrepeatableError,
    Window,
    cannot_repeat,
    computing_in,
    run_alone,
)
from workflows.tracing.build import build, compiler_for
from workflows.tracing.raw import Raw, read_raw
from workflows.tracing.request import TraceRequest

MOST_LOGGED_BYTES = 64_000_000_000
"""Largest total size of the logs; less if half of the free disk space is less."""

LOGS = "logs"
"""Subfolder of a run for the logs."""

THREADED_CLOCK = {"NODEWORTH_TRACE_CLOCK": "elapsed"}
"""Tracer settings for a rank with several threads, which computes until its last thread is done."""

NOT_REQUESTED = "timing alone was not requested"
"""Reason for not running each rank alone."""


@dataclass(frozen=True)
class Traced:
    """Results of a traced run.

    Attributes
    ----------
    started : str
        Start time, ISO 8601.
    load : dict
        Load of the machine during the run.
    raws : list of Raw
        The recorded ranks. If the ranks were timed alone, with the compute times of these runs.
    window : Window
        Traced lines of each rank.
    steps : int
        Number of steps in the window.
    alone : Alone or None
        Times of ranks that ran alone.
    reason : str
        Why ranks were not timed alone; empty if they were.
    log_bytes : int
        Total size of the logs.
    """

    started: str
    load: dict[str, Any]
    raws: list[Raw]
    window: Window
    steps: int
    alone: Alone | None
    reason: str
    log_bytes: int


@dataclass(frozen=True)
class _AloneRunner:
    """Starts traced ranks of a program without a launcher."""

    request: TraceRequest
    processes: int  # 1 for the interleaved serial run
    prepared: Path
    library: str  # MPI library of the program
    ending: dict[str, str]  # environment variables that set how ranks ended in the recorded run
    tracer: str  # preloaded libraries
    scratch: Path

    def ranks(self, rank_cores: Sequence[tuple[int, Cores]], folder: Path) -> str | None:
        """Run ranks from the log on their cores, ranks of the same cores in turn; return the error."""
        ranks_by_cores: dict[Cores, list[str]] = {}
        for rank, cores in rank_cores:
            ranks_by_cores.setdefault(cores, []).append(str(rank))
        log = {"NODEWORTH_TRACE_LOG": str(self.scratch / LOGS)}
        settings = {
            cores: log | {"NODEWORTH_TRACE_ALONE": ",".join(ranks)} for cores, ranks in ranks_by_cores.items()
        }
        problem = self._start(settings, folder, max(map(len, ranks_by_cores.values())))
        for cores, ranks in ranks_by_cores.items() if not problem else ():
            threads = read_threads(folder / f"threads-{_listed(cores)}")
            placement = {"rank": int(ranks[0]), "cores": _listed(cores), "threads": threads}
            point = Point(self.request.case.name, None, 1, 1, 1, len(cores), threads=len(cores))
            if misplaced := check_threads([placement], point):
                raise UnrepeatableError(f"{misplaced}, by itself")
        return problem

    def serial(self, prepared_serial: Path, steps: int) -> Callable[[int], float]:
        """Return a function that runs the serial case on a core and returns its compute seconds."""
        request = dataclasses.replace(self.request, threads=1)
        prepared, written = self.scratch / "prepared-serial", self.scratch / "serial"
        prepare_short(request.case, request.short, prepared_serial, prepared)
        single = dataclasses.replace(self, request=request, processes=1, prepared=prepared)

        def seconds(core: int) -> float:
            shutil.rmtree(written, ignore_errors=True)
            written.mkdir()
            problem = single._start({(core,): {}}, written)
            try:
                raws = read_raw(written, 1)
                window, traced_steps = request.window(raws)
                if traced_steps != steps:
                    raise InputError(f"{traced_steps} steps can be traced, not {steps}")
            except InputError as error:
                reason = f"{error}; {problem}" if problem else error
                raise UnrepeatableError(f"the interleaved serial run: {reason}") from None
            return computing_in(raws[0], window[0])

        return seconds

    def _start(
        self, settings: Mapping[Cores, Mapping[str, str]], folder: Path, in_turn: int = 1
    ) -> str | None:
        """Run the program with the settings of each set of cores; at most `in_turn` ranks share a set."""
        case, limit = self.request.short, self.request.time_limit_seconds
        app, threads, parts = application(case.application), self.request.threads, []
        for cores, core_settings in settings.items():
            listed = _listed(cores)
            stage = self.scratch / f"cores-{listed}"
            shutil.rmtree(stage, ignore_errors=True)
            stage.mkdir()
            app.stage(case, self.prepared.resolve(), stage)
            variables = {"NODEWORTH_TRACE_CLOCK": "thread_cpu", **core_settings}
            if threads > 1:
                places = ",".join(f"{{{core}}}" for core in cores)
                binding = {"OMP_PLACES": places, "OMP_PROC_BIND": "close"}
                binding |= {"NODEWORTH_THREADS_FILE": str(folder / f"threads-{listed}")}
                variables |= THREADED_CLOCK | dict.fromkeys(THREADS, str(threads)) | binding
            prefix = preload(self.tracer, folder, self.request.marks, variables)
            command = ["taskset", "-c", listed, *prefix, *app.command(case, self.processes, threads)]
            parts.append(f"(cd {shlex.quote(str(stage))} && exec {shlex.join(command)} >/dev/null) &")
        case_variables = case_environment(case, self.processes) | self.ending
        environment = environment_alone(self.library, case_variables, self.scratch)
        done = execute(["sh", "-c", "\n".join([*parts, "wait"])], environment, self.scratch, limit * in_turn)
        if done.timed_out:
            return f"stopped at its time limit of {in_turn} times {limit:g} s (limits.run_seconds)"
        return explaining_line(done.errors)


def record(request: TraceRequest, point: Point) -> Traced:
    """Run a case with the tracer on the cores of a point, then run each of its ranks alone.

    Raises
    ------
    InputError
        The tracer cannot be built, the run fails, a rank's file is incomplete, or the steps are not marked.
    """
    short = request.short
    program = application(short.application).command(short, point.processes)[0]
    carrier = request.interconnect if point.running > 1 else None
    library = library_of(carrier).name
    tracer = str(build(compiler_for(program, library)))
    if threaded := point.threads > 1:
        tracer = f"{thread_environment(library)['NODEWORTH_THREADS']}:{tracer}"
    alone: Alone | None = None
    reason: str | None = NOT_REQUESTED
    with scratch_folder() as scratch:
        prepared, written, logs = scratch / "prepared", scratch / "trace", scratch / LOGS
        written.mkdir()
        logs.mkdir()
        prepare_short(request.case, short, request.prepared, prepared)
        room = min(MOST_LOGGED_BYTES, shutil.disk_usage(scratch).free // 2) // point.processes
        logged = {"NODEWORTH_TRACE_LOG": str(logs), "NODEWORTH_TRACE_LOG_BYTES": str(room)}
        before = read_counters()
        variables = (logged if request.alone else {}) | (THREADED_CLOCK if threaded else {})
        prefix = preload(tracer, written, request.marks, variables)
        crowded = threaded and point.oversubscription > 1
        if crowded:  # every rank gets all cores, as a BLAS starts at most one thread per core
            prefix = ["taskset", "-c", _listed(usable_cores()), *prefix]
        done = run(short, point, prepared, carrier, (), request.time_limit_seconds, prefix)
        noise = noise_between(before, read_counters(), done.execution.cpu_seconds)
        _check_run(done, written)
        if not crowded and (misplaced := check_threads(done.placement, point)):
            raise InputError(misplaced)
        raws = read_raw(written, point.processes)
        window, steps = request.window(raws)
        log_bytes = sum(path.stat().st_size for path in logs.iterdir())
        if request.alone and not (reason := cannot_repeat(written)):
            ending = {name: value for name, value in done.launch.env.items() if name == FINALIZE}
            runner = _AloneRunner(request, point.processes, prepared, library, ending, tracer, scratch)
            serial = runner.serial(request.serial_prepared, steps) if request.serial_prepared else None
            try:
                alone = run_alone(
                    raws, window, written, runner.ranks, serial, request.repeats, request.threads
                )
                reason = ""
            except UnrepeatableError as error:
                reason = str(error)
    load = {
        "cores": point.cores,
        "processes_per_core": point.processes_per_core,
        **dataclasses.asdict(noise),
        "wall_seconds": done.execution.wall_seconds,
        "cpu_seconds": done.execution.cpu_seconds,
    }
    timed = alone.raws if alone else raws
    return Traced(done.execution.started, load, timed, window, steps, alone, reason or "", log_bytes)


def preload(
    tracer: Path | str, written: Path, marks: Sequence[str], variables: Mapping[str, str] | None = None
) -> list[str]:
    """Return the start of a rank's command that preloads the tracer.

    Parameters
    ----------
    tracer : path
        Library from `workflows.tracing.build.build`; other preloaded libraries may precede it with a colon.
    written : Path
        Folder for the tracer's output.
    marks : sequence of str
        Texts whose output by the program the tracer marks.
    variables : mapping of str to str, optional
        Further environment variables.
    """
    setting = {
        "LD_PRELOAD": tracer,
        "NODEWORTH_TRACE": written,
        "NODEWORTH_TRACE_MARKS": "\n".join(marks),
        "PYTHONHASHSEED": 0,  # keeps the recorded order of sets when a Python program runs alone
        **(variables or {}),
    }
    return ["env", *(f"{name}={value}" for name, value in setting.items())]


def prepare_short(case: Case, short: Case, prepared: Path, folder: Path) -> None:
    """Link the files of a prepared case, and write the input files of `short` that differ."""
    tools.link_contents(prepared.resolve(), folder)
    app = application(case.application)
    before = app.inputs(case)
    for name, content in app.inputs(short).items():
        if before[name] == content:
            continue
        path = folder / name
        for parent in reversed(path.relative_to(folder).parents[:-1]):
            _make_real(folder / parent)
        path.unlink()
        path.write_bytes(content)


def _listed(cores: Sequence[int]) -> str:
    return ",".join(map(str, cores))


def _make_real(folder: Path) -> None:
    """Replace a link to a folder by a folder of links."""
    if folder.is_symlink():
        source = folder.resolve()
        folder.unlink()
        tools.link_contents(source, folder)


def _check_run(done: Run, written: Path) -> None:
    """Raise an `InputError` if the run failed. A wrong answer is allowed: a few steps need not converge."""
    if (failed := written / "failed.txt").exists():
        raise InputError(failed.read_text().partition("\n")[0] or "the tracer could not write its files")
    if done.execution.timed_out or done.execution.signal or done.execution.exit_status:
        raise InputError(f"{done.problem}")
