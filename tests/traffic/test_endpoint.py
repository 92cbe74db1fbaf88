"""A process that sends to itself: messages under way, waiting messages, and rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpi4py import MPI

from workflows.benchmarks import endpoint as module
from workflows.benchmarks.endpoint import Endpoint
from workflows.traffic.phases import add_slowdown
from workflows.traffic.schedule import MESSAGE, WINDOW

WRITE, DONE = 0, 3  # what a head says first


def to_oneself(*rows):
    """Messages from (due, bytes, write)."""
    sent = np.zeros(len(rows), MESSAGE)
    sent["seconds"], sent["bytes"], sent["write"] = zip(*rows, strict=True) if rows else ((), (), ())
    return sent


class FaultyComm:
    """A communicator of this process alone, through which heads (tag 0) pass, and data as a fault leaves them."""

    def __init__(self, fault=None, lost_bytes=0):
        self.comm, self.fault, self.lost_bytes = MPI.COMM_SELF.Dup(), fault, lost_bytes
        self.heads, self.sent = [], []

    def __getattr__(self, name):
        return getattr(self.comm, name)

    def Dup(self):
        return self

    def Isend(self, message, target, tag):
        data, size, datatype = message
        if tag == 0:
            self.heads.append(data[0])
        elif self.fault:
            data = self.fault(data[:size].copy())
            self.sent.append(data)  # MPI reads it later
        return MPI.REQUEST_NULL if data is None else self.comm.Isend([data, size, datatype], target, tag)

    def alltoall(self, counts):
        return [count - self.lost_bytes for count in self.comm.alltoall(counts)]


def carried(comm, *rows, seconds=60.0):
    """The endpoint, closed, after it has carried messages, and when they arrived."""
    endpoint = Endpoint(comm, 100_000)
    arrived = endpoint.carry(to_oneself(*rows), seconds)
    endpoint.close()
    return endpoint, arrived


@settings(max_examples=20)
@given(st.lists(st.tuples(st.floats(0, 0.005), st.integers(1, 100_000), st.booleans()), max_size=20))
def test_every_message_that_was_due_in_time_arrives_after_it_was_due(rows):
    endpoint, arrived = carried(MPI.COMM_SELF, *sorted(rows))
    assert len(arrived) == len(rows)
    assert (arrived >= [due for due, *_ in sorted(rows)]).all()
    assert endpoint.wrong_bytes == 0


def test_no_more_messages_are_under_way_than_the_window_has():
    comm = FaultyComm()
    carried(comm, *[(0, 1000, True)] * 50)
    begun, ended = (np.cumsum([head == kind for head in comm.heads]) for kind in (WRITE, DONE))
    assert begun[-1] == 50 and max(begun - ended) == WINDOW


def test_late_messages_are_never_issued():
    _, arrived = carried(MPI.COMM_SELF, (0, 10, True), (0.02, 10, False), seconds=0.01)
    assert np.isnan(arrived).tolist() == [False, True]


def test_wrong_bytes_are_counted():
    def two_are_spoilt(data):
        data[[3, 5]] ^= 1
        return data

    assert carried(FaultyComm(two_are_spoilt), (0, 64, True))[0].wrong_bytes == 2


def test_bytes_that_client_and_target_count_differently_are_lost():
    assert carried(FaultyComm(lost_bytes=40), (0, 64, True))[0].wrong_bytes == 40


def test_missing_messages_are_reported_with_their_sender(monkeypatch):
    monkeypatch.setattr(module, "DRAIN_SECONDS", 0.05)
    with pytest.raises(TimeoutError, match=r"^process 0 waits for process 0 0.05 s after the last message "):
        carried(FaultyComm(lambda data: None), (0, 64, True), seconds=0.01)


def test_slowdown_is_the_ratio_of_bandwidth_alone_to_bandwidth_with_the_other_job():
    def row(job, load_of_other_job, accepted, mapping="distributed"):
        return {"pattern": "combined", "job": job, "io_mapping": mapping, "application_mapping": "shared",
                "mean_bytes": 64, "offered_load": 0.5, "beside_load": load_of_other_job, "accepted_MBps": accepted}  # fmt: skip

    rows = [
        row("compute", None, 120.0), row("compute", 0.1, 60.0), row("io", 0.5, 7.0), row("compute", 0.5, 0.0),
        row("compute", None, 100.0, "clustered_io"), row("compute", 0.1, 80.0, "clustered_io"),
    ]  # fmt: skip
    add_slowdown([*rows, row("compute", None, 500.0) | {"mean_bytes": 4096}])
    assert [row.get("slowdown", "none") for row in rows] == ["none", 2.0, "none", None, "none", 1.25]
