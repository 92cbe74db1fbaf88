"""Switch trees: the switches, ports and cables for a number of nodes, and their price.

A tree is a folded Clos network (Leiserson, Fat-Trees, IEEE Transactions on Computers C-34, 1985). A switch
below the top level uses some ports downwards and the others as uplinks. Its blocking ratio is the ratio of
the two. A switch at the top uses all ports downwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import ceil, prod

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.statistics import Integers
from analysis.topics.prices.books import ALONE, NO_NEED, rows_of
from analysis.topics.prices.parts import part_price, switches_of


def uplinks_of(radix: int, blocking_ratio: float) -> int:
    """Return the smallest number of uplinks with at most `blocking_ratio` downward ports per uplink."""
    return max(1, ceil(radix / (1 + blocking_ratio) - 1e-9))


def capacity(radices: Sequence[int], ratios: Sequence[float]) -> int:
    """Return the number of nodes that a full tree joins: the product of the downward ports of all levels.

    Parameters
    ----------
    radices : sequence of int
        Ports of the switches of each level, from the edge to the top.
    ratios : sequence of float
        Blocking ratios of the levels below the top.
    """
    below = zip(radices[:-1], ratios, strict=True)
    return prod(radix - uplinks_of(radix, blocking_ratio) for radix, blocking_ratio in below) * radices[-1]


def count_switches(nodes: ArrayLike, radices: Sequence[int], ratios: Sequence[float]) -> pd.DataFrame:
    """Count the switches and cables of a tree.

    A level has enough switches for its links from below. Every switch below the top uses all its uplinks,
    spread evenly over the switches above.

    Parameters
    ----------
    nodes : array (sizes,)
        Whole numbers, 1 or more.
    radices, ratios : sequences
        As in `capacity`.

    Returns
    -------
    DataFrame
        One row per level and size: ``level, nodes, switches`` and ``uplinks`` (cables to the level above).
        The last two are empty if the tree cannot join the nodes.
    """
    nodes = np.asarray(nodes, np.int64)
    links_from_below, tables = nodes, []
    for level, (radix, blocking_ratio) in enumerate(zip(radices, [*ratios, None], strict=True), start=1):
        uplinks_per_switch = 0 if blocking_ratio is None else uplinks_of(radix, blocking_ratio)
        switches = -(-links_from_below // (radix - uplinks_per_switch))
        uplinks = switches * uplinks_per_switch
        counts = {"level": level, "nodes": nodes, "switches": switches, "uplinks": uplinks}
        tables.append(pd.DataFrame(counts, dtype="Int64"))
        links_from_below = uplinks
    table = pd.concat(tables, ignore_index=True)
    table.loc[table["nodes"] > capacity(radices, ratios), ["switches", "uplinks"]] = pd.NA
    return table


def tree_prices(parts: pd.DataFrame, item: str, nodes: ArrayLike) -> pd.DataFrame:
    """Find the cheapest tree of an interconnect's switches for each of several sizes.

    A tree may leave out levels: a cluster that fits one switch has a single level.

    Parameters
    ----------
    parts : DataFrame
        As `analysis.topics.prices.parts.read_parts` returns it.
    nodes : array (sizes,)

    Returns
    -------
    DataFrame
        ``nodes, levels, switches, uplinks, price``, one row per size. `levels` and `switches` look like
        ``24 + 288`` and ``36 + 1``, from the edge to the top. `price` is the total of ports, switches and
        cables. Price and counts are empty if no tree is large enough.
    """
    rows, nodes = rows_of(parts, item), np.asarray(nodes, np.int64)
    levels = range(1, len(switches_of(rows)) + 1)
    choices = [choice for number in levels for choice in combinations(levels, number)]
    trees = pd.concat([_priced_tree(rows, choice, nodes) for choice in choices], ignore_index=True)
    prices = trees["price"].fillna(np.inf).to_numpy().reshape(len(choices), len(nodes))
    cheapest_row = prices.argmin(axis=0) * len(nodes) + np.arange(len(nodes))
    return trees.iloc[cheapest_row].reset_index(drop=True)


def _priced_tree(rows: pd.DataFrame, levels: Sequence[int], nodes: Integers) -> pd.DataFrame:
    """Make the columns of `tree_prices` for one choice of levels."""
    switches = [switch for level, switch in enumerate(switches_of(rows), start=1) if level in levels]
    radices, ratios = zip(*switches, strict=True)
    counts = count_switches(nodes, radices, ratios[:-1])
    by_level = [frame.reset_index(drop=True) for _, frame in counts.groupby("level")]
    price = pd.Series(nodes * part_price(rows, "port", nodes))
    for level, count in zip(levels, by_level, strict=True):
        price = price + count["switches"].astype(float) * part_price(rows, "switch", nodes, level)
    uplinks = pd.concat([count["uplinks"] for count in by_level], axis=1).sum(axis=1, skipna=False)
    if len(levels) > 1:
        price = price + uplinks.astype(float) * part_price(rows, "uplink", nodes)
    switches_by_size = zip(*(count["switches"] for count in by_level), strict=True)
    switch_texts = [" + ".join(map(str, numbers)) for numbers in switches_by_size]
    level_text = " + ".join(map(str, radices))
    return pd.DataFrame(
        {
            "nodes": nodes,
            "levels": pd.Series(level_text, price.index, dtype="str").where(price.notna()),
            "switches": pd.Series(switch_texts, dtype="str").where(price.notna()),
            "uplinks": uplinks,
            "price": price,
        }
    )


def tree_quote(parts: pd.DataFrame, item: str, nodes: ArrayLike) -> pd.DataFrame:
    """Return the price of an interconnect at each of several sizes, from the parts of its switch tree.

    Parameters
    ----------
    parts : DataFrame
        As `analysis.topics.prices.parts.read_parts` returns it.
    nodes : array (sizes,)

    Returns
    -------
    DataFrame
        Columns `analysis.topics.prices.books.QUOTE`. `basis` is ``computed``. `note` describes the tree, and
        states if prices of its parts are inferred.
    """
    rows, trees = rows_of(parts, item), tree_prices(parts, item, nodes)
    inferred = "; part prices inferred" if (rows["basis"] == "inferred").any() else ""
    uplinks = trees["uplinks"].astype("str") + " uplinks"
    several = trees["switches"] + " switches of " + trees["levels"] + " ports, " + uplinks
    shape = several.mask(trees["uplinks"] == 0, "1 switch of " + trees["levels"] + " ports")
    largest = f"larger than any tree of these switches: no price above {_largest(rows)} nodes"
    priced, single = trees["price"].notna(), trees["nodes"] == 1
    return pd.DataFrame(
        {
            "item": item,
            "nodes": trees["nodes"],
            "currency": rows["currency"].iloc[0],
            "year": rows["year"].iloc[0],
            "price_per_node": (trees["price"] / trees["nodes"]).mask(single, 0.0),
            "price_per_node_low": np.nan,
            "price_per_node_high": np.nan,
            "basis": pd.Series("computed", trees.index, dtype="str").where(priced).mask(single, NO_NEED),
            "source": pd.Series(rows["source"].iloc[0], trees.index, dtype="str").where(priced),
            "note": (shape + inferred).where(priced, largest).mask(single, ALONE),
        }
    )


def _largest(rows: pd.DataFrame) -> int:
    """Return the largest number of nodes that a tree can join if all of its parts must have a price."""
    radices, ratios = zip(*switches_of(rows), strict=True)
    capacity_of_tree = capacity(radices, ratios[:-1])
    largest_priced = rows.groupby(["part", "level"], dropna=False).tail(1)["nodes_to"].min()
    return capacity_of_tree if pd.isna(largest_priced) else min(capacity_of_tree, int(largest_priced))
