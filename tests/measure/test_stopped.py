"""Messages about a stopped study."""

import json

import pytest
from small_records import record
from study_files import study_file

from workflows.measure import stopped
from workflows.measure.noise import killed_for_memory
from workflows.measure.stopped import report_stopped
from workflows.paths import ROOT
from workflows.plan.plan import make_plan
from workflows.plan.records import write_record

STUDY = """
name: stopped
cases: [harmonic-smoke]
cases_folder: CASES
interconnects: [shared_memory]
processes: [1, 2]
blocks: 3
"""


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return make_plan(study_file(tmp_path, STUDY.replace("CASES", str(ROOT / "tests/cases"))))


def test_how_many_blocks_are_recorded_and_where_their_report_is(plan, capsys):
    paths = plan.paths
    for repetition in plan.design.repetitions[:5]:  # two blocks, and one run of the third
        write_record(paths.record(repetition, 1), record(inputs=plan.design.inputs(repetition.point)))
    report_stopped(plan)
    there = "2 of 3 blocks and 1 further run recorded"
    assert capsys.readouterr().err == f"stopped; {there}; the same command goes on from there\n"
    paths.partial.mkdir()
    (paths.partial / "facts.json").write_text(json.dumps({"study": {"blocks": 3, "blocks_recorded": 1}}))
    report_stopped(plan)
    message = f"stopped; {there}; interim report of 1 block in results/stopped/partial/report.html; the same command"
    assert capsys.readouterr().err.startswith(message)


def test_an_out_of_memory_kill_is_reported(plan, tmp_path, monkeypatch, capsys):
    counters = tmp_path / "vmstat"
    counters.write_text("pgpgin 12\noom_kill 7\n")
    assert killed_for_memory(counters) == 7 and killed_for_memory(tmp_path / "none") is None
    monkeypatch.setattr(stopped, "_KILLED_BEFORE", 6)
    monkeypatch.setattr(stopped, "killed_for_memory", lambda: 7)
    report_stopped(plan)
    assert (
        "nodeworth: out of memory: the kernel has ended a process on this machine meanwhile\n"
        in capsys.readouterr().err
    )
