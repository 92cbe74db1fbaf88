"""Intervals of a study of four blocks: derived intervals need five."""

import pandas as pd
import pytest
from made_tables import make_tables
from report_parts import blocks, cells, part, sentences_of
from small_runs import rows, runs_table
from synthetic_study import make_runs, make_whole_study

from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings

OF_TESTS = {("scaling", "seconds"), ("packing", "seconds"), ("oversubscription", "gain")}
"""Order statistics of a time, and unpaired comparisons, which can be had of four blocks."""


@pytest.fixture(scope="module")
def study():
    return make_whole_study(make_runs(4, counts=(1, 2, 4, 8, 16), cases=("elbow",)))


@pytest.fixture(scope="module")
def report(study):
    return make_report(*study, [])


def test_no_derived_interval(study):
    columns = {
        (name, column.rpartition("_")[0])
        for name, table in study[1].items()
        for column in table
        if column.endswith(("_low", "_high")) and table[column].notna().any()
    }
    assert columns <= OF_TESTS and columns


def test_columns_with_an_interval_are_listed(report):
    method = sentences_of(part(report, "method"))
    assert "Intervals of times have a confidence of 87.5 %. " in method
    assert "Speedups and other derived quantities have no interval. An interval needs 5 blocks." in method
    (table,) = blocks(part(report, "models"), "table")
    assert "interval" not in table["caption"]
    (table,) = blocks(part(report, "fastest"), "table")
    assert "At counts with fewer than 5 blocks (repetitions), Nodeworth does not test" in table["caption"]


def test_too_few_blocks_are_not_the_same_as_not_distinguishable(report):
    (table,) = blocks(part(report, "answer"), "table")
    assert any(line[4].startswith("too few blocks at ") for line in cells(table))


def test_a_study_with_a_target_has_a_coverage_of_its_own():
    until = {"interval_percent": 5, "max_blocks": 20, "least_blocks": 6, "limit_core_hours": 2,
             "half_width_percent": 4.2, "core_hours": 1.1, "reached": True, "reason": "the target was reached"}  # fmt: skip
    made = make_report(*make_whole_study(make_runs(6, levels=(1,), cases=("elbow",)), until=until), [])
    method = sentences_of(part(made, "method"))
    assert (
        "Nodeworth tested this stopping rule on artificial data: 93.8 to 96.9 % of the intervals of "
        "improvements contained the true value." in method
    )


def page_one(*groups):
    """Page one of a study of the baseline ``a``, and the section behind page one."""
    runs = runs_table(*groups)
    tables = make_tables(runs, Settings(baselines=("a",), draws=400))
    report = make_report(runs, tables, Facts(), [])
    return part(report, "answer"), part(report, "words")


@pytest.mark.parametrize(
    ("noise", "sentence"),
    [(0.01, "The highest efficiency is 108 % [107, 109]: a with 2 processes. "), (0.2, None)],
)
def test_an_efficiency_above_one_has_its_interval(noise, sentence):
    factors, others = (tuple(1 + noise * part for part in parts) for parts in
                       ((-1, -0.5, 0, 0, 0.5, 1), (0.5, 0, -1, 1, 0, -0.5)))  # fmt: skip
    _, page = page_one(rows("duct", None, {1: 16.0}, factors), rows("duct", "a", {2: 7.4, 4: 5.0}, others))
    assert (sentence in sentences_of(page)) if sentence else "highest efficiency" not in sentences_of(page)


def test_an_undecided_target_is_not_called_unreachable():
    """At 4 processes b is slower than a at its best for sure; at 8 it is nearly as fast, more or less."""
    wide, narrow = (0.9, 0.97, 1.0, 1.02, 1.04, 1.1), (0.99, 1.0, 1.01, 1.0, 0.99, 1.01)
    page, _ = page_one(
        rows("duct", None, {1: 16.0}, narrow),
        rows("duct", "a", {2: 9.0, 4: 5.0, 8: 8.0}, narrow),
        rows("duct", "b", {2: 12.0, 4: 7.0}, narrow),
        rows("duct", "b", {8: 5.02}, wide),
    )
    (table,) = blocks(page, "table")
    (b,) = [line for line in cells(table) if line[0] == "b"]
    assert b[5] == "not attained [8, ∞]"


def imported(name, repetitions, **columns):
    return [
        {"case": "duct", "interconnect": name, "processes": count, "kind": "measured", **columns}
        | {"seconds": 16.0 / count + 0.01 * repetition}
        for count in (2, 4)
        for repetition in range(repetitions)
    ]


NEEDS = "Speedups and other derived quantities have no interval. An interval needs "


@pytest.mark.parametrize(
    ("repetitions", "sentence"),
    [
        (3, f"{NEEDS}4 runs per point if the runs have no block."),
        (4, "The bootstrap needs at least 4 runs per point."),
    ],
)
def test_imported_runs_without_block_have_derived_intervals_from_four_runs_on(repetitions, sentence):
    runs = complete_runs(pd.DataFrame(imported("a", repetitions) + imported("b", repetitions)))
    tables = make_tables(runs, Settings(draws=200))
    method = sentences_of(part(make_report(runs, tables, Facts.of({}), []), "method"))
    assert sentence in method
    assert "Times are medians over runs" in method and "5 blocks" not in method
    assert (NEEDS in method) == tables["scaling"]["speedup_low"].isna().all()
