"""Trace a case outside of any study: ``python -m workflows.tracing CASE PROCESSES FOLDER``."""

from __future__ import annotations

import argparse
from operator import itemgetter
from pathlib import Path

from workflows.applications import application
from workflows.domain import Case, InputError
from workflows.errors import one_line_errors
from workflows.measure.running import scratch_folder
from workflows.paths import CASES, INTERCONNECTS, trace_name
from workflows.study.cases import load_case
from workflows.study.interconnects import load_interconnect
from workflows.tracing.capture import capture
from workflows.tracing.request import CARRIER, TraceRequest


def main() -> None:
    """Trace a case at process counts, and on one process, into ``FOLDER/processes-<count>[-threads-<t>]``."""
    parser = argparse.ArgumentParser(prog="python -m workflows.tracing", description=main.__doc__)
    parser.add_argument("case", help="case with its size: elbow_segregated-4k")
    parser.add_argument("processes", help="process counts, separated by commas: 2,4,8")
    parser.add_argument("folder", type=Path, help="output folder of the traces")
    parser.add_argument("--interconnect", default=CARRIER, help="interconnect of the traced runs")
    parser.add_argument("--limit", type=float, default=600, help="time limit of a run, seconds")
    parser.add_argument(
        "--steps", type=int, default=5, help="number of traced iterations, after three that are not traced"
    )
    parser.add_argument("--repeats", type=int, help="number of runs of each rank alone; by default 3 or more")
    parser.add_argument("--threads", type=int, default=1, help="threads of each process")
    parser.add_argument("--together", action="store_true", help="do not time each rank alone")
    options = parser.parse_args()
    for name in ("steps", "repeats", "threads"):
        if (number := getattr(options, name)) is not None and number < 1:
            raise InputError(f"--{name}: {number}: must be at least 1")
    case = load_case(options.case, CASES, "CASE")
    interconnect = load_interconnect(options.interconnect, INTERCONNECTS, "--interconnect")
    if interconnect.kind != "measured":
        raise InputError(
            f"--interconnect: {options.interconnect} is {interconnect.kind}; it must be a measured one"
        )
    serial = options.folder / "processes-1"
    with scratch_folder() as scratch:
        runs = {(count, options.threads) for count in _counts(options.processes)} | {(1, 1)}
        for count, threads in sorted(runs, key=itemgetter(1, 0)):
            prepared = scratch / f"processes-{count}"
            is_serial = (count, threads) == (1, 1)
            prepared_serial = None if is_serial else scratch / "processes-1"
            if not prepared.exists():
                _prepare(case, count, prepared, prepared_serial)
            request = TraceRequest(
                case,
                count,
                prepared,
                interconnect,
                options.limit,
                options.steps,
                prepared_serial,
                alone=not options.together,
                repeats=options.repeats,
                threads=threads,
            )
            trace = capture(
                request, options.folder / trace_name(count, threads), None if is_serial else serial
            )
            print(trace.summary(), flush=True)


def _prepare(case: Case, processes: int, folder: Path, base: Path | None) -> None:
    folder.mkdir()
    try:
        application(case.application).prepare(case, processes, folder, base)
    except RuntimeError as error:
        raise InputError(f"case {case.name}, {processes} processes: cannot be prepared: {error}") from None


def _counts(text: str) -> list[int]:
    words = text.split(",")
    if not all(word.isdigit() and int(word) > 0 for word in words):
        raise InputError(f"PROCESSES: {text!r}: must be whole numbers from 1, separated by commas")
    return sorted({int(word) for word in words})


if __name__ == "__main__":
    with one_line_errors():
        main()
