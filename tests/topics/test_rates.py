"""Rates next to times: runs a day, and work a second if the runs table has the work."""

import pandas as pd
import pytest
from made_tables import make_tables
from refused import refusal
from small_runs import rows, unplaced

from analysis.runs.runs import TableError
from analysis.runs.settings import Settings
from analysis.topics.scaling.tables import add_rates


def scaling(runs):
    return make_tables(unplaced(runs), Settings(draws=100))["scaling"]


def test_a_rate_by_hand():
    # 32,000 cells and 79 timed iterations: 2,528,000 cell iterations in 4 s
    runs = rows("duct", None, {1: 8}) + rows("duct", "a", {2: 4})
    table = scaling([row | {"work": 2_528_000, "work_unit": "cell iterations"} for row in runs])
    assert table["rate"].tolist() == pytest.approx([316_000, 632_000])
    assert table["runs_per_day"].tolist() == pytest.approx([10_800, 21_600])
    assert set(table["rate_unit"]) == {"cell iterations"}


def test_without_work_there_are_runs_a_day_alone():
    table = scaling(rows("duct", None, {1: 8}) + rows("duct", "a", {2: 4}))
    assert table["rate"].isna().all() and table["rate_unit"].isna().all()
    assert table["runs_per_day"].tolist() == pytest.approx([10_800, 21_600])


def test_work_grows_with_the_processes_in_weak_scaling():
    runs = rows("duct", None, {1: 8}, work=100) + rows("duct", "a", {2: 8}, work=200)
    assert scaling(runs)["rate"].tolist() == pytest.approx([12.5, 25])


def test_work_of_an_invalid_run_counts_for_nothing():
    runs = rows("duct", "a", {1: 8}, work=100) + rows("duct", "a", {1: 1}, [1.0], work=7, valid=False)
    runs[-1]["block"] = 99
    assert scaling(runs)["rate"].tolist() == pytest.approx([12.5])


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("work", (100, 200), "case 'duct', 1 processes: column 'work': is both 100"),
        ("work_unit", ("cells", "steps"), "case 'duct': column 'work_unit': is both cells and steps"),
    ],
)
def test_two_amounts_or_units_for_a_case_are_one_line(column, values, message):
    first, second = ({"work": 100, "work_unit": "cells"} | {column: value} for value in values)
    runs = unplaced(rows("duct", "a", {1: 8}, **first), rows("duct", "b", {1: 8}, **second))
    table = pd.DataFrame({"case": ["duct"], "processes": [1], "seconds": [8.0]})
    assert message in refusal(TableError, add_rates, table, runs)


def test_work_that_is_no_positive_number_is_one_line():
    message = refusal(TableError, unplaced, rows("duct", "a", {1: 8}, work=0))
    assert "column 'work': 0: it must be above 0" in message
