"""Coverage and width of adjusted intervals: the figures of docs/machine_speed.md.

Two interconnects that are alike, under noise of 15 %, of whose variance the fixed work sees a share.

    python tests/benchmarks/speed_probe.py

With ``real [BLOCKS]``, a study of runs of some 6 s on two cores, beside a program that keeps these busy in phases
that come and go; prints its table ``adjusted``.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

sys.path.insert(0, str(Path(__file__).parents[2]))

from analysis.statistics.shift import paired_shift
from analysis.topics.adjusted import EXPLAINS, Ratios, adjusted_times, speed_effect
from workflows.paths import ROOT

STUDIES = 2_000


def interval(logs):
    """Estimate and ends of an interval of log ratios."""
    shift = paired_shift(logs[None], 0.05)
    return shift.estimate[0], shift.low[0], shift.high[0]


def cell(blocks, seen):
    """Shares in percent: effect found; of these given; plain and given intervals that hold 0; ratio of widths."""
    rng = np.random.default_rng([blocks, int(100 * seen)])
    covered, plain, adjusted, widths = 0, [], [], []
    for _ in range(STUDIES):
        noise, fixed, rest = rng.normal(0, 0.15, (3, blocks))
        times = np.sqrt(seen) * noise + np.sqrt(1 - seen) * rest
        ratios = Ratios(np.arange(blocks), times, noise if seen else fixed)
        effect = speed_effect([ratios])
        _, low, high = interval(times)
        plain.append(low <= 0 <= high)
        if effect.p_value <= EXPLAINS:
            covered += 1
            estimate, lower, higher = interval(adjusted_times(ratios, effect))
            if low <= estimate <= high:
                adjusted.append(lower <= 0 <= higher)
                widths.append((higher - lower) / (high - low))
    shares = (
        covered / STUDIES,
        len(adjusted) / covered,
        np.mean(plain),
        np.mean(adjusted),
        np.median(widths),
    )
    return [f"{100 * share:.0f}" for share in shares]


STUDY = """
name: speed
cases: [matrix_product-long]
interconnects: [shared_memory, tcp_loopback]
processes: [2]
limits: {run_seconds: 600, idle_seconds: 0}
"""
LONG = {"parameters": {"rows": 1440, "products": 36}, "serial_seconds": 12, "memory_MB": 120, "golden": 1440}
BUSY = "import hashlib\nwhile True: bytearray(1 << 25)[:] = bytes(1 << 25); hashlib.pbkdf2_hmac('md5', b'', b'', 10**5)"
PHASES = 5, 30
"""Seconds that the other program is there, or is not: the least and the most."""


@contextlib.contextmanager
def loaded_in_phases() -> Iterator[None]:
    """Let a busy process on each core come and go until the end."""
    over, rng = threading.Event(), np.random.default_rng(1)

    def come_and_go():
        while not over.is_set():
            busy = []
            for core in sorted(os.sched_getaffinity(0)):
                busy.append(subprocess.Popen([sys.executable, "-c", BUSY]))
                os.sched_setaffinity(busy[-1].pid, {core})
            over.wait(rng.uniform(*PHASES))
            for process in busy:
                process.kill()
                process.wait()
            over.wait(rng.uniform(*PHASES))

    other = threading.Thread(target=come_and_go)
    other.start()
    try:
        yield
    finally:
        over.set()
        other.join()


def real(blocks):
    """Measure beside the other program, and print both comparisons."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        case = yaml.safe_load((ROOT / "cases/mpi4py/matrix_product/case.yaml").read_text())
        case["sizes"]["long"] = LONG | {"golden_from": "the matrix is its own inverse"}
        case_folder = folder / "cases/mpi4py/matrix_product"
        shutil.copytree(ROOT / "cases/mpi4py/matrix_product", case_folder)
        (case_folder / "case.yaml").write_text(yaml.safe_dump(case))
        (folder / "study.yaml").write_text(f"{STUDY}blocks: {blocks}\ncases_folder: {folder}/cases\n")
        run = [sys.executable, "-m", "workflows.start", f"{folder}/study.yaml"]
        with loaded_in_phases():
            subprocess.run(
                [*run, "--directory", name, "--", "results/speed/report.json"], cwd=ROOT, check=True
            )
        for table in ("runs.csv", "tables/improvement.csv", "tables/adjusted.csv"):
            print(
                pd.read_csv(folder / "results/speed" / table).dropna(axis=1).round(4).to_string(index=False)
            )


def main():
    """Print a row for each number of blocks and share of the noise, or what is asked for."""
    if sys.argv[1:]:
        return real(int(sys.argv[2]) if sys.argv[2:] else 12)
    heads = ("blocks", "noise that is seen, %", "explains, %", "of these given, %")
    print("|", " | ".join([*heads, "plain holds, %", "adjusted holds, %", "width, % of the plain"]), "|")
    print("|", " | ".join(["--:"] * 7), "|")
    for blocks in (6, 10, 30):
        for seen in (0, 0.2, 0.5, 0.8, 0.95):
            print("|", " | ".join([str(blocks), f"{100 * seen:.0f}", *cell(blocks, seen)]), "|")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
