"""Compute time of two ranks in a real run on two cores, compared with timing each rank alone.

    .venv/bin/python tests/benchmarks/real_beside_alone.py [CASE ...]

Traces each case on two ranks that run together and with ranks timed alone, in turn. Prints the median of the ratio of
what both ranks compute, real over alone with what ranks of a node take from each other, and its range.
"""

import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from workflows.applications import application
from workflows.launch.emulation import usable_cores
from workflows.paths import ROOT
from workflows.study.cases import load_case
from workflows.study.interconnects import load_interconnect
from workflows.tracing.capture import capture
from workflows.tracing.request import CARRIER, TraceRequest
from workflows.tracing.trace import Trace

CASES = ("elbow_segregated-4k", "elbow_segregated", "cavity", "valve_port-24k", "lj_melt")
RANKS = 2
ROUNDS, REAL_RUNS = 3, 9
STEPS = 20
LIMIT_SECONDS = 600.0


def computed(trace: Trace) -> float:
    """What the ranks of a trace compute, when they are on one node."""
    taken = zip(trace.about["compute_seconds"], trace.factors("corrected"), strict=True)
    slowdown = 1 + trace.corun_percent("corrected") / 100 * (RANKS - 1)
    return slowdown * sum(seconds * factor for seconds, factor in taken)


def ratios(name: str) -> list[float]:
    """Real over alone, by round: the median of the real runs beside one trace with ranks alone."""
    case, carrier = load_case(name, ROOT / "cases"), load_interconnect(CARRIER, ROOT / "config/interconnects")
    app = application(case.application)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as given:
        scratch = Path(given)
        base, prepared = scratch / "prepared-1", scratch / "prepared-2"
        app.prepare(case, 1, base, None)
        app.prepare(case, RANKS, prepared, base)
        serial = TraceRequest(case, 1, base, carrier, LIMIT_SECONDS, STEPS)
        alone = TraceRequest(case, RANKS, prepared, carrier, LIMIT_SECONDS, STEPS, base)
        together = replace(alone, alone=False)
        medians = []
        for _ in range(ROUNDS):
            capture(serial, scratch / "1", None)
            real = [computed(capture(together, scratch / "real", scratch / "1")) for _ in range(REAL_RUNS)]
            by_itself = capture(alone, scratch / "alone", scratch / "1")
            if by_itself.about["timing"] != "alone":
                raise SystemExit(f"{name}: timed together, since {by_itself.about['timing_reason']}")
            medians.append(statistics.median(real) / computed(by_itself))
    return medians


def main() -> None:
    """Measure the cases and print the ratios."""
    if len(usable_cores()) < RANKS:
        raise SystemExit(f"needs {RANKS} cores")
    medians = []
    for name in sys.argv[1:] or CASES:
        ratios_of_case = sorted(ratios(name))
        medians.append(statistics.median(ratios_of_case))
        print(
            f"{name}: real / alone {medians[-1]:.3f} ({ratios_of_case[0]:.3f} to {ratios_of_case[-1]:.3f})",
            flush=True,
        )
    print(f"median of {len(medians)} cases: {statistics.median(medians):.3f}")


if __name__ == "__main__":
    main()
