"""Launching with MPICH: its launcher Hydra, and the name of its library that mpi4py looks for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from workflows.domain import Interconnect, Point
from workflows.launch.emulation import INTERFACE, EmulatedNode
from workflows.launch.execution import OUTPUT
from workflows.launch.launch import Launch, mpi4py_of, on_first, outside_jobs, ranks_of_nodes, start_rank
from workflows.launch.provenance import mpi_library

PROGRAMS = ("mpiexec.hydra", "mpichversion")
ABI_NAME = "libmpi.so.12"  # under which mpi4py looks for the library; Debian's is libmpich.so.12
LIBRARIES = "lib"  # folder in the run's own, with a link of that name
NO_FINALIZE = {"MPI4PY_RC_FINALIZE": "0"}
"""Of UCX's TCP, which may hang closing connections (openucx/ucx issue 8738). Of ranks that do not finalize,
Hydra says in one run of 500 that they had exit status 1."""
EMULATED_ENV = {"UCX_NET_DEVICES": INTERFACE}


def mpiexec(
    point: Point,
    interconnect: Interconnect,
    nodes: Sequence[EmulatedNode],
    command: Sequence[str],
    environment: dict[str, str],
    scratch: Path,
) -> Launch:
    """Launch with MPICH's mpiexec (Hydra), as `workflows.launch.mpirun`; of messages nothing is told."""
    here = list(nodes[: point.nodes])
    rank = start_rank(point, command, scratch)
    remote = []
    if here:
        hosts = zip(here, ranks_of_nodes(point), strict=True)
        slots = ",".join(f"{node.name}:{ranks}" for node, ranks in hosts)
        remote = ["-hosts", slots, "-launcher", "rsh", "-launcher-exec", "enter-node", "-iface", INTERFACE]
    ended = "-disable-auto-cleanup"  # a rank that has ended without MPI_Finalize ends no other
    argv = [PROGRAMS[0], "-n", str(point.processes), *remote, "-bind-to", "none", ended, *rank.argv]
    given = {**(EMULATED_ENV if here else {}), **interconnect.launch.get("env", {}), **environment}
    env = {
        **outside_jobs(),
        "TMPDIR": str(scratch),
        **mpich_environment(scratch),
        **(NO_FINALIZE if here or "tcp" in str(given.get("UCX_TLS")) else {}),
        **{name: str(value) for name, value in given.items()},
        OUTPUT: "",
    }
    return on_first(here, replace(rank, argv=argv, env=env))


def mpich_environment(scratch: Path) -> dict[str, str]:
    """Give what makes a program take MPICH, also by itself; a folder with its library is made."""
    libraries = scratch / LIBRARIES
    libraries.mkdir(exist_ok=True)
    link = libraries / ABI_NAME
    if not link.is_symlink():
        link.symlink_to(mpi_library("mpichversion"))
    path = ":".join(filter(None, [str(libraries), os.environ.get("LD_LIBRARY_PATH")]))
    return mpi4py_of("mpich") | {"LD_LIBRARY_PATH": path}
