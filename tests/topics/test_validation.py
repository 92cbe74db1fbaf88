"""Predictions compared with measurements: pairs of points, and sentences about errors."""

import pandas as pd
import pytest
from made_tables import make_tables
from report_parts import blocks, sentences_of

from analysis.presentation.content import Content
from analysis.runs.facts import Facts
from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings
from analysis.topics.validation import make_validation, validation

MODEL = {"source": "a paper", "host": {"host_speed": 1}}


def facts(**of_the_model):
    its = MODEL | {"predicts": "link"} | of_the_model
    return Facts.of(
        {
            "interconnects": {
                "link": {"title": "The link", "kind": "emulated"},
                "link_model": {"title": "Its model", "kind": "simulated", "model": its},
                "other": {"title": "Another", "kind": "simulated", "model": MODEL},
            }
        }
    )


FACTS = facts()


def run(interconnect, kind, processes, seconds, block=1, **more):
    row = {"case": "duct", "interconnect": interconnect, "kind": kind, "processes": processes}
    return row | {"seconds": seconds, "cores": processes, "nodes": processes, "block": block, **more}


@pytest.fixture
def runs():
    rows = [run(None, "emulated", 1, 10.0, block) for block in range(1, 6)]
    rows += [run("link", "emulated", 2, 7.7 + block / 10, block, noise=0.1) for block in range(1, 6)]
    rows += [
        run(None, "simulated", 1, 10.5, seconds_low=10.5, seconds_high=10.5),
        run("link_model", "simulated", 2, 7.6, seconds_low=7.6, seconds_high=8.4),
        run("other", "simulated", 2, 1.0, seconds_low=1.0, seconds_high=1.0),
        run("link_model", "simulated", 4, 5.0, seconds_low=5.0, seconds_high=6.0),
    ]
    for place, row in enumerate(rows):
        row["repetition"] = place + 1
    return complete_runs(pd.DataFrame(rows))


@pytest.fixture
def table(runs):
    scaling = make_tables(runs, Settings(draws=200))["scaling"]
    return make_validation(runs, scaling, FACTS)["validation"]


def test_predictions_are_compared_with_measurements(table):
    (row,) = table.to_dict("records")
    values = [row[name] for name in ("interconnect", "kind", "model", "processes", "n")]
    assert values == ["link", "emulated", "link_model", 2, 5]
    assert (row["predicted_seconds"], row["predicted_low"], row["predicted_high"]) == (7.6, 7.6, 8.4)
    assert row["measured_seconds"] == pytest.approx(8.0) and row["measured_low"] < 8.0 < row["measured_high"]
    assert row["error_percent"] == pytest.approx(-5.0) and row["noise"] == pytest.approx(0.1)
    assert row["speedup_error_percent"] == pytest.approx(100 * ((10.5 / 7.6) / (10.0 / 8.0) - 1))


@pytest.mark.parametrize("lack_serial", [["simulated"], ["simulated", "emulated"]])
def test_speedups_over_other_references_and_of_references_are_not_compared(runs, lack_serial):
    """Without serial runs, speedups are over two processes."""
    runs = runs[~runs["kind"].isin(lack_serial) | (runs["processes"] > 1)]
    scaling = make_tables(runs, Settings(draws=200))["scaling"]
    table = make_validation(runs, scaling, FACTS)["validation"]
    assert table["speedup_error_percent"].isna().all() and table["error_percent"].notna().all()
    section = validation(Content(pd.DataFrame(), {"validation": table}, FACTS, []))
    assert "Speedups:" not in sentences_of(section)


@pytest.mark.parametrize(
    ("probe_us", "n", "unlike", "measured"),
    [(6.0, 3, 2, 7.9), (7.0, 3, 2, 8.1), (10.0, 5, 5, 8.0), (None, 5, 0, 8.0)],
)
def test_only_runs_whose_probe_matches_the_model_are_compared(runs, probe_us, n, unlike, measured):
    """Of 7.8 to 8.2 s the second and the last found it slower; where all did, none is left out."""
    over_link = runs["interconnect"] == "link"
    runs.loc[over_link, "probe_latency_us"] = [6.0, 7.2, 6.1, 6.5, 7.5]
    runs.loc[over_link, "seconds"] = [7.8, 8.2, 7.9, 8.0, 8.1]
    scaling = make_tables(runs, Settings(draws=200))["scaling"]
    table = make_validation(runs, scaling, facts(probe_us=probe_us))["validation"]
    (row,) = table.to_dict("records")
    assert (row["n"], row["unlike"]) == (n, unlike)
    assert row["measured_seconds"] == pytest.approx(measured)
    assert row["measured_low"] < measured < row["measured_high"]
    assert row["error_percent"] == pytest.approx(100 * (7.6 / measured - 1))
    assert row["measured_speedup"] == pytest.approx(10 / measured)
    assert row["measured_speedup_low"] < 10 / measured < row["measured_speedup_high"]
    section = validation(Content(pd.DataFrame(), {"validation": table}, FACTS, []))
    assert (f"In {unlike} runs, the time of a ping-pong differs" in sentences_of(section)) == bool(unlike)


def test_the_report_states_errors_and_noise(table):
    section = validation(Content(pd.DataFrame(), {"validation": table}, FACTS, []))
    sentences = sentences_of(section)
    assert (
        "All interconnects: the median absolute error of 1 point is 5.0 %. The errors are -5.0 %" in sentences
    )
    assert "Predicted bands of times overlap the measured interval in 1 of 1 point." in sentences
    assert "Predicted bands of speedups overlap the measured interval in 1 of 1 point." in sentences
    assert "CPU pressure during the measurements was 10 %" in sentences
    (printed,) = blocks(section, "table")
    cells = printed["groups"][0]["rows"][0]["cells"]
    assert cells[:3] == ["The link (emu)", "2", "7.60 [7.60, 8.40]"]
    assert cells[4:] == ["−5.0", "+10.5", "5", "10.0"]


def test_the_report_states_errors_by_interconnect_where_there_are_several(table):
    other = table.assign(interconnect="other", kind="simulated", error_percent=4.0)
    section = validation(Content(pd.DataFrame(), {"validation": pd.concat([table, other])}, FACTS, []))
    sentences = sentences_of(section)
    error = "the median absolute error of"
    assert f"All interconnects: {error} 2 points is 4.5 %. The errors are -5.0 % to +4.0 %" in sentences
    assert f"The link (emu): {error} 1 point is 5.0 %" in sentences
    assert f"Another (sim): {error} 1 point is 4.0 %" in sentences


def test_a_band_without_width_has_no_brackets(table):
    table = table.assign(predicted_high=table["predicted_low"])
    section = validation(Content(pd.DataFrame(), {"validation": table}, FACTS, []))
    assert section["blocks"][-1]["groups"][0]["rows"][0]["cells"][2] == "7.60"
