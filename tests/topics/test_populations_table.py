"""Points whose runs are of two populations."""

import numpy as np
import pandas as pd
import pytest
from small_runs import rows, unplaced

from analysis.presentation.labels import Labels
from analysis.presentation.style import FigureLabels
from analysis.runs.facts import Facts
from analysis.topics.quality.figures import population_figure
from analysis.topics.quality.populations import make_populations, population_note, population_sentences

# LAMMPS on 256 CycleCloud nodes with two settings of UCX (converged-computing/performance-study)
FAST = (34.9104, 35.4036, 35.7875, 35.0465, 43.8843)
SLOW = (114.04, 110.24, 89.2956, 91.5291, 101.508, 80.7932)
CLOSE = (1.0, 1.001, 1.002, 1.003, 1.012, 1.013, 1.014, 1.015)
SPREAD = (1.0, 1.03, 0.97, 1.01, 0.99, 1.02, 0.98, 1.005)
LABELS = Labels(Facts())


def pooled(**more):
    return rows("lammps", "azure", {256: 1.0}, FAST + SLOW, **more)


def table(*groups):
    return make_populations(unplaced(*groups))


def sentences(populations):
    return [" ".join(text.split()) for text in population_sentences(populations, LABELS)]


def note(populations, target_percent):
    return " ".join(population_note(populations, LABELS, target_percent).split())


def test_two_groups_with_counts_and_medians():
    line = table(pooled()).iloc[0]
    assert line["mixed"] and line[["n", "fast_n", "slow_n"]].tolist() == [11, 5, 6]
    assert line["fast_seconds"] == 35.4036 and line["slow_seconds"] == pytest.approx((91.5291 + 101.508) / 2)
    logs = [np.log(group) for group in (FAST, SLOW, FAST + SLOW)]
    fast, slow, together = (((log - log.mean()) ** 2).sum() for log in logs)
    assert line["variance_ratio"] == pytest.approx((fast + slow) / together)


def test_the_order_of_runs_does_not_matter():
    runs = unplaced(pooled(), rows("lammps", "eks", {256: 50.0}, SPREAD))
    shuffled = runs.sample(frac=1, random_state=5).reset_index(drop=True)
    pd.testing.assert_frame_equal(make_populations(shuffled), make_populations(runs))


def test_one_population_and_too_few_runs():
    few = rows("lammps", "gke", {256: 50.0}, (1, 1, 1, 9, 9, 9, 9))
    lines = table(rows("lammps", "eks", {256: 50.0}, SPREAD), few).set_index("interconnect")
    assert not lines.loc["eks", "mixed"] and lines.loc["eks", "variance_ratio"] > 0.1
    assert pd.isna(lines.loc["gke", ["mixed", "variance_ratio", "fast_n"]]).all()
    assert lines["fast_n"].isna().all()


def test_invalid_and_simulated_runs_do_not_count():
    valid = rows("lammps", "azure", {256: 1.0}, FAST)
    invalid = rows("lammps", "azure", {256: 1.0}, SLOW, valid=False, attempt=2)
    assert table(valid, invalid)[["n", "mixed"]].values.tolist() == [[5, pd.NA]]
    assert table(pooled(kind="simulated"), valid)["n"].tolist() == [5]


def test_sites_are_apart():
    runs = [{**row, "site": "a" if row["seconds"] < 50 else "b"} for row in pooled()]
    assert table(runs)["n"].tolist() == [5, 6]


def test_rounding_makes_no_populations():
    factors = (35, 35, 35, 35, 36, 36, 36, 36)
    assert table(rows("lammps", "azure", {256: 1.0}, factors))["mixed"].tolist() == [True]
    rounded = rows("lammps", "azure", {256: 1.0}, factors, resolution_seconds=1.0)
    assert table(rounded)["mixed"].tolist() == [False]


def test_a_column_that_separates_the_groups_is_named():
    runs = [
        {**row, "UCX_TLS": "all" if row["seconds"] < 50 else "rc", "job": row["block"]} for row in pooled()
    ]
    populations = table(runs)
    assert populations["separated_by"].tolist() == ["UCX_TLS"]
    (sentence,) = sentences(populations)
    assert (
        "5 runs with a median of 35.4 s and 6 runs with a median of 96.5 s (they differ in UCX_TLS)"
        in sentence
    )


def test_sentences():
    few = rows("lammps", "gke", {256: 50.0}, (1, 1, 1))
    (sentence,) = sentences(table(pooled(), few))
    assert sentence.startswith(
        "At the only point with at least 8 valid runs, Nodeworth tested for two groups of times. "
        "1 point has two groups. "
    )
    assert sentence.endswith("1 point has fewer than 8 valid runs, too few for this test.")
    (sentence,) = sentences(table(few))
    assert sentence == (
        "At points with at least 8 valid runs, Nodeworth tests whether the times form two groups. Every point "
        "has fewer runs."
    )
    (sentence,) = sentences(table(rows("lammps", "eks", {256: 50.0}, SPREAD)))
    assert sentence == (
        "At the only point with at least 8 valid runs, Nodeworth tested for two groups of times. No "
        "tested point has two groups."
    )


def test_page_one_names_groups_farther_apart_than_the_target():
    apart, close = table(pooled()), table(rows("lammps", "eks", {256: 50.0}, CLOSE))
    assert close["mixed"].all() and note(close, 5) == ""
    assert "50.1 s" in note(close, 1)
    text = note(apart, 5)
    assert "5 runs with a median of 35.4 s and 6 runs with a median of 96.5 s" in text and "settings" in text


def measured(slow_cores, fast_cores=0.0):
    runs = [
        {**row, "origin": "run", "foreign_cores": slow_cores if row["seconds"] > 50 else fast_cores}
        for row in pooled()
    ]
    return table(runs)


def test_slow_runs_that_were_disturbed_are_called_so():
    populations = measured(slow_cores=1.2)
    assert populations[["fast_disturbed", "slow_disturbed", "imported"]].values.tolist() == [[0, 6, False]]
    for text in (note(populations, 5), *sentences(populations)):
        assert "96.5 s (other programs disturbed 6 of the 6 slow runs)" in text
        assert "the case on an idle machine" in text and "settings" not in text


@pytest.mark.parametrize("cores", [0.0, 1.2])
def test_measured_runs_that_were_disturbed_equally_get_no_advice_on_settings(cores):
    text = note(measured(slow_cores=cores, fast_cores=cores), 5)
    assert "look in runs.csv" in text and "settings" not in text and "disturbed" not in text


def test_the_figure_marks_both_groups():
    runs = unplaced(pooled(), rows("lammps", "eks", {256: 50.0}, SPREAD))
    labels = FigureLabels.of(Facts(), ["azure", "eks"])
    (drawing,) = population_figure(runs, make_populations(runs), labels)
    fast, slow, medians = drawing.figure.axes[0].collections
    assert [len(marks.get_offsets()) for marks in (fast, slow, medians)] == [5, 6, 2]
    assert not (fast.get_facecolor()[0] == slow.get_facecolor()[0]).all()
    assert population_figure(runs, make_populations(runs).query("mixed == False"), labels) == []
