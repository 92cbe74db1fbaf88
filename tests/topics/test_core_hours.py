"""Core hours of a study, by hand: from records only, and with accounting."""

import pandas as pd
import pytest
from report_parts import cells, part, sentences_of
from synthetic_study import make_runs, make_study

from analysis.importers.sacct import read_jobs
from analysis.report import make_report
from analysis.runs.columns import validated
from analysis.runs.side_tables import DETAILS
from analysis.topics.core_hours import make_core_hours

DUMP = """JobID|JobName|State|AllocCPUS|ElapsedRaw|ConsumedEnergyRaw
7|a|COMPLETED|4|3600|7200000
7.0|nodeworth|COMPLETED|2|900|0
8|b|TIMEOUT|4|900|
9|c|REQUEUED|4|60|
9|c|CANCELLED by 1000|4|120|
10|d|COMPLETED|1|720|
"""
LOST = ["failed", "stopped", "noise", "invalid"]


def jobs(dump=DUMP):
    return validated(DETAILS["jobs"], pd.DataFrame(read_jobs(dump, "sacct") if dump else []))


def runs():
    """A quarter of an hour on 4 cores and one on 2 count; of four minutes on 3 each each is lost otherwise."""
    rows = [(4, 900, None, "7"), (2, 900, None, "7"), (4, None, "interrupted", "8")]
    rows += [(3, 60, loss, "9") for loss in LOST]
    table = pd.DataFrame(rows, columns=["cores", "wall_seconds", "loss", "job"])
    return table.assign(origin="run", idle_wait_seconds=90.0)


def hours(table):
    return dict(zip(table["reason"], table["core_hours"], strict=True))


def test_records_give_core_hours_of_runs():
    table = make_core_hours(runs(), jobs(""))["core_hours"]
    lost = dict.fromkeys(LOST, 0.05)
    waited = (4 + 2 + 4 + 4 * 3) * 90 / 3600
    assert hours(table) == pytest.approx({"counted": 1.5, "waited": waited, "interrupted": 0} | lost)
    assert table["runs"].dropna().tolist() == [2, 1, 1, 1, 1, 1] and set(table["source"]) == {"records"}
    assert table["share_percent"].sum() == pytest.approx(100)


def test_accounting_gives_core_hours_outside_runs():
    """Job 7 had half an hour beside its runs, 8 ended with its run, 9, twice, ran for one minute more, 10 had no run."""
    made = make_core_hours(runs(), jobs())
    table, states = made["core_hours"], made["job_states"].set_index("state")
    outside_runs = {
        "unused": 2 * 900 / 3600 + 4 * 60 / 3600,
        "waited": 2 + 0,
        "prepared": 0.2,
        "interrupted": 1,
    }
    # Job 9 was allocated 4 * 180 s in two starts, and its runs were under way for 4 * 240 s: clocks differ.
    assert hours(table) == pytest.approx({"counted": 1.5} | outside_runs | dict.fromkeys(LOST, 0.05))
    assert set(table["source"]) == {"accounting"}
    assert states["jobs"].to_dict() == {"COMPLETED": 2, "TIMEOUT": 1, "REQUEUED": 1, "CANCELLED": 1}
    assert states["core_hours"].to_dict() == pytest.approx(
        {"COMPLETED": 4.2, "TIMEOUT": 1, "REQUEUED": 4 / 60, "CANCELLED": 8 / 60}
    )
    assert states["energy_joules"].dropna().to_dict() == {"COMPLETED": 7.2e6}


def test_a_study_that_ran_nothing_took_nothing():
    assert make_core_hours(runs().assign(origin="import"), jobs()) == {}
    assert make_core_hours(runs().drop(columns="loss"), jobs()) == {}


def test_the_report_states_core_hours_and_their_source():
    all_runs, tables, facts = make_study(make_runs(3))
    for dump, outside, expected in (
        (
            DUMP,
            " and the time of jobs outside runs took 2",
            "are from Slurm's accounting of the study's jobs: 1 CANCELLED, 2 COMPLETED, 1 REQUEUED and 1 TIMEOUT. The jobs took 2 kWh.",
        ),
        ("", " took 0.55", "are from the records of the runs."),
    ):
        made = make_core_hours(runs(), jobs(dump))
        section = part(make_report(all_runs, tables | made, facts, []), "core_hours")
        assert (
            "The runs that the results use took 1.5 core hours. Waiting for an idle machine"
            f"{outside} core hours. The core hours {expected}"
            in sentences_of(section).replace("1.50", "1.5").replace("2.00", "2").replace("0.550", "0.55")
        )
        (table,) = [block for block in section["blocks"] if block["type"] == "table"]
        assert len(cells(table)) == len(made["core_hours"])
