"""The design of a study: points, blocks and order."""

from collections import Counter
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from workflows.domain import Answer, Case, Interconnect, Option, Point
from workflows.measure.allocation import chosen_nodes
from workflows.paths import ROOT
from workflows.plan import design
from workflows.plan.design import expected_cost, points, repetitions
from workflows.study.cases import load_case
from workflows.study.study import read_study

PLAIN = replace(
    read_study(ROOT / "config/studies/smoke.yaml"),
    cases=("duct",),
    interconnects=("shared_memory", "gigabit"),
    processes=(1, 2, 4),
    oversubscription=(1, 2),
    exclude=(),
)


DUCT = Case(
    name="duct",
    application="openfoam",
    size="32k",
    title="Duct",
    folder=Path("duct"),
    parameters={},
    settings={},
    answer=Answer("pressure_drop", "Pa", 1e-3),
    serial_seconds=4.0,
)
ONLY = {"duct": DUCT}


def interconnect(name, kind="measured", nodes=1, cores=2):
    return Interconnect(name, kind, name, {}, None, nodes, cores)


def study(**changes):
    return replace(PLAIN, **changes)


BOTH = {
    joined.name: joined
    for joined in (interconnect("shared_memory"), interconnect("gigabit", "emulated", 2, 1))
}


def test_all_points_that_two_cores_allow():
    planned, left_out = points(study(), ONLY, BOTH)
    assert planned == [
        Point("duct", None, 1, 1, nodes=1, cores=1),
        Point("duct", "shared_memory", 2, 1, nodes=1, cores=2),
        Point("duct", "gigabit", 2, 1, nodes=2, cores=2),
        Point("duct", "shared_memory", 2, 2, nodes=1, cores=1),
        Point("duct", "shared_memory", 4, 2, nodes=1, cores=2),
        Point("duct", "gigabit", 4, 2, nodes=2, cores=2),
    ]
    assert {entry.reason for entry in left_out} == {
        "needs more cores than there are (2)",
        "would not leave one node, so nothing of the emulated interconnect would be used",
    }


def test_the_serial_run_is_made_once_whatever_the_interconnects():
    planned, _ = points(study(), ONLY, BOTH)
    assert [point.interconnect for point in planned if point.processes == 1] == [None]


def test_without_one_process_there_is_no_serial_run():
    planned, _ = points(study(processes=(2,)), ONLY, BOTH)
    assert all(point.interconnect for point in planned)


def test_a_decomposition_that_does_not_divide_is_left_out_and_reported():
    planned, left_out = points(study(processes=(2, 4)), {"duct": replace(DUCT, divisible=6)}, BOTH)
    assert {point.processes for point in planned} == {2}
    reason = "the decomposition of duct needs a count that divides 6"
    left = {entry.what for entry in left_out if entry.reason == reason}
    assert "4 processes at oversubscription 2 over shared_memory, gigabit" in left


def test_counts_below_the_fewest_of_a_case_are_left_out_and_reported():
    planned, left_out = points(study(), {"duct": replace(DUCT, fewest_processes=4)}, BOTH)
    assert {point.processes for point in planned} == {4}
    (entry,) = (skipped for skipped in left_out if skipped.reason == "the case needs 4 processes or more")
    assert "1 process at oversubscription 1 over serial" in entry.what
    assert "2 processes at oversubscription 1 over shared_memory, gigabit" in entry.what


def test_messages_outside_mpi_cannot_be_replayed():
    case = replace(load_case("sockets-smoke", ROOT / "cases"), serial_seconds=1.0)
    simulated = replace(interconnect("ethernet", "simulated", 4, 2), simulate={"eager_limit": 1000})
    planned, left_out = points(
        study(cases=(case.name,), interconnects=("ethernet",)), {case.name: case}, {"ethernet": simulated}
    )
    assert planned == []
    reasons = {
        entry.reason for entry in left_out if "ethernet" in entry.what and "oversubscription 1" in entry.what
    }
    assert reasons == {"its messages do not go through MPI, so nothing of them can be traced and replayed"}


def test_an_odd_count_has_no_level_two():
    planned, left_out = points(study(processes=(3,), oversubscription=(2,)), ONLY, BOTH)
    assert planned == []
    assert left_out[0].reason == "the processes do not divide by the oversubscription level"
    assert left_out[0].what == "3 processes at oversubscription 2 over shared_memory, gigabit"


def test_an_excluded_point_agrees_with_every_key_of_an_entry():
    small_study = study(exclude=({"interconnect": "gigabit", "processes": 2}, {"oversubscription": 2}))
    planned, left_out = points(small_study, ONLY, BOTH)
    counts = [(p.interconnect, p.processes, p.oversubscription) for p in planned]
    assert counts == [(None, 1, 1), ("shared_memory", 2, 1)]
    assert [entry.what for entry in left_out if entry.reason == "excluded by the study"] == [
        "2 processes at oversubscription 1 over gigabit; 2 processes at oversubscription 2 over "
        "shared_memory; 4 processes at oversubscription 2 over shared_memory, gigabit"
    ]


def test_unusable_interconnects_have_no_points():
    planned, _ = points(study(), ONLY, {"shared_memory": BOTH["shared_memory"]})
    assert {point.interconnect for point in planned} == {None, "shared_memory"}


def test_threads_are_points_of_their_own():
    """On four cores: 4 x 1, 2 x 2; of one process, several threads are run over the interconnect."""
    small_study = study(threads=(1, 2), oversubscription=(1,), interconnects=("shared_memory",))
    planned, left_out = points(small_study, ONLY, {"shared_memory": interconnect("shared_memory", cores=4)})
    assert [(p.interconnect, p.processes, p.threads, p.cores) for p in planned] == [
        (None, 1, 1, 1),
        ("shared_memory", 1, 2, 2),
        ("shared_memory", 2, 1, 2),
        ("shared_memory", 2, 2, 4),
        ("shared_memory", 4, 1, 4),
    ]
    assert [(entry.what, entry.reason) for entry in left_out] == [
        (
            "4 processes of 2 threads at oversubscription 1 over shared_memory",
            "needs more cores than there are (4)",
        )
    ]


def test_threads_are_simulated_where_a_rank_can_be_traced_with_them():
    small_study = study(threads=(1, 2, 4), processes=(2,), oversubscription=(1,), interconnects=("ethernet",))
    simulated = replace(interconnect("ethernet", "simulated", 8, 4), simulate={"node": {"cores": 4}})
    planned, left_out = points(small_study, ONLY, {"ethernet": simulated}, traced_cores=2)
    assert [(p.threads, p.nodes, p.cores) for p in planned] == [(1, 1, 2), (2, 1, 4)]
    assert [(entry.what, entry.reason) for entry in left_out] == [
        (
            "2 processes of 4 threads at oversubscription 1 over ethernet",
            "a rank is traced with a core for each thread, and there are 2",
        )
    ]


def test_oversubscription_counts_threads():
    small_study = study(threads=(2,), processes=(1, 2), interconnects=("shared_memory",))
    planned, _ = points(small_study, ONLY, BOTH)
    counts = [(p.processes, p.oversubscription, p.cores, p.cores_per_process, p.running) for p in planned]
    assert counts == [(1, 1, 2, 2, 2), (1, 2, 1, 1, 2), (2, 2, 2, 1, 4)]
    assert [point.in_words for point in planned[1:]] == ["1 process of 2 threads", "2 processes of 2 threads"]


def test_points_with_equally_many_threads_are_in_one_block():
    small_study = study(threads=(1, 2), oversubscription=(1,), interconnects=("shared_memory",))
    planned, _ = points(small_study, ONLY, {"shared_memory": interconnect("shared_memory", cores=4)})
    blocks = [
        list(group)
        for _, group in groupby(repetitions(planned, [1], 0), lambda repetition: repetition.point.computing)
    ]
    assert sorted(
        sorted((repetition.point.processes, repetition.point.threads) for repetition in block)
        for block in blocks
    ) == [
        [(1, 1)],
        [(1, 2), (2, 1)],
        [(2, 2), (4, 1)],
    ]
    (both,) = {
        repetition.companions for block in blocks for repetition in block if repetition.point.computing == 2
    }
    assert both == ("shared_memory", "shared_memory/threads-2")


def test_a_case_without_threads_is_left_out_with_them_alone():
    small_study = study(
        threads=(1, 2), oversubscription=(1,), processes=(2,), interconnects=("shared_memory",)
    )
    four = {"shared_memory": interconnect("shared_memory", cores=4)}
    planned, (left,) = points(
        small_study, ONLY, four, unthreaded={("duct", "shared_memory"): "OpenFOAM has no threads"}
    )
    assert [point.threads for point in planned] == [1]
    assert left.reason == "OpenFOAM has no threads"
    option = replace(DUCT, option=Option("servers", 1, {}))
    _, left_out = points(replace(small_study, processes=(1,), threads=(2,)), {"duct": option}, four)
    assert left_out[0].reason == "data servers need processes with one thread"


PLACED = dict(processes=(1, 2, 4), oversubscription=(1,), processes_per_node=(1, 2))
FOUR = interconnect("shared_memory", cores=4)
FOUR_CORES = {"shared_memory": FOUR, "gigabit": interconnect("gigabit", "emulated", 2, 2)}


def test_placements_are_points_of_their_own():
    """Packed, two processes talk inside one emulated node: the point to compare the spread one with."""
    planned, left_out = points(study(**PLACED), ONLY, FOUR_CORES)
    assert planned == [
        Point("duct", None, 1, 1, nodes=1, cores=1),
        Point("duct", "shared_memory", 2, 1, nodes=1, cores=2, processes_per_node=2),
        Point("duct", "gigabit", 2, 1, nodes=2, cores=2, processes_per_node=1),
        Point("duct", "gigabit", 2, 1, nodes=1, cores=2, processes_per_node=2),
        Point("duct", "gigabit", 4, 1, nodes=4, cores=4, processes_per_node=1),
        Point("duct", "gigabit", 4, 1, nodes=2, cores=4, processes_per_node=2),
    ]
    reasons = {entry.reason: entry.what for entry in left_out}
    assert reasons["shared_memory has 1 node here"] == (
        "2 processes at oversubscription 1, 1 a node, over shared_memory; 4 processes at oversubscription 1, "
        "1 a node, over shared_memory; 4 processes at oversubscription 1, 2 a node, over shared_memory"
    )


def test_a_level_puts_several_processes_of_a_node_on_a_core():
    two_levels = PLACED | {"oversubscription": (2,), "processes": (2, 4)}
    planned, left_out = points(study(**two_levels), ONLY, {"gigabit": FOUR_CORES["gigabit"]})
    assert planned == [
        Point("duct", "gigabit", 2, 2, nodes=1, cores=1, processes_per_node=2),
        Point("duct", "gigabit", 4, 2, nodes=2, cores=2, processes_per_node=2),
    ]
    (left,) = left_out
    assert left.reason == "what runs on a node (1) does not divide by the oversubscription level"


def test_nodes_that_the_processes_do_not_fill_are_left_out():
    small_study = study(**PLACED | {"processes": (3,), "processes_per_node": (2,)})
    planned, left_out = points(small_study, ONLY, FOUR_CORES)
    assert planned == [] and [entry.reason for entry in left_out] == ["the processes do not fill nodes of 2"]


def test_packed_alone_an_emulated_interconnect_is_not_used():
    small_study = study(**PLACED | {"processes": (2,), "processes_per_node": (2,)})
    planned, left_out = points(small_study, ONLY, {"gigabit": FOUR_CORES["gigabit"]})
    assert planned == []
    assert left_out[0].reason == "would not leave one node in any of the study's placements"


def test_placements_of_one_count_are_run_back_to_back_and_named_apart():
    planned, _ = points(study(**PLACED), ONLY, {"gigabit": FOUR_CORES["gigabit"]})
    order = repetitions(planned, [1], seed=7)
    assert sorted(count for count, _ in groupby(repetition.point.processes for repetition in order)) == [
        1,
        2,
        4,
    ]
    both = ("gigabit/processes-per-node-1", "gigabit/processes-per-node-2")
    assert {repetition.companions for repetition in order} == {(), both}


WEAK = dict(scaling="weak", sizes={"duct": {1: "4k", 2: "8k", 4: "16k"}}, oversubscription=(1,))
SIZES = {f"duct-{size}": replace(DUCT, name=f"duct-{size}") for size in ("4k", "8k", "16k")}


def test_each_count_of_a_weak_study_has_its_own_size():
    planned, _ = points(study(**WEAK), SIZES, FOUR_CORES)
    sizes = {(point.processes, point.case) for point in planned}
    assert sizes == {(1, "duct-4k"), (2, "duct-8k"), (4, "duct-16k")}
    assert {study(**WEAK).case_of(point.case) for point in planned} == {"duct"}


def test_a_weak_case_is_excluded_by_the_name_that_its_results_have():
    planned, left_out = points(study(**WEAK, exclude=({"case": "duct", "processes": 4},)), SIZES, FOUR_CORES)
    assert {point.processes for point in planned} == {1, 2}
    assert left_out[-1].what == "4 processes at oversubscription 1 over shared_memory, gigabit"


ALL, _ = points(study(cases=("duct", "wing")), {"duct": DUCT, "wing": replace(DUCT, name="wing")}, BOTH)


def test_compared_points_run_back_to_back():
    order = repetitions(ALL, [1, 2, 3], seed=7)
    groups = [(r.block, r.point.case, r.point.processes, r.point.oversubscription) for r in order]
    changes = sum(group != other for group, other in pairwise(groups)) + 1
    assert changes == len(set(groups))


def test_companions_name_the_interconnects_of_the_block():
    by_point = {r.point: r.companions for r in repetitions(ALL, [1], seed=7)}
    assert by_point[Point("duct", "shared_memory", 2, 1, 1, 2)] == ("gigabit", "shared_memory")
    assert by_point[Point("duct", "shared_memory", 2, 2, 1, 1)] == ("shared_memory",)
    assert by_point[Point("duct", None, 1, 1, 1, 1)] == ()


@given(seed=st.integers(0, 2**31), blocks=st.integers(1, 8))
def test_every_point_once_a_block_and_the_blocks_in_turn(seed, blocks):
    order = repetitions(ALL, range(1, blocks + 1), seed)
    assert [r.block for r in order] == sorted(r.block for r in order)
    for block in range(1, blocks + 1):
        assert sorted(map(str, ALL)) == sorted(str(r.point) for r in order if r.block == block)


@given(seed=st.integers(0, 2**31))
def test_the_order_of_a_block_depends_on_the_seed_alone(seed):
    assert repetitions(ALL, [3], seed) == [r for r in repetitions(ALL, range(1, 5), seed) if r.block == 3]


def test_every_seed_gives_another_order():
    orders = {tuple(map(str, repetitions(ALL, [1], seed))) for seed in range(20)}
    assert len(orders) == 20


def test_expected_cost_by_hand(monkeypatch):
    monkeypatch.setattr(design, "OVERHEAD_SECONDS", 0.5)
    # 3 blocks of 4 s on one core and twice 2 s on two, half a second of start-up each.
    two = [Point("duct", None, 1, 1, 1, 1), Point("duct", "shared_memory", 2, 1, 1, 2)]
    cost = expected_cost(two, 3, ONLY)
    assert (cost.runs, cost.seconds) == (6, 3 * (4.5 + 4.5))
    assert cost.core_hours == 3 * (4.5 + 2 * 4.5) / 3600


def test_processes_that_share_a_core_start_one_after_another(monkeypatch):
    monkeypatch.setattr(design, "OVERHEAD_SECONDS", 0.5)
    monkeypatch.setattr(design, "TURN_SECONDS", 0.25)
    apart, together = (Point("duct", "shared_memory", 8, 8 // cores, 1, cores) for cores in (8, 2))
    costs = [expected_cost([point], 1, ONLY).seconds for point in (apart, together)]
    assert costs == [2 * 4 / 8 + 0.5, 2 * 4 / 2 + 0.5 + 6 * 0.25]


SERVED = {"duct": replace(DUCT, option=Option("server", 1, {}))}


def test_servers_count_in_the_oversubscription_and_not_in_the_processes():
    planned, left_out = points(study(interconnects=("shared_memory",)), SERVED, {"shared_memory": FOUR})
    assert planned == [
        Point("duct", None, 1, 1, nodes=1, cores=1),  # a serial run has nobody to serve
        Point("duct", "shared_memory", 2, 1, nodes=1, cores=4, servers_per_process=1),
        Point("duct", "shared_memory", 2, 2, nodes=1, cores=2, servers_per_process=1),
        Point("duct", "shared_memory", 4, 2, nodes=1, cores=4, servers_per_process=1),
    ]
    counts = [(point.running, point.cores_per_process, point.processes_per_core) for point in planned[1:]]
    assert counts == [(4, 2, 1), (4, 1, 1), (8, 1, 1)]
    assert [entry.reason for entry in left_out] == ["needs more cores than there are (4)"]


def test_a_process_and_its_server_stay_on_one_node():
    small_study = study(interconnects=("gigabit",), processes=(2,), oversubscription=(1, 2, 3))
    nodes = {"gigabit": interconnect("gigabit", "emulated", nodes=8, cores=1)}
    planned, left_out = points(small_study, SERVED, nodes)
    assert planned == [Point("duct", "gigabit", 2, 2, nodes=2, cores=2, servers_per_process=1)]
    assert {entry.reason for entry in left_out} == {
        "a node has too few cores for a process and its servers (1)",
        "the processes and their servers do not divide by the oversubscription level",
    }
    three = study(interconnects=("gigabit",), processes=(3,), oversubscription=(3,))
    assert [entry.reason for entry in points(three, SERVED, nodes)[1]] == [
        "a process and its servers, 2, cannot be spread evenly at the oversubscription level"
    ]


def test_threads_of_data_servers_are_not_run_over_a_component_that_does_not_know_them():
    threads = Option("server", 1, {"OMPI_MPI_THREAD_LEVEL": "3"})
    over_tcp = replace(interconnect("gigabit"), launch={"mpi": "openmpi", "mca": {"osc": "pt2pt"}})
    small_study = study(interconnects=("gigabit",), processes=(2,), oversubscription=(2,))
    planned, (left,) = points(small_study, {"duct": replace(DUCT, option=threads)}, {"gigabit": over_tcp})
    assert planned == []
    assert (
        left.reason == "Open MPI's one-sided component pt2pt does not work with the threads of data servers"
    )
    assert len(points(small_study, ONLY, {"gigabit": over_tcp})[0]) == 1


@given(seed=st.integers(0, 2**31), nodes=st.integers(1, 9), used=st.integers(1, 9), turns=st.integers(1, 3))
def test_points_rotate_over_nodes_and_compared_points_share_nodes(seed, nodes, used, turns):
    used = min(used, nodes)
    compared = [Point("duct", name, used, 1, nodes=used, cores=used) for name in ("gigabit", "shared_memory")]
    chosen = {}
    for repetition in repetitions(compared, range(1, turns * nodes + 1), seed):
        nodes_of_run = chosen_nodes(nodes, repetition, seed)
        assert len(set(nodes_of_run)) == used and nodes_of_run == sorted(nodes_of_run)
        assert chosen.setdefault(repetition.block, nodes_of_run) == nodes_of_run
    load = Counter(number for nodes_of_block in chosen.values() for number in nodes_of_block)
    assert load == dict.fromkeys(range(nodes), turns * used)
