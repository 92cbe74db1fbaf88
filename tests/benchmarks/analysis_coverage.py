"""How often the intervals of the tables hold the truth, over 2,000 synthetic studies.

Run by hand from the project's root: ``.venv/bin/python tests/benchmarks/analysis_coverage.py``; prints tables
in Markdown: of studies of a fixed number of blocks, of studies that go on from 6 blocks until the interval of
their improvement is narrow, of tests and sets of peaks (``--only verdicts``, or one group of these), and of
intervals that hold at once (``--only at_once``). Each study is one case: a serial run and two interconnects on 2,
4, 8 and 16 processes in blocks of one shared noise. The whole way is taken, from a runs table to the tables.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[2]))

from analysis.curves.outcomes import corrected
from analysis.curves.point_comparison import Contrast, compare_points, percent_columns, simultaneous
from analysis.curves.points import Sample
from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings
from tests.benchmarks.synthetic_sweeps import COUNTS, MEDIANS, runs_of
from tests.made_tables import make_tables

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
    return runs_of(medians * np.exp(noise))


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
    mean_gains = 100 * np.expm1(np.cumsum(np.log1p(gains[1:] / 100)) / np.arange(1, len(gains)))
    peaks = tables["peaks"].assign(truth=lambda peaks: peaks["interconnect"].map({"slow": 8, "swift": 16}))
    inside = [str(peak.truth) in peak.peak_set.split() for peak in peaks.itertuples()]
    equivalents = tables["node_equivalent"]
    equivalents = equivalents[equivalents["baseline_processes"] == 4]
    target = slow[0] / slow[2]
    truth = np.interp(target, swift[0] / swift, COUNTS)
    return {
        "stated for seconds": 100 * scaling["coverage"].iloc[0],
        "seconds": within(scaling, "seconds", medians * shift),
        "speedup": within(scaling, "speedup", 100 / medians),
        "stated for the improvement": 100 * improvement["coverage"].mean(),
        "improvement": within(improvement, "improvement", gains[at]),
        "average": within(improvement, "average", mean_gains[at - 1]),
        "node equivalent": within(equivalents, "equivalent", truth),
        "peak in its set": 100 * np.mean(inside),
        "counts in the set": np.mean([len(peak_set.split()) for peak_set in peaks["peak_set"]]),
    }


def improvements_as_blocks_are_added(runs: pd.DataFrame, draws: int) -> pd.DataFrame:
    """Improvement of each study at each number of blocks, from the first to the last it may have."""
    tables_by_blocks = []
    for blocks in range(LEAST_BLOCKS, MOST_BLOCKS + 1):
        tables = make_tables(runs[runs["block"] < blocks], Settings(draws=draws, baselines=("slow",)))
        tables_by_blocks.append(tables["improvement"].assign(blocks=blocks))
    return pd.concat(tables_by_blocks, ignore_index=True)


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
            cells = " | ".join(f"{value:.1f}" for value in coverage_until(improvements, target).values())
            print(f"| {title} | ±{target:g} | {cells} |", flush=True)


@dataclass(frozen=True)
class Verdicts:
    """Studies of two interconnects that are alike, or of which one is faster at every count.

    Attributes
    ----------
    blocks : tuple of int
        Of the baseline and of the other.
    counts : int
        Process counts, all equally fast: a flat top.
    gain : float
        Log of the baseline's time over the other's where one is faster.
    shared, scatter, sweep : float, tuple of float, float
        Standard deviations of the log noise of a block; of a run of either; of a sweep of the baseline.
    paired : bool
        Whether both have the same blocks.
    kind : str
        Of the noise of a run: ``normal``, ``heavy`` (Student's t of 2 degrees of freedom), ``bimodal``.
    correlation : float
        Of the noise of a run with that of the block before.
    """

    title: str
    blocks: tuple[int, int]
    counts: int = 1
    gain: float = 0.05
    shared: float = 0.05
    scatter: tuple[float, float] = (0.03, 0.03)
    sweep: float = 0.0
    paired: bool = True
    kind: str = "normal"
    correlation: float = 0.0

    def seconds(self, studies: int, gain: float, rng: np.random.Generator) -> list[np.ndarray]:
        """Times (studies, counts, blocks) of the baseline and of the other."""
        most = max(self.blocks)
        shape = (studies, self.counts, most)
        draw = {
            "normal": rng.standard_normal,
            "heavy": lambda shape: np.clip(rng.standard_t(2, shape), -150, 150),  # 10^12 s is the longest
            "bimodal": lambda shape: 3 * (rng.random(shape) < 0.3) + 0.3 * rng.standard_normal(shape),
        }[self.kind]
        of_block = self.shared * rng.standard_normal((studies, 1, most))
        seconds_of_interconnects = []
        for place, (blocks, scatter) in enumerate(zip(self.blocks, self.scatter, strict=True)):
            noise = scatter * draw(shape)
            for block in range(1, most):
                fresh = np.sqrt(1 - self.correlation**2) * noise[..., block]
                noise[..., block] = self.correlation * noise[..., block - 1] + fresh
            if not place:
                noise = noise + self.sweep * rng.standard_normal((studies, 1, most))
            of_own_block = of_block if self.paired else self.shared * rng.standard_normal(shape)
            seconds_of_interconnects.append(np.exp(of_own_block + noise - place * gain)[..., :blocks])
        return seconds_of_interconnects

    def runs(self, seconds: Sequence[np.ndarray]) -> pd.DataFrame:
        """One case a study."""
        frames = []
        for place, (name, times) in enumerate(zip(MEDIANS, seconds, strict=True)):
            study, count, block = (index.ravel() for index in np.indices(times.shape))
            frame = {
                "case": pd.Series(study).map("study{:05}".format),
                "interconnect": name,
                "kind": "measured",
                "processes": 2 ** (count + 1) if self.counts < 12 else count + 2,
                "block": block if self.paired else block + 1_000 * place,
                "seconds": times.ravel(),
            }
            frames.append(pd.DataFrame(frame))
        return complete_runs(pd.concat(frames, ignore_index=True))


BLOCKS = (2, 3, 4, 5, 6, 10, 30)
SCENARIOS = {
    "flat": [
        Verdicts(f"flat top of {count} counts, {n} blocks", (n, n), count, 0.077)
        for count, n in (*((8, n) for n in sorted({*BLOCKS, 8})), (16, 10), (32, 10))
    ],
    **{
        name: [Verdicts(f"{title}, {n} blocks", (n, n), **noise) for n in BLOCKS]
        for name, title, noise in (
            ("normal", "log-normal", {}),
            ("block", "noise of a block 20 %", {"shared": 0.2}),
            ("heavy", "heavy tails", {"kind": "heavy"}),
            ("bimodal", "bimodal", {"kind": "bimodal"}),
            (
                "congestion",
                "congestion of one, 8 % a sweep, 4 counts",
                {"sweep": 0.08, "counts": 4, "gain": 0.1},
            ),
        )
    },
    "dependent": [
        Verdicts(f"autocorrelation {correlation}, {n} blocks", (n, n), correlation=correlation)
        for correlation in (0.3, 0.5, 0.7)
        for n in BLOCKS
    ],
    "sizes": [
        *(
            Verdicts(f"{n} against {m} blocks, paired", (n, m))
            for n, m in ((10, 6), *((2 * few, few) for few in BLOCKS))
        ),
        *(
            Verdicts(
                f"unpaired, {n} against {m} blocks, 2 % against 10 %",
                (n, m),
                1,
                0.1,
                0.0,
                (0.02, 0.1),
                0.0,
                False,
            )
            for n, m in (
                *(sizes for n in BLOCKS for sizes in ((n, n), (2 * n, n), (n, 2 * n))),
                (20, 5),
                (5, 20),
            )
        ),
    ],
}
TOGETHER = 500
"""Studies whose tables are made at once."""
CHECKED = 20
"""Studies of one count whose tables are made, to see that they have the rows of the comparisons alone."""


def judged(scenario: Verdicts, gain: float, studies: int, rng: np.random.Generator) -> pd.DataFrame:
    """Row of the improvement table of each study, a table of its own, with ``direction`` and ``held``.

    ``direction`` is the sign of what is told apart, else 0; ``held`` whether a given count is in its peak set.
    Studies of one count have what `compare_points` says, which is the same and faster.
    """
    seconds = scenario.seconds(studies, gain, rng)
    several = scenario.counts > 1
    parts = (
        [slice(start, start + TOGETHER) for start in range(0, studies, TOGETHER)]
        if several
        else [slice(CHECKED)]
    )
    judgements = pd.concat([_by_tables(scenario, [times[part] for times in seconds]) for part in parts])
    if not several:
        checked, judgements = judgements, _by_comparisons(scenario, seconds)
        assert np.allclose(checked[judgements.columns], judgements.head(CHECKED), equal_nan=True)
    apart = (judgements["improvement_low"] > 0) | (judgements["improvement_high"] < 0)
    sure = (judgements["p_value"] <= 0.05) & apart
    return judgements.assign(direction=np.sign(judgements["improvement_percent"]).where(sure, 0))


def _by_tables(scenario: Verdicts, seconds: Sequence[np.ndarray]) -> pd.DataFrame:
    tables = make_tables(scenario.runs(seconds), Settings(draws=100, baselines=("slow",)))
    sets = tables["peaks"].loc[tables["peaks"]["interconnect"] == "slow", "peak_set"]
    return tables["improvement"].assign(
        held=sets.map(lambda counts: "2" in counts.split(), na_action="ignore").tolist()
    )


def _by_comparisons(scenario: Verdicts, seconds: Sequence[np.ndarray]) -> pd.DataFrame:
    blocks = [np.arange(number) for number in scenario.blocks]
    samples = [
        (Sample(blocks[0], first), Sample(blocks[1], second), scenario.paired)
        for first, second in zip(*(times[:, 0] for times in seconds), strict=True)
    ]
    shifts = [comparison.shift for comparison in compare_points(samples, [0.05] * len(samples))]
    columns = [percent_columns("improvement", shift) | shift._asdict() for shift in shifts]
    return pd.DataFrame(columns)[
        ["improvement_percent", "improvement_low", "improvement_high", "p_value", "coverage"]
    ]


def error_rates(scenario: Verdicts, studies: int, rng: np.random.Generator) -> dict[str, float]:
    """Shares in percent, of as many studies of two that are alike and of two of which one is faster."""
    equal, faster = (judged(scenario, gain, studies, rng) for gain in (0.0, scenario.gain))
    bounded = pd.concat([equal.assign(truth=0.0), faster.assign(truth=100 * np.expm1(scenario.gain))])
    bounded = bounded[bounded["improvement_low"].notna()]
    directions = faster.loc[faster["direction"] != 0, "direction"]
    return {
        "interval": 50 * len(bounded) / studies,
        "stated": 100 * bounded["coverage"].mean(),
        "covers": within(bounded, "improvement", bounded["truth"]) if len(bounded) else np.nan,
        "width (points)": (bounded["improvement_high"] - bounded["improvement_low"]).median(),
        "alike, p up to 5 %": 100 * (equal["p_value"] <= 0.05).mean(),
        "alike, told apart": 100 * (equal["direction"] != 0).mean(),
        "gain": 100 * np.expm1(scenario.gain),
        "told apart": 100 * len(directions) / studies,
        "of these wrong": 100 * (directions < 0).mean(),
        "a count in its peak set": 100 * equal["held"].astype(float).mean() if "held" in equal else np.nan,
    }


def print_verdicts(names: Sequence[str], studies: int) -> None:
    """Print one row a scenario."""
    for number, scenario in enumerate(
        scenario_of_name for name in names for scenario_of_name in SCENARIOS[name]
    ):
        rates = error_rates(scenario, studies, np.random.default_rng(2026))
        if not number:
            print("\n| studies |", " | ".join(rates), "|\n|", " --- |" * (len(rates) + 1), sep="")
        cells = " | ".join("" if np.isnan(value) else f"{value:.1f}" for value in rates.values())
        print(f"| {scenario.title} |", cells, "|", flush=True)


@dataclass(frozen=True)
class Several:
    """A table of comparisons with one baseline, of log gains, by blocks of log-normal noise."""

    title: str
    gains: tuple[float, ...]
    blocks: int
    paired: bool = True


TABLES_OF_TESTS = [
    *(Several(f"4 identical, {blocks} blocks", (0.0,) * 4, blocks) for blocks in (8, 10, 30)),
    Several("4 unpaired, identical, 10 blocks", (0.0,) * 4, 10, paired=False),
    Several("8 of 0, 2, 5 and 10 %, 12 blocks", (0, 0, 0.02, 0.02, 0.05, 0.05, 0.1, 0.1), 12),
]


def at_once(scenario: Several, studies: int, rng: np.random.Generator) -> dict[str, float]:
    """Shares in percent of studies, or of comparisons; the noise is 5 % a block and 3 % a run."""
    tables, gains = [], np.array(scenario.gains)
    for _ in range(studies):
        of_block, of_baseline = rng.normal(0, 0.05, scenario.blocks), rng.normal(0, 0.03, scenario.blocks)
        base = Sample(np.arange(scenario.blocks), np.exp(of_block + of_baseline))
        samples = []
        for gain in gains:
            if not scenario.paired:
                of_block = rng.normal(0, 0.05, scenario.blocks)
            seconds = np.exp(of_block + rng.normal(0, 0.03, scenario.blocks) - gain)
            samples.append((base, base._replace(seconds=seconds), scenario.paired))
        compared = [comparison.shift for comparison in compare_points(samples, [0.05] * len(gains))]
        table = pd.DataFrame(
            {
                **{name: [getattr(shift, name) for shift in compared] for name in ("p_value", "least_p", "coverage")},
                **{f"improvement_{end}": [100 * np.expm1(getattr(shift, name)) for shift in compared]
                   for end, name in (("percent", "estimate"), ("low", "low"), ("high", "high"))},
                "tested": [Contrast(sample) for sample in samples],
                "paired": scenario.paired, "blocks": scenario.blocks, "kind": "measured",
            }
        )  # fmt: skip
        table = corrected(table)
        tables.append(table.assign(**simultaneous(table), truth=100 * np.expm1(gains)))
    all_tables = pd.concat(tables, keys=range(studies))
    covered = {
        name: (
            (all_tables[f"{name}_low"] <= all_tables["truth"])
            & (all_tables["truth"] <= all_tables[f"{name}_high"])
        )
        for name in ("improvement", "simultaneous")
    }
    outside = (all_tables["simultaneous_low"] > 0) | (all_tables["simultaneous_high"] < 0)
    return {
        "has them": 100 * all_tables["simultaneous_low"].notna().mean(),
        "all 95 % ones hold": 100 * covered["improvement"].groupby(level=0).all().mean(),
        "all at once hold": 100 * covered["simultaneous"].groupby(level=0).all().mean(),
        "times as wide": (
            (all_tables["simultaneous_high"] - all_tables["simultaneous_low"])
            / (all_tables["improvement_high"] - all_tables["improvement_low"])
        ).median(),
        "leaves out 0": 100 * outside.mean(),
        "Holm rejects": 100 * all_tables["distinguishable"].mean(),
        "leaves out 0 and Holm does not": 100
        * (outside & ~all_tables["distinguishable"].astype(bool)).mean(),
    }


def print_at_once(studies: int, rng: np.random.Generator) -> None:
    """Print one row a table of tests."""
    for number, scenario in enumerate(TABLES_OF_TESTS):
        rates = at_once(scenario, studies, rng)
        if not number:
            print("\n| comparisons |", " | ".join(rates), "|\n|", " --- |" * (len(rates) + 1), sep="")
        print(
            f"| {scenario.title} |", " | ".join(f"{value:.1f}" for value in rates.values()), "|", flush=True
        )


def print_fastest(studies: int, rng: np.random.Generator) -> None:
    """Print how often identical interconnects are told apart from the fastest of them, one row a number."""
    print(
        "\n| identical, blocks | next | slowest | a given one may be the fastest |\n| --- | --- | --- | --- |"
    )
    for several, blocks in ((3, 8), (4, 10), (8, 10)):
        noise = rng.normal(0, 0.05, (studies, 1, blocks)) + rng.normal(0, 0.03, (studies, several, blocks))
        study, number, block = (index.ravel() for index in np.indices(noise.shape))
        names = {"case": pd.Series(study).astype(str), "interconnect": pd.Series(number).astype(str)}
        columns = {"kind": "measured", "processes": 2, "block": block, "seconds": np.exp(noise).ravel()}
        runs = complete_runs(pd.DataFrame(names | columns))
        fastest = make_tables(runs, Settings(draws=100, baselines=("0",)))["fastest"]
        outside = fastest.assign(outside=(fastest["longer_low"] > 0) | (fastest["longer_high"] < 0))
        shares = 100 * outside.groupby("place")["outside"].mean()
        kept = 100 * fastest.loc[fastest["interconnect"] == "0", "may_be_fastest"].mean()
        print(f"| {several}, {blocks} | {shares[2]:.1f} | {shares[several]:.1f} | {kept:.1f} |", flush=True)


def print_derived(studies: int, draws: int) -> None:
    """Print one row a noise and number of blocks."""
    rng = np.random.default_rng(2026)
    for name, title in NOISES.items():
        shift = median_shift(name, rng)
        for blocks in (6, 10, 30):
            rates = coverage(synthetic_runs(name, studies, blocks, rng), shift, draws)
            if (name, blocks) == ("normal", 6):
                print("| noise | blocks |", " | ".join(rates), "|\n|", " --- |" * (len(rates) + 2), sep="")
            cells = " | ".join(f"{value:.1f}" for value in rates.values())
            print(f"| {title} | {blocks} |", cells, "|", flush=True)


def main() -> None:
    """Print what was asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=2_000)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--draws-until", type=int, default=1_000, help="for each number of blocks")
    parser.add_argument("--only", choices=[*SCENARIOS, "verdicts", "at_once", "derived", "until"])
    options = parser.parse_args()
    start = time.perf_counter()
    if options.only in (None, "at_once"):
        print_at_once(options.studies, np.random.default_rng(2026))
        print_fastest(options.studies, np.random.default_rng(2026))
    if options.only in (None, "verdicts", *SCENARIOS):
        print_verdicts([options.only] if options.only in SCENARIOS else list(SCENARIOS), options.studies)
    if options.only in (None, "derived"):
        print_derived(options.studies, options.draws)
    if options.only in (None, "until"):
        print_until(options.studies, options.draws_until, np.random.default_rng(2026))
    print(f"\n{options.studies} studies, {options.draws} draws, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
