"""Which launcher starts the ranks of a run: that of the MPI library that its interconnect names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workflows.domain import Interconnect, Point
from workflows.launch.cluster_launch import JobNode, launch_in_job
from workflows.launch.emulation import EmulatedNode
from workflows.launch.launch import Launch, mpirun
from workflows.launch.mpich import mpiexec

LAUNCHERS = {"openmpi": mpirun, "mpich": mpiexec}


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
    if nodes and isinstance(nodes[0], JobNode):
        return launch_in_job(point, interconnect, nodes, command, environment, scratch)
    library = interconnect.launch["mpi"] if interconnect else "openmpi"
    return LAUNCHERS[library](point, interconnect, nodes, command, environment, scratch)
