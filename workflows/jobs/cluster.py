"""Site files: how jobs ask for nodes, and how ranks are started in them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from workflows import inputs
from workflows.domain import InputError, Interconnect, short_digest
from workflows.jobs import SCHEDULERS
from workflows.jobs.scheduler import NODE_KEYS, Nodes, NodeSelection, Scheduler
from workflows.paths import ROOT

SITE = ROOT / "cluster/site.yaml"
"""Site file of the project, which ``./run-study --init`` writes; without it, keys have their defaults."""


@dataclass(frozen=True)
class Cluster:
    """The keys of a site file, which workflows/schemas/cluster.yaml describes; None for a missing key."""

    file: Path
    scheduler: Scheduler
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
        """Whether an emulated interconnect joins the nodes of this cluster."""
        names = [self.joined_by] if isinstance(self.joined_by, str) else self.joined_by or ()
        return interconnect in names

    def selection(self, interconnect: str | None) -> NodeSelection:
        """Return the nodes that runs over an interconnect ask for; None stands for serial runs."""
        partition, constraint = self.partition, self.constraint
        if interconnect is not None:
            partition = self.partitions.get(interconnect, partition)
            constraint = self.constraints.get(interconnect, constraint)
        return NodeSelection(partition, constraint, self.reservation)

    def nodes_of(self, interconnect: str | None) -> Nodes:
        """Return the nodes that runs over an interconnect can have.

        The site file describes them. Otherwise the scheduler is asked.

        Raises
        ------
        InputError
            If the scheduler knows no such nodes, hides them, does not answer, or is not here.
        """
        number, cores, memory_mb = self.nodes, self.cores_per_node, self.memory_per_node_MB
        if number is not None and cores is not None and memory_mb is not None:
            return Nodes(number, cores, memory_mb)
        if self.is_elsewhere:
            missing = ", ".join(key for key in NODE_KEYS if getattr(self, key) is None)
            place = f"to plan where there is no {self.scheduler.title} to ask"
            if not self.file.exists():
                writes = "./run-study --init writes it"
                raise InputError(f"{self.file}: no such file; {writes}; it must give {missing} {place}")
            raise InputError(f"{self.file}: {missing}: must be given {place}")
        shown = self.scheduler.nodes_of(self.selection(interconnect), self.file)
        return Nodes(
            shown.number if number is None else number,
            shown.cores if cores is None else cores,
            shown.memory_MB if memory_mb is None else memory_mb,
        )

    @property
    def is_elsewhere(self) -> bool:
        """Whether its scheduler is not here, so that a study can only be planned."""
        return not self.scheduler.is_here

    @cached_property
    def digest(self) -> str:
        """Digest of the keys that change a run: launcher, nodes, and software."""
        content: list[object] = [self.launcher, self.mpi_plugin]
        content += [self.partition, dict(self.partitions), self.constraint]
        content += [self.exclusive, self.joined_by, self.scheduler.name, list(self.modules), self.container]
        content += [dict(self.constraints)] if self.constraints else []
        return short_digest(json.dumps(content, sort_keys=True).encode())


def site_file(name: str | Path, study: Path) -> Path:
    """Return the site file that a profile or study names, such as ``cluster/site.yaml``.

    The first file that exists is returned: this path below the current folder, ``site.yaml`` in the current
    folder, ``site.yaml`` next to the study file. If none exists, it is the path below the project's folder.
    """
    name = Path(name)
    places = (name, Path(name.name), study.parent / name.name)
    return next((file for file in places if file.exists()), ROOT / name)


def read_cluster(file: Path) -> Cluster:
    """Read and check a site file.

    Raises
    ------
    InputError
        One line that names the file, the key and the value.
    """
    data = inputs.read_yaml(file) if file.exists() or file != SITE else {}
    inputs.check(data, "cluster", file)
    values = inputs.defaults("cluster") | data
    name = inputs.choose(values["scheduler"], SCHEDULERS, "scheduler", f"{file}: scheduler")
    scheduler = SCHEDULERS[name]
    for other in SCHEDULERS.values():
        if other is not scheduler and values["launcher"] == other.own_launcher:
            raise InputError(
                f"{file}: launcher: {other.own_launcher} is not for scheduler {scheduler.name}; "
                "with it: the launcher of an MPI library, such as mpirun"
            )
    scheduler.check(values, data, file)
    for other in SCHEDULERS.values():
        foreign = [key for key in other.cluster_keys if key in data and key not in scheduler.cluster_keys]
        if foreign:
            raise InputError(
                f"{file}: {', '.join(foreign)}: only for {other.title}; options for {scheduler.title} are in "
                f"{scheduler.folder}/config.yaml"
            )
    try:
        shlex.split(values["extra"])
    except ValueError as error:
        raise InputError(f"{file}: extra: {values['extra']!r}: {error}") from None
    keys: dict[str, Any] = {key: values.get(key) for key in inputs.keys("cluster")}
    return Cluster(file=file, **keys | {"scheduler": scheduler})


def on_cluster(interconnect: Interconnect, cluster: Cluster) -> Interconnect:
    """Return an interconnect with the nodes and cores that it has on a cluster."""
    has_own_nodes = interconnect.place == "own" or interconnect.simulate
    if has_own_nodes or (interconnect.emulate and not cluster.is_joined_by(interconnect.name)):
        return interconnect
    nodes = cluster.nodes_of(interconnect.name)
    between = interconnect.emulate or interconnect.place == "cluster"
    return replace(interconnect, nodes=nodes.number if between else 1, cores_per_node=nodes.cores)


def check_cluster(cluster: Cluster, interconnects: Mapping[str, Interconnect]) -> None:
    """Raise an `InputError` if a site file and the interconnects of a study contradict each other."""
    for name, interconnect in interconnects.items():
        if cluster.is_joined_by(name) and not interconnect.emulate:
            raise InputError(
                f"{cluster.file}: joined_by: {name!r} is {interconnect.kind}; only an emulated one joins an "
                "emulated cluster"
            )
