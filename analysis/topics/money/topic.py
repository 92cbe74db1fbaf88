"""Does a faster interconnect pay?"""

from __future__ import annotations

import pandas as pd

from analysis.presentation.drawing import Drawing
from analysis.runs.frames import Tables
from analysis.topics.money.break_even import break_even_rows, equal_speeds
from analysis.topics.money.headline import headline
from analysis.topics.money.lifetime import cost_columns
from analysis.topics.money.lifetime_pairs import lifetime_break_even, tornado_rows
from analysis.topics.money.market import market_costs, measured_nodes, tariffs_of
from analysis.topics.money.purchase import purchase_rows
from analysis.topics.money.schemas import MONEY_TABLES
from analysis.topics.money.section import pays
from analysis.topics.money.tornado_figures import tornado_figures
from analysis.topics.money.value import value_rows
from analysis.topics.topic import Context, Topic, View
from analysis.topics.turnaround.figures import pareto_figures


def make_money(context: Context) -> Tables:
    """Make the tables about money if the study states prices and has a valid run."""
    market, settings = context.request.market, context.settings
    if market is None or not context.curves.ranked:
        return {}
    node, mix, lifetime = market.node, market.mix, market.lifetime
    all_costs = market_costs(context.runs, market)
    tariffs = tariffs_of(all_costs)
    costs = all_costs[all_costs["nodes"].isin(measured_nodes(context.runs, node.cores))]
    cases = context.curves.cases
    values = [value_rows(curves, tariffs, node, settings, lifetime) for curves in cases]
    equal = [
        clusters
        for pairs in context.curves.pairs
        for clusters in equal_speeds(pairs, tariffs, node, settings)
    ]
    break_even = [break_even_rows(clusters, tariffs, node, settings) for clusters in equal]
    tables = {}
    if lifetime is not None:
        costs = costs.assign(**cost_columns(lifetime, node, tariffs, costs))
        over_years = [lifetime_break_even(clusters, tariffs, node, lifetime, settings) for clusters in equal]
        break_even = [
            pd.concat([by_price, by_years], axis=1)
            for by_price, by_years in zip(break_even, over_years, strict=True)
        ]
        tables["tornado"] = _stacked(
            [tornado_rows(clusters, tariffs, node, lifetime, settings) for clusters in equal]
        )
    if mix is not None and {curves[0].case for curves in cases} >= mix.weights.keys():
        of_mix = [curves for curves in cases if curves[0].case in mix.weights]
        tables["purchase"] = purchase_rows(of_mix, tariffs, node, mix, settings, lifetime)
    return tables | {"cost": costs, "value": _stacked(values), "break_even": _stacked(break_even)}


def _stacked(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Stack tables; the result has no rows if no table has rows."""
    tables = [table for table in tables if len(table)]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def draw_money(view: View) -> list[Drawing]:
    """Draw price against speedup, and the effect of each input on a saving."""
    drawings = []
    if "value" in view.tables:
        drawings += pareto_figures(view.tables["value"], view.labels)
    if "tornado" in view.tables:
        drawings += tornado_figures(view.tables["tornado"], view.labels)
    return drawings


TOPIC = Topic(
    name="money",
    schemas=MONEY_TABLES,
    make=make_money,
    by_site=True,
    always=("cost", "value", "break_even"),
    directions=("value", "break_even", "tornado", "purchase"),
    draw=draw_money,
    section=pays,
    headline=headline,
)
