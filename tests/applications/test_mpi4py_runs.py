"""Real runs of the network benchmarks: tables, wrong payload, a rank that dies, wrong parameters."""

import pandas as pd
import pytest
from disturbed import reports_death
from mpi4py_cases import measured, smoke, with_program
from runs_with_details import network_of

from analysis.topics.network.curves import availability, network_table, pair_matrix

pytestmark = pytest.mark.slow


def table(done, name, processes):
    assert done.problem is None, (done.problem, done.execution.errors)
    point = {"case": f"{name}-smoke", "interconnect": "tcp_loopback", "kind": "measured", "oversubscription": processes,
             "nodes": 1, "processes": processes, "site": None}  # fmt: skip
    return network_table(*network_of(pd.DataFrame([point]), [done.reading.details]))


@pytest.mark.parametrize(
    "name",
    [
        *("pingpong", "sendrecv", "after_work", "flush", "window"),
        *("allreduce", "alltoall", "bcast", "gatherv", "barrier"),
    ],
)
@pytest.mark.parametrize("processes", [2, 3])
def test_every_size_has_a_time_and_the_payload_is_right(tmp_path, name, processes):
    done = measured(tmp_path, smoke(name), processes)
    rows = table(done, name, processes)
    assert done.reading.answer == 0 and len(rows)
    assert (rows["latency_us"] > 0).all() and (rows["n"] >= 3).all()
    assert (rows["latency_us_p5"] <= rows["latency_us"]).all()
    assert (rows["latency_us"] <= rows["latency_us_p95"]).all()


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_rounds_of_collectives_have_the_right_payload(tmp_path, processes):
    done = measured(tmp_path, smoke("collective_rounds"), processes)
    assert done.problem is None, done.execution.errors
    assert done.reading.answer == 0 and done.reading.seconds > 0


@pytest.mark.parametrize(("processes", "threads"), [(1, 1), (2, 1), (1, 2)])
def test_a_product_of_matrices_by_processes_and_threads(tmp_path, processes, threads):
    """A matrix that is its own inverse: the trace of the product is the number of its rows."""
    cores = processes * threads
    done = measured(
        tmp_path, smoke("matrix_product"), processes, "shared_memory", cores, threads=threads, products=40
    )
    assert done.problem is None, done.execution.errors
    assert done.reading.answer == pytest.approx(480, rel=1e-12)
    assert all(len(rank.get("threads", [0] * threads)) >= threads for rank in done.placement)


def test_the_record_has_placement_and_memory_of_every_rank(tmp_path):
    done = measured(tmp_path, smoke("pingpong"), 2)
    assert [rank["cores"] for rank in done.placement] == [done.placement[0]["cores"]] * 2
    memory = done.reading.details["memory"]
    assert len(memory) == 2
    for rank in memory:
        assert rank["peak_bytes"] > 1e7 and (rank["locked_bytes"], rank["pinned_bytes"]) == (0, 0)


def test_every_pair_of_three_has_its_place_in_the_matrix(tmp_path):
    rows = table(measured(tmp_path, smoke("pair_matrix"), 3), "pair_matrix", 3)
    square = pair_matrix(rows[rows["bytes"] == 8], "latency_us")
    assert square.shape == (3, 3)
    assert square.isna().to_numpy().diagonal().all() and square.isna().sum().sum() == 3
    assert (square.fillna(0) == square.fillna(0).T).all().all()


def test_pairs_at_once_are_counted(tmp_path):
    rows = table(measured(tmp_path, smoke("simultaneous_pairs"), 4), "simultaneous_pairs", 4)
    assert set(rows["pairs"]) == {1, 2}
    streams = rows.dropna(subset="bandwidth_MBps")
    moved = streams["bandwidth_MBps"] * streams["latency_us"]
    assert (moved.round(6) == 2.0 * streams["pairs"] * streams["bytes"]).all()


def test_availability_has_an_overhead_at_every_size(tmp_path):
    rows = availability(table(measured(tmp_path, smoke("availability"), 2), "availability", 2))
    assert len(rows) == 18 and rows["overhead_us"].notna().all()


SPOILT = """
from workflows.benchmarks import point_to_point
from workflows.benchmarks.sweep import main

class Side(point_to_point.Side):
    def fill(self, size):
        right = super().fill(size)

        def fill(number):
            right(number)
            if size == 64 and self.comm.rank == 1:
                self.sent[5] ^= 1

        return fill

point_to_point.Side = Side
main(point_to_point.pingpong_sweep)
"""


def test_a_wrong_byte_is_found_in_each_of_the_two_rounds(tmp_path):
    done = measured(tmp_path, with_program(tmp_path, smoke("pingpong"), SPOILT), 2)
    assert done.problem is None and done.reading.answer == 2


def test_a_rank_that_only_waits_makes_as_many_batches_in_little_time(tmp_path):
    """It iterates as often as the exchanging ranks; otherwise the ranks would wait for each other."""
    done = measured(tmp_path, smoke("after_work"), 3, limit=20.0, seconds=0.02)
    assert len(table(done, "after_work", 3)) == 5


LATE = """
import time

from workflows.benchmarks.point_to_point import Side, _after, exchange
from workflows.benchmarks.sweep import main

def late(comm, longest_us, seconds, memory_bytes):
    def work(us):
        time.sleep(comm.rank * us * 1e-6)

    for task in exchange(Side(comm, 1), 1 - comm.rank, 0, seconds, {}):
        yield _after(work, 20_000, task)

main(late)
"""


def test_waiting_for_a_rank_that_works_longer_does_not_count(tmp_path):
    """The other rank waits for nearly the time of the slower rank; the mean would be half of it."""
    done = measured(tmp_path, with_program(tmp_path, smoke("after_work"), LATE), 2)
    (row,) = table(done, "after_work", 2).to_dict("records")
    assert row["latency_us"] < row["latency_us_highest_rank"] / 4


DYING = """
import os

from workflows.benchmarks.point_to_point import pingpong_sweep
from workflows.benchmarks.sweep import main

def dying(comm, largest_bytes, perturbation_bytes, seconds, between):
    for place, task in enumerate(pingpong_sweep(comm, largest_bytes, perturbation_bytes, seconds, between)):
        if place == 3 and comm.rank == 1:
            {end}
        yield task

main(dying)
"""


@pytest.mark.parametrize(
    ("end", "reason"), [("os.kill(os.getpid(), 9)", "signal 9"), ("1 / 0", "ZeroDivisionError")]
)
def test_a_rank_that_dies_ends_the_run(tmp_path, end, reason):
    done = measured(tmp_path, with_program(tmp_path, smoke("pingpong"), DYING.format(end=end)), 2)
    assert not done.execution.timed_out
    assert reports_death(done.problem, reason)


def test_a_rank_that_hangs_is_ended_at_the_time_limit(tmp_path):
    done = measured(
        tmp_path,
        with_program(tmp_path, smoke("pingpong"), DYING.format(end="import time; time.sleep(1000)")),
        2,
        limit=3.0,
    )
    assert done.problem == "stopped at its time limit of 3 s (limits.run_seconds)"


def test_a_parameter_that_the_benchmark_does_not_know_is_named(tmp_path):
    done = measured(tmp_path, smoke("pingpong"), 2, largest_byte=8)
    assert "ValueError: parameter 'largest_byte': this benchmark takes largest_bytes, " in done.problem


@pytest.mark.parametrize("interconnect", ["tcp_loopback"])
def test_socket_tests_count_bytes_sent_received_and_lost(tmp_path, interconnect):
    done = measured(tmp_path, smoke("sockets"), 2, interconnect)
    assert done.problem is None and done.reading.answer == 0 and done.reading.seconds > 0
    rows = done.reading.details["rows"]
    measurements = {
        (row["transport"], row["test"], row["bytes"], row.get("offered_MBps") is None) for row in rows
    }
    assert measurements == {
        *((transport, "pingpong", size, True) for transport in ("tcp", "udp") for size in (1, 8192)),
        *((transport, "stream", size, True) for transport in ("tcp", "udp") for size in (1024, 8192)),
        *(("udp", "stream", size, False) for size in (1024, 8192)),
    }
    for row in rows:
        if row["test"] == "stream":
            assert 0 < row["received_MBps"] <= row["sent_MBps"] * (1 + 1e-9)
            assert 0 < row["sender_busy"] < 1.5
        if row["transport"] == "udp":
            assert 0 <= row["lost_percent"] < 100
