"""Purchases at a budget, by hand."""

import numpy as np
import pytest
from small_runs import rows, runs_table

from analysis.curves.curves import all_curves, ranking
from analysis.pipeline import make_all_tables
from analysis.runs.runs import TableError
from analysis.runs.settings import Mix, NodePrice, Settings
from analysis.topics.money.market import Market, cluster_costs, tariffs_of
from analysis.topics.money.purchase import purchase_rows
from analysis.topics.topic import Request

NODE = NodePrice(2000, "USD", 2004)
SETTINGS = Settings(draws=300)


@pytest.fixture
def runs():
    """Infiniband helps the duct alone."""
    return runs_table(
        rows("duct", None, {1: 12.0}),
        rows("duct", "gigabit", {2: 8.0, 4: 6.0}),
        rows("duct", "infiniband", {2: 6.0, 4: 3.0}),
        rows("water", None, {1: 10.0}),
        rows("water", "gigabit", {2: 5.0, 4: 2.5}),
        rows("water", "infiniband", {2: 5.0, 4: 2.5}),
    )


@pytest.fixture
def offered(ames):
    offers = {"gigabit": (ames, "gigabit_ethernet"), "infiniband": (ames, "infiniband_4x")}
    return tariffs_of(cluster_costs(offers, NODE, range(1, 9)))


@pytest.fixture
def buy(runs, offered):
    def make(**mix):
        return purchase_rows(all_curves(runs, ranking(runs), SETTINGS), offered, NODE, Mix(**mix), SETTINGS)

    return make


def test_the_mean_speedup_is_the_weighted_geometric_mean(buy):
    table = buy(weights={"duct": 3, "water": 1}, budgets=(1e6,)).set_index(["interconnect", "nodes"])
    assert table.loc[("gigabit", 4), "mean_speedup"] == pytest.approx(2 ** (3 / 4) * 4 ** (1 / 4))
    assert table.loc[("infiniband", 4), "mean_speedup"] == pytest.approx(4)
    assert table.loc[("infiniband", 4), "best"]
    assert table["best"].sum() == 1
    assert (table["mean_speedup_low"] <= table["mean_speedup"]).all()
    assert (table["mean_speedup_high"] >= table["mean_speedup"]).all()


def test_the_budget_decides(buy):
    # 4 nodes: 8,600 over gigabit, 13,600 over infiniband; 2 nodes: 4,300 and 6,800
    for budget, best in ((20_000, ("infiniband", 4)), (10_000, ("gigabit", 4)), (7_000, ("infiniband", 2))):
        table = buy(weights={"duct": 1, "water": 1}, budgets=(budget,))
        chosen = table[table["best"]].iloc[0]
        assert (chosen["interconnect"], chosen["nodes"]) == best
        assert (table.loc[table["affordable"], "cluster_price"] <= budget).all()
        assert table.loc[~table["affordable"], "may_be_best"].isna().all()


def test_for_water_alone_both_are_as_good_and_the_cheaper_is_best(buy):
    table = buy(weights={"water": 1}, budgets=(20_000,)).set_index(["interconnect", "nodes"])
    assert table.loc[("gigabit", 4), "best"]
    assert table[table["may_be_best"]].index.tolist() == [("gigabit", 4), ("infiniband", 4)]


def test_the_order_does_not_depend_on_the_reference(runs, offered):
    """Without serial runs, speedups refer to two processes over one of the interconnects."""
    parallel = runs[runs["interconnect"].notna()].reset_index(drop=True)
    mix = Mix({"duct": 1, "water": 2}, (1e6,))
    orders = []
    for reference in ("gigabit", "infiniband"):
        chosen = Settings(draws=100, reference_interconnect=reference)
        table = purchase_rows(all_curves(parallel, ranking(parallel), chosen), offered, NODE, mix, chosen)
        ratios = table["mean_speedup"] / table["mean_speedup"].iloc[0]
        orders.append(ratios.tolist())
    assert orders[0] == pytest.approx(orders[1])


def test_a_price_range_across_the_budget_is_reported(buy):
    table = buy(weights={"duct": 1}, budgets=(13_600,)).set_index(["interconnect", "nodes"])
    row = table.loc[("infiniband", 4)]
    assert row["affordable"]  # 13,600; at most 14,400
    assert row["note"].endswith("above the budget at the high end of the price")


def test_nothing_affordable(buy):
    table = buy(weights={"duct": 1}, budgets=(100,))
    assert not table["affordable"].any()
    assert not table["best"].any()


def test_smaller_jobs_run_on_larger_clusters(ames):
    """Gigabit is slower on 4 nodes than on 2: a cluster of 4 runs the job on 2."""
    runs = runs_table(rows("duct", None, {1: 12.0}), rows("duct", "gigabit", {2: 6.0, 4: 12.0}))
    market = Market(NODE, {"gigabit": (ames, "gigabit_ethernet")}, Mix({"duct": 1}, (1e6,)))
    table = make_all_tables(runs, Request(SETTINGS, market=market))["purchase"].set_index("nodes")
    assert table.loc[4, "mean_speedup"] == table.loc[2, "mean_speedup"] == 2
    assert table.loc[2, "best"]


def test_impossible_inputs_are_refused(buy):
    with pytest.raises(TableError, match="weights: case 'boiler' was not measured"):
        buy(weights={"boiler": 1}, budgets=(1,))
    with pytest.raises(ValueError, match="weight of case 'duct': 0; above 0"):
        Mix({"duct": 0}, (1,))
    with pytest.raises(ValueError, match="none given"):
        Mix({}, (1,))
    assert np.isfinite(buy(weights={"duct": 1}, budgets=(1,))["mean_speedup"]).all()
