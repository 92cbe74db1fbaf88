"""Peaks and the counts that are indistinguishable from them: multiple comparisons with the best."""

import numpy as np
import pytest
from made_tables import make_tables
from scipy import stats
from small_runs import rows, unplaced

from analysis.runs.settings import Settings
from analysis.statistics.best import may_be_best, pairwise_differences, weighted

SETTINGS = Settings(draws=100)
APART = [(0.98, 1.0, 1.03, 0.99, 1.01, 1.0), (1.0, 1.02, 0.99, 1.01, 0.98, 1.0)]
"""Noise of two counts, by block."""


def peaks(*groups):
    return make_tables(unplaced(*groups), SETTINGS)["peaks"].iloc[0]


def curve(seconds, noise=APART[0], **more):
    """A curve over one interconnect, every second count with the other noise."""
    return [
        row
        for place, (count, time) in enumerate(seconds.items())
        for row in rows("duct", "a", {count: time}, APART[place % 2] if noise is APART[0] else noise, **more)
    ]


@pytest.mark.parametrize(
    ("seconds", "noise", "peak"),
    [
        ({1: 8.0, 2: 4.0, 4: 2.0, 8: 3.0}, APART[0], (4, "4", True)),  # a clear peak is alone in its set
        ({1: 8.0, 2: 4.0, 4: 2.0}, APART[0], (4, "4", False)),  # still rising
        # the set has a gap, and its last count undoes the peak
        ({1: 8.0, 2: 2.0, 4: 2.5, 8: 3.0, 16: 2.01}, APART[0], (2, "2 16", False)),
        ({1: 8.0, 2: 2.0, 4: 2.0}, (1.0,) * 6, (2, "2 4", False)),  # equal times without spread
    ],
)
def test_peak_and_its_set(seconds, noise, peak):
    row = peaks(curve(seconds, noise))
    assert (row["peak_processes"], row["peak_set"], row["reached"]) == peak


def test_a_difference_in_every_sweep_is_significant():
    # both vary by 20 % together, and the second is 1 % slower in every block
    noise = (0.8, 0.9, 1.0, 1.0, 1.1, 1.2)
    row = peaks(curve({1: 8.0, 2: 2.0, 4: 2.02, 8: 9.0}, noise))
    assert row["peak_set"] == "2"


@pytest.mark.parametrize(("blocks", "note"), [(1, "one sample"), (4, "fewer than 5 blocks")])
def test_few_blocks_go_by_the_point_estimate(blocks, note):
    row = peaks(curve({1: 8.0, 2: 4.0, 4: 5.0}, APART[0][:blocks]))
    assert row["note"] == note and row[["peak_set"]].isna().all() and row["reached"]
    assert not peaks(curve({1: 8.0, 2: 5.0, 4: 4.0}, APART[0][:blocks]))["reached"]


@pytest.mark.parametrize(("serial_blocks", "peak_set"), [(4, None), (6, "2")])
def test_a_peak_against_the_serial_run_alone_needs_its_blocks(serial_blocks, peak_set):
    serial = rows("duct", None, {1: 8.0}, APART[1][:serial_blocks])
    row = peaks(serial, rows("duct", "a", {2: 4.0}, APART[0]))
    note = None if peak_set else "fewer than 5 blocks"
    assert row[["peak_set", "note"]].replace({np.nan: None}).tolist() == [peak_set, note]


def test_a_single_run_at_one_count_does_not_show_the_peak():
    few = rows("duct", "a", {4: 5.0}, (1.0,))
    row = peaks(curve({1: 8.0, 2: 4.0}), few)
    assert row["note"] == "fewer than 5 blocks"


@pytest.mark.parametrize(
    ("seconds", "single", "note"),
    [
        ({2: 4.0, 8: 3.0}, {4: 3.5}, "some counts have fewer than 5 blocks"),  # rises from 2 to 8
        ({2: 4.0, 4: 9.0}, {8: 12.0}, "some counts have fewer than 5 blocks"),  # 4 is slower than 2
        ({2: 4.0, 4: 3.0}, {8: 6.0, 16: 7.0, 32: 8.0}, "some counts have fewer than 5 blocks"),  # all slower
        ({2: 4.0, 4: 3.0}, {8: 6.0, 16: 7.0}, "fewer than 5 blocks"),  # two slower runs: a chance of 2/28
        ({2: 4.0, 4: 3.0}, {8: 2.0}, "fewer than 5 blocks"),  # the fastest has a chance of 2/7
        ({2: 4.0, 4: 3.0}, {8: 3.5}, "fewer than 5 blocks"),  # 8 may be as fast as 4
    ],
)
def test_a_single_run_elsewhere_does_not_hide_where_a_curve_ends(seconds, single, note):
    assert peaks(curve(seconds), rows("duct", "a", single, (1.0,)))["note"] == note


@pytest.mark.parametrize(
    ("seconds", "blocks", "note"),
    [
        (2.0, 4, "some counts have fewer than 5 blocks"),  # a chance of 2/210
        (2.0, 2, "fewer than 5 blocks"),  # of 2/28
        (2.97, 4, "fewer than 5 blocks"),  # its slowest run is slower than the fastest run on 4
    ],
)
def test_a_few_runs_at_the_largest_count_show_a_rise_if_all_are_faster(seconds, blocks, note):
    row = peaks(curve({2: 4.0, 4: 3.0}), rows("duct", "a", {8: seconds}, APART[0][:blocks]))
    assert (row["note"], row["reached"]) == (note, False)


@pytest.mark.parametrize(
    ("disturbed", "note"), [(3, None), (7, "other programs disturbed at least half of the runs")]
)
def test_disturbed_runs_do_not_show_the_peak(disturbed, note):
    runs = unplaced(curve({2: 4.0, 4: 5.0}))
    runs["foreign_cores"] = [0.9 if number < disturbed else 0.0 for number in range(len(runs))]
    peak = make_tables(runs, SETTINGS)["peaks"].iloc[0]
    assert (peak["note"] or None) == note or (note is None and peak.isna()["note"])


def test_a_serial_run_of_one_block_takes_no_set_away():
    serial = rows("duct", None, {1: 8.0}, (1.0,))
    row = peaks(serial, curve({2: 4.0, 4: 2.0, 8: 3.0}))
    assert (row["peak_set"], row["reached"]) == ("4", True)


def test_one_count_is_a_peak_not_reached():
    row = peaks(curve({2: 4.0}))
    assert (row["peak_set"], row["reached"]) == ("2", False)


def test_a_band_gives_every_count_that_may_be_least_in_it():
    band = {"kind": "simulated", "blocks": (1,)}
    times = {1: (8, 8, 8), 2: (3, 4, 5), 4: (3.5, 4.5, 5), 8: (5.5, 6, 7)}
    listed = [
        rows("duct", "a", {count: seconds}, seconds_low=low, seconds_high=high, **band)
        for count, (low, seconds, high) in times.items()
    ]
    assert peaks(*listed)["peak_set"] == "2 4"


def test_paired_counts_have_the_paired_t_and_others_welchs():
    rng = np.random.default_rng(0)
    times = rng.normal(0, 1, (2, 8))
    differences = pairwise_differences(times)
    expected = stats.ttest_rel(*times)
    assert differences.mean[0, 1] / np.sqrt(differences.variance[0, 1]) == pytest.approx(expected.statistic)
    assert differences.freedom[0, 1] == expected.df
    apart = np.full((2, 17), np.nan)
    apart[0, :8], apart[1, 8:] = times[0], rng.normal(0, 3, 9)
    differences, expected = (
        pairwise_differences(apart),
        stats.ttest_ind(apart[0, :8], apart[1, 8:], equal_var=False),
    )
    assert differences.mean[0, 1] / np.sqrt(differences.variance[0, 1]) == pytest.approx(expected.statistic)
    assert differences.freedom[0, 1] == pytest.approx(expected.df)


def test_a_sum_of_cases_has_the_spread_of_the_weighted_sum():
    first, second = np.random.default_rng(1).normal(0, 1, (2, 3, 9))
    differences = weighted([pairwise_differences(first), pairwise_differences(second)], [0.25, 0.75])
    assert differences.mean == pytest.approx(
        0.25 * pairwise_differences(first).mean + 0.75 * pairwise_differences(second).mean
    )
    assert differences.variance[0, 1] == pytest.approx(
        0.25**2 * pairwise_differences(first).variance[0, 1]
        + 0.75**2 * pairwise_differences(second).variance[0, 1]
    )
    assert 8 <= differences.freedom[0, 1] <= 16


@pytest.mark.parametrize("counts", [2, 8, 32])
def test_of_equal_counts_each_is_held(counts):
    times = np.random.default_rng(counts).normal(0, 1, (600, counts, 10))
    members = may_be_best(pairwise_differences(times), np.median(times, axis=2).argmin(axis=1), 0.05)
    assert members[:, 0].mean() > 0.93
