"""Imported tables of others: what can be concluded from each of them."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from report_parts import blocks, cells, part, plain, sentences_of
from study_folders import StudyFolder

pytestmark = pytest.mark.slow

TABLES = Path(__file__).parent / "imported_tables"


def imported(folder, name):
    """The row of `improvement` and the report of a study that imports one of the tables."""
    study_folder = StudyFolder(folder)
    study = study_folder.write(f"name: theirs\nimport: [{TABLES / name}]\n")
    study_folder.run_well(study, "--", "results/theirs/report.json")
    results = study_folder.results("theirs")
    improvement = pd.read_csv(results / "tables/improvement.csv").iloc[0]
    return improvement, json.loads((results / "report.json").read_text())


@pytest.mark.parametrize("name", ["3_peaks_differ_faster.csv", "3_peaks_differ_slower.csv"])
def test_page_one_is_the_same_whichever_count_looks_best(tmp_path, name):
    """Two draws of one truth: Ethernet takes 28 s on 128 and 256 processes, InfiniBand 25 and 33 s."""
    line, report = imported(tmp_path, name)
    assert line["best_percent"] == pytest.approx(12, abs=0.5) and line["best_verdict"] == "faster"
    assert line["best_low"] < 12 < line["best_high"]
    assert line["note"] == "the direction depends on the count: faster at 128, slower at 256"
    assert plain(report["result"]) == "infiniband is 12 % faster than ethernet, each at its best count"
    assert "infiniband with 128 processes is faster than ethernet" in sentences_of(part(report, "answer"))
    assert "is not clearly faster or slower than Ethernet at" in sentences_of(part(report, "words"))


def test_runs_one_after_the_other_have_no_interval_on_page_one(tmp_path):
    line, report = imported(tmp_path, "5_one_after_the_other.csv")
    assert line["verdict"] == line["best_verdict"] == "time and interconnect cannot be separated"
    (table,) = blocks(part(report, "answer"), "table")
    assert [row[-2:] for row in cells(table)] == [["is the fastest", "–"], ["-4.5 %", "219 for 256"]]


@pytest.mark.parametrize(
    ("name", "verdict", "basis"),
    [
        (
            "1b_dependent_with_blocks.csv",
            "time and interconnect cannot be separated",
            "have blocks. Verdicts and intervals assume",
        ),
        (
            "2_whole_seconds.csv",
            "faster or slower within the rounding",
            "have no start times. Comparisons and their intervals assume that successive runs were at most moder",
        ),
        (
            "6_drift_without_blocks.csv",
            "not distinguishable",
            "have no start times. Comparisons and their intervals assume that successive runs were at most moder",
        ),
    ],
)
def test_other_tables_give_no_direction(tmp_path, name, verdict, basis):
    line, report = imported(tmp_path, name)
    assert f"The imported data {basis}" in sentences_of(part(report, "answer"))
    assert line["verdict"] == verdict
    assert not re.search("faster|slower|matches", report["result"].replace("is faster than", ""))


def test_runs_of_a_day_are_one_block(tmp_path):
    """Equal interconnects, six runs on each of three days: the days differ, so there are three times, not 18."""
    line, report = imported(tmp_path, "runs_on_three_days.csv")
    assert line["paired"] and line["blocks"] == 3
    assert line["verdict"] == "untestable with 3 blocks"
    assert plain(report["result"]).startswith("Too few blocks to distinguish ")
    assert "The imported data have " in sentences_of(part(report, "answer"))
    assert "which Nodeworth counts as blocks" in sentences_of(part(report, "answer"))
