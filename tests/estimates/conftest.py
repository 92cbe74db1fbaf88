"""Small runs tables that the tests of the analysis share."""

import pytest
from small_runs import rows, unplaced

from analysis.runs.settings import Settings


@pytest.fixture
def runs():
    """Two interconnects, one serial run, times that can be worked by hand."""
    slow, swift = {2: 8.0, 4: 6.0, 8: 8.0}, {2: 6.0, 4: 4.0, 8: 3.0}
    return unplaced(rows("duct", None, {1: 12.0}), rows("duct", "slow", slow), rows("duct", "swift", swift))


@pytest.fixture
def settings():
    return Settings(draws=500, baselines=("slow",))
