"""Routes of messages in a fat tree.

SimGrid has fat trees too, but their limiters cannot model a node that sends and receives over one bus: they
also limit the switches, and do not limit the receiver.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from analysis.topics.congestion.topology import Tree
from workflows.simulation.model import InterconnectModel


@dataclass(frozen=True)
class Routes:
    """Links between nodes, and the links that each message passes.

    Attributes
    ----------
    rates : dict of str to float
        Bandwidth by link in 10^6 bytes/s.
    paths : dict of (int, int) to list of str
        By source and destination: names of the links in the order in which a message passes them.
    """

    rates: dict[str, float]
    paths: dict[tuple[int, int], list[str]]


def make_tree(fat_tree: Mapping[str, Any], nodes: int) -> Tree:
    """Make a tree from the section ``fat_tree`` of a topology.

    Parameters
    ----------
    nodes : int
        Nodes in use. A section with ``ports`` instead of ``down`` gets as many leaf switches as they need.
    """
    if "down" in fat_tree:
        return Tree(tuple(fat_tree["down"]), tuple(fat_tree["up"]))
    ports, ratio = fat_tree["ports"], fat_tree.get("blocking_ratio", 1)
    if nodes <= ports:
        return Tree((ports,))
    up = ports // (1 + ratio)
    down = up * ratio
    return Tree((down, math.ceil(nodes / down)), (up,))


def route(tree: Tree, source: int, destination: int, spread: bool) -> list[str]:
    """Return the links that a message passes between two nodes.

    Parameters
    ----------
    spread : bool
        Whether the traffic of a subtree is divided evenly over all its links. They then count as one link.
        Otherwise the destination selects the links (see `analysis.topics.congestion.routing`).

    Returns
    -------
    list of str
        ``up-<height>-<link>`` and ``down-<height>-<link>``. The links of the nodes have the height 0.
    """
    up, down = [], []
    for height in range(tree.levels):
        source_subtree = source // tree.below(height)
        destination_subtree = destination // tree.below(height)
        if source_subtree == destination_subtree:
            break
        paths = tree.paths(height + 1)
        path = destination % paths
        first = source_subtree if spread else source_subtree * paths + path
        last = destination_subtree if spread else destination_subtree * paths + path
        up.append(f"up-{height}-{first}")
        down.append(f"down-{height}-{last}")
    return up + down[::-1]


def tree_routes(model: InterconnectModel, nodes: int) -> Routes:
    """Return the links and routes of the first nodes of a model's tree.

    Parameters
    ----------
    nodes : int
        At most the nodes of the tree.
    """
    fat_tree = model.topology["fat_tree"]
    tree, spread = make_tree(fat_tree, nodes), fat_tree.get("routing") == "spread"
    routes = Routes({}, {})
    for source, destination in permutations(range(nodes), 2):
        path = route(tree, source, destination, spread)
        for link in path:
            height = int(link.split("-")[1])
            routes.rates[link] = model.curve.bytes_per_us * (tree.paths(height + 1) if spread else 1)
        routes.paths[source, destination] = path
    return routes
