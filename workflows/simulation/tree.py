"""A fat tree written as a SimGrid platform, every route link by link.

SimGrid has fat trees of its own, in which a node that sends and receives over one bus cannot be had: its
limiters are at the switches too, and not at the receiver.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import permutations
from typing import Any

from analysis.topics.congestion.topology import Tree
from workflows.simulation.model import InterconnectModel


def make_tree(fat_tree: Mapping[str, Any], nodes: int) -> Tree:
    """Make a tree as the section ``fat_tree`` of a topology describes it.

    Parameters
    ----------
    nodes : int
        For so many nodes are leaf switches put side by side, where it does not say how many there are.
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
    """Links of a message's way between two nodes, in their order.

    Parameters
    ----------
    spread : bool
        Whether traffic of a subtree is divided evenly over all of its links, which then are a single link.
        Otherwise the way is chosen by the destination (see `analysis.topics.congestion.routing`).

    Returns
    -------
    list of str
        ``up-<height>-<link>`` and ``down-<height>-<link>``; the nodes' own links have the height 0.
    """
    up, down = [], []
    for height in range(tree.levels):
        subtrees = source // tree.below(height), destination // tree.below(height)
        if subtrees[0] == subtrees[1]:
            break
        paths = tree.paths(height + 1)
        first, last = (each if spread else each * paths + destination % paths for each in subtrees)
        up.append(f"up-{height}-{first}")
        down.append(f"down-{height}-{last}")
    return up + down[::-1]


def tree_zone(model: InterconnectModel, nodes: int, host: Mapping[str, str]) -> list[str]:
    """Write the first nodes of a model's tree, and the links that their messages use, as a zone in XML.

    Parameters
    ----------
    nodes : int
        At most as many as the tree has.

    Returns
    -------
    list of str
        Lines. Links between nodes have a latency of 1 µs, which stands for a unit.
    """
    fat_tree, both_ways = model.topology["fat_tree"], model.both_ways_bytes_per_us
    tree, spread = make_tree(fat_tree, nodes), fat_tree.get("routing") == "spread"
    attributes = " ".join(f'{name}="{value}"' for name, value in host.items())
    hosts = [f'<host id="node-{node}" {attributes}/>' for node in range(nodes)]
    links = [described(f"loopback-{node}", model.memory_bytes_per_us, 1) for node in range(nodes)]
    if both_ways is not None:
        links += [described(f"bus-{node}", both_ways, 0) for node in range(nodes)]
    routes = [route_line(node, node, [f"loopback-{node}"]) for node in range(nodes)]
    used: dict[str, float] = {}
    for source, destination in permutations(range(nodes), 2):
        way = route(tree, source, destination, spread)
        for name in way:
            height = int(name.split("-")[1])
            used[name] = model.curve.bytes_per_us * (tree.paths(height + 1) if spread else 1)
        if both_ways is not None:
            way = [f"bus-{source}", *way, f"bus-{destination}"]
        routes.append(route_line(source, destination, way))
    links += [described(name, rate, 1) for name, rate in used.items()]
    return ['<zone id="nodes" routing="Full">', *hosts, *links, *routes, "</zone>"]


def described(name: str, rate_MBps: float, latency_us: int) -> str:  # noqa: N803
    """Write a link in XML."""
    return f'<link id="{name}" bandwidth="{rate_MBps!r}MBps" latency="{latency_us}us"/>'


def route_line(source: int, destination: int, links: list[str]) -> str:
    """Write the links of a message's way between two nodes in XML."""
    passed = "".join(f'<link_ctn id="{name}"/>' for name in links)
    return f'<route src="node-{source}" dst="node-{destination}" symmetrical="NO">{passed}</route>'
