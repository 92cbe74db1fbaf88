"""Rounding step of the times of a file, estimated from the times."""

import numpy as np
import pandas as pd
import pytest
from refused import refusal

from analysis.importers import with_resolution
from analysis.importers.resolution import decimal_steps
from analysis.runs.runs import TableError, complete_runs


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([34, 29, 5026], 1),
        ([29.1, 28.0], 0.1),
        ([9.7062, 9.656], 1e-4),
        ([0.288, 288 * 1e-3, 0.1 * 3], 1e-3),
        ([51.51505000000001, 52.5], 1e-5),
        ([53.606767605350505, 50.0], 0),
        ([np.pi], 0),
        ([12345678.9, 3e9], 0),
    ],
)
def test_the_finest_step_of_some_values(values, step):
    assert decimal_steps(values).min() == pytest.approx(step)


def resolutions(**cases):
    """Step of each case of one file."""
    frames = [
        pd.DataFrame({"case": name, "interconnect": "ib", "processes": 2, "seconds": seconds})
        for name, seconds in cases.items()
    ]
    runs = with_resolution(complete_runs(pd.concat(frames)))
    return runs.groupby("case")["resolution_seconds"].first().fillna(0).to_dict()


def test_a_case_is_coarser_than_its_file_only_beyond_chance():
    assert resolutions(a=[34.0, 29.0], b=[29.1, 28.7]) == {"a": 0.1, "b": 0.1}
    assert resolutions(a=[34.0, 29.0, 28.0, 31.0], b=[29.1, 28.7]) == {"a": 1, "b": 0.1}
    assert resolutions(a=[34.0, 34.0, 34.0, 34.0], b=[29.1, 28.7]) == {"a": 0.1, "b": 0.1}
    assert resolutions(a=[34.0], b=[29.1234]) == {"a": 1, "b": 1e-4}
    assert resolutions(a=[29.0], b=[np.pi, 28.7]) == {"a": 1, "b": 0}


def test_only_times_count():
    runs = pd.DataFrame(
        {
            "case": "duct",
            "interconnect": "a",
            "processes": 2,
            "seconds": [5.0, 0.123, None],
            "valid": [True, False, False],
        }
    )
    assert with_resolution(complete_runs(runs))["resolution_seconds"].tolist() == pytest.approx(
        [1, np.nan, np.nan], nan_ok=True
    )


@pytest.mark.parametrize(
    ("step", "line"),
    [
        (2, "runs table: row 1, column 'resolution_seconds': 2: must be at most the time, 1"),
        (-1, "runs table: row 1, column 'resolution_seconds': -1: it must be above 0"),
    ],
)
def test_a_step_that_cannot_be(step, line):
    runs = pd.DataFrame(
        {"case": "duct", "interconnect": "a", "processes": 2, "seconds": [1.0], "resolution_seconds": step}
    )
    assert refusal(TableError, complete_runs, runs) == line
