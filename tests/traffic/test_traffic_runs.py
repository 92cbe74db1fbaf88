"""Real runs of traffic patterns: every message arrives, at any load, on few and many processes; faults."""

import pytest
from mpi4py_cases import measured, smoke, with_program

from workflows.traffic.patterns import PATTERNS

pytestmark = pytest.mark.slow


def rows_of(done):
    assert done.problem is None, (done.problem, done.execution.errors)
    assert done.reading.answer == 0 and done.reading.seconds > 0
    rows = done.reading.details["rows"]
    assert rows
    for row in rows:
        assert row["completed"] + row["withheld"] == row["messages"]
        assert len(row["process_MBps"]) == len(row["process"]) == row["clients"]
        assert row["accepted_MBps"] == pytest.approx(sum(row["process_MBps"]) / row["clients"])
    return rows


@pytest.mark.parametrize("interconnect", ["shared_memory", "tcp_loopback"])
@pytest.mark.parametrize("name", PATTERNS)
def test_every_message_of_a_pattern_is_right(tmp_path, name, interconnect):
    processes = 8 if name == "combined" else 4  # with one dedicated I/O node, 3 are no two jobs
    rows = rows_of(measured(tmp_path, smoke(name), processes, interconnect))
    assert {row["pattern"] for row in rows} == {name}
    assert all(row["completed"] > 0 for row in rows)


@pytest.mark.parametrize("name", ["hot_spot", "uniform"])
def test_a_load_that_no_network_takes_ends_in_time_with_messages_withheld(tmp_path, name):
    low, high = rows_of(measured(tmp_path, smoke(name), 4, "shared_memory", loads="0.02 50"))
    assert low["withheld"] <= 0.2 * low["messages"]
    assert high["withheld"] > 0.5 * high["messages"]
    assert high["accepted_MBps"] > low["accepted_MBps"]


def test_messages_larger_than_the_buffers_of_mpi(tmp_path):
    large = {"mean_bytes": 2_000_000, "link_MBps": 500, "seconds": 0.2}
    rows_of(measured(tmp_path, smoke("uniform"), 3, "tcp_loopback", **large))


@pytest.mark.parametrize(
    ("name", "processes", "clients"),
    [
        ("transpose", 16, {12}),  # of 4 x 4 the diagonal is left alone
        ("multiple_hot_spots", 64, {56, 64}),  # a dedicated I/O node is no client
    ],
)
def test_many_processes_run_to_the_end(tmp_path, name, processes, clients):
    # on a machine that does other things too
    rows = rows_of(measured(tmp_path, smoke(name), processes, "shared_memory", cores=2, limit=900.0))
    assert {row["clients"] for row in rows} == clients


def test_a_permutation_of_a_count_that_has_none_is_reported(tmp_path):
    done = measured(tmp_path, smoke("transpose"), 3, "shared_memory")
    assert "InputError: processes: 3: transpose needs a power of two" in done.problem


FAULTY = """
import os
import time

from workflows.benchmarks import endpoint
from workflows.benchmarks.traffic import start_pattern

endpoint.DRAIN_SECONDS = 1.0
read_head = endpoint.Endpoint._read_head

def faulty(self, index):
    read_head(self, index)
    if self.comm.rank == 1 and self.schedules == 2:
        {fault}

endpoint.Endpoint._read_head = faulty
start_pattern("uniform")
"""


def ended(folder, fault):
    """Messages of the other ranks when one of four ranks has a fault."""
    case = with_program(folder, smoke("uniform"), FAULTY.format(fault=fault))
    done = measured(folder, case, 4, "shared_memory")
    assert not done.execution.timed_out
    return done.problem


def test_a_rank_that_is_killed_ends_the_run_with_the_reason(tmp_path):
    problem = ended(tmp_path, "os.kill(os.getpid(), 9)")
    # mpirun of Open MPI 4.1.4 itself dies now and then when one of its ranks does.
    assert "signal 9" in problem or problem.startswith("ended by SIG")


def test_a_hanging_rank_is_named_by_waiting_ranks(tmp_path):
    problem = ended(tmp_path, "time.sleep(1000)")
    assert "TimeoutError: process " in problem and "1 s after the last message was issued" in problem
