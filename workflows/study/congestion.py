"""The traffic whose route load a study asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.topics.congestion.tables import topology_of
from analysis.topics.congestion.topology import Topology
from workflows.domain import InputError
from workflows.inputs import choose, found_wrong_in
from workflows.traffic.flows import mean_flows
from workflows.traffic.patterns import Pattern, jobs_of
from workflows.traffic.schedule import Demand

MOST_NODES = 1024
"""Uniform traffic of more would take gigabytes."""
_OPTIONS = ("io_mapping", "application_mapping", "destinations", "io_nodes")

Requested = Mapping[str, Any]
"""Key ``congestion`` of a study: see workflows/schemas/study.yaml."""


def pattern_of(given: str | Mapping[str, Any]) -> tuple[str, Pattern]:
    """Name of a pattern in tables, and the pattern.

    Examples
    --------
    >>> pattern_of({"pattern": "multiple_hot_spots", "io_mapping": "distributed"})[0]
    'multiple_hot_spots, distributed'
    """
    if isinstance(given, str):
        return given, Pattern(given)
    options = {key: given[key] for key in _OPTIONS if key in given}
    return ", ".join([given["pattern"], *map(str, options.values())]), Pattern(given["pattern"], **options)


def requested_topologies(requested: Requested, where: str) -> dict[str, Topology]:
    """Topologies of a study by their titles.

    Raises
    ------
    InputError
        One line that begins with `where`, for a topology that cannot be made or has too many nodes.
    """
    made = {}
    for title, given in requested.get("topologies", {}).items():
        with found_wrong_in(f"{where}.topologies.{title}"):
            made[title] = topology_of(given)
        if made[title].nodes > MOST_NODES:
            raise InputError(f"{where}.topologies.{title}: {made[title].nodes} nodes; at most {MOST_NODES}")
    return made


def requested_flows(
    requested: Requested, topologies: Mapping[str, Topology], where: str
) -> dict[str, dict[str, pd.DataFrame]]:
    """Traffic of every pattern in every topology: each process offers its link's bandwidth, in writes.

    Parameters
    ----------
    topologies : mapping of str to Tree or Torus
        As `requested_topologies` gives them.

    Returns
    -------
    dict of str to dict of str to DataFrame
        By title of the topology and name of the pattern: ``source, destination, load``.

    Raises
    ------
    InputError
        For a pattern that does not exist for the nodes of a topology, or a matrix of no such pattern.
    """
    found: dict[str, dict[str, pd.DataFrame]] = {}
    for title, topology in topologies.items():
        found[title] = {}
        for index, given in enumerate(requested["patterns"]):
            try:
                name, pattern = pattern_of(given)
                jobs = jobs_of(pattern, topology.nodes)
            except InputError as error:
                raise InputError(f"{where}.patterns[{index}]: {title}: {error}") from None
            found[title][name] = mean_flows(jobs, {job.name: Demand(1.0, 1) for job in jobs})
    for index, name in enumerate(requested.get("matrices", ())):
        names = next(iter(found.values()), {})
        if name not in names:
            known = ", ".join(names)
            raise InputError(f"{where}.matrices[{index}]: {name!r} is none of the patterns ({known})")
    return found


def check_congestion(requested: Requested, where: str) -> None:
    """Check that the route load that a study asks for can be counted.

    Raises
    ------
    InputError
        See `requested_topologies` and `requested_flows`; and for a published topology that is none of them.
    """
    topologies = requested_topologies(requested, where)
    requested_flows(requested, topologies, where)
    if "published" in requested:
        choose(requested["published"], topologies, "topology of the study", f"{where}.published")
