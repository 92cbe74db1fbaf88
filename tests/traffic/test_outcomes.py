"""Outcome of messages: accepted load, fairness and delays, by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.domain import InputError
from workflows.traffic.outcomes import jain, outcome
from workflows.traffic.patterns import TrafficJob, numbers
from workflows.traffic.phases import PHASES, seconds_by_size
from workflows.traffic.schedule import MESSAGE

MB = 1_000_000
JOB = TrafficJob("io", np.array([1, 3]), np.array([0, 0]), fixed=True)


def messages(*rows):
    """Messages from (due, process, bytes)."""
    sent = np.zeros(len(rows), MESSAGE)
    for place, (due, process, size) in enumerate(rows):
        sent[place] = (due, process, 0, size, True, 0)
    return sent


def test_only_messages_between_warm_up_and_end_are_accepted():
    # of 10 s, the last 8 are measured
    due = messages((1, 1, 4 * MB), (3, 1, 8 * MB), (4, 3, 16 * MB), (9, 3, 32 * MB), (9.5, 3, 2 * MB))
    figures = outcome(JOB, due, np.array([3.0, 5.0, 1.9, 10.5, math.nan]), 2.0 * MB, 10.0)
    assert figures["offered_MBps"] == (8 + 16 + 32 + 2) / 8 / 2
    assert figures["process"] == [1, 3]
    assert figures["process_MBps"] == [(4 + 8) / 8, 0]
    assert figures["accepted_MBps"] == 0.75
    assert (figures["link_MBps"], figures["accepted_load"]) == (2.0, 0.375)
    assert (figures["targets"], figures["target_MBps"]) == (1, 1.5)
    assert (figures["messages"], figures["completed"], figures["withheld"]) == (5, 4, 1)
    assert figures["completed_bytes"] == 60 * MB
    assert figures["delay_seconds_p50"] == 2.0
    # process 1 had all that was due, process 3 had 16 of 50
    assert figures["fairness"] == pytest.approx((1 + 0.32) ** 2 / (2 * (1 + 0.32**2)))


def test_a_job_of_which_nothing_arrived_has_no_delay_and_no_fairness():
    figures = outcome(JOB, messages((0.5, 1, 10), (0.5, 3, 10)), np.full(2, math.nan), 1.0, 1.0)
    assert (figures["accepted_MBps"], figures["delay_seconds_p50"], figures["fairness"]) == (0, None, None)
    assert outcome(JOB, messages(), np.empty(0), 1.0, 1.0)["offered_MBps"] == 0


def test_fairness_by_hand():
    assert jain(np.array([1.0, 1.0, 1.0])) == 1
    assert jain(np.array([0.0, 5.0, 0.0, 0.0])) == 0.25
    assert jain(np.array([1.0, 2.0, 3.0])) == 36 / (3 * 14)
    assert jain(np.zeros(3)) is None


@given(st.lists(st.floats(0, 1), min_size=1).filter(lambda shares: max(shares) > 1e-6), st.floats(0.1, 10))
def test_fairness_lies_between_one_in_n_and_one_whatever_the_unit(shares, unit):
    fairness = jain(np.array(shares))
    assert 1 / len(shares) - 1e-9 <= fairness <= 1 + 1e-9
    assert jain(unit * np.array(shares)) == pytest.approx(fairness)


def test_numbers_of_a_parameter():
    assert numbers("loads", "0.1 0.5 1.2") == [0.1, 0.5, 1.2]
    assert numbers("loads", 0.3) == [0.3]
    for wrong in ("", "0.1, 0.5"):
        with pytest.raises(InputError, match=f"loads: '{wrong}': must be numbers with blanks between them"):
            numbers("loads", wrong)


def test_phases_of_every_size_and_distribution_and_how_long_they_take():
    given = {"mean_bytes": "1024 16384", "loads": "0.5 1.2", "sizes": "uniform exponential"}
    made = PHASES["uniform"](4, intervals="uniform exponential", **given)
    kinds = {(phase.link_bytes, *(phase.labels[key] for key in ("sizes", "intervals"))) for phase in made}
    assert len(made) == 2 * len(kinds) == 16
    assert seconds_by_size(made, 2.0) == {1024: 0.5, 16384: 2.0}
    with pytest.raises(InputError, match=r"mean_bytes: '1.5 8': must be whole numbers above 0"):
        PHASES["uniform"](4, intervals="uniform", **given | {"mean_bytes": "1.5 8"})
