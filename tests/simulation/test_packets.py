"""Packets one by one: latencies, shares and blocking worked by hand, and impossible events."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refused import refusal
from simulated_link import simulated_link

from workflows.domain import InputError
from workflows.paths import CASES, CONFIG, INTERCONNECTS, ROOT
from workflows.replay.points import PROGRAMS
from workflows.simulation import packets, programs, replayer, traffic
from workflows.simulation.fit import fit_table
from workflows.simulation.model import check_section, make_model
from workflows.study.asked import read_asked
from workflows.study.cases import load_case
from workflows.study.interconnects import load_interconnect
from workflows.traffic.schedule import HEAD_BYTES, MESSAGE

PACKETS = {
    "link_MBps": 100.0,
    "payload_bytes": 100,
    "overhead_bytes": 10,
    "virtual_channels": 2,
    "buffer_bytes": 220,  # a group is a whole packet of 1.1 µs
    "switch_us": 0.05,
    "turn_bytes": 1,
    "acknowledged": False,
    "arbitration": "first_come",
    "age_step_us": 1e-6,
    "keeps_channel": False,
}
TREE = {"fat_tree": {"down": [4, 4, 4], "up": [4, 4], "routing": "deterministic"}}
START = 2.0
EMPTY = 0.1
NEAREST = EMPTY + 0.05
"""Microseconds: before a message's first packet, of an empty packet, and of it to a node at the same switch."""
LARGE = 10**9


@pytest.fixture(scope="module")
def program():
    return programs.build(packets.SOURCE, PROGRAMS)


@pytest.fixture(scope="module")
def network(program):
    def network(processes, topology=TREE, simulate=(), per_node=1, **changes):
        model = make_model(
            simulated_link(
                two_points={"latency_us": START + _nearest(topology), "peak_MBps": 100.0},
                eager_limit_bytes=LARGE,
                topology=topology,
                packets=PACKETS | changes,
                **dict(simulate),
            ),
            ROOT,
        )
        text = packets.network_text(model, -(-processes // per_node))
        return traffic.Network(program, text, processes, per_node, "mine")

    return network


def _nearest(topology):
    return NEAREST + (0.05 if "torus" in topology else 0)


def messages(*rows):
    """From (due in µs, process, destination, bytes)."""
    sent = np.zeros(len(rows), MESSAGE)
    for place, (due, process, destination, size) in enumerate(rows):
        sent[place] = (due * 1e-6, process, destination, size, True, 0)
    return sent


def arrived_us(network, *rows):
    """When the data of each message was there; the answer of an idle network is taken off."""
    return network.carry(messages(*rows), 1.0).arrived * 1e6


def answer(switches):
    return START + switches * 0.05 + (HEAD_BYTES + 10) / 100


@pytest.mark.parametrize(("destination", "switches"), [(1, 1), (4, 3), (63, 5)])
def test_a_packet_passes_a_switch_while_it_still_comes(network, destination, switches):
    (took,) = arrived_us(network(64), (0, 0, destination, 100))
    assert took == pytest.approx(START + switches * 0.05 + 110 / 100 + answer(switches), abs=1e-9)


@pytest.mark.parametrize(("destination", "switches"), [(1, 2), (7, 2), (4, 5), (63, 3), (36, 9)])
def test_in_a_torus_a_packet_goes_the_shorter_way_round_each_dimension(network, destination, switches):
    (took,) = arrived_us(network(64, {"torus": {"dimensions": [8, 8]}}), (0, 0, destination, 100))
    assert took == pytest.approx(START + switches * 0.05 + 1.1 + answer(switches), abs=1e-9)


@pytest.mark.parametrize("buffer_bytes", [44, 74, 220, 2000])
def test_buffers_smaller_than_a_packet_hold_a_message_up_nowhere(network, buffer_bytes):
    (took,) = arrived_us(network(64, buffer_bytes=buffer_bytes), (0, 0, 63, 1000))
    assert took == pytest.approx(START + 5 * 0.05 + 10 * 1.1 + answer(5), abs=1e-9)


def test_a_way_that_is_held_until_the_acknowledgement_costs_its_round_trip(network):
    """With one channel the next packet waits for it; with two it passes meanwhile."""
    switches, size = 5, 10_000
    (alone,) = arrived_us(network(64, virtual_channels=1, acknowledged=True), (0, 0, 63, size))
    assert alone == pytest.approx(START + 100 * (1.1 + 0.25) + 99 * 0.25 + answer(5), abs=1e-6)
    (two,) = arrived_us(network(64, acknowledged=True), (0, 0, 63, size))
    assert two == pytest.approx(START + switches * 0.05 + 100 * 1.1 + answer(5), abs=1e-6)


def test_two_messages_share_a_link_and_the_larger_then_has_it_alone(network):
    size = 100_000
    rows = [(0, 1, 0, size), (0, 2, 0, size // 2)]
    large, small = arrived_us(network(4, {}), *rows)
    assert small == pytest.approx(1000 * 1.1, rel=0.02)
    assert large == pytest.approx(1500 * 1.1, rel=0.02)


@pytest.mark.parametrize(("channels", "begins"), [(1, 2.05 + 100.1 + 1.1), (2, 5.0)])
def test_a_blocked_packet_blocks_the_next_one_unless_there_is_another_channel(network, channels, begins):
    """A large packet goes to node 2; behind it a small one of node 0, behind that one to node 3, which is idle."""
    rows = [(0, 1, 2, 10_000), (1, 0, 2, 100), (3, 0, 3, 100)]
    took = arrived_us(
        network(4, {}, virtual_channels=channels, payload_bytes=10_000, buffer_bytes=2000), *rows
    )
    assert took[2] == pytest.approx(begins + 0.05 + 1.1 + answer(1), abs=1e-9)


@pytest.mark.parametrize(("routing", "times"), [("deterministic", 2), ("adaptive", 1)])
def test_packets_avoid_a_busy_way_up(network, routing, times):
    """To 4 and 8 both ways up are the first one by the destination."""
    tree = {"fat_tree": TREE["fat_tree"] | {"routing": routing}}
    rows = [(0, 0, 4, 100_000), (0, 1, 8, 100_000)]
    for took in arrived_us(network(64, tree), *rows):
        assert took == pytest.approx(times * 1000 * 1.1, rel=0.03)


@pytest.mark.parametrize("acknowledged", [False, True])
def test_a_hot_spot_receives_the_rate_of_its_link(network, acknowledged):
    rows = [(0, sender, 0, 20_000) for sender in range(1, 16)]
    done = arrived_us(network(64, acknowledged=acknowledged), *rows)
    assert done.max() == pytest.approx(15 * 200 * 1.1, rel=0.03)


def test_the_oldest_first_is_fair_to_senders_that_are_far(network):
    """One sender at the switch of node 0, and twelve that come down to it by four links."""
    tree = {"fat_tree": {"down": [4, 4], "up": [4], "routing": "adaptive"}}
    rows = [(0, sender, 0, 20_000) for sender in (1, *range(4, 16))]
    first, oldest = (
        arrived_us(network(16, tree, arbitration=way), *rows) for way in ("first_come", "oldest")
    )
    assert oldest.max() == pytest.approx(first.max(), rel=0.01)
    # by turns of those that wait at its switch the near one has two of ten; by age less
    assert first[0] < 0.6 * first[1:].min()
    assert oldest[0] > 1.2 * first[0]


def test_coarse_ages_are_no_more_than_an_order_of_coming(network):
    tree = {"fat_tree": {"down": [4, 4], "up": [4], "routing": "adaptive"}}
    rows = [(0, sender, 0, 20_000) for sender in (1, *range(4, 16))]
    first = arrived_us(network(16, tree), *rows)
    coarse = arrived_us(network(16, tree, arbitration="oldest", age_step_us=1e6), *rows)
    np.testing.assert_array_equal(coarse, first)


@pytest.mark.parametrize(("kept", "firsts"), [(False, {2000}), (True, {1000, 2000})])
def test_a_packet_that_keeps_its_channel_waits_for_it_though_another_is_free(network, kept, firsts):
    """Of two senders' packets the first has node 2's link alone where both began by the same channel."""
    mine = network(4, {}, payload_bytes=100_000, buffer_bytes=2000, keeps_channel=kept)
    delays = set()
    for drawn in range(8):
        before = [(0, 3, 1, 1)] * drawn
        first, second = arrived_us(mine, *before, (500, 0, 2, 100_000), (501, 1, 2, 100_000))[drawn:]
        assert second == pytest.approx(2500, rel=0.02)
        delays.add(round(first - 500, -3))
    assert delays == firsts


def test_sending_and_receiving_packets_share_the_bandwidth(network):
    rows = [(0, 0, 1, 100_000), (0, 1, 0, 100_000)]
    assert arrived_us(network(4, {}), *rows) == pytest.approx([1100] * 2, rel=0.02)
    shared = arrived_us(network(4, {}, simulate={"both_ways_MBps": 125}), *rows)
    assert shared == pytest.approx([1600] * 2, rel=0.02)


def test_messages_of_a_node_take_turns_of_the_given_length(network):
    rows = [(0, 0, 1, 50_000), (0, 0, 2, 50_000)]
    assert arrived_us(network(4, {}), *rows) == pytest.approx([1100] * 2, rel=0.02)
    assert arrived_us(network(4, {}, turn_bytes=50_000), *rows) == pytest.approx([550, 1100], rel=0.02)


RINGS = [[5], [8], [4, 4], [2, 3, 4]]


@pytest.mark.parametrize("sizes", RINGS)
@pytest.mark.parametrize("acknowledged", [False, True])
def test_a_torus_whose_packets_all_go_round_its_ends_does_not_deadlock(network, sizes, acknowledged):
    """Everyone sends as far as it is, the same way round, with buffers smaller than a packet."""
    grid = np.arange(np.prod(sizes)).reshape(sizes)
    targets = np.roll(grid, [-(size // 2) for size in sizes], range(len(sizes)))
    pairs = zip(grid.ravel(), targets.ravel(), strict=True)
    rows = [(0, source, target, 3000) for source, target in pairs if source != target]
    ring = network(grid.size, {"torus": {"dimensions": sizes}}, buffer_bytes=44, acknowledged=acknowledged)
    assert not np.isnan(arrived_us(ring, *rows)).any()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(0, 15), st.integers(0, 15), st.integers(1, 3000)),
        min_size=1,
        max_size=40,
    ),
    st.sampled_from([{"torus": {"dimensions": [4, 4]}}, {"fat_tree": {"down": [4, 4], "up": [2]}}, {}]),
    st.sampled_from([2, 3, 5]),
    st.sampled_from([20, 54, 220]),
    st.booleans(),
)
def test_all_bytes_arrive_not_too_soon_and_the_same_again(
    network, rows, topology, channels, buffer, acknowledged
):
    rows = sorted((due, source, to, size) for due, source, to, size in rows if source != to)
    changes = {"virtual_channels": channels, "buffer_bytes": buffer, "acknowledged": acknowledged}
    mine = network(16, topology, **changes)
    took = arrived_us(mine, *rows)
    assert not np.isnan(took).any()
    for (due, _, _, size), end in zip(rows, took, strict=True):
        assert end >= due + 2 * START + (size + 10 * -(-size // 100)) / 100 - 1e-6
    np.testing.assert_array_equal(took, arrived_us(mine, *rows))


def test_large_data_waits_for_a_buffer_of_its_receiver(program):
    model = make_model(simulated_link(packets=PACKETS), ROOT)
    mine = traffic.Network(program, packets.network_text(model, 4), 4, 1, "mine")
    took = np.sort(arrived_us(mine, *[(0, sender, 0, 100_000) for sender in (1, 2, 3)]))
    assert took == pytest.approx([2200, 2200, 3300], rel=0.03)


def test_inside_a_node_messages_use_its_memory(network):
    (took,) = arrived_us(network(2, per_node=2), (0, 0, 1, 1000))
    assert took == pytest.approx(1 + 1 + 1 + HEAD_BYTES / 1000)


def test_a_model_repeats_the_two_points_that_it_was_made_of():
    qsnet = make_model(load_interconnect("quadrics_elan3_packets", INTERCONNECTS, "here"), ROOT)
    table = fit_table(programs.build(replayer.SOURCE, PROGRAMS), qsnet)
    assert table["error_percent"].iloc[0] == pytest.approx(0, abs=1e-6)
    assert table["error_percent"].iloc[-1] == pytest.approx(100 * (335 / (400 * 320 / 378) - 1), abs=0.1)


def test_a_pattern_comes_to_the_rows_of_a_run(network):
    case = load_case("uniform-smoke", CASES)
    case = replace(case, parameters=case.parameters | {"seconds": 0.02})
    with ThreadPoolExecutor(2) as pool:
        outcome = traffic.simulate_traffic(network(8, {}), case, pool)
    low, high = outcome["rows"]
    assert low["link_MBps"] == pytest.approx(100 * 100 / 110, rel=0.05)
    assert low["accepted_MBps"] < high["accepted_MBps"] < low["link_MBps"]


SECTION = {"two_points": {}, "packets": PACKETS}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"hop_us": 1.0},
            "simulate.hop_us: does not belong here, since packets determine the time of a message",
        ),
        ({"topology": {"star": {}}}, "simulate.topology.star: does not belong here"),
        (
            {"topology": {"fat_tree": {"routing": "spread"}}},
            "spread is not available for packets; use adaptive",
        ),
        (
            {"topology": {"torus": {}}, "packets": PACKETS | {"virtual_channels": 1}},
            "simulate.packets.virtual_channels: 1: must be 2 or more in a torus",
        ),
        (
            {"topology": {"torus": {}}, "packets": PACKETS | {"keeps_channel": True}},
            "simulate.packets.keeps_channel: does not belong here",
        ),
        ({}, "simulate.packets.age_step_us: does not belong here, since arbitration is not oldest"),
    ],
)
def test_sections_that_contradict_packets(changes, message):
    assert message in check_section(SECTION | changes)


def test_only_packets_adapt():
    message = check_section({"two_points": {}, "topology": {"fat_tree": {"routing": "adaptive"}}})
    assert message.startswith("simulate.topology.fat_tree.routing: adaptive needs simulate.packets")


def test_a_latency_shorter_than_a_packet_is_refused():
    model = make_model(
        simulated_link(packets=PACKETS, two_points={"latency_us": 0.1, "peak_MBps": 100}), ROOT
    )
    with pytest.raises(InputError, match=r"latency_us: 0.1 is less than an empty packet takes .* \(0.15\)"):
        packets.network_text(model, 4)


def test_a_message_to_an_unknown_process_is_refused(network):
    message = refusal(InputError, network(4, {}).carry, messages((0, 0, 7, 100)), 1.0)
    assert message == "mine: cannot be carried out: a message from 0 to 7, of 4 processes"


def test_a_study_of_traces_is_refused():
    changes = {"interconnects": ["gigabit_ethernet", "quadrics_elan3_packets"]}
    with pytest.raises(
        InputError, match=r"elan3_packets has simulate.packets, which only simulates patterns"
    ):
        read_asked(CONFIG / "studies/simulated_elbow.yaml", changes)
