"""How the work of all ranks grows with their number, by instructions, beside what a trace makes of it.

    .venv/bin/python tests/benchmarks/instructions.py [CASE [PROCESSES]]

Runs an OpenFOAM case under callgrind (Debian: valgrind) with few steps and with more, and takes the difference: the
instructions that its own libraries need for the steps between, without start-up and without MPI's waiting. The
same case is traced. Prints, for each process count, instructions, CPU time as traced, and CPU time corrected, each
over that of one process; and the largest difference of a rank's share of the corrected time from its share of
the instructions.
"""

import re
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from workflows.applications import application
from workflows.domain import Case, Point
from workflows.launch.emulation import usable_cores
from workflows.measure.running import run
from workflows.paths import ROOT
from workflows.study.cases import load_case
from workflows.study.interconnects import load_interconnect
from workflows.tracing.capture import CARRIER, STEPS, TRACERS, capture

FEW_STEPS, MORE_STEPS = 3, 6
TRACED_STEPS = 5
OWN = re.compile(r"^(/usr)?/(bin|lib)/[^/]+$")
"""Object files whose instructions count: OpenFOAM's, which Debian has outside of its folders for an architecture."""

LIMIT_SECONDS = 1800
_COST = re.compile(r"^[+*\-\d]")


def instructions(file: Path) -> Counter[str]:
    """Sum up the instructions of each object file in an output of callgrind, calls of others left out."""
    found: Counter[str] = Counter()
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
                found[current] += int(line.split()[1])
            of_call = False
    return found


def counted(case: Case, processes: int, steps: int, scratch: Path) -> list[int]:
    """Run a case under callgrind; give the instructions of its own code, by rank."""
    out = scratch / f"callgrind-{processes}-{steps}"
    out.mkdir()
    rank = "%q{OMPI_COMM_WORLD_RANK}" if processes > 1 else "0"
    prefix = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}/{rank}"]
    short = replace(case, parameters=case.parameters | {STEPS[case.application].parameter: steps})
    app = application(case.application)
    folder = scratch / f"prepared-{processes}-{steps}"
    base = scratch / f"base-{processes}-{steps}" if processes > 1 else None
    if base:
        app.prepare(short, 1, base, None)
    app.prepare(short, processes, folder, base)
    cores = min(processes, len(usable_cores()))
    point = Point(case.name, CARRIER, processes, -(-processes // cores), nodes=1, cores=cores)
    carrier = load_interconnect(CARRIER, ROOT / "config/interconnects") if processes > 1 else None
    done = run(short, point, folder, carrier, (), LIMIT_SECONDS, prefix)
    if done.execution.exit_status:
        raise SystemExit(f"{processes} processes: {done.problem}")
    totals = [instructions(out / str(number)) for number in range(processes)]
    return [sum(count for name, count in total.items() if OWN.search(name)) for total in totals]


def main() -> None:
    """Count and trace at one process and at each other count, and print how they compare."""
    if shutil.which("valgrind") is None:
        raise SystemExit("valgrind is not installed (Debian: valgrind)")
    words = sys.argv[1:]
    name, counts = words[0] if words else "elbow_segregated-4k", words[1] if len(words) > 1 else "2,16"
    case = load_case(name, ROOT / "cases")
    carrier = load_interconnect(CARRIER, ROOT / "config/interconnects")
    serial_work, serial_seconds = 0, 0.0
    with tempfile.TemporaryDirectory(dir="/dev/shm") as given:
        scratch = Path(given)
        base, traces = scratch / "prepared-1", scratch / "traces"
        application(case.application).prepare(case, 1, base, None)
        for processes in (1, *map(int, counts.split(","))):
            few, more = (counted(case, processes, steps, scratch) for steps in (FEW_STEPS, MORE_STEPS))
            work = [after - before for before, after in zip(few, more, strict=True)]
            prepared = scratch / f"prepared-{processes}"
            if processes > 1:
                application(case.application).prepare(case, processes, prepared, base)
            serial = traces / "1" if processes > 1 else None
            folder = traces / str(processes)
            trace = capture(
                case, processes, prepared, carrier, serial, folder, TRACERS, LIMIT_SECONDS, TRACED_STEPS
            )
            seconds = trace.about["compute_seconds"]
            serial_work, serial_seconds = serial_work or sum(work), serial_seconds or sum(seconds)
            corrected = [one * factor for one, factor in zip(seconds, trace.corrected_factor, strict=True)]
            shares = zip(corrected, work, strict=True)
            apart = max(abs(own / sum(corrected) * sum(work) / count - 1) for own, count in shares)
            print(
                f"{processes} processes: instructions {sum(work) / serial_work:.3f} ({sum(work) / 1e6:.0f} million), "
                f"CPU time {sum(seconds) / serial_seconds:.2f}, corrected {sum(corrected) / serial_seconds:.3f}; "
                f"a rank's share differs by {100 * apart:.0f} % at most",
                flush=True,
            )


if __name__ == "__main__":
    main()
