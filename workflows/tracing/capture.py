"""Tracing a run of a case: a few steady steps, with the serial CPU time of the same steps beside them."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import json
import math
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workflows.applications import application, tools
from workflows.domain import Case, InputError, Interconnect, Point
from workflows.launch import provenance
from workflows.launch.emulation import usable_cores
from workflows.measure.noise import noise_between, read_counters
from workflows.measure.running import Run, run, scratch_folder
from workflows.paths import RESULTS, ROOT
from workflows.tracing.actions import replayable
from workflows.tracing.build import build, compiler_for
from workflows.tracing.lines import Lines
from workflows.tracing.profile import OPERATION_COLUMNS, PAIR_COLUMNS, profile
from workflows.tracing.raw import Raw, read_raw, steps_window, whole
from workflows.tracing.trace import FORMAT, Trace, read_trace, write_rank

INDICATIVE_INFLATION = 1.5
"""Where computing took this much more CPU time than in the serial run, correction decides the result."""

CARRIER = "shared_memory"
"""Interconnect that carries the messages of a traced run: computing does not depend on it, the wait does."""

TRACERS = ROOT / RESULTS / ".tracers"
"""Built tracers, one an MPI library and version of the tracer."""

SKIPPED_STEPS = 2


@dataclass(frozen=True)
class Steps:
    """Where an application's steps are in its output.

    Attributes
    ----------
    mark : tuple of str
        Texts, one of which is printed at the end of every step.
    parameter : str
        Parameter of a case with the number of steps.
    untimed : int
        First steps that the seconds of a timed run do not cover.
    """

    mark: tuple[str, ...]
    parameter: str
    untimed: int


STEPS = {"openfoam": Steps(("ExecutionTime = ",), "iterations", 1)}
"""Applications that are traced step by step; of others the whole run is traced."""


def capture(
    case: Case,
    processes: int,
    prepared: Path,
    interconnect: Interconnect,
    serial: Path | None,
    folder: Path,
    tracers: Path,
    time_limit_seconds: float,
    traced_steps: int,
) -> Trace:
    """Trace a case at a process count.

    Parameters
    ----------
    case : Case
    processes : int
        May be far more than there are cores.
    prepared : Path
        The case prepared for that many processes; not changed.
    interconnect : Interconnect
        What carries the messages meanwhile; it does not matter much, a fast one saves time.
    serial : Path or None
        Trace of the same case on one process, which this one is corrected by; None for that one itself.
    folder : Path
        The trace; nothing is left there if it fails.
    tracers : Path
        Where built tracers are kept.
    time_limit_seconds : float
        A run that takes longer is stopped.
    traced_steps : int
        At most, of an application in `STEPS`.

    Returns
    -------
    Trace

    Raises
    ------
    InputError
        One line: the tracer cannot be built, the run fails, it calls what the tracer does not know, or the
        steps cannot be told apart.
    """
    steps = STEPS.get(case.application)
    skipped = SKIPPED_STEPS if steps else 0
    short = _shortened(case, steps, traced_steps)
    cores = min(processes, len(usable_cores()), interconnect.cores_per_node)
    point = Point(case.name, interconnect.name, processes, math.ceil(processes / cores), nodes=1, cores=cores)
    try:
        done, load, raws = _run_traced(
            case,
            short,
            point,
            prepared,
            interconnect,
            tracers,
            time_limit_seconds,
            steps.mark if steps else (),
        )
        window, held = steps_window(raws, skipped) if steps else (whole(raws), 1)
        of_serial = _read_serial(serial, case, held) if serial else None
        rate = of_serial["ns_per_count"] if of_serial else _ns_per_count(raws[0])
        actions = replayable(raws, window, rate)
    except InputError as error:
        raise InputError(f"case {case.name}, {processes} processes: cannot be traced: {error}") from None
    with _complete(folder) as begun:
        summed = profile([_write_actions(begun, actions.lines(rank)) for rank in range(processes)])
        serial_seconds = of_serial["serial_cpu_seconds"] if of_serial else sum(summed.compute_seconds)
        polluted = processes > cores and raws[0].clock != "instructions"
        about = {
            "format": FORMAT,
            "case": case.name,
            "application": case.application,
            "size": case.size,
            "processes": processes,
            "program": application(case.application).command(short, processes),
            "mpi_library": raws[0].library,
            "steps": held,
            "timed_steps": case.parameters[steps.parameter] - steps.untimed if steps else 1,
            "skipped_steps": skipped,
            "mark": list(steps.mark) if steps else [],
            "clock": raws[0].clock,
            "clock_cost": [raw.clock_cost for raw in raws],
            "ns_per_count": rate,
            **correction(summed.compute_seconds, serial_seconds, polluted),
            "load": load,
            "cut_messages": actions.cut_messages,
            "operations": summed.operations(),
            "made": done.execution.started,
            "machine": provenance.machine(),
        }
        _write_table(begun / "profile.csv", OPERATION_COLUMNS, summed.operations())
        _write_table(begun / "pairs.csv", PAIR_COLUMNS, summed.pairs())
        (begun / "trace.json").write_text(json.dumps(about, indent=1) + "\n")
    return read_trace(folder)


def correction(compute_seconds: Sequence[float], serial_cpu_seconds: float, polluted: bool) -> dict[str, Any]:
    """Find what the compute amounts are to be multiplied by.

    The work hardly grows with the number of ranks; what their CPU time adds to that of the serial run comes
    from ranks that push each other out of the caches of the cores that they share. So all ranks are scaled by
    one factor that makes the sum the serial CPU time. Raw and corrected amounts are the ends of a band.

    Parameters
    ----------
    compute_seconds : sequence of float
        By rank.
    serial_cpu_seconds : float
        Of the same steps on one process.
    polluted : bool
        Whether ranks shared cores and CPU time was measured, not instructions; else nothing is corrected.

    Returns
    -------
    dict
        ``compute_seconds, serial_cpu_seconds, inflation, corrected_factor, correction, indicative`` as the
        schema of trace.json describes them.
    """
    inflation = sum(compute_seconds) / serial_cpu_seconds
    needed = polluted and inflation > 1
    return {
        "compute_seconds": list(compute_seconds),
        "serial_cpu_seconds": serial_cpu_seconds,
        "inflation": inflation,
        "corrected_factor": [1 / inflation if needed else 1.0] * len(compute_seconds),
        "correction": "serial_sum" if needed else "none",
        "indicative": inflation > INDICATIVE_INFLATION,
    }


def preload(tracer: Path, written: Path, marks: Sequence[str]) -> list[str]:
    """Begin a rank's command so that it is traced.

    Parameters
    ----------
    tracer : Path
        From `workflows.tracing.build.build`.
    written : Path
        Folder for what the ranks write.
    marks : sequence of str
        Texts whose output is marked.
    """
    listed = "\n".join(marks)
    return ["env", f"LD_PRELOAD={tracer}", f"NODEWORTH_TRACE={written}", f"NODEWORTH_TRACE_MARKS={listed}"]


def _shortened(case: Case, steps: Steps | None, traced: int) -> Case:
    """The case with no more steps than are traced."""
    if steps is None:
        return case
    count = min(case.parameters[steps.parameter], SKIPPED_STEPS + traced + 1)
    return replace(case, parameters=case.parameters | {steps.parameter: count})


def _run_traced(
    case: Case,
    short: Case,
    point: Point,
    prepared: Path,
    interconnect: Interconnect,
    tracers: Path,
    time_limit_seconds: float,
    marks: Sequence[str],
) -> tuple[Run, dict[str, Any], list[Raw]]:
    """Run the shortened case with the tracer; give the run, what the machine did meanwhile, and the traces.

    Raises
    ------
    InputError
        The tracer cannot be built, the run fails, or a rank wrote nothing whole.
    """
    program = application(case.application).command(short, point.processes)[0]
    tracer = build(compiler_for(program), tracers)
    carrier = interconnect if point.processes > 1 else None
    with scratch_folder() as scratch:
        short_prepared, written = scratch / "prepared", scratch / "trace"
        written.mkdir()
        _prepare_short(case, short, prepared, short_prepared)
        before = read_counters()
        prefix = preload(tracer, written, marks)
        done = run(short, point, short_prepared, carrier, (), time_limit_seconds, prefix)
        noise = noise_between(before, read_counters(), done.execution.cpu_seconds)
        _check_run(done, written)
        raws = read_raw(written, point.processes)
    load = {
        "cores": point.cores,
        "processes_per_core": point.processes_per_core,
        **dataclasses.asdict(noise),
        "wall_seconds": done.execution.wall_seconds,
        "cpu_seconds": done.execution.cpu_seconds,
    }
    return done, load, raws


def _prepare_short(case: Case, short: Case, prepared: Path, folder: Path) -> None:
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


def _read_serial(serial: Path, case: Case, steps: int) -> Mapping[str, Any]:
    """What the description of the serial trace says."""
    about = read_trace(serial).about
    if (about["case"], about["processes"], about["steps"]) != (case.name, 1, steps):
        raise InputError(
            f"{serial}: is of {about['case']}, {about['processes']} processes, {about['steps']} steps; the "
            f"serial trace must be of {case.name}, 1 process, {steps} steps"
        )
    return about


def _ns_per_count(raw: Raw) -> float:
    """What a count of the clock stands for: by the serial run, where instructions are counted."""
    return raw.cpu_ns / raw.count if raw.clock == "instructions" else 1.0


@contextlib.contextmanager
def _complete(folder: Path) -> Iterator[Path]:
    """Give a folder to fill beside one that gets its name, and replaces what is there, when all went well."""
    begun = folder.with_name(f".{folder.name}.begun")
    shutil.rmtree(begun, ignore_errors=True)
    begun.mkdir(parents=True)
    try:
        yield begun
        if folder.exists():
            shutil.rmtree(folder)
        begun.rename(folder)
    finally:
        shutil.rmtree(begun, ignore_errors=True)


def _write_actions(folder: Path, lines: Lines) -> Counter[str]:
    """Write the file of a rank; give how often there is each line."""
    write_rank(folder, lines.rank, lines)
    return lines.counts()


def _write_table(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, columns, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
