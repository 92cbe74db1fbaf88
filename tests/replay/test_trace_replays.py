"""Traces replayed on a platform: hand-worked times, and one line for a trace that cannot be replayed."""

import pytest
from refused import refusal
from simulated_link import simulated_link

from workflows.domain import InputError
from workflows.replay.points import PROGRAMS, Replays, split_times
from workflows.simulation.fit import write_traces
from workflows.simulation.model import make_model
from workflows.simulation.platform import platform_xml
from workflows.simulation.programs import build
from workflows.simulation.replayer import SOURCE, Replay, replay


@pytest.fixture(scope="module")
def replayer():
    return build(SOURCE, PROGRAMS)


def replayed(program, folder, ranks, factors=None, host_speed=1.0, per_node=1, corun_percent=0.0, **changes):
    platform, model = folder / "platform.xml", make_model(simulated_link(**changes), folder)
    platform.write_text(platform_xml(model, len(ranks), host_speed, corun_percent))
    write_traces(ranks, folder)
    return replay(program, platform, folder, factors or [1.0] * len(ranks), per_node, "the trace")


def test_compute_times_are_scaled_by_factor_and_host(replayer, tmp_path):
    done = replayed(replayer, tmp_path, [["compute 3000000000"]], factors=[0.5], host_speed=0.25)
    assert done.seconds == pytest.approx(6.0)
    assert done.compute_seconds == pytest.approx([6.0])


def test_ranks_of_a_node_slow_each_other_down_only_while_they_compute_at_once(replayer, tmp_path):
    """At 25 % each goes on at four fifths of its speed, until the second ends; a rank that waits disturbs nobody."""
    ranks = [["compute 4000000000"], ["compute 2000000000"]]
    done = replayed(replayer, tmp_path, ranks, per_node=2, corun_percent=25.0)
    assert done.rank_seconds == done.compute_seconds == pytest.approx([4.5, 2.5])
    assert replayed(replayer, tmp_path, ranks, corun_percent=25.0).rank_seconds == pytest.approx([4, 2])
    waits = [["compute 1000000000", "isend 1 0 8 6", "wait 0 1 0"], ["recv 0 0 8 6", "compute 1000000000"]]
    done = replayed(replayer, tmp_path, waits, per_node=2, corun_percent=25.0)
    assert done.seconds == pytest.approx(2, abs=1e-4) and done.compute_seconds == pytest.approx([1, 1])


def test_a_message_between_nodes_and_one_inside_a_node(replayer, tmp_path):
    ranks = [["send 1 0 100000 6"], ["recv 0 0 100000 6"]]
    assert replayed(replayer, tmp_path, ranks).seconds == pytest.approx(10e-6 + 1e-3)
    assert replayed(replayer, tmp_path, ranks, per_node=2).seconds == pytest.approx(1e-6 + 1e-4)


def test_a_small_message_does_not_wait_for_its_receiver_and_a_large_one_does(replayer, tmp_path):
    for size, sender_ends in ((1000, 0.0), (2000, 1.0)):
        ranks = [[f"send 1 0 {size} 6"], ["compute 1000000000", f"recv 0 0 {size} 6"]]
        done = replayed(replayer, tmp_path, ranks)
        assert done.rank_seconds[0] == pytest.approx(sender_ends, abs=1e-3)


def test_two_messages_share_a_link(replayer, tmp_path):
    ranks = [
        ["irecv 1 0 1000000 6", "irecv 2 0 1000000 6", "wait 1 0 0", "wait 2 0 0"],
        ["send 0 0 1000000 6"],
        ["send 0 0 1000000 6"],
    ]
    assert replayed(replayer, tmp_path, ranks).seconds == pytest.approx(20e-3, rel=1e-2)


def test_a_half_duplex_node_does_not_send_while_it_receives(replayer, tmp_path):
    ranks = [
        [f"isend {1 - rank} 0 1000000 6", f"recv {1 - rank} 0 1000000 6", f"wait {rank} {1 - rank} 0"]
        for rank in (0, 1)
    ]
    assert replayed(replayer, tmp_path, ranks).seconds == pytest.approx(10e-3, rel=1e-2)
    assert replayed(replayer, tmp_path, ranks, half_duplex=True).seconds == pytest.approx(20e-3, rel=1e-2)


def test_processors_are_busy_with_messages_where_that_is_known(replayer, tmp_path):
    busy = {"send_us": 4.0, "receive_us": 3.0, "send_ns_per_byte": 0.0, "receive_ns_per_byte": 0.0}
    ranks = [["send 1 0 100 6", "compute 5000"], ["recv 0 0 100 6"]]
    done = replayed(replayer, tmp_path, ranks, host_overhead=busy)
    assert done.rank_seconds == pytest.approx([9e-6, 11e-6])
    large = [["send 1 0 10000 6"], ["recv 0 0 10000 6"]]  # beyond the eager limit both wait, and no longer
    assert replayed(replayer, tmp_path, large, host_overhead=busy).seconds == pytest.approx(110e-6)


def test_an_exchange_includes_processor_time_hidden_in_a_ping_pong(replayer, tmp_path):
    """100 bytes take 11 µs, both ends are busy for 13: the sender for 3 of them when the message has left."""
    busy = {"send_us": 7.0, "receive_us": 6.0, "send_ns_per_byte": 0.0, "receive_ns_per_byte": 0.0}
    pingpong = [["send 1 0 100 6", "recv 1 0 100 6"], ["recv 0 0 100 6", "send 0 0 100 6"]]
    done = replayed(replayer, tmp_path, pingpong, host_overhead=busy)
    assert done.rank_seconds == pytest.approx([22e-6, 11e-6 + 7e-6], rel=0.02)
    exchange = [[f"isend {1 - r} 0 100 6", f"recv {1 - r} 0 100 6", f"wait {r} {1 - r} 0"] for r in (0, 1)]
    assert replayed(replayer, tmp_path, exchange, host_overhead=busy).seconds == pytest.approx(
        13e-6, rel=0.02
    )
    reduced = [["allreduce 1 0 6"]] * 2
    assert replayed(replayer, tmp_path, reduced, host_overhead=busy).seconds == pytest.approx(13e-6, rel=0.02)


def test_messages_of_a_burst_pass_faster_than_the_link_carries_them_in_the_long_run(replayer, tmp_path):
    """A message of 1000 bytes takes 20 µs, and at 10 MB/s the next one may leave 100 µs later."""
    ranks = [["isend 1 0 1000 6", "isend 1 0 1000 6", "waitall"], ["recv 0 0 1000 6", "recv 0 0 1000 6"]]
    assert replayed(replayer, tmp_path, ranks, sustained_MBps=10).seconds == pytest.approx(120e-6)
    apart = [["send 1 0 1000 6", "compute 100000", "send 1 0 1000 6"], ranks[1]]
    assert replayed(replayer, tmp_path, apart, sustained_MBps=10).seconds == pytest.approx(120e-6, rel=1e-3)


def test_the_message_rate_of_a_node_is_limited(replayer, tmp_path):
    """Three ranks of a node send one small message each, 20 µs apart at least; inside a node nothing waits."""
    each = [[f"send {peer} 0 0 6"] for peer in (3, 4, 5)]
    ranks = [*each, *([f"recv {peer} 0 0 6"] for peer in (0, 1, 2))]
    node = {"cores": 3, "memory_latency_us": 1.0, "memory_MBps": 1000.0}
    for limit, waited in ((None, 0.0), (50_000, 40e-6)):
        keys = {"messages_per_second": limit} if limit else {}
        done = replayed(replayer, tmp_path, ranks, per_node=3, node=node, **keys)
        assert done.seconds == pytest.approx(10e-6 + waited, abs=5e-7)  # envelopes share the link
    inside = [["send 1 0 0 6", "send 1 0 0 6"], ["recv 0 0 0 6", "recv 0 0 0 6"]]
    assert replayed(replayer, tmp_path, inside, per_node=2, **keys).seconds < 5e-6


def test_messages_that_are_far_apart_wait_for_none_before_them(replayer, tmp_path):
    ranks = [["send 1 0 0 6", "compute 1000000", "send 1 0 0 6"], ["recv 0 0 0 6", "recv 0 0 0 6"]]
    done = replayed(replayer, tmp_path, ranks, messages_per_second=50_000)
    assert done.seconds == pytest.approx(1e-3 + 10e-6, rel=1e-6)


def test_computing_before_a_message_comes_first(replayer, tmp_path):
    ranks = [["compute 1000000", "isend 1 0 1000", "compute 2000000", "wait 0 1 0"], ["recv 0 0 1000"]]
    assert replayed(replayer, tmp_path, ranks).rank_seconds == pytest.approx([3e-3, 1e-3 + 20e-6])
    for size, sender_ends in ((1000, 0.0), (100000, 1e-3 + 1010e-6)):  # a large one waits for its receive
        late = ["compute 1000000", f"irecv 0 0 {size}", "compute 5000000", "wait 0 1 0"]
        done = replayed(replayer, tmp_path, [[f"send 1 0 {size}"], late])
        assert done.rank_seconds == pytest.approx([sender_ends, 6e-3])
        assert done.compute_seconds == pytest.approx([0.0, 6e-3])


def test_more_processes_on_a_node_than_cores_are_refused(replayer, tmp_path):
    with pytest.raises(InputError, match="cannot be replayed: 3 processes on a node of 2 cores"):
        replayed(replayer, tmp_path, [[], [], []], per_node=3)


def test_one_sided_messages_need_no_action_of_their_target(replayer, tmp_path):
    ranks = [["put 1 100000", "mark", "get 1 100000", "mark", "fetch 1 8", "mark"], []]
    put, got, fetched = replayed(replayer, tmp_path, ranks).marks
    assert put == pytest.approx(1010e-6)
    assert got - put == pytest.approx(10e-6 + 1010e-6)
    assert fetched - got == pytest.approx(20e-6, abs=0.1e-6)
    assert replayed(replayer, tmp_path, [["put 0 100000", "get 0 100000"]]).seconds == 0


def test_a_target_answers_where_messages_carry_one_sided_calls(replayer, tmp_path):
    """10 µs a way, of which each end is busy for 3 with a message that it sends, 2 with one that came."""

    def by_messages(*ranks, send=3.0, receive=2.0, **more):
        busy = {"send_us": send, "receive_us": receive, "send_ns_per_byte": 0.0, "receive_ns_per_byte": 0.0}
        done = replayed(replayer, tmp_path, ranks, host_overhead=busy, one_sided="messages", **more)
        return pytest.approx([1e6 * seconds for seconds in done.rank_seconds], rel=0.02)

    assert replayed(replayer, tmp_path, [["flush 1"], []]).seconds == 0
    no_message = replayed(replayer, tmp_path, [["flush 1 2"], [], []], flush_us=0.5)
    assert no_message.seconds == pytest.approx(1e-6)
    assert by_messages(["flush 1"], []) == [20, 0]
    computes = ["compute 60000", "mark", "compute 9000"]  # no answer meanwhile, and 5 µs for one afterwards
    assert by_messages(["flush 1"], computes) == [60 + 5 + 7, 60 + 5 + 9]
    assert by_messages(["flush 1"], ["flush 0"]) == [20, 20]  # each answers while it waits
    # What they send keeps them busy until the other's message is there: 2 and 2 µs longer.
    assert by_messages(["flush 1"], ["flush 0"], send=8.0, receive=4.0) == [24, 24]
    assert by_messages(["flush 1"], ["flush 0"], one_sided_us=1.0) == [22, 22]
    assert by_messages(["get 1 0"], computes) == [5 + 3 + 5 + 2, 60 + 3 + 9]


def test_a_window_takes_each_rank_so_long(replayer, tmp_path):
    ranks = [["window", "barrier"], ["window", "barrier"]]
    nothing, made = (replayed(replayer, tmp_path, ranks, window_us=us).rank_seconds for us in (0, 50))
    assert [after - before for before, after in zip(nothing, made, strict=True)] == pytest.approx([50e-6] * 2)


def test_a_rank_communicates_later_after_it_computed(replayer, tmp_path):
    """3 µs later after 60 µs, half of that after 30, no more after 600; a serial run sends nothing."""

    def ends(work, **more):
        ranks = [[f"compute {work}000", "send 1 0 0 6"], ["recv 0 0 0 6"]]
        done = replayed(replayer, tmp_path, ranks, **more)
        assert done.compute_seconds == pytest.approx([work * 1e-6, 0])
        return 1e6 * done.rank_seconds[1]

    for work, later in ((30, 1.5), (60, 3), (600, 3)):
        assert ends(work, after_work_us=[[60, 3]]) == pytest.approx(ends(work) + later)
    alone = replayed(replayer, tmp_path, [["compute 60000"]], after_work_us=[[60, 3]])
    assert alone.seconds == pytest.approx(60e-6)


@pytest.mark.parametrize(
    ("ranks", "reason"),
    [
        ([["frobnicate 3"], []], "operation frobnicate is unknown"),
        ([["recv 1 0 8 6"], ["recv 0 0 8 6"]], "deadlock after 0.000000 s: 2 of 2 ranks wait"),
        (
            [["recv 1 0 8 6"], []],
            "deadlock after 0.000000 s: 1 of 2 ranks wait for messages that never come (0)",
        ),
        ([["send 1"], ["recv 0 0 8 6"]], "rank 0: parse replay failed"),
        ([["send 7 0 8 6"], []], "a message to a rank that does not exist"),
        ([["compute 1"], ["compute"]], "rank 1: "),
    ],
)
def test_a_trace_that_cannot_be_replayed_is_reported_in_one_line(replayer, tmp_path, ranks, reason):
    message = refusal(InputError, replayed, replayer, tmp_path, ranks)
    assert message.startswith("the trace: cannot be replayed: ") and reason in message


def test_an_unknown_algorithm_of_a_collective(replayer, tmp_path):
    with pytest.raises(InputError, match=r"cannot be replayed: .*magic"):
        replayed(replayer, tmp_path, [["allreduce 8 0"]] * 2, collectives={"allreduce": "magic"})


def test_where_the_time_of_a_rank_goes():
    """Two ranks compute 3 and 1 s; one waits 2 s for the other; the interconnect adds 1 s."""
    free = Replay(3.0, (3.0, 3.0), (3.0, 1.0), (), 0.0, 0)
    real = Replay(4.0, (4.0, 4.0), (3.0, 1.0), (), 0.0, 0)
    split = split_times(Replays(real, real, real, free, real, real), 10.0)
    assert split["compute_seconds"] == [30, 10]
    assert split["waiting_seconds"] == [0, 20]
    assert split["transfer_seconds"] == [10, 10]
    assert split["load_balance"] == pytest.approx(2 / 3)
    assert split["serialisation_efficiency"] == 1
    assert split["transfer_efficiency"] == 0.75


def test_64_ranks_take_little_memory(replayer, tmp_path):
    ranks = []
    for rank in range(64):
        right, left = (rank + 1) % 64, (rank - 1) % 64
        step = [f"isend {right} 0 800 6", f"recv {left} 0 800 6", f"wait {rank} {right} 0", "compute 1000"]
        ranks.append(step * 250)
    assert replayed(replayer, tmp_path, ranks).memory_bytes < 200e6
