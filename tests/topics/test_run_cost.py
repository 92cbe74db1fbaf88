"""Cost of a run: prices of node hours, deadlines, budgets and equal speed, worked by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refusal
from report_parts import blocks, cells, plain, sentences_of
from small_runs import ROOT, rows, runs_table, unplaced

from analysis.pipeline import make_all_tables
from analysis.presentation.content import Content
from analysis.presentation.contests import find_contests
from analysis.presentation.drawing import drawable
from analysis.presentation.style import FigureLabels
from analysis.runs.facts import AboutStudy, Facts
from analysis.runs.runs import TableError
from analysis.runs.settings import RunCosts, Settings, SystemPrice
from analysis.topics.run_cost.book import prices_at, read_node_hours
from analysis.topics.run_cost.figures import draw_run_costs
from analysis.topics.run_cost.section import headline, run_cost_section
from analysis.topics.run_cost.sentences import cost_interval
from analysis.topics.run_cost.systems import cost, nodes_in_budget, nodes_in_time, rate_at
from analysis.topics.topic import Page, Request, View

BOOK = ROOT / "config/prices/node_hours/clouds_2024.csv"
ONCE, EXACT = (1,), (1,) * 5  # five equal blocks: intervals are points

REAX = {
    # LAMMPS, 40 million atoms: median seconds, and nodes x seconds / 3600 x price per node hour
    "aws_parallel_cluster": {
        32: (130.326, 3.336), 64: (71.8672, 3.680), 128: (43.6963, 4.475), 256: (29.7968, 6.102),
    },
    "aws_eks": {32: (137.088, 3.509), 64: (85.2232, 4.363), 128: (60.2367, 6.168), 256: (54.64635, 11.192)},
    "azure_cyclecloud": {
        32: (191.616, 6.132), 64: (172.897, 11.065), 128: (65.6888, 8.408), 256: (96.51855, 24.709),
    },
    "azure_aks": {32: (175.066, 5.602), 64: (357.794, 22.899)},
    "azure_aks_placement": {
        32: (178.409, 5.709), 64: (124.826, 7.989), 128: (103.119, 13.199), 256: (99.264, 25.412),
    },
    "google_gke": {32: (200.788, 9.031), 64: (127.807, 11.497), 128: (99.1751, 17.843), 256: (267.6615, 96.311)},
    "google_compute_engine": {
        32: (273.581, 12.305), 64: (158.583, 14.265), 128: (86.5097, 15.564), 256: (54.4415, 19.589),
    },
}  # fmt: skip


def tables_of(runs, prices, names=("run_costs", "run_choices"), about=None, setup=None, **asked):
    """Tables of runs with prices of node hours in USD, and the facts."""
    facts = Facts(
        study=AboutStudy(**(about or {})),
        run_costs=RunCosts(
            "USD",
            {
                name: price if isinstance(price, SystemPrice) else SystemPrice.of(price)
                for name, price in prices.items()
            },
            **asked,
        ),
    )
    chosen = Settings(draws=100, **(setup or {}))
    return make_all_tables(runs, Request(chosen), *([names] if names else []), facts=facts), facts


def reax(factors=ONCE, **asked):
    runs = runs_table(
        *(
            rows("reax", name, {nodes: seconds for nodes, (seconds, _) in points.items()}, factors)
            for name, points in REAX.items()
        )
    )
    return tables_of(runs, prices_at(read_node_hours(BOOK), "cost_table"), **asked)[0]


def choices(tables, question, value=None):
    """Rows about a question by interconnect."""
    table = tables["run_choices"]
    table = table[table["question"] == question]
    if value is not None:
        table = table[np.isclose(table["value"], value)]
    return table.set_index("interconnect")


# --- LAMMPS on seven systems, by hand ---


def test_only_the_cases_of_the_study_have_costs():
    assert "run_costs" in reax(cases=("reax",))
    assert "run_costs" not in reax(cases=("duct",))


def test_time_and_cost_of_every_system_and_number_of_nodes():
    costs = reax()["run_costs"].set_index(["interconnect", "nodes"])
    worked = {(name, nodes): pair for name, points in REAX.items() for nodes, pair in points.items()}
    assert len(costs) == len(worked) == 26
    for key, (seconds, usd) in worked.items():
        assert costs.loc[key, "seconds"] == pytest.approx(seconds)
        assert costs.loc[key, "cost"] == pytest.approx(usd, abs=0.0005)
    front = costs.index[costs["pareto"].astype(bool)]
    assert list(front) == [("aws_parallel_cluster", nodes) for nodes in (32, 64, 128, 256)]
    sources = costs["price_source"].groupby(level=0).first()
    assert sources["aws_eks"].startswith("hpc6a.48xlarge: converged-computing/performance-study, paper/")
    assert set(costs["terms"]) == {"cost_table"} and costs["price_date"].str.startswith("2025-09-17").all()


def test_a_deadline_takes_the_first_crossing_rounded_up():
    """The rate of ParallelCluster is 0.013915 at 64 nodes and 0.022885 at 128; 1/60 lies at 83.63 nodes.

    The rate of EKS is 0.016601 at 128 nodes and 0.018299 at 256; 1/60 lies at 132.94 nodes.
    """
    met = choices(reax(deadlines=(60.0,)), "deadline")
    assert met.loc["aws_parallel_cluster", "crossing_nodes"] == pytest.approx(83.634, abs=0.001)
    assert met.loc["aws_eks", "crossing_nodes"] == pytest.approx(132.94, abs=0.01)
    assert met["nodes"].dropna().to_dict() == {
        "aws_parallel_cluster": 84,
        "aws_eks": 133,
        "google_compute_engine": 225,
    }
    assert met["seconds"]["aws_parallel_cluster"] == pytest.approx(59.816, abs=0.001)
    assert met["cost"]["aws_parallel_cluster"] == pytest.approx(84 * 59.816 / 3600 * 2.88, abs=0.001)
    assert met["cost"]["aws_eks"] == pytest.approx(133 * 59.997 / 3600 * 2.88, abs=0.001)
    assert met.index[met["best"]].tolist() == ["aws_parallel_cluster"]
    assert set(met.loc[met["nodes"].isna(), "note"]) == {"every measured median time is longer"}


def test_a_budget_takes_the_last_whole_number_of_nodes_within_it():
    """ParallelCluster costs n 2.88 / 3600 / (0.022885 + (n - 128) 0.000083402) USD: 5 USD at n = 159.4."""
    met = choices(reax(budgets=(5.0,)), "budget")
    assert met["nodes"].dropna().to_dict() == {"aws_parallel_cluster": 159, "aws_eks": 81}
    assert met["crossing_nodes"]["aws_parallel_cluster"] == pytest.approx(159.4, abs=0.05)
    assert met["seconds"]["aws_parallel_cluster"] == pytest.approx(39.261, abs=0.001)
    assert met["cost"].dropna().le(5).all() and met["best"]["aws_parallel_cluster"]
    assert set(met.loc[met["nodes"].isna(), "note"]) == {"every measured median cost is higher"}


def test_the_same_speed_as_each_system():
    """EKS takes 54.65 s on 256 nodes. ParallelCluster has this rate at 95.3 nodes, so 96 are bought."""
    tables = reax()
    equal = choices(tables, "same speed", 54.64635)
    assert set(equal["of_system"]) == {"aws_eks"}
    assert equal["crossing_nodes"]["aws_parallel_cluster"] == pytest.approx(95.3, abs=0.05)
    assert equal["nodes"].dropna().to_dict() == {
        "aws_parallel_cluster": 96,
        "aws_eks": 256,
        "google_compute_engine": 255,
    }
    assert equal["cost"]["aws_parallel_cluster"] == pytest.approx(96 * 54.348 / 3600 * 2.88, abs=0.001)
    assert equal["note"]["aws_eks"] == "more nodes were not measured"
    cheap = choices(tables, "same cost")
    assert cheap.groupby("of_system")["value"].first()["aws_eks"] == pytest.approx(3.509, abs=0.0005)
    assert "same cost" not in set(reax(budgets=(5.0,))["run_choices"]["question"])


def test_a_larger_measured_number_of_nodes_may_cost_less():
    """CycleCloud needs 69.99 nodes for 150 s, 70 x 150 node seconds; its 128 nodes take 128 x 65.69."""
    line = choices(reax(deadlines=(150.0,)), "deadline").loc["azure_cyclecloud"]
    assert line["crossing_nodes"] == pytest.approx(69.99, abs=0.01)
    assert (line["nodes"], line["seconds"]) == (128, pytest.approx(65.6888))


# --- rules about all systems ---

TIMES = st.lists(st.floats(1, 1000), min_size=1, max_size=6)
CURVES = st.tuples(TIMES, st.floats(0.1, 10), st.floats(1, 1000))


@given(CURVES)
def test_nodes_within_a_deadline_meet_it_and_no_measured_number_is_cheaper(curve):
    times, price, deadline = curve
    nodes, rate = 2.0 ** np.arange(len(times)), 1 / np.array(times)
    chosen = float(nodes_in_time(nodes, rate, np.array(1 / deadline)).nodes)
    met = rate >= 1 / deadline
    assert np.isfinite(chosen) == met.any()
    if met.any():
        reached = rate_at(nodes, rate, np.array([chosen]))
        assert chosen == int(chosen) and reached[0] >= (1 - 1e-6) / deadline
        assert cost(chosen, reached, price)[0] <= cost(nodes, rate, price)[met].min() * (1 + 1e-9)


@given(CURVES)
def test_nodes_within_a_budget_keep_it_and_no_measured_number_is_faster(curve):
    times, price, _ = curve
    nodes, rate = 2.0 ** np.arange(len(times)), 1 / np.array(times)
    budget = float(np.median(cost(nodes, rate, price)))
    chosen = float(nodes_in_budget(nodes, rate, price, np.array(budget)).nodes)
    within = cost(nodes, rate, price) <= budget
    reached = rate_at(nodes, rate, np.array([chosen]))
    assert chosen == int(chosen) and cost(chosen, reached, price)[0] <= budget * (1 + 1e-6)
    assert reached[0] >= rate[within].max() * (1 - 1e-9)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.floats(1, 100), st.floats(0.5, 5)), min_size=2, max_size=5))
def test_the_front_beats_every_other_run_and_nothing_beats_the_front(systems):
    runs = runs_table(
        *(rows("duct", f"link{n}", {2: t, 4: t / 1.5, 8: t / 2}, ONCE) for n, (t, _) in enumerate(systems))
    )
    prices = {f"link{n}": price for n, (_, price) in enumerate(systems)}
    costs = tables_of(runs, prices)[0]["run_costs"]
    points = costs[["seconds", "cost"]].to_numpy()
    better = (points[:, None] <= points).all(axis=2) & (points[:, None] < points).any(axis=2)
    assert (costs["pareto"].to_numpy(bool) == ~better.any(axis=0)).all()


# --- intervals ---


def two_systems(factors=EXACT, **more):
    """Swift takes half the time of slow, at three times the price."""
    return runs_table(
        rows("duct", "slow", {2: 40.0, 4: 20.0, 8: 16.0}, factors, **more),
        rows("duct", "swift", {2: 20.0, 4: 10.0, 8: 8.0}, factors, **more),
    )


RANGED = {"slow": 1.0, "swift": {"price": 3.0, "price_range": [2.0, 4.0]}}


def test_a_range_of_the_price_widens_the_interval():
    tables, _ = tables_of(two_systems(), RANGED, deadlines=(15.0,), budgets=(0.05, 0.04))
    line = tables["run_costs"].set_index(["interconnect", "nodes"]).loc["swift", 4]
    assert [line[f"cost{end}"] for end in ("", "_low", "_high")] == pytest.approx([1 / 30, 1 / 45, 2 / 45])
    met = choices(tables, "deadline").loc["swift"]  # 15 s: the rate 1/15 lies at 2.67 nodes
    assert (met["nodes"], met["nodes_low"], met["nodes_high"]) == (3, 3, 3)
    assert [met[f"seconds{end}"] for end in ("", "_low", "_high")] == pytest.approx([40 / 3] * 3)
    assert [met[f"cost{end}"] for end in ("", "_low", "_high")] == pytest.approx([1 / 30, 1 / 45, 2 / 45])
    # At 3 USD per hour n / (0.1 + 0.00625 (n - 4)) = 60, n = 7.2; at 2 USD n = 15.4, above 8; at 4 USD n = 4.7
    bought = choices(tables, "budget", 0.05).loc["swift"]
    assert bought[["nodes", "nodes_low", "nodes_high"]].tolist() == [7, 4, 8]
    # At 4 USD every run costs 0.044 USD or more.
    assert choices(tables, "budget", 0.04).loc["swift", "nodes_high"] == np.inf
    assert tables["run_costs"]["pareto_share"].isin([0, 1]).all()


def test_the_interval_of_the_nodes_is_that_of_the_choice_in_each_draw():
    tables, _ = tables_of(two_systems((0.9, 0.95, 1, 1, 1.05, 1.1)), RANGED, deadlines=(16.0,))
    met = choices(tables, "deadline")
    assert met["nodes_high"]["slow"] == np.inf  # 16 s is its median on all nodes
    assert met["note"]["slow"] == "more nodes were not measured"
    assert met["nodes_low"]["swift"] <= met["nodes"]["swift"] <= met["nodes_high"]["swift"] < 8
    equal = choices(tables, "same speed", 8.0).loc["swift"]
    assert equal[["nodes_low", "nodes", "nodes_high"]].tolist() == [8, 8, 8]


def with_band(made, low, high):
    return [
        {**row, "seconds_low": low * row["seconds"], "seconds_high": high * row["seconds"]} for row in made
    ]


def test_bands_of_simulated_times_are_intervals():
    """A simulated system at half the time of a measured one, 10 % less to 20 % more."""
    swift = rows("duct", "swift", {2: 20.0, 4: 10.0, 8: 8.0}, ONCE, kind="simulated")
    runs = runs_table(rows("duct", "slow", {2: 40.0, 4: 20.0, 8: 16.0}, EXACT), with_band(swift, 0.9, 1.2))
    kinds = {"compare_kinds": (("measured", "simulated"),)}
    tables, _ = tables_of(runs, {"slow": 3.6, "swift": 3.6}, setup=kinds, deadlines=(15.0,))
    assert set(tables["run_costs"]["compared_kinds"]) == {"measured/simulated"}
    line = tables["run_costs"].set_index(["interconnect", "nodes"]).loc["swift", 4]
    assert [line[f"cost{end}"] for end in ("", "_low", "_high")] == pytest.approx([0.04, 0.036, 0.048])
    met = choices(tables, "deadline").loc["swift"]  # at 9 s and 12 s on 4 nodes: 2.4 and 3.2 nodes
    assert met[["nodes", "nodes_low", "nodes_high"]].tolist() == [3, 3, 4]
    equal = choices(tables, "same speed", 16.0).loc["swift"]
    assert equal[["nodes", "nodes_low", "nodes_high"]].tolist() == [3, 3, 4]


def test_bands_of_several_sites_have_no_joint_interval():
    here = rows("duct", "swift", {2: 20.0, 4: 10.0}, ONCE, kind="simulated", site="here")
    there = rows("duct", "swift", {2: 40.0, 4: 20.0, 8: 16.0}, ONCE, kind="simulated", site="there")
    runs = runs_table(with_band(here, 0.9, 1.1), with_band(there, 0.9, 1.1))
    tables, _ = tables_of(runs, {"swift": 1.0})
    equal = tables["run_choices"].query("question == 'same speed' and of_system == 'swift@there'")
    by_site = equal.set_index("site")
    assert by_site["nodes"].to_dict() == {"here": 3, "there": 8}
    assert by_site["nodes_low"].isna().to_dict() == {"here": True, "there": False}


def test_single_runs_have_no_interval():
    tables, _ = tables_of(two_systems(ONCE), RANGED)
    assert tables["run_costs"][["cost_low", "cost_high", "pareto_share"]].isna().all(axis=None)
    assert tables["run_choices"][["nodes_low", "seconds_low", "cost_high"]].isna().all(axis=None)


# --- which runs have a cost ---


def test_sites_are_systems_too():
    runs = pd.concat(
        [
            runs_table(rows("duct", "ethernet", {2: 8.0, 4: 5.0}, ONCE, site="here")),
            runs_table(rows("duct", "ethernet", {2: 4.0, 4: 3.0}, ONCE, site="there")),
        ],
        ignore_index=True,
    )
    tables, _ = tables_of(runs, {"here": 1.0, "there": 2.5}, deadlines=(5.0,))
    costs = tables["run_costs"].set_index(["site", "nodes"])
    assert costs["cost"].to_dict() == pytest.approx(
        {("here", 2): 16 / 3600, ("here", 4): 20 / 3600, ("there", 2): 20 / 3600, ("there", 4): 30 / 3600}
    )
    met = tables["run_choices"].query("question == 'deadline'").set_index("site")
    assert met["nodes"].to_dict() == {"here": 4, "there": 2} and met["best"].sum() == 1
    of_systems = tables["run_choices"].query("question == 'same speed'")["of_system"]
    assert set(of_systems) == {"ethernet@here", "ethernet@there"}


def test_the_fastest_run_on_a_number_of_nodes_counts_and_the_serial_run_has_no_system():
    runs = unplaced(
        rows("duct", None, {1: 9.0}, ONCE, nodes=1),
        rows("duct", "swift", {4: 5.0, 8: 4.0}, ONCE, nodes=2),
        rows("duct", "swift", {16: 2.0}, ONCE, nodes=4),
    )
    tables, _ = tables_of(runs, {"swift": 1.0}, deadlines=(3.0,))
    assert tables["run_costs"]["processes"].tolist() == [4, 8, 16]
    assert choices(tables, "deadline").loc["swift", "crossing_nodes"] == pytest.approx(2 + 2 / 3)


def test_a_study_without_prices_or_with_weak_scaling_has_no_table():
    runs = two_systems()
    made = make_all_tables(runs, Request(Settings(draws=100)), ("run_costs", "run_choices"))
    assert not made
    tables, facts = tables_of(runs, RANGED, about={"scaling": "weak"}, setup={"scaling": "weak"})
    assert not tables
    (text,) = blocks(run_cost_section(Content(runs, tables, facts, [])), "paragraph")
    assert "strong scaling" in text["text"]


def test_an_unfinished_study_states_no_cost():
    tables, _ = tables_of(two_systems(), RANGED, setup={"unfinished": True})
    assert not tables


def test_prices_of_other_systems_are_refused():
    line = refusal(TableError, tables_of, two_systems(), {"efa": 1.0})
    assert "no price for any interconnect or site of the runs (slow, swift)" in line and "efa" in line


# --- report ---


def report(runs, prices, **asked):
    tables, facts = tables_of(runs, prices, names=None, **asked)
    return Content(runs, tables, facts, [])


def test_the_section_answers_deadlines_budgets_and_equal_speed():
    content = report(two_systems(), RANGED, deadlines=(15.0, 1.0), budgets=(0.04,))
    made = run_cost_section(content)
    text = sentences_of(made)
    assert (
        "duct: slow on 4 nodes has the lowest median cost. A run on 4 nodes takes 20.0 s and costs 0.0222 "
        "USD. swift" in text
    )
    assert (
        "swift has the cheapest run with a median time of at most 15 s. This run needs 3 nodes and costs 0.0333 "
        "[0.0222, 0.0444] USD. Its median time is 13.3 [13.3, 13.3] s." in text
    )
    assert "The other system exceeds 15 s at every measured number of nodes." in text
    assert "No run takes at most 1 s within the measured ranges of nodes." in text
    assert "swift has the fastest run with a median cost of at most 0.04 USD. This run uses 5 nodes" in text
    prices, asked, others = blocks(made, "table")
    assert cells(prices)[1][:2] == ["swift", "3.00 [2.00, 4.00]"]
    assert asked["groups"][0]["title"] == "Median time of at most 15\u202fs"
    assert not others["printed"] and len(cells(others)) == 4
    page = Page(content, find_contests(content.tables, []))
    (first,) = headline(page).sentences
    assert plain(first).startswith(
        "Cost of a run of duct: swift has the cheapest run with a median time of at most 15 s. This run needs 3 "
        "nodes and costs "
    )


@pytest.mark.parametrize(
    ("nodes", "crossing", "seconds", "text"),
    [
        # 4 USD per node hour: 2 to 6 nodes for 60 s, though 3 nodes for 58 to 70 s cost 0.19 to 0.23
        ((3, 2, 6), 2.8, (59.0, 58.0, 70.0), " [0.133, 0.400]"),
        ((3, 3, 3), 2.8, (59.0, 58.0, 59.9), " [0.193, 0.200]"),  # 3 nodes in every draw: their cost
        (
            (3, 3, 3),
            None,
            (2.0, 1.0, 3.0),
            " [0.00333, 0.0100]",
        ),  # far below the deadline on the fewest nodes
        ((3, 3, 6), 2.8, (59.0, 58.0, 70.0), " [0.193, 0.400]"),  # the estimate, 0.197, lies inside
        ((3, 2, np.nan), 2.8, (59.0, 58.0, 70.0), ""),
    ],
)
def test_the_cost_of_a_deadline_has_the_interval_of_the_nodes_that_it_needs(nodes, crossing, seconds, text):
    ends = ("", "_low", "_high")
    line = {"question": "deadline", "value": 60.0, "crossing_nodes": crossing}
    line |= {f"nodes{end}": number for end, number in zip(ends, nodes, strict=True)}
    line |= {f"seconds{end}": time for end, time in zip(ends, seconds, strict=True)}
    line |= {f"cost{end}": nodes[0] * time * 4 / 3600 for end, time in zip(ends, seconds, strict=True)}
    assert cost_interval(line) == text


def test_without_questions_page_one_compares_costs_at_equal_speed():
    content = report(two_systems(), {"slow": 1.0, "swift": 1.0})
    (first,) = headline(Page(content, find_contests(content.tables, []))).sentences
    assert (
        "The cheapest run of at least this speed is with swift on 3 nodes, by interpolation. It takes 13.3 s and"
        in plain(first)
    )
    # 3 x 13.3 node seconds instead of 8 x 16
    assert "It costs 69 % less than the run with slow." in plain(first)


def test_overlapping_costs_are_not_called_less():
    runs = two_systems((0.7, 0.8, 1, 1.2, 1.3))
    text = sentences_of(run_cost_section(report(runs, {"slow": 1.0, "swift": 3.0})))
    assert (
        "USD. Nodeworth states no difference in cost, because the intervals of the two costs overlap." in text
    )


def test_runs_without_nodes_and_systems_without_a_price_are_named():
    runs = unplaced(
        rows("duct", "slow", {2: 40.0, 4: 20.0}, ONCE, nodes=2),
        rows("duct", "lost", {2: 40.0, 4: 20.0}, ONCE),
        rows("duct", "free", {2: 40.0, 4: 20.0}, ONCE, nodes=2),
    )
    text = sentences_of(run_cost_section(report(runs, {"slow": 1.0, "lost": 1.0})))
    assert "2 runs on an unknown number of nodes are left out." in text
    assert "These systems have no price per node hour and therefore no cost: free." in text


def test_the_figure_marks_every_point_with_its_nodes_and_the_front():
    runs = two_systems()
    tables, facts = tables_of(runs, RANGED, deadlines=(15.0,), budgets=(0.04,))
    labels = FigureLabels.of(drawable(facts), ["slow", "swift"])
    (drawing,) = draw_run_costs(View(runs, tables, facts, labels))
    (axes,) = drawing.figure.axes
    assert sorted(text.get_text() for text in axes.texts) == ["2", "2", "4", "4", "8", "8"]
    assert axes.get_xscale() == axes.get_yscale() == "log"
    front = axes.lines[0]
    of_front = tables["run_costs"][tables["run_costs"]["pareto"]].sort_values("seconds")
    assert front.get_xdata().tolist() == of_front["seconds"].tolist()
    texts = [mark.text for mark in drawing.marks.values() if mark.text]
    assert len(texts) == 6 and any("8 nodes" in text and "USD per run" in text for text in texts)
    assert "Dotted lines mark deadlines and budgets." in drawing.caption
    assert draw_run_costs(View(runs, {}, facts, labels)) == []


# --- price books ---

HEADER = "systems,instance,terms,currency,price,price_low,price_high,date,source,note\n"


def test_the_book_of_clouds_has_every_published_price():
    book = read_node_hours(BOOK)
    prices = {
        terms: {name: price.prices for name, price in prices_at(book, terms).items()}
        for terms in sorted(set(book["terms"]))
    }
    assert set(book["currency"]) == {"USD"} and len(book) == 9
    assert prices["cost_table"]["aws_parallel_cluster"] == (2.88, 2.88, 2.88)
    assert prices["cost_table"]["azure_cyclecloud"] == (3.6, 3.6, 3.96)
    assert prices["cost_table"]["google_gke"] == (5.06, 5.06, 5.09)
    assert prices["list_with_disk"] == {"aws_eks": (3.04, 3.04, 3.04)}
    assert prices["billed"]["google_compute_engine"] == (5.085,) * 3
    assert len(prices["cost_table"]) == 8


def test_only_a_range_means_its_middle(tmp_path):
    (tmp_path / "book.csv").write_text(HEADER + "eks,,spot,USD,,1,3,2026,offer,\n")
    assert prices_at(read_node_hours(tmp_path / "book.csv"), "spot")["eks"].prices == (2, 1, 3)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("eks,,spot,USD,0,,,2026,offer,\n", "line 2, column 'price': '0' must be a price above 0"),
        ("eks,,spot,USD,,,,2026,offer,\n", "line 2, column 'price': is empty: state a price"),
        ("eks,,spot,USD,2,3,4,2026,offer,\n", "'3' is above the price or price_high"),
        ("eks,,spot,USD,2,1,,2026,offer,\n", "'1' needs price_high"),
        ("eks,,spot,USD,5,1,3,2026,offer,\n", "'3' is below the price"),
        (";,,spot,USD,5,,,2026,offer,\n", "names no system"),
        ("eks,,spot,usd,5,,,2026,offer,\n", "must be three capital letters"),
        ("eks,,spot,USD,5,,,2026,,\n", "column 'source': must not be empty"),
        (
            "a; eks,,spot,USD,5,,,2026,offer,\neks; b,,spot,USD,4,,,2026,offer,\n",
            "line 3, column 'systems': 'eks; b' has a price at the same terms in an earlier row",
        ),
        ("a,,spot,USD,5,,,2026,offer,\nb,,spot,EUR,4,,,2026,offer,\n", "'EUR' differs from the first row"),
    ],
)
def test_a_damaged_book_is_refused_in_one_line(tmp_path, lines, message):
    (tmp_path / "book.csv").write_text(HEADER + lines)
    line = refusal(TableError, read_node_hours, tmp_path / "book.csv")
    assert message in line and str(tmp_path / "book.csv") in line


def test_an_answer_names_its_only_count_and_an_overlap_with_the_second():
    """Swift ran only on 4 nodes: 10 s at 2 to 4 USD cost 0.022 to 0.044 USD. Slow costs 0.022 USD."""
    runs = two_systems()
    runs = runs[(runs["interconnect"] == "slow") | (runs["nodes"] == 4)]
    text = sentences_of(run_cost_section(report(runs, RANGED, deadlines=(20.0, 12.0))))
    assert "The second cheapest system is swift." in text
    assert "The intervals of the two costs overlap, so" in text
    assert "swift has the cheapest run with a median time of at most 12 s." in text
    assert "but swift has valid runs only on 4 nodes." in text and "on more than 4 nodes" not in text
