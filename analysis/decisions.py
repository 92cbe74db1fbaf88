"""Tables about money, from the curves of all cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.break_even import break_even_rows
from analysis.curves import Curve, make_curves, ranking
from analysis.decision_schemas import conform
from analysis.economics import Node, Offer, cluster_costs, nodes_of, tariffs, value_rows
from analysis.points import cases
from analysis.purchase import Mix, purchase_rows
from analysis.records import TableError
from analysis.settings import Settings


@dataclass(frozen=True)
class Market:
    """What can be bought.

    Attributes
    ----------
    node : Node
    offers : mapping of interconnect to Offer
        Interconnects without one have no price.
    mix : Mix or None
        What for and at which budget; without it there is no table ``purchase``.
    """

    node: Node
    offers: Mapping[str, Offer]
    mix: Mix | None = None


def curves_by_case(runs: pd.DataFrame, settings: Settings) -> list[list[Curve]]:
    """Curves of every case of a runs table (as `analysis.records.read_runs` gives it)."""
    ranked = ranking(runs)
    return [make_curves(points, ranked, settings) for points in cases(runs, settings)]


def money_tables(runs: pd.DataFrame, market: Market, settings: Settings) -> dict[str, pd.DataFrame]:
    """Make the tables ``cost``, ``value``, ``break_even`` and, with a mix, ``purchase``.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.records.read_runs` gives it.
    market : Market
    settings : Settings

    Returns
    -------
    dict of DataFrame
        With the columns of `analysis.decision_schemas.DECISION_TABLES`. ``cost`` has a row for every
        interconnect with an offer and every number of nodes that was run on.

    Raises
    ------
    TableError
        If no number of nodes is known, an item is not in its book, currencies differ, or a case of the
        mix was not measured.
    """
    all_curves, node = curves_by_case(runs, settings), market.node
    sizes = measured_nodes(all_curves, node.cores)
    if not sizes:
        raise TableError("no run says on how many nodes it was: state the cores of a node", column="nodes")
    if not market.offers:
        raise TableError("no interconnect has a price", "prices", column="interconnect")
    costs = cluster_costs(market.offers, node, range(1, max(sizes) + 1))
    offered = tariffs(costs)
    values = [value_rows(curves, offered, node, settings) for curves in all_curves if curves]
    ranked = ranking(runs)
    evens = [break_even_rows(curves, ranked, offered, node, settings) for curves in all_curves if curves]
    tables = {
        "cost": costs[costs["nodes"].isin(sizes)],
        "value": pd.concat([pd.DataFrame(), *values]),
        "break_even": pd.concat([pd.DataFrame(), *evens]),
    }
    if market.mix is not None:
        tables["purchase"] = purchase_rows(all_curves, offered, node, market.mix, settings)
    return {name: conform(name, table) for name, table in tables.items()}


def measured_nodes(all_curves: Sequence[Sequence[Curve]], cores_per_node: int | None) -> list[int]:
    """Numbers of nodes on which anything was run, increasing."""
    counts = [nodes_of(curve, cores_per_node) for curves in all_curves for curve in curves]
    return sorted({int(count) for nodes in counts for count in nodes[~np.isnan(nodes)]})
