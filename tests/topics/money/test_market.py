"""Prices of clusters and of speed, by hand."""

import numpy as np
import pandas as pd
import pytest
from refused import refusal
from small_runs import ROOT, curves, rows, runs_table

from analysis.pipeline import make_all_tables
from analysis.runs.runs import TableError, read_runs
from analysis.runs.settings import NodePrice, Settings
from analysis.topics.money.market import (
    Market,
    cluster_costs,
    joined,
    market_costs,
    measured_nodes,
    nodes_of,
    tariffs_of,
)
from analysis.topics.money.value import value_rows
from analysis.topics.topic import Request

NODE = NodePrice(2000, "USD", 2004, cores=2)


@pytest.fixture
def offers(ames):
    return {"gigabit": (ames, "gigabit_ethernet"), "infiniband": (ames, "infiniband_4x")}


@pytest.fixture
def valued(offers, settings):
    def value(curve, node=NODE):
        return value_rows(curve, tariffs_of(cluster_costs(offers, node, range(1, 41))), node, settings)

    return value


def test_a_cluster_costs_its_nodes_and_its_interconnect(offers, parts):
    costs = cluster_costs(offers | {"tree": (parts, "infiniband_4x_24_port")}, NODE, [1, 24])
    costs = costs.set_index(["interconnect", "nodes"])
    assert costs.loc["gigabit", 24]["cluster_price"] == 24 * 2150
    assert costs.loc["gigabit", 24][["cluster_price_low", "cluster_price_high"]].isna().all()
    assert costs.loc["gigabit", 24]["interconnect_percent"] == pytest.approx(100 * 150 / 2150)
    assert costs.loc["infiniband", 24]["cluster_price"] == 24 * 3400
    assert costs.loc["infiniband", 24]["cluster_price_low"] == 24 * 3200
    assert costs.loc["infiniband", 24]["cluster_price_high"] == 24 * 3600
    assert costs.loc["tree", 24]["cluster_price"] == 24 * 2000 + 33_970
    assert (costs.xs(1, level="nodes")["cluster_price"] == 2000).all()


def test_other_years_are_reported_and_other_currencies_refused(offers, ames):
    costs = cluster_costs(offers, NodePrice(2000, "USD", 2006), [2])
    assert costs["note"].str.endswith("interconnect price of 2004, node price of 2006, not adjusted").all()
    assert (costs["cluster_price"] == cluster_costs(offers, NODE, [2])["cluster_price"]).all()
    message = refusal(TableError, cluster_costs, offers, NodePrice(2000, "EUR", 2004), [2])
    assert "'gigabit' is priced in USD, a node in EUR: no exchange rate is assumed" in message


def test_a_size_without_a_price_has_a_reason(ames):
    costs = cluster_costs({"gigabit": (ames, "gigabit_ethernet")}, NODE, [480, 481])
    assert costs["cluster_price"].notna().tolist() == [True, False]
    assert costs["note"].iloc[1] == "at most 480 nodes"


@pytest.mark.parametrize("wrong", [{"price": -1}, {"price": np.inf}, {"cores": 0}])
def test_an_impossible_node(wrong):
    with pytest.raises(ValueError, match="of a node"):
        NodePrice(**({"price": 1, "currency": "USD", "year": 2004} | wrong))


def test_nodes_come_from_the_runs_or_from_cores(fluent_curves, fluent_runs, steady_runs):
    gigabit = next(curve for curve in fluent_curves if curve.interconnect == "gigabit")
    assert nodes_of(gigabit, 2).tolist() == [1, 4, 8, 12, 16]
    assert nodes_of(gigabit, 12).tolist() == [1, 1, 2, 2, 3]
    assert np.isnan(nodes_of(gigabit, None)).all()
    steady_curve = curves(steady_runs, Settings(draws=100))[0]
    assert nodes_of(steady_curve, 2).tolist() == [1, 2, 4, 8]  # the runs know better
    assert measured_nodes(fluent_runs, 2) == [1, 4, 8, 12, 16]


def test_price_of_a_unit_of_speedup(fluent_curves, valued):
    table = valued(fluent_curves).set_index(["interconnect", "processes"])
    assert table.loc[("gigabit", 24), "nodes"] == 12
    assert table.loc[("gigabit", 24), "cluster_price"] == 12 * 2150
    assert table.loc[("gigabit", 24), "price_per_speedup"] == pytest.approx(12 * 2150 / 11)
    assert table.loc[("infiniband", 16), "price_per_speedup"] == pytest.approx(8 * 3400 / 11)
    assert table.loc[("infiniband", 16), ["price_per_speedup_low", "pareto_share"]].isna().all()  # one sample
    assert table.loc[("rdma_gigabit", 16), "note"] == "no price of rdma_gigabit"
    assert pd.isna(table.loc[("rdma_gigabit", 16), "pareto"])


def test_the_pareto_set_of_price_against_speed(fluent_curves, valued):
    table = valued(fluent_curves)
    members = table[table["pareto"].fillna(False) & ~table["serial"]]
    # 16 processes over infiniband (27,200) are as fast as 24 over gigabit (25,800); 32 are slower and dearer
    counts = members.groupby("interconnect")["processes"].agg(set).to_dict()
    assert counts == {"gigabit": {8, 16, 24}, "infiniband": {8, 24}}


def test_the_interval_combines_speedup_and_price(valued):
    runs = runs_table(rows("duct", None, {1: 12.0}, (1,) * 5), rows("duct", "infiniband", {2: 6.0}, (1,) * 5))
    values = valued(curves(runs, Settings(draws=100)))
    row = values[values["processes"] == 2].iloc[0]
    assert row["speedup_low"] == row["speedup_high"] == 2
    assert row["price_per_speedup_low"] == 2 * 3200 / 2
    assert row["price_per_speedup_high"] == 2 * 3600 / 2


def test_the_share_of_draws_in_the_pareto_set(steady_runs, valued, settings):
    values = valued(curves(steady_runs, settings))
    values = values[~values["serial"]].set_index(["interconnect", "processes"])
    assert values.loc[("gigabit", 2), "pareto_share"] == 1  # nothing of two nodes is cheaper
    assert values.loc[("gigabit", 8), "pareto_share"] < 0.05  # slower than 4 in most draws
    assert values.loc[("infiniband", 8), "pareto_share"] == 1


def test_kinds_share_a_pareto_set_only_if_the_study_compares_them(offers):
    runs = runs_table(
        rows("duct", None, {1: 12.0}),
        rows("duct", "gigabit", {2: 8.0}, kind="emulated"),
        rows("duct", "infiniband", {2: 9.0}),
    )
    offered = tariffs_of(cluster_costs(offers, NODE, range(1, 9)))
    for declared, beaten in (((), False), ((("measured", "emulated"),), True)):
        chosen = Settings(draws=100, compare_kinds=declared)
        table = value_rows(curves(runs, chosen), offered, NODE, chosen)
        slow = table[(table["interconnect"] == "infiniband") & (table["processes"] == 2)]
        assert slow["pareto"].tolist() == [not beaten]
        assert slow["compared_kinds"].item() == ("measured/emulated" if beaten else "measured")


def test_weak_scaling_values_work_a_second(offers):
    runs = runs_table(rows("duct", None, {1: 10.0}), rows("duct", "gigabit", {2: 10.0, 4: 10.0}))
    weak = Settings(draws=100, scaling="weak")
    offered = tariffs_of(cluster_costs(offers, NODE, range(1, 9)))
    table = value_rows(curves(runs, weak), offered, NODE, weak).set_index("processes")
    assert table["speedup"].tolist() == [1, 2, 4]
    assert table["pareto"].tolist() == [True, True, True]
    assert table.loc[4, "price_per_speedup"] == 4 * 2150 / 4


def test_the_published_gamess_table(ames):
    runs = read_runs(ROOT / "analysis/published/gamess.csv")
    items = {"gigabit_ethernet": "gigabit_ethernet", "myrinet_tcp": "myrinet_single_port"}
    items |= {"infiniband_mpi": "infiniband_4x", "quadrics_mpi": "quadrics_elan4"}
    market = Market(NodePrice(2500, "USD", 2004), {name: (ames, item) for name, item in items.items()})
    settings = Settings(draws=100, baselines=("gigabit_ethernet",))
    tables = make_all_tables(runs, Request(settings, market=market))
    assert {"cost", "value", "break_even"} < set(tables) and "purchase" not in tables
    assert sorted(tables["cost"]["nodes"].unique()) == [1, 2, 4]
    value = tables["value"].set_index(["interconnect", "oversubscription", "nodes"])
    # the fastest run is not over the fastest interconnect: Myrinet with TCP, 8 processes on 4 nodes
    assert value.loc[("myrinet_tcp", 2, 4), "speedup"] == pytest.approx(5823 / 1279)
    assert value.loc[("myrinet_tcp", 2, 4), "cluster_price"] == 4 * 3350
    assert value.loc[("myrinet_tcp", 2, 4), "pareto"]
    assert not value.loc[("infiniband_mpi", 2, 4), "pareto"]
    assert value.loc[("quadrics_mpi", 2, 4), "note"].startswith("no price below 8 nodes")


def test_missing_keys_are_reported(steady_runs, fluent_runs, offers):
    with pytest.raises(TableError, match="state the cores of a node"):
        market_costs(fluent_runs, Market(NodePrice(1, "USD", 2004), offers))
    with pytest.raises(TableError, match="no interconnect has a price"):
        market_costs(steady_runs, Market(NODE, {}))


def test_notes_appear_once():
    assert joined("a; b", None, "b", "c", pd.NA) == "a; b; c"
    assert joined(None, "") is None
