"""The end of a study with runs that do not count."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from refused import refusal
from small_records import RECORD

from analysis.runs.facts import Facts
from workflows.paths import StudyPaths
from workflows.plan.announce import print_results
from workflows.results.collect import edited_files, loss
from workflows.results.facts import outcome

CHANGED = "outdated: the case changed after the run"
NO_LIBRARY = "exit status 1: ImportError: libmpi.so.12"


def runs(*rows: tuple[str | None, str | None]) -> pd.DataFrame:
    """Runs by interconnect and reason; without a reason they are valid."""
    table = pd.DataFrame(rows, columns=["interconnect", "reason"]).astype("str")
    return table.assign(valid=table["reason"].isna(), origin="run")


def printed(folder: Path, table: pd.DataFrame, capsys) -> str:
    facts = Facts(runs=outcome(table, len(table)))
    (folder / "facts.json").write_text(json.dumps(facts.as_json()))
    print_results(StudyPaths(folder))
    return capsys.readouterr().err


def test_a_study_whose_runs_all_count(tmp_path, capsys):
    table = runs((None, None), ("memory", None))
    assert printed(tmp_path, table, capsys) == f"done: results: {tmp_path}\n"
    (tmp_path / "report.pdf").touch()
    assert printed(tmp_path, table, capsys) == f"done: report: {tmp_path}/report.pdf\n"


def test_the_line_before_the_last_counts_invalid_runs_with_their_reason(tmp_path, capsys):
    table = runs((None, None), ("memory", None), ("memory", "slow"), ("memory", "slow"), ("memory", "late"))
    assert printed(tmp_path, table, capsys) == (
        f"3 of 5 runs are invalid, 2 of them: slow\ndone: results: {tmp_path}\n"
    )
    assert "1 of 2 runs is invalid: slow\n" in printed(tmp_path, table[1:3], capsys)


def test_outdated_runs_are_not_counted_as_invalid(tmp_path, capsys):
    table = runs(("memory", None), ("memory", "slow"), ("memory", CHANGED), ("memory", CHANGED))
    table["loss"] = [None, "failed", "outdated", "outdated"]
    assert printed(tmp_path, table, capsys) == (
        "1 of 2 runs is invalid: slow\n2 runs are outdated and left out: the case, the interconnect or the site "
        f"file changed after them\ndone: results: {tmp_path}\n"
    )
    assert refusal(SystemExit, printed, tmp_path, table[2:3], capsys) == (
        "nodeworth: no run over memory is valid; 1 run is outdated and left out: the case, the interconnect or "
        f"the site file changed after it; results of the others: {tmp_path}"
    )


def test_a_study_that_has_lost_an_interconnect_has_failed(tmp_path, capsys):
    table = runs((None, None), ("memory", None), ("loopback", NO_LIBRARY), ("loopback", NO_LIBRARY))
    assert refusal(SystemExit, printed, tmp_path, table, capsys) == (
        "nodeworth: no run over loopback is valid; 2 of 4 runs are invalid: "
        f"{NO_LIBRARY}; results of the others: {tmp_path}"
    )


def test_a_part_of_a_study_counts_no_runs(tmp_path, capsys):
    print_results(StudyPaths(tmp_path))
    assert capsys.readouterr().err == f"done: results: {tmp_path}\n"


EXIT = RECORD.exit


@pytest.mark.parametrize(
    ("changes", "reason", "lost_to"),
    [
        ({}, None, None),
        ({"interrupted": True, "exit": None}, "job 7 ended as TIMEOUT on n1", "interrupted"),
        (
            {"exit": replace(EXIT, timed_out=True, signal="SIGKILL")},
            "stopped at its time limit of 60 s (limits.run_seconds)",
            "stopped",
        ),
        ({"exit": replace(EXIT, status=1)}, "exit status 1: out of luck", "failed"),
        ({"exit": replace(EXIT, signal="SIGSEGV")}, "ended by SIGSEGV", "failed"),
        ({}, "not alone on its nodes: job 8 of anna on n1", "noise"),
        ({}, "pressure_drop is 4 Pa, not 3 Pa", "invalid"),
    ],
)
def test_causes_of_lost_runs(changes, reason, lost_to):
    assert loss(replace(RECORD, **changes), reason) == lost_to


def test_the_edited_files_of_a_case_are_named(tmp_path):
    paths = StudyPaths(tmp_path)
    contents = {
        "before": {"constant/transportProperties": "1", "system/fvSchemes": "1"},
        "now": {"constant/transportProperties": "2", "system/fvSchemes": "1"},
        "many": {f"file {number}": "1" for number in range(3)},
        "150 steps": {"system/controlDict": "1", "parameter iterations": 150},
        "100 steps": {"system/controlDict": "2", "parameter iterations": 100},
    }
    for version, digests in contents.items():
        file = paths.version("cavity", version)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(digests))
    assert edited_files(paths, {}, "cavity", "before", "now") == "constant/transportProperties of the case"
    assert edited_files(paths, {}, "cavity", "many", "now") == (
        "constant/transportProperties, file 0, file 1 and 2 other files of the case"
    )
    (tmp_path / "file 2").touch()
    assert edited_files(paths, {"cavity": tmp_path}, "cavity", "many", "now").startswith("file 2, constant/")
    assert edited_files(paths, {}, "cavity", "now", "now") == "a setting of the case"
    assert edited_files(paths, {}, "cavity", "150 steps", "100 steps") == "parameter iterations of the case"
    assert edited_files(paths, {}, "cavity", "of an earlier Nodeworth", "now") == "the case"
