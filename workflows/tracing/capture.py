"""Tracing of a few steady steps of a case, with a correction by the serial CPU time of the same steps."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.runs.settings import FEWEST_REPEATS
from workflows.applications import application
from workflows.domain import Case, InputError, Point
from workflows.launch import provenance
from workflows.launch.emulation import usable_cores
from workflows.tracing.actions import replayable
from workflows.tracing.alone import Alone
from workflows.tracing.profile import OPERATION_COLUMNS, PAIR_COLUMNS, profile
from workflows.tracing.raw import Raw, step_amounts
from workflows.tracing.recording import record
from workflows.tracing.request import TraceRequest
from workflows.tracing.trace import FORMAT, Trace, read_trace, write_rank

INDICATIVE_INFLATION = 1.5
"""Ratio of the ranks' CPU time to the serial CPU time above which the correction dominates the result."""

INDICATIVE_PRESSURE = 0.5
"""Share of time with a task waiting for a core above which ranks disturbed each other too much."""

INDICATIVE_SPREAD = 1.1
"""Ratio of the ends of the band of ranks alone above which the machine was not quiet."""

CORUN = ("corun_percent", "corun_percent_low", "corun_percent_high")
"""Keys of trace.json for the mutual slowdown of ranks that compute at the same time, with its band."""


def capture(request: TraceRequest, folder: Path, serial: Path | None = None) -> Trace:
    """Trace a case at a process count.

    Parameters
    ----------
    request : TraceRequest
        The trace to make.
    folder : Path
        Folder for the trace; a failed run leaves nothing there.
    serial : Path, optional
        Trace of the same case on one process, for the correction; None to make the serial trace.

    Raises
    ------
    InputError
        The tracer cannot be built, the run fails or calls an unsupported function, or its steps are not
        marked.
    """
    case, processes, steps = request.case, request.processes, request.steps
    try:
        point = place_ranks(request)
        traced = record(request, point)
        if request.threads > 1 and point.oversubscription > 1 and not traced.alone:
            raise InputError(f"its {point.running} threads share {point.cores} cores, and {traced.reason}")
        serial_about = _read_serial(serial, case, traced.steps) if serial else None
        if serial_about and traced.raws[0].clock != "elapsed":
            rate = serial_about["ns_per_count"]
        else:
            rate = _ns_per_count(traced.raws[0])
        ns_per_amount = 1.0 if traced.alone else rate
        actions = replayable(traced.raws, traced.window, ns_per_amount)
    except InputError as error:
        raise InputError(f"case {case.name}, {processes} processes: cannot be traced: {error}") from None
    with _complete(folder) as temporary:
        counts = []
        for rank in range(processes):
            lines = actions.lines(rank)
            write_rank(temporary, rank, lines)
            counts.append(lines.counts())
        summed = profile(counts)
        serial_seconds = serial_about["serial_cpu_seconds"] if serial_about else sum(summed.compute_seconds)
        clock = traced.raws[0].clock
        polluted = point.oversubscription > 1 and clock != "instructions"
        pressure = traced.load["pressure_share"] if processes > 1 else None
        about: dict[str, Any] = {
            "format": FORMAT,
            "case": case.name,
            "application": case.application,
            "size": case.size,
            "processes": processes,
            "program": application(case.application).command(request.short, processes),
            "mpi_library": traced.raws[0].library,
            "steps": traced.steps,
            "timed_steps": case.parameters[steps.parameter] - steps.untimed if steps else 1,
            "skipped_steps": request.skipped,
            "step_seconds": [
                amount * ns_per_amount / 1e9
                for amount in (step_amounts(traced.raws[0], request.skipped) if steps else ())
            ],
            "mark": list(request.marks),
            "threads": request.threads,
            "clock": "thread_cpu" if traced.alone and request.threads == 1 else clock,
            "clock_cost": [raw.clock_cost for raw in traced.raws],
            "ns_per_count": rate,
            **(
                timed_alone(summed.compute_seconds, serial_seconds, traced.alone, request.threads)
                if traced.alone
                else correction(
                    summed.compute_seconds, serial_seconds, polluted, pressure, traced.reason, request.threads
                )
            ),
            "log_bytes": traced.log_bytes,
            "load": traced.load,
            "cut_messages": actions.cut_messages,
            "operations": summed.operations,
            "made": traced.started,
            "machine": provenance.machine(),
        }
        _write_table(temporary / "profile.csv", OPERATION_COLUMNS, summed.operations)
        _write_table(temporary / "pairs.csv", PAIR_COLUMNS, summed.pairs)
        (temporary / "trace.json").write_text(json.dumps(about, indent=1) + "\n")
    return read_trace(folder)


def place_ranks(request: TraceRequest) -> Point:
    """Return the point of the traced run. If there are too few cores for all threads, ranks share cores."""
    carrier, threads = request.interconnect, request.threads
    cores, running = min(len(usable_cores()), carrier.cores_per_node), request.processes * threads
    if threads > cores:
        raise InputError(f"a rank is traced with a core for each thread, {threads}, and there are {cores}")
    level = 1 if running <= cores else math.ceil(request.processes / cores) * threads
    used = running if level == 1 else min(request.processes, cores)
    name = request.case.name
    return Point(name, carrier.name, request.processes, level, nodes=1, cores=used, threads=threads)


def correction(
    compute_seconds: Sequence[float],
    serial_cpu_seconds: float,
    polluted: bool,
    pressure: float | None = None,
    reason: str = "",
    threads: int = 1,
) -> dict[str, Any]:
    """Compute the correction factors of the compute amounts of ranks that ran together.

    The total work of all ranks is about the work of the serial run. But ranks on shared cores evict each
    other's data from the caches, which costs CPU time. So a single factor scales the amounts of all ranks:
    their sum then equals the serial CPU time. Raw and corrected amounts are the ends of a band.

    Parameters
    ----------
    compute_seconds : sequence of float
        Compute time by rank.
    serial_cpu_seconds : float
        CPU time of the same steps on one process.
    polluted : bool
        Whether ranks shared cores and CPU time was measured, not instructions; only then is it corrected.
    pressure : float, optional
        Share of the time in which a task waited for a core; None for a single rank.
    reason : str
        Why ranks were not timed alone.
    threads : int
        Threads of each rank.

    Returns
    -------
    dict
        Keys of trace.json, as its schema describes them.
    """
    inflation = threads * sum(compute_seconds) / serial_cpu_seconds
    needed = polluted and inflation > 1
    ranks = len(compute_seconds)
    factors = [1 / inflation if needed else 1.0] * ranks
    return {
        "timing": "together",
        "timing_reason": reason,
        "repeats": 1,
        "disturbed_repeats": 0,
        "differing_sends": 0,
        "serial_beside_seconds": [],
        "compute_seconds": list(compute_seconds),
        "serial_cpu_seconds": serial_cpu_seconds,
        "inflation": inflation,
        "corrected_factor": factors,
        "low_factor": factors,
        "high_factor": [1.0] * ranks,
        "correction": "serial_sum" if needed else "none",
        **dict.fromkeys(CORUN),
        "indicative": not 1 <= inflation <= INDICATIVE_INFLATION or (pressure or 0) > INDICATIVE_PRESSURE,
    }


def timed_alone(
    compute_seconds: Sequence[float], serial_cpu_seconds: float, alone: Alone, threads: int = 1
) -> dict[str, Any]:
    """Compute the correction factors of ranks that were timed alone.

    Two factors apply to all amounts. The first is the serial time in the serial trace, divided by the time of
    the serial runs between the ranks (if there are any): it corrects for the speed of the machine. The second
    divides by the mutual slowdown of ranks that ran at the same time. The band shows how well this repeats:
    it holds nine tenths of the repeats, each corrected by its own serial runs.

    Parameters
    ----------
    compute_seconds : sequence of float
        Compute time of the median repeat, by rank.
    serial_cpu_seconds : float
        CPU time of the same steps in the serial trace.
    alone : Alone
        Times of all repeats.
    threads : int
        Threads of each rank.

    Returns
    -------
    dict
        Keys of trace.json, as its schema describes them.
    """
    repeats, ranks = alone.seconds.shape
    interleaved = alone.serial_seconds
    speeds = serial_cpu_seconds / interleaved if interleaved.size else np.ones((repeats, 1))
    factor = np.median(speeds, axis=0).mean() / _slowdown(alone, range(repeats))
    factor_by_repeat = speeds.mean(axis=1) / [_slowdown(alone, [repeat]) for repeat in range(repeats)]
    corrected_seconds = alone.seconds * factor_by_repeat[:, None]
    medians = np.array(compute_seconds)
    positive = (medians > 0) & (corrected_seconds > 0)
    ratios = np.divide(corrected_seconds, medians, out=np.ones_like(corrected_seconds), where=positive)
    totals = corrected_seconds.sum(axis=1)
    least, most = _ends(totals)
    corrected = [float(factor)] * ranks
    whole = factor * medians.sum()  # outside all repeats if each rank was disturbed in a different one
    low = corrected if totals[least] > whole else ratios[least].tolist()
    high = corrected if totals[most] < whole else ratios[most].tolist()
    return {
        "timing": "alone",
        "timing_reason": "",
        "repeats": repeats,
        "disturbed_repeats": alone.disturbed,
        "differing_sends": alone.differing_sends,
        "serial_beside_seconds": interleaved.mean(axis=1).tolist() if len(interleaved) else [],
        "compute_seconds": list(compute_seconds),
        "serial_cpu_seconds": serial_cpu_seconds,
        "inflation": float(threads * whole / serial_cpu_seconds),
        "corrected_factor": corrected,
        "low_factor": low,
        "high_factor": high,
        "correction": "serial_beside" if interleaved.size else "none",
        "indicative": bool(repeats < FEWEST_REPEATS or totals[most] > INDICATIVE_SPREAD * totals[least]),
        **corun(alone),
    }


def corun(alone: Alone) -> dict[str, float | None]:
    """Estimate the mutual slowdown of ranks that compute at the same time on a node.

    The time of the same ranks, relative to their time alone, is a function of the number of ranks at the same
    time. The estimate is the slope of a least-squares line through 1 for a rank alone. It uses the median of
    each rank's repeats. The band holds nine tenths of the estimates from single repeats.

    Returns
    -------
    dict
        Keys of trace.json, percent per other rank; None if there were not two ranks and two cores.
    """
    if not alone.corun_seconds:
        return dict.fromkeys(CORUN)
    repeats = range(len(alone.seconds))
    percent = _corun_percent(alone, repeats)
    percents = [_corun_percent(alone, [repeat]) for repeat in repeats]
    low, high = (percents[index] for index in _ends(np.array(percents)))
    return dict(zip(CORUN, (percent, min(percent, low), max(percent, high)), strict=True))


def _corun_percent(alone: Alone, repeats: Sequence[int]) -> float:
    """Return the slope of the line fitted to the given repeats, percent per other rank."""
    times = {
        number: np.median(seconds[repeats], axis=0).sum() for number, seconds in alone.corun_seconds.items()
    }
    weights = sum((number - 1) ** 2 for number in times)
    if not weights or not times[1] > 0:
        return 0.0
    slope = sum((number - 1) * (time / times[1] - 1) for number, time in times.items()) / weights
    return float(100 * max(0.0, slope))


def _slowdown(alone: Alone, repeats: Sequence[int]) -> float:
    """Return the factor by which simultaneous ranks prolonged each other's computing."""
    return 1 + _corun_percent(alone, repeats) / 100 * (alone.width - 1) if alone.corun_seconds else 1.0


def _ends(values: NDArray[np.float64]) -> tuple[int, int]:
    """Return the indices of the values at 5 % and 95 %; with fewer than 20 values, of the extremes."""
    order, beyond = np.argsort(values, kind="stable"), len(values) // 20
    return int(order[beyond]), int(order[-1 - beyond])


def _read_serial(serial: Path, case: Case, steps: int) -> Mapping[str, Any]:
    """Read trace.json of the serial trace, and check that it is of the same case and steps."""
    about = read_trace(serial).about
    if (about["case"], about["processes"], about["steps"]) != (case.name, 1, steps):
        raise InputError(
            f"{serial}: is of {about['case']}, {about['processes']} processes, {about['steps']} steps; the "
            f"serial trace must be of {case.name}, 1 process, {steps} steps"
        )
    return about


def _ns_per_count(raw: Raw) -> float:
    """Return the nanoseconds per count of the clock; for instructions, the mean of this run."""
    return raw.cpu_ns / raw.count if raw.clock == "instructions" else 1.0


@contextlib.contextmanager
def _complete(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that replaces `folder` on success and is deleted on failure."""
    temporary = folder.with_name(f".{folder.name}.begun")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        if folder.exists():
            shutil.rmtree(folder)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write_table(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, columns, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
