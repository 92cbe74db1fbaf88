"""Command lines that start the ranks of a point on the nodes of a cluster's job.

Ranks are numbered node by node (`workflows.launch.ranks.ranks_of_nodes`). Launchers do not bind ranks to
cores: the script ``workflows/launch/rank`` pins each rank, as on one machine.
"""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workflows.domain import Interconnect, Point
from workflows.inputs import choose
from workflows.jobs import SCHEDULERS
from workflows.jobs.cluster import Cluster
from workflows.jobs.scheduler import Scheduler
from workflows.launch.emulation import EmulatedNode
from workflows.launch.leftovers import MARK
from workflows.launch.mpi.library import JobRanks, Launch, RankVariables
from workflows.launch.mpi.registry import (
    MPI_LIBRARIES,
    library_of,
    library_of_launcher,
    outside_mpi,
    write_rank_variables,
)
from workflows.launch.ranks import rank_command, ranks_of_nodes
from workflows.paths import ROOT

IMAGE = "NODEWORTH_IMAGE"
"""Environment variable with the command line that enters a container image, set for scripts in that image."""

ROOT_INSIDE = "ROOT-INSIDE"
"""Placeholder in `IMAGE` for the path of the project's folder in the image, which Snakemake decides."""

_OF_SRUN = RankVariables("SLURM_PROCID", "SLURM_LOCALID", None)
_HIDDEN = tuple(prefix for scheduler in SCHEDULERS.values() for prefix in scheduler.hidden_prefixes)
_VISIBLE = tuple(name for scheduler in SCHEDULERS.values() for name in scheduler.visible_variables)


def check_launcher(cluster: Cluster) -> None:
    """Raise an `InputError` if a site file names an unknown launcher."""
    launchers = [library.job_launcher for library in MPI_LIBRARIES.values()]
    launchers += filter(None, [cluster.scheduler.own_launcher])
    choose(cluster.launcher, launchers, "launcher", f"{cluster.file}: launcher")


def inherited() -> dict[str, str]:
    """Return the environment variables that ranks inherit.

    Variables that a scheduler sets for the first tasks of a job are left out.
    """
    variables = outside_mpi().items()
    return {name: value for name, value in variables if not name.startswith(_HIDDEN) or name in _VISIBLE}


@dataclass(frozen=True)
class JobNode:
    """A node of a job, and how ranks start on it: see workflows/schemas/cluster.yaml.

    Attributes
    ----------
    cores : tuple of int or None
        Cores of the node that belong to the job. None: unknown, because the scheduler confines the ranks to
        them.
    environment : mapping of str to str
        Variables that ranks inherit, read once for all runs in the job.
    """

    name: str
    launcher: str
    mpi_plugin: str
    scheduler: Scheduler = SCHEDULERS["slurm"]
    cores: tuple[int, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=inherited, compare=False, repr=False)


Node = EmulatedNode | JobNode
"""A node of a run: emulated, or of a cluster's job."""


def is_this_machine(node: Node) -> bool:
    """Whether this process runs on a node; names may include a domain."""
    return platform.node().partition(".")[0] == node.name.partition(".")[0]


def entering() -> list[str]:
    """Return the command line that enters the image of this process on any node; empty outside an image."""
    return [word.replace(ROOT_INSIDE, str(ROOT)) for word in shlex.split(os.environ.get(IMAGE, ""))]


def launch_in_job(
    point: Point,
    interconnect: Interconnect | None,
    nodes: Sequence[JobNode],
    command: Sequence[str],
    environment: Mapping[str, str],
    scratch: Path,
) -> Launch:
    """Launch on the first nodes of a job; all nodes see `scratch`.

    The arguments are those of `workflows.launch.launch.launch_ranks`.
    """
    node = nodes[0]
    hosts = dict(zip((node.name for node in nodes), ranks_of_nodes(point), strict=False))
    # Slurm's srun starts ranks outside the container image, so each rank must enter the image.
    enter_image = entering() if node.launcher == node.scheduler.own_launcher else []
    # Without the mark, no clean-up on this node kills the ranks: Slurm ends them on all nodes.
    program = ["env", "-u", MARK, *enter_image, *rank_command(point, command, scratch)]
    settings = interconnect.launch if interconnect else None
    of_launcher = library_of_launcher(node.launcher)
    library = library_of(interconnect) if interconnect else of_launcher
    variables = {"MPI4PY_MPIABI": library.mpi4py_abi} if library else {}
    # Set the variables of every library. A serial run under srun may use any library, and no library reads
    # the variables of another.
    is_emulated = bool(interconnect and interconnect.emulate)
    for configured in MPI_LIBRARIES.values():
        variables |= configured.job_environment(point, settings, is_emulated)
    variables |= {name: str(value) for name, value in (settings or {}).get("env", {}).items()}
    variables |= environment
    variables["NODEWORTH_RANKS_OF_NODES"] = " ".join(map(str, hosts.values()))
    if of_launcher:
        ranks = JobRanks(hosts, program, variables.keys(), node.scheduler, entering())
        write_rank_variables(scratch, of_launcher.rank_variables)
        launch = of_launcher.launch_in_job(ranks)
    else:
        write_rank_variables(scratch, _OF_SRUN)
        launch = _srun(hosts, program, node, scratch / "hosts", point)
    return Launch(launch.argv, {**node.environment, **variables, **launch.env})


def _srun(
    hosts: Mapping[str, int], program: Sequence[str], node: JobNode, hosts_file: Path, point: Point
) -> Launch:
    """Return the command line of srun, which starts a step of the job.

    Parameters
    ----------
    hosts : mapping of str to int
        Number of ranks on each node.
    hosts_file : Path
        File that srun reads if there are several nodes. It is written here: the node of each rank.
    """
    node_options, variables = [f"--nodelist={next(iter(hosts))}"], {}
    if len(hosts) > 1:
        hosts_file.write_text("".join(f"{host}\n" * count for host, count in hosts.items()))
        node_options, variables = ["--distribution=arbitrary"], {"SLURM_HOSTFILE": str(hosts_file)}
    argv = [
        *("srun", f"--mpi={node.mpi_plugin}", f"--nodes={len(hosts)}", f"--ntasks={sum(hosts.values())}"),
        *([f"--cpus-per-task={point.cores_per_process}"] if point.threads > 1 else []),
        *(*node_options, "--overcommit", "--cpu-bind=none", "--mem=0"),
        "--overlap",  # share cores with the step in which this process runs
        *("--kill-on-bad-exit=1", "--input=none", "--export=ALL", "--job-name=nodeworth", *program),
    ]
    return Launch(argv, variables)
