"""Metrics: numbers worked by hand, and general properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.statistics import metrics

times = st.floats(1e-3, 1e6)


def test_speedup_and_efficiency():
    assert metrics.speedup([100, 30], 120) == pytest.approx([1.2, 4])
    # 8 cores against a reference on 2: ideal is 4
    assert metrics.efficiency([4, 2], [8, 8], 2) == pytest.approx([1, 0.5])


def test_incremental_efficiency():
    # 100 s on 1, 60 s on 2: 1.667 of 2; 40 s on 4: 1.5 of 2
    steps = metrics.incremental_efficiency([100, 60, 40], [1, 2, 4])
    assert np.isnan(steps[0])
    assert steps[1:] == pytest.approx([0.8333333, 0.75])
    # from 4 to 6 processes only 1.5 can be gained
    assert metrics.incremental_efficiency([30, 20], [4, 6])[1] == pytest.approx(1)
    assert metrics.incremental_efficiency([100, 125], [1, 2], "weak")[1] == pytest.approx(0.8)


def test_serial_fraction_of_karp_and_flatt():
    # S = 3 on 4 processes: (1/3 - 1/4) / (1 - 1/4) = 1/9
    assert metrics.serial_fraction(40, 120, 4, 1) == pytest.approx(1 / 9)


@given(st.floats(0, 1), st.integers(1, 64), st.integers(1, 64))
def test_serial_fraction_recovers_that_of_amdahl(fraction, p0, factor):
    def amdahl(p):
        return fraction + (1 - fraction) / p

    p = p0 * (factor + 1)
    assert metrics.serial_fraction(amdahl(p), amdahl(p0), p, p0) == pytest.approx(fraction, abs=1e-6)


def test_serial_fraction_needs_more_cores_than_the_reference():
    assert np.isnan(metrics.serial_fraction([120, 150], 120, [4, 2], 4)).all()


def test_no_serial_fraction_explains_a_run_that_is_too_slow():
    # From 32 to 64 cores: f = 1 for equal times; f grows without bound up to (1 - 1/64) / (1 - 1/32) = 1.0161.
    equal, slower, too_slow = metrics.serial_fraction([100, 101, 102], 100, 64, 32)
    assert equal == pytest.approx(1) and slower > 1 and np.isnan(too_slow)


def test_weak_scaling():
    # ten times the work on ten cores in 12.5 s instead of 10
    scaled = metrics.scaled_speedup(12.5, 10, 10, 1)
    assert scaled == pytest.approx(8)
    assert metrics.efficiency(scaled, 10, 1) == pytest.approx(0.8)


def test_rates():
    assert metrics.rate(32_000 * 100, 2) == pytest.approx(1.6e6)
    assert metrics.runs_per_day(43_200) == pytest.approx(2)


@given(times, times, st.floats(1e-3, 1e3))
def test_a_unit_of_time_changes_nothing(seconds, other, factor):
    assert metrics.speedup(seconds * factor, other * factor) == pytest.approx(metrics.speedup(seconds, other))
    assert metrics.serial_fraction(seconds * factor, other * factor, 8, 2) == pytest.approx(
        metrics.serial_fraction(seconds, other, 8, 2), nan_ok=True
    )
