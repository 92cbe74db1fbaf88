"""False alarms and power of the test for two populations, and the limits of its variance ratio.

Run by hand from the project's root: ``.venv/bin/python tests/benchmarks/populations.py``; prints the limits and the
table of docs/statistics.md, from 400,000 samples per number of runs for the limits and 40,000 per cell of the table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from analysis.statistics import Floats
from analysis.statistics.populations import FEWEST, LEAST_GROUP, LIMITS, are_two, best_split

LEVEL = 0.01
DISTANCE = 8
"""Distance of the two populations, in standard deviations of a population."""
BATCH = 40_000
BATCHES = 10
COUNTS = (8, 9, 10, 11, 12, 15, 20, 30, 50, 100)
Sampler = Callable[[np.random.Generator, int], Floats]
SPREAD = 0.1
"""Scale of the delays of a run, relative to its shortest time."""


def delayed(tail: float) -> Sampler:
    """Log times of runs that are delayed by a Pareto time with this tail index."""
    return lambda rng, n: np.log1p(SPREAD * rng.pareto(tail, (BATCH, n)))


LOG_TIMES: dict[str, Sampler] = {
    "log-normal": lambda rng, n: rng.standard_normal((BATCH, n)),
    "t of 2 degrees of freedom": lambda rng, n: rng.standard_t(2, (BATCH, n)),
    "Pareto": lambda rng, n: rng.exponential(size=(BATCH, n)),
    "Pareto delays, index 3": delayed(3),
    "Pareto delays, index 2": delayed(2),
    "Pareto delays, index 1": delayed(1),
    "steady trend": lambda rng, n: rng.random((BATCH, n)),
}
"""One population each, by the distribution of the times."""


def apart(rng: np.random.Generator, n: int, smaller: int) -> Floats:
    """Log times of two normal populations at the stated distance; `smaller` values belong to the slower."""
    values = rng.standard_normal((BATCH, n))
    values[:, :smaller] += DISTANCE
    return values


def ratios(values: Floats) -> Floats:
    """Variance ratio of each sample."""
    return best_split(np.sort(values, axis=1)).ratio


def limits(rng: np.random.Generator) -> list[float]:
    """Variance ratios that `LEVEL` of the samples stay below: the smaller of log-normal and t times."""
    calibrated = list(LOG_TIMES.values())[:2]
    counts = range(FEWEST, FEWEST + len(LIMITS))
    return [
        min(
            float(np.quantile(np.concatenate([ratios(sample(rng, n)) for _ in range(BATCHES)]), LEVEL))
            for sample in calibrated
        )
        for n in counts
    ]


def main() -> None:
    """Print the limits and the table."""
    rng = np.random.default_rng(48)
    print("limits for 1 %:", ", ".join(f"{limit:.4f}" for limit in limits(rng)))
    print(f"| runs | {' | '.join(LOG_TIMES)} | half slower | a quarter slower | {LEAST_GROUP} slower |")
    print("|" + " --- |" * (len(LOG_TIMES) + 4))
    for n in COUNTS:
        samples = [sample(rng, n) for sample in LOG_TIMES.values()]
        samples += [apart(rng, n, smaller) for smaller in (n // 2, max(n // 4, LEAST_GROUP), LEAST_GROUP)]
        shares = [100 * are_two(ratios(values), n).mean() for values in samples]
        print(f"| {n} | {' | '.join(f'{share:.1f}' for share in shares)} |")


if __name__ == "__main__":
    main()
