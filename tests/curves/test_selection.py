"""Rows of a table that belong to one curve."""

import pandas as pd

from analysis.runs.frames import rows_like


def test_a_missing_count_is_equal_to_a_missing_one_alone():
    """Interconnects without a common count have no `at_processes`."""
    rows = pd.DataFrame({"case": ["a", "a", "b"], "at_processes": pd.array([4, None, 4], "Int64")})
    for count, places in ((4, [0]), (None, [1]), (8, [])):
        assert list(rows_like(rows, {"case": "a", "at_processes": count}, list(rows)).index) == places
