import dataclasses
import re
import shutil

import pandas as pd
import pytest
from refused import refusal

from workflows import inputs
from workflows.applications import application
from workflows.applications.nwchem import GENERATORS
from workflows.domain import InputError, Option
from workflows.paths import CASES, ROOT
from workflows.study.cases import case_files, digest, load_case, read_case_file

LARGE_SECONDS = 60
"""Of a serial run, from which on a case may have no golden answer: the preparation's own run then gives it."""
ALL = [
    f"{name}-{size}"
    for name, (file,) in case_files(CASES).items()
    for size in inputs.read_yaml(file)["sizes"]
]

MINIMAL = """\
application: command
title: Echo
description: Prints a word.
stands_for: Nothing.
size: one
sizes:
  one: {parameters: {word: one}, serial_seconds: 0.1, memory_MB: 1}
  two: {parameters: {word: two}, serial_seconds: 0.2, memory_MB: 1, golden: 2.5}
answer: {quantity: number, unit: m, possible: [0, 10], tolerance: 1.0e-6, reason: Guessed.}
settings:
  program: [echo, $word]
"""


@pytest.fixture
def cases(tmp_path):
    """Make a folder of cases from the texts of their case.yaml."""

    def make(text=MINIMAL, name="echo", application="command"):
        folder = tmp_path / application / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "case.yaml").write_text(text)
        return tmp_path

    return make


def message(cases, name="echo"):
    return refusal(InputError, load_case, name, cases)


@pytest.mark.parametrize("name", ALL)
def test_every_shipped_case_is_right_and_has_a_possible_golden_answer(name):
    case = load_case(name, CASES)
    assert case.folder.parent.name == case.application
    low, high = case.answer.possible
    if case.serial_seconds < LARGE_SECONDS or case.answer.golden is not None:
        assert low <= case.answer.golden <= high
    assert application(case.application).inputs(case)
    assert re.fullmatch("[0-9a-f]{64}", digest(case))


@pytest.mark.parametrize("name", case_files(CASES))
def test_every_shipped_case_names_its_schema_for_editors(name):
    (file,) = case_files(CASES)[name]
    first = file.read_text().splitlines()[0]
    schema = first.removeprefix("# yaml-language-server: $schema=")
    application_name = inputs.read_yaml(file)["application"]
    assert (file.parent / schema).resolve() == inputs.SCHEMAS / f"case_{application_name}.yaml"


def test_a_size_may_set_its_tolerance_with_a_reason(cases):
    text = MINIMAL.replace("golden: 2.5}", "golden: 2.5, tolerance: 0.1, reason: Measured.}")
    folder = cases(text)
    assert [load_case(name, folder).answer.tolerance for name in ("echo-one", "echo-two")] == [1e-6, 0.1]
    cases(MINIMAL.replace("golden: 2.5}", "golden: 2.5, tolerance: 0.1}"))
    assert "sizes.two" in message(folder, "echo-two")


def test_a_name_alone_means_the_cases_own_size(cases):
    default_size = load_case("echo", cases())
    assert (default_size.name, default_size.size, default_size.parameters) == ("echo", "one", {"word": "one"})
    assert load_case("echo-one", cases()) == default_size
    other = load_case("echo-two", cases())
    assert (other.name, other.size, other.answer.golden) == ("echo-two", "two", 2.5)
    assert default_size.answer.golden is None


def test_a_published_case_belongs_to_one_size_and_is_in_the_published_tables():
    stand_ins = {load_case(name, CASES).published_case for name in ALL}
    tables = [ROOT / f"analysis/published/{name}.csv" for name in ("fluent_cases", "channel_strong_scaling")]
    published = {case for table in tables for case in pd.read_csv(table)["case"]}
    assert "fl5s1" in stand_ins and stand_ins - {None} <= published
    assert load_case("elbow_segregated-4k", CASES).published_case is None


def test_an_unknown_case_is_answered_with_the_nearest_and_all_known_ones(cases):
    folder = cases()
    cases(name="other")
    assert message(folder, "ehco") == f"{folder}: no case 'ehco', did you mean 'echo'?; known: echo, other"


def test_an_unknown_size_is_answered_with_the_sizes(cases):
    reason = message(cases(), "echo-tow")
    assert reason == "case echo-tow: no size 'tow', did you mean 'two'?; known: one, two"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("title: Echo", "titel: Echo", "titel: unknown key, did you mean 'title'?"),
        ("  program:", "  progam:", "settings.progam: unknown key, did you mean 'program'?"),
        (
            "serial_seconds: 0.1",
            "serial_seconds: 0",
            "sizes.one.serial_seconds: 0 is too small; must be above 0",
        ),
        ("tolerance: 1.0e-6", "tolerance: tight", "answer.tolerance: 'tight' is not a number"),
        ("[0, 10]", "[10, 0]", "answer.possible: 10 is not below 0"),
        ("size: one", "size: own", "size: no size 'own', did you mean 'one'?; known: one, two"),
        ("application: command", "application: comand", "no application 'comand', did you mean 'command'?"),
        ("title: Echo", "title: Echo\ntitle: Again", "line 3: key 'title' is there twice"),
        (
            "settings:",
            "settings:\n  read: {answer: '[0-9]+'}",
            "settings.read.answer: '[0-9]+' has no group ( ); put the value in parentheses",
        ),
        (
            "settings:",
            "settings:\n  read: {answer: '('}",
            "settings.read.answer: '(' is no regular expression",
        ),
    ],
)
def test_a_wrong_case_file_is_answered_with_one_line(cases, old, new, expected):
    folder = cases(MINIMAL.replace(old, new))
    reason = message(folder)
    assert reason.startswith(str(folder / "command/echo/case.yaml"))
    assert expected in reason


def test_a_case_lies_in_the_folder_of_its_application(cases):
    assert "'command' in the folder of 'openfoam'" in message(cases(application="openfoam"))


def test_two_cases_of_one_name_are_refused(cases):
    cases(application="openfoam")
    assert "is there more than once" in message(cases())


def test_openfoam_cases_need_iterations_and_an_answer(cases):
    text = MINIMAL.replace("application: command", "application: openfoam").replace(
        "program: [echo, $word]", "solver: icoFoam\n  read: {answer: (x), continuity: 1}"
    )
    assert "parameters.iterations: missing" in message(cases(text, application="openfoam"))
    without = re.sub("answer: {quantity.*\n", "", text)
    assert "answer: missing" in message(cases(without, application="openfoam"))


def test_a_case_without_an_answer(cases):
    assert load_case("echo", cases(re.sub("answer: .*\n", "", MINIMAL))).answer is None


def test_settings_are_completed_by_the_defaults_of_the_schema(cases):
    assert load_case("echo", cases()).settings["environment"] == {}
    assert load_case("cavity", CASES).settings["mesh"] == ["blockMesh"]


WITH_OPTION = MINIMAL.replace(
    "answer:",
    """\
options:
  helped: {description: Somebody helps., servers_per_process: 1, environment: {HELP: "1"}}
answer:""",
)


def test_an_option_comes_last_in_a_name_and_changes_neither_input_nor_answer(cases):
    folder = cases(WITH_OPTION)
    plain, helped, other = (load_case(f"echo{rest}", folder) for rest in ("", "-helped", "-two-helped"))
    assert (plain.option, helped.option) == (None, Option("helped", 1, {"HELP": "1"}))
    assert (helped.name, other.name) == ("echo-helped", "echo-two-helped")
    assert load_case("echo-one-helped", folder).name == "echo-helped"
    assert (helped.title, helped.description) == ("Echo, helped", f"{plain.description} Somebody helps.")
    assert (helped.parameters, helped.answer) == (plain.parameters, plain.answer)
    assert digest(helped) != digest(plain)
    assert digest(plain) == digest(load_case("echo", cases(MINIMAL)))


def test_options_are_known_and_have_names_of_their_own(cases):
    folder = cases(WITH_OPTION)
    with pytest.raises(InputError, match="case echo-two-heped: no size 'two-heped'"):
        load_case("echo-two-heped", folder)
    assert "options.two: a size has that name" in message(cases(WITH_OPTION.replace("helped", "two")))


class TestDigest:
    def test_inputs_of_a_run_change_it(self, cases):
        digests = [digest(load_case(name, cases())) for name in ("echo", "echo-two")]
        digests.append(digest(load_case("echo", cases(MINIMAL.replace("$word]", "$word, more]")))))
        for text in "12":
            (cases() / "command/echo/data").write_text(text)
            digests.append(digest(load_case("echo", cases())))
        assert len(set(digests)) == 5

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("title: Echo", "title: Loud echo"),
            ("serial_seconds: 0.1", "serial_seconds: 7"),
            ("tolerance: 1.0e-6", "tolerance: 1.0e-3"),
            ("[echo, $word]", "[echo, $word]\n  read: {complete: one}"),
            ("settings:", "settings: # of the program"),
        ],
    )
    def test_titles_planning_and_judging_do_not_change_it(self, cases, old, new):
        before = digest(load_case("echo", cases()))
        assert MINIMAL.replace(old, new) != MINIMAL
        assert digest(load_case("echo", cases(MINIMAL.replace(old, new)))) == before

    def test_ignores_backups_and_hidden_files(self, cases):
        before = digest(load_case("echo", cases()))
        for name in ("data~", ".data.swp"):
            (cases() / "command/echo" / name).write_text("1")
        assert digest(load_case("echo", cases())) == before

    def test_sees_a_generator_change_through_the_written_input(self, case, monkeypatch):
        water = case("water_scf")
        before = digest(water)
        monkeypatch.setitem(GENERATORS, "water_cluster", ("waters", lambda waters: [("O", 0, 0, 0.1)]))
        assert digest(water) != before

    def test_of_the_same_input_elsewhere_is_the_same(self, case, tmp_path):
        cavity = case("cavity")
        copy = dataclasses.replace(cavity, folder=tmp_path)
        shutil.copytree(cavity.folder, tmp_path, dirs_exist_ok=True)
        assert digest(copy) == digest(cavity)


def test_a_missing_case_file_is_one_line(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_case_file(tmp_path / "case.yaml")


def test_the_examples_of_the_documentation_are_right(cases):
    text = (ROOT / "docs/add-a-case.md").read_text()
    command, openfoam = re.findall("```yaml\n(?:# yaml-language-server.+?\n)?(application.+?)```", text, re.S)
    pipe = load_case("pipe", cases(openfoam, name="pipe", application="openfoam"))
    assert (pipe.size, pipe.settings["solver"]) == ("50k", "simpleFoam")
    mine = load_case("mine", cases(command, name="mine", application="command"))
    assert mine.parameters == {"cells": 100}
    assert mine.answer.quantity == "total_mass"
