"""From the output of the tracer to actions that can be replayed."""

from collections import Counter, deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.domain import InputError
from workflows.tracing.actions import Actions, replayable
from workflows.tracing.lines import pack
from workflows.tracing.profile import profile
from workflows.tracing.raw import Raw, read_raw, step_amounts, steps_window, whole
from workflows.tracing.subsets import COLLECTIVES, TAG, messages
from workflows.tracing.trace import step_spread_percent

HEADER = "# tracer 1 rank 0 of 1 clock thread_cpu cost 4 library X\n"


def raws(*ranks: str) -> list[Raw]:
    return [
        Raw(rank, len(ranks), "thread_cpu", 400, "Some MPI", 0, 0, pack(rank, text.split("; ")))
        for rank, text in enumerate(ranks)
    ]


def by_rank(made: Actions) -> list[list[str]]:
    return [list(made.lines(rank)) for rank in range(len(made.ranks))]


def actions(*ranks: str) -> list[list[str]]:
    traced = raws(*ranks)
    return by_rank(replayable(traced, whole(traced)))


def test_a_receive_gets_the_size_that_was_sent():
    lines = actions("0 send 1 5 8; 0 send 1 5 16", "1 recv 0 5 100; 1 irecv 0 5 100; 1 wait 0 1 5")
    assert lines[1] == ["1 recv 0 5 8", "1 irecv 0 5 16", "1 wait 0 1 5"]


def test_a_receive_from_anyone_gets_the_sender_it_had():
    lines = actions(
        "# any 0 64; # any 1 64; # matched 1 2 9; 0 wait 2 0 9; # matched 0 1 7; 0 wait 1 0 7",
        "1 send 0 7 10",
        "2 send 0 9 20",
    )
    assert lines[0] == ["0 irecv 1 7 10", "0 irecv 2 9 20", "0 wait 2 0 9", "0 wait 1 0 7"]


def test_computing_between_two_actions_is_one_line():
    lines = actions("0 compute 5; 0 compute 6; 0 barrier; # mark; 0 compute 7", "1 barrier")
    assert lines == [["0 compute 11", "0 barrier", "0 compute 7"], ["1 barrier"]]


def test_instructions_become_the_time_that_they_took_in_the_serial_run():
    traced = raws("0 compute 1000; 0 barrier; 0 compute 30; 0 compute 71; 0 barrier")
    lines = by_rank(replayable(traced, whole(traced), ns_per_count=0.25))
    assert lines == [["0 compute 250", "0 barrier", "0 compute 25", "0 barrier"]]


STEP = [
    "0 compute 10; 0 isend 1 1 8; 0 wait 0 1 1; 0 allreduce 8 0",
    "1 recv 0 1 8; 1 compute 4; 1 allreduce 8 0",
]


def test_steps_are_cut_at_the_same_call_on_ranks_that_print_nothing():
    traced = raws("; ".join([STEP[0] + "; # mark"] * 4), "; ".join([STEP[1]] * 4))
    window, steps = steps_window(traced, skipped=1)
    cut = replayable(traced, window)
    assert (steps, cut.cut_messages) == (2, 0)
    assert by_rank(cut) == [STEP[0].split("; ") * 2, STEP[1].split("; ") * 2]


def test_a_serial_run_is_cut_at_its_marks():
    traced = raws("# mark; 0 compute 5; # mark; 0 compute 6; # mark; 0 compute 7")
    window, steps = steps_window(traced, skipped=0)
    assert (steps, by_rank(replayable(traced, window))) == (2, [["0 compute 11"]])


def test_both_ends_of_a_message_that_the_window_cuts_go_with_their_wait():
    calls = "; ".join(["0 barrier; 0 send 1 2 8"] * 300), "; ".join(["1 barrier; 1 recv 0 2 8"] * 300)
    traced = raws(
        f"0 isend 1 3 8; 0 barrier; # mark; 0 wait 0 1 3; {calls[0]}; 0 isend 1 4 8; 0 barrier; # mark",
        f"1 barrier; 1 recv 0 3 8; {calls[1]}; 1 barrier; 1 recv 0 4 8",
    )
    window, _ = steps_window(traced, skipped=0)
    cut = replayable(traced, window)
    assert cut.cut_messages == 2
    assert not [line for rank in by_rank(cut) for line in rank if line.endswith((" 3", " 4", " 3 8", " 4 8"))]


def test_steps_that_overlap_are_refused():
    traced = raws("0 barrier; # mark; 0 send 1 1 8; 0 barrier; # mark", "1 barrier; 1 barrier; 1 recv 0 1 8")
    window, _ = steps_window(traced, skipped=0)
    with pytest.raises(InputError, match="1 of 1 messages are cut in two"):
        replayable(traced, window)


def test_requests_left_over_are_waited_for_at_the_end():
    lines = actions("0 isend 1 1 8", "1 recv 0 1 8")
    assert lines[0] == ["0 isend 1 1 8", "0 wait 0 1 1"]


def test_a_wait_without_a_request_is_refused():
    traced = raws("0 wait 0 1 5; 0 isend 1 5 8", "1 recv 0 5 8")
    with pytest.raises(InputError, match="rank 0: 'wait 0 1 5' comes before its request"):
        replayable(traced, whole(traced))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=30), st.data())
def test_messages_of_a_tag_are_received_in_the_order_in_which_they_were_sent(messages, data):
    received = data.draw(st.permutations([tag for tag, _ in messages]))
    sent, arriving = [], {}
    for tag, size in messages:
        sent.append(f"0 send 1 {tag} {size}")
        arriving.setdefault(tag, deque()).append(size)
    posted = [f"1 recv 0 {tag} 100" for tag in received]
    lines = actions("; ".join(["0 barrier", *sent]), "; ".join(["1 barrier", *posted]))
    assert lines[1][1:] == [f"1 recv 0 {tag} {arriving[tag].popleft()}" for tag in received]


@pytest.mark.parametrize(
    ("ranks", "wrong"),
    [
        (["0 barrier; # mark", "1 barrier"], "1 steps are marked; 3 are needed, 1 being skipped"),
        (
            ["0 barrier; # mark; # mark; # mark", "1 bcast 8 0"],
            "call 1 is bcast on rank 1, barrier on rank 0",
        ),
        (["0 barrier; # mark; # mark; # mark", "1 compute 1"], "rank 1 made 0 collective calls, rank 0 1"),
        (["# mark; # mark; # mark", "1 compute 1"], "no collective call of all ranks in every step"),
    ],
)
def test_indistinguishable_steps_are_refused(ranks, wrong):
    with pytest.raises(InputError, match=wrong):
        steps_window(raws(*ranks), skipped=1)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (None, "no such file: rank 0 was not traced"),
        ("0 init\n", "does not start with the tracer's header"),
        (f"{HEADER}0 init\n", "was cut off after 2 lines"),
        (
            "# tracer 1 rank 0 of 2 clock thread_cpu cost 4 library X\n# end 5 5\n",
            "is of rank 0 of 2, not 0 of 1",
        ),
        (f"{HEADER}0 init\n# end 51 5", "was cut off after 2 lines"),  # or of 52
        (f"{HEADER}0 init\n0 send 1\n# end 5 5\n", "line 3: send takes 3 whole numbers: '0 send 1'"),
        (f"{HEADER}0 init\n0 compute 1.5\n# end 5 5\n", "line 3: compute takes 1 whole numbers"),
        (f"{HEADER}0 init\n# any 0\n# end 5 5\n", "line 3: unknown action 'any' in '# any 0'"),
        (f"{HEADER}1 init\n# end 5 5\n", "line 2: is not of rank 0"),
    ],
)
def test_files_of_a_traced_run_must_be_complete(tmp_path, text, wrong):
    if text is not None:
        (tmp_path / "rank-0.txt").write_text(text)
    with pytest.raises(InputError, match=wrong):
        read_raw(tmp_path, 1)


def arguments(name: str, count: int, place: int, root: int) -> list[int]:
    sizes = [8 * (member + 1) for member in range(count)]
    return {
        "barrier": [],
        "bcast": [64, root],
        "reduce": [64, 0, root],
        "allreduce": [64, 0],
        "scan": [64, 0],
        "exscan": [64, 0],
        "gather": [8, 8, root],
        "scatter": [8, 8, root],
        "allgather": [8, 8],
        "alltoall": [8, 8],
        "gatherv": [sizes[place], *(sizes if place == root else [0] * count), root],
        "scatterv": [*(sizes if place == root else [0] * count), sizes[place], root],
        "allgatherv": [sizes[place], *sizes],
        "alltoallv": [sum(sizes), *sizes, count * sizes[place], *[sizes[place]] * count],
        "reducescatter": [*sizes, 0],
    }[name]


@given(st.sampled_from(sorted(COLLECTIVES)), st.integers(2, 9), st.data())
def test_collectives_of_a_subset_end_and_every_message_arrives(name, count, data):
    members = data.draw(st.permutations(range(20)))[:count]
    root = data.draw(st.integers(0, count - 1))
    todo = {
        rank: deque(messages(name, arguments(name, count, place, root), members, rank))
        for place, rank in enumerate(members)
    }
    on_the_way: dict[tuple[int, int], deque[int]] = {}
    moved = True
    while moved:
        moved = False
        for rank, lines in todo.items():
            while lines:
                _, action, other, tag, *size = lines[0].split()
                if action == "recv":
                    arrived = on_the_way.get((int(other), rank))
                    if not arrived:
                        break
                    assert arrived.popleft() == int(size[0])
                elif action in ("send", "isend"):
                    assert int(tag) == TAG
                    on_the_way.setdefault((rank, int(other)), deque()).append(int(size[0]))
                lines.popleft()
                moved = True
    assert not any(todo.values()), "ranks wait for each other"
    assert not any(on_the_way.values()), "a message is not received"


def test_an_allreduce_of_four_is_two_rounds():
    lines = messages("allreduce", [8, 0], [3, 5, 7, 9], 5)
    tag = TAG
    assert lines == [
        *(f"5 isend 3 {tag} 8", f"5 recv 3 {tag} 8", f"5 wait 5 3 {tag}"),
        *(f"5 isend 9 {tag} 8", f"5 recv 9 {tag} 8", f"5 wait 5 9 {tag}"),
    ]


LINE = st.one_of(
    st.integers(0, 3_000_000_000).map(lambda amount: f"2 compute {amount}"),
    st.sampled_from(["2 barrier", "2 isend 1 5 8", "2 wait 2 1 5", "# mark", "# any 0 8", "2 compute x"]),
)


@given(st.lists(LINE))
def test_lines_survive_packing(lines):
    packed = pack(2, lines)
    assert list(packed) == lines
    assert len(packed) == len(lines)
    amounts = [int(line.split()[2]) for line in lines if line.startswith("2 compute ") and line[-1] != "x"]
    assert packed.amounts.tolist() == amounts
    counts = packed.counts()
    assert counts.pop(f"2 compute {sum(amounts)}", 0) == (sum(amounts) > 0)
    assert counts == Counter(packed.distinct[place] for place in packed.which if place >= 0)


def test_a_line_takes_little_memory_however_often_it_is_repeated():
    packed = pack(
        0, [f"0 {call}" for number in range(5000) for call in ("allreduce 8 0", f"compute {number}")]
    )
    assert packed.distinct == ["0 allreduce 8 0"]
    assert packed.which.nbytes + packed.amounts.nbytes == 4 * 10_000 + 8 * 5_000


def test_steps_contain_the_computing_between_their_marks():
    (raw,) = raws(
        "0 compute 9; # mark; 0 compute 5; # mark; 0 compute 3; 0 barrier; 0 compute 4; # mark; # mark; 0 compute 1"
    )
    assert step_amounts(raw, 0) == [5, 7, 0] and step_amounts(raw, 1) == [7, 0]
    assert step_amounts(raws("0 compute 9")[0], 2) == []
    assert step_spread_percent({"step_seconds": [2.0, 1.9, 2.2]}) == pytest.approx(15)
    assert step_spread_percent({"step_seconds": [2.0]}) is step_spread_percent({}) is None


def test_profile_counts_calls_bytes_and_pairs():
    summed = profile(
        [
            Counter({"0 compute 1000000000": 2, "0 isend 1 1 8": 3, "0 wait 0 1 1": 4, "0 isend 1 1 9": 1})
            + Counter(["0 put 1 100"]),
            Counter(["1 recv 0 1 8"] * 3 + ["1 recv 0 1 9", "1 get 0 3000000", "1 scatterv 5 6 6 0"]),
        ]
    )
    assert summed.compute_seconds == [2.0, 0.0]
    assert {
        (row["operation"], row["largest_bytes"]): (row["calls"], row["bytes"]) for row in summed.operations
    } == {
        ("isend", 8): (3, 24),
        ("isend", 64): (1, 9),
        ("recv", 8): (3, 24),
        ("recv", 64): (1, 9),
        ("wait", 0): (4, 0),
        ("put", 512): (1, 100),
        ("get", None): (1, 3000000),
        ("scatterv", 8): (1, 6),
    }
    assert summed.pairs == [{"source": 0, "target": 1, "messages": 6, "bytes": 3000133}]
