"""Tables of route load: bounds of patterns in topologies, and congestion matrices of trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import pandera.pandas as pa

from analysis.runs.columns import (
    COUNT,
    FLAG,
    POSITIVE,
    SHARE,
    TEXT,
    described,
    table_schema,
    table_schemas,
    validated,
)
from analysis.runs.frames import Tables
from analysis.runs.side_tables import RATE, WHOLE
from analysis.topics.congestion.loads import FLOWS, congestion_matrix, link_loads, pattern_bounds
from analysis.topics.congestion.topology import Topology, Torus, Tree, fat_tree, k_ary_n_tree, ring, star
from analysis.topics.congestion.waits import link_waits
from analysis.topics.topic import Context

CONGESTION_TABLES = table_schemas(
    table_schema(
        "congestion",
        "One row per topology, pattern and routing.",
        topology=described(TEXT, "Title of the topology."),
        nodes=described(COUNT, "Nodes of the topology."),
        pattern=described(TEXT, "Name of the pattern."),
        permutation=described(FLAG, "Whether every process has its own destination."),
        routing=described(TEXT, "`deterministic` or `spread`."),
        highest_link_load=described(POSITIVE, "Load of the most loaded link, in link bandwidths."),
        highest_switch_load=described(POSITIVE, "Load of the most loaded switch."),
        accepted_bound=described(SHARE, "Largest share of the offered traffic that the links can carry."),
        free_of_conflict=described(FLAG, "Whether every link carries at most its bandwidth."),
    ),
    table_schema(
        "congestion_matrix",
        "One row per link into a switch, and one per switch.",
        topology=described(TEXT, "Title of the topology."),
        pattern=described(TEXT, "Name of the pattern."),
        routing=described(TEXT, "Name of the routing."),
        level=described(COUNT, "Level of the switch, 1 at the nodes."),
        switch=described(WHOLE, "Number of the switch in its level."),
        side=described(TEXT, "`above` or `below`, the origin of the link; `switch` for the sum."),
        port=described(WHOLE, "Number of the link."),
        load=described(pa.Column(float, pa.Check.ge(0)), "Load in link bandwidths."),
        share=described(SHARE, "Load / load of the most loaded link or switch."),
        wait_packet_times=described(
            RATE,
            "Mean wait of packets from this link for their next link, in times that a link needs for "
            "a packet; calculated with unlimited queues, at 90 % of the pattern's bound.",
        ),
        wait_share=described(
            pa.Column(float, pa.Check.in_range(0, 1)),
            "Sum of these waits / that of the link or switch with the largest sum.",
        ),
    ),
)

MATRIX_ROUTING = "deterministic"
"""Routing of the congestion matrices: evenly divided traffic loads all links of a level equally."""

TOPOLOGIES: dict[str, Callable[[Any], Topology]] = {
    "k_ary_n_tree": lambda numbers: k_ary_n_tree(*numbers),
    "fat_tree": lambda numbers: fat_tree(tuple(numbers["down"]), numbers["blocking"]),
    "star": star,
    "ring": ring,
    "torus": lambda numbers: Torus(tuple(numbers)),
}
"""Functions that make a topology from its numbers, by key in a study."""


def topology_of(description: Mapping[str, Any]) -> Topology:
    """Make a topology from its description in a study.

    Parameters
    ----------
    description : mapping
        One key of `TOPOLOGIES` with its numbers: see workflows/schemas/study.yaml.

    Raises
    ------
    TableError
        If the numbers describe no topology.
    """
    ((form, numbers),) = description.items()
    return TOPOLOGIES[form](numbers)


def make_congestion(context: Context) -> Tables:
    """Make the tables of route load, if the study lists topologies."""
    requested = context.facts.study_keys.get("congestion", {})
    flows = context.side_tables["congestion_flows"]
    if not requested or flows.empty:
        return {}
    topologies = {title: topology_of(description) for title, description in requested["topologies"].items()}
    patterns = {
        title: {
            name: flows.loc[(flows["topology"] == title) & (flows["pattern"] == name), list(FLOWS)]
            for name in flows.loc[flows["topology"] == title, "pattern"].unique()
        }
        for title in topologies
    }
    return make_congestion_tables(topologies, patterns, requested["matrices"])


def make_congestion_tables(
    topologies: Mapping[str, Topology],
    patterns: Mapping[str, Mapping[str, pd.DataFrame]],
    matrices: Sequence[str],
) -> dict[str, pd.DataFrame]:
    """Make the tables ``congestion`` and ``congestion_matrix``.

    Parameters
    ----------
    topologies : mapping of str to Tree or Torus
        By title.
    patterns : mapping of str to mapping of str to DataFrame
        By title of the topology and name of the pattern: see `analysis.topics.congestion.loads.link_loads`.
    matrices : sequence of str
        Patterns for which each tree has a congestion matrix.

    Returns
    -------
    dict of DataFrame
        ``congestion`` has a row for each topology, pattern and routing, with processes that offer the
        bandwidth of their link. ``congestion_matrix`` has the rows of `congestion_matrix`, with waits.
    """
    pieces: dict[str, list[pd.DataFrame]] = {"congestion": [], "congestion_matrix": []}
    for title, topology in topologies.items():
        bounds = pattern_bounds(topology, patterns[title])
        permutations = [name for name, flows in patterns[title].items() if is_permutation(flows)]
        is_listed = bounds["pattern"].isin(permutations)
        pieces["congestion"].append(
            bounds.assign(topology=title, nodes=topology.nodes, permutation=is_listed)
        )
        if isinstance(topology, Tree):
            for pattern in matrices:
                matrix = _matrix_with_waits(topology, patterns[title][pattern])
                matrix = matrix.assign(topology=title, pattern=pattern, routing=MATRIX_ROUTING)
                pieces["congestion_matrix"].append(matrix)
    return {
        name: validated(CONGESTION_TABLES[name], pd.concat(tables, ignore_index=True))
        for name, tables in pieces.items()
        if tables
    }


def _matrix_with_waits(tree: Tree, flows: pd.DataFrame) -> pd.DataFrame:
    """Make a congestion matrix with the columns ``wait_packet_times`` and ``wait_share``.

    `congestion_matrix` sums loads over the links of a switch. It sums waits and packets in the same way.
    """
    links = link_loads(tree, flows, MATRIX_ROUTING)
    by_link = link_waits(tree, flows, links)
    waits = congestion_matrix(links.assign(load=by_link["wait"]))
    packets = congestion_matrix(links.assign(load=by_link["packets"]))
    mean_wait = waits["load"] / packets["load"].where(packets["load"] > 0)
    return congestion_matrix(links).assign(wait_packet_times=mean_wait, wait_share=waits["share"])


def is_permutation(flows: pd.DataFrame) -> bool:
    """Return whether every node sends to at most one other node, and receives from at most one."""
    moved = flows[(flows["load"] > 0) & (flows["source"] != flows["destination"])]
    return not (moved["source"].duplicated().any() or moved["destination"].duplicated().any())
