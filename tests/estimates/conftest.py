"""Small runs tables that the tests of the analysis share."""

import pandas as pd
import pytest
from small_runs import rows

from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings


@pytest.fixture
def runs():
    """Two interconnects, one serial run, times that can be worked by hand."""
    return complete_runs(
        pd.DataFrame(
            rows("duct", None, {1: 12.0})
            + rows("duct", "slow", {2: 8.0, 4: 6.0, 8: 8.0})
            + rows("duct", "swift", {2: 6.0, 4: 4.0, 8: 3.0})
        )
    )


@pytest.fixture
def settings():
    return Settings(draws=500, baselines=("slow",))
