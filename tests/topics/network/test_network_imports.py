"""Imported network curves in the columns of measured ones, and their common tables."""

import pandas as pd
import pytest

from analysis.importers import read_foreign
from analysis.importers.results import CURVES
from analysis.pipeline import write_tables
from analysis.presentation.style import FigureLabels
from analysis.runs.facts import Facts
from analysis.topics.network.curve_figures import variability_figures
from analysis.topics.network.curves import NETWORK
from analysis.topics.network.imports import imported_network, read_imported
from analysis.topics.network.tables import make_network_tables
from workflows.paths import ROOT

PUBLISHED = ROOT / "analysis/published/pmb.csv"


def curves(*rows):
    measurements = [
        {"interconnect": "theirs", "kind": "published", "record": "a.txt: line 1", **row} for row in rows
    ]
    return CURVES.validate(pd.DataFrame(measurements).reindex(columns=list(CURVES.columns)))


def test_benchmarks_that_time_the_same_have_our_name_and_others_keep_theirs():
    names = "osu_latency imb_pingpong netpipe imb_sendrecv osu_allreduce_latency osu_bandwidth".split()
    table = imported_network(curves(*({"benchmark": name, "bytes": 8, "latency_us": 1.0} for name in names)))
    ours = "allreduce osu_bandwidth pingpong pingpong pingpong sendrecv"
    assert " ".join(table["benchmark"]) == ours
    assert set(table["imported_from"]) == {"a.txt"} and set(table["kind"]) == {"published"}


def test_time_and_bandwidth_of_a_message_follow_from_each_other():
    # 1000 B in 2 µs are 500 MB/s; in an exchange both messages count.
    measurements = [
        {"benchmark": "osu_latency", "bytes": 1000, "latency_us": 2.0},
        {"benchmark": "imb_sendrecv", "bytes": 1000, "bandwidth_MBps": 1000.0},
        {"benchmark": "osu_allreduce_latency", "bytes": 1000, "latency_us": 2.0},
    ]
    table = imported_network(curves(*measurements)).set_index("benchmark")
    assert table.loc["pingpong", "bandwidth_MBps"] == pytest.approx(500)
    assert table.loc["sendrecv", "latency_us"] == pytest.approx(2)
    assert pd.isna(table.loc["allreduce", "bandwidth_MBps"])


def test_a_message_of_no_bytes_has_no_bandwidth():
    table = imported_network(curves({"benchmark": "netpipe", "bytes": 0, "latency_us": 1.0}))
    assert table["bandwidth_MBps"].isna().tolist() == [True]


def test_two_processes_are_known_of_a_ping_pong_alone():
    names = ("osu_latency", "osu_broadcast_latency")
    measurements = [{"benchmark": name, "bytes": 8, "latency_us": 1.0} for name in names]
    table = imported_network(curves(*measurements)).set_index("benchmark")
    assert table.loc["pingpong", "processes"] == 2 and pd.isna(table.loc["bcast", "processes"])


def test_the_published_curves_have_the_published_headlines():
    table = imported_network(read_foreign(PUBLISHED).curves)
    heads = make_network_tables(table, {"infiniband_4x_pcie": 1000.0})["network_headlines"]
    headline = heads.set_index(["benchmark", "interconnect"]).loc[("pingpong", "infiniband_4x_pcie")]
    assert headline["latency_us"] == 4.29 and headline["peak_MBps"] == 958.5
    assert headline["percent_of_link"] == pytest.approx(95.85)
    assert headline["imported_from"] == "pmb.csv" and set(heads["kind"]) == {"published"}


def test_a_curve_of_an_empty_message_alone_has_no_headlines():
    table = imported_network(curves({"benchmark": "osu_latency", "bytes": 0, "latency_us": 1.0}))
    assert set(make_network_tables(table, {})) == {"network"}


def test_without_imports_there_is_an_empty_table(tmp_path):
    table = read_imported(tmp_path)
    assert table.empty and list(table) == list(NETWORK.columns)


def test_a_table_put_together_is_written_as_it_is(tmp_path):
    """An empty table before a full one once made the writer of CSV put other bytes between the rows."""
    read = imported_network(read_foreign(PUBLISHED).curves)
    joined = pd.concat([imported_network(pd.DataFrame()), read], ignore_index=True)
    write_tables({"joined": joined, "read": read}, tmp_path)
    assert (tmp_path / "joined.csv").read_bytes() == (tmp_path / "read.csv").read_bytes()


def test_imported_repetitions_vary_between_runs_and_have_no_panel_of_batches():
    times = {"latency_us": 2.0, "latency_us_low": 1.8, "latency_us_high": 2.4, "runs": 3}
    measurements = [{"benchmark": "osu_latency", "bytes": size, **times} for size in (0, 8, 64)]
    labels = FigureLabels.of(Facts.of({}), ["theirs"])
    (drawing,) = variability_figures(imported_network(curves(*measurements)), labels)
    between, within = drawing.figure.axes
    assert between.axison and between.lines and not within.axison
    assert drawing.caption.endswith("imported curves, whose outputs have no times of batches.")
