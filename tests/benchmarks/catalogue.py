"""Measure the cases of the catalogue: the numbers that docs/cases.md shows.

    .venv/bin/python tests/benchmarks/catalogue.py [case[-size] ...] [--processes 1 2] [--decompose 4 8 16 64]
    .venv/bin/python tests/benchmarks/catalogue.py [case[-size] ...] --iterations 1 2 4 8

Prepares and runs each case as a study does, once a process count, writes a row of docs/cases.csv for each and then
the page; rows of other cases, sizes and counts stay. Without names: all sizes of all cases. With ``--decompose``,
rows of further counts say how the mesh is cut, without a run. Times by the clock want an idle machine: each row says
how busy it was, and the page marks those that were disturbed.

The second form counts the iterations of the linear solver, which no load changes, at each count, all
processes on one core, and writes docs/solver_iterations.csv.
"""

import argparse
import contextlib
import json
import re
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from workflows import inputs  # noqa: E402
from workflows.applications import application  # noqa: E402
from workflows.domain import Case, Point  # noqa: E402
from workflows.launch import provenance  # noqa: E402
from workflows.measure.noise import noise_between, read_counters  # noqa: E402
from workflows.measure.running import Run, run  # noqa: E402
from workflows.study import catalogue  # noqa: E402
from workflows.study.cases import case_files, load_case  # noqa: E402
from workflows.study.interconnects import load_interconnect  # noqa: E402

TIME_LIMIT_SECONDS = 7200
FIRST_WATCH_SECONDS, WATCH_SHARE = 0.05, 0.05
"""Between two looks at the memory, which cost CPU time: at first, and as a share of the time since then."""


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="case", help="case, or case-size")
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--decompose", type=int, nargs="*", default=[])
    parser.add_argument("--iterations", type=int, nargs="*", default=[])
    arguments = parser.parse_args()
    for name in arguments.names or every_size():
        case = load_case(name, ROOT / "cases")
        with tempfile.TemporaryDirectory() as folder:
            if arguments.iterations:
                count_iterations(case, sorted(arguments.iterations), Path(folder))
            else:
                measure(case, sorted(arguments.processes), sorted(arguments.decompose), Path(folder))


def every_size() -> list[str]:
    """Names of all sizes of all cases."""
    return [
        f"{name}-{size}"
        for name, (file,) in case_files(ROOT / "cases").items()
        for size in inputs.read_yaml(file)["sizes"]
    ]


def measure(case: Case, processes: list[int], decompose: list[int], folder: Path) -> None:
    """Measure a case at each process count and write the rows."""
    app, base = application(case.application), folder / "1"
    with largest_program() as mesh_memory:
        app.prepare(case, 1, base, None)
    for count in sorted({*processes, *decompose}):
        prepared, memory = folder / str(count), mesh_memory
        if count > 1:
            with largest_program() as memory:
                app.prepare(case, count, prepared, base)
        row = {"prepare_memory_MB": memory[0] or None} | preparation(prepared)
        if count in processes:
            before, watched = read_counters(), time.process_time()
            with largest_program() as memory:
                done = run_once(case, count, prepared, count)
            reading, cpu = done.reading, done.execution.cpu_seconds
            noise = noise_between(before, read_counters(), cpu + time.process_time() - watched)
            iterations = reading.details.get("iterations")
            row |= {
                "iterations": iterations,
                "seconds": reading.seconds,
                "iteration_seconds": reading.seconds / (iterations - 1) if iterations else None,
                "cpu_seconds": cpu,
                "foreign_cores": noise.foreign_cores + noise.stolen_cores,
                "memory_MB": memory[0] or None,
                "answer": reading.answer,
            }
        key = {"case": case.name.partition("-")[0], "size": case.size, "processes": count}
        write_rows([key | row | {"machine": machine()}], catalogue.MEASURED, list(key))
        if count > 1:
            shutil.rmtree(prepared)


def count_iterations(case: Case, processes: list[int], folder: Path) -> None:
    """Write the iterations of the linear solver at each process count, and the shares of its equations."""
    app, base = application(case.application), folder / "1"
    app.prepare(case, 1, base, None)
    rows = []
    for count in processes:
        prepared = folder / str(count)
        if count > 1:
            app.prepare(case, count, prepared, base)
        details = run_once(case, count, prepared, 1).reading.details
        loop, solved = details["loop_seconds"], Counter()
        for field, number in details["solver_iterations"].items():
            solved[field if field in loop else field[:-1]] += number  # of a vector, all components
        for field, number in solved.items():
            key = {"case": case.name.partition("-")[0], "size": case.size, "processes": count, "field": field}
            rows.append(key | {"iterations": number, "share": loop[field] / sum(loop.values())})
    write_rows(rows, catalogue.SOLVER, list(key))


def run_once(case: Case, processes: int, prepared: Path, cores: int) -> Run:
    """Run a case once; ends the program where the run does not count."""
    interconnect = (
        load_interconnect("shared_memory", ROOT / "config/interconnects") if processes > 1 else None
    )
    name = interconnect and interconnect.name
    point = Point(case.name, name, processes, processes // cores, nodes=1, cores=cores)
    done = run(case, point, prepared, interconnect, (), TIME_LIMIT_SECONDS)
    if done.problem:
        raise SystemExit(f"{case.name}, {processes} processes: {done.problem}")
    return done


def preparation(prepared: Path) -> dict[str, Any]:
    """Columns about the prepared folder of a case; empty if the application reports nothing."""
    file = prepared / "prepared.json"
    if not file.exists():
        return {}
    facts = json.loads(file.read_text())
    cells, faces = facts["cells"], facts.get("processor_faces", [0])
    each = cells if isinstance(cells, list) else [cells]
    return {
        "prepare_seconds": sum(facts["program_seconds"].values()),
        "cells": sum(each),
        "cells_of_smallest_rank": min(each),
        "cells_of_largest_rank": max(each),
        "processor_faces": max(faces),
    }


@contextlib.contextmanager
def largest_program() -> Iterator[list[float]]:
    """Watch every program that is started in the block.

    Gives a list of one: the largest peak of resident memory of any of them, MB. A copy of this process that has
    not become its program yet is left out.
    """
    me, largest, done, start = psutil.Process(), [0.0], threading.Event(), time.monotonic()
    command = me.cmdline()

    def watch() -> None:
        while not done.wait(max(FIRST_WATCH_SECONDS, WATCH_SHARE * (time.monotonic() - start))):
            for program in me.children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess, FileNotFoundError):
                    if program.cmdline() != command:
                        largest[0] = max(largest[0], peak_memory(program.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield largest
    finally:
        done.set()
        watcher.join()


def peak_memory(pid: int) -> float:
    """Largest resident memory that a process has had so far, MB; 0 of one that has ended."""
    peak = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.M)
    return int(peak[1]) * 1024 / 1e6 if peak else 0.0


def write_rows(rows: list[dict[str, Any]], file: Path, key: list[str]) -> None:
    """Put rows into a table in the place of the earlier ones of their keys, and write the page anew."""
    rounded = [
        {
            name: float(f"{value:.4g}") if isinstance(value, float) and name != "answer" else value
            for name, value in row.items()
        }
        for row in rows
    ]
    table = pd.concat([catalogue.read_measured(file), pd.DataFrame(rounded)])
    table.drop_duplicates(key, keep="last").sort_values(key).convert_dtypes().to_csv(file, index=False)
    catalogue.main()
    for row in rounded:
        print(", ".join(f"{name} {value}" for name, value in row.items()), flush=True)


def machine() -> str:
    """This machine in a few words."""
    facts = provenance.machine()
    return f"{facts['cores']} cores of {facts['cpu']}, {facts['memory_GB']:.0f} GB, {facts['os']}"


if __name__ == "__main__":
    main()
