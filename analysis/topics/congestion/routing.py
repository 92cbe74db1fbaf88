"""Routing: how much traffic each link of a topology carries.

All routes are shortest routes. ``deterministic`` routing has one route per destination. ``spread`` routing
divides traffic evenly between equally good links.

Trees: a route goes up to a nearest common ancestor, then down its only way (Petrini, Vanneschi 1997).
``deterministic`` chooses the way up by the number of the destination, D-mod-k (Zahavi, Johnson, Kerbyson,
Lang, Optimized InfiniBand fat-tree routing for shift all-to-all communication patterns, Concurrency and
Computation 22, 2010). ``spread`` is the best case of an adaptive ascending phase; QsNet picks the least
loaded link.

Tori: a route goes dimension by dimension from the first, the shorter way round (Dally, Towles, Principles and
practices of interconnection networks, 2004, chapter 8). If both ways are equally long, ``deterministic``
goes towards higher numbers and ``spread`` goes half each way.
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
    """Compute the load of every link, in the unit of `load` and the order of ``topology.links()``.

    Parameters
    ----------
    source, destination : arrays (flows,)
        Numbers of nodes; traffic of a node to itself uses no link.
    spread : bool
        Whether traffic is divided between equally good routes.
    """
    if isinstance(topology, Tree):
        loads = _tree_loads(topology, source, destination, load, spread)
    else:
        loads = _torus_loads(topology, source, destination, load, spread)
    return np.concatenate(loads)


def _sums(index: Nodes, load: Floats, size: int) -> Floats:
    """Add up loads by index, array (size,)."""
    return np.asarray(np.bincount(index, load, size), float)


def _tree_loads(tree: Tree, source: Nodes, destination: Nodes, load: Floats, spread: bool) -> list[Floats]:
    """Compute the loads of the links up from and down to each subtree, level by level.

    The links of a subtree are numbered by the switch above it. A route to a destination takes the link whose
    number is the destination modulo the number of links. It is therefore enough to count the flows that leave
    or enter each subtree, by destination.
    """
    loads: list[Floats] = []
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
                crossing = _sums(subtree, load, subtrees) / paths
                loads.append(np.repeat(crossing, paths))
            else:
                link = subtree * paths + destination % paths
                loads.append(_sums(link, load, subtrees * paths))
    return loads


def _merged(first: Nodes, second: Nodes, load: Floats, sizes: tuple[int, int]) -> tuple[Nodes, Nodes, Floats]:
    """Merge flows with equal numbers `first` and `second` into one flow, if there are many flows.

    Parameters
    ----------
    first, second, load : arrays (flows,)
        Numbers of the two ends of each flow, and its load.
    sizes : pair of int
        Upper limits of the two numbers, which the numbers do not reach.
    """
    pairs = sizes[0] * sizes[1]
    if len(load) <= pairs // 2:
        return first, second, load
    total = _sums(first * sizes[1] + second, load, pairs)
    (used_pairs,) = np.nonzero(total)
    return used_pairs // sizes[1], used_pairs % sizes[1], total[used_pairs]


def _torus_loads(torus: Torus, source: Nodes, destination: Nodes, load: Floats, spread: bool) -> list[Floats]:
    """Compute the loads of the links from nodes, to nodes, and in each direction of a torus.

    Routes go dimension by dimension. In each dimension, a flow moves from its position to its goal: upwards
    (to higher numbers, then round to 0) or downwards.
    """
    leaves = source != destination
    source, destination, load = source[leaves], destination[leaves], load[leaves]
    loads: list[Floats] = [_sums(end, load, torus.nodes) for end in (source, destination)]
    load_by_direction = {}
    for dimension, size in enumerate(torus.sizes):
        stride = prod(torus.sizes[dimension + 1 :])
        start, goal, flow = _merged(source, destination // stride % size, load, (torus.nodes, size))
        steps = (goal - start // stride) % size
        share_upwards = (2 * steps <= size).astype(float)
        if spread and size > 2:
            share_upwards[2 * steps == size] = 0.5
        load_by_direction[dimension, 1] = _along(torus, dimension, start, steps, flow * share_upwards)
        # A flow downwards uses the same cables as a flow upwards from its end to its start. The link that
        # leaves node x upwards shares a cable with the link that leaves node x + 1 downwards.
        end = start + (goal - start // stride % size) * stride
        reversed_flow = _along(torus, dimension, end, (size - steps) % size, flow * (1 - share_upwards))
        by_ring = reversed_flow.reshape(-1, size, stride)
        load_by_direction[dimension, -1] = np.roll(by_ring, 1, axis=1).ravel()
        source = source + (destination // stride % size - source // stride % size) * stride
    return loads + [load_by_direction[direction] for direction in torus.directions()]


def _along(torus: Torus, dimension: int, first: Nodes, hops: Nodes, load: Floats) -> Floats:
    """Compute the loads of the links upwards along a dimension, array (nodes,), by the node they start from.

    Each ring is unrolled to a line of twice its length, so that no flow crosses an end of the line. A flow
    adds its load at its start and subtracts it at its end. The running sum, folded back to the ring, is the
    load of each link.

    Parameters
    ----------
    first, hops, load : arrays (flows,)
        Node where a flow starts, number of links that it uses, and its load.
    """
    size, stride = torus.sizes[dimension], prod(torus.sizes[dimension + 1 :])
    ring, position = first // (size * stride) * stride + first % stride, first // stride % size
    rings, length = torus.nodes // size, 2 * size
    start = ring * length + position
    change = _sums(start, load, rings * length) - _sums(start + hops, load, rings * length)
    running = np.cumsum(change.reshape(rings, length), axis=1)
    by_ring = (running[:, :size] + running[:, size:]).reshape(-1, stride, size)
    return by_ring.transpose(0, 2, 1).ravel()
