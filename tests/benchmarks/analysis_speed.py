"""From 1,000,000 rows (100,000 points of 10 blocks) to all tables, beside plain pandas and SciPy.

Run by hand from the project's root: ``.venv/bin/python tests/benchmarks/analysis_speed.py``. On one core, or on as
many as ``--threads`` says; CPU time is that of all threads. All tables but those about money: nobody prices 1,250
cases. Two peers are measured in the same run: one ``groupby`` that gives the medians of all points, and the same
medians, speedups, improvements and intervals with ``groupby`` and ``scipy.stats.bootstrap``, on a share of the
cases and scaled up, as that takes minutes.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when NumPy is imported

import numpy as np
import pandas as pd
import pyarrow

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.figures import Figure, cost  # isort: skip

from analysis.decisions.request import Request
from analysis.decisions.rules import read_rule
from analysis.estimates.scaling import write_tables
from analysis.pipeline import make_all_tables
from analysis.runs.runs import read_runs
from analysis.runs.settings import Settings

RULE = Path(__file__).parents[2] / "config/proposals/doubling_1_5.yaml"
WORK = "import sys, pathlib; from tests.benchmarks.analysis_speed import cost_of_tables as of; of(pathlib.Path(sys.argv[1]), 1_000)"
INTERCONNECTS, BLOCKS = 10, 10
COUNTS = 2 ** np.arange(8)


def synthetic_runs(cases: int) -> pd.DataFrame:
    """Runs of `cases` × 10 interconnects × 8 process counts × 10 blocks, one of a kind."""
    shape = (cases, INTERCONNECTS, len(COUNTS), BLOCKS)
    case, interconnect, count, block = (index.ravel() for index in np.indices(shape))
    processes = COUNTS[count]
    rng = np.random.default_rng(0)
    seconds = 100 / processes + 0.2 * (1 + interconnect) * np.log2(processes) + 0.5
    return pd.DataFrame(
        {
            "case": pd.Series(case).map("case{}".format),
            "interconnect": pd.Series(interconnect).map("net{}".format),
            "kind": "measured",
            "processes": processes,
            "block": block,
            "seconds": seconds * np.exp(rng.normal(0, 0.03, len(seconds))),
        }
    )


def plain(runs: pd.DataFrame, draws: int) -> pd.DataFrame:
    """Medians, speedups and improvements with their intervals, as one would write them first."""
    from scipy.stats import bootstrap  # what it takes to import is no cost of ours

    rng = np.random.default_rng(0)
    rows = []
    for _, case in runs.groupby("case"):
        points = {
            key: group["seconds"].to_numpy() for key, group in case.groupby(["interconnect", "processes"])
        }
        reference = points["net0", 1]
        for (interconnect, processes), seconds in points.items():
            apart = bootstrap(
                (reference, seconds),
                lambda a, b, axis: np.median(a, axis=axis) / np.median(b, axis=axis),
                n_resamples=draws, method="percentile", vectorized=True, rng=rng,
            ).confidence_interval  # fmt: skip
            paired = bootstrap(
                (points["net0", processes], seconds),
                lambda a, b, axis: np.median(a, axis=axis) / np.median(b, axis=axis) - 1,
                n_resamples=draws, method="percentile", vectorized=True, paired=True, rng=rng,
            ).confidence_interval  # fmt: skip
            rows.append((interconnect, processes, np.median(seconds), *apart, *paired))
    return pd.DataFrame(rows)


def plain_cpu_seconds(runs: pd.DataFrame, cases: int, share: float, draws: int) -> float:
    """CPU seconds of the plain version, timed on a share of the cases and scaled up."""
    few = max(round(cases * share), 1)
    start = time.process_time()
    plain(runs[: few * len(runs) // cases], draws)
    return (time.process_time() - start) * cases / few


@dataclass(frozen=True)
class Parts:
    """CPU seconds of all threads, and the largest memory of the process up to then in GB."""

    reading: float
    making: float
    writing: float
    memory: float
    rows: dict[str, int]

    @property
    def seconds(self) -> float:
        """CPU seconds in all."""
        return self.reading + self.making + self.writing


def cost_of_tables(path: Path, draws: int) -> Parts:
    """Read a runs table, make all tables, write them beside it; what each took."""
    times = [time.process_time()]
    runs = read_runs(path)
    times.append(time.process_time())
    tables = make_all_tables(runs, Request(Settings(draws=draws), rule=read_rule(RULE)))
    times.append(time.process_time())
    write_tables(tables, path.parent / "tables")
    times.append(time.process_time())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return Parts(*np.diff(times).tolist(), memory, {name: len(table) for name, table in tables.items()})


def measure(cases: int = 1_250) -> list[Figure]:
    """Give CPU time and memory of a process that makes all tables, imports included, beside the plain version."""
    runs = synthetic_runs(cases)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.csv"
        runs.to_csv(path, index=False)
        inside = [*("taskset", "-c", str(min(os.sched_getaffinity(0)))), sys.executable, "-c"]
        used = cost([*inside, WORK, path])
    rows, peer = f"{len(runs):,} rows to all tables", "pandas and SciPy, two tables"
    theirs = plain_cpu_seconds(runs, cases, 0.008, 1_000)
    return [
        Figure(rows, used.cpu_seconds, "s CPU", 10, peer, theirs, 0.08),
        Figure(f"memory of {rows}", used.memory_bytes / 1e6, "MB", 2_000),
    ]


def main() -> None:
    """Print times, memory and the ratios to the peers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1_250, help="80 points each")
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--plain-share", type=float, default=0.008, help="cases for the plain version")
    parser.add_argument("--threads", type=int, default=1, help="of Arrow; cores that may be used")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    pyarrow.set_cpu_count(options.threads)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.csv"
        synthetic_runs(options.cases).to_csv(path, index=False)
        took = cost_of_tables(path, options.draws)
        runs = pd.read_csv(path)
    points = runs.groupby(["case", "interconnect", "processes"])["seconds"]
    start = time.process_time()
    points.median()
    medians = time.process_time() - start
    scipy = plain_cpu_seconds(runs, options.cases, options.plain_share, options.draws)
    print(f"{len(runs)} rows, {options.draws} draws, {options.threads} threads: {took.seconds:.1f} s of CPU")
    print(f"reading {took.reading:.1f} s, making {took.making:.1f} s, writing {took.writing:.1f} s")
    print(f"rows of the tables: {', '.join(f'{name} {rows}' for name, rows in took.rows.items())}")
    print(f"peak memory {took.memory:.2f} GB (making the runs included)")
    print(f"plain pandas and SciPy, speedups and improvements alone: {scipy:.0f} s (scaled up)")
    print(f"ratio to these: {took.seconds / scipy:.2f}")
    print(f"medians of all points by groupby: {medians:.2f} s; ratio {took.seconds / medians:.0f}")


if __name__ == "__main__":
    main()
