"""Two builds of a program, by path: a factor of interconnect files, run and compared like any other."""

import gzip
import json
import os

import pytest
from disturbed import disturbed
from needs import need
from programs import printed
from study_files import study_file

from workflows.launch.launch import program_of_build, search_path
from workflows.measure.measure import measure
from workflows.measure.prepare import prepare, reference_answer
from workflows.paths import INTERCONNECTS, ROOT
from workflows.plan.plan import make_plan
from workflows.results.collect import runs_table
from workflows.study.factors import factors
from workflows.study.interconnects import digest, load_interconnect

PAGE = (ROOT / "docs/factors.md").read_text()


def block(beginning):
    """Block of the page that begins so."""
    return next(part for part in PAGE.split("```") if beginning in part[:120]).partition("\n")[2]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files and builds that the page asks for."""
    need("mpicc", "mpirun")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    for line in block("console\n$ mkdir -p mine").splitlines():
        printed("sh", "-c", line.removeprefix("$ "), cwd=tmp_path)
    plain = block("yaml\n# mine/plain.yaml")
    (tmp_path / "mine/plain.yaml").write_text(plain)
    optimised = plain.replace("O0", "O2").replace("name: plain", "name: optimised")
    (tmp_path / "mine/optimised.yaml").write_text(optimised)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plan_of(folder, **changes):
    text = block("yaml\n# builds.yaml").replace("cases: [relax]", "cases: [relax-smoke]")
    for key, value in changes.items():
        text = "".join(line for line in text.splitlines(True) if not line.startswith(f"{key}:"))
        text += f"{key}: {value}\n"
    return make_plan(study_file(folder, text))


@pytest.mark.slow
def test_the_example_of_the_page_runs_each_build_under_its_name(folder):
    plan = plan_of(folder, blocks=1)
    case = plan.asked.cases["relax-smoke"]
    prepare(case, 1, plan.paths.prepared(case.name, 1))
    prepare(case, 2, plan.paths.prepared(case.name, 2))
    plan.paths.expected(case.name).write_text(json.dumps(reference_answer(case, folder, 60)))
    optimised = {}
    for repetition in plan.design.repetitions:
        record = measure(plan, repetition, 1, ())
        assert record.valid or disturbed(record.reason)
        log = gzip.decompress(plan.paths.record(repetition, 1).with_suffix(".log.gz").read_bytes())
        optimised[record.interconnect] = b"built with optimisation" in log
        assert "libmpi" in record.mpi_library
    assert optimised == {"plain": False, "optimised": True}
    assert runs_table(plan)[0]["block"].tolist() == [1, 1]  # side by side, so that they are paired
    plain = factors(plan.asked.interconnects["plain"])
    assert (plain["compiler"], plain["launch.path"]) == ("gcc -O0", str(folder / "mine/O0"))


def test_a_build_that_is_not_there_is_no_other_one(folder, monkeypatch):
    monkeypatch.setenv("PATH", f"{folder / 'mine/O2'}:{os.environ['PATH']}")
    (folder / "mine/O0/relax").unlink()
    plan = plan_of(folder)
    assert [point.interconnect for point in plan.design.points] == ["optimised"]
    assert [left.reason for left in plan.design.left_out] == [
        f"launch.path of plain: no program relax in {folder / 'mine/O0'}"
    ]


def test_a_serial_run_takes_the_program_on_the_path(folder, monkeypatch):
    alone = plan_of(folder, processes=[1, 2])
    assert [left.reason for left in alone.design.left_out] == ["not installed here: relax"]
    assert {point.processes for point in alone.design.points} == {2}
    monkeypatch.setenv("PATH", f"{folder / 'mine/O2'}:{os.environ['PATH']}")
    assert {point.processes for point in plan_of(folder, processes=[1, 2]).design.points} == {1, 2}


def test_another_path_is_another_interconnect(folder):
    plain, optimised = (load_interconnect(name, folder / "mine") for name in ("plain", "optimised"))
    assert digest(plain) != digest(optimised)
    assert search_path(plain)["PATH"].startswith(f"{folder / 'mine/O0'}:")
    assert program_of_build("relax", plain) == str(folder / "mine/O0/relax")
    assert program_of_build("./relax", plain) is None
    shared = load_interconnect("shared_memory", INTERCONNECTS)
    assert search_path(shared) == {} and program_of_build("sh", shared) is None
