"""Outliers, variability and drift."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from made_tables import make_tables
from scipy.stats import kendalltau, theilslopes
from small_runs import rows, unplaced

from analysis.curves.curves import ranking
from analysis.presentation.labels import Labels
from analysis.runs.facts import Facts
from analysis.runs.runs import TableError
from analysis.runs.settings import Settings
from analysis.statistics.trend import Trend, trend
from analysis.topics.precision import make_precision
from analysis.topics.quality.sentences import dependence_sentences, spread_sentences
from analysis.topics.quality.tables import OUTLIER_RULE, make_quality_tables


def quality(name, runs, **changes):
    complete = unplaced(runs)
    return make_quality_tables(complete, ranking(complete), Settings(draws=100, **changes))[name]


def test_an_outlier_is_flagged_and_stays():
    # quartiles of 1, 1.01, 1.02, 1.03, 1.04, 3 by hand: fences far below 3
    runs = rows("duct", "a", {2: 1.0}, (1, 1.01, 1.02, 1.03, 1.04, 3)) + rows("duct", "b", {2: 1.0})
    table = quality("repetitions", runs)
    assert len(table) == 12 and "Tukey" in OUTLIER_RULE
    assert table.loc[table["outlier"], ["interconnect", "seconds"]].values.tolist() == [["a", 3.0]]
    assert table.loc[table["outlier"], "relative_seconds"].item() == pytest.approx(3 / 1.025)


def test_a_later_look_tests_drift_and_spread_at_its_level_too():
    """Five blocks, each longer than the one before: p is 2 / 5!, and four times as much at the second look."""
    slower = rows("duct", "a", {2: 1.0}, (1, 1.01, 1.02, 1.03, 1.04))
    for look, distinguishable in ((1, True), (2, False)):
        (drift,) = quality("drift", slower, looks=(("duct", look),)).to_dict("records")
        assert drift["p_adjusted"] == pytest.approx(2 / 120 * (1 if look == 1 else 4))
        assert drift["distinguishable"] == distinguishable


def test_three_times_are_too_few_for_fences():
    assert not quality("repetitions", rows("duct", "a", {2: 1.0}, (1, 1.001, 50)))["outlier"].any()


def test_an_invalid_repetition_moves_no_fence():
    runs = rows("duct", "a", {2: 1.0}, (1, 1.01, 1.02, 1.03, 1.04, 1.3))
    failed = rows("duct", "a", {2: 1.0}, (1, 99, 99, 99, 99), valid=False, attempt=2)
    table = quality("repetitions", runs + failed)
    assert table.loc[table["outlier"], "seconds"].tolist() == [1.3]


def test_repetitions_are_in_order_of_execution():
    runs = rows("duct", "a", {2: 1.0, 4: 2.0}, (1, 1))
    for row, minute in zip(runs, (30, 10, 20, 40), strict=True):
        row["started"] = f"2026-01-01T10:{minute}:00+00:00"
    table = quality("repetitions", runs)
    assert table["processes"].tolist() == [2, 4, 2, 4] and table["order"].tolist() == [1, 2, 3, 4]


def test_a_malformed_start_time_is_refused():
    with pytest.raises(
        TableError, match=r"^runs table: row 1, column 'started': 'noon': write date and time as "
    ):
        quality("repetitions", rows("duct", "a", {2: 1.0}, started="noon"))


def test_spread_by_hand():
    # log deviations from the median: 0.2, 0.1, 0, 0.1, 0.2; their median is 0.1
    factors = np.exp([-0.2, -0.1, 0, 0.1, 0.2])
    row = quality("variability", rows("duct", "a", {2: 8.0}, factors)).iloc[0]
    assert row["spread_percent"] == pytest.approx(100 * np.expm1(0.14826))
    assert row["worst_percent"] == pytest.approx(100 * np.expm1(0.2))


def test_the_time_equals_the_scaling_table():
    # four blocks: the median lies between 8.8 and 12, 10.4 s; half-way in log time lies 10.28 s
    runs = rows("duct", "a", {2: 8.0}, (1, 1.1, 1.5, 2))
    row = quality("variability", runs).iloc[0]
    scaling = make_tables(unplaced(runs), Settings(draws=100))["scaling"]
    assert row["seconds"] == scaling["seconds"].item() == pytest.approx(10.4)
    assert row["worst_percent"] == pytest.approx(100 * (16 / 10.4 - 1))


def test_a_noisy_interconnect_differs_from_a_steady_one():
    rng = np.random.default_rng(2)
    steady, noisy = (np.exp(rng.normal(0, spread, 12)) for spread in (0.002, 0.1))
    runs = rows("duct", "a", {2: 8.0}, steady) + rows("duct", "b", {2: 8.0}, noisy)
    runs += rows("duct", "c", {2: 8.0}, np.exp(rng.normal(0, 0.002, 12)))
    table = quality("variability", runs).set_index("interconnect")
    assert table["baseline_interconnect"].isna().tolist() == [True, False, False]
    assert table["distinguishable"].isna().tolist() == [True, False, False]
    assert table.loc["b", "distinguishable"] and not table.loc["c", "distinguishable"]
    assert table.loc["b", "baseline_spread_percent"] == table.loc["a", "spread_percent"]


def test_drift_by_hand_and_its_absence():
    rising = rows("duct", "a", {2: 8.0}, 1.01 ** np.arange(8))
    flat = rows("duct", "b", {2: 8.0}, (1, 1.02, 0.99, 1.01, 0.98, 1.015, 0.995, 1.005))
    table = quality("drift", rising + flat).set_index("interconnect")
    assert table.loc["a", "drift_percent"] == pytest.approx(100 * (1.01**7 - 1))
    assert table.loc["a", "kendall_tau"] == 1 and table.loc["a", "p_value"] == pytest.approx(2 / 40320)
    assert table["distinguishable"].tolist() == [True, False]
    assert table.loc["b", "drift_low"] < 0 < table.loc["b", "drift_high"]


def test_dependent_blocks_count_as_fewer():
    """A ratio that wanders up and down again, and the same values in another order."""
    wave = np.exp(0.1 * np.sin(np.arange(28) / 4))
    flat = rows("duct", "a", {2: 8.0}, np.ones(28))
    wandering = rows("duct", "b", {2: 8.0}, wave)
    mixed = rows("duct", "c", {2: 8.0}, np.random.default_rng(2).permutation(wave))
    table = quality("variability", flat + wandering + mixed).set_index("interconnect")
    assert table.loc["b", "lag_one_correlation"] > 0.8 and table.loc["b", "effective_blocks"] == 4
    assert abs(table.loc["c", "lag_one_correlation"]) < 0.4 and table.loc["c", "effective_blocks"] == 28
    assert np.isnan(table.loc["a", "effective_blocks"])
    assert table["p_value"].isna().to_dict() == {"a": True, "b": True, "c": False}
    labels = Labels(Facts())
    *_, text = spread_sentences(table.reset_index(), labels)
    assert text.startswith(
        "1\u00a0spread is not compared with the spread of the baseline, because later blocks"
    )
    (text,) = dependence_sentences(table.reset_index(), labels)
    assert text.startswith(
        "1 of 2\u00a0ratios to the baseline has a wider interval, because its blocks may depend on earlier blocks. "
    )
    (text,) = dependence_sentences(table.loc[["c"]].reset_index(), labels)
    assert text == "Nodeworth found no dependence between the blocks of 1\u00a0ratio to the baseline."


def trends(series, **more):
    """Trends of several series, each field an array."""
    return Trend(*np.array([trend(values, **more) for values in series]).T)


def test_a_drift_of_blocks_that_depend_on_the_ones_before_keeps_its_level():
    """Autocorrelation 0.6, no drift: Kendall's test of independent values calls a quarter drifting."""
    rng, blocks = np.random.default_rng(1), 40
    values = rng.standard_normal((2_000, blocks))
    for block in range(1, blocks):
        values[:, block] = 0.6 * values[:, block - 1] + 0.8 * values[:, block]
    plain, trend_of_values = trends(values), trends(values, dependent=True)
    assert (plain.p_value <= 0.05).mean() > 0.2 and (trend_of_values.p_value <= 0.05).mean() < 0.1
    assert (
        ((plain.low > 0) | (plain.high < 0)).mean()
        > 0.2
        > 0.1
        > ((trend_of_values.low > 0) | (trend_of_values.high < 0)).mean()
    )
    rising = trends(values[:, ::4] + np.linspace(0, 12, 10), dependent=True)
    assert (rising.p_value <= 0.05).mean() > 0.9


def test_three_blocks_are_too_few_for_a_drift():
    assert quality("drift", rows("duct", "a", {2: 1.0}, (1, 2, 3)))["drift_percent"].isna().all()


def test_many_blocks_are_grouped():
    table = quality("drift", rows("duct", "a", {2: 1.0}, np.geomspace(1, 2, 2_500)))
    assert table["n"].item() == 2_500 and table["drift_percent"].item() == pytest.approx(100, rel=0.05)


@pytest.mark.parametrize("n", [5, 6, 10, 61])
def test_trend_agrees_with_scipy(n):
    values = np.random.default_rng(n).normal(0, 1, (20, n)) + np.linspace(0, 1, n)
    trend_of_values = trends(values)
    for i, series in enumerate(values):
        expected = kendalltau(np.arange(n), series, method="exact" if n < 60 else "asymptotic")
        assert trend_of_values.tau[i] == pytest.approx(expected.statistic)
        assert trend_of_values.p_value[i] == pytest.approx(expected.pvalue, abs=0.02 if n > 60 else 1e-9)
        assert trend_of_values.change[i] == pytest.approx(theilslopes(series)[0] * (n - 1))
        assert trend_of_values.low[i] <= trend_of_values.change[i] <= trend_of_values.high[i]


@pytest.mark.parametrize("n", [4, 5, 6, 7])
def test_ties_leave_the_trend_exact(n):
    """Against every order of the values; and tau-b is SciPy's."""
    values = np.random.default_rng(n).integers(0, 3, (6, n)).astype(float)
    values[0, :2] = values[0, 2], values[0, 2] + 1
    trend_of_values = trends(values)
    first, second = np.triu_indices(n, 1)
    for i, series in enumerate(values):
        orders = np.array(list(permutations(series)))
        scores = np.sign(orders[:, second] - orders[:, first]).sum(axis=1)
        assert trend_of_values.p_value[i] == pytest.approx((abs(scores) >= abs(scores[0])).mean())
        assert trend_of_values.tau[i] == pytest.approx(
            kendalltau(np.arange(n), series).statistic, nan_ok=True
        )


def test_many_ties_of_many_values_go_by_their_own_variance():
    values = np.random.default_rng(0).integers(0, 3, (5, 80)) + np.linspace(0, 0.9, 80).round()
    expected = [kendalltau(np.arange(80), series, method="asymptotic").pvalue for series in values]
    assert trends(values).p_value == pytest.approx(expected, rel=0.1)


def test_the_slope_has_an_interval_that_covers():
    values = np.random.default_rng(0).normal(0, 1, (4_000, 6)) + np.linspace(0, 3, 6)
    trend_of_values = trends(values)
    # S of six values is 13 or more with 6/720: the interval's exact coverage is 1 - 12/720
    assert ((trend_of_values.low <= 3) & (trend_of_values.high >= 3)).mean() == pytest.approx(
        1 - 12 / 720, abs=0.01
    )
    assert np.isnan(trends(values[:, :4]).low).all()


def improvement_of(*groups):
    return make_tables(unplaced(*groups), Settings(draws=500))["improvement"]


def test_blocks_for_a_narrower_interval():
    factors = np.exp(np.random.default_rng(0).normal(0, 0.05, 8))
    improvement = improvement_of(
        rows("duct", "a", {2: 8.0}, factors[::-1]), rows("duct", "b", {2: 6.0}, factors)
    )
    width = (improvement["improvement_high"] - improvement["improvement_low"]).item()
    row = make_precision(improvement, width / 4).iloc[0]
    assert (row["half_width_percent"], row["blocks_wanted"]) == (pytest.approx(width / 2), 32)
    assert not row["reached"] and make_precision(improvement, width)["reached"].item()
    assert make_precision(improvement, width)["blocks_wanted"].item() == 6  # what the test needs


def test_one_block_reaches_no_precision():
    improvement = improvement_of(rows("duct", "a", {2: 8.0}, (1,)), rows("duct", "b", {2: 6.0}, (1,)))
    row = make_precision(improvement, 5).iloc[0]
    assert not row["reached"] and pd.isna(row["blocks_wanted"])


def test_a_band_of_a_simulation_has_no_precision():
    simulated = [
        rows("duct", name, {2: seconds}, (1,), "simulated", seconds_low=seconds, seconds_high=seconds)
        for name, seconds in (("a", 8.0), ("b", 6.0))
    ]
    improvement = improvement_of(*simulated)
    assert len(improvement) and make_precision(improvement, 5).empty
