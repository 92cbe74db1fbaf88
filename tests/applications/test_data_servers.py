"""A distributed array with data servers and without: the sum, the servers, where they run, a server that dies."""

import numpy as np
import pytest
from disturbed import reports_death
from hypothesis import given
from hypothesis import strategies as st
from mpi4py_cases import measured, with_program

from workflows.applications import application
from workflows.benchmarks.data_servers import blocks_of_task, density, expected_sum
from workflows.domain import Option, Point
from workflows.measure.attestation import probe
from workflows.measure.running import started_point
from workflows.paths import CASES, INTERCONNECTS
from workflows.study.cases import digest, load_case
from workflows.study.interconnects import load_interconnect

mpi4py = application("mpi4py")


def case(name):
    return load_case(name, CASES)


def test_sum_of_the_array_by_hand():
    # 2 blocks of 3: (0, 1, 2) and (1, 2, 3); task 0 adds blocks 0 and 1 to block 0, task 1 both to block 1
    assert [density(block, 3).tolist() for block in (0, 1)] == [[0, 1, 2], [1, 2, 3]]
    assert [blocks_of_task(task, 2) for task in (0, 1)] == [(0, 1), (1, 0)]
    assert expected_sum(2, 3, 2) == (3 + 6) + (6 + 3)


@pytest.mark.parametrize("size", ["", "-smoke"])
def test_the_golden_answer_is_the_sum_by_its_definition(size):
    tested_case = case(f"data_servers{size}")
    tasks = {name: tested_case.parameters[name] for name in ("blocks", "block_doubles", "tasks")}
    assert tested_case.answer.golden == expected_sum(**tasks)


@given(st.integers(1, 9), st.integers(1, 30), st.integers(0, 40))
def test_the_formula_equals_adding_block_by_block(blocks, block_doubles, tasks):
    fock = np.zeros((blocks, block_doubles))
    for task in range(tasks):
        first, second = blocks_of_task(task, blocks)
        fock[first] += density(first, block_doubles) + density(second, block_doubles)
    assert fock.sum() == expected_sum(blocks, block_doubles, tasks)


def test_server_ranks_are_placed_and_not_counted_as_processes():
    point = Point("one", "tcp", 2, 2, nodes=2, cores=2, servers_per_process=1)
    threads, ranks = (Option("servers", 1, {}, server_ranks=are_ranks) for are_ranks in (False, True))
    assert started_point(point, None) is point and started_point(point, threads) is point
    placed = started_point(point, ranks)
    assert (placed.processes, placed.running, placed.cores) == (4, 4, 2)
    assert (point.processes, point.running) == (2, 4)


def test_the_ways_to_wait_are_runs_of_their_own():
    ways = [case(f"data_servers-smoke{way}") for way in ("", "-polling", "-yielding", "-sleeping")]
    assert len({digest(way) for way in ways}) == 4
    assert mpi4py.environment(ways[1])["NODEWORTH_SERVERS"] == "1"
    assert "NODEWORTH_SERVERS" not in mpi4py.environment(ways[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "processes", "servers", "waiting"),
    [
        ("", 3, 0, None), ("-polling", 1, 1, "receive"), ("-yielding", 2, 1, "receive"), ("-sleeping", 2, 1, "sleep"),
    ],
)  # fmt: skip
def test_the_sum_is_right_with_servers_and_without(tmp_path, way, processes, servers, waiting):
    tested_case = case(f"data_servers-smoke{way}")
    done = measured(tmp_path, tested_case, processes, cores=1 if processes == 3 else 2, servers=servers)
    assert done.problem is None, (done.problem, done.execution.errors)
    assert done.reading.answer == tested_case.answer.golden
    assert len(done.placement) == processes * (1 + servers)
    details = done.reading.details
    assert (details["servers"], details["waiting"]) == (processes * servers, waiting)
    calls = {row["operation"]: row["calls"] for row in details["rows"]}
    if servers:  # 16 blocks put; two blocks of each of 40 tasks and 16 of the sum; 40 results
        assert calls == {"put": 16, "get": 96, "accumulate": 40}
    else:  # only what another process holds is asked for
        tasks = [(task % processes, blocks_of_task(task, 16)) for task in range(40)]
        assert calls == {
            "get": sum(block % processes != rank for rank, blocks in tasks for block in blocks),
            "accumulate": sum(blocks[0] % processes != rank for rank, blocks in tasks),
        }


DYING = """
import os
from workflows.benchmarks import data_servers
from workflows.benchmarks.program import start

serve_one = data_servers.DistributedArrays._serve_one

def dying(self, status):
    if len(self.held) and self.comm.rank == 1 and self.held[0, 0].any():
        os.kill(os.getpid(), 9)
    return serve_one(self, status)

data_servers.DistributedArrays._serve_one = dying
start(data_servers.data_servers)
"""


@pytest.mark.slow
def test_the_probe_runs_where_the_servers_ran_too(tmp_path):
    way = case("data_servers-smoke-sleeping")
    done = measured(tmp_path, way, 2, cores=2, servers=1)
    point = Point(way.name, "tcp_loopback", 2, 2, nodes=1, cores=2, servers_per_process=1)
    joins = load_interconnect("tcp_loopback", INTERCONNECTS)
    attested = probe(started_point(point, way.option), joins, (), done.placement)
    assert attested.problem is None and attested.latency_us > 0


@pytest.mark.slow
def test_a_server_that_dies_ends_the_run_with_the_reason(tmp_path):
    dying = with_program(tmp_path, case("data_servers-smoke-yielding"), DYING)
    done = measured(tmp_path, dying, 1, cores=2, servers=1)
    assert not done.execution.timed_out
    assert reports_death(done.problem, "signal 9")
