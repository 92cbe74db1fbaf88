"""The mean improvement over the cases of a study, by hand."""

import numpy as np
import pandas as pd
import pytest
from report_parts import blocks, cells, part, plain
from synthetic_study import make_runs, make_whole_study

from analysis.curves.outcomes import AT_LEAST
from analysis.pipeline import TABLE_SCHEMAS
from analysis.report import make_report
from analysis.runs.columns import validated
from analysis.topics.improvement.tables import make_improvement_mean, mean_over_cases
from workflows.paths import ROOT

ENDS = ["improvement_percent", "improvement_low", "improvement_high"]


def improvement(percents, **more):
    """Table of the improvements over slow, by case."""
    rows = [
        {"case": case, "baseline_interconnect": "slow", "interconnect": "swift", "kind": "measured"}
        | {
            "oversubscription": 1,
            "improvement_percent": percent,
            "average_percent": percent / 2,
            "paired": False,
        }
        for case, percent in percents.items()
    ]
    return validated(TABLE_SCHEMAS["improvement"], pd.DataFrame(rows).assign(**more))


def means(table, **weights):
    return make_improvement_mean(table, weights, 0.95)["improvement_mean"].set_index("mean")


def test_three_cases_have_students_interval():
    """10, 20 and 60 %: 30 on average, s = 26.46, t = 4.303: half-width 65.7. Ratios: 1.1 * 1.2 * 1.6 = 2.112."""
    averages = means(improvement({"a": 10, "b": 20, "c": 60}))
    assert averages.loc["plain", ENDS].tolist() == pytest.approx([30, 30 - 65.72, 30 + 65.72], abs=0.01)
    logs = np.log([1.1, 1.2, 1.6])
    half_width = 4.302653 * logs.std(ddof=1) / np.sqrt(3)
    assert averages.loc["geometric", ENDS].tolist() == pytest.approx(
        [
            100 * (2.112 ** (1 / 3) - 1),
            *(100 * np.expm1(logs.mean() + side * half_width) for side in (-1, 1)),
        ],
        rel=1e-6,
    )
    assert averages.loc["plain", "average_percent"] == 15 and averages["cases"].tolist() == [3, 3]


def test_twice_as_fast_and_half_as_fast_are_no_improvement():
    averages = means(improvement({"a": 100, "b": -50}))
    assert averages.loc["geometric", "improvement_percent"] == pytest.approx(0)
    assert averages.loc["plain", "improvement_percent"] == 25
    assert averages[["improvement_low", "improvement_high"]].isna().all(axis=None)  # of two cases, none


def test_weights_come_from_the_mix():
    """1, 1 and 2 of ratios 1.1, 1.2 and 1.6: their product with 1.6 twice, to the fourth root."""
    averages = means(improvement({"a": 10, "b": 20, "c": 60, "d": 900}), a=1, b=1, c=2)
    weighted = averages.loc["weighted"]
    assert weighted["cases"] == 3
    assert weighted["improvement_percent"] == pytest.approx(100 * ((1.1 * 1.2 * 1.6 * 1.6) ** 0.25 - 1))
    assert "weighted" not in means(improvement({"a": 10, "b": 20}), a=1, c=1).index


def test_equal_weights_are_students_mean():
    values = np.array([0.1, 0.4, 0.2, 0.9])
    low, high = (mean_over_cases(values, weights, 0.95) for weights in (np.ones(4), np.full(4, 7.0)))
    assert low == pytest.approx(high)
    half_width = 3.182446 * values.std(ddof=1) / 2
    assert low == pytest.approx(
        (values.mean(), values.mean() - half_width, values.mean() + half_width), rel=1e-6
    )


def test_intervals_of_cases_like_these_cover():
    rng = np.random.default_rng(0)
    weights = np.array([1.0, 2.0, 1.0, 3.0, 1.0])
    for given in (np.ones(5), weights):
        intervals = [mean_over_cases(rng.normal(0, 1, 5), given, 0.95)[1:] for _ in range(1500)]
        covered = np.mean([low <= 0 <= high for low, high in intervals])
        assert 0.93 < covered < 0.985


def test_the_published_table_ends_in_the_plain_mean():
    published = pd.read_csv(ROOT / "analysis/published/fluent_improvement.csv")
    for interconnect, rows in published.groupby("interconnect"):
        last = rows[rows["case"] == "average"].iloc[0]
        improvement_by_case = rows[rows["case"] != "average"].set_index("case")["improvement_percent"]
        averages = means(improvement(improvement_by_case.to_dict())).loc["plain"]
        assert round(averages["improvement_percent"]) == last["improvement_percent"], interconnect
        assert averages["cases"] == 8 and averages["improvement_low"] < averages["improvement_percent"]


def test_bounds_and_missing_figures_do_not_enter():
    table = improvement({"a": 10, "b": 20, "c": 60, "d": 5}, note=[None, None, AT_LEAST, None])
    table.loc[3, "improvement_percent"] = np.nan
    assert means(table)["cases"].tolist() == [2, 2]
    assert make_improvement_mean(improvement({"a": 10}), {}, 0.95) == {}


def test_the_report_prints_them():
    runs, tables, facts = make_whole_study(make_runs(levels=(1,), blocks=6))
    tables |= make_improvement_mean(tables["improvement"], {}, 0.95)
    section = part(make_report(runs, tables, facts, []), "improvement")
    table = blocks(section, "table")[-1]
    assert [line[1] for line in cells(table)] == ["Geometric", "Plain"] * 3
    assert "Means over fewer than three cases have no interval" in plain(table["caption"])
    assert {line[2] for line in cells(table)} == {"2"}
