"""Predictions beside measurements: which points pair, and what is said of the errors."""

import pandas as pd
import pytest
from report_parts import blocks, said

from analysis.estimates.scaling import make_tables
from analysis.estimates.validation import make_validation
from analysis.report.content import Content
from analysis.report.validation import validation
from analysis.runs.facts import Facts
from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings

MODEL = {"source": "a paper", "host": {"host_speed": 1}}
FACTS = Facts.of(
    {
        "interconnects": {
            "link": {"title": "The link", "kind": "emulated"},
            "link_model": {"title": "Its model", "kind": "simulated", "model": MODEL | {"predicts": "link"}},
            "other": {"title": "Another", "kind": "simulated", "model": MODEL},
        }
    }
)


def run(interconnect, kind, processes, seconds, block=1, **more):
    row = {"case": "duct", "interconnect": interconnect, "kind": kind, "processes": processes}
    return row | {"seconds": seconds, "cores": processes, "nodes": processes, "block": block, **more}


@pytest.fixture
def runs():
    rows = [run(None, "emulated", 1, 10.0), run(None, "simulated", 1, 10.5)]
    rows += [run("link", "emulated", 2, 8.0 + block / 10, block, noise=0.1) for block in range(-2, 3)]
    rows += [
        run("link_model", "simulated", 2, 7.6, seconds_low=7.6, seconds_high=8.4),
        run("other", "simulated", 2, 1.0, seconds_low=1.0, seconds_high=1.0),
        run("link_model", "simulated", 4, 5.0, seconds_low=5.0, seconds_high=6.0),
    ]
    for place, row in enumerate(rows):
        row["block"] = max(1, row["block"] + 3) if row["interconnect"] == "link" else 1
        row["repetition"] = place + 1
    return complete_runs(pd.DataFrame(rows))


@pytest.fixture
def table(runs):
    scaling = make_tables(runs, Settings(draws=200))["scaling"]
    return make_validation(runs, scaling, FACTS)["validation"]


def test_a_model_is_held_against_what_it_predicts_where_both_ran(table):
    (row,) = table.to_dict("records")
    told = [row[name] for name in ("interconnect", "kind", "model", "processes", "n")]
    assert told == ["link", "emulated", "link_model", 2, 5]
    assert (row["predicted_seconds"], row["predicted_low"], row["predicted_high"]) == (7.6, 7.6, 8.4)
    assert row["measured_seconds"] == pytest.approx(8.0) and row["measured_low"] < 8.0 < row["measured_high"]
    assert row["error_percent"] == pytest.approx(-5.0) and row["noise"] == pytest.approx(0.1)


def test_a_study_without_a_model_of_its_interconnects_has_no_table(runs):
    scaling = make_tables(runs, Settings(draws=200))["scaling"]
    assert make_validation(runs, scaling, Facts.of({"interconnects": {"link": {}}})) == {}


def test_the_report_states_errors_and_noise(table):
    section = validation(Content(pd.DataFrame(), {"validation": table}, FACTS, []))
    told = said(section)
    assert "All: 1 point, median error 5.0 % (signs left aside), from -5.0 %" in told
    assert "CPU pressure while it was measured: 10 %" in told
    (printed,) = blocks(section, "table")
    cells = printed["groups"][0]["rows"][0]["cells"]
    assert cells[:3] == ["The link (emu)", "2", "7.60 [7.60, 8.40]"]
    assert cells[4:] == ["−5.0", "5", "10.0"]


def test_a_band_without_width_has_no_brackets(table):
    table = table.assign(predicted_high=table["predicted_low"])
    section = validation(Content(pd.DataFrame(), {"validation": table}, FACTS, []))
    assert section["blocks"][-1]["groups"][0]["rows"][0]["cells"][2] == "7.60"


def test_without_it_there_is_no_section():
    assert validation(Content(pd.DataFrame(), {}, FACTS, [])) is None
