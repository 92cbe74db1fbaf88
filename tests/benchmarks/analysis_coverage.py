"""How often the intervals of the tables hold the truth, over 2,000 synthetic studies.

Run by hand from the project's root: ``.venv/bin/python tests/benchmarks/analysis_coverage.py``; prints two
tables in Markdown, of studies of a fixed number of blocks and of studies that go on from 6 blocks until the
interval of their improvement is narrow. Each study is one case: a serial run and two interconnects on 2, 4, 8 and 16 processes in
blocks of one shared noise. The whole way is taken, from a runs table to the tables.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[2]))

from analysis.estimates.scaling import make_tables
from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings

COUNTS = np.array([1, 2, 4, 8, 16])
MEDIANS = {"slow": np.array([100, 54, 31, 24, 25.0]), "swift": np.array([100, 52, 28, 17, 13.0])}
LEAST_BLOCKS, MOST_BLOCKS = 6, 30
PEAK_OF_SLOW = 8
TARGETS = (10, 6, 4)
"""Half-widths of the improvement's interval at which a study stops, in percentage points."""
NOISES = {
    "normal": "log-normal: 5 % a block, 3 % a run",
    "skewed": "5 % a block, and a run delayed by an exponential of 10 %",
    "heavy": "5 % a block, and a run by Student's t with 2 degrees of freedom, 3 %",
}


def own_noise(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Log noise of single runs."""
    if name == "skewed":
        return np.log1p(rng.exponential(0.1, shape))
    return 0.03 * (rng.standard_t(2, shape) if name == "heavy" else rng.standard_normal(shape))


def median_shift(name: str, rng: np.random.Generator) -> float:
    """Median of block and own noise together, as a factor."""
    noise = 0.05 * rng.standard_normal(4_000_000) + own_noise(name, (4_000_000,), rng)
    return float(np.exp(np.median(noise)))


def synthetic_runs(name: str, studies: int, blocks: int, rng: np.random.Generator) -> pd.DataFrame:
    """One case a study; the serial run has no interconnect."""
    shape = (studies, len(COUNTS), 1, blocks)
    noise = 0.05 * rng.standard_normal(shape) + own_noise(name, (studies, len(COUNTS), 2, blocks), rng)
    medians = np.stack(list(MEDIANS.values()), axis=1)[None, :, :, None]
    seconds = medians * np.exp(noise)
    study, count, interconnect, block = (index.ravel() for index in np.indices(seconds.shape))
    frame = pd.DataFrame(
        {
            "case": pd.Series(study).map("study{}".format),
            "interconnect": np.where(count == 0, None, np.array(list(MEDIANS))[interconnect]),
            "kind": "measured",
            "processes": COUNTS[count],
            "block": block,
            "seconds": seconds.ravel(),
        }
    )
    return complete_runs(frame[(count > 0) | (interconnect == 0)])


def within(table: pd.DataFrame, quantity: str, truth: np.ndarray | float) -> float:
    """Share of the intervals that hold the truth, in percent."""
    low, high = table[f"{quantity}_low"], table[f"{quantity}_high"]
    return 100 * ((low <= truth * (1 + 1e-12)) & (high >= truth * (1 - 1e-12))).mean()


def coverage(runs: pd.DataFrame, shift: float, draws: int) -> dict[str, float]:
    """Coverage of each quantity in percent."""
    tables = make_tables(runs, Settings(draws=draws, baselines=("slow",)))
    scaling = tables["scaling"][~tables["scaling"]["serial"]]
    position = np.searchsorted(COUNTS, scaling["processes"].to_numpy(int))
    medians = np.select(
        [scaling["interconnect"] == name for name in MEDIANS], [m[position] for m in MEDIANS.values()]
    )
    improvement = tables["improvement"]
    slow, swift = MEDIANS["slow"], MEDIANS["swift"]
    at = np.searchsorted(COUNTS, improvement["at_processes"].to_numpy(int))
    gains = 100 * (slow / swift - 1)
    mean_gains = np.cumsum(gains[1:]) / np.arange(1, len(gains))
    peaks = tables["peaks"].assign(truth=lambda peaks: peaks["interconnect"].map({"slow": 8, "swift": 16}))
    inside = [str(one.truth) in one.peak_set.split() for one in peaks.itertuples()]
    equivalents = tables["node_equivalent"]
    equivalents = equivalents[equivalents["baseline_processes"] == 4]
    target = slow[0] / slow[2]
    truth = np.interp(target, swift[0] / swift, COUNTS)
    return {
        "stated for seconds": 100 * scaling["coverage"].iloc[0],
        "seconds": within(scaling, "seconds", medians * shift),
        "speedup": within(scaling, "speedup", 100 / medians),
        "improvement": within(improvement, "improvement", gains[at]),
        "average": within(improvement, "average", mean_gains[at - 1]),
        "node equivalent": within(equivalents, "equivalent", truth),
        "peak in its set": 100 * np.mean(inside),
        "counts in the set": np.mean([len(one.split()) for one in peaks["peak_set"]]),
    }


def improvements_as_blocks_are_added(runs: pd.DataFrame, draws: int) -> pd.DataFrame:
    """Improvement of each study at each number of blocks, from the first to the last it may have."""
    found = []
    for blocks in range(LEAST_BLOCKS, MOST_BLOCKS + 1):
        tables = make_tables(runs[runs["block"] < blocks], Settings(draws=draws, baselines=("slow",)))
        found.append(tables["improvement"].assign(blocks=blocks))
    return pd.concat(found, ignore_index=True)


def coverage_until(improvements: pd.DataFrame, target_percent: float) -> dict[str, float]:
    """Stop each study at the first number of blocks at which its improvement is known to ± the target.

    Returns
    -------
    dict
        Coverage of the improvement and share of studies that reached the target, in percent; mean blocks.
    """
    widths = (improvements["improvement_high"] - improvements["improvement_low"]) / 2
    narrow = widths <= target_percent
    stops = improvements[narrow | (improvements["blocks"] == MOST_BLOCKS)].assign(narrow=narrow)
    ends = stops.sort_values("blocks").drop_duplicates("case")
    gains = 100 * (MEDIANS["slow"] / MEDIANS["swift"] - 1)
    at = np.searchsorted(COUNTS, ends["at_processes"].to_numpy(int))
    return {
        "improvement": within(ends, "improvement", gains[at]),
        "reached": 100 * ends["narrow"].mean(),
        "blocks": ends["blocks"].mean(),
    }


def print_until(studies: int, draws: int, rng: np.random.Generator) -> None:
    """Print one row a noise and target."""
    print("\n| noise | target | improvement | target reached | blocks on average |\n|", " --- |" * 5, sep="")
    for name, title in NOISES.items():
        runs = synthetic_runs(name, studies, MOST_BLOCKS, rng)
        runs = runs[runs["processes"].isin([1, PEAK_OF_SLOW])]  # the peak held, as improvements hold it
        improvements = improvements_as_blocks_are_added(runs, draws)
        for target in TARGETS:
            told = " | ".join(f"{value:.1f}" for value in coverage_until(improvements, target).values())
            print(f"| {title} | ±{target:g} | {told} |", flush=True)


def main() -> None:
    """Print one row a noise and number of blocks, then one a noise and target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=2_000)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--draws-until", type=int, default=1_000, help="for each number of blocks")
    options = parser.parse_args()
    rng = np.random.default_rng(2026)
    start = time.perf_counter()
    for name, title in NOISES.items():
        shift = median_shift(name, rng)
        for blocks in (6, 10, 30):
            found = coverage(synthetic_runs(name, options.studies, blocks, rng), shift, options.draws)
            if (name, blocks) == ("normal", 6):
                print("| noise | blocks |", " | ".join(found), "|\n|", " --- |" * (len(found) + 2), sep="")
            print(
                f"| {title} | {blocks} |",
                " | ".join(f"{value:.1f}" for value in found.values()),
                "|",
                flush=True,
            )
    print_until(options.studies, options.draws_until, rng)
    print(f"\n{options.studies} studies, {options.draws} draws, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
