"""ReFrame over the same nothing: CPU time of a run."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.benchmarks.figures import Figure, cost
from tests.benchmarks.peers import environment

PACKAGE = "ReFrame-HPC==4.10.4"
CHECKS = """
import reframe as rfm
import reframe.utility.sanity as sn

@rfm.simple_test
class Nothing(rfm.RunOnlyRegressionTest):
    number = parameter(range(RUNS))
    valid_systems = ['*']
    valid_prog_environs = ['*']
    executable = 'echo'
    executable_opts = ['took 0.001 s']

    @sanity_function
    def ended(self):
        return sn.assert_found('took', self.stdout)

    @performance_function('s')
    def seconds(self):
        return sn.extractsingle(r'took (\\S+) s', self.stdout, 1, float)
"""


def measure(runs: int = 100) -> list[Figure]:
    """Give the CPU time of a further run."""
    one, many = (_cpu_seconds(count) for count in (1, runs + 1))
    return [Figure("ReFrame, a run", 1000 * (many - one) / runs, "ms CPU")]


def _cpu_seconds(runs: int) -> float:
    with tempfile.TemporaryDirectory() as name:
        checks = Path(name) / "checks.py"
        checks.write_text(CHECKS.replace("RUNS", str(runs)))
        return cost(
            [environment(PACKAGE) / "reframe", "-c", checks, "-r", "--prefix", name], Path(name)
        ).cpu_seconds
