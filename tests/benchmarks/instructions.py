"""Growth of the work of all ranks with their number, in instructions, compared with the traced time.

    .venv/bin/python tests/benchmarks/instructions.py [CASE [PROCESSES [COUNTS.json]]]

Records an OpenFOAM case, runs each rank alone under callgrind (Debian: valgrind), and counts the instructions of its
later steps, libraries included, without start-up, without MPI's waiting and without the tracer. Of other applications
it counts from MPI_Init on, as a trace does. The same case is traced. Prints, for each process count, instructions and
CPU time as traced, each over that of one process, how many instructions a CPU second carries out, what that is of
each MPI call against the serial run's rate, and how instructions and time correlate by rank. What was counted is kept in a
file, if one is named, and not counted again.
"""

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from workflows.applications import application
from workflows.domain import Case, Point
from workflows.launch.emulation import usable_cores
from workflows.launch.launch import environment_alone
from workflows.measure.running import case_environment, run
from workflows.paths import ROOT
from workflows.study.cases import load_case
from workflows.study.interconnects import load_interconnect
from workflows.tracing.build import build, compiler_for
from workflows.tracing.capture import capture
from workflows.tracing.recording import preload
from workflows.tracing.request import CARRIER, TraceRequest
from workflows.tracing.trace import Trace

NOT_COUNTED_STEPS, STEPS_IN_ALL = 3, 6
BEGINS_STEP = "Foam::Time::loop()"
TRACED_STEPS = 5
NOT_COUNTED = re.compile(r"/tracer-\w+\.so$")
"""Object files whose instructions do not count."""

LIMIT_SECONDS = 1800
_COST = re.compile(r"^[+*\-\d]")


def instructions(file: Path) -> Counter[str]:
    """Sum up the instructions of each object file in an output of callgrind, calls of others left out."""
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}
    current, of_call = "", False
    for line in file.read_text().splitlines():
        if line.startswith(("ob=", "cob=")):  # of a called function: only its name may be told there
            number, _, name = line.partition("=")[2].partition(" ")
            names.setdefault(number, name)
            current = current if line.startswith("cob=") else names[number]
        elif line.startswith("calls="):
            of_call = True
        elif _COST.match(line):
            if not of_call:
                counts[current] += int(line.split()[1])
            of_call = False
    return counts


def work_of_ranks(case: Case, processes: int, scratch: Path, kept: Path | None) -> list[int]:
    """Instructions of the steps that are compared by rank; of the whole run, if it has no steps."""
    kept_counts = json.loads(kept.read_text()) if kept and kept.exists() else {}
    name = f"{case.name} on {processes}"
    if name not in kept_counts:
        kept_counts[name] = counted(case, processes, scratch)
        if kept:
            kept.write_text(json.dumps(kept_counts))
    return kept_counts[name]


def counted(case: Case, processes: int, scratch: Path) -> list[int]:
    """Record a case and run each rank alone under callgrind; give the instructions by rank."""
    steps = application(case.application).steps
    short = replace(case, parameters=case.parameters | {steps.parameter: STEPS_IN_ALL}) if steps else case
    out = scratch / f"callgrind-{processes}"
    written, logs = out / "trace", out / "logs"
    written.mkdir(parents=True)
    logs.mkdir()
    app = application(short.application)
    folder = out / "prepared"
    base = out / "base" if processes > 1 else None
    if base:
        app.prepare(short, 1, base, None)
    app.prepare(short, processes, folder, base)
    cores = min(processes, len(usable_cores()))
    point = Point(short.name, CARRIER, processes, -(-processes // cores), nodes=1, cores=cores)
    carrier = load_interconnect(CARRIER, ROOT / "config/interconnects") if processes > 1 else None
    command = app.command(short, processes)
    tracer, marks = build(compiler_for(command[0])), steps.mark if steps else ()
    logged = {"NODEWORTH_TRACE_LOG": str(logs)}
    done = run(short, point, folder, carrier, (), LIMIT_SECONDS, preload(tracer, written, marks, logged))
    if done.execution.exit_status:
        raise SystemExit(f"{processes} processes: {done.problem}")

    def count(rank: int) -> int:
        rank_folder = out / f"rank-{rank}"
        rank_folder.mkdir()
        app.stage(short, folder, rank_folder)
        prefix = preload(f"{counting}:{tracer}", out, marks, logged | {"NODEWORTH_TRACE_ALONE": str(rank)})
        callgrind = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}/{rank}"]
        begin = "no" if processes > 1 else "yes"  # a serial run need not call MPI_Init
        parts = [f"--instr-atstart={begin}", "--trace-children=yes"]
        parts += [f"--dump-before={BEGINS_STEP}"] if steps else []
        env = environment_alone("openmpi", case_environment(short, processes), out)
        alone = subprocess.run(
            [*callgrind, *parts, *prefix, *command],
            env=env,
            cwd=rank_folder,
            timeout=LIMIT_SECONDS,
            capture_output=True,
            check=False,
        )
        if alone.returncode or not (out / f"alone-{rank}").exists():
            raise SystemExit(f"rank {rank} of {processes}: {alone.stderr[-500:].decode(errors='replace')}")
        files = [out / f"{rank}.{step + 1}" for step in range(NOT_COUNTED_STEPS + 1, STEPS_IN_ALL + 1)]
        total = sum((instructions(file) for file in (files if steps else [out / str(rank)])), Counter())
        return sum(count for name, count in total.items() if not NOT_COUNTED.search(name))

    counting = out / "count_from_init.so"
    source = Path(__file__).with_name("count_from_init.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", counting, source], check=True)
    with ThreadPoolExecutor(len(usable_cores())) as pool:  # what is counted does not depend on what else runs
        counts = list(pool.map(count, range(processes)))
    shutil.rmtree(out)
    return counts


def main() -> None:
    """Count and trace at one process and at each other count, and print how they compare."""
    if shutil.which("valgrind") is None:
        raise SystemExit("valgrind is not installed (Debian: valgrind)")
    words = sys.argv[1:]
    name, counts = words[0] if words else "elbow_segregated-4k", words[1] if len(words) > 1 else "2,16"
    kept = Path(words[2]) if len(words) > 2 else None
    case = load_case(name, ROOT / "cases")
    carrier = load_interconnect(CARRIER, ROOT / "config/interconnects")
    serial_work, serial_seconds, serial_rate = 0, 0.0, 0.0
    with tempfile.TemporaryDirectory(dir="/dev/shm") as given:
        scratch = Path(given)
        base, traces = scratch / "prepared-1", scratch / "traces"
        application(case.application).prepare(case, 1, base, None)
        for processes in (1, *map(int, counts.split(","))):
            work = work_of_ranks(case, processes, scratch, kept)
            prepared = scratch / f"prepared-{processes}"
            if processes > 1:
                application(case.application).prepare(case, processes, prepared, base)
            serial = traces / "1" if processes > 1 else None
            folder = traces / str(processes)
            interleaved = base if serial else None
            request = TraceRequest(
                case, processes, prepared, carrier, LIMIT_SECONDS, TRACED_STEPS, interleaved
            )
            trace = capture(request, folder, serial)
            seconds = trace.about["compute_seconds"]
            serial_work, serial_seconds = serial_work or sum(work), serial_seconds or sum(seconds)
            share = (
                (STEPS_IN_ALL - NOT_COUNTED_STEPS) / trace.steps
                if application(case.application).steps
                else 1.0
            )
            rate = sum(work) / 1e6 / (sum(seconds) * share)
            serial_rate = serial_rate or rate
            calls = share * sum(row["calls"] for row in trace.about["operations"])
            beyond = 1e3 * sum(work) * (1 / rate - 1 / serial_rate) / calls if calls else 0.0
            correlation = statistics.correlation(seconds, work) if processes > 2 else 1.0
            print(
                f"{processes} processes: instructions {sum(work) / serial_work:.3f} ({sum(work) / 1e6:.0f} million, {rate:.0f} a CPU second, {beyond:+.0f} ns a call), "
                f"CPU time {trace.about['timing']} {trace.about['inflation']:.2f} (ends of the band "
                f"{over(trace.factors('low'), trace, serial_seconds):.2f} and "
                f"{over(trace.factors('high'), trace, serial_seconds):.2f}); by rank they correlate at {correlation:.2f}; "
                f"{trace.about['disturbed_repeats']} runs of ranks waited for their core",
                flush=True,
            )


def over(factors: Sequence[float], trace: Trace, serial_seconds: float) -> float:
    """CPU time at an end of the band over that of the serial trace."""
    taken = trace.about["compute_seconds"]
    return sum(seconds * factor for seconds, factor in zip(taken, factors, strict=True)) / serial_seconds


if __name__ == "__main__":
    main()
