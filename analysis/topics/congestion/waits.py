"""Waiting times of packets at the switches of a tree, from a queue at each link.

Packets of one size leave at random times, a Poisson process per flow, and take the routes of deterministic
routing. A link sends one packet after another in order of arrival. A switch forwards only complete packets.
Buffers are infinite and there is no flow control, so the waits show the cost of the routes only. Flow control
adds to them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.topics.congestion.loads import FLOWS, accepted_bound
from analysis.topics.congestion.topology import Tree

UTILISATION = 0.9
"""Offered share of the bound of a pattern, and busy share of its most loaded link."""
PACKETS = 200_000
"""Number of packets; 64 nodes at full rate send them in about 3,500 packet times."""
TICKS = 1 << 20
"""Time units per packet time; times are integers so that sums and differences are exact."""
SEED = 2003

Whole = NDArray[np.int64]


def link_waits(tree: Tree, flows: pd.DataFrame, links: pd.DataFrame) -> pd.DataFrame:
    """Simulate the waiting times of packets at switches, by incoming link.

    Figure 15 of Petrini and others (2003) also counts waits by incoming link. A wait at the sending node,
    before the first link, is not counted.

    Parameters
    ----------
    flows : DataFrame
        Traffic: see `analysis.topics.congestion.loads.link_loads`. Each flow offers `UTILISATION` times the
        bound of all flows.
    links : DataFrame
        Loads of the links for deterministic routing.

    Returns
    -------
    DataFrame
        A row for each link in the order of `links`. ``packets``: packets that came in over the link.
        ``wait``: sum of their waits for their next link, in packet times; 0 for links to nodes.
    """
    source, destination, load = (flows[name].to_numpy() for name in FLOWS)
    moves = (source != destination) & (load > 0)
    rate = load[moves] * accepted_bound(links) * UTILISATION
    rng = np.random.default_rng(SEED)
    duration = PACKETS / rate.sum()
    counts = rng.poisson(rate * duration)
    source, destination = np.repeat(source[moves], counts), np.repeat(destination[moves], counts)
    time = (rng.random(len(source)) * duration * TICKS).astype(np.int64)
    link_before = np.full(len(source), -1)  # -1 at the sending node
    wait, packets = np.zeros(len(links)), np.zeros(len(links))
    for level, upwards in _stages(tree):
        below, paths = tree.below(level), tree.paths(level + 1)
        (passing,) = np.nonzero(source // below != destination // below)
        subtree = (source if upwards else destination)[passing] // below
        link = _first_link(tree, level, upwards) + subtree * paths + destination[passing] % paths
        start = start_times(link, time[passing], TICKS)
        at_switch = link_before[passing] >= 0
        waits = (start - time[passing])[at_switch] / TICKS
        wait += np.bincount(link_before[passing][at_switch], waits, len(links))
        packets += np.bincount(link, minlength=len(links))
        link_before[passing], time[passing] = link, start + TICKS
    return pd.DataFrame({"wait": wait, "packets": packets})


def start_times(link: Whole, time: Whole, service: int) -> Whole:
    """Compute when links begin to send packets that arrive at given times.

    A packet starts when it has arrived and its link has sent the previous packet (Lindley 1952):
    s(i) = max(t(i), s(i − 1) + c). Therefore s(i) − c i is the maximum of t(j) − c j over j up to i.

    Parameters
    ----------
    link, time : arrays (packets,)
        Link and arrival time of each packet, in any order. Ties are sent in the order of the arrays.
    service : int
        Time c that a link needs for a packet, in the unit of `time`.

    Returns
    -------
    array (packets,)
    """
    order = np.lexsort((time, link))
    _, first, number = np.unique(link[order], return_index=True, return_inverse=True)
    service_before = service * (np.arange(len(order)) - first[number])  # c i, with i counted per link
    # Offsets keep the values of each link above the values of earlier links, so that one running maximum
    # over all packets serves every link.
    offset = number * (np.ptp(time) + service * len(time) + 1) if len(time) else 0
    latest = np.maximum.accumulate(time[order] - service_before + offset) - offset
    start = np.empty_like(time)
    start[order] = latest + service_before
    return start


def _stages(tree: Tree) -> list[tuple[int, bool]]:
    """Return the levels of links in the order of a packet's route, and whether the packet goes up."""
    levels = range(tree.levels)
    return [(level, True) for level in levels] + [(level, False) for level in reversed(levels)]


def _first_link(tree: Tree, level: int, upwards: bool) -> int:
    """Return the position of the first link of a level and direction in ``tree.links()``."""
    before = [tree.nodes // tree.below(lower) * tree.paths(lower + 1) for lower in range(level + 1)]
    return 2 * sum(before[:-1]) + (0 if upwards else before[-1])
