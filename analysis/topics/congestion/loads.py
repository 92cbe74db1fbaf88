"""Route loads of links and switches, the bound of accepted traffic, and the congestion matrix.

The route load of a link is the traffic of all routes that use it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.topics.congestion.routing import ROUTINGS, routed
from analysis.topics.congestion.topology import Topology

FLOWS = ("source", "destination", "load")
"""Columns of traffic from node `source` to node `destination`; `load` is in link bandwidths."""
ROUNDING = 1e-9
"""Relative error of a sum of loads that counts as rounding error."""


def link_loads(topology: Topology, flows: pd.DataFrame, routing: str) -> pd.DataFrame:
    """Compute the route load of every link.

    Parameters
    ----------
    flows : DataFrame
        Columns `FLOWS`; several rows of a pair of nodes add up.
    routing : str
        One of `ROUTINGS`.

    Returns
    -------
    DataFrame
        A row for each link: `analysis.topics.congestion.topology.ENDS` and ``load`` in link bandwidths.
    """
    source, destination, load = (flows[name].to_numpy() for name in FLOWS)
    return topology.links().assign(load=routed(topology, source, destination, load, routing == "spread"))


def switch_loads(links: pd.DataFrame) -> pd.DataFrame:
    """Compute the route load of every switch, the sum over its incoming links (`link_loads`).

    Returns
    -------
    DataFrame
        ``level, switch, load``: a row for each switch, ascending.
    """
    incoming = links[links["end_level"] > 0].groupby(["end_level", "end"])[["load"]].sum().reset_index()
    return incoming.set_axis(["level", "switch", "load"], axis=1)


def accepted_bound(links: pd.DataFrame) -> float:
    """Compute the largest share of the offered traffic that links (`link_loads`) can carry.

    The share is 1 / highest load, at most 1, and equal for all flows. It is an upper bound, not a prediction:
    buffers are infinite and overheads zero (Dally, Towles 2004, section 3.3). Flow control accepts less.
    """
    highest = links["load"].max()
    return 1.0 if highest <= 1 else 1 / highest


def free_of_conflict(links: pd.DataFrame) -> bool:
    """Return whether no link (`link_loads`) carries more than its bandwidth.

    In a permutation in which every node sends at full bandwidth, two conclusions follow: with deterministic
    routing no two routes share a link, and with evenly divided traffic every flow moves at full rate.
    """
    return bool(links["load"].max() <= 1 + ROUNDING)


def pattern_bounds(topology: Topology, patterns: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Compute loads and bounds of several traffic patterns in a topology.

    Parameters
    ----------
    patterns : mapping of str to DataFrame
        Flows of each pattern: see `link_loads`.

    Returns
    -------
    DataFrame
        A row for each pattern and routing. Loads are in link bandwidths. `accepted_bound` and
        `free_of_conflict` are the results of these functions.
    """
    rows = []
    for pattern, routing in itertools.product(patterns, ROUTINGS):
        links = link_loads(topology, patterns[pattern], routing)
        rows.append(
            {
                "pattern": pattern,
                "routing": routing,
                "highest_link_load": links["load"].max(),
                "highest_switch_load": switch_loads(links)["load"].max(),
                "accepted_bound": accepted_bound(links),
                "free_of_conflict": free_of_conflict(links),
            }
        )
    return pd.DataFrame(rows)


def congestion_matrix(links: pd.DataFrame) -> pd.DataFrame:
    """Arrange the loads of the links of a tree by the switches that they lead into.

    The form follows figure 15 of Petrini and others (2003): a row per level and a block per switch. The links
    from above are at the top of a block, the links from below at its bottom, and their sum is in the middle.
    The published figure shows measured waiting times instead of route loads. Links to nodes are missing,
    since they lead into no switch.

    Parameters
    ----------
    links : DataFrame
        Loads of the links of a tree: see `link_loads`.

    Returns
    -------
    DataFrame
        ``level, switch, side, port, load, share``: a row for each incoming link of a switch and a row for
        each switch. `side` is ``above`` or ``below`` for a link, ``switch`` for a switch. `port` numbers the
        links of a side from 0. `load` is in link bandwidths. `share` is relative to the most loaded link, or
        to the most loaded switch; 0 without traffic.
    """
    incoming = links[links["end_level"] > 0].sort_values(["end_level", "end", "start_level", "start"])
    ports = pd.DataFrame(
        {
            "level": incoming["end_level"],
            "switch": incoming["end"],
            "side": np.where(incoming["start_level"] > incoming["end_level"], "above", "below"),
            "port": incoming.groupby(["end_level", "end", "start_level"]).cumcount().astype("Int64"),
            "load": incoming["load"],
            "share": _shares(incoming["load"]),
        }
    )
    switches = switch_loads(links)
    switches = switches.assign(side="switch", port=pd.array([pd.NA] * len(switches), "Int64"))
    switches["share"] = _shares(switches["load"])
    return pd.concat([ports, switches], ignore_index=True)


def _shares(load: pd.Series) -> pd.Series:
    highest = load.max()
    return load / highest if highest > 0 else load * 0.0
