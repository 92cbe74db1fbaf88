"""Network benchmarks for real: their tables, wrong payload, a rank that dies, and wrong parameters."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from told import network_of

from analysis.networks.curves import availability, network_table, pair_matrix
from workflows.applications import mpi4py
from workflows.domain import Point
from workflows.measure.running import run
from workflows.study.cases import load_case
from workflows.study.interconnects import load_interconnect

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture
def measure(tmp_path):
    """Run a case on one core, its ranks sharing it; a case may be another folder's."""

    def measure(case, processes, limit=60.0):
        prepared = tmp_path / f"{case.name}-{processes}"
        mpi4py.prepare(case, processes, prepared, None)
        interconnect = load_interconnect("tcp_loopback", ROOT / "config/interconnects")
        point = Point(case.name, "tcp_loopback", processes, processes, nodes=1, cores=1)
        return run(case, point, prepared, interconnect, (), limit)

    return measure


def smoke(name):
    return load_case(f"{name}-smoke", ROOT / "cases")


def table(done, name, processes):
    assert done.problem is None, (done.problem, done.execution.errors)
    point = {"case": f"{name}-smoke", "interconnect": "tcp_loopback", "kind": "measured", "oversubscription": processes,
             "nodes": 1, "processes": processes, "site": None}  # fmt: skip
    return network_table(*network_of(pd.DataFrame([point]), [done.reading.details]))


@pytest.mark.parametrize(
    "name", ["pingpong", "sendrecv", "allreduce", "alltoall", "bcast", "gatherv", "barrier"]
)
@pytest.mark.parametrize("processes", [2, 3])
def test_every_size_has_a_time_and_the_payload_is_right(measure, name, processes):
    done = measure(smoke(name), processes)
    rows = table(done, name, processes)
    assert done.reading.answer == 0
    assert (rows["latency_us"] > 0).all() and (rows["n"] >= 3).all()
    assert (rows["latency_us_p5"] <= rows["latency_us"]).all()
    assert (rows["latency_us"] <= rows["latency_us_p95"]).all()


def test_the_record_tells_where_ranks_were_and_what_memory_they_had(measure):
    done = measure(smoke("pingpong"), 2)
    assert [rank["cores"] for rank in done.placement] == [done.placement[0]["cores"]] * 2
    memory = done.reading.details["memory"]
    assert len(memory) == 2
    for rank in memory:
        assert rank["peak_bytes"] > 1e7 and (rank["locked_bytes"], rank["pinned_bytes"]) == (0, 0)


def test_every_pair_of_three_has_its_place_in_the_matrix(measure):
    rows = table(measure(smoke("pair_matrix"), 3), "pair_matrix", 3)
    square = pair_matrix(rows[rows["bytes"] == 8], "latency_us")
    assert square.shape == (3, 3)
    assert square.isna().to_numpy().diagonal().all() and square.isna().sum().sum() == 3
    assert (square.fillna(0) == square.fillna(0).T).all().all()


def test_pairs_at_once_are_counted(measure):
    rows = table(measure(smoke("simultaneous_pairs"), 4), "simultaneous_pairs", 4)
    assert set(rows["pairs"]) == {1, 2}
    told = rows.dropna(subset="bandwidth_MBps")
    moved = told["bandwidth_MBps"] * told["latency_us"]
    assert (moved.round(6) == 2.0 * told["pairs"] * told["bytes"]).all()


def test_availability_has_an_overhead_at_every_size(measure):
    rows = availability(table(measure(smoke("availability"), 2), "availability", 2))
    assert len(rows) == 18 and rows["overhead_us"].notna().all()


@pytest.fixture
def with_program(tmp_path):
    """The ping-pong with another program."""

    def with_program(text):
        folder = tmp_path / "pingpong"
        folder.mkdir()
        (folder / "pingpong.py").write_text(text)
        return replace(smoke("pingpong"), folder=folder)

    return with_program


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


def test_a_wrong_byte_is_found_in_each_of_the_two_rounds(measure, with_program):
    done = measure(with_program(SPOILT), 2)
    assert done.problem is None and done.reading.answer == 2


DYING = """
import os

from workflows.benchmarks.point_to_point import pingpong_sweep
from workflows.benchmarks.sweep import main

def dying(comm, largest_bytes, perturbation_bytes, seconds):
    for place, task in enumerate(pingpong_sweep(comm, largest_bytes, perturbation_bytes, seconds)):
        if place == 3 and comm.rank == 1:
            {end}
        yield task

main(dying)
"""


@pytest.mark.parametrize(
    ("end", "reason"), [("os.kill(os.getpid(), 9)", "signal 9"), ("1 / 0", "ZeroDivisionError")]
)
def test_a_rank_that_dies_ends_the_run(measure, with_program, end, reason):
    done = measure(with_program(DYING.format(end=end)), 2)
    assert not done.execution.timed_out
    assert done.problem.startswith("exit status ") and reason in done.problem


def test_a_rank_that_hangs_is_ended_at_the_time_limit(measure, with_program):
    done = measure(with_program(DYING.format(end="import time; time.sleep(1000)")), 2, limit=3.0)
    assert done.problem == "stopped at its time limit of 3 s"


def test_a_parameter_that_the_benchmark_does_not_know_is_named(measure):
    case = smoke("pingpong")
    done = measure(replace(case, parameters=case.parameters | {"largest_byte": 8}), 2)
    assert "ValueError: parameter 'largest_byte': this benchmark takes largest_bytes, " in done.problem
