"""Real runs of every smoke size, serially and on two ranks (or the fewest possible), prepared as a study does it."""

import pytest
from disturbed import undisturbed_run

from workflows.applications import application
from workflows.domain import Point
from workflows.paths import CASES, INTERCONNECTS, ROOT
from workflows.study.cases import case_files, load_case
from workflows.study.interconnects import load_interconnect

SMOKE = [(f"{name}-smoke", CASES) for name in case_files(CASES)]
SMOKE.append(("harmonic-smoke", ROOT / "tests/cases"))

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("name", "cases"), SMOKE, ids=[name for name, _ in SMOKE])
def test_smoke_sizes_give_the_golden_answer_serially_and_on_two_ranks(name, cases, tmp_path):
    case = load_case(name, cases)
    app = application(case.application)
    app.prepare(case, 1, tmp_path / "1", None)
    several = max(case.fewest_processes, 2)
    app.prepare(case, several, tmp_path / str(several), tmp_path / "1")
    before = sorted(tmp_path.rglob("*"))
    shared_memory = load_interconnect("shared_memory", INTERCONNECTS)
    for processes, interconnect, level in ((1, None, 1), (several, shared_memory, several)):
        if processes < case.fewest_processes:
            continue
        point = Point(name, interconnect and interconnect.name, processes, level, nodes=1, cores=1)
        done = undisturbed_run(case, point, tmp_path / str(processes), interconnect, (), 120)
        assert done.problem is None, (done.problem, done.execution.errors)
        assert done.reading.answer == pytest.approx(case.answer.golden, rel=case.answer.tolerance)
        assert 0 < done.reading.seconds < done.execution.wall_seconds
    assert sorted(tmp_path.rglob("*")) == before
