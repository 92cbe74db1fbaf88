"""A case that was edited after its preparation is not run: its record would name the wrong files."""

import pytest
from refused import refusal
from study_files import study_file, timed_case

from workflows.domain import InputError
from workflows.measure.measure import measure
from workflows.measure.prepare import prepare
from workflows.plan.plan import make_plan
from workflows.plan.records import record_files
from workflows.study.cases import case_of_results

STUDY = """
name: prepared
cases_folder: cases
cases: [short]
interconnects: [shared_memory]
processes: [1, 2]
blocks: 1
"""
REFUSED = (
    "prepared from other files of the case than its present files: give the same command again; "
    "if this line comes back, delete the folder"
)


@pytest.fixture
def plan_of(tmp_path, monkeypatch):
    """Plan the study again, with its case as it is by then."""
    timed_case(tmp_path / "cases", "short", "echo, took 0.1 s")
    monkeypatch.chdir(tmp_path)
    return lambda: make_plan(study_file(tmp_path, STUDY))


@pytest.fixture
def folder(plan_of, tmp_path):
    """The case prepared for one process, and edited since."""
    plan = plan_of()
    made = plan.paths.prepared("short", 1)
    prepare(plan.asked.cases["short"], 1, made)
    (tmp_path / "cases/command/short/new.txt").write_text("new\n")
    return made


def test_no_run_of_it_is_made(plan_of, folder):
    plan = plan_of()
    (serial,) = (each for each in plan.design.repetitions if each.point.processes == 1)
    line = refusal(InputError, measure, plan, serial, 1, ())
    assert line == f"{folder}: {REFUSED}"
    assert not record_files(plan.paths)


def test_nothing_else_is_made_of_it(folder):
    """Nor a decomposition, an expected answer, a trace or times of tasks."""
    assert refusal(InputError, case_of_results, "short", "cases", folder) == f"{folder}: {REFUSED}"


def test_it_is_taken_again_once_the_case_is_as_it_was(folder, tmp_path):
    (tmp_path / "cases/command/short/new.txt").unlink()
    assert case_of_results("short", "cases", folder).name == "short"
