"""Contract of every application, as docs/extending/application.md describes it."""

import functools
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stamped_logs import read_log

from workflows import inputs
from workflows.applications import application, names
from workflows.applications.base import Application, Steps
from workflows.domain import InputError, Line, Reading
from workflows.paths import CASES, ROOT
from workflows.study.cases import load_case

CASES_OF_TESTS = ROOT / "tests/cases"
GENERIC = {"command", "mpi4py"}
"""Applications without logs of their own, and with names that are words of Python and MPI."""

every_application = pytest.mark.parametrize("name", names())


@functools.cache
def cases_of(name):
    folder = CASES_OF_TESTS if name == "command" else CASES
    files = sorted((folder / name).glob("*/case.yaml"))
    return [load_case(file.parent.name, folder) for file in files]


@every_application
def test_the_module_holds_an_application(name):
    app = application(name)
    assert isinstance(app, Application)
    assert re.fullmatch("[a-z][a-z0-9_]*", name)
    assert app.steps is None or isinstance(app.steps, Steps)
    assert all(isinstance(prefix, str) for prefix in app.variables)


@every_application
def test_the_schema_describes_the_settings(name):
    schema = inputs.read_yaml(inputs.SCHEMAS / f"case_{name}.yaml")
    assert schema["allOf"] == [{"$ref": "case.yaml"}]
    settings = schema["properties"]["settings"]["properties"]
    assert settings["environment"]["default"] == {}
    assert settings["read"]["description"]


@every_application
def test_a_case_shows_how_it_is_used(name):
    assert cases_of(name)


@every_application
def test_inputs_are_bytes_by_relative_path_and_always_the_same(name):
    for case in cases_of(name):
        files = application(name).inputs(case)
        assert files and files == application(name).inputs(case)
        for path, content in files.items():
            assert isinstance(content, bytes)
            assert not path.startswith("/") and ".." not in path.split("/")


@every_application
def test_a_command_and_its_environment_are_text(name):
    app = application(name)
    for case in cases_of(name):
        for processes, threads in ((1, 1), (2, 1), (2, 2)):
            command = app.command(case, processes, threads)
            assert command and all(isinstance(word, str) for word in command)
        assert all(isinstance(text, str) for item in app.environment(case).items() for text in item)
        assert app.unthreaded(case, "/no/such/program") is None or app.unthreaded(case, "/no/such/program")


@every_application
def test_its_programs_can_be_installed(name):
    """./run-study installs what programs.txt lists; the conda environment is for other machines."""
    app = application(name)
    programs = {program for case in cases_of(name) for program in app.programs(case)}
    if name not in GENERIC:
        listed = {line.split()[0] for line in (ROOT / "envs/programs.txt").read_text().splitlines() if line}
        assert programs & listed
        assert (ROOT / f"envs/{name}.yaml").is_file()


@every_application
def test_no_case_of_the_project_is_an_input_of_a_user(name, tmp_path):
    app = application(name)
    assert app.adopted is None or app.adopted[:2] in ("a ", "an")
    assert not app.adopts(tmp_path) and not app.adopts(tmp_path / "missing")
    for case in cases_of(name):
        assert app.variants(case) == [] and app.differences(case, {}, {}) == []


@every_application
@given(texts=st.lists(st.text(max_size=80), max_size=6), processes=st.integers(1, 4))
def test_output_of_another_program_is_never_a_valid_run(name, texts, processes):
    app, case = application(name), cases_of(name)[0]
    lines = [Line(0.1 * number, text) for number, text in enumerate(texts)]
    assert app.read(case, processes, lines).problem
    app.version(lines)
    app.explain("\n".join(texts))


def logs():
    """Every real log, with its application."""
    for name in names():
        for file in sorted((ROOT / "tests/logs" / name).glob("*.log.gz")):
            yield pytest.param(name, file, id=f"{name}-{file.name.removesuffix('.log.gz')}")


@pytest.mark.parametrize(("name", "file"), list(logs()))
def test_a_log_cut_off_anywhere_is_read_and_never_counts(name, file):
    app, case, lines = application(name), cases_of(name)[0], list(read_log(file))
    for share in (0.0, 0.3, 0.9):
        cut = lines[: int(share * len(lines))]
        reading = app.read(case, 2, cut)
        assert isinstance(reading, Reading)
        assert reading.problem and "\n" not in reading.problem


@pytest.mark.parametrize(("name", "file"), list(logs()))
@given(seed=st.integers(0, 10**6))
def test_a_log_with_cut_and_shuffled_lines_raises_nothing(name, file, seed):
    numbers, lines = random.Random(seed), list(read_log(file))
    torn = [
        Line(line.seconds, line.text[: numbers.randrange(70)]) for line in numbers.sample(lines, len(lines))
    ]
    for case in cases_of(name)[:2]:
        assert isinstance(application(name).read(case, 2, torn), Reading)


@every_application
def test_there_are_real_logs(name):
    assert name in GENERIC or list((ROOT / "tests/logs" / name).glob("*.log.gz"))


@every_application
def test_nothing_is_known_of_an_unprepared_folder(name, tmp_path):
    app = application(name)
    assert app.untimed(tmp_path) == {}
    assert app.work(tmp_path, {}) is None
    assert all(isinstance(text, str) for text in app.timed_part())


@pytest.mark.parametrize("name", sorted(set(names()) - GENERIC))
def test_no_other_code_names_it(name):
    parts = [path for part in ("workflows", "analysis") for path in (ROOT / part).rglob("*")]
    published = ROOT / "analysis/published"
    pattern = re.compile(rf"\b{name}\b".encode())
    naming = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "Snakefile", *parts)
        if path.is_file() and path.suffix != ".pyc" and not path.is_relative_to(published)
        if pattern.search(path.read_bytes())
    }
    assert naming <= {f"workflows/applications/{name}.py", f"workflows/schemas/case_{name}.yaml"}


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(InputError, match="no application 'openfaom', did you mean 'openfoam'"):
        application("openfaom")
    with pytest.raises(InputError):
        application("tools")


def test_the_template_in_the_docs_is_an_application(tmp_path):
    page = (ROOT / "docs/extending/application.md").read_text()
    (template,) = re.findall(r"```python\n(.*?)```", page, re.S)
    module: dict = {}
    exec(template, module)
    app, case = module["APPLICATION"], cases_of("lammps")[0]
    assert app.command(case, 2, 4) == ["stencil", "-threads", "4", "input.txt"]
    lines = [Line(0.1, "grid ready"), Line(1.5, "time 1.234 s"), Line(1.6, "residual -4.6e+00")]
    reading = app.read(case, 2, lines)
    assert (reading.seconds, reading.answer, reading.problem) == (1.234, -4.6, None)
    assert app.read(case, 2, lines[:2]).problem
