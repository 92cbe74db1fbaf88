"""How fast traces are replayed, and in how much memory.

    .venv/bin/python tests/benchmarks/replay_speed.py TRACE ... [--interconnects NAME,NAME]

A TRACE is a folder that ``python -m workflows.tracing`` wrote (``traces/processes-64``), two processes a node.
Fails below 250,000 lines a CPU second or above 200 MB.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from workflows.paths import ROOT
from workflows.replay.points import PROGRAMS, unpack
from workflows.simulation.model import make_model
from workflows.simulation.platform import platform_xml
from workflows.simulation.programs import build
from workflows.simulation.replayer import SOURCE, replay
from workflows.study.interconnects import load_interconnect
from workflows.tracing.trace import read_trace

FEWEST_LINES_A_SECOND = 250_000
MOST_BYTES = 200e6


def main() -> None:
    """Replay every trace on every interconnect, print the figures, fail where one is beyond its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", type=Path, nargs="+")
    parser.add_argument("--interconnects", default="gigabit_ethernet,infiniband")
    given = parser.parse_args()
    program, good = build(SOURCE, PROGRAMS), True
    for folder in given.traces:
        trace = read_trace(folder)
        with tempfile.TemporaryDirectory() as scratch:
            unpacked, platform = Path(scratch), Path(scratch) / "platform.xml"
            unpack(trace, unpacked)
            lines = sum(path.read_bytes().count(b"\n") for path in unpacked.glob("rank-*.txt"))
            for name in given.interconnects.split(","):
                model = make_model(load_interconnect(name, ROOT / "config/interconnects"), ROOT)
                platform.write_text(platform_xml(model, -(-trace.processes // 2), 1.0))
                done = replay(program, platform, unpacked, trace.factors("corrected"), 2, str(folder))
                rate = lines / done.cpu_seconds
                good &= rate >= FEWEST_LINES_A_SECOND and done.memory_bytes <= MOST_BYTES
                print(
                    f"{trace.about['case']}, {trace.processes} processes, {name}: {lines} lines in "
                    f"{done.cpu_seconds:.2f} CPU s, {rate:.0f} a second, {done.memory_bytes / 1e6:.0f} MB",
                    flush=True,
                )
    if not good:
        raise SystemExit(
            f"below {FEWEST_LINES_A_SECOND} lines a CPU second, or above {MOST_BYTES / 1e6:.0f} MB"
        )


if __name__ == "__main__":
    main()
