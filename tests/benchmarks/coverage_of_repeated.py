"""Simulate how often the interval of a speedup contains the true value if a point was measured again.

Run by hand from the project's root: ``.venv/bin/python tests/benchmarks/coverage_of_repeated.py``. It prints
a table in Markdown. Each study has a serial run and a run on two processes in common sweeps, and further
sweeps of the run on two processes. All runs of a point have the same distribution.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from analysis.statistics.bootstrap import median_draws

STUDIES, DRAWS = 2000, 400
MEDIANS = np.array([[10.0], [6.0]])
NOISES = {
    "log-normal, 3 %": lambda rng, shape: rng.standard_normal(shape),
    "heavy tails: Student's t, 2 degrees of freedom, 3 %": lambda rng, shape: rng.standard_t(2, shape),
}


def coverage(noise: str, common: int, further: int, rng: np.random.Generator) -> float:
    """Return the share of studies, in percent, whose interval contains the true speedup."""
    hits = 0
    for _ in range(STUDIES):
        times = MEDIANS * np.exp(0.03 * NOISES[noise](rng, (2, common + further)))
        times[0, common:] = np.nan
        serial, parallel = median_draws(times, DRAWS, rng, counts=np.array([0, 1]))
        low, high = np.percentile(serial / parallel, [2.5, 97.5])
        hits += low <= MEDIANS[0, 0] / MEDIANS[1, 0] <= high
    return 100 * hits / STUDIES


def main() -> None:
    """Print a row for each noise and number of sweeps."""
    rng = np.random.default_rng(2026)
    print("| noise | common sweeps | further sweeps | covers |\n| --- | --- | --- | --- |")
    for noise in NOISES:
        for common, further in ((5, 5), (6, 1), (6, 6), (10, 10)):
            print(f"| {noise} | {common} | {further} | {coverage(noise, common, further, rng):.1f} % |")


if __name__ == "__main__":
    main()
