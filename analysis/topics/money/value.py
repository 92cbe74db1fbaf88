"""Cluster price of each point of a curve, and the Pareto set of price and speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import pandas as pd

from analysis.curves.curves import Curve
from analysis.runs.frames import with_ends
from analysis.runs.kinds import comparable_sets
from analysis.runs.lifetime import Lifetime
from analysis.runs.settings import NodePrice, Settings
from analysis.statistics import Floats
from analysis.statistics.best import nondominated
from analysis.topics.money.lifetime import job_columns
from analysis.topics.money.market import Tariff, interval_of_draws, nodes_of


def value_rows(
    curves: Sequence[Curve],
    tariffs: Mapping[str, Tariff],
    node: NodePrice,
    settings: Settings,
    lifetime: Lifetime | None = None,
) -> pd.DataFrame:
    """Price the cluster of every point of a case, and find the Pareto set of price and speed.

    The price per unit of speedup is the cluster's price / speedup. Its interval joins the interval of the
    speedup with the range of the price. A point belongs to the Pareto set if no other point of the case is at
    least as cheap and as fast, and better in one of the two; only points of comparable kinds count.
    `pareto_share` is the share of bootstrap draws in which a point belongs to the set.

    Parameters
    ----------
    curves : sequence of Curve
        All curves of a case.
    tariffs : mapping of interconnect to Tariff
    lifetime : Lifetime, optional
        Adds the costs over a lifetime.

    Returns
    -------
    DataFrame
        Columns of table ``value``.
    """
    tables = []
    for kinds in comparable_sets({curve.kind for curve in curves}, settings.compare_kinds):
        members = [curve for curve in curves if curve.kind in kinds]
        valued = [_priced_points(curve, tariffs, node, settings, lifetime) for curve in members]
        table = pd.concat(valued, ignore_index=True)
        speed, draws = zip(*(_speed(curve, settings.scaling) for curve in members), strict=True)
        priced = np.flatnonzero(table["cluster_price"].notna())
        price = table["cluster_price"].to_numpy(float)[priced]
        table["pareto"] = pd.array([pd.NA] * len(table), dtype="boolean")
        table["pareto_share"] = np.nan
        table.loc[priced, "pareto"] = nondominated(price, np.concatenate(speed)[priced])
        draws_of_points = list(chain(*draws))
        priced_draws = [draws_of_points[position] for position in priced]
        have_one_scenario = all(len(draw) == 1 and not np.isnan(draw).any() for draw in priced_draws)
        if priced_draws and have_one_scenario:
            members_by_draw = nondominated(price, np.concatenate(priced_draws))
            table.loc[priced, "pareto_share"] = members_by_draw.mean(axis=1)
        tables.append(table.assign(compared_kinds="/".join(kinds)))
    return pd.concat(tables, ignore_index=True)


def _priced_points(
    curve: Curve,
    tariffs: Mapping[str, Tariff],
    node: NodePrice,
    settings: Settings,
    lifetime: Lifetime | None,
) -> pd.DataFrame:
    """Make the columns of table ``value`` for the points of a curve, except those about the Pareto set."""
    nodes = nodes_of(curve, node.cores)
    tariff = tariffs.get(curve.interconnect)
    price, low, high = np.full((3, len(nodes)), np.nan) if tariff is None else tariff.clusters(nodes, node)
    price_ends = np.where(np.isnan([low, high]), price, [low, high])
    # Both ends of the price are scenarios of the draws.
    ratio_draws = [end[:, None, None] / curve.speedup_draws for end in price_ends]
    ratio_ends = interval_of_draws(np.concatenate(ratio_draws, axis=1), settings.level)
    table = pd.DataFrame(
        {
            **curve.names,
            "nodes": nodes,
            "processes": curve.processes,
            "cores": curve.table["cores"],
            "serial": curve.is_serial,
            **with_ends("speedup", curve.speedup, *interval_of_draws(curve.speedup_draws, settings.level)),
            "currency": node.currency,
            **with_ends("cluster_price", price, low, high),
            **with_ends("price_per_speedup", price / curve.speedup, *ratio_ends),
            "note": [_price_note(curve.interconnect, tariff, count) for count in nodes],
        }
    )
    if lifetime is None or tariff is None:
        return table
    return pd.concat([table, job_columns(lifetime, node, tariffs, settings, curve, nodes)], axis=1)


def _price_note(interconnect: str, tariff: Tariff | None, nodes: float) -> str | None:
    if tariff is not None:
        return tariff.note(nodes)
    return "number of nodes unknown" if np.isnan(nodes) else f"no price of {interconnect}"


def _speed(curve: Curve, scaling: str) -> tuple[Floats, list[Floats]]:
    """Return the speed of each point, and its draws: 1 / T, or cores / T in weak scaling."""
    work = curve.table["cores"] if scaling == "weak" else np.ones(len(curve.processes))
    return work / curve.table["seconds"], list(work[:, None, None] / curve.draws)
