"""Route load by hand, by walking every route, and by properties of any topology."""

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refusal

from analysis.runs.errors import TableError
from analysis.topics.congestion.loads import (
    accepted_bound,
    congestion_matrix,
    free_of_conflict,
    link_loads,
    pattern_bounds,
    switch_loads,
)
from analysis.topics.congestion.topology import Torus, Tree, fat_tree, k_ary_n_tree, ring, star
from analysis.topics.congestion.waits import link_waits, start_times
from workflows.study.congestion import mean_flows
from workflows.traffic.patterns import PERMUTATIONS, Pattern, jobs_of
from workflows.traffic.schedule import Demand

TOPOLOGIES = [
    star(16), ring(16), ring(9), k_ary_n_tree(2, 4), k_ary_n_tree(4, 2), fat_tree((8, 2), 2), fat_tree((4, 2, 2), 2),
    Tree((2, 2, 4), (3, 2)), Torus((4, 4)), Torus((2, 4, 2)), Torus((5, 3)), Torus((1, 6, 2)),
]  # fmt: skip
ROUTINGS = st.sampled_from(["deterministic", "spread"])


def flows_to(destination, load=1.0):
    return pd.DataFrame({"source": np.arange(len(destination)), "destination": destination, "load": load})


def flows_of(name, processes, load=1.0):
    demand = Demand(load, 1)
    return mean_flows(jobs_of(Pattern(name), processes), {"compute": demand, "io": demand})


def between(links, start_level, end_level):
    chosen = (links["start_level"] == start_level) & (links["end_level"] == end_level)
    return links[chosen]["load"].tolist()


def test_the_trees_of_the_source_have_their_switches():
    # n k^(n-1) switches: figure 2 shows 4-ary trees of dimension 1, 2 and 3
    assert [k_ary_n_tree(4, n).switches() for n in (1, 2, 3)] == [(1,), (4, 4), (16, 16, 16)]
    assert k_ary_n_tree(4, 3).nodes == 64


@pytest.mark.parametrize(("k", "n"), [(2, 3), (3, 3), (4, 3), (2, 5)])
def test_k_ary_n_trees_are_wired_as_petrini_and_vanneschi_define(k, n):
    # their level l is level n - l here; <w, l> and <w', l + 1> are joined where w and w' differ in digit l alone
    links = k_ary_n_tree(k, n).links()
    up = links[(links["start_level"] > 0) & (links["end_level"] > links["start_level"])]

    def digits(switch):
        return [switch // k**place % k for place in range(n - 1)]

    wires = {
        (level, start, end)
        for level, start, end in up[["start_level", "start", "end"]].itertuples(index=False)
    }
    switches = range(k ** (n - 1))
    expected = {
        (level, lower, upper)
        for level in range(1, n)
        for lower in switches
        for upper in switches
        if all(
            a == b
            for place, (a, b) in enumerate(zip(digits(lower), digits(upper), strict=True))
            if place != level - 1
        )
    }
    assert wires == expected and len(up) == len(wires)


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=str)
def test_every_cable_is_there_once_each_way_and_no_switch_has_too_many(topology):
    links = topology.links()
    ends = set(map(tuple, links.to_numpy()))
    assert len(ends) == len(links)
    assert {(*end[2:], *end[:2]) for end in ends} == ends
    if isinstance(topology, Tree):
        for level, down in enumerate(topology.down, start=1):
            at = links[links["end_level"] == level]
            below = at[at["start_level"] < level].groupby("end").size()
            above = at[at["start_level"] > level].groupby("end").size()
            assert (below == down).all() and len(below) == topology.switches()[level - 1]
            assert level == topology.levels or (above == topology.up[level - 1]).all()


def test_complement_on_a_2_ary_3_tree_by_hand():
    # 0-7, 1-6, 2-5, 3-4: every message goes over the top, and every link carries exactly one
    links = link_loads(k_ary_n_tree(2, 3), flows_of("complement", 8), "deterministic")
    assert links["load"].tolist() == [1.0] * 48
    assert switch_loads(links)["load"].tolist() == [4.0] * 4 + [4.0] * 4 + [2.0] * 4


def test_bit_reversal_on_a_2_ary_3_tree_by_hand():
    # only 1 <-> 4 and 3 <-> 6 move. D-mod-k: to 4 and to 6 the way up from level 1 is path 0, to 1 and 3 path 1;
    # from level 2 path d mod 4: 0, 2, 1, 3. No two meet.
    links = link_loads(k_ary_n_tree(2, 3), flows_of("bit_reversal", 8), "deterministic")
    assert between(links, 0, 1) == [0, 1, 0, 1, 1, 0, 1, 0]
    assert between(links, 1, 2) == [1, 0, 1, 0, 0, 1, 0, 1]
    assert between(links, 2, 3) == [1, 0, 1, 0, 0, 1, 0, 1]
    assert free_of_conflict(links)


def test_two_messages_that_d_mod_k_puts_on_one_link_by_hand():
    # 0 and 1 are on one switch, and go to 2 and 6, both up path 0: they share its link, and split evenly they do not
    flows = pd.DataFrame({"source": [0, 1], "destination": [2, 6], "load": [1.0, 1.0]})
    tree = k_ary_n_tree(2, 3)
    deterministic = link_loads(tree, flows, "deterministic")
    assert between(deterministic, 1, 2)[:2] == [2, 0]
    assert accepted_bound(deterministic) == 0.5 and not free_of_conflict(deterministic)
    even = link_loads(tree, flows, "spread")
    assert between(even, 1, 2)[:2] == [1, 1]
    assert between(even, 2, 3)[:4] == [0.25] * 4
    assert between(even, 2, 1)[2:4] == [0.5] * 2 and between(even, 2, 1)[6:] == [0.5] * 2
    assert free_of_conflict(even)


def test_packets_wait_for_the_ones_before_them_on_their_link_by_hand():
    # on link 3: sent at 0, 10, 20, and again when the next comes at 45; on link 9 nothing is before
    link, time = np.array([3, 9, 3, 3, 3]), np.array([0, 7, 2, 4, 45])
    assert start_times(link, time, 10).tolist() == [0, 7, 10, 20, 45]
    assert start_times(link[:0], time[:0], 10).tolist() == []


def test_waits_of_one_link_follow_queueing_theory():
    # Pollaczek and Khinchine: packets of equal length at random moments wait rho / (2 (1 - rho)) of their time
    rng, share, count = np.random.default_rng(1), 0.8, 400_000
    time = np.sort(rng.integers(0, int(count * 1000 / share), count))
    waits = start_times(np.zeros(count, int), time, 1000) - time
    assert waits.mean() / 1000 == pytest.approx(share / (2 * (1 - share)), rel=0.03)


def test_packets_of_a_permutation_without_conflict_wait_nowhere_and_others_at_the_link_that_they_share():
    tree = k_ary_n_tree(4, 3)
    free, shared = (flows_of(name, 64) for name in ("complement", "bit_reversal"))
    waits, links = {}, {}
    for name, flows in (("free", free), ("shared", shared)):
        links[name] = link_loads(tree, flows, "deterministic")
        waits[name] = link_waits(tree, flows, links[name])
    assert not waits["free"]["wait"].any() and waits["free"]["packets"].min() > 0
    # four messages meet on the way up from the first level: they wait where they come in from their nodes
    waited = links["shared"][waits["shared"]["wait"] > 0]
    assert {tuple(row) for row in waited[["start_level", "end_level"]].to_numpy()} == {(0, 1)}
    passed = waits["shared"]["packets"] > 0
    assert (passed == (links["shared"]["load"] > 0)).all()


def test_all_to_the_next_on_a_ring_loads_one_way_alone():
    links = link_loads(ring(6), flows_to((np.arange(6) + 1) % 6), "deterministic")
    assert links["load"].tolist() == [1] * 6 + [1] * 6 + [1] * 6 + [0] * 6


def test_across_an_even_ring_spread_goes_both_ways():
    flows = flows_to((np.arange(6) + 3) % 6)
    ahead = link_loads(ring(6), flows, "deterministic")
    assert ahead["load"].tolist()[12:] == [3] * 6 + [0] * 6
    assert link_loads(ring(6), flows, "spread")["load"].tolist()[12:] == [1.5] * 12


def test_dimension_order_on_a_torus_by_hand():
    # from (0, 0) to (3, 2) in 4 x 5: one step back along the first dimension, then two forth along the second
    torus = Torus((4, 5))
    flows = pd.DataFrame({"source": [0], "destination": [17], "load": [0.5]})
    links = link_loads(torus, flows, "deterministic")
    used = links[links["load"] > 0]
    assert set(used["load"]) == {0.5}
    assert used.drop(columns="load").to_numpy().tolist() == [
        [0, 0, 1, 0], [1, 17, 0, 17], [1, 0, 1, 15], [1, 15, 1, 16], [1, 16, 1, 17],
    ]  # fmt: skip


def test_a_blocking_tree_holds_back_by_its_ratio():
    # 2:1, 64 nodes: all of a switch's 16 messages leave it over 8 links
    tree = fat_tree((16, 4), 2)
    assert tree == Tree((16, 4), (8,)) and tree.switches() == (4, 8)
    assert accepted_bound(link_loads(tree, flows_of("complement", 64), "spread")) == 0.5
    assert accepted_bound(link_loads(tree, flows_of("neighbor", 64), "spread")) == 1


def test_a_hot_spot_is_bound_by_its_own_link_everywhere():
    for topology in (star(64), k_ary_n_tree(4, 3), Torus((4, 4, 4)), ring(64)):
        links = link_loads(topology, flows_of("hot_spot", 64), "spread")
        assert accepted_bound(links) == pytest.approx(1 / 63)


def test_which_permutations_of_the_source_are_free_of_conflict():
    # neighbor, butterfly and complement reach the highest bandwidth there, shuffle, transpose and bit-reversal do not
    tree = k_ary_n_tree(4, 3)
    links = {name: link_loads(tree, flows_of(name, 64), "deterministic") for name in PERMUTATIONS}
    free = {name for name in links if free_of_conflict(links[name])}
    assert free == {"neighbor", "butterfly", "complement"}
    assert links["bit_reversal"]["load"].max() == links["transpose"]["load"].max() == 4


@given(st.sampled_from([(2, 4), (4, 2), (3, 2), (4, 3)]), st.randoms(use_true_random=False))
def test_spread_routes_any_permutation_at_full_rate_in_a_k_ary_n_tree(shape, random):
    tree = k_ary_n_tree(*shape)
    destination = list(range(tree.nodes))
    random.shuffle(destination)
    assert free_of_conflict(link_loads(tree, flows_to(destination), "spread"))


@given(st.integers(1, 63))
def test_d_mod_k_routes_every_shift_without_conflict(distance):
    # the claim of Zahavi and others for full trees
    flows = flows_to((np.arange(64) + distance) % 64)
    assert free_of_conflict(link_loads(k_ary_n_tree(4, 3), flows, "deterministic"))


def walked_in_tree(tree, source, destination, load, spread):
    """Links and loads of a flow, step by step: up where the switch is not above the destination, else down."""
    onward = {}
    for *start, level, end in tree.links().itertuples(index=False):
        onward.setdefault(tuple(start), []).append((level, end))

    def above_destination(level, number):
        return number // tree.paths(level) == destination // tree.below(level)

    here, goal = [((0, source), load)], (0, destination)
    while here:
        (place, part), *here = here
        ways = onward[place]
        if above_destination(*place):
            chosen = [to for to in ways if to[0] < place[0] and above_destination(*to)]
            assert len(chosen) == 1
        else:
            up = sorted(to for to in ways if to[0] > place[0])
            port = destination // tree.paths(place[0]) % len(up)
            chosen = up if spread else [up[port]]
        for to in chosen:
            yield (*place, *to), part / len(chosen)
            if to != goal:
                here.append((to, part / len(chosen)))


def walked_in_torus(torus, source, destination, load, spread):
    """Links and loads of a flow, step by step, once for each way round that it may take in each dimension."""
    at, to = (list(map(int, np.unravel_index(node, torus.sizes))) for node in (source, destination))
    ways = []
    for size, begin, end in zip(torus.sizes, at, to, strict=True):
        ahead, back = (end - begin) % size, (begin - end) % size
        both = spread and ahead == back and size > 2
        ways.append([(1, ahead), (-1, back)] if both else [(1, ahead)] if ahead <= back else [(-1, back)])
    routes = list(itertools.product(*ways))
    yield (0, source, 1, source), load
    yield (1, destination, 0, destination), load
    for route in routes:
        place = list(at)
        for dimension, (step, hops) in enumerate(route):
            for _ in range(hops):
                before = np.ravel_multi_index(place, torus.sizes)
                place[dimension] = (place[dimension] + step) % torus.sizes[dimension]
                yield (1, int(before), 1, int(np.ravel_multi_index(place, torus.sizes))), load / len(routes)


FLOWS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.floats(0.125, 4)), min_size=1, max_size=8)


@settings(max_examples=150)
@given(st.sampled_from(TOPOLOGIES), FLOWS, st.booleans())
def test_loads_equal_those_of_routes_walked_step_by_step(topology, flows, spread):
    walked = walked_in_tree if isinstance(topology, Tree) else walked_in_torus
    expected = Counter()
    for source, destination, load in flows:
        if source != destination:
            for link, part in walked(topology, source, destination, load, spread):
                expected[link] += part
    table = pd.DataFrame(flows, columns=["source", "destination", "load"])
    links = link_loads(topology, table, "spread" if spread else "deterministic")
    loads = {tuple(map(int, row[:4])): row[4] for row in links.to_numpy() if row[4] > 1e-12}
    assert loads == pytest.approx(dict(expected))


@settings(max_examples=60)
@given(st.sampled_from(TOPOLOGIES), ROUTINGS, st.randoms(use_true_random=False))
def test_flow_is_conserved_in_switches_and_arrives_at_nodes(topology, routing, random):
    pairs = [(random.randrange(topology.nodes), random.randrange(topology.nodes)) for _ in range(400)]
    flows = pd.DataFrame(pairs, columns=["source", "destination"]).assign(load=0.5)
    links = link_loads(topology, flows, routing)
    into = links[links["end_level"] > 0].groupby(["end_level", "end"])["load"].sum()
    out = links[links["start_level"] > 0].groupby(["start_level", "start"])["load"].sum()
    assert into.to_numpy() == pytest.approx(out.to_numpy())
    away = flows[flows["source"] != flows["destination"]]
    for level, end in (("start_level", "source"), ("end_level", "destination")):
        node = links[links[level] == 0].groupby(level.removesuffix("_level"))["load"].sum()
        sums = np.bincount(away[end], away["load"], topology.nodes)
        assert node.to_numpy() == pytest.approx(sums)


@settings(max_examples=30)
@given(st.sampled_from(TOPOLOGIES), ROUTINGS, st.floats(0.1, 3))
def test_loads_grow_with_the_flows_and_the_bound_falls(topology, routing, factor):
    flows = flows_of("uniform", topology.nodes)
    base_loads = link_loads(topology, flows, routing)
    more = link_loads(topology, flows.assign(load=factor * flows["load"]), routing)
    assert more["load"].to_numpy() == pytest.approx(factor * base_loads["load"].to_numpy())
    assert accepted_bound(more) == pytest.approx(min(1, 1 / (factor * base_loads["load"].max())))


@pytest.mark.parametrize("topology", [k_ary_n_tree(4, 3), Torus((4, 4, 4))], ids=str)
@pytest.mark.parametrize("routing", ["deterministic", "spread"])
def test_many_flows_are_merged_without_changing_a_load(topology, routing):
    # the same traffic in one table, and added up from tables that are too short to be merged
    flows = flows_of("uniform", 64)
    parts = [link_loads(topology, flows[start::40], routing)["load"] for start in range(40)]
    assert sum(parts).to_numpy() == pytest.approx(link_loads(topology, flows, routing)["load"].to_numpy())


def test_uniform_traffic_on_a_torus_has_the_known_bound():
    # k even, n dimensions: channel load k/8 of what nodes inject towards all nodes, themselves included
    # (Dally, Towles 2004, section 3.3); without themselves times N / (N - 1)
    links = link_loads(Torus((8, 8)), flows_of("uniform", 64), "spread")
    between_switches = links[(links["start_level"] == 1) & (links["end_level"] == 1)]
    assert between_switches["load"].to_numpy() == pytest.approx(8 / 8 * 64 / 63)


def test_the_matrix_has_a_block_a_switch_and_is_normalised():
    tree = k_ary_n_tree(4, 3)
    links = link_loads(tree, flows_of("bit_reversal", 64), "deterministic")
    matrix = congestion_matrix(links)
    ports, switches = matrix[matrix["side"] != "switch"], matrix[matrix["side"] == "switch"]
    sides = [(1, "above"), (1, "below"), (2, "above"), (2, "below"), (3, "below")]
    assert ports.groupby(["level", "side"]).size().to_dict() == dict.fromkeys(sides, 64)
    assert ports["port"].max() == 3 and len(switches) == 48
    assert ports["share"].max() == switches["share"].max() == 1
    sums = ports.groupby(["level", "switch"])["load"].sum()
    assert switches["load"].to_numpy() == pytest.approx(sums.to_numpy())
    assert ports["load"].to_numpy() == pytest.approx(ports["share"].to_numpy() * 4)


def test_complement_loads_all_switches_of_a_level_equally():
    # as in figure 15 (a) of the source
    tree = k_ary_n_tree(4, 3)
    matrix = congestion_matrix(link_loads(tree, flows_of("complement", 64), "deterministic"))
    shares = matrix[matrix["side"] == "switch"].groupby("level")["share"].unique()
    assert [list(share) for share in shares] == [[1], [1], [0.5]]


def test_a_matrix_without_flows_is_zero():
    matrix = congestion_matrix(link_loads(star(4), flows_to(range(4)), "spread"))
    assert (matrix["share"] == 0).all()


def test_bounds_of_several_patterns_stand_in_one_table():
    flows = {name: flows_of(name, 64) for name in ("complement", "shuffle")}
    tree, half = (
        pattern_bounds(topology, flows).set_index(["pattern", "routing"])
        for topology in (k_ary_n_tree(4, 3), fat_tree((16, 4), 2))
    )
    assert len(tree) == len(half) == 4
    assert tree.loc[("shuffle", "deterministic"), "accepted_bound"] == 0.5
    assert tree.loc[("shuffle", "spread"), "free_of_conflict"]
    assert half.loc[("complement", "spread"), "highest_link_load"] == 2


def test_a_blocking_ratio_that_divides_no_links_is_refused():
    message = refusal(TableError, fat_tree, (16, 4), 3)
    assert message == "blocking ratio 3: does not divide the 16 links down of a switch"
