"""Tables about money, from the curves of all cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import pandas as pd

from analysis.curves.curves import Curve
from analysis.runs.frames import Tables
from analysis.runs.runs import TableError, valid_rows
from analysis.runs.settings import Settings
from analysis.topics.money.break_even import break_even_rows, equal_speeds
from analysis.topics.money.economics import Tariff, cluster_costs, tariffs, value_rows
from analysis.topics.money.lifetime import JOB_COLUMNS, cost_columns, job_columns
from analysis.topics.money.lifetime_pairs import lifetime_break_even, tornado_rows
from analysis.topics.money.market import Market
from analysis.topics.money.purchase import purchase_rows
from analysis.topics.topic import Context


def market_costs(runs: pd.DataFrame, market: Market) -> pd.DataFrame:
    """What clusters of every size up to the largest that was run on cost, as table ``cost``.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.runs.runs.read_runs` gives it, with a valid row.

    Raises
    ------
    TableError
        If no number of nodes is known, an item is not in its book, or currencies differ.
    """
    sizes = measured_nodes(runs, market.node.cores)
    if not sizes:
        raise TableError("no run says on how many nodes it was: state the cores of a node", column="nodes")
    if not market.offers:
        raise TableError("no interconnect has a price", "prices", column="interconnect")
    return cluster_costs(market.offers, market.node, range(1, max(sizes) + 1))


def measured_nodes(runs: pd.DataFrame, cores_per_node: int | None) -> list[int]:
    """Numbers of nodes of the valid runs, increasing; see `analysis.topics.money.economics.nodes_of`."""
    valid = valid_rows(runs)
    nodes = valid["nodes"]
    if cores_per_node is not None:
        nodes = nodes.fillna(-(-valid["cores"] // cores_per_node))
    return sorted({int(count) for count in nodes.dropna().unique()})


def money_pieces(
    curves: Sequence[Curve],
    ranked: dict[str, list[str]],
    offered: Mapping[str, Tariff],
    market: Market,
    settings: Settings,
) -> dict[str, list[pd.DataFrame]]:
    """Rows of the tables ``value``, ``break_even`` and ``tornado`` from all curves of one case."""
    node, lifetime = market.node, market.lifetime
    more = partial(job_columns, lifetime, node, offered, settings) if lifetime else None
    value = value_rows(curves, offered, node, settings, more)
    lacking = [name for name in JOB_COLUMNS if lifetime and name not in value]
    found = {"value": [value.reindex(columns=[*value, *lacking])], "break_even": [], "tornado": []}
    for equal in equal_speeds(curves, ranked, offered, node, settings):
        rows = break_even_rows(equal, offered, node, settings)
        if lifetime:
            years = lifetime_break_even(equal, offered, node, lifetime, settings)
            rows = pd.concat([rows, years], axis=1)
            found["tornado"].append(tornado_rows(equal, offered, node, lifetime, settings))
        found["break_even"].append(rows)
    return {name: [table for table in tables if len(table)] for name, tables in found.items()}


def whole_market(
    runs: pd.DataFrame,
    costs: pd.DataFrame,
    of_cases: Iterable[Sequence[Curve]],
    market: Market,
    settings: Settings,
) -> dict[str, pd.DataFrame]:
    """Tables ``cost``, for the numbers of nodes that were run on, and ``purchase``.

    The latter only with a mix of which every case has a valid run.

    Parameters
    ----------
    costs : DataFrame
        As `market_costs` gives it for these runs.
    of_cases : iterable of sequences of Curve
        All curves of each case of the mix.
    """
    sizes, of_cases = measured_nodes(runs, market.node.cores), list(of_cases)
    tables, offered = {"cost": costs[costs["nodes"].isin(sizes)]}, tariffs(costs)
    more = partial(cost_columns, market.lifetime, market.node, offered) if market.lifetime else None
    if market.mix is not None and {curves[0].case for curves in of_cases} >= set(market.mix.weights):
        tables["purchase"] = purchase_rows(of_cases, offered, market.node, market.mix, settings, more)
    if more:
        tables["cost"] = tables["cost"].assign(**more(tables["cost"]))
    return tables


def make_money(context: Context) -> Tables:
    """Make the tables about money if the study states prices and has a valid run."""
    market, curves, settings = context.request.market, context.curves, context.settings
    if not (market and curves.ranked):
        return {}
    costs = market_costs(context.runs, market)
    offered = tariffs(costs)
    mixed = market.mix.weights if market.mix else ()
    frames: dict[str, list[pd.DataFrame]] = {"value": [], "break_even": [], "tornado": []}
    for of_case in curves.cases:
        for name, parts in money_pieces(of_case, curves.ranked, offered, market, settings).items():
            frames[name] += parts
    of_mix = [of_case for of_case in curves.cases if of_case[0].case in mixed]
    tables = {
        name: pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
        for name, parts in frames.items()
    }
    return tables | whole_market(context.runs, costs, of_mix, market, settings)
