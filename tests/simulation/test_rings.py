"""Rings shared by their nodes: ways by hand, sharing, and the effect of a lost node."""

import pytest
from refused import refusal
from simulated_link import simulated_link

from workflows.domain import InputError
from workflows.simulation.model import make_model
from workflows.simulation.platform import platform_xml
from workflows.simulation.rings import Rings, make_rings


def test_ways_go_round_one_way_along_the_first_dimension_first():
    rings = Rings((3, 3))
    assert rings.ring(5, 0) == [5, 8, 2] and rings.ring(5, 1) == [5, 3, 4]
    ways = rings.routes_from(0)
    assert ways[6] == ((0, 0), (0, 3))  # two stretches on, though it is the node before on the ring
    assert ways[4] == ((0, 0), (1, 3))
    assert len(ways) == 9 and max(map(len, ways.values())) == 4


def test_a_lost_node_breaks_its_rings_and_others_go_round_it():
    rings = make_rings({"dimensions": [3, 3], "lost": [4]})
    assert rings.nodes() == [0, 1, 2, 3, 5, 6, 7, 8]
    # rings 1, 4, 7 and 3, 4, 5 are broken: from 3 to 5, where one would pass 4, by the rings of 0 and of 2
    assert rings.routes_from(3)[5] == ((0, 3), (0, 6), (1, 0), (1, 1), (0, 2))
    whole = Rings((3, 3)).routes_from(3)[5]
    assert whole == ((1, 3), (1, 4))


@pytest.mark.parametrize(
    ("topology", "message"),
    [
        ({"dimensions": [4], "lost": [2]}, "without 2, no unbroken ring leads from node 0 to node 1"),
        ({"dimensions": [2, 2], "lost": [7]}, "7: nodes are numbered 0 to 3"),
    ],
)
def test_nodes_that_cannot_be_lost(topology, message):
    assert refusal(InputError, make_rings, topology) == f"simulate.topology.rings.lost: {message}"


def test_hosts_are_numbered_without_the_lost_ones_and_counted(tmp_path):
    rings = {"dimensions": [3, 3], "lost": [4], "link_MBps": 400}
    model = make_model(simulated_link(topology={"rings": rings}), tmp_path)
    xml = platform_xml(model, 8, 1.0)
    assert '<host id="node-7"' in xml and 'bandwidth="400.0MBps"' in xml
    assert refusal(InputError, platform_xml, model, 9, 1.0) == (
        "simulate.topology.rings: has 8 nodes, 9 are needed"
    )


def test_parts_add_to_the_curve(tmp_path):
    plain, longer = (
        make_model(simulated_link(**more), tmp_path) for more in ({}, {"added_us": {"a": 1, "b": 0.5}})
    )
    before, after = (model.curve.microseconds for model in (plain, longer))
    assert [slow - fast for fast, slow in zip(before, after, strict=True)] == pytest.approx(
        [1.5] * len(before)
    )
    assert longer.curve.bytes_per_us == plain.curve.bytes_per_us
