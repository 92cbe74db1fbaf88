"""Time per iteration of the elbow at 32,000 cells through the framework, against mpirun by hand.

    .venv/bin/python tests/benchmarks/against_plain_mpirun.py [pairs]

Both run the same solver on the same mesh in one go, a pair at a time and in changing order: once as a study does
it, once as one would by hand, `mpirun -n P --bind-to core simpleFoam` in a copy of the case, its output stamped
by a loop of this script's own. An iteration is the time between `ExecutionTime` lines; the first one is left
out. Printed is the ratio of the two, the median over the pairs, with its 95 % interval (percentile bootstrap over
the pairs). The exit status is 1 where a ratio is off by more than 3 %; the machine has to be idle.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from workflows.applications import application
from workflows.domain import Case, Point
from workflows.measure.running import run
from workflows.study.cases import load_case
from workflows.study.interconnects import load_interconnect

openfoam = application("openfoam")

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = 0.03
DRAWS = 10_000
LIMIT_SECONDS = 600


def through_the_framework(case: Case, processes: int, prepared: Path) -> float:
    """Seconds of an iteration, as a record of a study would have them."""
    interconnect = load_interconnect("shared_memory", ROOT / "config/interconnects")
    chosen = interconnect if processes > 1 else None
    point = Point(case.name, chosen and chosen.name, processes, 1, nodes=1, cores=processes)
    done = run(case, point, prepared, chosen, (), LIMIT_SECONDS)
    if done.problem:
        raise SystemExit(f"through the framework, {processes} processes: {done.problem}")
    return done.reading.seconds / (case.parameters["iterations"] - 1)


def by_hand(case: Case, processes: int, folder: Path) -> float:
    """Seconds of an iteration by plain mpirun in a folder that holds the case."""
    command = ["mpirun", "-n", str(processes), "--bind-to", "core", *openfoam.command(case, processes)]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    with subprocess.Popen(
        command, cwd=folder, env=os.environ | openfoam.environment(case) | root, stdout=subprocess.PIPE
    ) as process:
        marked = (line for line in process.stdout if line.startswith(b"ExecutionTime ="))
        ends = [time.monotonic() for _ in marked]
    if process.returncode or len(ends) != case.parameters["iterations"]:
        raise SystemExit(f"by hand, {processes} processes: {len(ends)} iterations, {process.returncode}")
    return (ends[-1] - ends[0]) / (len(ends) - 1)


def interval(ratios: np.ndarray) -> tuple[float, float]:
    """95 % interval of the median of paired ratios."""
    draws = np.random.default_rng(1).choice(ratios, (DRAWS, len(ratios)))
    low, high = np.percentile(np.median(draws, axis=1), [2.5, 97.5])
    return float(low), float(high)


def compare(case: Case, processes: int, prepared: Path, pairs: int) -> bool:
    """Print the ratio on so many processes; whether it is within what is allowed."""
    folder = prepared.with_name(f"by-hand-{processes}")
    shutil.copytree(prepared, folder)
    ways = {"framework": (through_the_framework, prepared), "hand": (by_hand, folder)}
    seconds_by_way = {name: [] for name in ways}
    for pair in range(pairs):
        for name in list(ways) if pair % 2 else reversed(list(ways)):
            measure, place = ways[name]
            seconds_by_way[name].append(measure(case, processes, place))
    ratios = np.array(seconds_by_way["framework"]) / np.array(seconds_by_way["hand"])
    ratio, (low, high) = float(np.median(ratios)), interval(ratios)
    ours, theirs = (1000 * np.median(seconds_by_way[name]) for name in ("framework", "hand"))
    print(
        f"{processes} processes: {ours:.2f} ms through the framework, {theirs:.2f} ms by hand; "
        f"ratio {ratio:.4f} [{low:.4f}, {high:.4f}], {pairs} pairs",
        flush=True,
    )
    return abs(ratio - 1) <= ALLOWED


def main() -> None:
    """Compare on 1 and on 2 processes."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    case = load_case("elbow_segregated", ROOT / "cases")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        openfoam.prepare(case, 1, folder / "1", None)
        openfoam.prepare(case, 2, folder / "2", folder / "1")
        within = [compare(case, processes, folder / str(processes), pairs) for processes in (1, 2)]
    if not all(within):
        raise SystemExit(f"off by more than {ALLOWED:.0%}")


if __name__ == "__main__":
    main()
