"""Peaks and the counts that cannot be told from them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analysis.estimates.bootstrap import percentile_interval
from analysis.estimates.peaks import find_peak, may_lead


def spread(speedup, share, draws=500):
    """Draws of each speedup, uniform within plus or minus `share`."""
    rng = np.random.default_rng(0)
    speedup = np.asarray(speedup, float)
    return speedup[:, None, None] * rng.uniform(1 - share, 1 + share, (len(speedup), 1, draws))


def peak(speedup, draws):
    found = find_peak(np.asarray(speedup, float), draws)
    return found.index, np.flatnonzero(found.members).tolist(), found.reached


def test_a_clear_peak_is_alone_in_its_set():
    assert peak([1, 2, 4, 3], spread([1, 2, 4, 3], 0.05)) == (2, [2], True)


def test_a_curve_that_still_rises_has_not_reached_its_peak():
    assert peak([1, 2, 3, 4], spread([1, 2, 3, 4], 0.05)) == (3, [3], False)


def test_the_set_may_have_gaps_and_the_last_count_undoes_the_peak():
    speedup = [1, 4, 3, 3.9]
    assert peak(speedup, spread(speedup, 0.08)) == (1, [1, 3], False)


def test_one_sample_goes_by_the_point_estimate():
    none = np.full((3, 1, 500), np.nan)
    assert peak([1, 3, 2], none) == (1, [], True)
    assert peak([1, 2, 3], none) == (2, [], False)


def test_one_count_is_a_peak_not_reached():
    assert peak([1.0], spread([1], 0.1)) == (0, [0], False)


def test_of_equal_counts_the_smallest_is_the_peak():
    assert peak([1, 2, 2], spread([1, 2, 2], 0.1)) == (1, [1, 2], False)


def test_joint_draws_tell_apart_what_separate_intervals_would_not():
    # both vary by 20 % together: the second is 5 % below in every draw
    common = np.random.default_rng(0).uniform(0.8, 1.2, (1, 500))
    draws = np.array([1, 4, 3.8, 1])[:, None, None] * common
    assert peak([1, 4, 3.8, 1], draws) == (1, [1], True)


def test_a_band_gives_every_count_that_some_scenario_takes():
    draws = np.array([[1, 1], [3, 4], [4, 3.0]])[..., None]
    assert peak([1, 3.5, 3.4], draws) == (1, [1, 2], False)


@given(st.integers(2, 6), st.integers(100, 400), st.integers(0, 2**32 - 1))
def test_the_set_is_that_of_the_joint_intervals(counts, number, seed):
    draws = np.random.default_rng(seed).lognormal(0, 0.1, (counts, 1, number))
    logs = np.log(draws)
    others = [np.delete(logs, count, axis=0).max(axis=0) for count in range(counts)]
    _, high = percentile_interval(logs - np.stack(others))
    assert may_lead(draws, 0.95).tolist() == (high >= 0).tolist()
