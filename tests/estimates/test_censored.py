"""A run that was stopped at its time limit took longer than that: it is neither a time nor nothing."""

import numpy as np
import pandas as pd
import pytest
from small_runs import FACTORS, rows, runs_table

from analysis.decisions.request import Request
from analysis.estimates.scaling import make_tables
from analysis.pipeline import make_all_tables
from analysis.runs.runs import TableError, complete_runs
from analysis.runs.settings import Settings

QUICK = Settings(draws=200, baselines=("a",))


def stopped(found, *blocks, limit):
    """The same rows, some blocks of which were stopped."""
    return [row | {"censored": True, "seconds": limit} if row["block"] in blocks else row for row in found]


def tables(*groups):
    return make_all_tables(runs_table(*groups), Request(QUICK))


def test_a_median_beyond_the_limit_is_empty_and_marked():
    """10, 10 and three above 20: not 10 s."""
    found = tables(
        rows("duct", "a", {2: 30.0}), stopped(rows("duct", "a", {4: 10.0}, (1,) * 5), 2, 3, 4, limit=20)
    )
    (row,) = found["censored"].to_dict("records")
    assert np.isnan(row["seconds"]) and np.isnan(row["seconds_high"])
    assert (row["processes"], row["seconds_low"], row["n"], row["censored"]) == (4, 10, 5, 3)
    assert found["scaling"]["processes"].tolist() == [2]


def test_a_median_below_the_limit_is_known_and_has_no_upper_end():
    found = tables(rows("duct", "a", {2: 30.0}), stopped(rows("duct", "a", {4: 10.0}), 5, limit=20))
    (row,) = found["censored"].to_dict("records")
    assert (row["seconds"], row["seconds_low"], row["censored"]) == (10, 9, 1)
    row = found["scaling"].set_index("processes").loc[4]
    assert row["seconds"] == 10 and np.isnan(row["seconds_high"])
    assert row["speedup"] == 3 and np.isnan(row["speedup_low"])


def test_a_limit_below_the_median_leaves_it_unknown():
    """Stopped at 5 s: it might have taken 6 s as well as 60."""
    found = tables(rows("duct", "a", {2: 30.0}), stopped(rows("duct", "a", {4: 10.0}), 5, limit=5))
    assert np.isnan(found["censored"]["seconds"].item())


def test_nothing_is_told_of_a_comparison_with_a_stopped_run():
    runs = runs_table(rows("duct", "a", {4: 10.0}), stopped(rows("duct", "b", {4: 5.0}), 0, limit=20))
    row = make_tables(runs, QUICK)["improvement"].iloc[0]
    assert row["note"] == "runs were stopped at their time limit: no interval and no test"
    assert row[["p_value", "improvement_low", "improvement_high"]].isna().all()


def test_all_tables_are_made_where_only_limits_are_known():
    beyond = stopped(rows("duct", "b", {4: 20.0}, (1,) * 5), *range(5), limit=20)
    found = tables(rows("duct", "a", {2: 9.0, 4: 5.0}), beyond)
    (row,) = found["censored"].to_dict("records")
    assert (row["censored"], row["seconds_low"]) == (5, 20) and np.isnan(row["seconds"])
    assert found["improvement"].empty


def test_a_stopped_run_is_not_valid_and_says_why():
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
    found = make_tables(runs, QUICK)["improvement"].set_index("case")
    assert found["p_value"].notna().to_dict() == {"duct": True, "elbow": False}
