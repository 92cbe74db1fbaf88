"""Waiting times: how long packets wait at the switches of a tree for their next link, by a queue a link.

Packets of one size leave at random moments, independently (a Poisson process a flow), and take the routes of
deterministic routing. Each link sends one packet after the other, in the order in which they come; a switch
passes on what has arrived whole. Buffers have no end and nothing is held back, so it is what routes alone
cost: flow control adds to it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.topics.congestion.loads import FLOWS, accepted_bound
from analysis.topics.congestion.topology import Tree

UTILISATION = 0.9
"""Share of its bound that a pattern offers: its most loaded link is busy for so much of the time."""
PACKETS = 200_000
"""Packets in all; those of 64 nodes at full rate are the traffic of 3,500 packet times."""
TICKS = 1 << 20
"""Parts of a packet time in which times are counted, so that sums and differences are exact."""
SEED = 2003

Whole = NDArray[np.int64]


def link_waits(tree: Tree, flows: pd.DataFrame, links: pd.DataFrame) -> pd.DataFrame:
    """Waiting times of packets at switches, by the link by which they came in.

    So they are counted in figure 15 of Petrini and others (2003). What packets wait for at their own node,
    before their first link, is no wait at a switch, and is not counted.

    Parameters
    ----------
    flows : DataFrame
        As `analysis.topics.congestion.loads.link_loads` takes them; each is offered at `UTILISATION` times
        the bound of them all.
    links : DataFrame
        Their loads, as it gives them for deterministic routing.

    Returns
    -------
    DataFrame
        ``wait`` and ``packets``, one row a link in the order of `links`: packets that came in by it, and what
        they all waited for their next link, in the time that a link needs for a packet. Links to nodes, where
        packets end, have no waits.
    """
    source, destination, load = (flows[name].to_numpy() for name in FLOWS)
    away = (source != destination) & (load > 0)
    rate = load[away] * accepted_bound(links) * UTILISATION
    rng = np.random.default_rng(SEED)
    span = PACKETS / rate.sum()
    counts = rng.poisson(rate * span)
    source, destination = np.repeat(source[away], counts), np.repeat(destination[away], counts)
    time = (rng.random(len(source)) * span * TICKS).astype(np.int64)
    came_by = np.full(len(source), -1)
    wait, packets = np.zeros(len(links)), np.zeros(len(links))
    for level, upwards in _stages(tree):
        below, paths = tree.below(level), tree.paths(level + 1)
        (passing,) = np.nonzero(source // below != destination // below)
        subtree = (source if upwards else destination)[passing] // below
        link = _first_link(tree, level, upwards) + subtree * paths + destination[passing] % paths
        start = started(link, time[passing], TICKS)
        inside = came_by[passing] >= 0
        waited = (start - time[passing])[inside] / TICKS
        wait += np.bincount(came_by[passing][inside], waited, len(links))
        packets += np.bincount(link, minlength=len(links))
        came_by[passing], time[passing] = link, start + TICKS
    return pd.DataFrame({"wait": wait, "packets": packets})


def started(link: Whole, time: Whole, service: int) -> Whole:
    """When links begin to send packets that come at some times, each link one after the other.

    A packet begins when it is there and the one before it on its link has gone, by Lindley (1952):
    s(i) = max(t(i), s(i − 1) + c), so that s(i) − c i is the highest t(j) − c j up to i.

    Parameters
    ----------
    link, time : arrays (packets,)
        In any order; of packets that come at the same time the first is sent first.
    service : int
        What a link needs for a packet, c, in the unit of `time`.
    """
    order = np.lexsort((time, link))
    _, first, number = np.unique(link[order], return_index=True, return_inverse=True)
    place = service * (np.arange(len(order)) - first[number])
    # Each link's values lie above those of the links before it, so that one running maximum serves all.
    apart = number * (np.ptp(time) + service * len(time) + 1) if len(time) else 0
    begins = np.maximum.accumulate(time[order] - place + apart) - apart + place
    start = np.empty_like(time)
    start[order] = begins
    return start


def _stages(tree: Tree) -> list[tuple[int, bool]]:
    """Levels of links in the order in which packets pass them, and whether upwards."""
    levels = range(tree.levels)
    return [(level, True) for level in levels] + [(level, False) for level in reversed(levels)]


def _first_link(tree: Tree, level: int, upwards: bool) -> int:
    """Place of the first link of a level and direction in ``tree.links()``."""
    before = [tree.nodes // tree.below(lower) * tree.paths(lower + 1) for lower in range(level + 1)]
    return 2 * sum(before[:-1]) + (0 if upwards else before[-1])
