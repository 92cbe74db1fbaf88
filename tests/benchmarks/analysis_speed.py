"""From 1,000,000 rows (100,000 points of 10 blocks) to all tables, beside plain pandas and SciPy.

Run by hand from the project's root: ``.venv/bin/python tests/benchmarks/analysis_speed.py``. One core. All
tables but those about money: nobody prices 1,250 cases. The plain version does the same medians, speedups and
intervals with ``groupby`` and ``scipy.stats.bootstrap``; it is timed on a share of the cases and scaled up, as it
takes minutes.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when NumPy is imported

import numpy as np
import pandas as pd
import pyarrow
from scipy.stats import bootstrap

sys.path.insert(0, str(Path(__file__).parents[2]))

from analysis.all_tables import make_all_tables
from analysis.records import read_runs
from analysis.request import Request
from analysis.rules import read_rule
from analysis.settings import Settings
from analysis.tables import write_tables

RULE = Path(__file__).parents[2] / "config/proposals/doubling_1_5.yaml"
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


def main() -> None:
    """Print times and memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1_250, help="80 points each")
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--plain-share", type=float, default=0.008, help="cases for the plain version")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    pyarrow.set_cpu_count(1)

    runs = synthetic_runs(options.cases)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.csv"
        runs.to_csv(path, index=False)
        start, cpu = time.perf_counter(), time.process_time()
        read = read_runs(path)
        reading = time.perf_counter() - start
        tables = make_all_tables(read, Request(Settings(draws=options.draws), rule=read_rule(RULE)))
        making = time.perf_counter() - start - reading
        write_tables(tables, Path(folder) / "tables")
        total, cpu = time.perf_counter() - start, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{len(runs)} rows, {options.draws} draws: {total:.1f} s, {cpu:.1f} s of CPU")
    print(f"of these reading {reading:.1f} s, making the tables {making:.1f} s, writing the rest")
    print(f"rows of the tables: {', '.join(f'{name} {len(table)}' for name, table in tables.items())}")
    print(f"peak memory {memory:.2f} GB (runs made in the same process included)")

    few = max(round(options.cases * options.plain_share), 1)
    start = time.process_time()
    plain(runs[: few * len(runs) // options.cases], options.draws)
    seconds = (time.process_time() - start) * options.cases / few
    print(
        f"plain pandas and SciPy, speedups and improvements alone: {seconds:.0f} s of CPU (from {few} cases)"
    )
    print(f"ratio {seconds / cpu:.0f}")


if __name__ == "__main__":
    main()
