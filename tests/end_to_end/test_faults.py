"""Runs that go wrong are recorded as such, with the reason, and the rest of the study is done."""

import json

import pandas as pd
import pytest
from disturbed import sound_runs
from machine_state import left_behind

from workflows.plan import ROOT

pytestmark = pytest.mark.slow

FAULTS = ["sound", "hangs", "crashes", "killed", "wrong", "cut"]
REASONS = {
    "faulty-hangs": "stopped at its time limit of 3 s",
    "faulty-crashes": "exit status 1",
    "faulty-killed": "exit status 137",
    "faulty-wrong": "sum 7 differs from the serial answer 42 by 0.83, allowed 1e-06",
    "faulty-cut": "incomplete: no line like '^done$'",
}


@pytest.fixture
def faulty(tmp_path):
    names = ", ".join("faulty" if fault == "sound" else f"faulty-{fault}" for fault in FAULTS)
    study = tmp_path / "faulty.yaml"
    study.write_text(
        f"name: faulty\ncases_folder: {ROOT / 'tests/cases'}\ncases: [{names}]\ninterconnects: [shared_memory]\n"
        "processes: [1, 2]\nblocks: 1\nlimits: {run_seconds: 3, idle_seconds: 0.1}\n"
    )
    return study


def test_every_fault_has_its_reason(study_folder, faulty):
    before = left_behind()
    done = study_folder.run(faulty)
    assert done.returncode == 0, done.stderr
    runs = pd.read_csv(study_folder.results("faulty") / "runs.csv")
    assert len(runs) == 12
    sound = runs[(runs["processes"] == 1) | (runs["case"] == "faulty")]
    sound_runs(sound)
    parallel = runs[runs["processes"] == 2].set_index("case")
    for case, reason in REASONS.items():
        assert not parallel.loc[case, "valid"]
        assert parallel.loc[case, "reason"].startswith(reason)
        assert reason.split(" (")[0] in done.stderr
    record = json.loads((study_folder.results("faulty") / parallel.loc["faulty-hangs", "record"]).read_text())
    assert record["exit"]["timed_out"]
    assert left_behind() <= before


def test_what_failed_is_run_again_when_asked(study_folder, faulty):
    """A request is fulfilled once, by a further attempt; the first one stays."""
    assert study_folder.run(faulty, "--", "results/faulty/runs.csv").returncode == 0
    request = {"what": "failed", "time": "2999-01-01T00:00:00"}
    results = study_folder.results("faulty")
    before = {file: file.read_bytes() for file in results.rglob("records/**/*.json")}
    request["time"] = max(json.loads(text)["started"] for text in before.values())
    (results / "again.jsonl").write_text(json.dumps(request) + "\n")
    for _ in range(2):
        done = study_folder.run(faulty, "--", "results/faulty/runs.csv")
        assert done.returncode == 0, done.stderr
    after = {file: file.read_bytes() for file in results.rglob("records/**/*.json")}
    assert before.items() <= after.items()
    assert len(after) == len(before) + len(REASONS)
