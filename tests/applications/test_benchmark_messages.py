"""Sizes of messages and their content, and the percentiles and the summary time of a benchmark."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.benchmarks import percentile
from workflows.benchmarks.messages import content, netpipe_sizes, pages, powers, wrong_bytes
from workflows.benchmarks.sweep import summary


def test_sizes_of_a_small_sweep():
    assert netpipe_sizes(64, 3) == [0, 1, 2, 4, 8, 13, 16, 19, 29, 32, 35, 61, 64]
    assert netpipe_sizes(64, 0) == [0, 1, 2, 4, 8, 16, 32, 64]
    assert netpipe_sizes(70, 0, between=3) == [0, 1, 2, 4, 8, 16, 20, 24, 28, 32, 40, 48, 56, 64]
    assert powers(70, smallest=8) == [8, 16, 32, 64]


def test_a_whole_sweep_has_each_power_of_two_and_nothing_above_the_largest():
    sizes = netpipe_sizes(1 << 24, 3)
    assert sizes == sorted(set(sizes)) and sizes[-1] == 1 << 24
    assert {1 << place for place in range(25)} <= set(sizes)


@given(st.integers(0, 10_000), st.integers(1, 250), st.integers(1, 2000))
def test_messages_of_other_ranks_and_rounds_differ_in_every_byte(seed, apart, size):
    payload, other = content(seed, size), content(seed + apart, size)
    assert len(payload) == size
    assert wrong_bytes(payload, other) == size and wrong_bytes(payload, payload) == 0


@given(st.integers(0, 250), st.integers(2, 2000), st.data())
def test_one_wrong_byte_is_counted(seed, size, data):
    sent = content(seed, size)
    place = data.draw(st.integers(0, size - 1))
    got = sent[:place] + bytes([(sent[place] + 1) % 256]) + sent[place + 1 :]
    assert wrong_bytes(got, sent) == 1


def test_buffers_are_touched_pages():
    memory = pages(10_000)
    assert len(memory) >= 10_000 and set(memory[:]) == {0xFF}


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=50), st.sampled_from([5, 25, 50, 75, 95]))
def test_percentiles_equal_those_of_numpy(values, share):
    assert percentile(values, share) == pytest.approx(np.percentile(values, share))


def test_every_size_has_the_same_weight_in_the_summary_time():
    base, one_halved = [1e-6, 1e-5, 1e-2], [1e-6, 0.5e-5, 1e-2]
    assert summary(base) / summary(one_halved) == pytest.approx(2 ** (1 / 3))
    assert summary([4.0, 9.0]) == pytest.approx(math.sqrt(36))
