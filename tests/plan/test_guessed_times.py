"""The plan of a cluster states that the times of cases that never ran are guesses."""

import json
import re
from dataclasses import replace

import pytest
from cluster_plans import plan_on_cluster
from small_records import record

from workflows.plan.announce import announcement
from workflows.plan.record import Times
from workflows.plan.records import write_record
from workflows.plan.run_times import check_run_times
from workflows.study.cases import digest
from workflows.study.existing import STAMP

MELT = """\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 box
mass 1 1.0
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
run 20
"""
STUDY = """
name: guessed
cases: [{path: melt.lmp, steps: 5}, sedan-smoke]
interconnects: [ucx_tcp]
processes: [1, 2]
limits: {run_seconds: 6}
"""
LINE = "rough guess of time and memory of a serial run, since no run was timed: melt about 15 s and 200 MB"


def guesses(plan):
    return [line for line in announcement(plan).splitlines() if line.startswith("rough guess")]


def test_a_case_by_path_that_never_ran_is_a_guess(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "melt.lmp").write_text(MELT)
    plan = plan_on_cluster(tmp_path, study=STUDY)
    assert guesses(plan) == [LINE]
    check_run_times(plan)  # beyond the limit, but only a guess
    (line,) = [line for line in announcement(plan).splitlines() if "limits.run_seconds" in line]
    assert line.startswith("the longest run of melt (1, 2 processes) takes about 16 s (a guess), above ")


def test_a_stated_time_is_no_guess(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "melt.lmp").write_text(MELT)
    stated = STUDY.replace("steps: 5", "steps: 5, serial_seconds: 40, memory_MB: 700")
    plan = plan_on_cluster(tmp_path, study=stated)
    case = plan.asked.cases["melt"]
    assert guesses(plan) == [] and (case.serial_seconds, case.memory_MB) == (40, 700)
    lines = announcement(plan).splitlines()
    assert "time stated in the study: melt about 40 s serially" in lines
    # 2 x 40 / 2 + 0.7 = 40.7 s on two processes
    assert any("2 times as long as at ideal speedup, plus 0.7 s to start" in line for line in lines)


def test_a_case_by_path_with_a_trial_run_is_none(tmp_path, monkeypatch):
    """The copy of a single machine, where a trial run measured the time, serves a cluster too."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "melt.lmp").write_text(MELT)
    (copy,) = plan_on_cluster(tmp_path, study=STUDY).asked.study.copies.glob("*/melt")
    (copy / STAMP).write_text(json.dumps(json.loads((copy / STAMP).read_text()) | {"is_timed": True}))
    assert guesses(plan_on_cluster(tmp_path, study=STUDY)) == []


def test_a_short_trial_run_is_a_reason_for_more_steps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "melt.lmp").write_text(MELT)
    (copy,) = plan_on_cluster(tmp_path, study=STUDY).asked.study.copies.glob("*/melt")
    case = (copy / "case.yaml").read_text()
    (copy / "case.yaml").write_text(re.sub("serial_seconds: .*", "serial_seconds: 1.2", case))
    assert "short runs" not in announcement(plan_on_cluster(tmp_path, study=STUDY))
    trial = {"is_timed": True, "step_seconds": 0.02}
    (copy / STAMP).write_text(json.dumps(json.loads((copy / STAMP).read_text()) | trial))
    # 5 steps take 0.1 s. 500 steps take 10 s serially, and 1000 steps at least 10 s on two processes.
    assert (
        "short runs: the timed part of melt takes about 0.1 s serially, so noise matters: use about 1000 steps "
        "(--steps 1000, or steps in the study) or a larger input, so that it takes at least 10 s on 2 processes"
    ) in announcement(plan_on_cluster(tmp_path, study=STUDY))


def test_recorded_times_of_a_point_replace_its_estimate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "melt.lmp").write_text(MELT)
    plan = plan_on_cluster(tmp_path, study=STUDY)
    of_melt = (each for each in plan.design.repetitions if each.point.case == "melt")
    first = next(each for each in of_melt if each.point.processes == 2)
    inputs, times = plan.design.inputs(first.point), Times(1.0, 0.0, 40.0, 80.0)
    made = record(case="melt", interconnect="ucx_tcp", inputs=inputs, processes=2, seconds=39.0, times=times)
    write_record(plan.paths.record(first, 1), made)
    again = plan_on_cluster(tmp_path, study=STUDY)
    assert again.design.cost_of([first.point], 3).seconds == pytest.approx(3 * (40.0 + 0.7))


def test_recorded_runs_replace_the_guess_of_a_case_by_path(tmp_path, monkeypatch):
    """Of the valid runs of the present version, the run on the fewest processes gives the serial time."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "melt.lmp").write_text(MELT)
    plan = plan_on_cluster(tmp_path, study=STUDY)
    inputs = {"case": digest(plan.asked.cases["melt"]), "interconnect": "b"}
    melt = record(case="melt", interconnect="ucx_tcp", inputs=inputs, processes=2, seconds=3.0)
    other = replace(melt, inputs={"case": "edited", "interconnect": "b"}, processes=1, seconds=50.0)
    for number, made in enumerate([melt, replace(melt, seconds=3.5), other], 1):
        write_record(plan.paths.records / f"melt/block-{number}-attempt-1.json", made)
    plan = plan_on_cluster(tmp_path, study=STUDY)
    assert guesses(plan) == [] and plan.asked.cases["melt"].serial_seconds == 6.0
