"""The command lines that start a point's ranks on the nodes of a job, with each launcher of a cluster.

Ranks are numbered node by node and dealt out as `workflows.launch.ranks_of_nodes` says. The launchers bind
nothing: `workflows/launch/rank` pins every rank, as on one machine.
"""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workflows.domain import Interconnect, Point
from workflows.jobs import SCHEDULERS
from workflows.jobs.scheduler import Scheduler
from workflows.launch.emulation import INTERFACE
from workflows.launch.launch import (
    ATTEST_MCA,
    SERIAL_MCA,
    Launch,
    mpi4py_of,
    outside_mpi,
    ranks_of_nodes,
    start_rank,
)
from workflows.launch.leftovers import MARK
from workflows.paths import ROOT

IMAGE = "NODEWORTH_IMAGE"
"""Variable with the command line that enters the image in which a script is, where it is in one."""

ROOT_INSIDE = "ROOT-INSIDE"
"""Stands in it for the project's folder as it is called inside, which Snakemake decides."""

Started = tuple[list[str], dict[str, str]]
"""Command line of a launcher, and what it needs in the environment beside what the ranks do."""

_HIDDEN = tuple(prefix for scheduler in SCHEDULERS.values() for prefix in scheduler.hidden_prefixes)
_VISIBLE = tuple(name for scheduler in SCHEDULERS.values() for name in scheduler.visible_variables)


def inherited() -> dict[str, str]:
    """Return the environment that ranks inherit: without what schedulers set for the first tasks of a job."""
    variables = outside_mpi().items()
    return {name: value for name, value in variables if not name.startswith(_HIDDEN) or name in _VISIBLE}


@dataclass(frozen=True)
class JobNode:
    """A node of a job, and how ranks are started on it: see workflows/schemas/cluster.yaml.

    Which of its cores are the job's is the scheduler's to say (None), and the ranks'. `environment` is what
    they inherit, read once for all runs in the job.
    """

    name: str
    launcher: str
    mpi_plugin: str
    scheduler: Scheduler = SCHEDULERS["slurm"]
    cores: tuple[int, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=inherited, compare=False, repr=False)


def is_this_machine(node: JobNode) -> bool:
    """Whether this process is on a node; names may hold a domain."""
    return platform.node().partition(".")[0] == node.name.partition(".")[0]


def entering() -> list[str]:
    """Command line that enters on any node the image in which this process is; empty where it is in none."""
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

    The arguments are those of `workflows.launch.mpirun`.
    """
    here = dict(zip((node.name for node in nodes), ranks_of_nodes(point), strict=False))
    rank = start_rank(point, command, scratch)
    # A step of srun begins outside the image in which this process is.
    outside = entering() if nodes[0].launcher == "srun" else []
    # Slurm ends the ranks, also those on nodes where this process is not.
    program = ["env", "-u", MARK, *outside, *rank.argv]
    given = interconnect.launch.get("env", {}) if interconnect else {}
    own = {"mpirun": "openmpi", "hydra": "mpich"}.get(nodes[0].launcher)  # srun starts those of any library
    library = interconnect.launch["mpi"] if interconnect else own
    added = {
        **(mpi4py_of(library) if library else {}),
        **{f"OMPI_MCA_{name}": str(value) for name, value in mca_of(point, interconnect).items()},
        **{name: str(value) for name, value in given.items()},
        **environment,
        "NODEWORTH_RANKS_OF_NODES": " ".join(map(str, here.values())),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    match nodes[0].launcher:
        case "srun":
            argv, more = _srun(here, program, nodes[0], scratch / "hosts", point)
        case "mpirun":
            argv, more = _mpirun(here, program, nodes[0], added)
        case _:
            argv, more = _hydra(here, program, nodes[0])
    return Launch(argv, {**nodes[0].environment, **added, **more})


def mca_of(point: Point, interconnect: Interconnect | None) -> dict[str, Any]:
    """Open MPI parameters of a run on a cluster; files of shared memory stay on the node of their ranks."""
    launch = interconnect.launch if interconnect else {"mca": SERIAL_MCA}
    emulated = {"btl_tcp_if_include": INTERFACE} if interconnect and interconnect.emulate else {}
    return {
        "pml": "ob1",
        "mpi_yield_when_idle": int(point.running > point.cores),
        **ATTEST_MCA,
        **emulated,
        **launch.get("mca", {}),
    }


def _srun(
    here: Mapping[str, int], program: Sequence[str], node: JobNode, hosts: Path, point: Point
) -> Started:
    """Start a step of the job; of several nodes, the file `hosts` says exactly where each rank goes."""
    where, settings = [f"--nodelist={next(iter(here))}"], {}
    if len(here) > 1:
        hosts.write_text("".join(f"{host}\n" * count for host, count in here.items()))
        where, settings = ["--distribution=arbitrary"], {"SLURM_HOSTFILE": str(hosts)}
    argv = [
        *("srun", f"--mpi={node.mpi_plugin}", f"--nodes={len(here)}", f"--ntasks={sum(here.values())}"),
        *([f"--cpus-per-task={point.cores_per_process}"] if point.threads > 1 else []),
        *(*where, "--overcommit", "--cpu-bind=none", "--mem=0"),
        "--overlap",  # the step in which this process itself runs keeps its cores
        *("--kill-on-bad-exit=1", "--input=none", "--export=ALL", "--job-name=nodeworth", *program),
    ]
    return argv, settings


def _mpirun(here: Mapping[str, int], program: Sequence[str], node: JobNode, added: Iterable[str]) -> Started:
    """Start by Open MPI's mpirun, which starts its daemons by the scheduler; srun gets the job's settings."""
    exported = (word for name in added if not name.startswith("OMPI_") for word in ("-x", name))
    slots, ranks = ",".join(f"{host}:{count}" for host, count in here.items()), str(sum(here.values()))
    argv = ["mpirun", "-n", ranks, "--host", slots, "--bind-to", "none", *exported, *program]
    agent = {"OMPI_MCA_orte_launch_agent": " ".join([*entering(), "orted"])} if entering() else {}
    return argv, agent | node.scheduler.mpirun_environment(here)


def _hydra(here: Mapping[str, int], program: Sequence[str], node: JobNode) -> Started:
    """Start with mpiexec.hydra of Intel MPI or MPICH, which starts its proxies by the scheduler."""
    slots, ranks = ",".join(f"{host}:{count}" for host, count in here.items()), str(sum(here.values()))
    argv = ["mpiexec.hydra", *node.scheduler.hydra_options(), "-hosts", slots, "-n", ranks, *program]
    return argv, {"I_MPI_PIN": "0", **node.scheduler.hydra_environment()}
