"""Headline numbers of curves made by hand: time = latency + bytes / rate, with steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.topics.network.curve_numbers import (
    curve_numbers,
    faster_from,
    half_peak,
    loses_from,
    protocol_switches,
)

SIZES = np.array([0.0, *(2.0**place for place in range(25))])


def line(latency_us, rate_MBps, sizes=SIZES):  # noqa: N803
    """Times in µs of a link with this latency and rate (1 MB/s is 1 byte a µs)."""
    return latency_us + sizes / rate_MBps


def bandwidth(times, sizes=SIZES):
    return np.where(sizes > 0, sizes / times, np.nan)


def test_headlines_of_a_plain_link():
    times = line(10.0, 100.0)
    numbers = curve_numbers(SIZES, times, bandwidth(times), link=125.0)
    assert numbers.latency_us == 10.0
    assert numbers.peak_bytes == 2**24 and numbers.peak_bandwidth == pytest.approx(100, rel=1e-3)
    assert numbers.percent_of_link == pytest.approx(80, rel=1e-3)
    # Half of 100 MB/s is reached where the bytes take as long as the latency: 10 µs × 100 B/µs.
    assert numbers.half_peak_bytes == pytest.approx(1000, rel=0.02)
    assert numbers.switches == ()
    assert np.isnan(numbers.loses_from_bytes)


def test_without_a_link_there_is_no_percentage_and_without_0_bytes_no_latency():
    times = line(10.0, 100.0)
    numbers = curve_numbers(SIZES[1:], times[1:], bandwidth(times)[1:])
    assert np.isnan(numbers.percent_of_link) and np.isnan(numbers.latency_us)


def test_half_of_the_peak_between_two_sizes_by_hand():
    # From 1 to 4 MB/s between 16 and 64 bytes: slope 1 in logarithms, so 2 MB/s at 32 bytes.
    assert half_peak(np.array([16.0, 64.0]), np.array([1.0, 4.0])) == pytest.approx(32)
    assert np.isnan(half_peak(np.array([16.0, 64.0]), np.array([3.0, 4.0])))


def test_an_eager_limit_is_found_where_the_time_jumps():
    sizes = SIZES[1:]
    times = line(5.0, 1000.0, sizes) + np.where(sizes >= 65536, 30.0, 0.0)
    assert protocol_switches(sizes, times) == (65536,)


def test_published_curves_switch_at_the_published_size():
    """Doerfler 2005, table 4: a discontinuity at 2 KB of 4x InfiniBand with PCI Express."""
    sizes = np.array([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096], float)
    escher = [4.42, 4.3, 4.3, 4.31, 4.39, 4.45, 5.09, 5.3, 5.83, 6.67, 7.93, 19.14, 21.26]
    assert protocol_switches(sizes, np.array(escher)) == (2048,)


def test_two_switches_and_a_gentle_rise():
    sizes = SIZES[1:]
    times = line(5.0, 1000.0, sizes) + 5.0 * (sizes >= 1024) + 2000.0 * (sizes >= 2**20)
    assert protocol_switches(sizes, times) == (1024, 2**20)


def test_large_messages_that_leave_the_cache():
    sizes, rates = np.array([1.0, 2, 4, 8, 16, 32]), np.array([1.0, 5, 10, 9.8, 6, 4])
    assert loses_from(sizes, rates) == 16
    recovered = np.array([1.0, 5, 10, 6, 6, 9.9])  # the last one is as good as the peak
    assert np.isnan(loses_from(sizes, recovered))


def test_where_one_overtakes_another():
    quick, wide = line(2.0, 100.0), line(10.0, 1000.0)
    # Equal where 2 + s/100 = 10 + s/1000: s = 8 / 0.009 = 889 bytes, so from 1024 on.
    assert faster_from(SIZES, wide, SIZES, quick) == [1024]
    assert faster_from(SIZES, quick, SIZES, wide) == []
    assert faster_from(SIZES[::2], wide[::2], SIZES, quick) == [2048]


def test_times_within_the_margin_change_nothing():
    sizes, steady = np.arange(5), np.full(5, 100.0)
    assert faster_from(sizes, np.array([120.0, 104, 97, 103, 94]), sizes, steady) == [4]
    assert faster_from(sizes, np.array([120.0, 104, 97, 103, 96]), sizes, steady) == []


def test_sizes_of_equal_times_change_nothing():
    sizes = np.array([0.0, 1, 2, 3])
    assert faster_from(sizes, np.array([2.0, 1, 1, 2]), sizes, np.array([1.0, 1, 2, 1])) == [2]


@given(
    st.lists(st.integers(1, 5), min_size=2, max_size=20), st.lists(st.integers(1, 5), min_size=2, max_size=20)
)
def test_two_curves_overtake_each_other_in_turn(steps, other):
    count = min(len(steps), len(other))
    sizes, first, second = np.arange(count), np.array(steps[:count]), np.array(other[:count])
    up, down = faster_from(sizes, first, sizes, second), faster_from(sizes, second, sizes, first)
    assert abs(len(up) - len(down)) <= 1 and not set(up) & set(down)


def test_a_size_after_a_transition_is_no_switch():
    """Published for EKS: the new protocol is a straight line from 256 KiB on; 128 KiB lies above the old line."""
    sizes = 2.0 ** np.arange(15, 22)
    times = np.array([22.785, 25.965, 67.68, 81.455, 142.295, 264.345, 509.065])
    assert protocol_switches(sizes, times) == (2**17,)
