"""The command line of a run, and the placement that its ranks report."""

import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from needs import NAMESPACES
from programs import ran

from workflows.domain import Interconnect, Point
from workflows.launch.emulation import EmulatedNode
from workflows.launch.launch import launch_ranks
from workflows.launch.mpi.registry import SERIAL_LIBRARY, write_rank_variables
from workflows.launch.placement import check_placement, check_threads, read_placement
from workflows.launch.ranks import PROGRAMS, cores_of_nodes, most_cores_of_a_node, ranks_of_nodes

GIGABIT = Interconnect(
    name="gigabit",
    kind="emulated",
    title="Gigabit",
    launch={"mpi": "openmpi", "mca": {"btl": "self,vader,tcp", "osc": "pt2pt"}, "env": {"UCX_TLS": "tcp"}},
    emulate={"nodes": 2, "cores_per_node": 1},
    nodes=2,
    cores_per_node=1,
)
NODES = [
    EmulatedNode("emulated-node1", "10.0.0.1", (0,), "/proc/7/fd/3", "/proc/7/fd/4"),
    EmulatedNode("emulated-node2", "10.0.0.2", (1,), "/proc/7/fd/5", "/proc/7/fd/6"),
]


def words(argv: list[str], flag: str) -> list[str]:
    return [argv[place + 1] for place, word in enumerate(argv) if word == flag]


def mca(argv: list[str]) -> dict[str, str]:
    return {name: argv[argv.index(name) + 1] for name in words(argv, "--mca")}


def test_a_serial_run_has_one_rank_and_no_interconnect(tmp_path):
    launch = launch_ranks(Point("case", None, 1, 1, 1, 1), None, (), ["solve", "-fast"], {"A": "1"}, tmp_path)
    assert launch.argv[:5] == ["mpirun", "-n", "1", "--host", "localhost:1"]
    started = [str(PROGRAMS / "rank"), str(tmp_path), "1", "1", "solve", "-fast"]
    assert launch.argv[-6:] == started
    assert (mca(launch.argv)["pml"], mca(launch.argv)["btl"]) == ("ob1", "self,vader")
    assert (words(launch.argv, "-x"), launch.env["A"]) == (["A"], "1")


@pytest.mark.parametrize(("processes", "level", "yields"), [(2, 1, "0"), (4, 2, "1"), (8, 4, "1")])
def test_ranks_yield_exactly_where_they_outnumber_cores(tmp_path, processes, level, yields):
    point = Point("case", "gigabit", processes, level, 2, 2)
    argv = launch_ranks(point, GIGABIT, NODES, ["solve"], {}, tmp_path).argv
    assert mca(argv)["mpi_yield_when_idle"] == yields


def test_open_mpi_parameters_of_a_case_override_those_of_a_run(tmp_path):
    environment = {"OMPI_MCA_mpi_yield_when_idle": "0", "OTHER": "1"}
    point = Point("case", "gigabit", 4, 2, nodes=2, cores=2)
    argv = launch_ranks(point, GIGABIT, NODES, ["true"], environment, tmp_path).argv
    assert " --mca mpi_yield_when_idle 0 " in " ".join(argv)
    assert words(argv, "-x") == ["UCX_TLS", "OTHER"]


def test_a_run_on_emulated_nodes_starts_on_the_first_and_enters_the_others(tmp_path):
    launch = launch_ranks(Point("case", "gigabit", 4, 2, 2, 2), GIGABIT, NODES, ["solve"], {}, tmp_path)
    assert launch.argv[:7] == [
        *("nsenter", "--net=/proc/7/fd/3", "--uts=/proc/7/fd/4", "--", "taskset", "-c", "0"),
    ]
    assert words(launch.argv, "--host") == ["emulated-node1:2,emulated-node2:2"]
    given = mca(launch.argv)
    assert (given["btl"], given["osc"]) == ("self,vader,tcp", "pt2pt")
    assert given["btl_tcp_if_include"] == given["oob_tcp_if_include"] == "eth0"
    assert given["plm_rsh_agent"] == "enter-node"
    assert launch.env["NODEWORTH_NODES"] == (
        "emulated-node1:/proc/7/fd/3:/proc/7/fd/4:0 emulated-node2:/proc/7/fd/5:/proc/7/fd/6:1"
    )
    assert (words(launch.argv, "-x"), launch.env["UCX_TLS"]) == (["UCX_TLS"], "tcp")


def test_mpirun_on_one_machine_does_not_see_the_job_that_it_is_in(tmp_path, monkeypatch):
    for name in ("SLURM_JOB_ID", "PBS_NODEFILE", "LSB_JOBID", "PMIX_RANK", "PMI_RANK", "PMIX_MCA_gds"):
        monkeypatch.setenv(name, "hash")
    launch = launch_ranks(Point("case", None, 1, 1, 1, 1), None, (), ["solve"], {}, tmp_path)
    names = [name for name in launch.env if name.startswith(("SLURM", "PBS", "LSB", "PMI"))]
    assert names == ["PMIX_MCA_gds"], "a parameter, which says nothing of a job"


@pytest.mark.parametrize("began", ["", "from mpi4py import MPI\n"], ids=["python", "mpi"])
@pytest.mark.parametrize("started", [[], ["mpirun", "-n", "1"]], ids=["by itself", "by mpirun"])
def test_a_process_of_mpi_can_start_a_run(tmp_path, monkeypatch, began, started):
    monkeypatch.setenv("OMPI_MCA_orte_base_help_aggregate", "0")
    scratch = f"import os, sys, pathlib\nscratch = pathlib.Path({str(tmp_path)!r})"
    code = f"""{scratch}
from workflows.domain import Point
from workflows.launch.launch import launch_ranks
launch = launch_ranks(Point("case", None, 1, 1, 1, 1), None, (), ["env"], {{}}, scratch)
os.execvpe("mpirun", launch.argv, launch.env)"""
    start = f"import subprocess, sys; print(subprocess.run([sys.executable, '-c', {code!r}]).returncode)"
    parent = f"{began}{start}"
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = ran(*started, sys.executable, "-c", parent, **as_root)
    assert done.stdout.splitlines()[-1] == "0", done.stdout + done.stderr
    assert "OMPI_MCA_orte_base_help_aggregate=0" in done.stdout, "a parameter says nothing of a process"


def test_files_of_open_mpi_go_to_the_scratch_folder(tmp_path):
    launch = launch_ranks(Point("case", None, 1, 1, 1, 1), None, (), ["solve"], {}, tmp_path)
    given = mca(launch.argv).items()
    places = {value for name, value in given if name.endswith(("_directory", "tmpdir_base"))}
    assert places == {launch.env["TMPDIR"]} == {str(tmp_path)}


@given(st.integers(1, 9), st.integers(1, 64), st.integers(1, 4), st.integers(0, 3))
def test_cores_and_ranks_are_spread_evenly_over_the_nodes(nodes, more_cores, level, fewer):
    cores = nodes + more_cores - 1
    processes = cores * level - min(fewer, level - 1)
    point = Point("case", "gigabit", processes, level, nodes, cores)
    assert sum(cores_of_nodes(point)) == cores
    assert max(cores_of_nodes(point)) - min(cores_of_nodes(point)) <= 1
    assert max(cores_of_nodes(point)) == most_cores_of_a_node(point)
    assert sum(ranks_of_nodes(point)) == processes
    both = zip(ranks_of_nodes(point), cores_of_nodes(point), strict=True)
    assert all(0 < ranks <= level * cores for ranks, cores in both)


def placed(*places: tuple[str, str]) -> list[dict]:
    return [{"rank": rank, "host": host, "cores": cores} for rank, (host, cores) in enumerate(places)]


ONE, TWO = "emulated-node1", "emulated-node2"


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        ([(ONE, "0"), (ONE, "0"), (TWO, "1"), (TWO, "1")], None),
        ([(ONE, "0"), (ONE, "0"), (TWO, "1")], "ranks [0, 1, 2] started, not 0 to 3"),
        ([("vm", "0")] * 4, "ran on 1 node (vm), not on 2"),
        ([(ONE, "0"), (TWO, "1"), (ONE, "0"), (TWO, "1")], f"rank 1 ran on {TWO}, not on {ONE}"),
        ([(ONE, "0-1"), (ONE, "0"), (TWO, "1"), (TWO, "1")], "rank 0 could use cores 0-1, not only one"),
        (
            [(ONE, "0"), (ONE, "1"), *[(TWO, "1")] * 2],
            f"{ONE}: 1 on core 0, 1 on core 1, not 2 on each of 1 cores",
        ),
        ([(ONE, "0")] * 2 + [(TWO, "0")] * 2, f"{TWO} with cores [0] is not {TWO} with cores [1]"),
        ([("a", "0")] * 2 + [("b", "1")] * 2, f"a with cores [0] is not {ONE} with cores [0]"),
    ],
)
def test_ranks_that_ran_elsewhere_are_noticed(ranks, message):
    assert check_placement(placed(*ranks), Point("case", "gigabit", 4, 2, 2, 2), NODES) == message


def test_ranks_of_one_node_must_share_its_cores_evenly():
    point = Point("case", "shared_memory", 4, 2, 1, 2)
    assert check_placement(placed(*[("vm", core) for core in "0101"]), point, ()) is None
    assert check_placement(placed(*[("vm", core) for core in "0001"]), point, ()) == (
        "vm: 3 on core 0, 1 on core 1, not 2 on each of 2 cores"
    )


def threads(*threads_run: tuple[str, float], cores: str = "0-1") -> list[dict]:
    """One rank, and where each of its threads may run and how long it computed."""
    entries = [{"cores": listed, "cpu_seconds": seconds} for listed, seconds in threads_run]
    return [{"rank": 0, "host": "vm", "cores": cores, "threads": entries}]


def test_ranks_of_several_threads_are_spread_over_nodes():
    point = Point("case", "gigabit", 3, 1, 2, 6, threads=2)
    assert (cores_of_nodes(point), ranks_of_nodes(point)) == ([4, 2], [2, 1])
    crowded = Point("case", "gigabit", 4, 2, 2, 4, threads=2)
    assert (cores_of_nodes(crowded), ranks_of_nodes(crowded)) == ([2, 2], [2, 2])


TWO_THREADS = Point("case", "shared_memory", 1, 1, 1, 2, threads=2)


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        (threads(("0", 2.0), ("1", 1.9), ("0", 0.001)), None),
        (threads(("0-1", 2.0), ("0-1", 1.9)), None),
        (threads(("0", 2.0), ("0", 1.9)), "rank 0: 2 of its threads on core 0, not 1 on each of cores 0-1"),
        (threads(("0", 2.0), ("2", 1.9)), "rank 0: 1 of its threads on core 2, not 1 on each of cores 0-1"),
        (threads(("0", 2.0), ("0-1", 0.01)), "rank 0 computed with 1 thread, not 2"),
        (threads(*[("0-1", 2.0)] * 3), "rank 0 computed with 3 threads, not 2"),
        (placed(("vm", "0-1")), "rank 0 reported no threads"),
    ],
)
def test_threads_that_ran_elsewhere_are_noticed(placement, message):
    problem = check_threads(placement, TWO_THREADS)
    assert problem == message or problem.startswith(message)


def test_threads_that_share_cores_as_planned_are_fine():
    """Four threads on two cores, at oversubscription 2."""
    crowded = Point("case", "shared_memory", 1, 2, 1, 2, threads=4)
    placement = threads(("0", 2.0), ("0", 1.9), ("1", 1.9), ("1", 1.8))
    assert check_threads(placement, crowded) is None
    assert check_threads(threads(*[("0", 2.0)] * 3, ("1", 1.8)), crowded).startswith(
        "rank 0: 3 of its threads"
    )


def of_rank(rank: int, ranks: int) -> dict[str, str]:
    """Environment that Open MPI gives to a rank of a node."""
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "LOCAL_SIZE": ranks}
    return {f"OMPI_COMM_WORLD_{name}": str(number) for name, number in numbers.items()}


def start_rank(
    folder: Path, rank: int, ranks: int, per_core: int, *command: str, cores: int = 1
) -> subprocess.CompletedProcess:
    write_rank_variables(folder, SERIAL_LIBRARY.rank_variables)
    argv = [PROGRAMS / "rank", folder, str(per_core), str(cores), *command]
    return ran(*argv, **of_rank(rank, ranks))


def test_a_rank_pins_itself_and_reports_its_actual_cores(tmp_path):
    cores = sorted(os.sched_getaffinity(0))
    ranks = 2 * len(cores)
    for rank in range(ranks):
        done = start_rank(tmp_path, rank, ranks, 2, "grep", "Cpus_allowed_list", "/proc/self/status")
        assert done.stdout.split()[1] == str(cores[rank % len(cores)])
    placement = read_placement(tmp_path)
    assert [rank["rank"] for rank in placement] == list(range(ranks))
    assert [rank["cores"] for rank in placement] == [str(core) for core in cores] * 2
    assert {rank["host"] for rank in placement} == {os.uname().nodename}
    assert check_placement(placement, Point("case", "shared", ranks, 2, 1, len(cores)), ()) is None


def test_a_rank_with_a_server_gets_two_cores_where_there_are_enough(tmp_path):
    first, second = sorted(os.sched_getaffinity(0))[:2]
    done = start_rank(tmp_path, 0, 1, 1, "grep", "Cpus_allowed_list", "/proc/self/status", cores=2)
    assert done.stdout.split()[1] in (f"{first}-{second}", f"{first},{second}")
    placement = read_placement(tmp_path)
    with_server = Point("case", "shared", 1, 1, 1, 2, servers_per_process=1)
    assert check_placement(placement, with_server, ()) is None
    assert check_placement(placement, Point("case", "shared", 1, 1, 1, 1), ()).endswith("not only one")


@pytest.mark.needs(NAMESPACES)
def test_hardware_threads_of_a_core_are_one_core(tmp_path):
    """The topology of the second CPU is replaced: it lies on the core of the first."""
    first, second = sorted(os.sched_getaffinity(0))[:2]
    core_file = f"/sys/devices/system/cpu/cpu{second}/topology/core_id"
    of_first = Path(core_file.replace(f"cpu{second}", f"cpu{first}"))
    usable = "from workflows.launch.emulation import usable_cores; print(usable_cores())"
    rank = shlex.join(map(str, [PROGRAMS / "rank", tmp_path, 1, 1, "true"]))
    script = f"mount --bind {of_first} {core_file}; {sys.executable} -c '{usable}'; exec {rank}"
    write_rank_variables(tmp_path, SERIAL_LIBRARY.rank_variables)
    only_two = ["taskset", "-c", f"{first},{second}", "unshare", "--mount", "sh", "-ec", script]
    done = ran(*only_two, **of_rank(1, 2))
    assert done.stdout == f"[{first}]\n"
    assert "rank 1: 2 cores wanted on this node, it has " in done.stderr


def test_messages_of_open_mpi_in_a_rank_bypass_mpirun(tmp_path):
    done = start_rank(tmp_path, 3, 4, 4, "sh", "-c", 'echo said >&"$OPAL_OUTPUT_STDERR_FD"; echo error >&2')
    assert done.stderr == "error\n"
    assert (tmp_path / "3.messages").read_text() == "said\n"


@pytest.mark.parametrize(
    ("processes", "level", "nodes", "cores", "on_nodes", "yields"),
    [
        (3, 1, 2, 6, ([4, 2], [2, 1]), "0"),  # a core for each process and each server
        (3, 2, 2, 3, ([2, 1], [2, 1]), "1"),  # a process and its server share a core
        (4, 4, 2, 2, ([1, 1], [2, 2]), "1"),  # two of each share one
    ],
)
def test_servers_count_when_cores_are_dealt_out(tmp_path, processes, level, nodes, cores, on_nodes, yields):
    point = Point("case", "gigabit", processes, level, nodes, cores, servers_per_process=1)
    assert (cores_of_nodes(point), ranks_of_nodes(point)) == on_nodes
    measured = replace(GIGABIT, kind="measured", emulate=None)
    argv = launch_ranks(replace(point, nodes=1), measured, (), ["solve"], {}, tmp_path).argv
    assert mca(argv)["mpi_yield_when_idle"] == yields
    assert argv[2] == str(processes)


def test_a_rank_hands_on_arguments_and_exit_status(tmp_path):
    done = start_rank(tmp_path, 0, 1, 1, "sh", "-c", 'echo "$1"; exit 7', "sh", "a  'b\" $c")
    assert (done.stdout, done.returncode) == ("a  'b\" $c\n", 7)


def test_a_rank_without_a_core_of_its_own_does_not_start(tmp_path):
    cores = os.sched_getaffinity(0)
    last = len(cores)
    done = start_rank(tmp_path, last, last + 1, 1, "echo", "started")
    assert (done.stdout, done.returncode) == ("", 1)
    assert f"rank {last}: {last + 1} cores wanted on this node, it has " in done.stderr


def test_a_rank_with_a_cut_off_report_counts_as_not_started(tmp_path):
    (tmp_path / "0").write_text("vm\n17\n0\n0\n")
    (tmp_path / "1").write_text("")
    placement = read_placement(tmp_path)
    assert placement == [{"rank": 0, "host": "vm", "process": 17, "local_rank": 0, "cores": "0"}]
    message = check_placement(placement, Point("case", "shared", 2, 1, 1, 2), ())
    assert message == "ranks [0] started, not 0 to 1"


def test_a_host_that_is_no_emulated_node_is_refused():
    nodes = " ".join(map(EmulatedNode.entry, NODES))
    done = ran(PROGRAMS / "enter-node", "emulated-node3", "orted", NODEWORTH_NODES=nodes)
    assert done.returncode == 1
    assert done.stderr.startswith("enter-node: no emulated node emulated-node3 among: emulated-node1:")
