"""Compare the probe of memory with a compiled STREAM triad, in turn, on 1, 2, 4, ... all cores.

    .venv/bin/python tests/benchmarks/stream.py [rounds]

The median of the rounds' ratios may be 5 % off; exit status 1 beyond that.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from workflows.launch.emulation import usable_cores
from workflows.simulation.processor import bandwidth_MBps

SOURCE = Path(__file__).with_name("stream_triad.c")
MOST_PERCENT = 5


def stream(program: str, cores: int) -> float:
    """Million bytes a second of the compiled triad."""
    pinned = {"OMP_PLACES": "cores", "OMP_PROC_BIND": "close", "OMP_NUM_THREADS": str(cores)}
    done = subprocess.run([program], env=os.environ | pinned, check=True, capture_output=True, text=True)
    return float(done.stdout)


def main() -> None:
    """Print a line for each number of cores."""
    rounds, most, off = int(sys.argv[1]) if sys.argv[1:] else 9, len(usable_cores()), []
    with tempfile.TemporaryDirectory() as scratch:
        program = f"{scratch}/stream"
        subprocess.run(["gcc", "-O3", "-fopenmp", "-mcmodel=medium", str(SOURCE), "-o", program], check=True)
        for cores in sorted({2**power for power in range(most.bit_length())} | {most}):
            pairs = [(bandwidth_MBps([cores])[cores], stream(program, cores)) for _ in range(rounds)]
            ratios = [ours / theirs for ours, theirs in pairs]
            ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = statistics.median(ratios)
            off.append(abs(100 * ratio - 100))
            print(
                f"{cores} cores: probe {ours:.0f} MB/s, STREAM {theirs:.0f} MB/s, "
                f"ratio {ratio:.3f} [{min(ratios):.3f}, {max(ratios):.3f}] of {rounds} rounds",
                flush=True,
            )
    sys.exit(max(off) > MOST_PERCENT)


if __name__ == "__main__":
    main()
