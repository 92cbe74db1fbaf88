"""Settings of all tests: requirements, no deadline, and the distribution over workers of pytest-xdist (``-n``).

A test is skipped, with the reason, where the machine has not what it needs. The tests of a file share a process, and so
their fixtures.
"""

import functools
import os

import hypothesis
import pytest
from needs import need
from small_runs import rows, unplaced
from xdist.scheduler import LoadFileScheduling

from analysis.runs.settings import Settings
from workflows.paths import CASES
from workflows.study.cases import load_case

# No time of a busy machine fails a test, and what fails once fails again.
hypothesis.settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("steady")

SLURM = "tests/slurm/"
PRINTED = ("tests/report/test_printed.py", "tests/report/test_figures.py", "tests/report/test_browser.py")


class ByFile(LoadFileScheduling):
    """All tests of a file go to one worker, and so do all files that read one printed study."""

    def _split_scope(self, nodeid):
        return "printed" if nodeid.startswith(PRINTED) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log)


def pytest_collection_modifyitems(items):
    """The longest tests begin first: the small clusters, then the other slow tests."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: (not item.nodeid.startswith(SLURM), not item.get_closest_marker("slow")))


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        need(*mark.args)


@pytest.fixture(scope="session")
def case():
    """Load one of the project's cases."""
    return functools.cache(lambda name: load_case(name, CASES))


@pytest.fixture
def runs():
    """Two interconnects, one serial run, times that can be worked by hand."""
    slow, swift = {2: 8.0, 4: 6.0, 8: 8.0}, {2: 6.0, 4: 4.0, 8: 3.0}
    return unplaced(rows("duct", None, {1: 12.0}), rows("duct", "slow", slow), rows("duct", "swift", swift))


@pytest.fixture
def settings():
    return Settings(draws=500, baselines=("slow",))
