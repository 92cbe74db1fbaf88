"""Costs of clusters over their years, by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_parts import plain
from small_runs import rows, runs_table

from analysis.pipeline import make_all_tables
from analysis.presentation.labels import Labels
from analysis.runs.facts import Facts
from analysis.runs.lifetime import Assumed, Lifetime
from analysis.runs.settings import Mix, NodePrice, Settings
from analysis.topics.money.lifetime import Inputs
from analysis.topics.money.lifetime_pairs import RUNS, mean_tornado
from analysis.topics.money.lifetime_section import saving_sentences
from analysis.topics.money.market import Market
from analysis.topics.prices.books import BOOK, read_book
from analysis.topics.topic import Request

EXACT = (1,) * 5  # five equal blocks: intervals are points
NODE = NodePrice(1000.0, "USD", 2004, cores=2)
GIVEN = {
    "years": 5,
    "utilisation": 0.5,
    "node_idle_watts": 100,
    "node_loaded_watts": 300,
    "ports": {
        "gigabit": {"idle_watts": 10, "loaded_watts": 30},
        "infiniband": {"idle_watts": 20, "loaded_watts": 60},
    },
    "pue": 1.5,
    "energy_price": 0.1,
    "maintenance_percent": 10,
    "licence_per_process": 200,
    "CO2_kg_per_kWh": 0.5,
}
PLAIN = {"years": 5, "utilisation": 0.5}


@pytest.fixture
def made(tmp_path):
    """Tables of one case: gigabit at 100 a node has its 2.0 on 4 nodes, infiniband at 500 on 2."""
    (tmp_path / "book.csv").write_text(
        ",".join(BOOK.columns)
        + "\ncheap,USD,2004,2,16,node,100,,,,a list,\ndear,USD,2004,2,16,node,500,,,,a list,\n"
    )
    book = read_book(tmp_path / "book.csv")
    runs = runs_table(
        rows("duct", None, {1: 12.0}, EXACT, nodes=1),
        rows("duct", "gigabit", {2: 8.0, 4: 6.0, 8: 8.0}, EXACT),
        rows("duct", "infiniband", {2: 6.0, 4: 4.0, 8: 3.0}, EXACT),
    )

    def make(given, node=NODE, runs=runs, mix=None):
        lifetime = Lifetime.of(given) if given else None
        offers = {"gigabit": (book, "cheap"), "infiniband": (book, "dear")}
        settings = Settings(draws=100, baselines=("gigabit",))
        return make_all_tables(runs, Request(settings, market=Market(node, offers, mix, lifetime)))

    return make


def of(table, interconnect, nodes):
    return table[(table["interconnect"] == interconnect) & (table["nodes"] == nodes)].iloc[0]


def test_four_nodes_over_five_years(made):
    row = of(made(GIVEN)["cost"], "gigabit", 4)
    # 4 (200 + 20) W on average, 1.5 of it with the building: 1.32 kW for 43,800 h
    assert row["lifetime_kWh"] == pytest.approx(57_816)
    # 4 (1000 + 100), 5 times 10 % of it; 8 processes at 200 a year
    assert row["lifetime_cost"] == pytest.approx(4400 + 5781.60 + 2200 + 8000)
    parts = [row[f"{part}_percent"] for part in ("purchase", "energy", "maintenance", "licences")]
    assert parts == pytest.approx([100 * part / 20_381.60 for part in (4400, 5781.60, 2200, 8000)])
    assert row["kilowatts"] == pytest.approx(4 * 0.330 * 1.5)
    assert row["lifetime_CO2_kg"] == pytest.approx(28_908)
    assert row[["lifetime_cost_low", "lifetime_cost_high", "kilowatts_low"]].isna().all()


def test_a_node_alone_has_no_port_and_no_interconnect(made):
    row = of(made(GIVEN)["cost"], "infiniband", 1)
    # 200 W, 300 W with the building, for 43,800 h; 2 licences
    assert row["lifetime_cost"] == pytest.approx(1000 + 1314 + 500 + 2000)


def test_three_years_of_energy_alone_with_ranges(made):
    energy = {"energy_price": {"range": [0.05, 0.15]}, "node_idle_watts": 200, "node_loaded_watts": 200}
    given = {"years": {"value": 3, "range": [2, 4]}, "utilisation": 1} | energy
    row = of(made(given, replace(NODE, price_range=(900.0, 1200.0)))["cost"], "infiniband", 2)
    # 0.4 kW for 8760 h a year; 2 nodes at 900, 1000 or 1200 with 500 each
    assert row["lifetime_cost"] == pytest.approx(3000 + 3 * 3504 * 0.10)
    assert row["lifetime_cost_low"] == pytest.approx(2800 + 2 * 3504 * 0.05)
    assert row["lifetime_cost_high"] == pytest.approx(3400 + 4 * 3504 * 0.15)
    assert (row["cluster_price_low"], row["cluster_price_high"]) == (2800, 3400)
    assert pd.isna(row["lifetime_CO2_kg"])


def test_a_job_bears_its_share_of_idle_hours_too(made):
    row = of(made(GIVEN)["value"].query("processes == 4"), "infiniband", 4)
    # 4 (200 + 40) W x 1.5 x 43,800 h; 4 processes run, so 4 licences; used half of 43,800 h; 4 s a job
    energy = 4 * 0.240 * 1.5 * 43_800
    cost = 6000 * 1.5 + energy * 0.1 + 4 * 200 * 5
    assert row["lifetime_cost"] == pytest.approx(cost)
    assert row["job_cost"] == pytest.approx(cost * 4 / (21_900 * 3600))
    assert row["job_kWh"] == pytest.approx(energy * 4 / (21_900 * 3600))
    assert row["job_CO2_kg"] == pytest.approx(0.5 * row["job_kWh"])
    assert row["job_cost_low"] == row["job_cost_high"] == pytest.approx(row["job_cost"])  # equal blocks


def test_a_job_costs_most_on_a_machine_that_idles(made):
    used = GIVEN | {"utilisation": {"value": 0.5, "range": [0.25, 1.0]}}
    row = of(made(used)["value"].query("processes == 4"), "infiniband", 4)
    idle = of(made(GIVEN | {"utilisation": 0.25})["value"].query("processes == 4"), "infiniband", 4)
    busy = of(made(GIVEN | {"utilisation": 1.0})["value"].query("processes == 4"), "infiniband", 4)
    assert row["job_cost_high"] == pytest.approx(idle["job_cost"])
    assert row["job_cost_low"] == pytest.approx(busy["job_cost"])
    assert row["lifetime_cost_high"] == pytest.approx(busy["lifetime_cost"])  # who computes draws more


def test_where_two_interconnects_cost_the_same(made):
    break_even = made(GIVEN)["break_even"]
    row = break_even[break_even["target_speedup"] == 2].iloc[0]
    assert (row["baseline_nodes"], row["equivalent_nodes"]) == (4, 2)
    # 4 licences here, as 4 processes run; 2 nodes over infiniband draw 2 (200 + 40) W x 1.5 and run 2 processes
    energy = 57_816, 2 * 0.240 * 1.5 * 43_800
    rest = 4400 * 1.5 + 4000, 3000 * 1.5 + 2000
    paid, instead = (other + 0.1 * used for other, used in zip(rest, energy, strict=True))
    assert row["lifetime_saving"] == pytest.approx(paid - instead)
    assert row["lifetime_saving_percent"] == pytest.approx(100 * (1 - instead / paid))
    assert row["break_even_nodes"] == pytest.approx(2 * paid / instead)
    assert row["lifetime_verdict"] == "pays"
    assert row["pays_in_years"] == row["pays_at_energy_price"] == "always"  # cheaper to buy and to run


def test_a_dearer_purchase_pays_after_years(made):
    """A node saved of three: infiniband costs 3 x 2000 against 4 x 1100 and draws 600 W less."""
    runs = runs_table(
        rows("duct", "gigabit", {2: 8.0, 4: 6.0}, EXACT), rows("duct", "infiniband", {2: 7.0, 3: 6.0}, EXACT)
    )
    energy = {"node_idle_watts": 600, "node_loaded_watts": 600, "energy_price": 0.1}
    node = replace(NODE, price=100.0)  # 3 x 600 against 4 x 200
    row = made(PLAIN | energy, node, runs)["break_even"].iloc[-1]
    assert (row["baseline_nodes"], row["equivalent_nodes"]) == (4, 3)
    assert row["break_even_years"] == pytest.approx(1000 / (0.6 * 8760 * 0.1))
    assert row["break_even_energy_price"] == pytest.approx(1000 / (0.6 * 8760 * 5))
    assert row["pays_in_years"] == row["pays_at_energy_price"] == "above"
    assert row["lifetime_saving"] == pytest.approx(5 * 0.6 * 8760 * 0.1 - 1000)
    dear = made(PLAIN | energy | {"energy_price": {"range": [0.01, 0.1]}}, node, runs)["break_even"].iloc[-1]
    assert dear["break_even_years_low"] == pytest.approx(1000 / (0.6 * 8760 * 0.1))
    assert dear["break_even_years_high"] == pytest.approx(1000 / (0.6 * 8760 * 0.01))
    assert dear["break_even_energy_price_low"] == pytest.approx(dear["break_even_energy_price_high"])
    assert dear["lifetime_verdict"] == "undecided"


def test_licences_outweigh_the_interconnect(made):
    """12 nodes of two against 8: the interconnect costs 8 x 500 - 12 x 100 more, licences of three years 24,000."""
    runs = runs_table(
        rows("fl5m2", None, {1: 110.0}, EXACT, nodes=1),
        rows("fl5m2", "gigabit", {16: 110 / 9, 24: 10.0}, EXACT, nodes=None),
        rows("fl5m2", "infiniband", {8: 110 / 7, 16: 10.0}, EXACT, nodes=None),
    ).assign(nodes=lambda table: -(-table["processes"] // 2))
    free = made({"years": 3, "utilisation": 1}, NODE, runs)["break_even"].iloc[-1]
    paid = made({"years": 3, "utilisation": 1, "licence_per_process": 1000}, NODE, runs)["break_even"].iloc[
        -1
    ]
    assert free["lifetime_saving"] == pytest.approx(4 * 1000 - 2800)
    assert paid["lifetime_saving"] == pytest.approx(4 * 1000 - 2800 + 8 * 1000 * 3)
    cored = made({"years": 3, "utilisation": 1, "licence_per_core": 1000}, NODE, runs)["break_even"].iloc[-1]
    assert cored["lifetime_saving"] == paid["lifetime_saving"]  # one process a core


def test_a_licence_a_core_counts_the_threads_of_each_process(made):
    """4 nodes against 2, each with 1 process of 2 threads: 8 cores against 4."""
    runs = runs_table(
        rows("duct", "gigabit", {2: 8.0, 4: 6.0}, EXACT, threads=2),
        rows("duct", "infiniband", {1: 9.0, 2: 6.0}, EXACT, threads=2),
    )
    row = made({"years": 3, "utilisation": 1, "licence_per_core": 100}, NODE, runs)["break_even"].iloc[-1]
    assert row["lifetime_saving"] == pytest.approx(4 * 1100 - 2 * 1500 + 4 * 100 * 3)


def test_costs_common_to_both_do_not_change_the_verdict(made):
    """Equal nodes, ports and licences: no year saves anything, whatever rounding leaves of the sums."""
    runs = runs_table(*(rows("duct", name, {2: 8.0, 8: 3.0}, EXACT) for name in ("gigabit", "infiniband")))
    given = {"years": 4, "utilisation": 1, "licence_per_process": 100}
    row = made(given, replace(NODE, price=1553.3), runs)["break_even"].iloc[-1]
    assert row["pays_in_years"] == "never" and row["break_even_years"] == np.inf


def test_the_tornado_is_one_input_at_a_time(made):
    given = GIVEN | {"licence_per_process": {"value": 0, "range": [0, 2000]}, "pue": {"range": [1.2, 1.8]}}
    table = made(given, replace(NODE, price_range=(100.0, 1000.0)))["tornado"].set_index("input")
    assert set(table.index) == {"licence_per_process", "pue", "node_price", RUNS}
    for name, ends in {"licence_per_process": (0, 2000), "pue": (1.2, 1.8)}.items():
        alone = [
            made(given | {name: end}, NODE)["break_even"].query("target_speedup == 2").iloc[0] for end in ends
        ]
        bars = table.loc[name, ["percent_at_low", "percent_at_high"]].tolist()
        assert bars == pytest.approx([row["lifetime_saving_percent"] for row in alone])
    assert table.loc[RUNS, "percent_at_low"] == pytest.approx(table.loc[RUNS, "lifetime_saving_percent"])
    assert not table["decides"].any()


def test_a_tornado_marks_inputs_that_turn_the_verdict(made):
    """At 4 nodes against 2: 4 (P + 100) against 2 (P + 500) is undecided only about P = 300."""
    table = made(PLAIN, replace(NODE, price=400.0, price_range=(200.0, 500.0)))["tornado"].set_index("input")
    assert table["decides"].to_dict() == {"node_price": True, RUNS: False}


def test_a_budget_of_money_and_of_kilowatts(made):
    mix = Mix({"duct": 1.0}, (20_000.0,))
    free = made(GIVEN, mix=mix)["purchase"].set_index(["interconnect", "nodes"])
    tight = made(GIVEN, mix=replace(mix, kilowatts=2.2))["purchase"].set_index(["interconnect", "nodes"])
    assert free.loc[("infiniband", 8), "best"] and free["affordable"].all()
    assert tight.loc[("infiniband", 4), "kilowatts"] == pytest.approx(4 * 0.360 * 1.5)
    assert tight.index[tight["best"]].tolist() == [("infiniband", 4)]
    assert not tight.loc[("gigabit", 8), "affordable"] and (tight["kilowatts_limit"] == 2.2).all()


def test_a_power_that_may_be_above_the_limit_is_reported(made):
    mix = Mix({"duct": 1.0}, (20_000.0,), kilowatts=2.2)
    loaded = {"node_loaded_watts": {"value": 300, "range": [250, 320]}}
    purchase = made(GIVEN | loaded, mix=mix)["purchase"].set_index(["interconnect", "nodes"])
    row = purchase.loc[("infiniband", 4)]  # 2.16 kW, at most 4 x 0.380 x 1.5
    assert row["best"] and row["kilowatts_high"] == pytest.approx(2.28)
    assert row["note"] == "above the kilowatts at the high end of the power"
    assert purchase.loc[[("gigabit", 4), ("infiniband", 8)], "note"].isna().all()


def test_a_speed_that_is_not_attained_costs_no_number(made):
    runs = runs_table(
        rows("duct", "gigabit", {2: 8.0, 4: 6.0}, EXACT), rows("duct", "infiniband", {2: 9.0, 4: 8.0}, EXACT)
    )
    tables = made(GIVEN, NODE, runs)
    row = tables["break_even"].iloc[-1]
    assert row["lifetime_verdict"] == "does not pay" and row["pays_in_years"] == "never"
    assert row[["lifetime_saving", "lifetime_saving_percent", "break_even_nodes"]].isna().all()
    assert "tornado" not in tables


def test_studies_without_a_lifetime_are_as_they_were(made):
    tables = made(None)
    assert "tornado" not in tables
    for name in ("cost", "value", "break_even"):
        about = [column for column in tables[name] if column.startswith(("lifetime", "job", "kilowatts"))]
        assert about and tables[name][about].isna().all(axis=None)


@given(
    st.dictionaries(
        st.sampled_from(["years", "pue", "energy_price", "utilisation"]), st.floats(0, 1), min_size=2
    )
)
def test_nothing_within_the_ranges_is_beyond_the_corners(shares):
    ranges = {"years": (3, 8), "pue": (1, 2), "energy_price": (0.02, 0.4), "utilisation": (0.2, 1)}
    inside = {name: low + shares.get(name, 0.5) * (high - low) for name, (low, high) in ranges.items()}
    watts = {"node_idle_watts": 100, "node_loaded_watts": 250}

    def cost(given):
        inputs = Inputs.of(Lifetime.of(given | watts), NODE, {}, [])
        (running,) = (
            replace(inputs, tariffs={"none": None}, ends=inputs.ends | {"none: price": np.zeros(3)})
            .at(inputs.corners() | {"none: price": np.zeros(len(inputs.corners()["years"]), int)})
            .values()
        )
        return running.energy_of(4) * running.energy_price / running.hours

    ends = cost({name: {"range": list(pair)} for name, pair in ranges.items()})
    (point, _) = cost(inside)
    assert ends.min() * (1 - 1e-9) <= point <= ends.max() * (1 + 1e-9)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"utilisation": 1.2}, "utilisation: 1.2; above 0, at most 1"),
        ({"utilisation": 0}, "utilisation: 0; above 0, at most 1"),
        ({"years": {"value": 5, "range": [6, 8]}}, "years: range: 6 to 8 does not hold 5"),
        ({"pue": 0.9}, "pue: 0.9; 1 or more"),
        ({"years": {"source": "a guess"}}, "years: needs a value or a range"),
        (
            {"maintenance_per_node": 5},
            "maintenance_per_node: does not belong here, since maintenance_percent",
        ),
        (
            {"licence_per_core": 5},
            "licence_per_core: does not belong here, since licence_per_process is given",
        ),
        ({"node_idle_watts": None}, "node_idle_watts: missing, since power is counted"),
        ({"node_idle_watts": 301}, "node_idle_watts: 301; at most node_loaded_watts, 300"),
        ({"node_idle_watts": {"range": [90, 310]}}, "node_idle_watts: 310; at most node_loaded_watts, 300"),
        (
            {"ports": {"a": {"idle_watts": 9, "loaded_watts": 3}}},
            "ports.a.idle_watts: 9; at most ports.a.loaded_watts, 3",
        ),
        (
            {"ports": {"a": {"idle_watts": {"range": [3, 2]}, "loaded_watts": 3}}},
            "ports.a.idle_watts: range: 3 to 2; the least first",
        ),
    ],
)
def test_impossible_inputs_are_refused(wrong, message):
    given = {name: value for name, value in (GIVEN | wrong).items() if value is not None}
    with pytest.raises(ValueError, match="^" + message.replace(".", r"\.")):
        Lifetime.of(given)


def test_a_number_may_stand_alone():
    assert Assumed.of(3) == Assumed(3) and Assumed.of({"range": [2, 4]}).value == 3
    assert Lifetime.of(Lifetime.of(GIVEN).as_json()) == Lifetime.of(GIVEN)


def test_one_sample_has_the_ranges_of_the_inputs_alone(made):
    runs = runs_table(
        rows("duct", "gigabit", {2: 8.0, 4: 6.0}, (1,)), rows("duct", "infiniband", {1: 9.0, 2: 6.0}, (1,))
    )
    given = PLAIN | {"maintenance_per_node": {"value": 100, "range": [0, 200]}}
    tables = made(given, NODE, runs)
    row = tables["break_even"].iloc[-1]
    # 4 x 1100 against 2 x 1500, and five years of 100 [0, 200] for each of the two nodes more
    assert row["lifetime_saving"] == pytest.approx(2400)
    assert (row["lifetime_saving_low"], row["lifetime_saving_high"]) == pytest.approx((1400, 3400))
    assert set(tables["tornado"]["input"]) == {"maintenance_per_node"}
    job = of(tables["value"], "infiniband", 2)
    assert job["job_cost_low"] == pytest.approx(job["job_cost"] * 3000 / 4000)
    plain = made(PLAIN, NODE, runs)["break_even"].iloc[-1]
    assert pd.isna(plain["lifetime_saving_low"]) and plain["lifetime_verdict"] == "would pay (untested)"


def test_of_a_job_each_point_has_the_interval_that_its_own_blocks_allow(made):
    """2 nodes have six blocks, 4 only one: the one joins its times with the years, the other has these alone."""
    runs = runs_table(
        rows("duct", "gigabit", {2: 8.0}),
        rows("duct", "gigabit", {4: 6.0}, (1,)),
        rows("duct", "infiniband", {2: 6.0}, (1,)),
    )
    watts = {"node_idle_watts": 100, "node_loaded_watts": 100}
    value = made(PLAIN | {"years": {"value": 5, "range": [4, 10]}} | watts, NODE, runs)["value"]
    drawn, alone = of(value, "gigabit", 2), of(value, "gigabit", 4)
    per_second = [2 * 1100 / (0.5 * 8760 * 3600 * years) for years in (5, 10, 4)]
    assert drawn["job_cost"] == pytest.approx(8 * per_second[0])
    assert (
        drawn["job_cost_low"] < 0.96 * 8 * per_second[1] and drawn["job_cost_high"] > 1.04 * 8 * per_second[2]
    )
    per_second = [4 * 1100 / (0.5 * 8760 * 3600 * years) for years in (10, 4)]
    assert alone[["job_cost_low", "job_cost_high"]].tolist() == pytest.approx(
        [6 * rate for rate in per_second]
    )
    # Years do not change the energy of a job: one sample and no range that matters is no interval
    assert drawn["job_kWh_low"] < drawn["job_kWh"] and alone[["job_kWh_low", "job_kWh_high"]].isna().all()


def test_inputs_without_cost_decide_nothing(made):
    tornado = made(GIVEN | {"CO2_kg_per_kWh": {"range": [0.1, 0.9]}, "pue": {"range": [1.2, 1.8]}})["tornado"]
    assert set(tornado["input"]) == {"pue", RUNS}


def test_means_over_cases_are_geometric():
    """To pay 0.4 and 2 times as much is 0.894 times in the mean, not 20 % more."""
    pair = {"baseline_interconnect": "slow", "kind": "measured", "interconnect": "swift"}
    percents = ["lifetime_saving_percent", "percent_at_low", "percent_at_high"]
    rows = pd.DataFrame(
        [
            pair | {"case": case, "oversubscription": 1, "processes_per_node": np.nan, "input": RUNS}
            | {"lifetime_verdict": verdict} | dict.fromkeys(percents, saved)
            for case, saved, verdict in (("duct", 60.0, "pays"), ("wing", -100.0, "does not pay"))
        ]
    )  # fmt: skip
    means = mean_tornado(rows)
    assert means[percents].iloc[0].tolist() == pytest.approx([100 * (1 - 0.8**0.5)] * 3)
    (sentence,) = saving_sentences(rows, means, Labels(Facts()))
    assert " saves 11 % at equal speed (geometric mean of 2 cases). swift pays in 1 case and" in plain(
        sentence
    )
