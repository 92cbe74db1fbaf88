"""Costs, their limits, and the summary of a run of the tests."""

import subprocess
import sys

import pytest

from tests.benchmarks.costs import ROOT, Measured, cost, interleaved


def test_a_cost_shows_its_limit_and_its_peer():
    relative = Measured("dry run", 10.1, "s CPU", 10.0, "2 × bare Snakemake (5.0 s)")
    alone = Measured("memory", 1234.5, "MB", 2000)
    assert relative.is_above_limit and not alone.is_above_limit
    assert relative.row == "| dry run | 10.1 s CPU | 10 s CPU | 2 × bare Snakemake (5.0 s) |"
    assert alone.row == "| memory | 1.23e+03 MB | 2e+03 MB | – |"


def test_a_cost_includes_all_processes_of_a_command():
    work = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = bytearray(b\"x\") * 200_000_000'], check=True)"
    ballast = bytearray(b"x") * 400_000_000  # belongs to this process, not to the command
    used = cost([sys.executable, "-c", work])
    assert 200e6 < used.memory_bytes < len(ballast) and 0 < used.cpu_seconds < 60
    with pytest.raises(RuntimeError, match="exit status 3: printed"):
        cost([sys.executable, "-c", "print('printed'); raise SystemExit(3)"])


def test_ways_are_measured_in_turn():
    order = []

    def way(name, *values):
        left = iter(values)
        return lambda: order.append(name) or next(left)

    assert interleaved({"a": way("a", 3, 1, 2), "b": way("b", 6, 5, 4)}) == {"a": 2, "b": 5}
    assert order == ["b", "a", "a", "b", "b", "a"]


REPORT = '<testsuites><testsuite tests="{}" failures="{}" errors="0" skipped="1" time="{}"/></testsuites>'


@pytest.mark.parametrize(
    ("failures", "line", "status"),
    [((0, 0), "10 passed, 2 skipped in 90 s", 0), ((0, 1), "1 failed, 9 passed, 2 skipped in 90 s", 1)],
)
def test_two_runs_of_the_tests_are_summed_up(tmp_path, failures, line, status):
    for name, count, failed, seconds in zip("ab", (8, 4), failures, (60, 30), strict=True):
        (tmp_path / f"{name}.xml").write_text(REPORT.format(count, failed, seconds))
    command = [sys.executable, "-m", "tests.benchmarks.suite_times", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == (f"all together: {line}\n", status)
