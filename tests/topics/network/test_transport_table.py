"""Transports side by side, by hand: measured, printed by other programs, published, and MPI."""

import pandas as pd
import pytest

from analysis.importers import read_published
from analysis.presentation.style import FigureLabels
from analysis.runs.facts import Facts
from analysis.topics.network.curves import NETWORK
from analysis.topics.transports import best_of_transports, make_transport_table, transport_figures
from workflows.paths import ROOT
from workflows.results.details import tables_of_runs


def row(transport, test, size, **values):
    return {"transport": transport, "test": test, "bytes": size, "n": 10, **values}


def stream(transport, size, sent, received, **values):
    lost = 100 * (1 - received / sent) if transport == "udp" else None
    rates = {"sent_MBps": sent, "received_MBps": received, "lost_percent": lost, "sender_busy": 0.5}
    return row(transport, "stream", size, **rates, **values)


def measured_rows(slower):
    return [
        row("tcp", "pingpong", 8, latency_us_p50=20.0 + slower),
        row("udp", "pingpong", 8, latency_us_p50=16.0 + slower, lost_percent=0.0),
        stream("tcp", 1024, 100.0, 100.0),
        stream("tcp", 8192, 400.0 - slower, 400.0 - slower),
        stream("udp", 8192, 500.0, 250.0),
        stream("udp", 1024, 50.0, 50.0, offered_MBps=50.0 + slower),
        stream("udp", 1024, 90.0, 45.0, offered_MBps=100.0 + slower),
        stream("udp", 1024, 120.0, 40.0),
    ]


@pytest.fixture
def table():
    names = {"site": None, "case": "sockets", "interconnect": "loopback", "kind": "measured",
             "oversubscription": 1, "nodes": 1, "processes": 2}  # fmt: skip
    runs = pd.DataFrame([names | {"record": f"{run}.json", "started": "now"} for run in range(3)])
    derived = tables_of_runs(
        (run, {"rows": measured_rows(slower)})
        for run, slower in zip(runs.to_dict("records"), (0, 2, 4), strict=True)
    )
    mpi = pd.DataFrame([{"interconnect": "loopback", "kind": "measured", "benchmark": "pingpong", "bytes": 8,
                         "latency_us": 25.0, "oversubscription": 1, "runs": 3}])  # fmt: skip
    published = {"link_statements": read_published(ROOT / "analysis/published")["link_statements"]}
    return make_transport_table(
        runs, derived["transports"], published, mpi.reindex(columns=list(NETWORK.columns))
    )


def test_medians_over_runs_also_for_rates_based_on_tcp(table):
    loopback = table[table["interconnect"] == "loopback"].set_index(["transport", "test", "bytes"])
    assert loopback.loc[("tcp", "pingpong", 8), "latency_us"] == 22
    paced = loopback.loc[("udp", "stream", 1024)].dropna(subset="offered_MBps")
    assert paced["offered_MBps"].tolist() == [52, 102] and paced["runs"].tolist() == [3, 3]
    assert paced["lost_percent"].tolist() == [0, 50]
    assert loopback.loc[("mpi", "pingpong", 8), "latency_us"] == 25


def test_published_qdr_figures_are_shown(table):
    qdr = table[table["interconnect"] == "infiniband_qdr"].set_index("transport")
    assert set(qdr["kind"]) == {"published"}
    assert (qdr.loc["ud", "sent_MBps"], qdr.loc["ud", "received_MBps"]) == (3750, 3125)
    assert qdr.loc["ud", "lost_percent"] == pytest.approx(100 / 6)
    assert qdr.loc["rc", "received_MBps"] == 2750
    assert sorted(qdr.loc["ipoib", "latency_us"].dropna()) == [50]


def test_transports_are_compared_in_one_sentence(table):
    best = best_of_transports(table).set_index(["interconnect", "transport"])
    ours = best.loc["loopback"]
    assert ours.loc["udp", ["sent_MBps", "received_MBps", "latency_us"]].tolist() == [500, 250, 18]
    assert ours.loc["tcp", ["received_MBps", "latency_us"]].tolist() == [398, 22]
    assert ours.loc["mpi", "latency_us"] == 25
    assert {"ipoib", "verbs"} <= set(
        best.loc["infiniband_qdr"].dropna(subset="received_both_ways_MBps").index
    )


def test_figures_of_latency_streams_and_loss(table):
    names = ["loopback", "infiniband_qdr"]
    drawn = {drawing.name: drawing for drawing in transport_figures(table, FigureLabels.of(Facts(), names))}
    assert set(drawn) == {"transports-streams", "transports-loss"}  # latencies have one size only
    points = [mark.text for mark in drawn["transports-loss"].marks.values()]
    assert any("90" in text and "50.0 % lost" in text for text in points)
    assert len(drawn["transports-streams"].figure.axes) == 1
