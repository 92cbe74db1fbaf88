"""Runs that a study expects to exceed its time limit are named, and refused, before they start."""

import json
import re
import shutil
from functools import partial

import pytest
from cluster_plans import plan_on_cluster
from refused import refusal
from small_records import record
from study_files import study_file

from workflows.domain import InputError
from workflows.paths import ROOT
from workflows.plan import files
from workflows.plan.announce import announcement
from workflows.plan.design import duration
from workflows.plan.plan import make_plan
from workflows.plan.records import write_record
from workflows.plan.run_times import check_run_times, check_time_lines

STUDY = """
name: sedans
cases: [sedan]
interconnects: [ucx_tcp]
processes: [1]
blocks: 6
limits: {core_hours: 1000}
"""
SITE = "minutes: 60\n"


@pytest.fixture
def plan_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return partial(plan_on_cluster, tmp_path, SITE)


def limit_lines(plan):
    return [line for line in announcement(plan).splitlines() if "limits.run_seconds" in line]


def test_a_serial_run_beyond_the_limit_is_announced_and_refused(plan_of):
    """The sedan takes 1100 s on one core; runs end after 300 s by default."""
    plan = plan_of(STUDY)
    line = "the longest run of sedan (1 process) takes about 18 min, above limits.run_seconds 300: Nodeworth stops such runs"
    assert limit_lines(plan) == [f"{line}; raise the limit or make the case smaller"]
    assert refusal(InputError, check_run_times, plan) == (
        f"{plan.asked.study.file}: limits.run_seconds: 300 is too little: the longest run of sedan (1 process) takes "
        "about 18 min; raise the limit, or make the case smaller"
    )


def test_counts_beyond_the_limit_share_a_line(plan_of):
    """On 4 cores at half of the perfect speedup: 1100 s x 2 / 4 = 550 s; on 8 cores 275 s."""
    plan = plan_of(STUDY.replace("[1]", "[1, 4, 8]"))
    (line,) = limit_lines(plan)
    assert line.startswith("the longest run of sedan (1, 4 processes) takes about 18 min, above ")
    assert line.endswith("; raise the limit or make the case smaller")  # the answer needs a serial run, too
    assert "the longest run of sedan (1, 4 processes) takes" in refusal(InputError, check_run_times, plan)


def test_the_serial_run_that_gives_the_answer_counts_too(plan_of):
    """The sedan of 3.6 million cells has no golden answer, that of 80,000 cells has one."""
    plan = plan_of(STUDY.replace("[1]", "[8]"))
    (line,) = limit_lines(plan)
    assert line.startswith(
        "the serial run of sedan that gives the expected answer takes about 18 min, above "
    )
    assert line.endswith("; raise the limit or make the case smaller")
    assert "the serial run of sedan" in refusal(InputError, check_run_times, plan)
    answered = (
        STUDY.replace("[1]", "[8]").replace("[sedan]", "[sedan-80k]").replace("{", "{run_seconds: 10, ")
    )
    assert limit_lines(plan_of(answered)) == []


def test_counts_of_a_case_with_a_golden_answer_may_be_left_out(plan_of):
    """The sedan of 80,000 cells takes 19 s on one core, and 19 s on two at half of the perfect speedup."""
    study = STUDY.replace("[1]", "[1, 2]").replace("[sedan]", "[sedan-80k]").replace("{", "{run_seconds: 8, ")
    (line,) = limit_lines(plan_of(study))
    assert line.startswith(
        "the longest run of sedan-80k (1, 2 processes) takes about 20 s, above limits.run_seconds 8"
    )
    assert line.endswith("; raise the limit or leave out the counts")


@pytest.mark.parametrize(("limit", "warns", "refuses"), [(500, 1, True), (600, 1, False), (1200, 0, False)])
def test_up_to_twice_the_limit_is_a_warning(plan_of, limit, warns, refuses):
    plan = plan_of(STUDY.replace("{", f"{{run_seconds: {limit}, "))
    assert len(limit_lines(plan)) == warns
    if refuses:
        refusal(InputError, check_run_times, plan)
    else:
        check_run_times(plan)


def test_points_with_a_recorded_run_are_neither_named_nor_refused(plan_of):
    """Their times are known better than the plan knows."""
    plan = plan_of(STUDY)
    first = plan.design.repetitions[0]
    write_record(plan.paths.record(first, 1), record(inputs=plan.design.inputs(first.point)))
    plan.paths.expected("sedan").parent.mkdir(parents=True)
    plan.paths.expected("sedan").write_text(json.dumps({"value": 0.4, "source": "serial"}))
    assert limit_lines(plan) == []
    check_run_times(plan)


COMMAND = """
name: guessed
cases: [{command: "true", time: "in (.*) s"}]
interconnects: [shared_memory]
processes: [1]
blocks: 1
limits: {run_seconds: 1}
"""


def test_a_guessed_time_is_a_warning_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "guessed.yaml").write_text(COMMAND)
    plan = make_plan(tmp_path / "guessed.yaml")
    (line,) = limit_lines(plan)
    assert line.startswith(
        "the longest run of true (1 process) takes about 11 s (a guess), above limits.run_seconds 1"
    )
    check_run_times(plan)


def short_lines(plan):
    return [line for line in announcement(plan).splitlines() if line.startswith("short runs: ")]


def test_recorded_runs_below_half_a_second_are_named(plan_of):
    plan = plan_of(STUDY.replace("[sedan]", "[sedan-80k, sedan-smoke]"))
    assert short_lines(plan) == []
    for repetition in plan.design.repetitions:
        inputs = plan.design.inputs(repetition.point)
        path, run = (
            plan.paths.record(repetition, 1),
            record(inputs=inputs, seconds=0.31),
        )
        write_record(path, run)
    assert short_lines(plan) == [
        "short runs: the timed part of sedan-80k takes about 0.31 s on 1 process, so noise matters: use a larger size, so that "
        "it takes at least 10 s"
    ]


def test_checks_of_a_case_without_a_stated_answer_are_announced_until_they_are_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case = tmp_path / "cases/command/harmonic"
    shutil.copytree(ROOT / "tests/cases/command/harmonic", case)
    (case / "case.yaml").write_text(re.sub("golden: .*", "", (case / "case.yaml").read_text()))
    study = "name: checked\ncases_folder: cases\ncases: [harmonic-smoke]\ninterconnects: [shared_memory]\nprocesses: [1, 2]\n"
    plan = make_plan(study_file(tmp_path, study))
    seconds = duration(plan.asked.cases["harmonic-smoke"].serial_seconds)
    assert check_time_lines(plan) == [
        f"checks before the first run take {seconds} in addition: harmonic-smoke"
    ]
    kept = files.kept_answer(plan, "harmonic-smoke")
    kept.parent.mkdir(parents=True)
    kept.touch()
    assert check_time_lines(plan) == []
