"""How often derived intervals hold the truth, by number of blocks, noise, congestion and dependence.

Run by hand from the project's root: ``.venv/bin/python tests/benchmarks/coverage_of_derived.py [SCENARIO …]``;
prints tables in Markdown: each scenario, what reports print of them, and models.
Each study is one case: a serial run and two interconnects on 2, 4, 8 and 16 processes, in sweeps. The whole
way is taken, from a runs table to the tables. Incremental efficiency has no interval: its median error is
printed. Nothing drifts: of drift, how often the interval holds 0 and how often p is up to 5 %.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[2]))

from analysis.curves.curves import all_curves, ranking
from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings
from analysis.topics.models.tables import model_pieces
from analysis.topics.quality.tables import make_quality_tables
from tests.benchmarks.synthetic_sweeps import COUNTS, MEDIANS, runs_of
from tests.made_tables import finished, make_tables

Noise = Callable[[int, int, np.random.Generator], np.ndarray]
"""Log noise (studies, counts, interconnects, blocks) of so many studies and blocks."""

BLOCKS = (2, 3, 4, 5, 6, 10, 30)
CORRELATIONS = (0.3, 0.5, 0.7)
DERIVED = ["speedup", "node equivalent"]
"""What is told of the bootstrap; the average has an interval of its own."""


def normal(scale: float) -> Noise:
    """Log-normal noise of single runs."""
    return lambda studies, blocks, rng: scale * rng.standard_normal((studies, len(COUNTS), 2, blocks))


def heavy(studies: int, blocks: int, rng: np.random.Generator) -> np.ndarray:
    """Student's t with 2 degrees of freedom, 3 %, cut at factors of 150: beyond 10^12 s nothing is a time."""
    return np.clip(0.03 * rng.standard_t(2, (studies, len(COUNTS), 2, blocks)), -5, 5)


def bimodal(studies: int, blocks: int, rng: np.random.Generator) -> np.ndarray:
    """One run in three takes 20 % more; 1 % besides."""
    shape = (studies, len(COUNTS), 2, blocks)
    return 0.18 * (rng.random(shape) < 1 / 3) + 0.01 * rng.standard_normal(shape)


def congested(studies: int, blocks: int, rng: np.random.Generator) -> np.ndarray:
    """8 % a sweep of one interconnect, the same at all counts, and 3 % a run."""
    log_times = 0.03 * rng.standard_normal((studies, len(COUNTS), 2, blocks))
    log_times[:, 1:, 1] += 0.08 * rng.standard_normal((studies, 1, blocks))
    return log_times


def autocorrelated(correlation: float) -> Noise:
    """5 % a run, correlated with that of the point's block before."""

    def noise(studies: int, blocks: int, rng: np.random.Generator) -> np.ndarray:
        log_times = rng.standard_normal((studies, len(COUNTS), 2, blocks))
        for block in range(1, blocks):
            fresh = np.sqrt(1 - correlation**2) * log_times[..., block]
            log_times[..., block] = correlation * log_times[..., block - 1] + fresh
        return 0.05 * log_times

    return noise


SCENARIOS: dict[str, tuple[str, Noise]] = {
    "normal": ("log-normal, 5 % a run", normal(0.05)),
    "heavy": ("heavy tails: Student's t, 2 degrees of freedom, 3 % a run", heavy),
    "bimodal": ("bimodal: one run in three takes 20 % more", bimodal),
    "congestion": ("congestion of one interconnect, 8 % a sweep, 3 % a run", congested),
    **{f"dependent-{r}": (f"autocorrelation {r}, 5 % a run", autocorrelated(r)) for r in CORRELATIONS},
}


def within(table: pd.DataFrame, quantity: str, truth: np.ndarray | float) -> float:
    """Share of the intervals that hold the truth, in percent; NaN where there is none."""
    low, high = table[f"{quantity}_low"], table[f"{quantity}_high"]
    bounded = low.notna() & high.notna()
    if not bounded.any():
        return np.nan
    return 100 * ((low <= truth * (1 + 1e-12)) & (high >= truth * (1 - 1e-12)))[bounded].mean()


def coverage(
    noise: Noise, studies: int, blocks: int, draws: int, rng: np.random.Generator
) -> dict[str, float]:
    """Coverage of each derived quantity in percent."""
    shared = 0.05 * rng.standard_normal((studies, len(COUNTS), 1, blocks))
    medians = np.stack(list(MEDIANS.values()), axis=1)
    runs = runs_of(medians[None, :, :, None] * np.exp(noise(studies, blocks, rng) + shared))
    # The truth is that of medians of the noise, which bimodal noise has not at 0 but at one of its levels.
    long = noise(1, 200_000, rng) + 0.05 * rng.standard_normal((1, len(COUNTS), 1, 200_000))
    truth = medians * np.exp(np.median(long, axis=-1)[0])
    truth[0] = truth[0, 0]
    settings = Settings(draws=draws, baselines=("slow",))
    tables = make_tables(runs, settings)
    drift = make_quality_tables(runs, ranking(runs), settings)["drift"]
    scaling, improvement = (tables[name] for name in ("scaling", "improvement"))
    scaling = scaling[~scaling["serial"]]
    at = np.searchsorted(COUNTS, scaling["processes"].to_numpy(int))
    which = np.array([list(MEDIANS).index(name) for name in scaling["interconnect"]])
    peaks = np.searchsorted(COUNTS, improvement["baseline_peak_processes"].to_numpy(int))
    logs = np.log(truth[1:, 0] / truth[1:, 1])
    averages = np.array([np.expm1(logs[:peak].mean()) if peak else np.nan for peak in range(len(COUNTS))])
    equivalents = tables["node_equivalent"]
    equivalents = equivalents[equivalents["baseline_processes"] == 4]
    speedups = truth[0, 0] / truth
    steps = np.full_like(truth, np.nan)
    steps[1:] = truth[:-1] / truth[1:] * (np.array(COUNTS)[:-1] / np.array(COUNTS)[1:])[:, None]
    off = np.abs(scaling["incremental_efficiency"] / steps[at, which] - 1)
    return {
        "stated for the time": 100 * scaling["coverage"].iloc[0],
        "time": within(scaling, "seconds", truth[at, which]),
        "speedup": within(scaling, "speedup", speedups[at, which]),
        "average": within(improvement, "average", 100 * averages[peaks]),
        "node equivalent": within(
            equivalents, "equivalent", np.interp(speedups[2, 0], speedups[:, 1], COUNTS)
        ),
        "drift": within(drift, "drift", 0.0),
        "drift, p up to 5 %": 100 * (drift["p_value"].dropna() <= 0.05).mean(),
        "incremental efficiency off by": 100 * off.median(),
    }


def coverage_rows(names: list[str], studies: int, draws: int) -> Iterator[dict[str, object]]:
    """Rows: scenario, blocks and the coverage of each quantity."""
    for name in names:
        title, noise = SCENARIOS[name]
        rng = np.random.default_rng(2026)
        for blocks in BLOCKS if not name.startswith("dependent") else BLOCKS[3:]:
            yield {"noise": title, "blocks": blocks, **coverage(noise, studies, blocks, draws, rng)}


TRUTHS = {
    "amdahl": lambda p: 100 * (0.97 / p + 0.03),
    "tree": lambda p: 100 / p + 1 + 0.8 * np.log2(p),
    "linear": lambda p: 100 / p + 0.5 + 0.08 * p,
    "power": lambda p: 100 / p**0.85,
    "congested": lambda p: 100 / p + 0.3 * np.sqrt(p),
}
"""Times in seconds of a count: two that a model describes, and others that none does."""


def model_coverage(studies: int, draws: int) -> Iterator[dict[str, object]]:
    """Coverage of fitted curves at measured counts, between them and beyond, by what the truth is."""
    rng = np.random.default_rng(7)
    counts = np.array([1, 2, 4, 8, 16])
    settings = Settings(draws=draws)
    for name, truth in TRUTHS.items():
        noise = 0.04 * rng.standard_normal((studies, len(counts), 10))
        seconds = truth(counts)[None, :, None] * np.exp(noise)
        study, count, block = (index.ravel() for index in np.indices(seconds.shape))
        frame = pd.DataFrame(
            {
                "case": pd.Series(study).map("study{}".format),
                "interconnect": np.where(counts[count] == 1, None, "a"),
                "kind": "measured",
                "processes": counts[count],
                "block": block,
                "seconds": seconds.ravel(),
            }
        )
        runs = complete_runs(frame)
        curves = [curve for case in all_curves(runs, ranking(runs), settings) for curve in case]
        table = finished("model_curves", model_pieces(curves, settings)["model_curves"])
        predictions = table[table["model"] == "average"] if "average" in set(table["model"]) else table
        expected = truth(1.0) / truth(predictions["processes"].astype(float))
        beyond = predictions["processes"] > counts[-1]
        yield {
            "truth": name,
            "as far as measured": within(predictions[~beyond], "speedup", expected[~beyond]),
            "beyond": within(predictions[beyond], "speedup", expected[beyond]),
            "half-width beyond": 50
            * ((predictions["speedup_high"] - predictions["speedup_low"]) / predictions["speedup"])[
                beyond
            ].mean(),
        }


def printed(rows: list[dict[str, object]]) -> None:
    """Print rows as a table in Markdown."""
    print("|", " | ".join(rows[0]), "|\n|", " --- |" * len(rows[0]), sep="")
    for row in rows:
        cells = (f"{value:.1f}" if isinstance(value, float) else str(value) for value in row.values())
        print("|", " | ".join(cells).replace("nan", "-"), "|")


def main() -> None:
    """Print what was asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", choices=[*SCENARIOS, "models", []], default=[])
    parser.add_argument("--studies", type=int, default=2_000)
    parser.add_argument("--draws", type=int, default=1_000)
    options = parser.parse_args()
    start = time.perf_counter()
    names = [name for name in options.scenarios or SCENARIOS if name != "models"]
    rows = list(coverage_rows(names, options.studies, options.draws)) if names else []
    if rows:
        printed(rows)
    if independent := [row for row in rows if not str(row["noise"]).startswith("autocorrelation")]:
        print("\nLeast and most of independent blocks, for analysis/presentation/sentences.py:\n")
        ends = (
            pd.DataFrame(independent)
            .set_index("blocks")[DERIVED]
            .stack()
            .groupby("blocks")
            .agg(["min", "max"])
        )
        printed([{"blocks": blocks, "least": low, "most": high} for blocks, low, high in ends.itertuples()])
    if not options.scenarios or "models" in options.scenarios:
        print()
        printed(list(model_coverage(options.studies, options.draws)))
    print(f"\n{options.studies} studies, {options.draws} draws, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
