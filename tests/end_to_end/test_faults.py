"""Failed runs are recorded with their reason, and the rest of the study is done."""

import json
import re

import pandas as pd
import pytest
from disturbed import sound_runs
from machine_state import left_behind
from study_folders import StudyFolder

from workflows.paths import ROOT

pytestmark = pytest.mark.slow

REASONS = {
    "faulty-hangs": "stopped at its time limit of 3 s (limits.run_seconds)",
    "faulty-crashes": "exit status 1",
    "faulty-killed": ("exit status 137", "ended by SIG"),  # see `disturbed.reports_death`
    "faulty-wrong": "sum 7 differs from the serial answer 42 by 0.83, allowed 1e-06",
    "faulty-cut": "incomplete: no line like '^done$'",
}


STUDY = f"""
name: faulty
cases_folder: {ROOT / "tests/cases"}
cases: [FAULTS]
interconnects: [shared_memory]
processes: [1, 2]
blocks: 1
limits: {{run_seconds: 3, idle_seconds: 0.1}}
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A study of every fault, run once: its folder, its file, its output, and leftovers on the machine."""
    folder = StudyFolder(tmp_path_factory.mktemp("faulty"))
    study = folder.write(STUDY.replace("FAULTS", ", ".join(["faulty", *REASONS])))
    before = left_behind()
    done = folder.run_well(study)
    return folder, study, done.stderr, left_behind() - before


@pytest.mark.alone
def test_every_fault_has_its_reason(ran):
    folder, _, output, left = ran
    runs = pd.read_csv(folder.results("faulty") / "runs.csv")
    assert len(runs) == 12
    sound = runs[(runs["processes"] == 1) | (runs["case"] == "faulty")]
    sound_runs(sound)
    parallel = runs[runs["processes"] == 2].set_index("case")
    for case, reason in REASONS.items():
        full_reason = parallel.loc[case, "reason"]
        assert not parallel.loc[case, "valid"] and full_reason.startswith(reason)
        assert full_reason.split(" (")[0] in output
    assert runs.loc[runs["censored"], ["case", "seconds"]].to_numpy().tolist() == [["faulty-hangs", 3]]
    record = json.loads((folder.results("faulty") / parallel.loc["faulty-hangs", "record"]).read_text())
    assert record["exit"]["timed_out"]
    assert not left


@pytest.mark.alone
def test_failed_runs_are_repeated_on_request(ran):
    """A request is fulfilled once, by a further attempt; the first one stays."""
    folder, study, *_ = ran
    results = folder.results("faulty")
    before = {file: file.read_bytes() for file in results.rglob("records/**/*.json")}
    assert len(before) == 12
    request = {"what": "failed", "time": max(json.loads(text)["started"] for text in before.values())}
    (results / "again.jsonl").write_text(json.dumps(request) + "\n")
    for _ in range(2):
        folder.run_well(study, "--", "results/faulty/runs.csv")
    after = {file: file.read_bytes() for file in results.rglob("records/**/*.json")}
    assert before.items() <= after.items()
    assert len(after) == len(before) + len(REASONS)


def test_a_study_that_lost_its_interconnect_fails(study_folder):
    lost = STUDY.replace("FAULTS", "faulty-crashes, faulty-killed, faulty-wrong")
    done = study_folder.run(study_folder.write(lost))
    assert done.returncode == 1
    line = done.stderr.splitlines()[-1]
    assert re.match(r"nodeworth: no run over shared_memory is valid; \d of 6 runs are invalid", line), line
    assert line.endswith(f"report of the others: {study_folder.results('faulty')}/report.pdf")
    assert (study_folder.results("faulty") / "report.pdf").exists()
