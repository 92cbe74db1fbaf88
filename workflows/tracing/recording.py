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
from workflows.domain import Case, InputError, Interconnect, Point
from workflows.launch.execution import execute
from workflows.launch.last_words import telling_line
from workflows.launch.launchers import one_process
from workflows.measure.noise import noise_between, read_counters
from workflows.measure.running import Run, case_environment, run, scratch_folder
from workflows.tracing.alone import Alone, UnrepeatableError, Window, cannot_repeat, computing_in, run_alone
from workflows.tracing.build import build, compiler_for
from workflows.tracing.raw import Raw, read_raw, steps_window, whole

MOST_LOGGED_BYTES = 16_000_000_000
"""Of the logs of all ranks; half of what is free, where that is less."""

NOT_ASKED = "it was not asked for"
"""Why ranks were not run by themselves."""


@dataclass(frozen=True)
class Asked:
    """What is to be traced.

    Attributes
    ----------
    case : Case
        With all of its steps.
    short : Case
        With as many steps as are traced.
    prepared : Path
        Of the point's processes; not changed.
    serial : Path or None
        The case prepared for one process, to be run beside the ranks alone; None where it is not.
    interconnect : Interconnect
        What carries the messages of the traced run.
    tracers : Path
        Where built tracers are kept.
    time_limit_seconds : float
        A run that takes longer is stopped.
    marks : sequence of str
        Texts, one of which ends a step; empty where the whole run is traced.
    skipped : int
        Steps that are not wanted.
    alone : bool
        Whether each rank is run by itself.
    """

    case: Case
    short: Case
    prepared: Path
    serial: Path | None
    interconnect: Interconnect
    tracers: Path
    time_limit_seconds: float
    marks: Sequence[str]
    skipped: int
    alone: bool

    def window(self, raws: Sequence[Raw]) -> tuple[Window, int]:
        """Lines that are wanted, and steps that they hold."""
        return steps_window(raws, self.skipped) if self.marks else (whole(raws), 1)


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
    window : Window
    steps : int
        In the window.
    alone : Alone or None
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
    """Starts ranks of a program without a launcher.

    Attributes
    ----------
    case : Case
    processes : int
    prepared : Path
    library : str
    limit_seconds : float
    scratch : Path
    """

    case: Case
    processes: int
    prepared: Path
    library: str
    limit_seconds: float
    scratch: Path

    def start(self, prefixes: Sequence[Sequence[str]], cores: Sequence[int]) -> str | None:
        """Run the program as often as there are prefixes at the same time; say what went wrong."""
        app = application(self.case.application)
        parts = []
        for prefix, core in zip(prefixes, cores, strict=True):
            folder = self.scratch / f"core-{core}"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            app.stage(self.case, self.prepared.resolve(), folder)
            command = ["taskset", "-c", str(core), *prefix, *app.command(self.case, self.processes)]
            parts.append(f"(cd {shlex.quote(str(folder))} && exec {shlex.join(command)} >/dev/null) &")
        environment = one_process(self.library, case_environment(self.case, self.processes), self.scratch)
        script = "\n".join([*parts, "wait"])
        done = execute(["sh", "-c", script], environment, self.scratch, self.limit_seconds)
        if done.timed_out:
            return f"stopped at its time limit of {self.limit_seconds:g} s"
        return telling_line(done.errors)


def record(asked: Asked, point: Point) -> Traced:
    """Run a case with the tracer, and each of its ranks by itself.

    Parameters
    ----------
    asked : Asked
    point : Point
        Where its ranks are.

    Raises
    ------
    InputError
        The tracer cannot be built, the run fails, a rank wrote nothing whole, or steps cannot be told apart.
    """
    program = application(asked.case.application).command(asked.short, point.processes)[0]
    carrier = asked.interconnect if point.processes > 1 else None
    library = carrier.launch["mpi"] if carrier else "openmpi"
    tracer = build(compiler_for(program, library), asked.tracers)
    with scratch_folder() as scratch:
        prepared, written, logs = scratch / "prepared", scratch / "trace", scratch / "logs"
        written.mkdir()
        logs.mkdir()
        prepare_short(asked.case, asked.short, asked.prepared, prepared)
        room = min(MOST_LOGGED_BYTES, shutil.disk_usage(scratch).free // 2) // point.processes
        logged = {"NODEWORTH_TRACE_LOG": str(logs), "NODEWORTH_TRACE_LOG_BYTES": str(room)}
        before = read_counters()
        prefix = preload(tracer, written, asked.marks, logged if asked.alone else {})
        done = run(asked.short, point, prepared, carrier, (), asked.time_limit_seconds, prefix)
        noise = noise_between(before, read_counters(), done.execution.cpu_seconds)
        _check_run(done, written)
        raws = read_raw(written, point.processes)
        window, steps = asked.window(raws)
        log_bytes = sum(path.stat().st_size for path in logs.iterdir())
        by_itself = _ByItself(
            asked.short, point.processes, prepared, library, asked.time_limit_seconds, scratch
        )
        alone, reason = _alone(asked, by_itself, tracer, raws, window, steps, written, logs)
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
    tracer: Path, written: Path, marks: Sequence[str], more: Mapping[str, str] | None = None
) -> list[str]:
    """Begin a rank's command so that it is traced.

    Parameters
    ----------
    tracer : Path
        From `workflows.tracing.build.build`.
    written : Path
        Folder for what the ranks write.
    marks : sequence of str
        Texts whose output is marked.
    more : mapping of str to str, optional
        Other settings of the tracer.
    """
    setting = {
        "LD_PRELOAD": tracer,
        "NODEWORTH_TRACE": written,
        "NODEWORTH_TRACE_MARKS": "\n".join(marks),
        "PYTHONHASHSEED": 0,  # of a Python program by itself sets have the order that was recorded
        **(more or {}),
    }
    return ["env", *(f"{name}={value}" for name, value in setting.items())]


def _alone(
    asked: Asked,
    by_itself: _ByItself,
    tracer: Path,
    raws: Sequence[Raw],
    window: Window,
    steps: int,
    written: Path,
    logs: Path,
) -> tuple[Alone | None, str]:
    """Run each rank by itself; say why not where that cannot be."""
    if reason := NOT_ASKED if not asked.alone else cannot_repeat(written):
        return None, reason

    def start(placed: Sequence[tuple[int, int]], folder: Path) -> str | None:
        prefixes = [
            preload(
                tracer,
                folder,
                asked.marks,
                {
                    "NODEWORTH_TRACE_LOG": str(logs),
                    "NODEWORTH_TRACE_ALONE": str(rank),
                    "NODEWORTH_TRACE_CLOCK": "thread_cpu",
                },
            )
            for rank, _ in placed
        ]
        return by_itself.start(prefixes, [core for _, core in placed])

    beside = _serial_beside(asked, by_itself, tracer, steps) if asked.serial else None
    try:
        return run_alone(raws, window, written, start, beside), ""
    except UnrepeatableError as why:
        return None, str(why)


def _serial_beside(asked: Asked, by_itself: _ByItself, tracer: Path, steps: int) -> Callable[[int], float]:
    """Make what runs the case on one process, on a core, and gives the seconds that its steps computed."""
    prepared = by_itself.scratch / "prepared-serial"
    prepare_short(asked.case, asked.short, asked.serial, prepared)
    one = dataclasses.replace(by_itself, processes=1, prepared=prepared)

    def serial(core: int) -> float:
        written = by_itself.scratch / "serial"
        shutil.rmtree(written, ignore_errors=True)
        written.mkdir()
        prefix = preload(tracer, written, asked.marks, {"NODEWORTH_TRACE_CLOCK": "thread_cpu"})
        problem = one.start([prefix], [core])
        try:
            raws = read_raw(written, 1)
            window, made = asked.window(raws)
            if made != steps:
                raise InputError(f"{made} steps can be traced, not {steps}")
        except InputError as error:
            told = f"{error}; {problem}" if problem else error
            raise UnrepeatableError(f"the serial run beside it: {told}") from None
        return computing_in(raws[0], window[0])

    return serial


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
