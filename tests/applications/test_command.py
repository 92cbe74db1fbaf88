import dataclasses
from pathlib import Path

import pytest
from programs import write_program
from refused import refusal

from workflows.applications import application
from workflows.domain import InputError, Line
from workflows.study.cases import load_case

command = application("command")

CASES = Path(__file__).parents[1] / "cases"
PRINTED = ["2 ranks", "sum = 1.6439345666815615", "took 0.25 s", "done"]


@pytest.fixture
def harmonic():
    return load_case("harmonic-smoke", CASES)


def output(*texts):
    return [Line(0.1 * place + 0.1, text) for place, text in enumerate(texts)]


def with_settings(case, **settings):
    return dataclasses.replace(case, settings=case.settings | settings)


def test_parameters_and_processes_are_put_into_the_command_line(harmonic):
    assert command.command(harmonic, 4) == ["python3", "harmonic.py", "--terms", "1000", "--ranks", "4"]
    assert command.programs(harmonic) == ["python3"]
    assert command.programs(with_settings(harmonic, program=["./mine"])) == []


def test_an_unknown_parameter_is_one_line(harmonic):
    message = refusal(InputError, command.command, with_settings(harmonic, program=["echo", "$term"]), 1)
    assert message.endswith("settings.program: $term has no value; parameters: processes, terms, threads")


def test_the_programs_own_time_and_answer(harmonic):
    reading = command.read(harmonic, 2, output(*PRINTED))
    assert (reading.seconds, reading.answer, reading.problem) == (0.25, harmonic.answer.golden, None)


def test_without_a_pattern_the_whole_run_counts(harmonic):
    plain = dataclasses.replace(with_settings(harmonic, read={}), answer=None)
    reading = command.read(plain, 2, output("working", "done"))
    assert (reading.seconds, reading.answer, reading.problem) == (pytest.approx(0.2), None, None)
    assert command.read(plain, 2, []).problem == "incomplete: no output"


@pytest.mark.parametrize(
    ("printed", "problem"),
    [
        (PRINTED[:3], "incomplete: no line like '^done$'"),
        ([PRINTED[1], PRINTED[3]], "incomplete: no time printed"),
        ([PRINTED[2], PRINTED[3]], "no sum printed, or no finite number"),
        (["sum = 7", *PRINTED[2:]], "diverged: sum 7 outside 1 to 1.64493 1"),
    ],
)
def test_runs_that_do_not_count(harmonic, printed, problem):
    assert command.read(harmonic, 1, output(*printed)).problem == problem


def test_a_script_of_the_case_can_be_the_program(harmonic, tmp_path):
    folder = tmp_path / "case"
    folder.mkdir()
    write_program(folder / "mine.sh", "#!/bin/sh\necho done\n")
    (folder / "data").mkdir()
    (folder / "data/input").write_text("1")
    case = dataclasses.replace(with_settings(harmonic, program=["./mine.sh"]), folder=folder)
    command.prepare(case, 1, tmp_path / "prepared", None)
    (tmp_path / "run").mkdir()
    command.stage(case, tmp_path / "prepared", tmp_path / "run")
    assert (tmp_path / "run/mine.sh").stat().st_mode & 0o111
    (tmp_path / "run/data/output").touch()
    assert [path.name for path in (tmp_path / "prepared/data").iterdir()] == ["input"]


def test_the_last_line_of_standard_error_explains():
    assert command.explain("starting\nno such file: input\n") == "no such file: input"
