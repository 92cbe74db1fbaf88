"""A cluster file, read and checked: how jobs are asked for and how ranks are started in them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from workflows import inputs
from workflows.domain import InputError, Interconnect, short_digest
from workflows.jobs import slurm
from workflows.jobs.schedulers import SCHEDULERS

_OF_NODES = ("nodes", "cores_per_node", "memory_per_node_MB")
_OF_SLURM = ("partition", "partitions", "constraint", "constraints", "reservation", "account", "qos", "extra")


@dataclass(frozen=True)
class Cluster:
    """The keys of workflows/schemas/cluster.yaml, which describes each; None for what is not said."""

    file: Path
    scheduler: str
    launcher: str
    mpi_plugin: str
    partition: str | None
    partitions: Mapping[str, str]
    account: str | None
    constraint: str | None
    constraints: Mapping[str, str]
    reservation: str | None
    qos: str | None
    exclusive: bool
    extra: str
    nodes: int | None
    cores_per_node: int | None
    memory_per_node_MB: int | None  # noqa: N815
    minutes: int
    limits: Mapping[str, float]
    blocks_per_job: int
    scratch: str | None
    modules: Sequence[str]
    container: str | None
    joined_by: str | Sequence[str] | None

    def is_joined_by(self, interconnect: str) -> bool:
        """Whether an emulated interconnect joins its nodes."""
        joined = self.joined_by or ()
        return interconnect in ([joined] if isinstance(joined, str) else joined)

    def where(self, interconnect: str | None) -> slurm.Where:
        """Tell which nodes the runs over an interconnect are on."""
        partition = self.partitions.get(interconnect, self.partition)
        return slurm.Where(partition, self.constraints.get(interconnect, self.constraint), self.reservation)

    def nodes_of(self, interconnect: str | None) -> slurm.Nodes:
        """Tell the nodes that runs over an interconnect can have.

        Raises
        ------
        InputError
            If Slurm is asked and knows no such nodes, shows none, does not answer, or is not here.
        """
        said = {key: getattr(self, key) for key in _OF_NODES}
        if None not in said.values():
            return slurm.Nodes(*said.values())
        if self.is_elsewhere:
            missing = ", ".join(key for key, value in said.items() if value is None)
            raise InputError(f"{self.file}: {missing}: must be given to plan where there is no Slurm to ask")
        found = slurm.nodes_of(self.where(interconnect), self.file)
        return slurm.Nodes(
            *(there if own is None else own for own, there in zip(said.values(), found, strict=True))
        )

    @property
    def is_elsewhere(self) -> bool:
        """Whether its scheduler is not to be found here, neither its program nor a job: one can only plan."""
        scheduler = SCHEDULERS[self.scheduler]
        return scheduler.job_variable not in os.environ and shutil.which(scheduler.submits) is None

    @property
    def options(self) -> list[str]:
        """Further options of sbatch for jobs with timed runs."""
        return [*(["--exclusive"] if self.exclusive else []), *shlex.split(self.extra)]

    @cached_property
    def digest(self) -> str:
        """Digest of what changes a run: how it is started, where, and with whose software."""
        content = [self.launcher, self.mpi_plugin, self.partition, dict(self.partitions), self.constraint]
        content += [self.exclusive, self.joined_by, self.scheduler, list(self.modules), self.container]
        content += [dict(self.constraints)] if self.constraints else []
        return short_digest(json.dumps(content, sort_keys=True).encode())


def read_cluster(file: Path) -> Cluster:
    """Read a cluster file.

    Raises
    ------
    InputError
        One line that names the file, the key and the value.
    """
    data = inputs.read_yaml(file)
    inputs.check(data, "cluster", file)
    given = inputs.defaults("cluster") | data
    names = [name for name in Cluster.__dataclass_fields__ if name != "file"]
    if given["scheduler"] != "slurm":
        _check_other(given, data, file)
    try:
        shlex.split(given["extra"])
    except ValueError as error:
        raise InputError(f"{file}: extra: {given['extra']!r}: {error}") from None
    return Cluster(file=file, **{name: given.get(name) for name in names})


def _check_other(given: Mapping[str, Any], said: Mapping[str, Any], file: Path) -> None:
    """Check the keys that are only for Slurm."""
    scheduler = given["scheduler"]
    if given["launcher"] == "srun":
        raise InputError(f"{file}: launcher: srun is Slurm's; with scheduler {scheduler}: mpirun or hydra")
    if missing := [key for key in _OF_NODES if key not in said]:
        raise InputError(f"{file}: {', '.join(missing)}: must be given with scheduler {scheduler}")
    if unknown := [key for key in _OF_SLURM if key in said]:
        raise InputError(
            f"{file}: {', '.join(unknown)}: only for Slurm; what {scheduler} is told is in "
            f"cluster/{scheduler}/config.yaml"
        )
    if scheduler == "flux" and given["nodes"] != 1:
        raise InputError(f"{file}: nodes: {given['nodes']}: a job of Snakemake's executor for Flux has one")


def placed(interconnect: Interconnect, cluster: Cluster) -> Interconnect:
    """Give an interconnect the nodes and cores that it has on a cluster."""
    own = interconnect.place == "own" or interconnect.simulate
    if own or (interconnect.emulate and not cluster.is_joined_by(interconnect.name)):
        return interconnect
    nodes = cluster.nodes_of(interconnect.name)
    between = interconnect.emulate or interconnect.place == "cluster"
    return replace(interconnect, nodes=nodes.number if between else 1, cores_per_node=nodes.cores)


def check_cluster(cluster: Cluster, interconnects: Mapping[str, Interconnect]) -> None:
    """Raise an `InputError` if what a cluster file says of the interconnects of a study is impossible."""
    for name, joined in interconnects.items():
        if cluster.is_joined_by(name) and not joined.emulate:
            raise InputError(
                f"{cluster.file}: joined_by: {name!r} is {joined.kind}; only an emulated one joins an "
                "emulated cluster"
            )
