"""The market of a study, and the price of clusters by interconnect and number of nodes.

Money is nominal: amounts of different years are not adjusted, and a note names the years. It is an error if
the prices of a study are in different currencies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.curves.curves import Curve
from analysis.runs.columns import validated
from analysis.runs.frames import is_missing
from analysis.runs.lifetime import Lifetime
from analysis.runs.runs import TableError, valid_rows
from analysis.runs.settings import Mix, NodePrice
from analysis.statistics import Floats
from analysis.statistics.bootstrap import percentile_interval
from analysis.topics.money.schemas import MONEY_TABLES
from analysis.topics.prices.books import quote
from analysis.topics.prices.switches import tree_quote

PricedItem = tuple[pd.DataFrame, str]
"""A price book or part list (`analysis.topics.prices`), and the name of an item in it."""


@dataclass(frozen=True)
class Market:
    """Prices of nodes and interconnects, and the purpose of a purchase.

    Attributes
    ----------
    offers : mapping of interconnect to PricedItem
        Interconnects without an offer have no price.
    mix : Mix or None
        Cases and budgets of the purchase; there is no table ``purchase`` without it.
    lifetime : Lifetime or None
        Costs of running a cluster; columns about the lifetime are empty without it.
    """

    node: NodePrice
    offers: Mapping[str, PricedItem]
    mix: Mix | None = None
    lifetime: Lifetime | None = None


@dataclass(frozen=True, eq=False)
class Tariff:
    """Price per node of an interconnect by cluster size, with notes.

    Attributes
    ----------
    prices : array (3, largest + 1)
        Price, low end and high end at each number of nodes; NaN without a price. Both ends equal the price if
        no range is known.
    notes : list of str or None
        One note per number of nodes.
    """

    prices: Floats
    notes: list[str | None]

    def at(self, nodes: ArrayLike) -> Floats:
        """Return the price per node and the ends of its range, array (3, ...).

        NaN if the price is unknown; 0 for infinitely many nodes.
        """
        nodes = np.asarray(nodes, float)
        listed = np.isfinite(nodes) & (nodes >= 1) & (nodes < self.prices.shape[1])
        prices = np.where(listed, self.prices[:, np.where(listed, nodes, 0).astype(np.int64)], np.nan)
        return np.where(np.isinf(nodes), 0.0, prices)

    def clusters(self, nodes: ArrayLike, node: NodePrice) -> Floats:
        """Return the price of whole clusters and the ends of its range, array (3, ...).

        The ends are NaN if the price has no range.
        """
        nodes = np.asarray(nodes, float)
        price, low, high = (
            nodes * (of_node + of_interconnect)
            for of_node, of_interconnect in zip(node.prices, self.at(nodes), strict=True)
        )
        ranged = low < high
        return np.stack([price, np.where(ranged, low, np.nan), np.where(ranged, high, np.nan)])

    def note(self, nodes: float) -> str | None:
        """Return the note on the price at a size, or the reason why there is no price."""
        if np.isnan(nodes):
            return "number of nodes unknown"
        if np.isinf(nodes):
            return None
        if nodes >= len(self.notes):
            return f"no price above {len(self.notes) - 1} nodes"
        return self.notes[int(nodes)]


def market_costs(runs: pd.DataFrame, market: Market) -> pd.DataFrame:
    """Price clusters of every size up to the largest number of nodes of a run.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.runs.runs.read_runs` returns it, with a valid row.

    Returns
    -------
    DataFrame
        Table ``cost``, one row per interconnect and size.

    Raises
    ------
    TableError
        If no number of nodes is known, an item is not in its book, or currencies differ.
    """
    sizes = measured_nodes(runs, market.node.cores)
    if not sizes:
        raise TableError("no run states its number of nodes: state the cores of a node", column="nodes")
    if not market.offers:
        raise TableError("no interconnect has a price", "prices", column="interconnect")
    return cluster_costs(market.offers, market.node, range(1, max(sizes) + 1))


def cluster_costs(offers: Mapping[str, PricedItem], node: NodePrice, nodes: ArrayLike) -> pd.DataFrame:
    """Price clusters of n nodes with each interconnect.

    cluster_price = n (P + c_n) with the price P of a node, and the interconnect's price per node c_n in a
    cluster of n nodes.

    Parameters
    ----------
    offers : mapping of interconnect to PricedItem
    nodes : array (sizes,)
        Whole numbers.

    Returns
    -------
    DataFrame
        Table ``cost``, one row per interconnect and size. `note` has the reason for a missing price.

    Raises
    ------
    TableError
        If an interconnect is priced in another currency than a node, or an item is not in its book.
    """
    tables = []
    for interconnect, (listing, item) in offers.items():
        find_prices = tree_quote if "part" in listing else quote
        table = find_prices(listing, item, nodes).assign(interconnect=interconnect)
        currency, year = table["currency"].iloc[0], table["year"].iloc[0]
        if currency != node.currency:
            raise TableError(
                f"interconnect '{interconnect}' is priced in {currency}, a node in {node.currency}: "
                "no exchange rate is assumed",
                column="currency",
            )
        if year != node.year:
            warning = f"interconnect price of {year}, node price of {node.year}, not adjusted"
            table["note"] = [joined(note, warning) for note in table["note"]]
        tables.append(table)
    quotes = pd.concat(tables, ignore_index=True)
    costs = quotes.rename(columns=lambda name: name.replace("price_per_node", "interconnect_price_per_node"))
    for end, price in zip(("", "_low", "_high"), node.prices, strict=True):
        per_node = costs[f"interconnect_price_per_node{end}"]
        if node.price_range:  # an interconnect without a range has its price at both ends
            per_node = per_node.fillna(costs["interconnect_price_per_node"])
        costs[f"cluster_price{end}"] = costs["nodes"] * (price + per_node)
    share = costs["interconnect_price_per_node"] / (node.price + costs["interconnect_price_per_node"])
    costs = costs.assign(node_price=node.price, node_year=node.year, interconnect_percent=100 * share)
    return validated(MONEY_TABLES["cost"], costs.reset_index(drop=True))


def tariffs_of(costs: pd.DataFrame) -> dict[str, Tariff]:
    """Return the tariff of each interconnect.

    Parameters
    ----------
    costs : DataFrame
        Table ``cost``, with a row for every number of nodes from 1 on.
    """
    tariffs = {}
    for interconnect, rows in costs.groupby("interconnect", sort=False):
        sizes = range(int(rows["nodes"].max()) + 1)  # a tariff is indexed by nodes; 0 nodes have no price
        rows_by_size = rows.set_index("nodes").reindex(sizes)
        price = rows_by_size["interconnect_price_per_node"]
        ends = [rows_by_size[f"interconnect_price_per_node_{end}"].fillna(price) for end in ("low", "high")]
        notes = [None if pd.isna(note) else str(note) for note in rows_by_size["note"]]
        tariffs[str(interconnect)] = Tariff(np.stack([price, *ends]).astype(float), notes)
    return tariffs


def measured_nodes(runs: pd.DataFrame, cores_per_node: int | None) -> list[int]:
    """List the different numbers of nodes of the valid runs in ascending order.

    A missing number is computed from the cores, as `nodes_of` does.
    """
    valid = valid_rows(runs)
    nodes = valid["nodes"]
    if cores_per_node is not None:
        nodes = nodes.fillna(-(-valid["cores"] // cores_per_node))
    return sorted({int(count) for count in nodes.dropna().unique()})


def nodes_of(curve: Curve, cores_per_node: int | None) -> Floats:
    """Return the number of nodes of each point of a curve, array (points,); NaN if unknown.

    If the runs do not state it, the number is cores / cores per node, rounded up.
    """
    recorded = curve.table["nodes"].astype(float)
    computed = np.nan if cores_per_node is None else -(-curve.table["cores"] // cores_per_node)
    return np.where(recorded == 0, computed, recorded)


def interval_of_draws(draws: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return the percentile interval of draws (..., scenarios, B), arrays (...); NaN if any draw is NaN."""
    has_missing = np.isnan(draws).any(axis=(-2, -1), keepdims=True)
    return percentile_interval(np.where(has_missing, np.nan, draws), confidence)


def joined(*notes: object) -> str | None:
    """Join notes into one text without repetition; None without notes."""
    texts = [text for note in notes if not is_missing(note) for text in str(note).split("; ")]
    return "; ".join(dict.fromkeys(filter(None, texts))) or None
