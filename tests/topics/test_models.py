"""Scaling models: coefficients that a fit must recover, and claims that it must not make."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_tables import finished
from small_runs import curves, rows, unplaced

from analysis.runs.settings import Settings
from analysis.statistics.fits import MODELS, cost_terms, least_seconds, turning_point
from analysis.topics.models.extrap import extrap_texts, write_extrap
from analysis.topics.models.tables import model_pieces

COUNTS = np.array([1, 2, 4, 8, 16])


def fitted(runs, settings):
    pieces = model_pieces(curves(runs, settings), settings)
    return {name: finished(name, parts) for name, parts in pieces.items()}


def models(seconds, counts=COUNTS, factors=(0.99, 1.0, 1.0, 1.01, 0.995, 1.005), **changes):
    times = {int(p): float(t) for p, t in zip(counts, seconds, strict=True)}
    tables = fitted(unplaced(rows("duct", "a", times, factors)), Settings(draws=200, **changes))
    return tables["models"].set_index("model"), tables["model_curves"]


def test_amdahl_is_found_again():
    table, _ = models(100 * (0.9 / COUNTS + 0.1))
    row = table.loc["amdahl"]
    assert row["serial_fraction"] == pytest.approx(0.1)
    assert row["serial_fraction_low"] < 0.1 < row["serial_fraction_high"]
    assert (row["work_seconds"], row["constant_seconds"]) == pytest.approx((90, 10))
    assert row["limit_speedup"] == pytest.approx(10) and row["peak_processes"] == np.inf
    assert row["held_out_percent"] == pytest.approx(0, abs=1e-6) and row["best"]
    assert table["best"].sum() == 1  # the others fit as well, with more coefficients


def test_the_scalability_law_is_found_again():
    contention, coherency = 0.05, 0.004
    seconds = 100 * ((1 - contention) / COUNTS + contention + coherency * (COUNTS - 1))
    row = models(seconds)[0].loc["usl"]
    assert (row["serial_fraction"], row["coherency"]) == pytest.approx((contention, coherency))
    # Gunther: p* = sqrt((1 - sigma) / kappa)
    peak = np.sqrt((1 - contention) / coherency)
    assert row["peak_processes"] == pytest.approx(peak)
    bound = 1 / ((1 - contention) / peak + contention + coherency * (peak - 1))
    assert row["limit_speedup"] == pytest.approx(bound) and row["peak_low"] < peak < row["peak_high"] <= 32


def test_communication_costs_are_found_again_and_win():
    seconds = 100 / COUNTS + 1 + 2 * np.log2(COUNTS) + 0.25 * COUNTS
    table, _ = models(seconds)
    row = table.loc["communication"]
    names = ["work_seconds", "constant_seconds", "log2_seconds", "linear_seconds"]
    assert row[names].tolist() == pytest.approx([100, 1, 2, 0.25])
    p = row["peak_processes"]
    assert 100 / p**2 == pytest.approx(2 / np.log(2) / p + 0.25)  # where the slope vanishes
    assert row["best"] and table.loc["amdahl", "held_out_percent"] > 5


def test_gustafson_is_found_again():
    fraction = 0.2
    seconds = 50 * COUNTS / (fraction + (1 - fraction) * COUNTS)
    table, curves = models(seconds, scaling="weak")
    assert table.loc["gustafson", "serial_fraction"] == pytest.approx(fraction)
    assert table.loc["gustafson", "best"] and pd.isna(table.loc["gustafson", "peak_processes"])
    prediction = curves[(curves["model"] == "gustafson") & (curves["processes"] == 16)].iloc[0]
    assert prediction["speedup"] == pytest.approx(fraction + (1 - fraction) * 16)


def test_costs_that_only_fall_have_no_peak():
    costs = np.array([[100.0, 100, 0, 100], [2, 2, 2, 2], [0, 0, 0, 3], [0, 1, 1, 0]])
    assert turning_point(costs).tolist() == pytest.approx([np.inf, 10, 1, 100 * np.log(2) / 3])
    assert least_seconds(costs, turning_point(costs))[:3].tolist() == pytest.approx([2, 22, 3])


def test_the_average_weighs_models_by_their_errors():
    """Amdahl's law is exact here, and so are the others: the average is the same curve, with no bracket to add."""
    _, curves = models(100 * (0.9 / COUNTS + 0.1))
    speedups = curves.set_index(["model", "processes"])["speedup"]
    assert speedups["average"].to_dict() == pytest.approx(speedups["amdahl"].to_dict())


def test_only_the_average_has_a_bracket_beyond_the_data():
    seconds = 100 / COUNTS + 3 * np.sqrt(COUNTS)  # a form that no model has
    table, curves = models(seconds)
    beyond = curves[curves["extrapolated"]].set_index("model")
    assert beyond.drop("average")["speedup_low"].isna().all()
    assert curves["processes"].max() == 32
    last = beyond.loc["average"].iloc[-1]
    truth = 103 / (100 / 32 + 3 * np.sqrt(32))
    assert last["processes"] == 32 and last["speedup_low"] < truth < last["speedup_high"]
    best = table.loc[table["best"], "held_out_percent"].item()
    assert last["speedup_high"] / last["speedup"] > 1 + best / 100
    assert table["limit_low"].isna().all()


def test_no_interval_beyond_the_stated_factor():
    seconds = 100 / COUNTS + 0.01 * COUNTS  # least at 100 processes
    near, curves = models(seconds, extrapolation=2)
    assert near.loc["communication", ["predicted_to", "peak_processes"]].tolist() == [32, np.inf]
    assert curves["processes"].max() == 32 and curves.loc[curves["extrapolated"], "processes"].min() > 16
    far, curves = models(seconds, extrapolation=8)
    assert far.loc["communication", "peak_processes"] == pytest.approx(100)
    assert far[["peak_low", "peak_high"]].isna().all(axis=None)
    bounded = curves[(curves["model"] == "average")].set_index("processes")["speedup_low"].notna()
    assert (
        bounded[bounded].index.max() == 32
        and bounded[~bounded].index.min() > 32
        and bounded.index.max() == 128
    )


def test_a_model_needs_one_count_more_than_coefficients():
    table, curves = models([100, 60, 40], [1, 2, 4])
    assert table["note"].tolist()[1:] == ["needs 4 process counts, has 3", "needs 5 process counts, has 3"]
    assert table["best"].tolist() == [True, False, False]
    assert set(curves["model"]) == {"amdahl", "average"}


def test_one_sample_has_a_fit_and_no_interval():
    table, curves = models(100 * (0.9 / COUNTS + 0.1), factors=(1.0,))
    row = table.loc["amdahl"]
    assert row["serial_fraction"] == pytest.approx(0.1) and pd.isna(row["serial_fraction_low"])
    assert curves["speedup_low"].isna().all()


def test_a_level_is_fitted_without_the_serial_run_of_another():
    level = rows("duct", "a", {2: 80, 4: 45, 8: 25}, oversubscription=2)
    table = fitted(unplaced(rows("duct", None, {1: 100}), level), Settings(draws=100))["models"]
    assert table.loc[0, ["counts", "fitted_from"]].tolist() == [3, 2]


@given(st.sampled_from(MODELS), st.lists(st.floats(0.1, 100), min_size=5, max_size=8))
def test_no_other_coefficients_of_at_least_0_fit_better(model, seconds):
    """The squared relative errors fall along no coefficient, unless it is 0 and would have to fall."""
    counts, seconds = 2.0 ** np.arange(len(seconds)), np.array(seconds)
    coefficients = model.fit(counts, seconds[:, None])[:, 0]
    relative = model.terms(counts) * (seconds if model.is_rate else 1 / seconds)[:, None]
    slope = relative.T @ (relative @ coefficients - 1)
    largest = np.abs(relative).sum()
    assert (coefficients >= 0).all() and (slope >= -1e-9 * largest).all()
    assert np.abs(slope[coefficients > 0]) == pytest.approx(0, abs=1e-9 * largest)


@given(st.lists(st.floats(0, 100), min_size=4, max_size=4))
def test_no_count_is_faster_than_the_turning_point(coefficients):
    costs = np.array(coefficients)[:, None]
    least = least_seconds(costs, turning_point(costs)).item()
    p = np.geomspace(1, 1e6, 200)
    times = costs[0] / p + costs[1] + costs[2] * np.log2(p) + costs[3] * p
    assert least <= times.min() * (1 + 1e-9) + 1e-9


def test_cost_terms_are_the_same_time():
    for model in MODELS:
        coefficients = np.arange(1.0, model.coefficients + 1)[:, None]
        a, b, c, d = cost_terms(model, coefficients)[:, 0]
        total = a / COUNTS + b + c * np.log2(COUNTS) + d * COUNTS
        if not model.is_rate:
            assert total == pytest.approx(model.seconds(COUNTS, coefficients)[:, 0])


def test_export_to_extra_p(tmp_path):
    runs = unplaced(rows("duct", None, {1: 100}), rows("duct", "a", {2: 50, 4: 1e-5}, (1, 2)))
    text = "PARAMETER processes\nPOINTS (2) (4)\nMETRIC seconds\nREGION duct->a\n"
    text += "DATA 50 100\nDATA 0.00001 0.00002\n"
    assert extrap_texts(runs) == {"duct.a.measured.x1.txt": text}
    (path,) = write_extrap(runs, tmp_path)
    assert path.read_text() == text and list(tmp_path.iterdir()) == [path]
