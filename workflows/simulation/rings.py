"""Rings as a SimGrid platform: the torus of SCI, whose rings run one way and are shared by their nodes.

Each node is on a ring a dimension, and passes on what is for others. A message goes the shortest way; of ways
that are equally short, the one along the first dimension first. What leaves a node has to come back to it, so
a ring must be closed: a lost node breaks its rings, and messages go round by others.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workflows.errors import InputError
from workflows.simulation.model import InterconnectModel
from workflows.simulation.tree import described, route_line


@dataclass(frozen=True)
class Rings:
    """Nodes on rings.

    Attributes
    ----------
    dimensions : tuple of int
        Nodes of a ring of each dimension; node numbers run along the last dimension first.
    lost : frozenset of int
        Nodes that are switched off.
    """

    dimensions: tuple[int, ...]
    lost: frozenset[int] = frozenset()

    def nodes(self) -> list[int]:
        """Numbers of the nodes that are there."""
        return [node for node in range(math.prod(self.dimensions)) if node not in self.lost]

    def ring(self, node: int, dimension: int) -> list[int]:
        """Nodes of a node's ring, from the node on, in the direction in which messages go."""
        size, stride = self.dimensions[dimension], math.prod(self.dimensions[dimension + 1 :])
        place = node // stride % size
        return [node + ((place + step) % size - place) * stride for step in range(size)]

    def ways(self, source: int) -> dict[int, tuple[tuple[int, int], ...]]:
        """Links of the way to each node in reach: the dimension, and the node that a link leaves."""
        found: dict[int, tuple[tuple[int, int], ...]] = {source: ()}
        waiting = deque([source])
        while waiting:
            node = waiting.popleft()
            for dimension in range(len(self.dimensions)):
                ring = self.ring(node, dimension)
                following = ring[1 % len(ring)]
                if following not in found and not self.lost.intersection(ring):
                    found[following] = (*found[node], (dimension, node))
                    waiting.append(following)
        return found


def make_rings(topology: Mapping[str, Any]) -> Rings:
    """Make rings as the section ``rings`` of a topology describes them.

    Raises
    ------
    InputError
        A node is lost that is none of them, or without which others cannot reach each other.
    """
    rings = Rings(tuple(topology["dimensions"]), frozenset(topology.get("lost", ())))
    count = math.prod(rings.dimensions)
    odd = [node for node in sorted(rings.lost) if node >= count]
    if odd:
        raise InputError(f"simulate.topology.rings.lost: {odd[0]}: nodes are numbered 0 to {count - 1}")
    there = rings.nodes()
    for source in there:
        apart = set(there) - rings.ways(source).keys()
        if apart:
            raise InputError(
                f"simulate.topology.rings.lost: without {', '.join(map(str, sorted(rings.lost)))}, no "
                f"unbroken ring leads from node {source} to node {min(apart)}"
            )
    return rings


def ring_zone(model: InterconnectModel, nodes: int, host: Mapping[str, str]) -> list[str]:
    """Write the first nodes of a model's rings that are there, and all links that they use, as a zone in XML.

    Hosts are numbered without the lost nodes. A node's own link, out and in, has the rate of the curve;
    a stretch of a ring from node to node has that of the ring, which all that pass it share.

    Returns
    -------
    list of str
        Lines. A node's way out and each stretch have a latency of 1 µs, which stands for a unit: a message to
        the next node on a ring waits for what the curve has, and `hop_us` more for each further stretch.
    """
    topology, both_ways = model.topology["rings"], model.both_ways_bytes_per_us
    rings = make_rings(topology)
    numbers = rings.nodes()[:nodes]
    attributes = " ".join(f'{name}="{value}"' for name, value in host.items())
    hosts = [f'<host id="node-{node}" {attributes}/>' for node in range(nodes)]
    rates = {f"loopback-{node}": (model.memory_bytes_per_us, 1) for node in range(nodes)}
    routes = [route_line(node, node, [f"loopback-{node}"]) for node in range(nodes)]
    for node in range(nodes):
        rates |= {f"out-{node}": (model.curve.bytes_per_us, 1), f"in-{node}": (model.curve.bytes_per_us, 0)}
        if both_ways is not None:
            rates[f"bus-{node}"] = (both_ways, 0)
    for source, number in enumerate(numbers):
        ways = rings.ways(number)
        for destination, other in enumerate(numbers):
            if source == destination:
                continue
            stretches = [f"ring-{dimension}-{node}" for dimension, node in ways[other]]
            rates |= dict.fromkeys(stretches, (float(topology["link_MBps"]), 1))
            way = [f"out-{source}", *stretches, f"in-{destination}"]
            if both_ways is not None:
                way = [f"bus-{source}", *way, f"bus-{destination}"]
            routes.append(route_line(source, destination, way))
    links = [described(name, rate, latency) for name, (rate, latency) in rates.items()]
    return ['<zone id="nodes" routing="Full">', *hosts, *links, *routes, "</zone>"]
