"""Cases that a study describes in one line: ``cases: [{command: ..., time: ...}]``."""

import dataclasses
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from programs import write_program
from refused import refusal

from workflows.applications import application
from workflows.domain import InputError
from workflows.paths import ROOT
from workflows.study.asked import read_asked
from workflows.study.cases import digest
from workflows.study.study import read_study

STUDY = """
name: mine
cases:
  - command: {command}
    time: 'Time: (\\S+)'
interconnects: [shared_memory]
processes: [2, 4]
blocks: 1
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "water"
    made.mkdir()
    write_program(made / "solve.sh", "#!/bin/sh\necho Time: 1\n")
    return made


def study_in(folder, command="./solve.sh -np $processes"):
    file = folder / "mine.yaml"
    file.write_text(STUDY.format(command=command))
    return file


def case_of(folder, command="./solve.sh -np $processes"):
    (case,) = read_asked(study_in(folder, command)).cases.values()
    return case


def test_the_folder_of_the_study_is_the_input(folder):
    case = case_of(folder)
    assert (case.name, case.application, case.folder, case.trial_processes) == ("solve", "command", folder, 2)
    assert application("command").command(case, 4) == ["./solve.sh", "-np", "4"]
    assert list(application("command").inputs(case)) == ["solve.sh"]


def test_a_folder_that_stands_in_for_the_folder_of_the_user_leaves_the_case_as_it_is(tmp_path, monkeypatch):
    """A dry run of --command works in a temporary folder; the results of the user's folder are no input."""
    write_program(tmp_path / "solve.sh", "#!/bin/sh\necho Time: 1\n")
    study = STUDY.replace("time:", f"folder: {tmp_path}\n    time:").format(command="./solve.sh")

    def digest_in(folder):
        monkeypatch.chdir(folder)
        file = folder / "results/mine/study.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(study)
        (case,) = read_asked(file.relative_to(folder)).cases.values()
        return digest(case)

    before = digest_in(tmp_path)
    (tmp_path / "results/mine/report.pdf").touch()
    with tempfile.TemporaryDirectory() as scratch:
        monkeypatch.setattr("workflows.paths.folder_of_user", tmp_path)
        assert digest_in(Path(scratch)) == before
        monkeypatch.chdir(tmp_path)


def test_neither_the_study_nor_its_results_change_the_case(folder):
    before = digest(case_of(folder))
    (folder / "mine.yaml").write_text(STUDY.format(command="./solve.sh -np $processes") + "seed: 7\n")
    (case,) = read_asked(folder / "mine.yaml").cases.values()
    assert digest(case) == before
    (folder / "results").mkdir()
    (folder / "results/runs.csv").touch()
    inside = dataclasses.replace(case, settings=case.settings | {"left_out": ["mine.yaml", "results"]})
    assert list(application("command").inputs(inside)) == ["solve.sh"]


def test_logs_are_no_input(folder):
    before = digest(case_of(folder))
    for name in ("study.log", "nohup.out", "slurm-17.out"):
        (folder / name).write_text("written meanwhile\n")
    assert digest(case_of(folder)) == before
    (folder / "notes.txt").touch()
    assert digest(case_of(folder)) != before


def test_a_study_names_what_is_no_input(folder):
    file = folder / "mine.yaml"
    file.write_text(
        STUDY.format(command="./solve.sh").replace("interconnects:", "    ignore: [log.txt]\ninterconnects:")
    )
    (folder / "log.txt").touch()
    (folder / "a.log").touch()
    (case,) = read_asked(file).cases.values()
    assert list(application("command").inputs(case)) == ["a.log", "solve.sh"]


def test_the_file_of_redirected_output_is_no_input(folder):
    """``run-study --command ... > log.txt`` in the folder of the input, before and after without a log."""

    def written(log):
        code = (
            "from pathlib import Path; from workflows.plan.command_study import command_study;"
            "from workflows.study.written import write_study;"
            "write_study(command_study('./solve.sh', None, '1,2', 'mine', Path.cwd()))"
        )
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, stdout=log, check=True)
        (case,) = read_asked(folder / "results/mine/study.yaml").cases.values()
        assert list(application("command").inputs(case)) == ["solve.sh"]
        return digest(case)

    before = written(subprocess.DEVNULL)
    with (folder / "log.txt").open("w") as log:
        assert written(log) == before
    assert written(subprocess.DEVNULL) == before


@pytest.mark.parametrize("change", ["input", "command", "time", "outside"])
def test_whatever_changes_a_run_changes_the_case(folder, change):
    outside = folder.parent / "big.bin"
    outside.write_bytes(b"1")
    command = "./solve.sh ../big.bin"
    before = digest(case_of(folder, command))
    match change:
        case "input":
            (folder / "new.txt").touch()
        case "command":
            command += " -v"
        case "outside":
            outside.write_bytes(b"12")
    file = study_in(folder, command)
    if change == "time":
        file.write_text(file.read_text().replace("Time:", "Wall:"))
    (case,) = read_asked(file).cases.values()
    assert digest(case) != before


def test_files_outside_the_folder_are_found_from_the_copy(folder):
    (folder.parent / "topol.tpr").touch()
    case = case_of(folder, "./solve.sh -s ../topol.tpr -o out/x")
    named = str(folder.parent / "topol.tpr")
    assert case.settings["program"] == ["./solve.sh", "-s", named, "-o", "out/x"]


def test_links_are_followed(folder):
    (folder.parent / "pseudo").mkdir()
    (folder.parent / "pseudo/Si.upf").touch()
    (folder / "pseudo").symlink_to("../pseudo")
    (folder / "empty").mkdir()
    case, run = case_of(folder), folder.parent / "run"
    application("command").prepare(case, 1, folder.parent / "prepared", None)
    run.mkdir()
    application("command").stage(case, folder.parent / "prepared", run)
    assert (
        (run / "pseudo/Si.upf").is_file()
        and (run / "empty").is_dir()
        and os.access(run / "solve.sh", os.X_OK)
    )
    (run / "solve.sh").write_text("changed by the run")
    assert "Time" in (folder.parent / "prepared/solve.sh").read_text()


@pytest.mark.parametrize(("target", "reason"), [("gone", "nowhere"), ("..", "to a folder that holds it")])
def test_other_links_are_refused_by_name(folder, target, reason):
    (folder / "link").symlink_to(target)
    case = case_of(folder)
    assert refusal(InputError, digest, case) == f"{folder}/link: the link leads {reason}"


def test_a_folder_that_is_too_large_is_refused(folder):
    with (folder / "traj.xtc").open("wb") as file:
        file.truncate(600_000_000)
    case = case_of(folder)
    assert refusal(InputError, digest, case).startswith(
        f"{folder}: holds 600 MB, and a run gets a copy of at most 500 MB; use a folder"
    )


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("mpirun -n 2 ./solve.sh", "mpirun: leave it out with its options; Nodeworth starts the processes"),
        ("./solve.sh < in", "'<': no shell reads the command"),
        ("./solve.sh 2>&1", "'2>&1': no shell reads the command"),
        ("./solve.sh | tee log", "'|': no shell reads the command"),
        ('"./solve.sh \\"x"', "./solve.sh \\\"x': no closing quotation"),
        ("./solver.sh", "./solver.sh: no such file in "),
        ("./solve.sh $cells", "$cells has no value; parameters: processes, threads"),
        ("''", "'' has too few entries; at least 1"),
    ],
)
def test_a_command_that_cannot_be_run_is_one_line(folder, command, line):
    message = refusal(InputError, read_study, study_in(folder, command))
    assert message.startswith(f"{folder}/mine.yaml: cases[0].command: ") and line.replace("\\", "") in message


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("time: 'Time: (\\S+)'", "time: 'Time: .*'", "cases[0].time: 'Time: .*' has no group ( ); put"),
        ("time: 'Time: (\\S+)'", "time: '('", "cases[0].time: '(' is no regular expression"),
        ("command: ./solve.sh", "folder: nowhere\n    command: ./solve.sh", "cases[0].folder: "),
        ("cases:\n", "cases:\n  - solve\n", "cases[1].name: 'solve' is there twice; give each case a name"),
        ("blocks: 1", "scaling: weak", "cases: 'solve' has no sizes, and scaling is weak"),
        ("blocks: 1", "scale: 0.1", "cases: 'solve' has no sizes for a scale"),
        ("time:", "timing:", "cases[0].timing: unknown key, did you mean 'time'?"),
        (
            "command:",
            "path: .\n    command:",
            "cases[0].command: does not belong here: a case has a path or a c",
        ),
        ("command: ./solve.sh", "path: .", "cases[0].time: belongs to command, which is missing"),
    ],
)
def test_a_wrong_entry_is_one_line(folder, old, new, line):
    file = study_in(folder, "./solve.sh")
    file.write_text(file.read_text().replace(old, new))
    assert refusal(InputError, read_study, file).startswith(f"{file}: {line}")


@pytest.mark.parametrize(
    ("command", "name"),
    [("./solve.sh x", "solve"), ("/bin/sh -e ./run_it.sh", "run_it"), ("/bin/true", "true")],
)
def test_a_case_has_the_name_of_its_program(folder, command, name):
    assert re.fullmatch(name, next(iter(read_study(study_in(folder, command)).inline)))
