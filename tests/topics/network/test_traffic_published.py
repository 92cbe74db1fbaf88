"""Published figures of traffic patterns, each next to the figure of a study."""

import pandas as pd
import pytest

from analysis.topics.traffic.published import BYTES, FINDERS, compare_with_published
from workflows.paths import ROOT

STATEMENTS = pd.read_csv(ROOT / "analysis/published/qsnet.csv")
OWNER = {"interconnect": "quadrics_elan3_memory", "kind": "simulated"}


def traffic(*rows):
    """Rows on 64 processes over Elan3, unless they say otherwise."""
    base = {**OWNER, "processes": 64, "job": "compute", "offered_load": 1.0}
    names = ("pattern", "io_mapping", "application_mapping", "destinations", "beside_load", "slowdown",
             "accepted_MBps", "accepted_load", "target_MBps")  # fmt: skip
    rows = [dict.fromkeys(names) | base | row for row in rows]
    table = pd.DataFrame([{"mean_bytes": BYTES[row["job"]]} | row for row in rows])
    floats = ["beside_load", "slowdown", "accepted_MBps", "accepted_load", "target_MBps"]
    return table.astype(dict.fromkeys(floats, float))


def shares(*rows):
    columns = ["interconnect", "kind", "pattern", "processes", "offered_load", "process", "accepted_MBps"]
    base = {**OWNER, "processes": 64, "offered_load": 1.0, "mean_bytes": BYTES["io"]}
    return pd.DataFrame([base | row for row in rows], columns=[*columns, "mean_bytes"])


def compared(rows, processes=()):
    others = {"scaling": pd.DataFrame({"case": ["elbow"]})}
    tables = {"traffic": traffic(*rows), "traffic_processes": shares(*processes), **others}
    table = compare_with_published(tables, STATEMENTS)
    return table.set_index(["experiment", "condition", "quantity"])


def test_every_statement_that_is_looked_for_was_published():
    published = set(STATEMENTS[["experiment", "condition", "quantity"]].itertuples(index=False, name=None))
    assert set(FINDERS) <= published


def test_the_highest_load_is_compared_with_the_published_one():
    rows = [
        {"pattern": "uniform", "accepted_MBps": 90.0, "accepted_load": 0.3},
        {"pattern": "uniform", "accepted_MBps": 150.0, "accepted_load": 0.5},
        {"pattern": "uniform", "accepted_MBps": 200.0, "processes": 16},
        {"pattern": "uniform", "accepted_MBps": 210.0, "accepted_load": 0.7, "mean_bytes": 4096},
    ]
    statement = compared(rows).loc[
        ("uniform", "64 nodes, 256 KB messages", "asymptotic bandwidth (less than)")
    ]
    assert (statement["published"], statement["result"]) == (120, 150) and statement[
        "error_percent"
    ] == pytest.approx(25)
    assert len(compared(rows)) == 2  # with the fraction of the bidirectional maximum


def test_lowest_and_highest_of_three_permutations_need_all_three():
    two = ("shuffle", 70.0), ("transpose", 280.0)
    rows = [{"pattern": name, "accepted_MBps": rate} for name, rate in two]
    assert compared(rows).empty
    statements = compared([*rows, {"pattern": "bit_reversal", "accepted_MBps": 100.0}])
    assert statements["result"].tolist() == [70, 280]


def test_a_hot_spot_its_decrease_and_the_shares_of_its_senders():
    rows = [{"pattern": "hot_spot", "job": "io", "processes": count, "target_MBps": rate}
            for count, rate in ((32, 340.0), (64, 306.0))]  # fmt: skip
    processes = [{"pattern": "hot_spot", "process": place, "accepted_MBps": rate}
                 for place, rate in ((1, 9.0), (3, 7.0), (4, 5.0), (63, 4.0))]  # fmt: skip
    assert compared(rows, processes)["result"].tolist() == pytest.approx([340, 10, 8, 5, 4])


def test_io_nodes_and_the_compute_job():
    io = {"pattern": "multiple_hot_spots", "job": "io", "destinations": "random", "io_mapping": "clustered"}
    placed = {"pattern": "combined", "io_mapping": "clustered_compute"}
    rows = [
        io | {"application_mapping": "shared", "target_MBps": 210.0},
        io | {"application_mapping": "dedicated", "target_MBps": 200.0},
        placed | {"application_mapping": "shared", "accepted_MBps": 130.0},
        placed | {"application_mapping": "shared", "beside_load": 0.5, "slowdown": 2.0},
        placed | {"application_mapping": "dedicated", "beside_load": 0.5, "slowdown": 1.0},
    ]
    statements = compared(rows)
    assert statements["result"].tolist() == pytest.approx([210, 130, 50, 0])
    assert statements["error_percent"].isna().tolist() == [False, False, True, True]


def test_other_interconnects_have_no_published_value():
    rows = [{"pattern": "uniform", "accepted_MBps": 90.0, "interconnect": "gigabit_ethernet"}]
    assert compared(rows).empty
