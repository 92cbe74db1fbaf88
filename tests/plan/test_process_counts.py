"""Process counts that a user asks for on the command line run, with several processes per core if they must."""

import pytest
from refused import refusal

from workflows.domain import InputError
from workflows.launch.emulation import usable_cores
from workflows.plan import command_study
from workflows.plan.announce import announcement
from workflows.plan.case_study import case_study
from workflows.plan.command_study import counts_and_levels
from workflows.plan.plan import make_plan
from workflows.study.written import write_study

CORES = len(usable_cores())
COUNTS = f"1,{CORES},{2 * CORES}"


@pytest.mark.parametrize(
    ("counts", "levels"),
    [
        ([1, 2], {1: 1, 2: 1}),
        ([1, 2, 4], {1: 1, 2: 1, 4: 2}),
        ([2, 3], {2: 1, 3: 3}),  # three processes do not divide by two
        ([4], {4: 2}),
    ],
)
def test_each_count_runs_once_with_few_processes_per_core(monkeypatch, counts, levels):
    monkeypatch.setattr(command_study, "usable_cores", lambda: {0, 1})
    keys = counts_and_levels(counts)
    excluded = [(entry["processes"], entry["oversubscription"]) for entry in keys.get("exclude", ())]
    runs = [
        (count, level)
        for count in keys["processes"]
        for level in keys.get("oversubscription", [1])
        if (count, level) not in excluded
    ]
    assert runs == list(levels.items())


@pytest.mark.parametrize(("text", "left_out"), [("4,1", ""), ("1,4,5,64", "5, 64")])
def test_counts_of_more_than_two_processes_per_core_are_left_out(monkeypatch, capsys, text, left_out):
    monkeypatch.setattr(command_study, "usable_cores", lambda: {0, 1})
    assert command_study.process_counts(text) == [1, 4]
    reason = "processes: at most 4 run on 2 cores (2 per core); a study file with the key oversubscription allows more"
    assert capsys.readouterr().err == (f"left out: {left_out} {reason}\n" if left_out else "")
    assert refusal(InputError, command_study.process_counts, "64") == f"--processes: 64 {reason}"


def test_commands_share_cores_and_say_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "solve.sh"
    program.write_text("#!/bin/sh\necho took 1 s\n")
    program.chmod(0o755)
    plan = make_plan(write_study(command_study.command_study("./solve.sh", None, COUNTS, "mine", tmp_path)))
    levels = {point.processes: point.oversubscription for point in plan.design.points}
    assert levels == {1: 1, CORES: 1, 2 * CORES: 2}
    lines = announcement(plan).splitlines()
    assert f"oversubscribed: {2 * CORES} processes share {CORES} cores" in lines
    assert not [line for line in lines if line.startswith("left out")]


def test_cases_share_cores_as_commands_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cavity/system").mkdir(parents=True)
    (tmp_path / "cavity/system/controlDict").touch()
    study = case_study("cavity", COUNTS, None, False, tmp_path)
    keys = counts_and_levels([1, CORES, 2 * CORES])
    assert keys.items() <= study.items()


def test_counts_that_cannot_share_the_cores_evenly_are_left_out(monkeypatch, capsys):
    """Three processes on two cores would otherwise run on a single core."""
    monkeypatch.setattr(command_study, "usable_cores", lambda: [0, 1])
    assert command_study.process_counts("1,3,4") == [1, 4]
    reason = "3 processes: cannot share 2 cores evenly, with 2 per core"
    assert capsys.readouterr().err == f"left out: {reason}\n"
    assert refusal(InputError, command_study.process_counts, "3") == f"--processes: {reason}"
