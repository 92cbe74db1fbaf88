"""Block b of all counts is one sweep: values recorded together are drawn together, others apart."""

import numpy as np
import pandas as pd
import pytest
from made_tables import make_tables
from small_runs import FACTORS, curves, rows, runs_table, unplaced

from analysis.runs.settings import Settings

QUICK = Settings(draws=400)
CONGESTED = (1.0, 1.4, 1.0, 1.3, 1.02, 1.25)
"""Factors of one interconnect's times in six sweeps, the same at all counts."""


def curve_of(runs, interconnect):
    return next(curve for curve in curves(runs, QUICK) if curve.interconnect == interconnect)


def study(**more):
    return [
        *rows("duct", "slow", {2: 8.0, 4: 6.0, 8: 5.0}, FACTORS, **more),
        *rows("duct", "fast", {2: 6.0, 4: 3.0, 8: 2.0}, CONGESTED, **more),
    ]


def test_congestion_of_a_sweep_is_in_the_average():
    """Drawn apart, three counts would hide two thirds of the variance that they share."""
    together = make_tables(runs_table(study()), QUICK)["improvement"].iloc[0]
    lone = [{**row, "block": None} for row in study()]
    apart = make_tables(runs_table(lone), QUICK)["improvement"].iloc[0]
    assert together["average_low"] < together["average_percent"] < together["average_high"]
    assert np.isnan(apart["average_low"])  # of no sweep are all counts known
    draws = curve_of(runs_table(study()), "fast").draws[:, 0]
    assert np.allclose(draws[0] / draws[1], 2) and np.allclose(draws[1] / draws[2], 1.5)


def test_rows_without_a_block_share_no_sweep():
    lone = [{**row, "block": None} for row in study()]
    draws = curve_of(runs_table(lone), "fast").draws[:, 0]
    assert abs(np.corrcoef(draws[0], draws[1])[0, 1]) < 0.2


def of_one_point(seconds, **more):
    columns = {"case": "duct", "interconnect": "a", "processes": 2, "seconds": seconds, **more}
    return pd.DataFrame(columns).to_dict("records")


def by_block(runs):
    return unplaced(runs).sort_values("block")["seconds"].tolist()


def test_rows_without_a_block_come_in_their_order():
    """That of their starts, else of their repetitions, else of the file; starts count first."""
    seconds = np.linspace(1, 2, 40).tolist()
    numbers = np.arange(40, 0, -1)
    starts = [f"2026-11-01T00:{minute:02}:00Z" for minute in range(40)]
    assert by_block(of_one_point(seconds)) == seconds
    assert by_block(of_one_point(seconds)[::-1]) == seconds[::-1]
    assert by_block(of_one_point(seconds, repetition=numbers)) == seconds[::-1]
    assert by_block(of_one_point(seconds, repetition=numbers, started=starts)[::-1]) == seconds
    failed = {"case": "duct", "interconnect": "a", "processes": 2, "valid": False}
    assert by_block([*of_one_point(seconds, started=starts)[::-1], failed])[:40] == seconds


@pytest.mark.parametrize(
    "sessions", [{"repetition": [*range(1, 21)] * 2}, {"started": ["2026-11-01", *[None] * 39]}]
)
def test_rows_of_unknown_order_come_in_no_order(sessions):
    """Sorted by time they would all depend on each other; the order of the file changes nothing."""
    runs = of_one_point(np.linspace(1, 2, 40), **sessions)
    times = by_block(runs)
    assert abs(np.corrcoef(times[:-1], times[1:])[0, 1]) < 0.4
    assert by_block(runs[::-1]) == times


def of_sessions(starts, interconnects=("a", "b"), **more):
    """Runs of each interconnect, 30 minutes apart, at each of some starts."""
    half_hour = pd.Timedelta(minutes=30)
    return pd.DataFrame(
        [
            {"case": "duct", "interconnect": name, "processes": 2, "seconds": 1 + run / 100 + number / 10,
             "started": (pd.Timestamp(start) + (2 * run + place) * half_hour).isoformat(), **more}
            for place, name in enumerate(interconnects)
            for number, start in enumerate(starts)
            for run in range(3)
        ]
    ).to_dict("records")  # fmt: skip


def blocks_of(runs):
    return unplaced(runs).groupby("interconnect")["block"].agg(lambda blocks: sorted(set(blocks))).to_dict()


def test_runs_of_a_date_are_a_block():
    """The dates of `started` count if no column names the day; equal repetitions of a day are no fault."""
    dates = ["2026-11-01T09:00:00+02:00", "2026-11-02T09:00:00+02:00", "2026-11-04T22:00:00+02:00"]
    assert blocks_of(of_sessions(dates)) == {"a": [1, 2, 3], "b": [1, 2, 3]}
    assert blocks_of(of_sessions(dates, repetition=1)) == {"a": [1, 2, 3], "b": [1, 2, 3]}
    assert blocks_of(of_sessions(dates, day="monday")) == {"a": [1], "b": [1]}
    assert unplaced(of_sessions(dates))["order_from"].eq("date").all()
    assert unplaced(of_sessions(dates, day="monday"))["order_from"].eq("session").all()


def test_runs_of_one_session_are_no_block():
    """Runs that go on past midnight, and a case whose points have one date each."""
    assert len(blocks_of(of_sessions(["2026-11-01T23:00:00Z"]))["a"]) == 3
    first, second = (of_sessions([f"2026-11-0{day}T09:00:00Z"], [name]) for day, name in ((1, "a"), (2, "b")))
    assert [len(blocks) for blocks in blocks_of([*first, *second]).values()] == [3, 3]
    one_without = [*of_sessions(["2026-11-01", "2026-11-02"])]
    one_without[0]["started"] = None
    assert len(blocks_of(one_without)["b"]) == 6


def timed(rows, day):
    return [{**row, "started": f"2026-11-{day:02}T0{row['block']}:00:00Z"} for row in rows]


def test_a_count_that_is_added_later_is_drawn_apart():
    first = timed(rows("duct", "a", {2: 8.0, 4: 6.0}, CONGESTED), 1)
    later = timed(rows("duct", "a", {8: 5.0}, CONGESTED), 2)
    at_once = timed(rows("duct", "a", {8: 5.0}, CONGESTED), 1)
    two, four, eight = curve_of(runs_table(first, later), "a").draws[:, 0]
    assert np.allclose(two / four, 8 / 6) and abs(np.corrcoef(two, eight)[0, 1]) < 0.2
    two, _, eight = curve_of(runs_table(first, at_once), "a").draws[:, 0]
    assert np.allclose(two / eight, 8 / 5)


@pytest.mark.parametrize(("blocks", "bounded"), [(2, False), (4, False), (5, True)])
def test_no_derived_interval_below_five_blocks(blocks, bounded):
    runs = runs_table(
        rows("duct", None, {1: 12}, FACTORS[:blocks]), rows("duct", "a", {2: 8, 4: 6}, CONGESTED[:blocks])
    )
    scaling = make_tables(runs, QUICK)["scaling"]
    assert scaling["speedup_low"].notna().all() == bounded and scaling["speedup_low"].notna().any() == bounded
    assert scaling["seconds_low"].notna().all()  # an order statistic states its own coverage


def dependent(correlation, blocks, seed=0):
    """A time and a ratio that wander: normal noise of 5 % whose neighbours are correlated."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((3, blocks))
    for block in range(1, blocks):
        kept = correlation * noise[:, block - 1]
        noise[:, block] = kept + np.sqrt(1 - correlation**2) * noise[:, block]
    rows_of_runs = []
    for (processes, seconds), wander in zip({1: 10, 2: 8, 4: 6}.items(), 0.05 * noise, strict=True):
        rows_of_runs += rows("duct", "a", {processes: seconds}, np.exp(wander))
    return pd.DataFrame(rows_of_runs)


def test_dependent_blocks_widen_derived_intervals():
    """Thirty blocks in this order, and the same in random order."""
    runs = dependent(0.8, 30)
    shuffled = runs.assign(block=runs["block"].map(dict(enumerate(np.random.default_rng(1).permutation(30)))))
    widths = []
    for table in (runs, shuffled):
        scaling = make_tables(unplaced(table.to_dict("records")), QUICK)["scaling"]
        widths.append((scaling["speedup_high"] - scaling["speedup_low"]).iloc[-1])
    assert widths[0] > 1.8 * widths[1]
