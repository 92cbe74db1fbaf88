"""Imported blocks in which one interconnect always ran first, while times drift."""

import numpy as np
import pytest

from analysis.curves.outcomes import ORDER_AND_DRIFT
from analysis.curves.point_comparison import compare_points
from analysis.curves.points import Sample

BLOCKS = np.arange(8)
NOISE = 0.002 * np.array([1, -1, 2, 0, -2, 1, 0, -1])
PER_MINUTE = 0.01
"""Drift of the log times per minute."""


def sample(minutes, noise=0.0, order_from="block"):
    """Times of 50 s that drift, started at these minutes."""
    starts = 60.0 * np.asarray(minutes)
    seconds = 50 * np.exp(PER_MINUTE * np.asarray(minutes) + noise)
    return Sample(BLOCKS, seconds, starts=np.stack([starts, starts]), order_from=order_from)


def compared(first, second):
    (comparison,) = compare_points([(first, second, True)], [0.05])
    return comparison


def test_the_drift_between_the_runs_of_a_block_widens_the_interval_and_withholds_the_verdict():
    first = sample(2 * BLOCKS, NOISE)
    second = sample(2 * BLOCKS + 1)
    fixed = compared(first, second)
    assert fixed.withheld == ORDER_AND_DRIFT and fixed.shift.p_value == 1
    # One minute lies between the runs of a block, so the second is 1 % slower without any difference.
    assert -PER_MINUTE - 0.004 < fixed.shift.low < -PER_MINUTE
    assert 0 < fixed.shift.high < 0.004


def test_a_difference_beyond_the_drift_keeps_its_verdict():
    first, second = sample(2 * BLOCKS, NOISE + 0.05), sample(2 * BLOCKS + 1)
    comparison = compared(first, second)
    assert comparison.withheld is None and comparison.shift.low > 0 and comparison.shift.p_value < 0.05


@pytest.mark.parametrize("order_from", ["", "block"])
def test_blocks_in_changing_order_and_blocks_of_nodeworth_are_not_widened(order_from):
    later = 2 * BLOCKS + 1 - 2 * (BLOCKS % 2) * (order_from == "block")  # in odd blocks, the second ran first
    first, second = sample(2 * BLOCKS, NOISE, order_from), sample(later, 0.0, order_from)
    without_starts = first._replace(starts=None), second._replace(starts=None)
    assert compared(first, second) == compared(*without_starts)


def test_dates_without_times_of_day_show_no_drift():
    first, second = sample(2 * BLOCKS, NOISE), sample(2 * BLOCKS)
    one_day = np.zeros((2, len(BLOCKS)))
    dated = first._replace(starts=one_day), second._replace(starts=one_day + 86400)
    without_starts = first._replace(starts=None), second._replace(starts=None)
    assert compared(*dated) == compared(*without_starts)
