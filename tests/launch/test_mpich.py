"""Launching with MPICH, and points that it cannot run."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from study_files import study_file

from workflows.domain import Interconnect, Point
from workflows.launch.attesters import world_environment
from workflows.launch.emulation import EmulatedNode
from workflows.launch.launch import launch_ranks
from workflows.launch.mpi.registry import MPI_LIBRARIES, library_mismatch, linked_library
from workflows.launch.programs import output_of
from workflows.launch.ranks import PROGRAMS
from workflows.plan.here import unavailable
from workflows.plan.plan import make_plan

MEMORY = Interconnect("memory", "measured", "Memory", {"mpi": "mpich"}, None, 1, 2)
LINKS = replace(
    MEMORY,
    name="links",
    kind="emulated",
    launch={"mpi": "mpich", "env": {"UCX_TLS": "self,tcp"}},
    emulate={"nodes": 2, "cores_per_node": 1},
    nodes=2,
    cores_per_node=1,
)
NODES = [
    EmulatedNode("emulated-node1", "10.0.0.1", (0,), "/proc/7/fd/3", "/proc/7/fd/4"),
    EmulatedNode("emulated-node2", "10.0.0.2", (1,), "/proc/7/fd/5", "/proc/7/fd/6"),
]
WHO = """
from mpi4py import MPI
said = MPI.COMM_WORLD.gather(MPI.Get_library_version().split()[0])
if MPI.COMM_WORLD.rank == 0:
    print(*said)
"""


def file_of(program: str) -> str:
    """File of the MPI library that a program is linked to."""
    linked = linked_library(program)
    assert linked
    return linked[1]


def test_ranks_of_one_machine_are_started_by_the_wrapper_that_pins_them(tmp_path):
    point = Point("case", "memory", 2, 1, 1, 2)
    launch = launch_ranks(point, MEMORY, (), ["solve", "-fast"], {"A": "1"}, tmp_path)
    assert launch.argv == [
        *("mpiexec.hydra", "-n", "2", "-bind-to", "none", "-disable-auto-cleanup"),
        *(str(PROGRAMS / "rank"), str(tmp_path), "1", "1", "solve", "-fast"),
    ]
    given = [launch.env[name] for name in ("A", "MPI4PY_MPIABI", "TMPDIR")]
    assert given == ["1", "mpich", str(tmp_path)]


def test_mpi4py_finds_the_library_under_the_name_that_it_looks_for(tmp_path):
    launch = launch_ranks(Point("case", "memory", 2, 1, 1, 2), MEMORY, (), ["solve"], {}, tmp_path)
    folder = Path(launch.env["LD_LIBRARY_PATH"].split(":")[0])
    assert folder.parent == tmp_path
    assert (folder / "libmpi.so.12").resolve() == Path(file_of("mpichversion"))


def test_emulated_nodes_are_entered_and_joined_by_their_own_link(tmp_path):
    launch = launch_ranks(Point("case", "links", 2, 1, 2, 2), LINKS, NODES, ["solve"], {}, tmp_path)
    assert launch.argv[:8] == [
        *("nsenter", "--net=/proc/7/fd/3", "--uts=/proc/7/fd/4", "--", "taskset", "-c", "0"),
        "mpiexec.hydra",
    ]
    given = dict(zip(launch.argv[8:20:2], launch.argv[9:20:2], strict=True))
    assert given == {
        "-n": "2",
        "-hosts": "emulated-node1:1,emulated-node2:1",
        "-launcher": "rsh",
        "-launcher-exec": "enter-node",
        "-iface": "eth0",
        "-bind-to": "none",
    }
    assert (launch.env["UCX_NET_DEVICES"], launch.env["UCX_TLS"]) == ("eth0", "self,tcp")
    assert launch.env["NODEWORTH_NODES"].startswith("emulated-node1:/proc/7/fd/3:")


def test_a_machine_without_mpich_states_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert unavailable(MEMORY) == (
        "mpiexec.hydra, mpichversion, taskset, setpriv not installed (Debian: mpich, util-linux)"
    )


def test_the_versions_of_both_libraries_are_known():
    output_of.cache_clear()
    assert MPI_LIBRARIES["openmpi"].version().startswith("mpirun (Open MPI) ")
    assert MPI_LIBRARIES["mpich"].version().startswith("MPICH Version: ")


def test_a_program_of_the_other_library_is_reported_with_the_file_that_it_is_bound_to():
    file = file_of("icoFoam")
    assert library_mismatch("icoFoam", MEMORY) == (
        f"icoFoam is bound to Open MPI ({file}), and the interconnect uses MPICH"
    )
    assert library_mismatch("mpichversion", replace(MEMORY, launch={"mpi": "openmpi"})).startswith(
        "mpichversion is bound to MPICH ("
    )
    assert library_mismatch("mpichversion", MEMORY) is None
    assert library_mismatch(sys.executable, MEMORY) is None  # mpi4py takes either


STUDY = """
name: of_a_test
title: Of a test
question: Which?
cases: [cavity-4k, barrier]
interconnects: [shared_memory, shared_memory_mpich]
processes: [2, 4]
oversubscription: [1, 2]
blocks: 1
seed: 1
limits: {core_hours: 1, run_seconds: 60, idle_seconds: 1}
"""


@pytest.mark.parametrize(("transports", "finalizes"), [(None, True), ("self,sm", True), ("self,tcp", False)])
def test_only_ranks_that_talk_by_ucx_over_tcp_do_not_finalize(transports, finalizes, tmp_path):
    carrier = replace(MEMORY, launch={"mpi": "mpich", "env": {"UCX_TLS": transports} if transports else {}})
    launch = launch_ranks(Point("case", "memory", 2, 1, 1, 2), carrier, (), ["solve"], {}, tmp_path)
    assert ("MPI4PY_RC_FINALIZE" not in launch.env) == finalizes


def test_points_that_mpich_cannot_run_are_left_out_with_a_reason(tmp_path):
    plan = make_plan(study_file(tmp_path, STUDY))
    ran = {
        (point.case, point.processes, point.oversubscription)
        for point in plan.design.points
        if point.interconnect == "shared_memory_mpich"
    }
    assert ran == {("barrier", 2, 1)}
    reasons = {entry.reason: entry.what for entry in plan.design.left_out}
    [bound] = [reason for reason in reasons if reason.startswith("icoFoam is bound to Open MPI (")]
    assert reasons[bound].endswith("over shared_memory_mpich for cavity-4k")
    [polls] = [reason for reason in reasons if reason.startswith("MPICH's ranks poll without yielding")]
    assert "2 processes at oversubscription 2 over shared_memory_mpich for barrier" in reasons[polls]


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("name", ["shared_memory_mpich", "tcp_loopback_mpich", "emulated_ten_gigabit_mpich"])
def test_real_ranks_are_of_mpich_and_where_they_belong(run, name):
    ran = run(name, [sys.executable, "-c", WHO], 2, **world_environment("mpich"))
    assert (ran.execution.exit_status, ran.problem) == (0, None), ran.execution.errors
    assert [line.text for line in ran.execution.lines] == ["MPICH MPICH"]


@pytest.mark.slow
@pytest.mark.alone
def test_hydra_reports_success_of_ranks_that_do_not_finalize(run):
    """Without the library that ranks preload, 1 to 13 of 100 runs had exit status 1."""
    runs = [
        run("tcp_loopback_mpich", [sys.executable, "-c", WHO], 2, **world_environment("mpich"))
        for _ in range(60)
    ]
    assert [ran.execution.exit_status for ran in runs] == [0] * 60


def test_mpi4py_takes_open_mpi_where_the_linker_would_find_mpich_first(run, tmp_path, monkeypatch):
    """As where libmpich-dev is there and libopenmpi-dev is not: `libmpi.so` is MPICH's."""
    (tmp_path / "libmpi.so").symlink_to(file_of("mpichversion"))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    ran = run("shared_memory", [sys.executable, "-c", WHO], 2)
    assert (ran.execution.exit_status, ran.problem) == (0, None), ran.execution.errors
    assert [line.text for line in ran.execution.lines] == ["Open Open"]
