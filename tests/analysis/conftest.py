"""Small runs tables that the tests of the analysis share."""

import hypothesis
import pandas as pd
import pytest
from synthetic_runs import rows

from analysis.records import complete_runs
from analysis.settings import Settings

hypothesis.settings.register_profile("steady", deadline=None)  # no time of a busy machine fails a test
hypothesis.settings.load_profile("steady")


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
