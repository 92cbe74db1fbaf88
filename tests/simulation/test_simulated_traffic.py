"""Patterns of traffic in simulated time: hand-worked messages, and a case from its schedule to its rows."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from refused import refusal
from simulated_link import simulated_link

from workflows.domain import InputError
from workflows.paths import CASES
from workflows.replay.points import PROGRAMS
from workflows.simulation import programs, traffic
from workflows.simulation.model import make_model
from workflows.simulation.platform import platform_xml
from workflows.simulation.tree import make_tree, route
from workflows.study.cases import load_case
from workflows.traffic.cases import is_pattern
from workflows.traffic.schedule import BUFFERS, HEAD_BYTES, MESSAGE, WINDOW

HEAD = 10e-6 + HEAD_BYTES / 100e6


@pytest.fixture(scope="module")
def program():
    return programs.build(traffic.SOURCE, PROGRAMS)


@pytest.fixture
def network(program, tmp_path):
    def network(processes, per_node=1, **changes):
        model = make_model(simulated_link(**changes), tmp_path)
        platform = platform_xml(model, -(-processes // per_node), 1.0)
        return traffic.Network(program, platform, processes, per_node, "mine")

    return network


def messages(*rows):
    """From (due, process, destination, bytes, write)."""
    sent = np.zeros(len(rows), MESSAGE)
    names = ("seconds", "process", "destination", "bytes", "write")
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        sent[name] = values
    return sent


def test_a_write_is_complete_when_its_target_acknowledges_it(network):
    small, large = messages((0.0, 0, 1, 1000, True)), messages((0.0, 0, 1, 100_000, True))
    arrived = network(2).carry(small, 1.0).arrived
    assert arrived == pytest.approx([10e-6 + 1000 / 100e6 + HEAD], rel=1e-6)
    arrived = network(2).carry(large, 1.0).arrived  # announced, then sent
    assert arrived == pytest.approx([HEAD + 10e-6 + 1e-3 + HEAD], rel=1e-6)


def test_a_read_is_asked_for_and_inside_a_node_it_is_faster(network):
    read = messages((0.5, 0, 1, 1000, False))
    assert network(2).carry(read, 1.0).arrived == pytest.approx([0.5 + HEAD + 20e-6])
    inside = network(2, per_node=2).carry(read, 1.0).arrived
    assert inside == pytest.approx([0.5 + 1e-6 + HEAD_BYTES / 1e9 + 2e-6])


def test_a_client_keeps_its_window_and_stops_at_the_end(network):
    rows = [(0.0, 0, 1, 1_000_000, True)] * (WINDOW + 2)
    done = network(2).carry(messages(*rows), 0.015)
    assert np.isnan(done.arrived[WINDOW:]).all() and not np.isnan(done.arrived[:WINDOW]).any()
    assert np.nanmax(done.arrived) > 0.015  # what is under way is brought to its end
    assert done.cpu_seconds > 0 and 1e6 < done.memory_bytes < 200e6


def test_so_many_messages_are_received_at_once(network):
    """Three large ones to one process: two share its link for 20 ms, the third has it alone."""
    assert BUFFERS == 2
    rows = [(0.0, process, 0, 1_000_000, True) for process in (1, 2, 3)]
    arrived = np.sort(network(4).carry(messages(*rows), 1.0).arrived)
    assert arrived == pytest.approx([0.02, 0.02, 0.03], rel=0.01)


def test_sending_and_receiving_share_the_bandwidth(network):
    rows = [(0.0, 0, 1, 1_000_000, True), (0.0, 1, 0, 1_000_000, True)]
    for changes, seconds in (({}, 0.01), ({"both_ways_MBps": 125}, 0.016), ({"half_duplex": True}, 0.02)):
        for topology in ({}, {"fat_tree": {"down": [2, 2], "up": [2]}}):
            done = network(2, topology=topology, **changes).carry(messages(*rows), 1.0)
            assert done.arrived == pytest.approx([seconds] * 2, rel=0.01)


def test_the_way_up_a_tree_follows_from_the_destination_or_is_spread():
    tree = make_tree({"down": [4, 4, 4], "up": [4, 4]}, 64)
    assert route(tree, 1, 2, False) == ["up-0-1", "down-0-2"]
    assert route(tree, 0, 7, False) == ["up-0-0", "up-1-3", "down-1-7", "down-0-7"]
    assert route(tree, 0, 63, True) == ["up-0-0", "up-1-0", "up-2-0", "down-2-3", "down-1-15", "down-0-63"]
    by_leaf = {route(tree, source, 63 - source, False)[1] for source in range(4)}
    assert len(by_leaf) == 4  # complement leaves a switch over all of its links


def test_routes_that_meet_share_a_link_unless_they_are_spread(network):
    """Nodes 0 and 1 send to 4 and 6: both ways up begin at the same link of their switch."""
    rows = messages((0.0, 0, 4, 1_000_000, True), (0.0, 1, 6, 1_000_000, True))
    tree = {"down": [4, 2], "up": [2]}
    for routing, seconds in (("deterministic", 0.02), ("spread", 0.01)):
        done = network(8, topology={"fat_tree": tree | {"routing": routing}}).carry(rows, 1.0)
        assert done.arrived == pytest.approx([seconds] * 2, rel=0.01)


def test_both_ways_cannot_be_less_than_one(network):
    with pytest.raises(
        InputError, match=r"both_ways_MBps: 99 is less than the bandwidth of a single direction \(100\)"
    ):
        network(2, both_ways_MBps=99)


@pytest.fixture
def simulated(network):
    def simulated(name, processes, **parameters):
        case = load_case(name, CASES)
        case = replace(case, parameters=case.parameters | parameters)
        with ThreadPoolExecutor(2) as pool:
            return traffic.simulate_traffic(network(processes), case, pool)

    return simulated


def test_a_case_comes_to_the_rows_that_a_run_gives(simulated):
    outcome = simulated("uniform-smoke", 4, seconds=0.2)
    low, high = outcome["rows"]
    assert low["link_MBps"] == pytest.approx(100, rel=0.05)
    for row in (low, high):
        assert row["completed"] + row["withheld"] == row["messages"] and row["clients"] == 4
    assert low["accepted_load"] == pytest.approx(0.5, rel=0.25) and low["withheld"] < high["withheld"]
    assert low["accepted_MBps"] < high["accepted_MBps"] < 100
    assert outcome["seconds"] == pytest.approx(1 / high["accepted_MBps"])
    again = simulated("uniform-smoke", 4, seconds=0.2)
    assert again["rows"] == outcome["rows"]


def test_the_compute_job_is_compared_with_itself_alone(simulated):
    rows = simulated("combined-smoke", 8, link_MBps=100)["rows"]
    slowed = [row["slowdown"] for row in rows if row["job"] == "compute" and row["beside_load"]]
    assert slowed and all(slowdown > 0.9 for slowdown in slowed)
    assert {row["link_MBps"] for row in rows} == {100}


def test_a_pattern_needs_a_suitable_number_of_processes(simulated):
    with pytest.raises(InputError, match="processes: 3: transpose needs a power of two"):
        simulated("transpose-smoke", 3)


def test_a_schedule_that_cannot_be_carried_out_is_reported_in_one_line(network):
    message = refusal(InputError, network(2).carry, messages((0.0, 0, 7, 1000, True)), 1.0)
    assert message == "mine: cannot be carried out: a message from 0 to 7, of 2 processes"


def test_messages_share_a_ring_and_each_hop_adds_its_time(network):
    def ended(*rows, **ring):
        rings = {"dimensions": [4], "link_MBps": 1000.0} | ring
        return network(4, topology={"rings": rings}, hop_us=7.0).carry(messages(*rows), 1.0).arrived

    size = 1_000_000
    (near,), (far,) = (ended((0.0, 0, to, size, True)) for to in (1, 3))
    assert near == pytest.approx(2 * HEAD + 1e-5 + size / 100e6, rel=0.02)
    # to 3 the announcement and the data pass two nodes each, to 1 the answer alone does
    assert far - near == pytest.approx(2 * 7e-6, rel=1e-3)
    alone = ended((0.0, 0, 2, size, True))
    both = ended((0.0, 0, 2, size, True), (0.0, 1, 3, size, True), link_MBps=100.0)
    assert both / alone == pytest.approx([2, 2], rel=0.05)  # they meet between nodes 1 and 2
    wide = ended((0.0, 0, 2, size, True), (0.0, 1, 3, size, True))
    assert wide / alone == pytest.approx([1, 1], rel=0.05)


def test_which_cases_are_patterns():
    names = {path.parent.name for path in (CASES / "mpi4py").glob("*/case.yaml")}
    patterns = {name for name in names if is_pattern(load_case(name, CASES))}
    assert patterns == set(traffic.PHASES)
    assert not is_pattern(load_case("elbow_segregated", CASES))
