"""Tracing a run of a case: a few steady steps, with the serial CPU time of the same steps beside them."""

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

from workflows.applications import application
from workflows.domain import Case, InputError, Point
from workflows.launch import provenance
from workflows.launch.emulation import usable_cores
from workflows.tracing.actions import replayable
from workflows.tracing.alone import FEWEST_REPEATS, Alone
from workflows.tracing.profile import OPERATION_COLUMNS, PAIR_COLUMNS, profile
from workflows.tracing.raw import Raw, step_amounts
from workflows.tracing.recording import record
from workflows.tracing.request import TraceRequest
from workflows.tracing.trace import FORMAT, Trace, read_trace, write_rank

INDICATIVE_INFLATION = 1.5
"""Where ranks together took this much more CPU time than the serial run, correction decides the result."""

INDICATIVE_PRESSURE = 0.5
"""Where tasks waited for a core this share of the time, times of ranks together are disturbed."""

INDICATIVE_SPREAD = 1.1
"""Where the band of ranks alone reaches so many times its lower end, the machine was not quiet."""

CORUN = ("corun_percent", "corun_percent_low", "corun_percent_high")
"""Keys of trace.json: how ranks that compute at once on a node slow each other down, and ends of the band."""


def capture(request: TraceRequest, folder: Path, serial: Path | None = None) -> Trace:
    """Trace a case at a process count.

    Parameters
    ----------
    folder : Path
        The trace; nothing is left there if it fails.
    serial : Path, optional
        Trace of the same case on one process, which this one is corrected by; none for that one itself.

    Raises
    ------
    InputError
        One line: the tracer cannot be built, the run fails, it calls what the tracer does not know, or the
        steps cannot be told apart.
    """
    case, processes, steps = request.case, request.processes, request.steps
    try:
        point = placed(request)
        traced = record(request, point)
        if request.threads > 1 and point.oversubscription > 1 and not traced.alone:
            raise InputError(f"its {point.running} threads share {point.cores} cores, and {traced.reason}")
        of_serial = _read_serial(serial, case, traced.steps) if serial else None
        nanoseconds = traced.raws[0].clock == "elapsed" or not of_serial
        rate = _ns_per_count(traced.raws[0]) if nanoseconds else of_serial["ns_per_count"]
        in_nanoseconds = 1.0 if traced.alone else rate
        actions = replayable(traced.raws, traced.window, in_nanoseconds)
    except InputError as error:
        raise InputError(f"case {case.name}, {processes} processes: cannot be traced: {error}") from None
    with _complete(folder) as begun:
        counts = []
        for rank in range(processes):
            lines = actions.lines(rank)
            write_rank(begun, rank, lines)
            counts.append(lines.counts())
        summed = profile(counts)
        serial_seconds = of_serial["serial_cpu_seconds"] if of_serial else sum(summed.compute_seconds)
        clock = traced.raws[0].clock
        polluted = point.oversubscription > 1 and clock != "instructions"
        pressure = traced.load["pressure_share"] if processes > 1 else None
        about = {
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
                amount * in_nanoseconds / 1e9
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
        _write_table(begun / "profile.csv", OPERATION_COLUMNS, summed.operations)
        _write_table(begun / "pairs.csv", PAIR_COLUMNS, summed.pairs)
        (begun / "trace.json").write_text(json.dumps(about, indent=1) + "\n")
    return read_trace(folder)


def placed(request: TraceRequest) -> Point:
    """Place the ranks of the traced run: each thread has a core, or whole ranks share cores."""
    carrier, threads = request.interconnect, request.threads
    cores, wanted = min(len(usable_cores()), carrier.cores_per_node), request.processes * threads
    if threads > cores:
        raise InputError(f"a rank is traced with a core for each thread, {threads}, and there are {cores}")
    level = 1 if wanted <= cores else math.ceil(request.processes / cores) * threads
    used = wanted if level == 1 else min(request.processes, cores)
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
    """Find what the compute amounts of ranks that ran together are to be multiplied by.

    The work hardly grows with the number of ranks; what their CPU time adds to that of the serial run comes
    from ranks that push each other out of the caches of the cores that they share. So all ranks are scaled by
    one factor that makes the sum the serial CPU time. Raw and corrected amounts are the ends of a band.

    Parameters
    ----------
    serial_cpu_seconds : float
        Of the same steps on one process.
    polluted : bool
        Whether ranks shared cores and CPU time was measured, not instructions; else nothing is corrected.
    pressure : float, optional
        Share of the time in which a task waited for a core, where there was more than one rank.

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
    """Find the same of ranks that were timed alone.

    Where the serial run was repeated beside them, all are multiplied by how much faster it was in its own
    trace; they are divided by how much ranks that ran at once slowed each other down. The band says how well
    all this repeats: in each repeat the ranks are held against the serial runs beside them, and nine tenths
    of the repeats are between its ends.

    Parameters
    ----------
    serial_cpu_seconds : float
        Of the same steps in the serial trace.

    Returns
    -------
    dict
        Keys of trace.json, as its schema describes them.
    """
    repeats, ranks = alone.seconds.shape
    beside, each = alone.serial_seconds, range(repeats)
    held = serial_cpu_seconds / beside if beside.size else np.ones((repeats, 1))
    speed = np.median(held, axis=0).mean() / _slower(alone, each)
    of_repeats = held.mean(axis=1) / [_slower(alone, [repeat]) for repeat in each]
    taken = alone.seconds * of_repeats[:, None]
    middle = np.array(compute_seconds)
    ratios = np.divide(taken, middle, out=np.ones_like(taken), where=(middle > 0) & (taken > 0))
    totals = taken.sum(axis=1)
    least, most = _ends(totals)
    corrected = [float(speed)] * ranks
    whole = speed * middle.sum()  # beside all repeats where each rank was disturbed in another
    low = corrected if totals[least] > whole else ratios[least].tolist()
    high = corrected if totals[most] < whole else ratios[most].tolist()
    return {
        "timing": "alone",
        "timing_reason": "",
        "repeats": repeats,
        "disturbed_repeats": alone.disturbed,
        "differing_sends": alone.differing_sends,
        "serial_beside_seconds": beside.mean(axis=1).tolist() if len(beside) else [],
        "compute_seconds": list(compute_seconds),
        "serial_cpu_seconds": serial_cpu_seconds,
        "inflation": float(threads * whole / serial_cpu_seconds),
        "corrected_factor": corrected,
        "low_factor": low,
        "high_factor": high,
        "correction": "serial_beside" if beside.size else "none",
        "indicative": bool(repeats < FEWEST_REPEATS or totals[most] > INDICATIVE_SPREAD * totals[least]),
        **corun(alone),
    }


def corun(alone: Alone) -> dict[str, float | None]:
    """Find by how much ranks that compute at once on a node slow each other down.

    A line through 1 for a rank by itself is fitted to the times of the same ranks, some of them at once, by
    least squares. Of each rank the median counts; nine tenths of the repeats are between its ends.

    Returns
    -------
    dict
        Keys of trace.json, percent for each other rank: None where there were no two ranks or cores.
    """
    if not alone.corun_seconds:
        return dict.fromkeys(CORUN)
    each = range(len(alone.seconds))
    whole, found = _percent(alone, each), [_percent(alone, [repeat]) for repeat in each]
    least, most = (found[place] for place in _ends(np.array(found)))
    return dict(zip(CORUN, (whole, min(whole, least), max(whole, most)), strict=True))


def _percent(alone: Alone, repeats: Sequence[int]) -> float:
    """Fit the line to some of the repeats."""
    times = {number: np.median(taken[repeats], axis=0).sum() for number, taken in alone.corun_seconds.items()}
    weights = sum((number - 1) ** 2 for number in times)
    if not weights or not times[1] > 0:
        return 0.0
    slope = sum((number - 1) * (time / times[1] - 1) for number, time in times.items()) / weights
    return float(100 * max(0.0, slope))


def _slower(alone: Alone, repeats: Sequence[int]) -> float:
    """How much longer ranks took since others ran at the same time."""
    return 1 + _percent(alone, repeats) / 100 * (alone.width - 1) if alone.corun_seconds else 1.0


def _ends(values: np.ndarray) -> tuple[int, int]:
    """Places of the values between which nine tenths of them are; all, of fewer than 20."""
    order, beyond = np.argsort(values, kind="stable"), len(values) // 20
    return int(order[beyond]), int(order[-1 - beyond])


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


def _write_table(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, columns, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
