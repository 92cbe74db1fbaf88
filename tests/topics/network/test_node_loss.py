"""Lost efficiency of a node by cause, by hand, and its section."""

from math import log

import pandas as pd
import pytest
from made_tables import make_tables
from report_parts import blocks, cells, sentences_of
from small_runs import rows, runs_table

from analysis.presentation.content import Content
from analysis.runs.facts import Facts
from analysis.runs.settings import Settings
from analysis.topics.node_loss import PART_NAMES, make_node_loss, node_loss

EXACT = (1,) * 5
UNKNOWN = pd.DataFrame(
    columns=["cores", "bandwidth_MBps", "bandwidth_MBps_low", "bandwidth_MBps_high", "site"]
)
TRACE = {
    "case": "duct",
    "processes": 2,
    "timing": "alone",
    "serial_seconds": 1.0,
    "corrected_seconds": 1.1,
    "low_seconds": 1.0,
    "high_seconds": 1.25,
    "corun_percent": 10.0,
    "corun_percent_low": 0.0,
    "corun_percent_high": 25.0,
    "site": None,
    "threads": 1,
}
REPLAYED = {
    "case": "duct",
    "interconnect": "model",
    "kind": "simulated",
    "nodes": 1,
    "processes": 2,
    "load_balance": 0.95,
    "serialisation_efficiency": 0.9,
    "site": None,
    "threads": 1,
}


def simulated(**changes):
    both = [
        {name: changes.get(name, value) for name, value in columns.items()} for columns in (TRACE, REPLAYED)
    ]
    return {
        name: pd.DataFrame([columns])
        for name, columns in zip(("traces", "simulated_efficiency"), both, strict=True)
    }


@pytest.fixture
def tables():
    """Two processes of a node take 8 s of 10 s: an efficiency of 0.625; spread over two nodes 7 s."""
    runs = runs_table(
        rows("duct", None, {1: 10.0}, EXACT, nodes=1),
        rows("duct", "memory", {2: 8.0}, EXACT, nodes=1),
        rows("duct", "gigabit", {2: 7.0}, EXACT, nodes=2),
    )
    return make_tables(runs, Settings(draws=100))


def test_four_factors_make_the_efficiency(tables):
    [row] = make_node_loss(tables["scaling"], simulated(), UNKNOWN)["node_loss"].to_dict("records")
    assert (row["interconnect"], row["efficiency"]) == ("memory", pytest.approx(0.625))
    assert row["memory_factor"] == pytest.approx(1 / 1.1) and row["work_factor"] == pytest.approx(1 / 1.1)
    assert row["waiting_factor"] == pytest.approx(0.855)
    assert row["communication_factor"] == pytest.approx(0.625 * 1.1 * 1.1 / 0.855)
    assert sum(row[f"{part}_percent"] for part in PART_NAMES) == pytest.approx(100)
    assert row["memory_percent"] == pytest.approx(100 * log(1.1) / -log(0.625))


def test_bands_of_the_trace_are_carried_to_every_part(tables):
    [row] = make_node_loss(tables["scaling"], simulated(), UNKNOWN)["node_loss"].to_dict("records")
    assert (row["memory_factor_low"], row["memory_factor_high"]) == (0.8, 1)
    assert row["memory_percent_low"] == 0
    assert row["memory_percent_high"] == pytest.approx(100 * log(1.25) / -log(0.625))
    assert row["communication_factor_low"] == pytest.approx(0.625 / 0.855)
    assert row["communication_factor_high"] == pytest.approx(0.625 * 1.25 * 1.25 / 0.855)
    assert row["waiting_percent_low"] == row["waiting_percent_high"]


@pytest.mark.parametrize(
    "changes",
    [{"timing": "together"}, {"corun_percent": None}, {"nodes": 2}, {"processes": 4}, {"case": "pipe"}],
)
def test_time_is_divided_only_with_matching_traces(tables, changes):
    assert make_node_loss(tables["scaling"], simulated(**changes), UNKNOWN) == {}
    assert make_node_loss(tables["scaling"], {}, UNKNOWN) == {}


def section_of(tables, loss):
    facts = Facts.of({"study": {"name": "own"}, "cases": {"duct": {"title": "Duct"}}})
    return node_loss(Content(pd.DataFrame(), {**tables, **loss}, facts, []))


def test_a_sentence_states_where_lost_time_goes(tables):
    section = section_of(tables, make_node_loss(tables["scaling"], simulated(), UNKNOWN))
    assert sentences_of(section).splitlines()[0] == (
        "Duct on 2 processes of one node, memory: the efficiency is 0.625 [0.625, 0.625]. The largest "
        "share of the loss, 33 % [33, 33], is due to waiting of ranks for each other. Shared caches and memory "
        "cause 20 % [0, 47] of the loss. Communication and unrecorded time cause 26 % [-28, 67] of the loss. "
        "Communication is what the other parts leave of the loss, so its share may be negative."
    )
    (table,) = blocks(section, "table")
    assert cells(table)[0][:3] == ["memory", "2", "0.625 [0.625, 0.625]"]


def test_where_nothing_is_lost_nothing_is_divided(tables):
    faster = tables["scaling"].assign(efficiency_high=1.01)
    loss = make_node_loss(faster, simulated(), UNKNOWN)
    assert (
        loss["node_loss"]["memory_percent"].isna().all() and loss["node_loss"]["memory_factor"].notna().all()
    )
    assert "because there may be no loss" in sentences_of(section_of(tables, loss))
    assert section_of(tables, {}) is None


def shared(*rates):
    """Bandwidth of one and of two cores together: median, least, most."""
    ends = ("cores", "bandwidth_MBps", "bandwidth_MBps_low", "bandwidth_MBps_high")
    return pd.DataFrame([(1, 1000.0, 1000.0, 1000.0), (2, *rates)], columns=ends).assign(site=None)


def test_shared_bandwidth_explains_no_more_than_if_all_waited_for_memory(tables):
    """Two cores have 1.6 times the bandwidth of one, 1.5 to 1.8: 0.8 [0.75, 0.9] would be left."""
    loss = make_node_loss(tables["scaling"], simulated(), shared(1600.0, 1500.0, 1800.0))
    [row] = loss["node_loss"].to_dict("records")
    assert [row[f"bandwidth_factor{end}"] for end in ("", "_low", "_high")] == pytest.approx([0.8, 0.75, 0.9])
    assert row["bandwidth_percent"] == pytest.approx(100 * log(0.8) / log(0.625))
    assert row["bandwidth_percent_low"] == pytest.approx(100 * log(0.9) / log(0.625))
    assert sum(row[f"{part}_percent"] for part in PART_NAMES) == pytest.approx(100)
    sentence = sentences_of(section_of(tables, loss)).splitlines()[0]
    assert sentence.endswith(
        "For memory bandwidth alone, Nodeworth knows only an upper bound: 47 % [22, 61] of the loss. The share of "
        "shared caches and memory is not clearly above this bound, so memory bandwidth may explain all of it."
    )


def test_both_figures_are_given_if_re_runs_exceed_the_bandwidth_limit(tables):
    trace = simulated(corun_percent=20.0, corun_percent_low=15.0)
    loss = make_node_loss(tables["scaling"], trace, shared(1980.0, 1960.0, 2010.0))
    assert loss["node_loss"].loc[0, "bandwidth_factor_high"] == 1
    sentence = sentences_of(section_of(tables, loss)).splitlines()[0]
    assert (
        "upper bound: 2.1 % [0.0, 4.3] of the loss. The share of shared caches and memory is above this bound: "
        "39 % [30, 47]. Ranks" in sentence
    )
    assert "share more than bandwidth" in sentence


def test_no_bandwidth_beyond_the_measured_cores(tables):
    few = shared(1600.0, 1500.0, 1800.0).head(1)
    [row] = make_node_loss(tables["scaling"], simulated(), few)["node_loss"].to_dict("records")
    assert pd.isna(row["bandwidth_factor"]) and pd.isna(row["bandwidth_percent"])
