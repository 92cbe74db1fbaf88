"""Two populations in one sample."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.statistics.populations import FEWEST, LEAST_GROUP, are_two, best_split

SAMPLES = st.lists(st.integers(-50, 50), min_size=FEWEST, max_size=14)


def split(values):
    lower, ratio = best_split(np.sort(np.array([values], float), axis=1))
    return int(lower[0]), float(ratio[0])


def test_by_hand():
    # groups 0, 1, 2 and 10 to 14: sums of squares 2 and 10; altogether 735 - 63² / 8 = 238.875
    lower, ratio = split([10, 11, 12, 13, 14, 0, 1, 2])
    assert lower == 3 and ratio == pytest.approx(12 / 238.875)
    assert are_two(np.array([ratio, 0.07]), 8).tolist() == [True, False]


def test_two_far_values_are_no_group():
    # at best 1 to 5, and 6, 100, 100: sums of squares 10 and 20036 - 206² / 3 = 5890.7
    lower, ratio = split([1, 2, 3, 4, 5, 6, 100, 100])
    assert lower == 5 and ratio == pytest.approx((10 + 20036 - 206**2 / 3) / (20091 - 221**2 / 8))
    assert not are_two(np.array([ratio]), 8)


def test_equal_values_are_one_population():
    assert split([0.1] * 9)[1] == 1


def test_few_values_are_refused():
    with pytest.raises(ValueError, match=r"^7 values; at least 8$"):
        split(range(7))


def squares(values):
    return sum((value - sum(values) / len(values)) ** 2 for value in values)


@given(SAMPLES)
def test_no_other_division_is_better(values):
    ordered = sorted(values)
    lower, ratio = split(values)
    sizes = range(LEAST_GROUP, len(values) - LEAST_GROUP + 1)
    best = min(squares(ordered[:size]) + squares(ordered[size:]) for size in sizes)
    assert ratio == pytest.approx(best / squares(ordered) if squares(ordered) else 1, abs=1e-12)
    assert lower in sizes


@given(SAMPLES, st.floats(0.01, 100), st.floats(-10, 10))
def test_scale_and_position_do_not_matter(values, factor, offset):
    assert split(np.array(values) * factor + offset)[1] == pytest.approx(split(values)[1], abs=1e-9)


def test_samples_are_divided_separately():
    samples = np.sort(np.random.default_rng(3).normal(size=(20, 11)), axis=1)
    together = best_split(samples)
    assert [(int(lower), float(ratio)) for lower, ratio in zip(*together, strict=True)] == list(
        map(split, samples)
    )


@pytest.mark.parametrize("n", [8, 10, 12, 13, 30])
@pytest.mark.parametrize("log_times", ["standard_normal", "standard_t"])
def test_false_alarms(n, log_times):
    rng = np.random.default_rng(n)
    shape = {"size": (20_000, n)} | ({"df": 2} if log_times == "standard_t" else {})
    samples = np.sort(getattr(rng, log_times)(**shape), axis=1)
    # 1 %, and three standard errors of the simulation
    assert are_two(best_split(samples).ratio, n).mean() < 0.01 + 3 * np.sqrt(0.01 * 0.99 / 20_000)


@pytest.mark.parametrize(
    ("n", "slower", "power"), [(8, 4, 0.8), (11, 5, 0.95), (20, 5, 0.95), (30, 15, 0.99)]
)
def test_populations_at_eight_standard_deviations(n, slower, power):
    samples = np.random.default_rng(n).normal(size=(2_000, n)) + 8 * (np.arange(n) < slower)
    assert are_two(best_split(np.sort(samples, axis=1)).ratio, n).mean() > power
