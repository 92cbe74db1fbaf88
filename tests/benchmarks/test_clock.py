"""The clock's page, and what it finds fault with."""

import subprocess
import sys

import pytest

from tests.benchmarks import finished
from tests.benchmarks.clock import grew, over, page, read_table
from tests.benchmarks.figures import ROOT, Figure, cost, side_by_side
from workflows.plan.plan import make_plan

WHERE = "Measured 2026-11-22, commit abc, on a machine of two cores."
BESIDE = Figure("dry run", 7.5, "s CPU", None, "bare Snakemake", 5.0, 2.0)
ALONE = Figure("memory", 1234.5, "MB", 2000)


def test_the_page_is_read_as_it_was_written():
    machine, rows = read_table(page([BESIDE, ALONE], WHERE))
    assert machine == "a machine of two cores."
    assert rows == {
        "dry run": ["dry run", "7.5 s CPU", "2 ×", "bare Snakemake", "5 s CPU", "1.50 ×"],
        "memory": ["memory", "1230 MB", "2000 MB", "–", "–", "–"],
    }
    assert read_table("") == ("", {})


@pytest.mark.parametrize(
    ("figure", "told"),
    [
        (BESIDE, None),
        (ALONE, None),
        (Figure("dry run", 10.1, "s CPU", None, "bare", 5, 2), "dry run: 2.02 × that of bare, over 2"),
        (Figure("memory", 2001, "MB", 2000), "memory: 2000 MB, over 2000"),
        (Figure("memory", 9999, "MB"), None),
    ],
)
def test_what_is_over_its_limit_is_told(figure, told):
    assert over(figure) == told


@pytest.mark.parametrize(
    ("figure", "same_machine", "told"),
    [
        (Figure("dry run", 18.6, "s CPU", None, "bare", 10.0), False, None),
        (Figure("dry run", 19.0, "s CPU", None, "bare", 10.0), False, "1.9, 1.27 × that of the committed table (1.50)"),
        (Figure("memory", 1600, "MB"), True, "1600, 1.30 × that of the committed table (1230)"),
        (Figure("memory", 1500, "MB"), True, None),
        (Figure("memory", 1600, "MB"), False, None),
    ],
)  # fmt: skip
def test_what_grew_is_told(figure, same_machine, told):
    _, rows = read_table(page([BESIDE, ALONE], WHERE))
    assert grew(figure, rows[figure.what], same_machine) == (told and f"{figure.what}: {told}")


def test_a_command_costs_what_all_its_processes_took():
    work = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = bytearray(b\"x\") * 200_000_000'], check=True)"
    held = bytearray(b"x") * 400_000_000  # is not what the command took
    used = cost([sys.executable, "-c", work])
    assert 200e6 < used.memory_bytes < len(held) and 0 < used.cpu_seconds < 60
    with pytest.raises(RuntimeError, match="exit status 3: told"):
        cost([sys.executable, "-c", "print('told'); raise SystemExit(3)"])


def test_ways_are_taken_in_turn():
    order = []

    def way(name, *values):
        left = iter(values)
        return lambda: order.append(name) or next(left)

    assert side_by_side({"a": way("a", 3, 1, 2), "b": way("b", 6, 5, 4)}) == {"a": 2, "b": 5}
    assert order == ["b", "a", "a", "b", "b", "a"]


REPORT = '<testsuites><testsuite tests="{}" failures="{}" errors="0" skipped="1" time="{}"/></testsuites>'


@pytest.mark.parametrize(
    ("failures", "said", "status"),
    [((0, 0), "10 passed, 2 skipped in 90 s", 0), ((0, 1), "1 failed, 9 passed, 2 skipped in 90 s", 1)],
)
def test_two_runs_of_the_tests_end_as_one(tmp_path, failures, said, status):
    for name, count, failed, seconds in zip("ab", (8, 4), failures, (60, 30), strict=True):
        (tmp_path / f"{name}.xml").write_text(REPORT.format(count, failed, seconds))
    command = [sys.executable, "-m", "tests.benchmarks.suite_times", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == (f"all together: {said}\n", status)


def test_the_default_study_at_its_smallest_can_be_planned(tmp_path):
    finished.write_study(tmp_path / f"{finished.NAME}.yaml")
    asked = make_plan(tmp_path / f"{finished.NAME}.yaml").asked
    assert all(case.endswith("-smoke") for case in asked.study.cases)
    assert asked.study.blocks == 1
