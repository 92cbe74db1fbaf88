"""Exact tests and Holm's correction."""

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, rankdata

from analysis.estimates.significance import blocks_needed, holm, permutation_p, sign_flip_p


def test_five_paired_blocks_cannot_reach_five_percent_and_six_can():
    assert sign_flip_p(np.full(5, 0.1)) == 2 / 32
    assert sign_flip_p(np.full(6, 0.1)) == 2 / 64


def test_sign_flips_by_hand():
    # of the 8 patterns of 1, 2, -4 the sums are 7, 3, 5, 1 and their opposites; observed 1
    assert sign_flip_p(np.array([1.0, 2, -4])) == 1
    # observed 5: 7 and 5, and their opposites
    assert sign_flip_p(np.array([-1.0, 2, 4])) == 4 / 8


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=7))
def test_sign_flips_are_all_counted(differences):
    patterns = product((1, -1), repeat=len(differences))
    sums = [abs(sum(s * d for s, d in zip(signs, differences, strict=True))) for signs in patterns]
    expected = np.mean(np.array(sums) >= abs(sum(differences)))
    assert sign_flip_p(np.array(differences, float)) == expected


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=5))
def test_five_blocks_or_fewer_never_fall_below_five_percent(differences):
    assert 0.05 < sign_flip_p(np.array(differences)) <= 1


def test_permutations_by_hand():
    # 20 ways to divide; only the observed one and its opposite are as far apart
    assert permutation_p(np.array([1.0, 2, 3]), np.array([4.0, 5, 6])) == 2 / 20


@given(st.lists(st.integers(0, 10**6), min_size=4, max_size=10, unique=True))
def test_permutations_agree_with_scipy(values):
    first, second = np.array(values[: len(values) // 2]), np.array(values[len(values) // 2 :])
    expected = mannwhitneyu(first, second, method="exact").pvalue
    assert permutation_p(first, second) == pytest.approx(expected)


@given(st.lists(st.integers(0, 4), min_size=4, max_size=9))
def test_ties_share_their_mean_rank(values):
    first = len(values) // 2
    ranks = rankdata(values)
    far = [abs(sum(chosen) - first * ranks.mean()) for chosen in combinations(ranks, first)]
    expected = np.mean(np.array(far) >= abs(ranks[:first].sum() - first * ranks.mean()) - 1e-9)
    assert permutation_p(np.array(values[:first]), np.array(values[first:])) == pytest.approx(expected)


def test_many_times_are_as_far_as_the_normal_distribution_says():
    rng = np.random.default_rng(3)
    for shift in (0.0, 0.2, 0.5):
        first, second = rng.normal(0, 1, 60).round(1), rng.normal(shift, 1, 70).round(1)
        expected = mannwhitneyu(first, second, method="asymptotic", use_continuity=False).pvalue
        assert permutation_p(first, second) == pytest.approx(expected)
    assert permutation_p(np.zeros(60), np.zeros(60)) == 1
    fifty = rng.normal([[0.0], [0.4]], 1, (2, 50))  # the last size that is exact
    exact = mannwhitneyu(*fifty, method="exact").pvalue
    assert permutation_p(*fifty) == pytest.approx(exact, rel=1e-6)


def test_one_disturbed_repetition_does_not_hide_a_difference():
    quiet = np.array([3.55, 3.41, 3.52, 3.60, 3.49, 3.57, 3.44, 27.8])
    slower = np.array([5.12, 4.90, 5.20, 5.05, 5.31, 5.00, 5.15, 12.7])
    assert permutation_p(np.log(quiet), np.log(slower)) < 0.05


def test_few_times_beside_many_are_counted_exactly():
    few, many = np.array([1.0, 2.0]), np.arange(10.0, 109.0)
    assert permutation_p(few, many) == permutation_p(many, few) == pytest.approx(2 / comb(101, 2))


def test_many_blocks_are_sampled_and_never_give_zero():
    rng = np.random.default_rng(0)
    far = rng.normal(5, 0.1, 40)
    assert sign_flip_p(far) == 1 / 10_000
    assert sign_flip_p(far, seed=1) == sign_flip_p(far, seed=1)
    assert sign_flip_p(rng.normal(0, 1, 40)) > 0.05


def test_equal_times_are_never_told_apart():
    assert sign_flip_p(np.zeros(8)) == permutation_p(np.ones(6), np.ones(6)) == 1


def test_a_test_keeps_its_level():
    rng = np.random.default_rng(5)
    p_values = [sign_flip_p(rng.normal(0, 1, 8)) for _ in range(2_000)]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.06


def test_holm_by_hand():
    assert holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])
    assert holm(np.array([0.04, np.nan, 0.9])) == pytest.approx([0.08, np.nan, 0.9], nan_ok=True)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_keeps_the_order_and_lowers_nothing(p_values):
    p_values = np.array(p_values)
    adjusted = holm(p_values)
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()
    assert (adjusted >= p_values).all() and (adjusted <= 1).all()
    assert (adjusted <= np.minimum(1, p_values * len(p_values)) + 1e-12).all()


def test_blocks_needed():
    assert [blocks_needed(tests, paired=True) for tests in (1, 2, 16)] == [6, 7, 10]
    assert [blocks_needed(tests, paired=False) for tests in (1, 16)] == [4, 6]
