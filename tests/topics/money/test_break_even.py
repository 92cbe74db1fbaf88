"""Break-even price of a node, by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from made_tables import conform
from small_runs import curves, rows, runs_table

from analysis.curves.curve_comparison import pairs
from analysis.curves.curves import ranking
from analysis.runs.settings import NodePrice, Settings
from analysis.topics.money.break_even import break_even_rows, equal_speeds
from analysis.topics.money.exchange import break_even_price, exchange
from analysis.topics.money.market import cluster_costs, tariffs_of
from analysis.topics.prices.books import BOOK, read_book

NODE = NodePrice(2000, "USD", 2004, cores=2)
SETTINGS = Settings(draws=400, baselines=("gigabit",))


def offered(tmp_path, **prices):
    """One price a node for each interconnect, whatever the size."""
    file = tmp_path / "book.csv"
    lines = [f"{name},USD,2004,2,,node,{price},,,,here," for name, price in prices.items()]
    file.write_text("\n".join([",".join(BOOK.columns), *lines]))
    return {name: (read_book(file), name) for name in prices}


def rows_of(runs, offers, node=NODE, settings=SETTINGS):
    tariffs = tariffs_of(cluster_costs(offers, node, range(1, 41)))
    compared = pairs(curves(runs, settings), ranking(runs), settings)
    clusters = equal_speeds(compared, tariffs, node, settings)
    rows = [break_even_rows(equal, tariffs, node, settings) for equal in clusters]
    return conform("break_even", pd.concat([pd.DataFrame(), *rows]))


def test_the_worked_example_of_the_paper_with_the_prices_of_2004(fluent_runs, settings, ames):
    """Speedup 11 takes 24, 20 and 16 processes: 12, 10 and 8 nodes of two processors."""
    items = {"gigabit": "gigabit_ethernet", "rdma_gigabit": "myrinet_single_port"}
    offers = {name: (ames, item) for name, item in (items | {"infiniband": "infiniband_4x"}).items()}
    table = rows_of(fluent_runs, offers, settings=settings).set_index("interconnect")
    assert table["baseline_nodes"].tolist() == [12, 12]
    assert table["equivalent_processes"].to_dict() == pytest.approx({"infiniband": 16, "rdma_gigabit": 20})
    assert table["equivalent_nodes"].to_dict() == {"infiniband": 8, "rdma_gigabit": 10}
    # (8 · 1400 - 12 · 150) / 4 and (10 · 850 - 12 · 150) / 2
    prices = table["break_even_node_price"].to_dict()
    assert prices == pytest.approx({"infiniband": 2350, "rdma_gigabit": 3350})
    assert set(table["pays"]) == {"above"}
    # at 2000 a node: 12 · 2150 - 8 · 3400
    assert table.loc["infiniband", "saving"] == -1400
    assert set(table["verdict"]) == {"would not pay (untested)"}
    assert table["note"].str.endswith("no interval").all()


def test_the_range_of_prices_is_part_of_the_interval(ames):
    runs = runs_table(
        rows("duct", None, {1: 12.0}, (1,) * 5),
        rows("duct", "gigabit", {4: 6.0, 8: 3.0}, (1,) * 5),
        rows("duct", "infiniband", {2: 6.0, 4: 3.0}, (1,) * 5),
    )
    offers = {"gigabit": (ames, "gigabit_ethernet"), "infiniband": (ames, "infiniband_4x")}
    row = rows_of(runs, offers).set_index("baseline_nodes").loc[8]
    # 4 nodes instead of 8: (4 c - 1200) / 4 with c from 1200 to 1600
    assert row["break_even_node_price"] == 1100
    assert (row["break_even_node_price_low"], row["break_even_node_price_high"]) == (900, 1300)
    assert (row["saving_low"], row["saving_high"]) == (4 * (2000 - 1300), 4 * (2000 - 900))
    assert row["verdict"] == "pays"


def test_in_which_direction_it_pays(tmp_path, steady_runs):
    """For a speedup of 2 gigabit takes 4 nodes, infiniband 2."""
    offers = offered(tmp_path, gigabit=100, infiniband=1000)
    row = rows_of(steady_runs, offers).set_index("target_speedup").loc[2.0]
    assert (row["baseline_nodes"], row["equivalent_nodes"], row["pays"]) == (4, 2, "above")
    assert row["break_even_node_price"] == (2 * 1000 - 4 * 100) / 2
    turned = rows_of(steady_runs, offers, settings=Settings(draws=400, baselines=("infiniband",)))
    turned = turned.set_index("target_speedup").loc[2.0]
    # the other way round gigabit pays up to that price
    assert turned["pays"] == "below"
    assert turned["break_even_node_price"] == row["break_even_node_price"]
    assert turned["saving"] == -row["saving"]


def test_a_speedup_reached_below_the_smallest_count_is_unknown(tmp_path):
    runs = runs_table(rows("duct", "gigabit", {2: 8.0, 4: 6.0}), rows("duct", "infiniband", {2: 5.0, 4: 4.0}))
    table = rows_of(runs, offered(tmp_path, gigabit=100, infiniband=1000))
    unknown = ["equivalent_nodes", "break_even_node_price", "pays", "saving", "verdict"]
    assert len(table) and table[unknown].isna().all(axis=None)
    assert table["note"].str.contains("the speedup is reached below the smallest count measured").all()


def test_one_node_gives_no_break_even(tmp_path):
    """Messages inside a node do not use the interconnect, so its price buys nothing there."""
    runs = runs_table(
        rows("duct", "gigabit", {2: 8.0, 4: 6.0}, nodes=1),
        rows("duct", "gigabit", {8: 4.0}, nodes=2),
        rows("duct", "infiniband", {2: 5.0, 4: 4.0}, nodes=1),
        rows("duct", "infiniband", {8: 3.0}, nodes=2),
        rows("duct", "fat_nodes", {2: 5.0, 4: 4.0, 8: 3.0}, nodes=1),
    )
    table = rows_of(runs, offered(tmp_path, gigabit=100, infiniband=1000, fat_nodes=10))
    assert table[["interconnect", "baseline_processes"]].to_numpy().tolist() == [["infiniband", 8]]
    assert table["equivalent_nodes"].isna().all() and table["verdict"].isna().all()


def test_cheaper_and_no_slower_always_pays_dearer_and_no_faster_never(tmp_path):
    runs = runs_table(
        rows("duct", None, {1: 12.0}, nodes=1),
        *(rows("duct", name, {4: 6.0, 8: 3.0}) for name in ("gigabit", "other")),
    )
    for price, pays, even, verdict in ((10, "always", 0, "pays"), (1000, "never", np.inf, "does not pay")):
        table = rows_of(runs, offered(tmp_path, gigabit=100, other=price))
        row = table[table["baseline_nodes"] == 8].iloc[0]
        assert row["pays"] == pays
        assert row["break_even_node_price"] == even
        assert row["saving"] == 8 * (100 - price)
        # two equal curves with the same factors: drawn together, they stay equal
        assert row["verdict"] == verdict


def test_a_speedup_that_is_not_attained_never_pays(tmp_path):
    runs = runs_table(
        rows("duct", None, {1: 12.0}),
        rows("duct", "gigabit", {4: 6.0, 8: 2.0}),
        rows("duct", "slow", {4: 6.0, 8: 5.0}),
    )
    row = rows_of(runs, offered(tmp_path, gigabit=100, slow=1)).set_index("baseline_nodes").loc[8]
    assert row["equivalent_processes"] == np.inf
    assert pd.isna(row["equivalent_nodes"])
    assert (row["pays"], row["verdict"]) == ("never", "does not pay")
    assert row["break_even_node_price"] == np.inf
    assert row["saving_high"] == -np.inf
    assert "the speedup is not attained" in row["note"]


def test_noise_makes_it_undecided(tmp_path):
    noisy = (0.6, 0.8, 1.0, 1.0, 1.2, 1.4)
    runs = runs_table(
        rows("duct", None, {1: 16.0}),
        rows("duct", "gigabit", {2: 8.0, 4: 5.0, 8: 4.0}, noisy),
        rows("duct", "infiniband", {2: 7.0, 4: 4.0, 8: 2.5}, noisy[::-1]),
    )
    table = rows_of(runs, offered(tmp_path, gigabit=100, infiniband=1500), NodePrice(1300, "USD", 2004))
    row = table.set_index("baseline_nodes").loc[8]
    assert row["equivalent_nodes"] == 4
    assert row["break_even_node_price"] == (4 * 1500 - 800) / 4
    assert row["saving_low"] < 0 < row["saving_high"]
    assert row["verdict"] == "undecided"
    assert row["break_even_node_price_low"] < 1300 < row["break_even_node_price_high"]


def test_an_interconnect_without_a_price_is_not_compared(steady_runs, tmp_path):
    assert rows_of(steady_runs, offered(tmp_path, gigabit=100)).empty


COUNTS = st.integers(1, 5000)
PRICES = st.integers(0, 10_000)


@given(n_b=COUNTS, c_b=PRICES, n_e=COUNTS, c_e=PRICES)
def test_at_break_even_both_clusters_cost_the_same(n_b, c_b, n_e, c_e):
    assume(n_b != n_e)
    price = float(break_even_price(exchange(n_b, c_b, n_e, c_e)))
    assert n_e * (price + c_e) == pytest.approx(n_b * (price + c_b), rel=1e-9, abs=1e-3)
    # one more, and the smaller cluster is the cheaper one
    assert (n_e * (price + 1 + c_e) < n_b * (price + 1 + c_b)) == (n_e < n_b)


def test_comparisons_without_break_even():
    cases = {
        (8, 100, 8, 50): -np.inf,
        (8, 100, 8, 100): np.inf,
        (8, 100, np.inf, 0): np.inf,
        (np.inf, 0, 8, 100): -np.inf,
        (np.inf, 0, np.inf, 0): np.inf,
        (8, 100, -np.inf, 0): -np.inf,
        (-np.inf, 0, 8, 100): np.inf,
    }
    for case, price in cases.items():
        assert float(break_even_price(exchange(*case))) == price
    assert np.isnan(break_even_price(exchange(8, np.nan, 8, 100)))
    assert np.isnan(break_even_price(exchange(-np.inf, 0, -np.inf, 0)))
