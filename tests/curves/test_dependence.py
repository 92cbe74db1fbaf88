"""Effective number of independent blocks of a series."""

import numpy as np
import pandas as pd
import pytest
from made_tables import make_tables
from small_runs import rows, unplaced

from analysis.curves.point_comparison import compare_points
from analysis.curves.points import Sample, block_times, point_table
from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings
from analysis.statistics.bootstrap import median_interval
from analysis.statistics.dependence import (
    LIKELY,
    PooledCorrelation,
    effective_blocks,
    effective_sweeps,
    independent_blocks,
    lag_one,
    pooled_correlation,
    spread_about,
    widening,
)


def test_lag_one_by_hand():
    # deviations -1.5, -0.5, 0.5, 1.5: (0.75 - 0.25 + 0.75) / 5
    correlation, credible = lag_one(np.array([[1.0, 2, 3, 4], [1, 4, 1, 4]]))
    assert correlation == pytest.approx([0.25, -0.75]) and not credible.any()
    # r = 2/3, and (2/3 + 1/9) / (7 / (9 sqrt 8)) = sqrt 8 is beyond 1.96
    assert lag_one(np.arange(9.0)[None])[1].all() and not lag_one(np.arange(9.0)[None] % 2)[1].any()
    assert np.isnan(lag_one(np.ones((1, 9)))[0]).all() and np.isnan(lag_one(np.arange(3.0)[None])[0]).all()


def test_the_test_of_dependence_has_its_level():
    series = np.random.default_rng(0).standard_normal((20_000, 10))
    assert lag_one(series)[1].mean() == pytest.approx(0.025, abs=0.004)
    many = np.random.default_rng(0).standard_normal((5_000, 30))
    assert lag_one(many)[1].mean() == pytest.approx(LIKELY, abs=0.03)


def test_effective_size_is_that_of_a_geometric_correlation():
    # r = 0.5 of very many: (1 - r)/(1 + r) = 1/3; a negative one is worth no more than n
    assert independent_blocks(np.array(0.5), 10**6) == pytest.approx(10**6 / 3, rel=1e-4)
    assert independent_blocks(np.array(-0.3), 12) == 12
    assert independent_blocks(np.array(0.9), 12) == 4


def test_spread_keeps_the_estimate_and_scales_the_rest():
    series = np.array([[1.0, 2, 3, 6]])
    wide = spread_about(series, np.array([2.5]), np.array([2.0]))
    assert wide[0].tolist() == [-0.5, 1.5, 3.5, 9.5]


def test_fewer_blocks_have_the_interval_of_student():
    """9 effective blocks of 30: t of 4 degrees of freedom beyond which 2.5 % are, instead of that of 29."""
    factor = widening(np.array([9.0, 9.0]), 30, np.array([0.05, 0.001]))
    assert factor == pytest.approx(
        np.sqrt(29 / 8) * np.array([2.776445 / 2.045230, 8.610302 / 3.659405]), rel=1e-4
    )


@pytest.mark.parametrize("correlation", [0, 0.3, 0.5, 0.7])
def test_thirty_blocks_keep_level_and_coverage_however_they_depend(correlation):
    series = np.log(noise(correlation, 3_000, 30, np.random.default_rng(6)))
    shifts = [
        comparison.shift
        for comparison in compare_points([samples(row) for row in series], [0.05] * len(series))
    ]
    coverage = np.mean([shift.low <= 0 <= shift.high for shift in shifts])
    assert 0.94 < coverage < 0.975 and np.mean([shift.p_value <= 0.05 for shift in shifts]) < 0.06
    runs = pd.DataFrame({"case": "duct", "interconnect": np.repeat(np.arange(1_000), 30).astype(str),
                         "processes": 2, "block": np.tile(np.arange(30), 1_000)})  # fmt: skip
    table = point_table(
        *block_times(complete_runs(runs.assign(seconds=np.exp(series[:1_000].ravel())))), 0.95
    )
    assert 0.95 < np.mean((table["seconds_low"] <= 1) & (table["seconds_high"] >= 1)) < 0.995


def noise(correlation, points, blocks, rng):
    values = rng.standard_normal((points, blocks))
    for block in range(1, blocks):
        kept = correlation * values[:, block - 1]
        values[:, block] = kept + np.sqrt(1 - correlation**2) * values[:, block]
    return np.exp(0.05 * values)


def test_partly_dependent_noise_needs_all_lags():
    """Its correlations are 0.35, 0.25, 0.17, …: by the first alone 92 % of intervals of times hold the median."""
    rng = np.random.default_rng(9)
    series = np.log(noise(0.7, 4_000, 30, rng) * noise(0, 4_000, 30, rng))
    low, high, stated = median_interval(series, 0.95, effective_blocks(series)[1])
    assert np.mean((low <= 0) & (high >= 0)) > stated - 0.02
    shifts = [
        comparison.shift
        for comparison in compare_points([samples(row) for row in series[:2_000]], [0.05] * 2_000)
    ]
    assert np.mean([shift.p_value <= 0.05 for shift in shifts]) < 0.1


@pytest.mark.parametrize(("correlation", "least", "most"), [(0, 28, 30), (0.5, 8, 16), (0.7, 4, 9)])
def test_dependent_sweeps_are_drawn_as_fewer(correlation, least, most):
    rng = np.random.default_rng(3)
    numbers = [effective_sweeps(noise(correlation, 6, 30, rng), np.arange(6)) for _ in range(40)]
    assert least <= np.median(numbers) <= most


def test_dependence_of_sweeps_and_of_ratios_is_detected():
    rng, apart = np.random.default_rng(4), np.arange(5)
    shared = noise(0.8, 1, 40, rng) * noise(0, 5, 40, rng) ** 0.1
    assert effective_sweeps(shared, apart) < 20
    ratios = noise(0, 1, 40, rng) ** 10 * noise(0.8, 5, 40, rng)
    assert effective_sweeps(ratios, apart) < 20
    of_count = np.repeat(noise(0, 3, 40, rng) ** 10, 2, axis=0) * noise(0.8, 6, 40, rng)
    assert (
        effective_sweeps(of_count, np.repeat(np.arange(3), 2)) < 20 < effective_sweeps(of_count, np.arange(6))
    )


def test_missing_times_change_no_correlation():
    rng = np.random.default_rng(5)
    times = noise(0, 4, 30, rng)
    times[0, 5:9] = np.nan
    assert effective_sweeps(times, np.arange(4)) == 30
    assert effective_sweeps(np.ones((3, 30)), np.arange(3)) == 30


def test_a_comparison_of_blocks_that_depend_on_each_other_is_wider():
    """The same ratios in an order in which each resembles the one before, and in another."""
    ratios = np.repeat([0.02, 0.10, -0.03, 0.07, 0.12, 0.0], 4) + np.tile([0.001, -0.002, 0.0, 0.003], 6)
    apart = ratios.reshape(6, 4).T.ravel()
    of_equals, other = (compare_points([samples(series)], [0.05])[0] for series in (ratios, apart))
    assert of_equals.dependent and not other.dependent
    assert of_equals.shift.estimate == pytest.approx(other.shift.estimate)
    assert of_equals.shift.high - of_equals.shift.low > 1.5 * (other.shift.high - other.shift.low)
    assert of_equals.shift.p_value > other.shift.p_value


def test_every_improvement_states_the_dependence_of_its_blocks():
    """Three interconnects, each with each baseline; of unpaired samples and simulated times nothing is said."""
    wave = np.exp(0.1 * np.sin(np.arange(28) / 4))
    mixed = np.random.default_rng(2).permutation(wave)
    rows_of_interconnects = [rows("duct", name, {2: 8.0}, factors) for name, factors in
             (("a", np.ones(28)), ("b", wave), ("c", mixed))]  # fmt: skip
    table = make_tables(unplaced(*rows_of_interconnects), Settings(draws=100, baselines=("a", "c")))[
        "improvement"
    ]
    by_pair = table.set_index(["baseline_interconnect", "interconnect"])
    assert (
        by_pair.loc[("a", "b"), "lag_one_correlation"] > 0.8
        and by_pair.loc[("a", "b"), "effective_blocks"] == 4
    )
    assert by_pair["effective_blocks"].to_dict() == {
        ("a", "b"): 4, ("a", "c"): 28, ("c", "a"): 28, ("c", "b"): by_pair.loc[("c", "b"), "effective_blocks"],
    }  # fmt: skip
    assert by_pair["lag_one_correlation"].notna().all()
    lone = [
        {**row, "block": number}
        for number, row in enumerate([*rows_of_interconnects[0], *rows_of_interconnects[1]])
    ]
    row = make_tables(unplaced(lone), Settings(draws=100))["improvement"].iloc[0]
    assert not row["paired"] and row[["lag_one_correlation", "effective_blocks"]].isna().all()


def samples(log_ratios):
    blocks = np.arange(len(log_ratios))
    return Sample(blocks, np.exp(log_ratios)), Sample(blocks, np.ones(len(blocks))), True


@pytest.mark.filterwarnings("error")
def test_empty_samples_give_no_estimate_and_no_warning():
    """Sweeps of an import without blocks have no averages."""
    none, three = Sample(np.empty(0, int), np.empty(0)), Sample(np.arange(3), np.ones(3))
    for pair in ((none, three, False), (three, none, True), (none, none, True)):
        (comparison,) = compare_points([pair], [0.05])
        assert comparison.blocks == 0 and np.isnan(comparison.shift.estimate)


def test_pooled_correlation_by_hand():
    """Deviations -2.5 to 2.5: products 3.75 + 0.75 - 0.25 + 0.75 + 3.75 = 8.75 of 17.5; without bias 1/2 + 3/6."""
    rising = np.arange(6.0)
    pooled = pooled_correlation([rising, rising[::-1], rising[:5], np.ones(6)])
    assert pooled.correlation == pytest.approx(1) and pooled.runs == 12
    # 16 of the 720 orders have such a correlation; 399 of them are drawn.
    assert pooled.p_value == pytest.approx(16 / 720, abs=0.015) and pooled.few and not pooled.forbids_verdict
    assert pooled_correlation([rising, rising[::-1]] * 2).forbids_verdict
    assert pooled_correlation([rising[:5], np.ones(6)]) == (0, 1, 0)


def test_pooled_correlation_has_its_level_if_points_share_noise():
    rng = np.random.default_rng(1)
    shared = rng.standard_normal((1_000, 1, 10)) + 0.3 * rng.standard_normal((1_000, 8, 10))
    share = np.mean([pooled_correlation(list(points)).forbids_verdict for points in shared])
    assert share == pytest.approx(0.1, abs=0.03)


def test_effective_runs_of_a_pooled_correlation():
    """1/3 leaves half of the runs; a correlation that forbids a verdict is raised by 2/6, to 2/3."""
    assert PooledCorrelation(1 / 3, 0.2, 36).effective(12) == pytest.approx(6)
    assert PooledCorrelation(1 / 3, 0.1, 36).effective(20) == pytest.approx(4)
    assert PooledCorrelation(-0.2, 0.2, 36).effective(12) == 12
    assert PooledCorrelation(0.9, 0.01, 36).effective(12) == 2


def test_few_runs_have_a_correlation_of_at_least_0_4():
    """A correlation of 0.4 leaves 3/7 of the runs; 1/5 is raised by 2/4, to 7/10, which leaves 3/17."""
    assert PooledCorrelation(0.0, 1.0, 0).effective(7) == pytest.approx(3)
    assert PooledCorrelation(0.1, 0.3, 19).effective(7) == pytest.approx(3)
    assert PooledCorrelation(1 / 5, 0.1, 16).effective(17) == pytest.approx(3)
    assert PooledCorrelation(0.0, 1.0, 19).counts and not PooledCorrelation(0.0, 1.0, 20).counts


def imported(correlation, cases, runs, rng, counts=(64,), evidence="row", faster=0.0):
    """Rows of two interconnects in cases of their own, unpaired, in known order."""
    frames = []
    for place, name in enumerate(("slow", "swift")):
        for count in counts:
            times = noise(correlation, cases, runs, rng) * np.exp(-faster * place)
            frames.append(
                pd.DataFrame({"case": np.repeat(np.arange(cases), runs).astype(str), "interconnect": name,
                              "kind": "measured", "processes": count, "seconds": times.ravel()})
            )  # fmt: skip
    runs_table = complete_runs(pd.concat(frames, ignore_index=True))
    return runs_table.assign(order_from=f"{evidence} of file 1")


@pytest.mark.parametrize(("correlation", "runs"), [(0, 6), (0, 10), (0.5, 10), (0.7, 10)])
def test_few_dependent_imported_runs_keep_the_level(correlation, runs):
    """Equal interconnects: a verdict in at most 6 % of cases, and intervals that cover."""
    table = imported(correlation, 400, runs, np.random.default_rng(8))
    rows = make_tables(table, Settings(draws=100))["improvement"]
    assert not rows["paired"].any()
    assert (rows["p_value"] <= 0.05).mean() <= 0.06
    covers = (rows["improvement_low"] <= 0) & (rows["improvement_high"] >= 0)
    assert covers.mean() > rows["coverage"].mean() - 0.02


def test_all_points_of_a_case_show_dependence_together():
    """Six runs of each of 16 points show what six runs of two points do not: these have at least 0.4."""
    counts = (2, 4, 8, 16, 32, 64, 128, 256)

    def effective(correlation, some_counts):
        table = imported(correlation, 40, 6, np.random.default_rng(3), some_counts)
        return make_tables(table, Settings(draws=100))["improvement"]["effective_blocks"]

    assert effective(0.5, counts).lt(4).mean() > 0.7
    assert effective(0.0, counts).lt(4).mean() < 0.3
    assert effective(0.0, counts[:1]).le(6 * 3 / 7 + 1e-9).all()


def test_a_direction_of_few_dependent_runs_is_withheld():
    """A difference of 170 % with noise of 5 %, whose runs depend on each other."""
    table = imported(0.9, 4, 12, np.random.default_rng(4), faster=1.0)
    rows = make_tables(table, Settings(draws=100))["improvement"]
    withheld = rows[rows["verdict"] == "successive runs may depend on each other"]
    assert len(withheld) and withheld["p_value"].eq(1).all() and not withheld["distinguishable"].any()
    assert (withheld["improvement_low"] > 0).all()


@pytest.mark.parametrize(("runs", "evidence"), [(5, "repetition"), (12, "unknown")])
def test_five_runs_and_runs_of_unknown_order_keep_their_verdict(runs, evidence):
    table = imported(0.9, 4, runs, np.random.default_rng(4), evidence=evidence, faster=1.0)
    assert make_tables(table, Settings(draws=100))["improvement"]["verdict"].eq("faster").all()


def test_dependent_runs_name_no_fastest_and_no_best():
    table = imported(0.9, 1, 12, np.random.default_rng(5), (2, 4, 8, 16), faster=1.0)
    tables = make_tables(table, Settings(draws=100))
    assert tables["fastest"]["may_be_fastest"].isna().all()
    assert tables["improvement"]["best_verdict"].tolist() == ["successive runs may depend on each other"]
    independent = imported(0, 1, 12, np.random.default_rng(5), (2, 4, 8, 16), faster=1.0)
    assert make_tables(independent, Settings(draws=100))["fastest"]["may_be_fastest"].notna().all()
