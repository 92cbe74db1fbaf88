"""Measure how fast traces are replayed.

    .venv/bin/python -m tests.benchmarks.replay_speed TRACE ... [--interconnects NAME,NAME]

A TRACE is a folder that ``python -m workflows.tracing`` wrote (``traces/processes-64``).
"""

import argparse
import tempfile
from pathlib import Path

from workflows.paths import ROOT
from workflows.replay.points import PROGRAMS, unpack
from workflows.simulation.model import make_model
from workflows.simulation.platform import platform_xml
from workflows.simulation.programs import build
from workflows.simulation.replayer import SOURCE, replay
from workflows.study.interconnects import load_interconnect
from workflows.tracing.trace import read_trace


def replay_rate(folder: Path, interconnect: str = "gigabit_ethernet") -> float:
    """Replay a trace with two processes per node; return lines of the trace per CPU second."""
    program, trace = build(SOURCE, PROGRAMS), read_trace(folder)
    with tempfile.TemporaryDirectory() as scratch:
        unpacked, platform = Path(scratch), Path(scratch) / "platform.xml"
        unpack(trace, unpacked)
        lines = sum(path.read_bytes().count(b"\n") for path in unpacked.glob("rank-*.txt"))
        model = make_model(load_interconnect(interconnect, ROOT / "config/interconnects"), ROOT)
        platform.write_text(platform_xml(model, -(-trace.processes // 2), 1.0))
        done = replay(program, platform, unpacked, trace.factors("corrected"), 2, str(folder))
    return lines / done.cpu_seconds


def main() -> None:
    """Print the rate of every trace over every interconnect."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", type=Path, nargs="+")
    parser.add_argument("--interconnects", default="gigabit_ethernet,infiniband")
    given = parser.parse_args()
    for folder in given.traces:
        for name in given.interconnects.split(","):
            print(f"{folder}, {name}: {replay_rate(folder, name):.0f} lines per CPU second", flush=True)


if __name__ == "__main__":
    main()
