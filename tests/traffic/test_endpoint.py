"""A process that sends to itself: what is under way, what waits, and what the rows say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpi4py import MPI

from workflows.benchmarks import endpoint as module
from workflows.benchmarks.endpoint import Endpoint
from workflows.traffic.phases import add_slowdown
from workflows.traffic.protocol import WINDOW
from workflows.traffic.schedule import MESSAGE


def to_oneself(*rows):
    """Messages from (due, bytes, write)."""
    found = np.zeros(len(rows), MESSAGE)
    found["seconds"], found["bytes"], found["write"] = zip(*rows, strict=True) if rows else ((), (), ())
    return found


@pytest.fixture
def one():
    found = Endpoint(MPI.COMM_SELF, 100_000)
    yield found
    found.close()


@settings(max_examples=20)
@given(st.lists(st.tuples(st.floats(0, 0.005), st.integers(1, 100_000), st.booleans()), max_size=20))
def test_every_message_that_was_due_in_time_arrives_after_it_was_due(rows):
    one = Endpoint(MPI.COMM_SELF, 100_000)
    messages = to_oneself(*sorted(rows))
    arrived = one.carry(messages, 60.0)
    one.close()
    assert len(arrived) == len(rows)
    assert (arrived >= messages["seconds"]).all()
    assert one.wrong_bytes == 0


def test_no_more_messages_are_under_way_than_the_window_has(one):
    most = []
    issue = one._issue

    def watched(slot, sequence):
        issue(slot, sequence)
        most.append(len(one.under_way))

    one._issue = watched
    one.carry(to_oneself(*[(0, 1000, True)] * 50), 60.0)
    assert max(most) == WINDOW


def test_what_is_due_after_the_end_or_not_taken_in_time_is_never_issued(one):
    arrived = one.carry(to_oneself((0, 10, True), (0.02, 10, False)), 0.01)
    assert np.isnan(arrived).tolist() == [False, True]


def test_a_byte_that_is_not_what_was_sent_is_counted(one):
    right, calls = one._content, []

    def first_is_spoilt(*message):  # the first call is the sender's
        calls.append(right(*message).copy())
        if len(calls) == 1:
            calls[0][[3, 5]] ^= 1
        return calls[-1]

    one._content = first_is_spoilt
    one.carry(to_oneself((0, 64, True)), 60.0)
    assert one.wrong_bytes == 2


def test_bytes_that_client_and_target_count_differently_are_lost(one):
    received = one._received

    def forgets(*message):
        received(*message)
        one.served[0] -= 40

    one._received = forgets
    one.carry(to_oneself((0, 64, True)), 60.0)
    assert one.wrong_bytes == 40


def test_what_never_arrives_is_told_with_the_process_that_is_waited_for(one, monkeypatch):
    monkeypatch.setattr(module, "DRAIN_SECONDS", 0.05)
    one._receive = lambda: None
    with pytest.raises(TimeoutError, match=r"^process 0 waits for process 0 0.05 s after the last message "):
        one.carry(to_oneself((0, 64, True)), 0.01)
    del one._receive
    one._receive()  # so that nothing is under way when it is closed
    while len(one.requests) > module._HEADS:
        one._progress()


def test_slowdown_is_the_bandwidth_alone_over_that_beside_the_other_job():
    def row(job, beside, accepted, mapping="distributed"):
        return {"pattern": "combined", "job": job, "io_mapping": mapping, "application_mapping": "shared",
                "offered_load": 0.5, "beside_load": beside, "accepted_MBps": accepted}  # fmt: skip

    rows = [
        row("compute", None, 120.0), row("compute", 0.1, 60.0), row("io", 0.5, 7.0), row("compute", 0.5, 0.0),
        row("compute", None, 100.0, "clustered_io"), row("compute", 0.1, 80.0, "clustered_io"),
    ]  # fmt: skip
    add_slowdown(rows)
    assert [row.get("slowdown", "none") for row in rows] == ["none", 2.0, "none", None, "none", 1.25]
