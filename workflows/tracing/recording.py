"""Running a case with the tracer: all ranks at once, recorded, and then each rank by itself."""

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
from workflows.launch.last_words import telling_line
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
"""Of the logs of all ranks; half of what is free, where that is less."""

LOGS = "logs"
"""Folder of the logs within that of a run."""

OF_THREADS = {"NODEWORTH_TRACE_CLOCK": "elapsed"}
"""Settings of the tracer for a rank of several threads, which computes until the last of them is done."""

NOT_ASKED = "it was not asked for"
"""Why ranks were not run by themselves."""


@dataclass(frozen=True)
class Traced:
    """What a traced run came to.

    Attributes
    ----------
    started : str
        When, ISO 8601.
    load : dict
        What the machine did meanwhile.
    raws : list of Raw
        With the times of ranks alone, where `alone` is there.
    steps : int
        In the window.
    reason : str
        Why ranks were not timed alone; empty where they were.
    log_bytes : int
        Logs of all ranks.
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
class _ByItself:
    """Starts ranks of a program without a launcher, with the tracer."""

    request: TraceRequest
    processes: int  # 1 for the serial run beside the others
    prepared: Path
    library: str  # that the program is bound to
    ending: dict[str, str]  # environment that says how its ranks ended when they were recorded
    tracer: str  # what is preloaded
    scratch: Path

    def ranks(self, placed: Sequence[tuple[int, Cores]], folder: Path) -> str | None:
        """Run ranks from the log, each on its cores, those of the same in turn; say what went wrong."""
        on_cores: dict[Cores, list[str]] = {}
        for rank, cores in placed:
            on_cores.setdefault(cores, []).append(str(rank))
        log = {"NODEWORTH_TRACE_LOG": str(self.scratch / LOGS)}
        settings = {
            cores: log | {"NODEWORTH_TRACE_ALONE": ",".join(ranks)} for cores, ranks in on_cores.items()
        }
        problem = self._start(settings, folder, max(map(len, on_cores.values())))
        for cores, ranks in on_cores.items() if not problem else ():
            told = read_threads(folder / f"threads-{_listed(cores)}")
            placed = {"rank": int(ranks[0]), "cores": _listed(cores), "threads": told}
            own = Point(self.request.case.name, None, 1, 1, 1, len(cores), threads=len(cores))
            if elsewhere := check_threads([placed], own):
                raise UnrepeatableError(f"{elsewhere}, by itself")
        return problem

    def serial(self, steps: int) -> Callable[[int], float]:
        """Make what runs the case on one process and gives the seconds that its steps computed on a core."""
        request = dataclasses.replace(self.request, threads=1)
        prepared, written = self.scratch / "prepared-serial", self.scratch / "serial"
        prepare_short(request.case, request.short, request.beside, prepared)
        single = dataclasses.replace(self, request=request, processes=1, prepared=prepared)

        def seconds(core: int) -> float:
            shutil.rmtree(written, ignore_errors=True)
            written.mkdir()
            problem = single._start({(core,): {}}, written)
            try:
                raws = read_raw(written, 1)
                window, made = request.window(raws)
                if made != steps:
                    raise InputError(f"{made} steps can be traced, not {steps}")
            except InputError as error:
                why = f"{error}; {problem}" if problem else error
                raise UnrepeatableError(f"the serial run beside it: {why}") from None
            return computing_in(raws[0], window[0])

        return seconds

    def _start(
        self, settings: Mapping[Cores, Mapping[str, str]], folder: Path, in_turn: int = 1
    ) -> str | None:
        """Run the program on cores, each time with its settings and with at most so many ranks in turn."""
        case, limit = self.request.short, self.request.time_limit_seconds
        app, threads, parts = application(case.application), self.request.threads, []
        for cores, own_settings in settings.items():
            listed = _listed(cores)
            own = self.scratch / f"cores-{listed}"
            shutil.rmtree(own, ignore_errors=True)
            own.mkdir()
            app.stage(case, self.prepared.resolve(), own)
            more = {"NODEWORTH_TRACE_CLOCK": "thread_cpu", **own_settings}
            if threads > 1:
                places = ",".join(f"{{{core}}}" for core in cores)
                bound = {"OMP_PLACES": places, "OMP_PROC_BIND": "close"}
                bound |= {"NODEWORTH_THREADS_FILE": str(folder / f"threads-{listed}")}
                more |= OF_THREADS | dict.fromkeys(THREADS, str(threads)) | bound
            prefix = preload(self.tracer, folder, self.request.marks, more)
            command = ["taskset", "-c", listed, *prefix, *app.command(case, self.processes, threads)]
            parts.append(f"(cd {shlex.quote(str(own))} && exec {shlex.join(command)} >/dev/null) &")
        own = case_environment(case, self.processes) | self.ending
        environment = environment_alone(self.library, own, self.scratch)
        done = execute(["sh", "-c", "\n".join([*parts, "wait"])], environment, self.scratch, limit * in_turn)
        if done.timed_out:
            return f"stopped at its time limit of {in_turn} times {limit:g} s (limits.run_seconds)"
        return telling_line(done.errors)


def record(request: TraceRequest, point: Point) -> Traced:
    """Run a case with the tracer, its ranks where a point has them, and each of its ranks by itself.

    Raises
    ------
    InputError
        The tracer cannot be built, the run fails, a rank wrote nothing whole, or steps cannot be told apart.
    """
    short = request.short
    program = application(short.application).command(short, point.processes)[0]
    carrier = request.interconnect if point.running > 1 else None
    library = library_of(carrier).name
    tracer = str(build(compiler_for(program, library)))
    if several := point.threads > 1:
        tracer = f"{thread_environment(library)['NODEWORTH_THREADS']}:{tracer}"
    alone, reason = None, NOT_ASKED
    with scratch_folder() as scratch:
        prepared, written, logs = scratch / "prepared", scratch / "trace", scratch / LOGS
        written.mkdir()
        logs.mkdir()
        prepare_short(request.case, short, request.prepared, prepared)
        room = min(MOST_LOGGED_BYTES, shutil.disk_usage(scratch).free // 2) // point.processes
        logged = {"NODEWORTH_TRACE_LOG": str(logs), "NODEWORTH_TRACE_LOG_BYTES": str(room)}
        before = read_counters()
        more = (logged if request.alone else {}) | (OF_THREADS if several else {})
        prefix = preload(tracer, written, request.marks, more)
        crowded = several and point.oversubscription > 1
        if crowded:  # all cores for each, as a BLAS makes no more threads than it has cores
            prefix = ["taskset", "-c", _listed(usable_cores()), *prefix]
        done = run(short, point, prepared, carrier, (), request.time_limit_seconds, prefix)
        noise = noise_between(before, read_counters(), done.execution.cpu_seconds)
        _check_run(done, written)
        if not crowded and (wrong := check_threads(done.placement, point)):
            raise InputError(wrong)
        raws = read_raw(written, point.processes)
        window, steps = request.window(raws)
        log_bytes = sum(path.stat().st_size for path in logs.iterdir())
        if request.alone and not (reason := cannot_repeat(written)):
            ending = {name: value for name, value in done.launch.env.items() if name == FINALIZE}
            by_itself = _ByItself(request, point.processes, prepared, library, ending, tracer, scratch)
            beside = by_itself.serial(steps) if request.beside else None
            try:
                alone = run_alone(
                    raws, window, written, by_itself.ranks, beside, request.repeats, request.threads
                )
                reason = ""
            except UnrepeatableError as why:
                reason = str(why)
    load = {
        "cores": point.cores,
        "processes_per_core": point.processes_per_core,
        **dataclasses.asdict(noise),
        "wall_seconds": done.execution.wall_seconds,
        "cpu_seconds": done.execution.cpu_seconds,
    }
    timed = alone.raws if alone else raws
    return Traced(done.execution.started, load, timed, window, steps, alone, reason, log_bytes)


def preload(
    tracer: Path | str, written: Path, marks: Sequence[str], more: Mapping[str, str] | None = None
) -> list[str]:
    """Begin a rank's command so that it is traced.

    Parameters
    ----------
    tracer : path
        From `workflows.tracing.build.build`; before it, with a colon, what else is preloaded.
    marks : sequence of str
        Texts whose output is marked.
    """
    setting = {
        "LD_PRELOAD": tracer,
        "NODEWORTH_TRACE": written,
        "NODEWORTH_TRACE_MARKS": "\n".join(marks),
        "PYTHONHASHSEED": 0,  # of a Python program by itself sets have the order that was recorded
        **(more or {}),
    }
    return ["env", *(f"{name}={value}" for name, value in setting.items())]


def prepare_short(case: Case, short: Case, prepared: Path, folder: Path) -> None:
    """Link everything of a prepared case, with the input files of `short` where they differ."""
    tools.link_contents(prepared.resolve(), folder)
    app = application(case.application)
    before = app.inputs(case)
    for name, content in app.inputs(short).items():
        if before[name] == content:
            continue
        path = folder / name
        for parent in reversed(path.relative_to(folder).parents[:-1]):
            _own(folder / parent)
        path.unlink()
        path.write_bytes(content)


def _listed(cores: Sequence[int]) -> str:
    return ",".join(map(str, cores))


def _own(folder: Path) -> None:
    """Make a folder of links of a link to a folder."""
    if folder.is_symlink():
        source = folder.resolve()
        folder.unlink()
        tools.link_contents(source, folder)


def _check_run(done: Run, written: Path) -> None:
    """Make sure that the run ended well; few steps need not have converged."""
    if (failed := written / "failed.txt").exists():
        raise InputError(failed.read_text().partition("\n")[0] or "the tracer could not write its files")
    if done.execution.timed_out or done.execution.signal or done.execution.exit_status:
        raise InputError(f"{done.problem}")
