"""Which launcher starts the ranks of a run: that of the MPI library that its interconnect names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from workflows.domain import Interconnect, Point
from workflows.launch.cluster_launch import JobNode, launch_in_job
from workflows.launch.emulation import EmulatedNode
from workflows.launch.launch import Launch, mpirun, openmpi_alone, outside_jobs
from workflows.launch.mpich import mpich_environment, mpiexec

LAUNCHERS = {"openmpi": mpirun, "mpich": mpiexec}
_BY_ITSELF = {"openmpi": openmpi_alone, "mpich": mpich_environment}


def launch_ranks(
    point: Point,
    interconnect: Interconnect | None,
    nodes: Sequence[EmulatedNode | JobNode],
    command: Sequence[str],
    environment: dict[str, str],
    scratch: Path,
) -> Launch:
    """Launch by the MPI library of the interconnect, a serial run by Open MPI; in a job, as its nodes say.

    The arguments are those of `workflows.launch.mpirun`.
    """
    environment = search_path(interconnect) | environment
    if interconnect and "placement" in interconnect.launch:
        environment |= {"NODEWORTH_PLACEMENT": interconnect.launch["placement"]}
    if nodes and isinstance(nodes[0], JobNode):
        return launch_in_job(point, interconnect, nodes, command, environment, scratch)
    library = interconnect.launch["mpi"] if interconnect else "openmpi"
    return LAUNCHERS[library](point, interconnect, nodes, command, environment, scratch)


def search_path(interconnect: Interconnect | None) -> dict[str, str]:
    """``PATH`` of the ranks, as environment, where an interconnect names folders of its own; else nothing."""
    own = interconnect.launch.get("path", []) if interconnect else []
    return {"PATH": os.pathsep.join([*own, os.environ.get("PATH", os.defpath)])} if own else {}


def program_of_build(program: str, interconnect: Interconnect | None) -> str | None:
    """Path of a program in the folders that an interconnect names; None where it is in none of them."""
    own = interconnect.launch.get("path", []) if interconnect else []
    return shutil.which(program, path=os.pathsep.join(own)) if own and "/" not in program else None


def one_process(library: str, environment: dict[str, str], scratch: Path) -> dict[str, str]:
    """Give the whole environment of a program bound to `library` that is started without a launcher."""
    return {**outside_jobs(), "TMPDIR": str(scratch), **_BY_ITSELF[library](scratch), **environment}
