"""The command line that starts a point's ranks where they belong, and the check that they were there.

A launcher is a function with the arguments of `mpirun`; `workflows.launch.launchers` chooses one.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any

from workflows.domain import Interconnect, Point, counted
from workflows.jobs import SCHEDULERS
from workflows.launch.emulation import INTERFACE, EmulatedNode
from workflows.launch.execution import OUTPUT

PROGRAMS = Path(__file__).parent.resolve()  # holds rank and enter-node
SERIAL_MCA = {"btl": "self,vader"}
ATTEST_MCA = {"osc_base_verbose": 1}  # what it prints is read by `workflows.launch.one_sided`

_MCA = "OMPI_MCA_"  # an environment variable whose name begins so is a parameter of Open MPI
# By these mpirun would find the job that this process is in, and look for its nodes and its daemons there.
_OF_JOB = tuple(prefix for scheduler in SCHEDULERS.values() for prefix in scheduler.job_prefixes)
# By these it would take itself for the MPI process that started this one, and end without a word.
_OF_MPI_PROCESS = re.compile(
    r"PMI_.*|PMIX_(?!MCA_).*|ORTE_.*"
    r"|OMPI_(APP_CTX_NUM_PROCS|ARGV|COMMAND|COMM_WORLD_.*|F(ILE_LOCATION|IRST_RANKS)|NUM_APP_CTX|UNIVERSE_SIZE)"
    r"|OMPI_MCA_(ess(_.*)?|initial_wdir|pmix|orte_(app_num|bound_at_launch|ess_.*|hnp_uri|jobfam_session_dir"
    r"|launch|local_daemon_uri|num_nodes|precondition_transports|top_session_dir))"
)

# Open MPI creates files of shared memory in these places; by default most of them are /dev/shm.
_FOLDER_PARAMETERS = (
    "orte_tmpdir_base",
    "btl_vader_backing_directory",
    "osc_sm_backing_directory",
    "osc_rdma_backing_directory",
)
EMULATED_MCA = {
    "btl_tcp_if_include": INTERFACE,
    "oob_tcp_if_include": INTERFACE,
    "plm_rsh_agent": "enter-node",
    "plm_rsh_no_tree_spawn": 1,
    "orte_leave_session_attached": 1,  # mpirun's daemons on the other nodes die with it
    "orte_launch_agent": "setpriv --pdeathsig KILL orted",
}


@dataclass(frozen=True)
class Launch:
    """How a run is started.

    Attributes
    ----------
    env : dict
        The whole environment.
    """

    argv: list[str]
    env: dict[str, str]


def mpirun(
    point: Point,
    interconnect: Interconnect | None,
    nodes: Sequence[EmulatedNode],
    command: Sequence[str],
    environment: dict[str, str],
    scratch: Path,
) -> Launch:
    """Launch with Open MPI's mpirun on this machine, and on the emulated nodes that are on it.

    Parameters
    ----------
    interconnect : Interconnect or None
        None for a serial run.
    nodes : sequence of EmulatedNode
        The emulated nodes of the interconnect; empty where it is not emulated.
    scratch : Path
        Folder of this run for Open MPI's files, with a short path: sockets are made in it. Every rank says
        there where it runs (see `read_placement`), and Open MPI in each rank what it does (see
        `workflows.launch.one_sided.read_windows`).
    """
    here = list(nodes[: point.nodes])
    hosts = [node.name for node in here] or ["localhost"]
    launch = interconnect.launch if interconnect else {"mca": SERIAL_MCA}
    mca = {
        "pml": "ob1",
        "mpi_yield_when_idle": int(point.running > point.cores),
        "odls_base_num_threads": 0,  # a rank dies with the thread that started it
        **dict.fromkeys(_FOLDER_PARAMETERS, scratch),
        **ATTEST_MCA,
        **(EMULATED_MCA if here else {}),
        **launch.get("mca", {}),
        **{name.removeprefix(_MCA): value for name, value in environment.items() if name.startswith(_MCA)},
    }
    given = {**launch.get("env", {}), **environment}
    exported = {name: str(value) for name, value in given.items() if not name.startswith(_MCA)}
    slots = (f"{host}:{ranks}" for host, ranks in zip(hosts, ranks_of_nodes(point), strict=True))
    rank = start_rank(point, command, scratch)
    argv = [
        *("mpirun", "-n", str(point.processes), "--host", ",".join(slots), "--bind-to", "none"),
        *(word for name, value in mca.items() for word in ("--mca", name, str(value))),
        *(word for name in exported for word in ("-x", name)),
        *rank.argv,
    ]
    env = {
        **outside_jobs(),
        "TMPDIR": str(scratch),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        **mpi4py_of("openmpi"),
        **exported,
        OUTPUT: "",
    }
    return on_first(here, replace(rank, argv=argv, env=env))


def outside_mpi() -> dict[str, str]:
    """Give the environment of this process without what names it, or its parent, as a process of MPI."""
    return {name: value for name, value in os.environ.items() if not _OF_MPI_PROCESS.fullmatch(name)}


def outside_jobs() -> dict[str, str]:
    """Give the environment of `outside_mpi` without what names a job that this process is in."""
    return {name: value for name, value in outside_mpi().items() if not name.startswith(_OF_JOB)}


def openmpi_alone(_scratch: Path) -> dict[str, str]:
    """Give what lets a program of Open MPI run by itself, without mpirun; only ``pt2pt`` makes windows so."""
    mca = {"ess_singleton_isolated": 1, "btl": "self", "pml": "ob1", "osc": "pt2pt"}
    return {f"{_MCA}{name}": str(value) for name, value in mca.items()} | mpi4py_of("openmpi")


def mpi4py_of(library: str) -> dict[str, str]:
    """Make mpi4py take an MPI library; by itself it takes the library that the linker finds first."""
    return {"MPI4PY_MPIABI": library}


def start_rank(point: Point, command: Sequence[str], scratch: Path) -> Launch:
    """Make a command start one rank on its own cores, which writes of itself in `scratch`.

    Returns
    -------
    Launch
        What a launcher is to start on every rank, in no environment yet.
    """
    cores = (str(point.processes_per_core), str(point.cores_per_process))
    return Launch([f"{PROGRAMS}/rank", str(scratch), *cores, *command], {})


def on_first(nodes: Sequence[EmulatedNode], launch: Launch) -> Launch:
    """Make a launcher start on the first of the emulated nodes and find the others; unchanged without any."""
    if not nodes:
        return launch
    found = {
        "NODEWORTH_NODES": " ".join(map(EmulatedNode.entry, nodes)),
        "PATH": f"{PROGRAMS}:{launch.env['PATH']}",  # mpirun splits an agent's path at blanks
    }
    return replace(launch, argv=nodes[0].enter(launch.argv), env=launch.env | found)


def cores_of_nodes(point: Point) -> list[int]:
    """Cores used on each node: as even as can be, on the first nodes for one process more."""
    each = point.cores_per_process
    even, more = divmod(point.cores // each, point.nodes)
    return [(even + (node < more)) * each for node in range(point.nodes)]


def most_cores_of_a_node(point: Point) -> int:
    """The most of `cores_of_nodes`, which is a list as long as there are nodes."""
    each = point.cores_per_process
    return math.ceil(point.cores // each / point.nodes) * each


def ranks_of_nodes(point: Point) -> list[int]:
    """Ranks on each node, which are numbered through node by node."""
    each = point.running_per_process
    ranks = [cores * point.oversubscription // each for cores in cores_of_nodes(point)]
    ranks[-1] -= sum(ranks) - point.processes  # fewer where the processes do not divide
    return ranks


def read_placement(folder: Path) -> list[dict[str, Any]]:
    """Read what the ranks said of themselves.

    Returns
    -------
    list of dict
        By rank: ``rank, host, process, local_rank, cores``; `cores` is the kernel's list (``0-1``). Of
        processes of several threads ``threads`` too: ``cores`` and ``cpu_seconds`` of each, busiest first;
        of ranks placed among the domains of a node ``domains``: by core of it, the number of its domain.
        A rank that was stopped before it could say all of it is missing.
    """
    placement, files = [], set(os.listdir(folder))
    for rank in sorted(int(name) for name in files if name.isdecimal()):
        said = (folder / str(rank)).read_text().splitlines()
        if len(said) not in (4, 5):
            continue
        host, process, local_rank, cores, *domains = said
        numbers = {"process": int(process), "local_rank": int(local_rank)}
        placement.append({"rank": rank, "host": host, **numbers, "cores": cores})
        if domains:
            placement[-1]["domains"] = dict(map(str.split, domains[0].split(), repeat("=")))
        if (told := f"{rank}.threads") in files:
            placement[-1]["threads"] = read_threads(folder / told)
    return placement


def read_threads(file: Path) -> list[dict[str, Any]]:
    """Read what a rank said of its threads, busiest first; nothing where it said nothing."""
    lines = file.read_text().splitlines() if file.exists() else []
    threads = ((float(seconds), own) for seconds, own in map(str.split, lines))
    return [{"cores": own, "cpu_seconds": seconds} for seconds, own in sorted(threads, reverse=True)]


def check_placement(
    placement: Sequence[dict[str, Any]], point: Point, nodes: Sequence[EmulatedNode]
) -> str | None:
    """One line for the first difference between where the ranks ran and where the point wants them."""
    ranks = [rank["rank"] for rank in placement]
    if ranks != list(range(point.processes)):
        return f"ranks {ranks} started, not 0 to {point.processes - 1}"
    hosts = list(dict.fromkeys(rank["host"] for rank in placement))
    if len(hosts) != point.nodes:
        return f"ran on {counted(len(hosts), 'node')} ({', '.join(hosts)}), not on {point.nodes}"
    wanted = [host for host, count in zip(hosts, ranks_of_nodes(point), strict=True) for _ in range(count)]
    for rank, host in zip(placement, wanted, strict=True):
        if rank["host"] != host:
            return f"rank {rank['rank']} ran on {rank['host']}, not on {host}"
        if len(listed(rank["cores"])) != point.cores_per_process:
            wanted_cores = "one" if point.cores_per_process == 1 else str(point.cores_per_process)
            return f"rank {rank['rank']} could use cores {rank['cores']}, not only {wanted_cores}"
    for number, (host, cores) in enumerate(zip(hosts, cores_of_nodes(point), strict=True)):
        here = (rank["cores"] for rank in placement if rank["host"] == host)
        load = Counter(core for own in here for core in listed(own))
        if len(load) != cores or max(load.values()) > point.processes_per_core:
            ran = ", ".join(f"{count} on core {core}" for core, count in sorted(load.items()))
            return f"{host}: {ran}, not {point.processes_per_core} on each of {cores} cores"
        if nodes and not _is_on(nodes[number], host, load):
            node = nodes[number]
            its_cores = "" if node.cores is None else f" with cores {list(node.cores)}"
            return f"{host} with cores {sorted(load)} is not {node.name}{its_cores}"
    return None


IDLE, BUSY = 0.01, 0.5
"""Shares of the CPU time of a process's busiest thread: up to the first a thread does not compute, as those
that watch connections for MPI; from the second on it surely does."""


def check_threads(placement: Sequence[dict[str, Any]], point: Point) -> str | None:
    """Compare where the threads of each process ran with where the point wants them.

    Threads that are not bound one by one, as those of a BLAS, may use all cores of their process, which no
    other process has: then the kernel gives each its own.

    Returns
    -------
    str or None
        One line for the first difference: a process with fewer or more threads that compute, a thread
        elsewhere than its process, or more threads on cores than these have to carry.
    """
    most = -(-point.threads // point.cores_per_process)
    for rank in placement if point.threads > 1 else ():
        who, told = f"rank {rank['rank']}", rank.get("threads")
        if not told:
            return f"{who} told nothing of its threads: that takes an MPI compiler and a call of MPI_Finalize"
        shares = [thread["cpu_seconds"] / max(told[0]["cpu_seconds"], 1e-9) for thread in told]
        working, busy = (sum(share > least for share in shares) for least in (IDLE, BUSY))
        computing = max(busy, min(working, point.threads), 1)
        if computing != point.threads:
            return f"{who} computed with {counted(computing, 'thread')}, not {point.threads}"
        cores = [frozenset(listed(thread["cores"])) for thread in told[: point.threads]]
        own = set(listed(rank["cores"]))
        for some in cores:
            there = sum(others <= some for others in cores)
            if not some <= own or there > most * len(some):
                where = f"{'core' if len(some) == 1 else 'cores'} {', '.join(map(str, sorted(some)))}"
                return (
                    f"{who}: {there} of its threads on {where}, not {most} on each of cores {rank['cores']}"
                )
    return None


def check_domains(placement: Sequence[dict[str, Any]], wanted: str | None) -> str | None:
    """Compare the domains (NUMA nodes, else L3 caches) where ranks ran with how they are to be placed.

    Parameters
    ----------
    wanted : str or None
        ``packed``: no second domain of a node is begun before the one before is full. ``spread``: as many as
        can be have ranks, and equally many, or one more.

    Returns
    -------
    str or None
        One line for the first node that differs.
    """
    for host in dict.fromkeys(rank["host"] for rank in placement) if wanted else ():
        here = [rank for rank in placement if rank["host"] == host]
        of_core: dict[str, str] = here[0].get("domains", {})
        room, used = Counter(of_core.values()), Counter()
        for rank in here:
            cores = [of_core.get(str(core), "?") for core in listed(rank["cores"])]
            used.update(cores if wanted == "packed" else cores[:1])
        begun = [domain for domain, count in used.items() if count < room[domain]]
        least, most = min(used.values()), max(used.values())
        spread = len(used) == min(len(room), len(here)) and most - least <= 1
        if "?" in used or not (len(begun) <= 1 if wanted == "packed" else spread):
            ran = ", ".join(f"{count} in domain {domain}" for domain, count in sorted(used.items()))
            return f"{host}: {ran} of {len(room)}, which is not {wanted}"
    return None


def _is_on(node: Any, host: str, cores: Iterable[int]) -> bool:
    """Whether a host, whose name may hold a domain, is a node and the cores are its own, if it has such."""
    named = host.partition(".")[0] == node.name.partition(".")[0]
    return named and (node.cores is None or set(cores) <= set(node.cores))


def listed(cores: str) -> list[int]:
    """Cores of the kernel's list (``0-1,4``)."""
    spans = [span.partition("-") for span in cores.split(",")]
    return [core for first, _, last in spans for core in range(int(first), int(last or first) + 1)]
