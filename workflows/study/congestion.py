"""Traffic patterns and topologies of the key ``congestion`` of a study, whose route load is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.topics.congestion.tables import topology_of
from analysis.topics.congestion.topology import Topology
from workflows.domain import InputError
from workflows.inputs import choose, table_errors_in
from workflows.traffic.patterns import Pattern, TrafficJob, jobs_of
from workflows.traffic.schedule import Demand

MOST_NODES = 1024
"""Most nodes of a topology: uniform traffic between more nodes would take gigabytes."""
_OPTIONS = ("io_mapping", "application_mapping", "destinations", "io_nodes")

Requested = Mapping[str, Any]
"""Key ``congestion`` of a study: see workflows/schemas/study.yaml."""


def pattern_of(entry: str | Mapping[str, Any]) -> tuple[str, Pattern]:
    """Return the name of a pattern in tables, and the pattern.

    Examples
    --------
    >>> pattern_of({"pattern": "multiple_hot_spots", "io_mapping": "distributed"})[0]
    'multiple_hot_spots, distributed'
    """
    if isinstance(entry, str):
        return entry, Pattern(entry)
    options = {key: entry[key] for key in _OPTIONS if key in entry}
    return ", ".join([entry["pattern"], *map(str, options.values())]), Pattern(entry["pattern"], **options)


def requested_topologies(requested: Requested, where: str) -> dict[str, Topology]:
    """Return the topologies of a study by title.

    Raises
    ------
    InputError
        If a topology is impossible or has more than `MOST_NODES` nodes. The message is one line that begins
        with `where`.
    """
    topologies: dict[str, Topology] = {}
    for title, section in requested.get("topologies", {}).items():
        with table_errors_in(f"{where}.topologies.{title}"):
            topologies[title] = topology_of(section)
        if (nodes := topologies[title].nodes) > MOST_NODES:
            raise InputError(f"{where}.topologies.{title}: {nodes} nodes; at most {MOST_NODES}")
    return topologies


def requested_flows(
    requested: Requested, topologies: Mapping[str, Topology], where: str
) -> dict[str, dict[str, pd.DataFrame]]:
    """Return the traffic of every pattern in every topology.

    Each process offers writes at the bandwidth of its link.

    Parameters
    ----------
    topologies : mapping of str to Topology
        Result of `requested_topologies`.

    Returns
    -------
    dict of str to dict of str to DataFrame
        By title of the topology and name of the pattern: ``source, destination, load``.

    Raises
    ------
    InputError
        A pattern does not exist for the number of nodes, or a matrix names no pattern of the study.
    """
    flows: dict[str, dict[str, pd.DataFrame]] = {}
    for title, topology in topologies.items():
        flows[title] = {}
        for index, entry in enumerate(requested["patterns"]):
            try:
                name, pattern = pattern_of(entry)
                jobs = jobs_of(pattern, topology.nodes)
            except InputError as error:
                raise InputError(f"{where}.patterns[{index}]: {title}: {error}") from None
            flows[title][name] = mean_flows(jobs, {job.name: Demand(1.0, 1) for job in jobs})
    for index, name in enumerate(requested.get("matrices", ())):
        names = next(iter(flows.values()), {})
        if name not in names:
            allowed = ", ".join(names)
            raise InputError(f"{where}.matrices[{index}]: {name!r} is not among the patterns ({allowed})")
    return flows


def check_congestion(requested: Requested, where: str) -> None:
    """Check that the route load of a study can be counted.

    Raises
    ------
    InputError
        See `requested_topologies` and `requested_flows`; or ``published`` names no topology of the study.
    """
    topologies = requested_topologies(requested, where)
    requested_flows(requested, topologies, where)
    if "published" in requested:
        choose(requested["published"], topologies, "topology of the study", f"{where}.published")


def mean_flows(jobs: Sequence[TrafficJob], demands: Mapping[str, Demand]) -> pd.DataFrame:
    """Return the mean traffic that the jobs of a schedule offer (see `make_schedule`).

    Returns
    -------
    DataFrame
        ``source, destination, load``: a row for each job, direction and pair. Bytes go from `source` to
        `destination` at `load` times the bandwidth of a link. The source of a read is the I/O node.
    """
    flows = []
    for job in jobs:
        demand = demands[job.name]
        if job.fixed:
            clients, targets = job.clients, job.targets
            choices = np.ones(len(clients))
        else:
            clients = np.repeat(job.clients, len(job.targets))
            targets = np.tile(job.targets, len(job.clients))
            choices_of_clients = len(job.targets) - np.isin(job.clients, job.targets)
            is_remote = clients != targets
            clients, targets = clients[is_remote], targets[is_remote]
            choices = np.repeat(choices_of_clients, choices_of_clients)
        load = demand.offered_load / choices
        for source, destination, share in (
            (clients, targets, demand.write_ratio),
            (targets, clients, 1 - demand.write_ratio),
        ):
            if share > 0:
                flows.append({"source": source, "destination": destination, "load": load * share})
    return pd.concat([pd.DataFrame(flow) for flow in flows], ignore_index=True)
