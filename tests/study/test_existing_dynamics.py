"""Run inputs of molecular dynamics of users, run as they are."""

from pathlib import Path

import pytest
from disturbed import undisturbed_run

from workflows.applications import application
from workflows.domain import Point
from workflows.measure.answers import compare_answer
from workflows.measure.prepare import prepare, reference_answer
from workflows.paths import CASES, INTERCONNECTS
from workflows.study.cases import load_case
from workflows.study.existing import make_case
from workflows.study.inline import Existing
from workflows.study.interconnects import load_interconnect


@pytest.mark.slow
@pytest.mark.needs("gmx_mpi", "mpirun.openmpi")
def test_a_run_input_runs_as_it_is_and_its_runs_agree(tmp_path):
    water = load_case("water_box-smoke", CASES)
    application("gromacs").prepare(water, 1, tmp_path / "user", None)
    source = (tmp_path / "user/topol.tpr").rename(tmp_path / "user/box.tpr")
    content = source.read_bytes()
    make_case(Existing("box", source, 30, False, Path("mine.yaml")), tmp_path / "cases", True, 300)
    case = load_case("box", tmp_path / "cases")
    assert source.read_bytes() == content and (case.folder / "topol.tpr").read_bytes() == content
    assert f"Timed runs make 30 of its {water.parameters['steps']} steps" in case.description
    prepare(case, 1, tmp_path / "1")
    prepare(case, 2, tmp_path / "2", tmp_path / "1")
    expected = reference_answer(case, tmp_path / "1", 300)
    shared_memory = load_interconnect("shared_memory", INTERCONNECTS)
    point = Point(case.name, shared_memory.name, 2, 2, nodes=1, cores=1)
    done = undisturbed_run(case, point, tmp_path / "2", shared_memory, (), 300)
    assert done.problem is None
    assert compare_answer(case, None, expected, done.reading.details)[1] is None
    other = done.reading.details | {"first_energy": 1.01 * done.reading.details["first_energy"]}
    assert "potential energy of the first step" in compare_answer(case, None, expected, other)[1]
