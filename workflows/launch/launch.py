"""Start the ranks of a run: on this machine, on emulated nodes, or on the nodes of a cluster's job."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from workflows.domain import Interconnect, Point
from workflows.launch.cluster_launch import JobNode, Node, launch_in_job
from workflows.launch.emulation import EmulatedNode
from workflows.launch.execution import OUTPUT
from workflows.launch.mpi.library import Launch, Ranks
from workflows.launch.mpi.registry import MPI_LIBRARIES, library_of, outside_jobs, write_rank_variables
from workflows.launch.ranks import PROGRAMS, rank_command, ranks_of_nodes


def launch_ranks(
    point: Point,
    interconnect: Interconnect | None,
    nodes: Sequence[Node],
    command: Sequence[str],
    environment: Mapping[str, str],
    scratch: Path,
) -> Launch:
    """Return the command line that starts the ranks of a run, with its whole environment.

    Parameters
    ----------
    interconnect : Interconnect or None
        None for a serial run.
    nodes : sequence of Node
        The emulated nodes of the interconnect, or the nodes of the job that the run uses; else empty.
    environment : mapping of str to str
        Environment variables of the case and of the run, for the ranks.
    scratch : Path
        Folder of this run, with a path short enough for sockets. All nodes share it. Each rank writes its
        host and cores there (see `workflows.launch.placement.read_placement`), and the reports of its MPI
        library.
    """
    variables = search_path(interconnect) | dict(environment)
    if interconnect and "placement" in interconnect.launch:
        variables |= {"NODEWORTH_PLACEMENT": interconnect.launch["placement"]}
    job_nodes = [node for node in nodes if isinstance(node, JobNode)]
    if job_nodes:
        return launch_in_job(point, interconnect, job_nodes, command, variables, scratch)
    emulated_nodes = [node for node in nodes if isinstance(node, EmulatedNode)][: point.nodes]
    return _launch_here(point, interconnect, emulated_nodes, command, variables, scratch)


def _launch_here(
    point: Point,
    interconnect: Interconnect | None,
    nodes: Sequence[EmulatedNode],
    command: Sequence[str],
    environment: Mapping[str, str],
    scratch: Path,
) -> Launch:
    """Launch on this machine or its emulated nodes.

    On emulated nodes, the launcher starts on the first node and enters the other nodes.
    """
    library = library_of(interconnect)
    settings = interconnect.launch if interconnect else library.serial_settings
    hosts = dict(zip((node.name for node in nodes), ranks_of_nodes(point), strict=True)) if nodes else {}
    ranks = Ranks(
        point=point,
        settings=settings,
        hosts=hosts,
        command=rank_command(point, command, scratch),
        variables={name: str(value) for name, value in settings.get("env", {}).items()} | dict(environment),
        scratch=scratch,
    )
    write_rank_variables(scratch, library.rank_variables)
    launch = library.launch(ranks)
    env = {
        **outside_jobs(),
        "TMPDIR": str(scratch),
        **library.library_environment(scratch),
        **launch.env,
        OUTPUT: "",
    }
    if not nodes:
        return Launch(launch.argv, env)
    env["NODEWORTH_NODES"] = " ".join(map(EmulatedNode.entry, nodes))
    env["PATH"] = f"{PROGRAMS}:{env['PATH']}"  # mpirun splits the path of an agent at blanks
    return Launch(nodes[0].enter(launch.argv), env)


def environment_alone(library: str, environment: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """Return the whole environment of a program linked to `library` that starts without a launcher."""
    variables = MPI_LIBRARIES[library].singleton_environment(scratch)
    return {**outside_jobs(), "TMPDIR": str(scratch), **variables, **environment}


def search_path(interconnect: Interconnect | None) -> dict[str, str]:
    """Return ``PATH`` with the folders of ``launch.path`` first; empty if the interconnect names none."""
    folders = interconnect.launch.get("path", []) if interconnect else []
    return {"PATH": os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)])} if folders else {}


def program_of_build(program: str, interconnect: Interconnect | None) -> str | None:
    """Return the path of a program in the folders of ``launch.path``; None if no folder has it."""
    folders = interconnect.launch.get("path", []) if interconnect else []
    return shutil.which(program, path=os.pathsep.join(folders)) if folders and "/" not in program else None
