"""What tracing adds to a run: CPU time and time of the main loop, traced over plain, one after the other.

    .venv/bin/python tests/benchmarks/tracer_overhead.py [CASE [PROCESSES [PAIRS]]]

Prints the ratio of every pair and their median. Pairs are run in turn, plain first and traced first.
"""

import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from workflows.applications import application
from workflows.domain import Point
from workflows.launch.emulation import usable_cores
from workflows.measure.noise import noise_between, read_counters
from workflows.measure.running import run
from workflows.paths import ROOT
from workflows.study.cases import load_case
from workflows.study.interconnects import load_interconnect
from workflows.tracing.build import build, compiler_for
from workflows.tracing.recording import preload
from workflows.tracing.request import CARRIER, STEPS


def main() -> None:
    """Run the pairs and print the ratios."""
    words = sys.argv[1:]
    name, processes, pairs = words[0] if words else "elbow_segregated", *map(int, (*words[1:], 2, 7)[:2])
    case, interconnect = (
        load_case(name, ROOT / "cases"),
        load_interconnect(CARRIER, ROOT / "config/interconnects"),
    )
    app = application(case.application)
    cores = min(processes, len(usable_cores()))
    point = Point(case.name, CARRIER, processes, -(-processes // cores), nodes=1, cores=cores)
    tracer = build(compiler_for(app.command(case, processes)[0]))
    mark = STEPS[case.application].mark if case.application in STEPS else ()
    ratios = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
        base, folder = Path(scratch) / "1", Path(scratch) / "many"
        app.prepare(case, 1, base, None)
        app.prepare(case, processes, folder, base)
        for pair in range(pairs):
            figures = {}
            before = read_counters()
            for traced in (False, True) if pair % 2 else (True, False):
                with tempfile.TemporaryDirectory(dir=scratch) as written:
                    prefix = preload(tracer, Path(written), mark) if traced else ()
                    done = run(case, point, folder, interconnect, (), 600, prefix)
                if done.problem:
                    raise SystemExit(done.problem)
                figures[traced] = done.execution.cpu_seconds, done.reading.seconds
            noise = noise_between(before, read_counters(), sum(cpu for cpu, _ in figures.values()))
            ratios.append([after / plain for after, plain in zip(figures[True], figures[False], strict=True)])
            print(
                f"pair {pair + 1}: CPU {figures[False][0]:.2f} -> {figures[True][0]:.2f} s, main loop "
                f"{figures[False][1]:.3f} -> {figures[True][1]:.3f} s, {noise.foreign_cores:.2f} foreign cores",
                flush=True,
            )
    for what, column in (("CPU time", 0), ("main loop", 1)):
        values = sorted(ratio[column] for ratio in ratios)
        median = statistics.median(values)
        print(f"{what}: traced / plain {median:.3f} (median of {pairs}; {values[0]:.3f} to {values[-1]:.3f})")


if __name__ == "__main__":
    main()
