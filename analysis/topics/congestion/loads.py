"""Loads of links and switches, the bound they set to what can be accepted, and the congestion matrix."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.topics.congestion.routing import ROUTINGS, routed
from analysis.topics.congestion.topology import Topology

FLOWS = ("source", "destination", "load")
"""Columns of traffic: bytes go from node `source` to node `destination`, at `load` link bandwidths."""
ROUNDING = 1e-9
"""Relative error of a sum of loads that counts as none."""


def link_loads(topology: Topology, flows: pd.DataFrame, routing: str) -> pd.DataFrame:
    """Route load of every link: a row a link, `analysis.topics.congestion.topology.ENDS` and ``load``.

    Loads are in link bandwidths. Of flows (`FLOWS`, whole numbers of nodes) several rows of a pair add up;
    `routing` is ``deterministic`` or ``spread``.
    """
    source, destination, load = (flows[name].to_numpy() for name in FLOWS)
    return topology.links().assign(load=routed(topology, source, destination, load, routing == "spread"))


def switch_loads(links: pd.DataFrame) -> pd.DataFrame:
    """Route load of every switch, from that of all links (`link_loads`): what comes in over its own.

    Returns
    -------
    DataFrame
        ``level, switch, load``, one row a switch, ascending.
    """
    coming = links[links["end_level"] > 0].groupby(["end_level", "end"], as_index=False)["load"].sum()
    return coming.set_axis(["level", "switch", "load"], axis=1)


def accepted_bound(links: pd.DataFrame) -> float:
    """Largest share of the offered traffic that links (`link_loads`) can carry: 1 / highest load, at most 1.

    All flows are held back alike. No flow control can accept more of each; a real one accepts less. Infinite
    buffers and no overhead are assumed: it is a bound and no prediction (Dally, Towles 2004, section 3.3).
    """
    highest = links["load"].max()
    return 1.0 if highest <= 1 else 1 / highest


def free_of_conflict(links: pd.DataFrame) -> bool:
    """Whether no link (`link_loads`) carries more than one link's bandwidth.

    For a permutation whose nodes all send at full rate (a load of 1): whether no two of its messages share
    a link (``deterministic``), or whether an even division lets all go at full rate (``spread``).
    """
    return bool(links["load"].max() <= 1 + ROUNDING)


def pattern_bounds(topology: Topology, patterns: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """What a topology can carry of several patterns.

    Parameters
    ----------
    patterns : mapping of str to DataFrame
        Flows, as `link_loads` takes them.

    Returns
    -------
    DataFrame
        One row a pattern and routing. Loads are in link bandwidths; `accepted_bound` and `free_of_conflict`
        are as the functions of these names give them.
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
    """Loads as they stand around the switches of a tree.

    The form is as in figure 15 of Petrini and others (2003): a row a level, a block a switch, above the
    links from the switches over it, beneath those from switches or nodes under it, in the middle the sum.
    There the numbers are waiting times that were measured; here they are route load. Links from a switch to
    its nodes are in neither, since nothing comes in by them: see `link_loads`.

    Parameters
    ----------
    links : DataFrame
        As `link_loads` gives it for a tree.

    Returns
    -------
    DataFrame
        ``level, switch, side, port, load, share``. One row a link by which traffic comes in, with `side`
        ``above`` or ``below`` (where it comes from) and `port` from 0; and one a switch, `side` ``switch``,
        `port` empty. `load` is in link bandwidths; `share` is of the most loaded link, for a switch of the
        most loaded switch (0 where nothing moves).
    """
    coming = links[links["end_level"] > 0].sort_values(["end_level", "end", "start_level", "start"])
    ports = pd.DataFrame(
        {
            "level": coming["end_level"],
            "switch": coming["end"],
            "side": np.where(coming["start_level"] > coming["end_level"], "above", "below"),
            "port": coming.groupby(["end_level", "end", "start_level"]).cumcount().astype("Int64"),
            "load": coming["load"],
            "share": _shares(coming["load"]),
        }
    )
    switches = switch_loads(links)
    switches = switches.assign(side="switch", port=pd.array([pd.NA] * len(switches), "Int64"))
    switches["share"] = _shares(switches["load"])
    return pd.concat([ports, switches], ignore_index=True)


def _shares(load: pd.Series) -> pd.Series:
    highest = load.max()
    return load / highest if highest > 0 else load * 0.0
