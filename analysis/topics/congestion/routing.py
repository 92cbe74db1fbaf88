"""Routing: how much of some traffic goes over each link of a topology.

Routes are shortest ones. Trees: up to a nearest common ancestor, then down, where there is one way only
(Petrini, Vanneschi 1997). ``deterministic`` takes the way up by the destination's number, D-mod-k (Zahavi,
Johnson, Kerbyson, Lang, Optimized InfiniBand fat-tree routing for shift all-to-all communication patterns,
Concurrency and Computation 22, 2010). ``spread`` divides all traffic evenly over the links up, as an
adaptive ascending phase does at its best (QsNet's picks the least loaded link).

Tori: dimension by dimension from the first, the shorter way round (Dally, Towles, Principles and practices of
interconnection networks, 2004, chapter 8). Where both ways are equally long, ``deterministic`` goes towards
higher numbers, ``spread`` goes half each way.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from analysis.statistics import Floats
from analysis.topics.congestion.topology import Topology, Torus, Tree

ROUTINGS = ("deterministic", "spread")
Nodes = NDArray[np.integer]


def routed(topology: Topology, source: Nodes, destination: Nodes, load: Floats, spread: bool) -> Floats:
    """Load of every link, in the unit of `load` and the order of ``topology.links()``.

    Parameters
    ----------
    source, destination : arrays (flows,)
        Numbers of nodes; traffic of a node to itself uses no link.
    spread : bool
        Whether traffic is divided where routes are equally good.
    """
    route = _in_tree if isinstance(topology, Tree) else _in_torus
    return np.concatenate(route(topology, source, destination, load, spread))


def _in_tree(tree: Tree, source: Nodes, destination: Nodes, load: Floats, spread: bool) -> list[Floats]:
    """Links up from and down to each subtree, level by level.

    On every route to a destination d that passes level i, the switch is (t, d mod W(i)) of the subtree
    t it is in; so only the flows that leave or enter a subtree have to be counted.
    """
    loads = []
    for level in range(tree.levels):
        subtrees, paths = tree.nodes // tree.below(level), tree.paths(level + 1)
        from_subtree, to_subtree = source // tree.below(level), destination // tree.below(level)
        passes = from_subtree != to_subtree
        from_subtree, destination, load = _merged(
            from_subtree[passes], destination[passes], load[passes], (subtrees, tree.nodes)
        )
        source = from_subtree * tree.below(level)
        for subtree in (from_subtree, destination // tree.below(level)):
            if spread:
                crossing = np.bincount(subtree, load, subtrees) / paths
                loads.append(np.repeat(crossing, paths))
            else:
                link = subtree * paths + destination % paths
                loads.append(np.bincount(link, load, subtrees * paths))
    return loads


def _merged(first: Nodes, second: Nodes, load: Floats, sizes: tuple[int, int]) -> tuple[Nodes, Nodes, Floats]:
    """One flow for all with the same two numbers, below `sizes`, where there are many."""
    if len(load) <= sizes[0] * sizes[1] // 2:
        return first, second, load
    total = np.bincount(first * sizes[1] + second, load, sizes[0] * sizes[1])
    (there,) = np.nonzero(total)
    return there // sizes[1], there % sizes[1], total[there]


def _in_torus(torus: Torus, source: Nodes, destination: Nodes, load: Floats, spread: bool) -> list[Floats]:
    away = source != destination
    source, destination, load = source[away], destination[away], load[away]
    loads = [np.bincount(end, load, torus.nodes) for end in (source, destination)]
    carried = {}
    for dimension, size in enumerate(torus.sizes):
        stride = prod(torus.sizes[dimension + 1 :])
        goal = destination // stride % size
        at, to, moved = _merged(source, goal, load, (torus.nodes, size))
        steps = (to - at // stride) % size
        share = (2 * steps <= size).astype(float)
        if spread and size > 2:
            share[2 * steps == size] = 0.5
        carried[dimension, 1] = _along(torus, dimension, at, steps, moved * share)
        # The other way round, a flow passes the links that one from its end would pass this way: link x,
        # which leaves node x upwards, is the one that leaves x + 1 downwards.
        turned = at + (to - at // stride % size) * stride
        downwards = _along(torus, dimension, turned, (size - steps) % size, moved * (1 - share))
        leaving = downwards.reshape(-1, size, stride)
        carried[dimension, -1] = np.roll(leaving, 1, axis=1).ravel()
        source = source + (goal - source // stride % size) * stride
    return loads + [carried[way] for way in torus.ways()]


def _along(torus: Torus, dimension: int, first: Nodes, hops: Nodes, load: Floats) -> Floats:
    """Load of the links towards higher numbers along a dimension, by the node they leave.

    A flow adds its load where it begins and takes it away where it ends, on a line twice as long as the
    ring; the running sum, folded, is what each link carries.
    """
    size, stride = torus.sizes[dimension], prod(torus.sizes[dimension + 1 :])
    ring, position = first // (size * stride) * stride + first % stride, first // stride % size
    lines, twice = torus.nodes // size, 2 * size
    change = np.bincount(ring * twice + position, load, lines * twice)
    change -= np.bincount(ring * twice + position + hops, load, lines * twice)
    running = np.cumsum(change.reshape(lines, twice), axis=1)
    by_ring = (running[:, :size] + running[:, size:]).reshape(-1, stride, size)
    return by_ring.transpose(0, 2, 1).ravel()
