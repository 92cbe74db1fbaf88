"""Which launcher starts the ranks of a run: that of the MPI library that its interconnect names."""

from __future__ import annotations

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
    if nodes and isinstance(nodes[0], JobNode):
        return launch_in_job(point, interconnect, nodes, command, environment, scratch)
    library = interconnect.launch["mpi"] if interconnect else "openmpi"
    return LAUNCHERS[library](point, interconnect, nodes, command, environment, scratch)


def one_process(library: str, environment: dict[str, str], scratch: Path) -> dict[str, str]:
    """Give the whole environment of a program that is started by itself, without a launcher.

    Parameters
    ----------
    library : str
        MPI library that the program is bound to.
    environment : dict
        What the application adds.
    scratch : Path
        Folder for the library's files.
    """
    return {**outside_jobs(), "TMPDIR": str(scratch), **_BY_ITSELF[library](scratch), **environment}
