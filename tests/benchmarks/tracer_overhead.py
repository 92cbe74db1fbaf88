"""Measure what tracing adds to a run: CPU time of a traced run over a plain run.

.venv/bin/python -m tests.benchmarks.tracer_overhead [CASE [PROCESSES [PAIRS]]]
"""

import statistics
import sys
import tempfile
from pathlib import Path

from workflows.applications import application
from workflows.domain import Point
from workflows.launch.emulation import usable_cores
from workflows.measure.running import run
from workflows.paths import ROOT
from workflows.study.cases import load_case
from workflows.study.interconnects import load_interconnect
from workflows.tracing.build import build, compiler_for
from workflows.tracing.recording import preload
from workflows.tracing.request import CARRIER


def tracer_ratio(name: str = "elbow_segregated", processes: int = 2, pairs: int = 7) -> float:
    """Run pairs of a traced and a plain run, with alternating order; return the median ratio of CPU times."""
    case = load_case(name, ROOT / "cases")
    interconnect = load_interconnect(CARRIER, ROOT / "config/interconnects")
    app = application(case.application)
    cores = min(processes, len(usable_cores()))
    point = Point(case.name, CARRIER, processes, -(-processes // cores), nodes=1, cores=cores)
    tracer = build(compiler_for(app.command(case, processes)[0]))
    steps = application(case.application).steps
    mark = steps.mark if steps else ()
    ratios = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
        base, folder = Path(scratch) / "1", Path(scratch) / "many"
        app.prepare(case, 1, base, None)
        app.prepare(case, processes, folder, base)
        for pair in range(pairs):
            seconds = {}
            for traced in (False, True) if pair % 2 else (True, False):
                with tempfile.TemporaryDirectory(dir=scratch) as written:
                    prefix = preload(tracer, Path(written), mark) if traced else ()
                    done = run(case, point, folder, interconnect, (), 600, prefix)
                if done.problem:
                    raise RuntimeError(done.problem)
                seconds[traced] = done.execution.cpu_seconds
            ratios.append(seconds[True] / seconds[False])
    return statistics.median(ratios)


if __name__ == "__main__":
    words = sys.argv[1:]
    print(f"traced / plain CPU time: {tracer_ratio(*words[:1], *map(int, words[1:])):.3f}")
