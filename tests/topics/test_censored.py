"""A run stopped at its time limit is a lower bound: neither a time nor missing."""

import numpy as np
import pandas as pd
import pytest
from made_tables import make_tables
from report_parts import part, plain, sentences_of
from small_runs import FACTORS, rows, runs_table

from analysis.curves.outcomes import AT_LEAST, DEPENDENT, EITHER, STOPPED
from analysis.curves.point_comparison import compare_points
from analysis.curves.points import Sample
from analysis.pipeline import make_all_tables
from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.runs.runs import TableError, complete_runs
from analysis.runs.settings import Settings
from analysis.topics.quality.sentences import stopped_sentences
from analysis.topics.topic import Request

QUICK = Settings(draws=200, baselines=("a",))


def stopped(rows_of_point, *blocks, limit):
    """The same rows, some blocks of which were stopped."""
    return [
        row | {"censored": True, "seconds": limit} if row["block"] in blocks else row for row in rows_of_point
    ]


def tables(*groups):
    return make_all_tables(runs_table(*groups), Request(QUICK))


def test_a_median_beyond_the_limit_is_empty_and_marked():
    """10, 10 and three above 20: not 10 s."""
    made = tables(
        rows("duct", "a", {2: 30.0}), stopped(rows("duct", "a", {4: 10.0}, (1,) * 5), 2, 3, 4, limit=20)
    )
    (row,) = made["censored"].to_dict("records")
    assert np.isnan(row["seconds"]) and np.isnan(row["seconds_high"])
    assert (row["processes"], row["seconds_low"], row["n"], row["censored"]) == (4, 10, 5, 3)
    assert made["scaling"]["processes"].tolist() == [2]


def test_a_median_below_the_limit_is_known_and_has_no_upper_end():
    made = tables(rows("duct", "a", {2: 30.0}), stopped(rows("duct", "a", {4: 10.0}), 5, limit=20))
    (row,) = made["censored"].to_dict("records")
    assert (row["seconds"], row["seconds_low"], row["censored"]) == (10, 9, 1)
    row = made["scaling"].set_index("processes").loc[4]
    assert row["seconds"] == 10 and np.isnan(row["seconds_high"])
    assert row["speedup"] == 3 and np.isnan(row["speedup_low"])


def test_a_limit_below_the_median_leaves_it_unknown():
    """Stopped at 9.5 s: it might have taken 9.6 s as well as 60."""
    made = tables(rows("duct", "a", {2: 30.0}), stopped(rows("duct", "a", {4: 10.0}), 5, limit=9.5))
    assert np.isnan(made["censored"]["seconds"].item())


def test_a_limit_below_all_complete_runs_says_nothing():
    """The other runs had a higher limit: their median is the median."""
    complete = rows("duct", "a", {4: 10.0})
    made = tables(rows("duct", "a", {2: 30.0}), stopped(complete, 5, limit=5))
    assert "censored" not in made
    row = made["scaling"].set_index("processes").loc[4]
    others = [row["seconds"] for row in complete if row["block"] != 5]
    assert row["n"] == len(others) == 5 and row["seconds"] == np.median(others)


def compared(*groups, count=4):
    """The row of the improvement table of six or more blocks."""
    return make_tables(runs_table(*groups), QUICK)["improvement"].set_index("at_processes").loc[count]


def test_a_stopped_baseline_gives_a_lower_bound():
    """Five ratios of 2 and one of 20/4.5 or more: each mean of two is 2 or more, most are 2, none below 1."""
    row = compared(stopped(rows("duct", "a", {4: 10.0}), 0, limit=20), rows("duct", "b", {4: 5.0}))
    assert row["improvement_percent"] == pytest.approx(100) == row["improvement_low"]
    assert np.isnan(row["improvement_high"]) and row["p_value"] == 2 / 2**6
    assert row["verdict"] == "faster" and row["note"] == STOPPED


def test_an_estimate_that_hangs_on_stopped_runs_is_a_bound():
    """Four ratios of 2, 20/5.25 and 20/4.5: the 11th of 21 means is that of 2 and 20/5.25, or infinite."""
    row = compared(stopped(rows("duct", "a", {4: 10.0}), 0, 4, limit=20), rows("duct", "b", {4: 5.0}))
    assert row["improvement_percent"] == pytest.approx(100 * (np.sqrt(2 * 20 / 5.25) - 1))
    assert row["verdict"] == "faster" and row["note"] == AT_LEAST


def test_both_extremes_must_agree_on_a_direction():
    """Five ratios of 2; the sixth, 9/20 or less, has rank 6 of 6, whatever it is: P(W <= 6) = 14/64."""
    row = compared(rows("duct", "a", {4: 10.0}), stopped(rows("duct", "b", {4: 5.0}), 0, limit=20))
    assert row["improvement_percent"] == pytest.approx(100) == row["improvement_high"]
    assert np.isnan(row["improvement_low"]) and row["p_value"] == pytest.approx(28 / 64)
    assert row["verdict"] == "not distinguishable" and row["note"] == STOPPED


def test_blocks_that_depend_on_the_ones_before_have_no_plain_p_with_stopped_runs():
    """Ten ratios that fall from 2 to 1.1, one block stopped: as if independent p is 2/2^10."""
    falling = np.linspace(2, 1.1, 10)
    other = rows("duct", "b", {4: 5.0}, (1,) * 10)
    row = compared(stopped(rows("duct", "a", {4: 5.0}, falling), 0, limit=10), other)
    mixed = np.random.default_rng(0).permutation(falling)
    apart = compared(stopped(rows("duct", "a", {4: 5.0}, mixed), int(mixed.argmax()), limit=10), other)
    assert apart["p_value"] == 2 / 2**10 and apart["verdict"] == "faster"
    assert (
        row["improvement_percent"] > 0 and row["lag_one_correlation"] > 0.5 and row["effective_blocks"] < 10
    )
    assert row[["p_value", "improvement_low", "improvement_high", "coverage"]].isna().all()
    assert row["note"].endswith(DEPENDENT) and row["verdict"] == "faster (untested)"


def test_a_sign_that_depends_on_stopped_runs_is_not_stated():
    """Ratios 1.1, 1.1, 1/1.2 or less (twice) and 1.2 or more (twice), of which one extreme says each sign."""
    base, other = rows("duct", "a", {4: 10.0}, (1,) * 6), rows("duct", "b", {4: 10 / 1.1}, (1,) * 6)
    row = compared(stopped(base, 0, 1, limit=12), stopped(other, 2, 3, limit=12))
    assert np.isnan(row["improvement_percent"]) and row["p_value"] == 1
    assert row["verdict"] == "not distinguishable" and row["note"] == EITHER
    runs = runs_table(stopped(base, 0, 1, limit=12), stopped(other, 2, 3, limit=12))
    last = make_tables(runs, QUICK)["fastest"].iloc[
        -1
    ]  # the order is that of the medians, and so is the ratio
    assert last["longer_percent"] == pytest.approx(10) and np.isnan(last["longer_low"])


def test_unpaired_points_are_bounded_too():
    """Five times of 10 to 14 s against five of 5 to 7 s: apart, however long the slowest would have taken."""
    base = rows("duct", "a", {4: 10.0}, (1, 1.1, 1.2, 1.3, 1.4), kind="published")
    other = rows("duct", "b", {4: 5.0}, (1, 1.1, 1.2, 1.3, 1.4), kind="published")
    for number, row in enumerate([*base, *other]):
        row["block"] = number
    free = compared(base, other)
    assert not free["paired"] and free["p_value"] == pytest.approx(2 / 252)
    row = compared([*base[:4], base[4] | {"censored": True}], other)
    assert row["p_value"] == free["p_value"] and row["verdict"] == "faster"
    assert row["improvement_low"] == pytest.approx(free["improvement_low"])
    assert row["improvement_percent"] == pytest.approx(free["improvement_percent"])


@pytest.mark.parametrize("seed", range(8))
def test_no_ending_of_the_stopped_runs_is_beyond_the_bounds(seed):
    rng = np.random.default_rng(seed)
    first, second = 10 * np.exp(rng.normal(0, 0.1, (2, 8)))
    limit = np.array([np.quantile(first, 0.7), np.quantile(second, 0.7)])
    ends = [np.where(times > most, np.inf, times) for times, most in zip((first, second), limit, strict=True)]
    blocks = np.arange(8)
    samples = [
        Sample(blocks, np.minimum(times, most), longest=end)
        for times, most, end in zip((first, second), limit, ends, strict=True)
    ]
    for paired in (True, False):
        (bounds,) = compare_points([(*samples, paired)], [0.05])
        for _ in range(5):
            endings = [
                np.where(np.isinf(end), most * np.exp(rng.exponential(1, 8)), end)
                for end, most in zip(ends, limit, strict=True)
            ]
            (ended,) = compare_points([(*(Sample(blocks, times) for times in endings), paired)], [0.05])
            assert not bounds.shift.low > ended.shift.low and not bounds.shift.high < ended.shift.high
            if bounds.shift.p_value < 1:
                assert bounds.shift.p_value >= ended.shift.p_value - 1e-12
                assert np.sign(bounds.shift.estimate) == np.sign(ended.shift.estimate)
                assert abs(bounds.shift.estimate) <= abs(ended.shift.estimate) + 1e-12


def test_points_with_stopped_runs_have_no_spread_or_drift():
    """The five blocks that ended would have a spread of their own, and a drift."""
    made = tables(rows("duct", "a", {4: 10.0}), stopped(rows("duct", "b", {4: 5.0}), 5, limit=20))
    spread = made["variability"].set_index("interconnect")
    columns = ["seconds", "spread_percent", "worst_percent", "p_value", "lag_one_correlation"]
    assert spread.loc["b", columns].isna().all() and spread.loc["b", "n"] == 6
    assert spread.loc["a", ["seconds", "spread_percent", "worst_percent"]].notna().all()
    assert made["drift"].set_index("interconnect")["p_value"].isna().to_dict() == {"a": False, "b": True}
    assert made["drift"].set_index("interconnect").loc["b", ["drift_percent", "kendall_tau"]].isna().all()
    (sentence,) = stopped_sentences(made["variability"])
    assert sentence.startswith("Spread and drift of 1\u00a0point are unknown")
    assert not stopped_sentences(tables(rows("duct", "a", {4: 10.0}))["variability"])


def test_a_stopped_repetition_that_changes_no_median_takes_nothing_away():
    """One of three repetitions of each block never ended: the other two bound the median."""
    twice = [
        row | {"repetition": number, "seconds": 2 * row["seconds"] if number == 3 else row["seconds"]}
        for row in rows("duct", "a", {4: 10.0})
        for number in (1, 2, 3)
    ]
    of_three = [row | {"censored": True} if row["repetition"] == 3 else row for row in twice]
    row = tables(of_three)["variability"].iloc[0]
    assert row["seconds"] == 10 and row["worst_percent"] == pytest.approx(10)


def test_all_tables_are_made_where_only_limits_are_known():
    beyond = stopped(rows("duct", "b", {4: 20.0}, (1,) * 5), *range(5), limit=20)
    made = tables(rows("duct", "a", {2: 9.0, 4: 5.0}), beyond)
    (row,) = made["censored"].to_dict("records")
    assert (row["censored"], row["seconds_low"]) == (5, 20) and np.isnan(row["seconds"])
    assert made["improvement"].empty


def test_a_stopped_run_is_invalid_with_a_reason():
    row = {"case": "duct", "interconnect": "a", "processes": 2, "seconds": 20.0, "censored": "true"}
    runs = complete_runs(pd.DataFrame([row, row | {"seconds": 5.0, "censored": None}]))
    assert runs["valid"].tolist() == [False, True]
    assert runs["reason"].iloc[0] == "stopped at its time limit" and pd.isna(runs["reason"].iloc[1])


def test_a_limit_is_a_time():
    with pytest.raises(TableError, match="column 'seconds'"):
        complete_runs(
            pd.DataFrame(
                [{"case": "duct", "interconnect": "a", "processes": 2, "seconds": None, "censored": 1}]
            )
        )


def test_stopped_runs_of_one_case_leave_others_alone():
    runs = runs_table(
        rows("duct", "a", {4: 10.0}), rows("duct", "b", {4: 5.0}, FACTORS[::-1]),
        rows("elbow", "a", {4: 10.0}), stopped(rows("elbow", "b", {4: 5.0}), 0, limit=20),
    )  # fmt: skip
    improvement = make_tables(runs, QUICK)["improvement"].set_index("case")
    assert improvement["note"].isna().to_dict() == {"duct": True, "elbow": False}


def test_page_one_names_points_without_a_median():
    """Four of six serial runs were stopped: nothing is relative to them, and page one says why."""
    runs = runs_table(
        stopped(rows("duct", None, {1: 20.0}, FACTORS), 2, 3, 4, 5, limit=30),
        rows("duct", "a", {2: 10.0}, FACTORS),
    )
    report = make_report(runs, make_all_tables(runs, Request(QUICK)), Facts(), [])
    assert plain(report["result"]) == "Scaling is unknown: the only count with results is 2 processes"
    answer = sentences_of(part(report, "answer"))
    assert (
        "The median time is unknown where many blocks were stopped at their time limit: “duct” on 1 process (4 of 6 "
        "blocks)." in answer
    )
    assert "4 of 12 runs were stopped at their time limits and count as longer than the limit" in answer
