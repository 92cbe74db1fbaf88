"""Simulate the coverage of speedups and node equivalents of imported runs without blocks.

Run by hand from the project's root: ``.venv/bin/python tests/benchmarks/coverage_of_imported.py``. It prints
a table in Markdown. Each study has two interconnects on 32, 64, 128 and 256 nodes. Runs are independent, and
each point is resampled from its own runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from analysis.curves.equivalence import equivalent_counts
from analysis.statistics import Floats
from analysis.statistics.bootstrap import FEWEST_ALONE, median_draws, percentile_interval

STUDIES, DRAWS, SEED = 2_000, 1_000, 1
RUNS = (4, 5, 6, 10)
NODES = np.array([32, 64, 128, 256])
FAST, SLOW = np.array([130.0, 72.0, 44.0, 30.0]), np.array([137.0, 85.0, 60.0, 55.0])
"""Medians in seconds, close to those of LAMMPS on two clouds."""
NOISES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "log-normal, 3 %": lambda rng, shape: 0.03 * rng.standard_normal(shape),
    "t2, 3 %": lambda rng, shape: 0.03 * rng.standard_t(2, shape),
}


def coverage(
    noise: Callable[[np.random.Generator, tuple[int, int]], Floats], runs: int
) -> tuple[float, float]:
    """Return the shares of studies whose intervals contain the true speedup and node equivalent."""
    rng = np.random.default_rng([SEED, runs])
    true_speedup = SLOW[0] / SLOW[-1]
    true_equivalent = equivalent_counts(NODES, 1 / FAST, 1 / SLOW[-1:])[0]
    covered = np.zeros(2)
    for _ in range(STUDIES):
        fast, slow = (_drawn(medians, noise, runs, rng) for medians in (FAST, SLOW))
        speedup = (slow[:1] / slow[-1:])[:, None]
        equivalent = equivalent_counts(NODES, 1 / fast, 1 / slow[-1:])[:, None]
        for number, (draws, truth) in enumerate([(speedup, true_speedup), (equivalent, true_equivalent)]):
            low, high = percentile_interval(draws)
            covered[number] += low[0] <= truth <= high[0]
    return covered[0] / STUDIES, covered[1] / STUDIES


def _drawn(
    medians: Floats,
    noise: Callable[[np.random.Generator, tuple[int, int]], Floats],
    runs: int,
    rng: np.random.Generator,
) -> Floats:
    """Return bootstrap draws (counts, draws) of the median times of a simulated curve."""
    times = np.full((len(medians), len(medians) * runs), np.nan)
    for row, logs in enumerate(noise(rng, (len(medians), runs))):
        times[row, row * runs : (row + 1) * runs] = medians[row] * np.exp(logs)
    return median_draws(times, DRAWS, rng, fewest_alone=FEWEST_ALONE)


def main() -> None:
    """Print the table."""
    print("| noise of a run | runs per point | speedup | node equivalent |\n| --- | --- | --- | --- |")
    for name, noise in NOISES.items():
        for runs in RUNS:
            shares = " | ".join(f"{100 * share:.1f} %" for share in coverage(noise, runs))
            print(f"| {name} | {runs} | {shares} |")


if __name__ == "__main__":
    main()
