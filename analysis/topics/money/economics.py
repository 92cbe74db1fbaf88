"""What clusters cost with each interconnect, and what their speed costs.

Money is nominal: amounts of different years stand beside each other with a note, never adjusted, and
two currencies are an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.curves.curves import Curve
from analysis.runs.columns import validated
from analysis.runs.frames import with_ends
from analysis.runs.kinds import comparable_sets
from analysis.runs.runs import TableError
from analysis.runs.settings import NodePrice, Settings
from analysis.statistics import Floats
from analysis.statistics.best import nondominated
from analysis.statistics.bootstrap import percentile_interval
from analysis.topics.money.schemas import MONEY_TABLES
from analysis.topics.prices.books import quote
from analysis.topics.prices.switches import tree_quote

PricedItem = tuple[pd.DataFrame, str]
"""Price book or part list (`analysis.topics.prices`), and the name of an item in it."""


def cluster_costs(offers: Mapping[str, PricedItem], node: NodePrice, nodes: ArrayLike) -> pd.DataFrame:
    """What a cluster of n nodes costs with each interconnect.

    cluster_price = n (P + c_n), P the price of a node and c_n the interconnect's price per node in a
    cluster of n.

    Parameters
    ----------
    offers : mapping of interconnect to PricedItem
    nodes : array (sizes,)
        Whole numbers.

    Returns
    -------
    DataFrame
        Table ``cost``, one row an interconnect and size. Where there is no price, `note` says why.

    Raises
    ------
    TableError
        If an interconnect is priced in another currency than a node, or an item is not in its book.
    """
    tables = []
    for interconnect, (listing, item) in offers.items():
        quoting = tree_quote if "part" in listing else quote
        table = quoting(listing, item, nodes).assign(interconnect=interconnect)
        currency, year = table["currency"].iloc[0], table["year"].iloc[0]
        if currency != node.currency:
            raise TableError(
                f"interconnect '{interconnect}' is priced in {currency}, a node in {node.currency}: "
                "no exchange rate is assumed",
                column="currency",
            )
        if year != node.year:
            warning = f"interconnect price of {year}, node price of {node.year}, not adjusted"
            table["note"] = table["note"].map(lambda note, warning=warning: joined(note, warning))
        tables.append(table)
    quotes = pd.concat(tables, ignore_index=True)
    costs = quotes.rename(columns=lambda name: name.replace("price_per_node", "interconnect_price_per_node"))
    for end, price in zip(("", "_low", "_high"), node.prices, strict=True):
        own = costs[f"interconnect_price_per_node{end}"]
        own = own.fillna(costs["interconnect_price_per_node"]) if node.price_range else own
        costs[f"cluster_price{end}"] = costs["nodes"] * (price + own)
    share = costs["interconnect_price_per_node"] / (node.price + costs["interconnect_price_per_node"])
    costs = costs.assign(node_price=node.price, node_year=node.year, interconnect_percent=100 * share)
    return validated(MONEY_TABLES["cost"], costs.reset_index(drop=True))


def joined(*notes: object) -> str | None:
    """Notes as one text, each only once; None where there are none."""
    texts = [text for note in notes if not pd.isna(note) for text in str(note).split("; ")]
    return "; ".join(dict.fromkeys(filter(None, texts))) or None


@dataclass(frozen=True, eq=False)
class Tariff:
    """An interconnect's price per node by cluster size, and remarks about it.

    Attributes
    ----------
    prices : array (3, largest + 1)
        Price, low end and high end at each number of nodes; NaN where there is none. The ends are the
        price where no range is known.
    notes : list of str or None, one a number of nodes
    """

    prices: Floats
    notes: list[str | None]

    def at(self, nodes: ArrayLike) -> Floats:
        """Price, low and high end, array (3, ...), NaN where unknown; 0 for infinitely many nodes."""
        nodes = np.asarray(nodes, float)
        known = np.isfinite(nodes) & (nodes >= 1) & (nodes < self.prices.shape[1])
        prices = np.where(known, self.prices[:, np.where(known, nodes, 0).astype(np.int64)], np.nan)
        return np.where(np.isinf(nodes), 0.0, prices)

    def clusters(self, nodes: ArrayLike, node: NodePrice) -> Floats:
        """Price of whole clusters and its range, array (3, ...), the range NaN where none is known."""
        nodes = np.asarray(nodes, float)
        price, low, high = (
            nodes * (price + own) for price, own in zip(node.prices, self.at(nodes), strict=True)
        )
        known = low < high
        return np.stack([price, np.where(known, low, np.nan), np.where(known, high, np.nan)])


def tariffs(costs: pd.DataFrame) -> dict[str, Tariff]:
    """Tariff of each interconnect, from a table ``cost`` of every size from 1 on."""
    found = {}
    for interconnect, rows in costs.groupby("interconnect", sort=False):
        rows = rows.set_index("nodes").sort_index().reindex(range(int(rows["nodes"].max()) + 1))
        price = rows["interconnect_price_per_node"]
        ends = [rows[f"interconnect_price_per_node_{end}"].fillna(price) for end in ("low", "high")]
        notes = [None if pd.isna(note) else str(note) for note in rows["note"]]
        found[str(interconnect)] = Tariff(np.stack([price, *ends]).astype(float), notes)
    return found


def nodes_of(curve: Curve, cores_per_node: int | None) -> Floats:
    """Nodes of each point of a curve: as the runs say, else cores over the cores of a node, rounded up.

    NaN where neither is known.
    """
    known = curve.table["nodes"].astype(float)
    counted = np.nan if cores_per_node is None else -(-curve.table["cores"] // cores_per_node)
    return np.where(known == 0, counted, known)


def interval(draws: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Percentile interval, empty where any draw is."""
    lacking = np.isnan(draws).any(axis=(-2, -1), keepdims=True)
    return percentile_interval(np.where(lacking, np.nan, draws), confidence)


JobColumns = Callable[[Curve, Floats], pd.DataFrame]
"""Gives more columns of the points of a curve, of which the nodes are known."""


def value_rows(
    curves: Sequence[Curve],
    offered: Mapping[str, Tariff],
    node: NodePrice,
    settings: Settings,
    more: JobColumns | None = None,
) -> pd.DataFrame:
    """What every point of a case costs, and which points are worth their price.

    Price per unit of speedup is the cluster's price over the speedup; its interval joins the interval
    of the speedup with the range of the price. The Pareto set is of cluster price against speed, over all
    points of a case that may be compared: no other point is as cheap and as fast, and better in one.
    `pareto_share` is the share of bootstrap draws in which a point belongs to it.

    Parameters
    ----------
    curves : sequence of Curve
        Of one case.
    offered : mapping of interconnect to Tariff
    more : JobColumns, optional
        What gives the columns about a lifetime.

    Returns
    -------
    DataFrame
        Columns of table ``value``.
    """
    tables = []
    for kinds in comparable_sets({curve.kind for curve in curves}, settings.compare_kinds):
        members = [curve for curve in curves if curve.kind in kinds]
        valued = [_valued(curve, offered, node, settings, more) for curve in members]
        table = pd.concat(valued, ignore_index=True)
        speed, draws = zip(*(_speed(curve, settings.scaling) for curve in members), strict=True)
        priced = np.flatnonzero(table["cluster_price"].notna())
        price = table["cluster_price"].to_numpy(float)[priced]
        table["pareto"] = pd.array([pd.NA] * len(table), dtype="boolean")
        table["pareto_share"] = np.nan
        table.loc[priced, "pareto"] = nondominated(price, np.concatenate(speed)[priced])
        every = list(chain(*draws))
        sampled = [every[number] for number in priced]
        if sampled and all(len(draw) == 1 and not np.isnan(draw).any() for draw in sampled):
            table.loc[priced, "pareto_share"] = nondominated(price, np.concatenate(sampled)).mean(axis=1)
        tables.append(table.assign(compared_kinds="/".join(kinds)))
    return pd.concat(tables, ignore_index=True)


def _valued(
    curve: Curve,
    offered: Mapping[str, Tariff],
    node: NodePrice,
    settings: Settings,
    more: JobColumns | None,
) -> pd.DataFrame:
    nodes = nodes_of(curve, node.cores)
    tariff = offered.get(curve.interconnect)
    unknown = np.full((3, len(nodes)), np.nan)
    price, low, high = unknown if tariff is None else tariff.clusters(nodes, node)
    known = np.where(np.isnan([low, high]), price, [low, high])
    ends = known.T[..., None]  # (points, ends, 1)
    ratios = [ends[:, [end]] / curve.speedup_draws for end in (0, 1)]
    of_ratio = interval(np.concatenate(ratios, axis=1), settings.level)
    table = pd.DataFrame(
        {
            **curve.names,
            "nodes": nodes,
            "processes": curve.processes,
            "cores": curve.table["cores"],
            "serial": ~curve.own,
            **with_ends("speedup", curve.speedup, *interval(curve.speedup_draws, settings.level)),
            "currency": node.currency,
            **with_ends("cluster_price", price, low, high),
            **with_ends("price_per_speedup", price / curve.speedup, *of_ratio),
            "note": [remark(curve.interconnect, tariff, count) for count in nodes],
        }
    )
    return table if more is None or tariff is None else pd.concat([table, more(curve, nodes)], axis=1)


def remark(interconnect: str, tariff: Tariff | None, nodes: float) -> str | None:
    """Remark about an interconnect's price at a size, or why there is none."""
    if np.isnan(nodes):
        return "number of nodes unknown"
    if tariff is None:
        return f"no price of {interconnect}"
    if nodes >= len(tariff.notes):
        return None if np.isinf(nodes) else f"no price above {len(tariff.notes) - 1} nodes"
    return tariff.notes[int(nodes)] if np.isfinite(nodes) else None


def _speed(curve: Curve, scaling: str) -> tuple[Floats, list[Floats]]:
    """Work a second up to a factor of the case: 1 / T, in weak scaling cores / T; and its draws."""
    work = curve.table["cores"] if scaling == "weak" else np.ones(len(curve.processes))
    return work / curve.table["seconds"], list(work[:, None, None] / curve.draws)
