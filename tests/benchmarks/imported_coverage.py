"""Simulate how often verdicts on imported runs are wrong, and how often their intervals hold the truth.

Run by hand from the project's root: ``.venv/bin/python tests/benchmarks/imported_coverage.py``. It prints a
table in Markdown, a row for each scenario. A study is one case in a runs table of imported rows; all studies
of a scenario pass from a runs table to table `improvement`. A limit holds if at most 6 % of studies of equal interconnects have
a direction, and if intervals cover the stated share, minus 2 points at most. Scenarios of fewer than five
runs need no interval, but must have no verdict beyond 6 % either.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[2]))

from analysis.curves.outcomes import DEPENDS_ON_COUNT
from analysis.pipeline import make_all_tables
from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings
from analysis.topics.topic import Request

NAMES = ("slow", "swift")
TOGETHER = 100
"""Studies whose tables are made at the same time."""
Study = Callable[[np.random.Generator], pd.DataFrame]


@dataclass(frozen=True)
class Scenario:
    """Studies of one kind.

    Attributes
    ----------
    title : str
    study : function
        From a generator to the rows of a study, without `case`.
    truth : float
        True improvement in percent.
    quantity : str
        ``improvement``; ``best`` for the comparison in which each interconnect has its own best count;
        ``fastest`` for the interconnect that table `fastest` names as the only fastest.
    """

    title: str
    study: Study
    truth: float = 0.0
    quantity: str = "improvement"


def rows(name: str, seconds: np.ndarray, processes: int = 64, **more: object) -> pd.DataFrame:
    """Make the rows of a point."""
    point = {"interconnect": name, "kind": "measured", "processes": processes}
    return pd.DataFrame(point | {"seconds": seconds} | more)


def wandering(runs: int, correlation: float, rng: np.random.Generator) -> np.ndarray:
    """Draw noise of standard deviation 1 that depends on the noise of the run before."""
    noise = rng.standard_normal(runs)
    for run in range(1, runs):
        noise[run] = correlation * noise[run - 1] + np.sqrt(1 - correlation**2) * noise[run]
    return noise


def rounded(ratio: float, runs: int, rng: np.random.Generator) -> pd.DataFrame:
    """Equal medians at a random place between two whole seconds; the spread is `ratio` steps."""
    median = 30 + rng.random()
    frames = [
        rows(name, np.round(median + ratio * rng.standard_normal(runs)), resolution_seconds=1.0)
        for name in NAMES
    ]
    return pd.concat(frames)


def autocorrelated(
    correlation: float, runs: int, blocks: bool, counts: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Equal medians; the noise of 3 % depends on the run before. Blocks alternate between interconnects.

    More `counts` show the dependence more clearly. The baseline is always best at the largest count.
    """
    frames = []
    for number in range(counts):
        for place, name in enumerate(NAMES):
            numbers = {"block": 2 * np.arange(runs) + place} if blocks else {}
            seconds = 50 * 2.0 ** (counts - number) * np.exp(0.03 * wandering(runs, correlation, rng))
            origin = "block" if blocks else None
            frames.append(rows(name, seconds, 2 ** (number + 1), order_from=origin, **numbers))
    return pd.concat(frames).sort_index(kind="stable")


def on_days(days: int, runs: int, column: str, rng: np.random.Generator) -> pd.DataFrame:
    """Equal medians; days differ by 3 %, independently for each interconnect, and runs by 0.5 %."""
    day = np.repeat(np.arange(days), runs)
    hour = np.tile(np.arange(runs), days)
    dates = pd.Timestamp("2026-01-01T08:00") + pd.to_timedelta(day, "D") + pd.to_timedelta(hour, "h")
    values = dates.strftime("%Y-%m-%d" if column == "day" else "%Y-%m-%dT%H:%M:%S+00:00")
    frames = [
        rows(
            name,
            50 * np.exp(0.03 * rng.standard_normal(days)[day] + 0.005 * rng.standard_normal(len(day))),
            **{column: values},
        )
        for name in NAMES
    ]
    return pd.concat(frames)


def drifting(by: str, rng: np.random.Generator) -> pd.DataFrame:
    """A drift of 10 % over the study, in which counts or interconnects were run one after the other."""
    points = [(name, count) for count in (32, 64) for name in NAMES]
    if by == "interconnects":
        points.sort(key=lambda point: point[0])
    runs, frames = 8, []
    turn = np.arange(runs)
    for number, (name, count) in enumerate(points):
        by_turns = number // 2 * 2 * runs + 2 * turn + number % 2
        minute = by_turns if by == "counts" else number * runs + turn
        drift = 0.1 * minute / (len(points) * runs)
        seconds = 6400 / count * np.exp(drift + 0.01 * rng.standard_normal(runs))
        started = (pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(minute, "min")).strftime(
            "%Y-%m-%dT%H:%M:%S+00:00"
        )
        frames.append(rows(name, seconds, count, started=started, block=turn, order_from="block"))
    return pd.concat(frames)


def wide_and_tight(first: int, second: int, rng: np.random.Generator) -> pd.DataFrame:
    """Equal medians; runs vary by 10 % over one interconnect and by 1 % over the other."""
    spreads = zip(NAMES, (first, second), (0.1, 0.01), strict=True)
    return pd.concat(
        [rows(name, 50 * np.exp(spread * rng.standard_normal(n))) for name, n, spread in spreads]
    )


def equal(interconnects: int, runs: int, blocks: bool, rng: np.random.Generator) -> pd.DataFrame:
    """Equal interconnects whose runs vary by 3 %."""
    names = (*NAMES, *(f"other{number}" for number in range(interconnects - 2)))
    more = {"block": np.arange(runs)} if blocks else {}
    return pd.concat([rows(name, 50 * np.exp(0.03 * rng.standard_normal(runs)), **more) for name in names])


def peaks_differ(
    slow: tuple[float, ...], swift: tuple[float, ...], paired: bool, rng: np.random.Generator
) -> pd.DataFrame:
    """Curves on 32 to 256 processes with eight blocks, whose best counts may differ."""
    frames = []
    for name, medians in zip(NAMES, (slow, swift), strict=True):
        for count, median in zip((32, 64, 128, 256), medians, strict=True):
            more = {"block": np.arange(8)} if paired else {}
            frames.append(rows(name, median * np.exp(0.01 * rng.standard_normal(8)), count, **more))
    return pd.concat(frames)


CURVE = (100.0, 55.0, 28.0, 28.0)
SCENARIOS = [
    *(
        Scenario(f"rounded, spread of {ratio:g} steps, {runs} runs", partial(rounded, ratio, runs))
        for ratio in (0.1, 0.3, 1, 3)
        for runs in (6, 10)
    ),
    *(
        Scenario(
            f"autocorrelation {correlation}, {runs} runs, {'blocks' if blocks else 'no blocks'}",
            partial(autocorrelated, correlation, runs, blocks, 1),
        )
        for correlation in (0.5, 0.7)
        for runs in (10, 30)
        for blocks in (True, False)
    ),
    *(
        Scenario(
            f"autocorrelation {correlation:g}, {runs} runs at {counts} count{'s' * (counts > 1)}",
            partial(autocorrelated, correlation, runs, False, counts),
        )
        for counts, numbers in ((1, (5, 6, 8, 10, 20, 29)), (8, (6,)))
        for runs in numbers
        for correlation in (0.0, 0.3, 0.5, 0.7)
    ),
    *(
        Scenario(f"{days} days of 6 runs, by {column}", partial(on_days, days, 6, column))
        for column in ("day", "started")
        for days in (2, 3, 5, 8)
    ),
    *(Scenario(f"drift of 10 %, {by} in order", partial(drifting, by)) for by in ("counts", "interconnects")),
    *(
        Scenario(f"wide against tight, {first} and {second} runs", partial(wide_and_tight, first, second))
        for first, second in (*((n, n) for n in range(3, 9)), (4, 11), (5, 20))
    ),
    *(
        Scenario(f"peaks that differ, {title}, {'paired' if paired else 'unpaired'}", partial(peaks_differ, slow, swift, paired), truth, "best")
        for paired in (True, False)
        for title, slow, swift, truth in (
            ("equal at best", CURVE, (100.0, 50.0, 33.0, 28.0), 0.0),
            ("both flat tops, equal", CURVE, CURVE, 0.0),
            ("12 % at best", CURVE, (100.0, 50.0, 25.0, 33.0), 12.0),
        )
    ),
    *(
        Scenario(
            f"fastest of {interconnects} equal, {runs} {'blocks' if blocks else 'runs'}",
            partial(equal, interconnects, runs, blocks),
            quantity="fastest",
        )
        for interconnects, runs in ((2, 5), (2, 10), (3, 10), (6, 10))
        for blocks in (True, False)
    ),
]  # fmt: skip


def judged(scenario: Scenario, studies: int, rng: np.random.Generator) -> Iterator[pd.DataFrame]:
    """Yield tables ``improvement`` of the studies, or ``fastest``."""
    name = "fastest" if scenario.quantity == "fastest" else "improvement"
    for start in range(0, studies, TOGETHER):
        numbers = range(start, min(start + TOGETHER, studies))
        frames = [scenario.study(rng).assign(case=f"study{number:05}") for number in numbers]
        table = pd.concat(frames, ignore_index=True)
        order = table["order_from"].fillna("block") if "order_from" in table else None
        runs = complete_runs(table.drop(columns="order_from", errors="ignore"))
        runs["order_from"] = (
            runs["order_from"] if order is None else runs["order_from"].fillna(order)
        ) + " of file 1"
        yield make_all_tables(runs, Request(Settings(draws=100, baselines=(NAMES[0],))), [name])[name]


def rates(scenario: Scenario, studies: int) -> dict[str, float]:
    """Return the rates of a scenario in percent."""
    table = pd.concat(judged(scenario, studies, np.random.default_rng(2026)), ignore_index=True)
    name = scenario.quantity
    if name == "fastest":
        candidates = table.groupby("case")["may_be_fastest"].sum()
        return {
            "interval": np.nan,
            "stated": np.nan,
            "covers": np.nan,
            "direction": 100 * (candidates == 1).mean(),
        }
    low, high = table[f"{name}_low"], table[f"{name}_high"]
    # Holm's correction of the table would join all studies, so each test stands alone.
    p_value = table["p_value" if name == "improvement" else "best_p_value"]
    sure = (p_value <= 0.05) & ((low > 0) | (high < 0))
    if name == "improvement":
        sure &= ~table["note"].str.contains(DEPENDS_ON_COUNT, na=False)
    has = low.notna()
    covered = (low <= scenario.truth + 1e-9) & (high >= scenario.truth - 1e-9)
    stated = table["coverage"].where(has).mean() if name == "improvement" else 0.95
    return {
        "interval": 100 * has.mean(),
        "stated": 100 * stated,
        "covers": 100 * covered[has].mean() if has.any() else np.nan,
        "direction": 100 * sure.mean(),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--only", default="", help="words in the titles of the scenarios")
    options = parser.parse_args()
    start = time.perf_counter()
    print("| studies | interval | stated | covers | direction |\n| --- | --- | --- | --- | --- |")
    for scenario in SCENARIOS:
        if options.only in scenario.title:
            cells = " | ".join(
                "" if np.isnan(v) else f"{v:.1f}" for v in rates(scenario, options.studies).values()
            )
            print(f"| {scenario.title} | {cells} |", flush=True)
    print(f"\n{options.studies} studies each, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
