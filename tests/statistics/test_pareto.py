"""The Pareto set."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analysis.statistics.best import nondominated

FEW = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12)


def test_by_hand():
    cost = [1, 2, 2, 3, 4, 4]
    gain = [5, 5, 6, 6, 9, 9]
    # the second and the fourth cost more than one that gains as much; the last two are equal
    assert nondominated(cost, gain).tolist() == [True, False, True, False, True, True]


@given(FEW)
def test_members_do_not_dominate_each_other_and_dominate_all_others(options):
    def dominates(a, b):
        return a[0] <= b[0] and a[1] >= b[1] and a != b

    members = nondominated(*np.array(options).T)
    inside = [option for option, member in zip(options, members, strict=True) if member]
    assert not any(dominates(a, b) for a in inside for b in inside)
    for option, member in zip(options, members, strict=True):
        assert member or any(dominates(a, option) for a in inside)


@given(FEW, FEW)
def test_draws_are_separate_problems(first, second):
    size = min(len(first), len(second))
    draws = np.array([first[:size], second[:size]]).transpose(2, 1, 0)  # cost and gain, (options, draws)
    both = nondominated(draws[0], draws[1])
    assert np.array_equal(
        both, np.stack([nondominated(draws[0][:, i], draws[1][:, i]) for i in (0, 1)], axis=1)
    )
    one_cost = nondominated(draws[0][:, 0], draws[1])
    assert np.array_equal(one_cost[:, 1], nondominated(draws[0][:, 0], draws[1][:, 1]))
