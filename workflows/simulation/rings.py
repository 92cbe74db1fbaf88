"""Routes of messages in the torus of SCI, whose rings are unidirectional and shared by their nodes.

Each node lies on one ring per dimension and forwards the packets of other nodes. A message takes the shortest
route; among equal routes, it follows the first dimension first. A ring must be closed, because packets and
their acknowledgements travel all the way round. A lost node therefore breaks its rings, and messages take
other rings.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from workflows.errors import InputError
from workflows.simulation.model import InterconnectModel
from workflows.simulation.tree import Routes


@dataclass(frozen=True)
class Rings:
    """Nodes of a torus of unidirectional rings.

    Attributes
    ----------
    dimensions : tuple of int
        Nodes per ring of each dimension. Node numbers run along the last dimension first.
    lost : frozenset of int
        Nodes that are switched off.
    """

    dimensions: tuple[int, ...]
    lost: frozenset[int] = frozenset()

    def nodes(self) -> list[int]:
        """Return the numbers of the nodes that are not lost."""
        return [node for node in range(math.prod(self.dimensions)) if node not in self.lost]

    def ring(self, node: int, dimension: int) -> list[int]:
        """Return the nodes of a ring in the direction of messages, starting with `node`."""
        size, stride = self.dimensions[dimension], math.prod(self.dimensions[dimension + 1 :])
        place = node // stride % size
        return [node + ((place + step) % size - place) * stride for step in range(size)]

    def routes_from(self, source: int) -> dict[int, tuple[tuple[int, int], ...]]:
        """Return the links from a node to each node that it reaches (breadth-first search).

        A link is a pair: its dimension, and the node where it begins.
        """
        routes: dict[int, tuple[tuple[int, int], ...]] = {source: ()}
        queue = deque([source])
        while queue:
            node = queue.popleft()
            for dimension in range(len(self.dimensions)):
                ring = self.ring(node, dimension)
                neighbour = ring[1 % len(ring)]
                if neighbour not in routes and not self.lost.intersection(ring):
                    routes[neighbour] = (*routes[node], (dimension, node))
                    queue.append(neighbour)
        return routes


def make_rings(topology: Mapping[str, Any]) -> Rings:
    """Make rings from the section ``rings`` of a topology.

    Raises
    ------
    InputError
        A lost node does not exist, or the lost nodes separate other nodes.
    """
    rings = Rings(tuple(topology["dimensions"]), frozenset(topology.get("lost", ())))
    count = math.prod(rings.dimensions)
    unknown = [node for node in sorted(rings.lost) if node >= count]
    if unknown:
        raise InputError(f"simulate.topology.rings.lost: {unknown[0]}: nodes are numbered 0 to {count - 1}")
    nodes = rings.nodes()
    for source in nodes:
        unreachable = set(nodes) - rings.routes_from(source).keys()
        if unreachable:
            raise InputError(
                f"simulate.topology.rings.lost: without {', '.join(map(str, sorted(rings.lost)))}, no "
                f"unbroken ring leads from node {source} to node {min(unreachable)}"
            )
    return rings


def ring_routes(model: InterconnectModel, nodes: int) -> Routes:
    """Return the links and routes of the first nodes of a model's rings.

    Sources and destinations are numbered without the lost nodes. A node has a link ``out`` and a link ``in``
    with the bandwidth of the curve. The section of a ring between two neighbours has the bandwidth of the
    ring. All messages that pass the section share this bandwidth.

    Parameters
    ----------
    nodes : int
        At most the nodes that are not lost.
    """
    rings = make_rings(model.topology["rings"])
    ring_rate = float(model.topology["rings"]["link_MBps"])
    numbers = rings.nodes()[:nodes]
    from_number = [rings.routes_from(number) for number in numbers]
    routes = Routes({}, {})
    for node in range(nodes):
        routes.rates[f"out-{node}"] = routes.rates[f"in-{node}"] = model.curve.bytes_per_us
    for source, destination in permutations(range(nodes), 2):
        links = from_number[source][numbers[destination]]
        sections = [f"ring-{dimension}-{node}" for dimension, node in links]
        routes.rates.update(dict.fromkeys(sections, ring_rate))
        routes.paths[source, destination] = [f"out-{source}", *sections, f"in-{destination}"]
    return routes
