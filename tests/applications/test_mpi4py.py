"""Cases of mpi4py: input files, and readings of good, cut-off, wrong and aborted runs."""

import shutil

import pytest
from refused import refusal

from workflows.applications import application
from workflows.applications.mpi4py import _modules
from workflows.domain import InputError, Line
from workflows.paths import CASES, ROOT
from workflows.study import cases
from workflows.study.cases import load_case

mpi4py = application("mpi4py")

STARTED = Line(0.2, '{"started": {"mpi4py": "4.1.2", "library": "Open MPI v4.1.4"}}')
ROW = '{"bytes": 0, "seconds_p50": 2e-06, "n": 5}'
FINISHED = Line(1.2, f'{{"finished": {{"seconds": 3e-06, "answer": 0, "rows": [{ROW}]}}}}')


@pytest.fixture
def case():
    return load_case("pingpong-smoke", CASES)


def test_a_sound_run(case):
    reading = mpi4py.read(case, 2, [STARTED, FINISHED, Line(1.5, "")])
    assert (reading.seconds, reading.answer, reading.problem) == (3e-6, 0, None)
    assert (reading.startup_seconds, reading.output_seconds) == (0.2, pytest.approx(0.3))
    assert reading.details["rows"] == [{"bytes": 0, "seconds_p50": 2e-6, "n": 5}]
    assert reading.details["about"]["library"] == "Open MPI v4.1.4"
    assert mpi4py.version([STARTED, FINISHED]) == "4.1.2"


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([], "incomplete: never ready"),
        ([Line(0.1, "Traceback")], "incomplete: never ready"),
        ([STARTED], "incomplete: never finished"),
        ([STARTED, Line(1.0, FINISHED.text[:-1])], "incomplete: never finished"),
        ([STARTED, Line(1.0, '{"finished": {"answer": 0}}')], "incomplete: no seconds, but None"),
        ([STARTED, Line(1.0, '{"finished": {"seconds": "NaN", "answer": 0}}')], "incomplete: no seconds, but 'NaN'"),
        ([STARTED, Line(1.0, '{"finished": {"seconds": 1.0}}')], "incomplete: no wrong_bytes, but None"),
        ([STARTED, Line(1.0, '{"finished": {"seconds": 1.0, "answer": -1}}')],
         "diverged: wrong_bytes -1 outside 0 to 1e+15 bytes"),
    ],
)  # fmt: skip
def test_runs_that_do_not_count(case, lines, problem):
    assert mpi4py.read(case, 2, lines).problem == problem


def test_the_reason_is_the_exception_of_a_rank():
    errors = (
        'Traceback (most recent call last):\n  File "pingpong.py", line 6\n'
        "ZeroDivisionError: division by zero\n"
        "--------------------------------------------------------------------------\n"
        "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\nwith errorcode 1.\n"
    )
    assert mpi4py.explain(errors) == "ZeroDivisionError: division by zero"
    killed = "mpirun noticed that process rank 1 with PID 0 on node a exited on signal 9 (Killed).\n-----\n"
    assert mpi4py.explain(killed).startswith("mpirun noticed that process rank 1 ")
    assert mpi4py.explain("") is None


def test_parameters_and_imported_modules_are_input_files(case):
    files = mpi4py.inputs(case)
    names = ("__init__", "messages", "point_to_point", "program", "sweep")
    ours = {"workflows/__init__.py", *(f"workflows/benchmarks/{name}.py" for name in names)}
    assert set(files) == {"pingpong.py", "parameters.json", *ours}
    assert b'"largest_bytes": 65536' in files["parameters.json"]


def test_modules_are_followed_through_others_and_only_ours(tmp_path):
    for name, text in {
        "__init__": "", "a/__init__": "", "a/one": "from workflows.a import two\nimport numpy\n",
        "a/two": "import workflows.b\nfrom os import path\n", "a/unused": "", "b": "from workflows.a.one import f\n",
    }.items():  # fmt: skip
        file = tmp_path / f"workflows/{name}.py"
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(text)
    modules = _modules(b"from workflows.a.one import f", tmp_path)
    assert set(modules) == {
        f"workflows/{name}.py" for name in ("__init__", "a/__init__", "a/one", "a/two", "b")
    }


def test_a_change_of_a_module_measures_the_cases_that_import_it_again(case, tmp_path, monkeypatch):
    barrier = load_case("barrier-smoke", CASES)
    before = cases.digest(case), cases.digest(barrier)
    shutil.copytree(ROOT / "workflows/benchmarks", tmp_path / "workflows/benchmarks")
    shutil.copy(ROOT / "workflows/__init__.py", tmp_path / "workflows")
    monkeypatch.setattr("workflows.applications.mpi4py.ROOT", tmp_path)
    assert (cases.digest(case), cases.digest(barrier)) == before
    (tmp_path / "workflows/benchmarks/collective.py").write_text("changed = True\n")
    assert cases.digest(case) == before[0] and cases.digest(barrier) != before[1]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"pingpong.py": "import os\nmain(\n"}, "pingpong.py: line 2: '(' was never closed"),
        ({}, "settings.program: there is no 'pingpong.py' beside it"),
        ({"pingpong.py": "", "parameters.json": "{}"}, "parameters.json: not for the case"),
    ],
    ids=["no Python", "no program", "a file that is written for it"],
)
def test_wrong_files_of_a_case_are_reported_in_one_line(case, tmp_path, files, message):
    (tmp_path / "mpi4py/other").mkdir(parents=True)
    for name, text in {"case.yaml": (case.folder / "case.yaml").read_text(), **files}.items():
        (tmp_path / "mpi4py/other" / name).write_text(text)
    assert message in refusal(InputError, mpi4py.inputs, load_case("other", tmp_path))
