"""The bootstrap: shared and separate draws, and the coverage of its intervals."""

import numpy as np
import pytest

from analysis.statistics.bootstrap import median_draws, median_interval, percentile_interval

NAN = np.nan


def draw(times, draws=400, seed=0):
    return median_draws(np.array(times, float), draws, np.random.default_rng(seed))


def test_a_median_of_five_blocks_has_the_right_distribution():
    # the middle one of five draws from {1, ..., 5} is 1 if three or more are: 181 of 3125; 3 in 1281
    medians = draw([[2, 5, 1, 4, 3]], 30_000)
    shares = [(medians == value).mean() for value in (1, 3, 5)]
    assert shares == pytest.approx([181 / 3125, 1141 / 3125, 181 / 3125], abs=0.01)


def test_points_with_the_same_blocks_share_every_draw():
    times = np.array([5.0, 7, 6, 9, 8, 5.5])
    first, second, third = draw([times, 2 * times, times[::-1]])
    assert np.array_equal(second, 2 * first)
    assert not np.array_equal(third, first)


def test_points_with_the_same_missing_block_share_every_draw():
    times = np.array([5, 7, 6, 8, 9, NAN])
    first, second, _ = draw([times, 2 * times, [1, 2, 3, 4, 5, 6]])
    assert np.array_equal(second, 2 * first)


def test_points_without_a_common_block_are_independent():
    times = [1.0, 2, 3, 4, 5, 6]
    first, second = draw([[*times, *[NAN] * 6], [*[NAN] * 6, *times]], 20_000)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.03


def test_a_point_that_lacks_blocks_is_resampled_as_if_alone():
    alone = draw([[3.0, 1, 5, 2, 4]], 40_000)[0]
    among = draw([[NAN, 3.0, 1, 5, 2, 4, NAN], [1.0, 5, 2, 7, 4, 6, 3]], 40_000)[0]
    values = np.unique(alone)
    assert [(among == v).mean() for v in values] == pytest.approx(
        [(alone == v).mean() for v in values], abs=0.015
    )


def test_most_common_blocks_are_still_shared():
    times = np.array([1.0, 2, 3, 4, 5, 6, 7, 8])
    first, second = draw([times, [*times[:-1], NAN]], 20_000)
    assert np.corrcoef(first, second)[0, 1] > 0.75


def test_below_five_blocks_nothing_is_drawn():
    four, five = draw([[1, 2, 3, 4, NAN], [1, 2, 3, 4, 5]])
    assert np.isnan(four).all() and not np.isnan(five).any()


def strata_of_counts(times, draws=2_000):
    """Draws of two counts with a sweep's shared noise; the second is missing in the last sweeps."""
    return median_draws(np.array(times), draws, np.random.default_rng(0), np.array([0, 1]))


def test_counts_of_one_sweep_are_drawn_as_one():
    times = np.array([5.0, 7, 6, 9, 8, 5.5])
    first, second = strata_of_counts([times, 3 * times])
    assert np.array_equal(second, 3 * first)


def test_sweeps_are_drawn_within_strata_that_carry_the_same_counts():
    # of 15 sweeps of one count 10 are of the stratum that carries both: 10 of its median's 15 draws are low
    first, second = strata_of_counts([[1.0] * 10 + [2.0] * 5, [1.0] * 10 + [NAN] * 5])
    assert (first == 1).all() and (second == 1).all()
    apart = draw([[1.0] * 10 + [2.0] * 5])  # drawn from all 15, the median is 2 now and then
    assert 0 < (apart == 2).mean() < 0.2


def test_a_few_sweeps_of_their_own_are_drawn_with_the_others():
    # the sixth sweep lacks a count: it alone would be drawn in every study
    first, second = strata_of_counts([[1.0, 2, 3, 4, 5, 6], [1.0, 2, 3, 4, 5, NAN]])
    assert first.min() < 2 and first.max() > 5 and np.corrcoef(first, second)[0, 1] > 0.5


def test_the_seed_decides():
    times = [[3.0, 1, 2, 5, 4]]
    assert np.array_equal(draw(times), draw(times))
    assert not np.array_equal(draw(times), draw(times, seed=1))


def test_large_draws_are_made_in_parts(monkeypatch):
    monkeypatch.setattr("analysis.statistics.bootstrap.LARGEST", 30)
    medians = draw([[1.0, 2, 3, 4, 5], [2.0, 4, 6, 8, 10]], 95)
    assert not np.isnan(medians).any()
    assert np.array_equal(medians[1], 2 * medians[0])


def test_percentile_interval_takes_order_statistics():
    # 999 draws at 95 %: the 25th from either end
    draws = np.random.default_rng(0).permutation(np.arange(1.0, 1000))[None]
    assert percentile_interval(draws) == (25, 975)


def test_percentile_interval_counts_infinite_draws():
    draws = np.r_[np.arange(1.0, 901), np.full(99, np.inf)][None]
    assert percentile_interval(draws) == (25, np.inf)


def test_percentile_interval_over_a_band_holds_all_scenarios():
    draws = np.stack([np.arange(1.0, 1000), np.arange(101.0, 1100)])
    assert percentile_interval(draws) == (25, 1075)
    assert np.isnan(percentile_interval(np.full((1, 9), NAN))).all()


@pytest.mark.parametrize(
    ("blocks", "rank", "coverage"),
    [(2, 1, 0.5), (5, 1, 0.9375), (6, 1, 0.96875), (10, 2, 1 - 22 / 1024), (30, 10, 0.9572261)],
)
def test_median_interval_states_its_coverage(blocks, rank, coverage):
    times = np.random.default_rng(0).permutation(np.arange(1.0, blocks + 1))[None]
    low, high, stated = median_interval(times)
    assert (low, high) == (rank, blocks + 1 - rank)
    assert stated == pytest.approx(coverage, abs=2e-7)


def test_one_block_has_no_median_interval():
    assert np.isnan(np.hstack(median_interval(np.ones((1, 1))))).all()


def test_intervals_cover_as_stated():
    """300 synthetic studies of 10 blocks: the time's interval, and a paired ratio's."""
    rng = np.random.default_rng(7)
    block = np.exp(rng.normal(0, 0.1, (300, 1, 10)))
    times = np.array([10.0, 8.0])[:, None] * block * np.exp(rng.normal(0, 0.03, (300, 2, 10)))
    low, high, stated = median_interval(times[:, 0])
    assert ((low <= 10) & (high >= 10)).mean() == pytest.approx(stated, abs=0.03)
    draws = np.stack([median_draws(study, 500, rng) for study in times])
    low, high = percentile_interval((draws[:, 0] / draws[:, 1])[:, None])
    assert ((low <= 1.25) & (high >= 1.25)).mean() > 0.92
