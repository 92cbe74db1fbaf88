"""Node equivalents by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.curves.equivalence import equivalent_counts


def equivalent(processes, speedup, *targets):
    return equivalent_counts(np.array(processes), np.array(speedup), np.array(targets, float)).tolist()


def test_interpolation_between_measured_counts():
    # the worked example: speedup 11 on 24, 20 and 16 processes
    assert equivalent([8, 16, 24], [6, 9, 11], 11) == [24]
    assert equivalent([8, 16, 24], [6, 10, 12], 11) == [20]
    assert equivalent([8, 16, 24], [7, 11, 14], 11) == [16]


def test_above_the_peak_is_infinite_and_below_the_smallest_count_is_not_known():
    assert equivalent([2, 4, 8], [2, 3, 2.5], 3.1, 1.9, 2, 3) == [np.inf, -np.inf, 2, 4]


def test_only_the_rising_branch_counts():
    # 2.5 is crossed on the way up (3 processes) and again on the way down
    assert equivalent([2, 4, 8], [2, 3, 1], 2.5) == [3]
    # a dip before the peak does not hide the first crossing
    assert equivalent([1, 2, 4, 8], [1, 3, 2, 5], 2.5) == [1.75]


def test_one_count_attains_only_itself():
    assert equivalent([4], [3], 2, 3, 4) == [-np.inf, 4, np.inf]


def test_missing_draws_stay_missing():
    draws = np.full((2, 1, 3), np.nan)
    assert np.isnan(equivalent_counts(np.array([1, 2]), draws, np.full((1, 1, 3), 1.5))).all()


def test_every_draw_has_its_own_curve_and_target():
    speedup = np.array([[[1.0, 1.0, 1.0]], [[2.0, 4.0, 1.2]]])
    target = np.array([[[1.5, 2.5, 1.5]]])
    assert equivalent_counts(np.array([1, 2]), speedup, target).tolist() == [[[1.5, 1.5, np.inf]]]


@given(st.lists(st.floats(0.1, 50), min_size=2, max_size=6), st.floats(0.1, 50))
def test_the_curve_reaches_the_target_at_the_equivalent(speedup, target):
    processes = 2.0 ** np.arange(len(speedup))
    (count,) = equivalent(processes, speedup, target)
    if np.isposinf(count):
        assert max(speedup) < target
    elif np.isneginf(count):
        assert speedup[0] > target
    else:
        assert np.interp(count, processes, speedup) == pytest.approx(target)
        assert count <= processes[np.argmax(speedup)]
