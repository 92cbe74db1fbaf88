"""From records and traces of a replay to its tables, figures and section."""

import json
from types import SimpleNamespace

import pandas as pd
import pytest
from report_parts import blocks, cells, sentences_of
from small_records import record
from small_runs import rows, unplaced

from analysis.presentation.content import Content
from analysis.presentation.labels import Labels
from analysis.runs.facts import Facts
from analysis.runs.side_tables import DETAILS, read_details, write_details
from analysis.topics.simulated.figures import simulated_figures
from analysis.topics.simulated.section import simulated
from analysis.topics.simulated.tables import make_simulated_tables
from analysis.topics.simulated.traces_section import traces
from workflows.domain import InputError
from workflows.paths import StudyPaths
from workflows.results.details import make_details
from workflows.tracing.capture import CORUN

ABOUT = {
    "steps": 5,
    "step_seconds": [0.2, 0.19, 0.2, 0.21, 0.2],
    "clock": "thread_cpu",
    "load": {"cores": 2, "pressure_share": 0.25},
    "machine": {"cpu": "Swift 7"},
    "serial_cpu_seconds": 2.0,
    "compute_seconds": [1.0] * 4,
    "timing": "together",
    "timing_reason": "MPI_Win_create: a window",
    "repeats": 1,
    "disturbed_repeats": 0,
    "corrected_factor": [0.5] * 4,
    "low_factor": [0.5] * 4,
    "high_factor": [1.0] * 4,
    **dict.fromkeys(CORUN),
    "inflation": 2.0,
    "correction": "serial_sum",
    "indicative": True,
}
PROFILE = """operation,largest_bytes,calls,bytes
allreduce,8,20,160
isend,4096,10,30000
isend,,5,20000000
recv,4096,10,30000
wait,0,15,0
"""
PAIRS = "source,target,messages,bytes\n0,1,5,20000\n2,3,5,10000\n3,0,5,20000000\n"
FIT = "bytes,given_us,simulated_us,error_percent,left_out_percent\n0,5,5,0,\n64,6,6.06,1,-4\n4096,20,20,0,\n"
FITTED = {"points": 3, "mean_percent": 0.3, "largest_percent": 1.0}
FITTED |= {"left_out_points": 1, "left_out_mean_percent": 4.0, "left_out_largest_percent": 4.0}
MODEL = {"source": "A paper.", "two_points": False, "host": {"host_speed": 1, "source": None}, "fit": FITTED}
SWIFT = {"title": "Swift", "kind": "simulated", "model": MODEL}
FACTS = Facts.of({"cases": {"duct": {"title": "The duct"}}, "interconnects": {"swift": SWIFT}})


@pytest.fixture
def replayed(tmp_path):
    """A study that replayed one point, and the record of it."""
    trace = tmp_path / "traces/duct-4k/processes-4"
    trace.mkdir(parents=True)
    (trace / "trace.json").write_text(json.dumps(ABOUT))
    (trace / "profile.csv").write_text(PROFILE)
    (trace / "pairs.csv").write_text(PAIRS)
    fit = tmp_path / "simulated/fit"
    fit.mkdir(parents=True)
    for name in ("swift", "of_an_earlier_study"):
        (fit / f"{name}.csv").write_text(FIT)
    details = {"compute_seconds": [4.0, 3.0, 3.0, 2.0], "waiting_seconds": [1.0, 2.0, 2.0, 3.0]}
    details |= {"transfer_seconds": [3.0] * 4, "load_balance": 0.75}
    details |= {"serialisation_efficiency": 0.8, "transfer_efficiency": 0.625}
    simulated_one = record(case="duct-4k", processes=4, kind="simulated", details=details)
    study = SimpleNamespace(site=None, congestion={}, case_of=lambda case: case.removesuffix("-4k"))
    return study, StudyPaths(tmp_path), [simulated_one]


@pytest.fixture
def runs():
    where = {"record": "simulated/duct-4k/swift/processes-4.json", "started": "2026-11-21T09:21:25+00:00"}
    return unplaced(rows("duct", "swift", {4: 8.0}, (1,), "simulated", nodes=2, origin="replay", **where))


@pytest.fixture
def tables(replayed, runs):
    study, paths, records = replayed
    return make_simulated_tables(runs, make_details(study, paths, runs, records))


@pytest.fixture
def content(tables, runs):
    peaks = {"case": ["duct"], "interconnect": ["swift"], "kind": ["simulated"], "peak_processes": [4]}
    figures = simulated_figures(tables, Labels(FACTS))
    entries = [drawing.entry() for drawing in figures]
    return Content(runs, tables | {"peaks": pd.DataFrame(peaks)}, FACTS, entries)


def test_amounts_are_per_step(tables):
    profile = tables["trace_profile"].set_index(["operation", "largest_bytes"])
    assert profile.loc[("isend", 4096), ["calls", "bytes"]].tolist() == [2, 6000]
    assert tables["trace_pairs"]["bytes"].tolist() == [4000, 2000, 4_000_000]
    (trace,) = tables["traces"].to_dict("records")
    assert (trace["processes"], trace["compute_seconds"], trace["noise"]) == (4, 4.0, 0.25)
    assert tables["model_fit"]["interconnect"].unique().tolist() == ["swift"]


def test_the_time_of_each_rank_adds_up_to_the_run(tables):
    times = tables["simulated_times"]
    parts = times[["compute_seconds", "waiting_seconds", "transfer_seconds"]]
    assert times["rank"].tolist() == [0, 1, 2, 3] and (parts.sum(axis=1) == 8.0).all()
    (factors,) = tables["simulated_efficiency"].to_dict("records")
    assert factors["parallel_efficiency"] == pytest.approx(0.75 * 0.8 * 0.625)


def test_the_section_shows_profile_pairs_efficiency_and_time(content):
    section = traces(content)
    taken, profile, efficiency = map(cells, blocks(section, "table"))
    assert taken[0][:7] == ["4", "2", "5", "2.00", "4.00", "2.00", "25"]
    assert taken[0][7:] == ["2.00–4.00", "together", "CPU time", "the serial CPU time"]
    assert profile[0][:3] == ["allreduce", "≤ 8 B", "4.00"]
    assert [line[0] for line in profile] == ["allreduce", "send, non-blocking", "send, non-blocking"]
    assert profile[-1][1] == "larger" and profile[-1][4] == "99.8"
    assert efficiency[0] == ["Swift (sim)", "4", "38", "75", "80", "62"]
    names = [block["name"] for block in blocks(section, "figure")]
    assert names == ["trace_pairs-duct", "simulated_times-duct"]
    sentences = sentences_of(section)
    waited = "Reason: ranks together took far more or less CPU time than the serial run, or waited."
    assert (
        f"Predictions from this trace are only indicative: “The duct” on 4 processes. {waited}" in sentences
    )
    assert (
        "In this trace, the ranks were timed together, not alone: “The duct” on 4 processes. "
        "Reason: MPI_Win_create: a window." in sentences
    )
    assert "“together” means" in sentences and "“alone” means" not in sentences


def test_a_trace_of_ranks_alone_looks_like_no_other(replayed, runs):
    study, paths, records = replayed
    about = ABOUT | {"timing": "alone", "timing_reason": "", "repeats": 3, "correction": "serial_beside"}
    about |= dict(zip(CORUN, (5.0, 3.0, 8.2), strict=True))
    (paths.results / "traces/duct-4k/processes-4/trace.json").write_text(json.dumps(about))
    tables = make_simulated_tables(runs, make_details(study, paths, runs, records))
    row = tables["traces"].iloc[0]
    assert row["timing"] == "alone" and pd.isna(row["timing_reason"])
    assert (row["corrected_seconds"], row["low_seconds"], row["high_seconds"]) == (2.0, 2.0, 4.0)
    assert row["step_spread_percent"] == pytest.approx(10)
    uneven = traces(Content(runs, {"traces": tables["traces"].assign(step_spread_percent=15.0)}, FACTS, []))
    section = traces(Content(runs, {"traces": tables["traces"]}, FACTS, []))
    assert "The steps of this trace differ by up to 15 %" in sentences_of(
        uneven
    ) and "differ by up to" not in sentences_of(section)
    sentences = sentences_of(section)
    assert (
        "“alone” means that each rank ran again several times, without messages" in sentences
        and "“together” means" not in sentences
    )
    assert "Reason: the computing times of the repeats differ by more than 10 %." in sentences
    assert cells(blocks(section, "table")[0])[0][8:10] == ["3–8", "alone, 3 times"]


def test_every_point_of_a_curve_is_shown_and_a_bad_one_warned_of(content):
    section = simulated(content)
    assert cells(section["blocks"][-1])[1] == ["64 B", "6.000", "6.060", "+1.00", "-4.00"]
    assert "Warning: the mean error of Swift (sim) at message sizes left out is above 3 %." in sentences_of(
        section
    )


def test_a_damaged_trace_is_reported_in_one_line(replayed, runs):
    study, paths, records = replayed
    (paths.results / "traces/duct-4k/processes-4/trace.json").write_text("{")
    with pytest.raises(InputError, match=r"trace\.json: cannot be read: "):
        make_details(study, paths, runs, records)


def test_side_tables_are_read_as_they_were_made(replayed, runs, tables, tmp_path):
    study, paths, records = replayed
    made = make_details(study, paths, runs, records)
    write_details(made, tmp_path / "details")
    details = read_details(tmp_path / "details")
    assert list(details) == list(DETAILS)
    for name, table in make_simulated_tables(runs, details).items():
        pd.testing.assert_frame_equal(table, tables[name])
