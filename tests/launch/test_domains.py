"""Ranks packed and spread inside a node: played topologies, and the placement that the kernel reports."""

import os

import pytest
from programs import ran

from workflows.launch.emulation import usable_cores
from workflows.launch.mpi.registry import SERIAL_LIBRARY, write_rank_variables
from workflows.launch.placement import cannot_place, check_domains, choose_cores, read_placement
from workflows.launch.ranks import PROGRAMS

NODES = {
    # By core: socket, NUMA node, first core of its L3 cache.
    "two sockets, cores numbered in turn": [(core % 2, core % 2, core % 2) for core in range(8)],
    "two sockets of two NUMA nodes": [(core // 8, core // 4, core // 4) for core in range(16)],
    "one NUMA node, four L3 caches": [(0, 0, core // 2 * 2) for core in range(8)],
    "a laptop": [(0, 0, 0)] * 4,
}
TURNS, SUB_NUMA, CACHES, LAPTOP = NODES


@pytest.fixture
def played(tmp_path):
    """What the kernel would show of a node in /sys/devices/system/cpu."""

    def make(name):
        for core, (socket, memory, cache) in enumerate(NODES[name]):
            folder = tmp_path / f"cpu{core}"
            (folder / "topology").mkdir(parents=True)
            (folder / f"node{memory}").mkdir()
            (folder / "cache/index3").mkdir(parents=True)
            (folder / "topology/physical_package_id").write_text(f"{socket}\n")
            (folder / "cache/index3/shared_cpu_list").write_text(f"{cache}-{cache + 1}\n")
        return tmp_path, range(len(NODES[name]))

    return make


@pytest.mark.parametrize(
    ("name", "placement", "each", "cores"),
    [
        (TURNS, "packed", 1, "0 2 4 6 1 3 5 7"),
        (TURNS, "spread", 1, "0 1 2 3 4 5 6 7"),
        (TURNS, "packed", 2, "0,2 4,6 1,3 5,7"),
        (TURNS, "spread", 2, "0,2 1,3 4,6 5,7"),
        (SUB_NUMA, "packed", 1, "0 1 2 3 4 5 6 7"),
        (SUB_NUMA, "spread", 1, "0 8 4 12 1 9 5 13"),
        (CACHES, "packed", 1, "0 1 2 3 4 5 6 7"),
        (CACHES, "spread", 1, "0 2 4 6 1 3 5 7"),
    ],
)
def test_cores_are_dealt_out_by_the_domains_of_the_node(name, placement, each, cores, played):
    cpus, all_cores = played(name)
    expected = cores.split()
    assert [
        choose_cores(placement, slot, each, all_cores, cpus)[0] for slot in range(len(expected))
    ] == expected


def test_a_node_of_one_domain_cannot_place_anything(played):
    cpus, cores = played(LAPTOP)
    message = "its cores share one NUMA node and one L3 cache, so ranks cannot be spread"
    assert cannot_place("spread", cores, cpus) == message


def test_more_ranks_than_a_domain_has_cores_for(played):
    cpus, cores = played(CACHES)
    assert cannot_place("spread", cores, cpus) is None
    with pytest.raises(ValueError, match="too few cores for the ranks that are spread to it"):
        choose_cores("spread", 4, 2, cores, cpus)


@pytest.mark.parametrize(
    ("placement", "ranks", "problem"),
    [
        ("packed", "0 2 4", None),
        ("packed", "0 1 2", "node: 2 in domain 0, 1 in domain 1 of 2, which is not packed"),
        ("packed", "0,2 4,6 1,3", None),
        ("spread", "0 1 2", None),
        ("spread", "0 2", "node: 2 in domain 0 of 2, which is not spread"),
        ("spread", "0,2 1,3", None),
        ("spread", "0 2 4 1", "node: 3 in domain 0, 1 in domain 1 of 2, which is not spread"),
        (None, "0 2", None),
    ],
)
def test_placement_of_ranks_is_checked_against_the_domains(placement, ranks, problem, played, tmp_path):
    cpus, all_cores = played(TURNS)
    _, domains = choose_cores("packed", 0, 1, all_cores, cpus)
    folder = tmp_path / "placement"
    folder.mkdir()
    for rank, cores in enumerate(ranks.split()):
        (folder / str(rank)).write_text(f"node\n{100 + rank}\n{rank}\n{cores}\n{domains}\n")
    assert check_domains(read_placement(folder), placement) == problem


def test_ranks_without_known_domains_are_not_placed(tmp_path):
    (tmp_path / "0").write_text("node\n100\n0\n0\n")
    assert check_domains(read_placement(tmp_path), "packed") == (
        "node: 1 in domain ? of 0, which is not packed"
    )


@pytest.mark.skipif(os.geteuid() != 0 or len(usable_cores()) < 2, reason="needs root and two cores")
def test_ranks_are_bound_to_the_cores_that_they_are_dealt(tmp_path):
    """Two real cores, the kernel's word on their NUMA nodes played: the second one is in the first node."""
    first, second = usable_cores()[:2]
    for core, memory in ((first, 1), (second, 0)):
        (tmp_path / f"cpus/cpu{core}/topology").mkdir(parents=True)
        (tmp_path / f"cpus/cpu{core}/topology/physical_package_id").write_text("0\n")
        (tmp_path / f"cpus/cpu{core}/topology/core_id").write_text(f"{core}\n")
        (tmp_path / f"cpus/cpu{core}/node{memory}").mkdir()
    rank = f"{PROGRAMS}/rank {tmp_path} 1 1 true"
    script = f"mount --bind {tmp_path}/cpus /sys/devices/system/cpu && {rank}"
    write_rank_variables(tmp_path, SERIAL_LIBRARY.rank_variables)
    for number in ("0", "1"):
        names = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK")
        environment = dict.fromkeys(names, number) | {
            "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
            "NODEWORTH_PLACEMENT": "packed",
        }
        done = ran("taskset", "-c", f"{first},{second}", "unshare", "-m", "sh", "-c", script, **environment)
        assert done.returncode == 0, done.stderr
    placement = read_placement(tmp_path)
    assert [rank["cores"] for rank in placement] == [str(second), str(first)]
    assert placement[0]["domains"] == {str(second): "0", str(first): "1"}
    assert check_domains(placement, "packed") is None and check_domains(placement, "spread") is None
