"""From which price of a node on an interconnect pays through the nodes that it saves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.decisions.economics import Tariff, interval, joined, nodes_of, remark
from analysis.estimates.comparison import names_of_pair, pairs
from analysis.estimates.curves import Curve
from analysis.estimates.equivalence import equivalent_processes, targets_of
from analysis.runs.groups import Floats
from analysis.runs.settings import NodePrice, Settings
from analysis.tables.frames import with_ends


class Exchange(NamedTuple):
    """What it means to buy another interconnect instead of the baseline, at equal speed.

    Attributes
    ----------
    saved : array (...)
        Nodes saved, n_b - n_e.
    extra : array (...)
        What the interconnect costs more over the whole cluster, n_e c_e - n_b c_b.
    """

    saved: Floats
    extra: Floats


def exchange(
    baseline_nodes: ArrayLike, baseline_price: ArrayLike, nodes: ArrayLike, price: ArrayLike
) -> Exchange:
    """Nodes saved and money spent.

    Parameters
    ----------
    baseline_nodes, baseline_price, nodes, price : arrays (...)
        n_b, c_b, n_e and c_e: nodes, and the interconnect's price per node. Nodes are infinite where no
        size is as fast, minus infinite where the smallest one measured is faster already.

    Returns
    -------
    Exchange
        Minus infinity nodes saved, for infinite money, where the interconnect is not fast enough; the
        reverse where only the baseline is not. NaN where neither can be known.
    """
    n_b, c_b, n_e, c_e = (
        np.asarray(value, float) for value in (baseline_nodes, baseline_price, nodes, price)
    )
    worse = np.isposinf(n_e) | (np.isneginf(n_b) & ~np.isneginf(n_e))
    better = ~worse & (np.isposinf(n_b) | (np.isneginf(n_e) & ~np.isneginf(n_b)))
    with np.errstate(invalid="ignore"):
        saved, extra = n_b - n_e, n_e * c_e - n_b * c_b
    signs = np.where(better, np.inf, -np.inf)
    decided = worse | better
    return Exchange(np.where(decided, signs, saved), np.where(decided, -signs, extra))


def break_even_price(traded: Exchange) -> Floats:
    """Price of a node at which two clusters of equal speed cost the same.

    With n_b nodes over the baseline and n_e over the other interconnect, whose prices per node are c_b
    and c_e, and P the price of a node without interconnect, the other pays if
    n_e (P + c_e) < n_b (P + c_b). Both sides are equal at P = (n_e c_e - n_b c_b) / (n_b - n_e).

    Returns
    -------
    array (...)
        Minus infinity where the other pays at any P although no finite number of nodes is saved,
        infinity where it pays at none.
    """
    saved, extra = traded
    with np.errstate(divide="ignore", invalid="ignore"):
        even = extra / saved
    at_once = np.where(extra < 0, -np.inf, np.inf)
    return np.where(((saved == 0) | np.isinf(saved)) & ~np.isnan(extra), at_once, even)


def break_even_rows(
    curves: Sequence[Curve],
    ranked: dict[str, list[str]],
    offered: Mapping[str, Tariff],
    node: NodePrice,
    settings: Settings,
) -> pd.DataFrame:
    """Price of a node at which an interconnect pays, for every node equivalent of a case.

    Nodes are bought whole: the nodes of an equivalent number of processes are interpolated between the
    measured counts and rounded up. The interval carries the draws of the node equivalents, with the
    range of both prices.

    Parameters
    ----------
    curves : sequence of Curve
        Of one case.
    ranked : dict
        As `analysis.estimates.curves.ranking` gives it.
    offered : mapping of interconnect to Tariff

    Returns
    -------
    DataFrame
        Columns of table ``break_even``; no row where nothing is compared.
    """
    tables = [
        _compared(baseline, other, kind, offered, node, settings)
        for baseline, other, kind in pairs(curves, ranked, settings)
        if baseline.interconnect in offered and other.interconnect in offered
    ]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _whole_nodes(curve: Curve, processes: Floats, node: NodePrice) -> Floats:
    """Nodes for a number of processes between the measured counts, rounded up.

    Below the smallest count it is one node if the smallest count is on one node, else not known.
    """
    known = nodes_of(curve, node.cores)
    nodes = np.ceil(np.interp(processes, curve.processes, known) - 1e-9)
    nodes = np.where(np.isinf(processes), processes, nodes)
    nodes = np.where(np.isneginf(nodes) & (known[0] == 1), 1.0, nodes)
    return np.where(np.isnan(processes) | np.isnan(known).any(), np.nan, nodes)


def _compared(
    baseline: Curve,
    other: Curve,
    kind: str,
    offered: Mapping[str, Tariff],
    node: NodePrice,
    settings: Settings,
) -> pd.DataFrame:
    target, target_draws, processes, processes_draws = targets_of(baseline, settings)
    equivalent = equivalent_processes(other.processes, other.speedup, target)
    equivalent_draws = equivalent_processes(other.processes, other.speedup_draws, target_draws)
    tariff_b, tariff_e = offered[baseline.interconnect], offered[other.interconnect]
    nodes_b, nodes_e = _whole_nodes(baseline, processes, node), _whole_nodes(other, equivalent, node)
    price_b, price_e = tariff_b.at(nodes_b), tariff_e.at(nodes_e)
    point = exchange(nodes_b, price_b[0], nodes_e, price_e[0])
    below = (point.saved < 0) & (point.extra < 0)
    drawn = _drawn(
        (tariff_b, _whole_nodes(baseline, processes_draws, node)),
        (tariff_e, _whole_nodes(other, equivalent_draws, node)),
    )
    low, high = interval(_threshold(drawn, below[:, None, None]), settings.level)
    saving = _saving(point, node.price)
    saving_low, saving_high = interval(_saving(drawn, node.price), settings.level)
    threshold = _threshold(point, below)
    known = ~np.isneginf(nodes_e) & ~np.isneginf(nodes_b) & ~np.isnan(saving)
    notes = [
        joined(
            remark(baseline.interconnect, tariff_b, n_b),
            remark(other.interconnect, tariff_e, n_e),
            _explained(n_b, n_e),
            "no interval" if np.isnan(end) and not np.isnan(gain) else None,
        )
        for n_b, n_e, end, gain in zip(nodes_b, nodes_e, saving_high, saving, strict=True)
    ]
    finite = np.isfinite(nodes_e)
    return pd.DataFrame(
        {
            **names_of_pair(baseline, other, kind),
            "target_speedup": target,
            "baseline_processes": np.where(np.isfinite(processes), processes, np.nan),
            "equivalent_processes": np.where(np.isneginf(equivalent), np.nan, equivalent),
            "baseline_nodes": np.where(np.isfinite(nodes_b), nodes_b, np.nan),
            "equivalent_nodes": np.where(finite, nodes_e, np.nan),
            "currency": node.currency,
            "baseline_interconnect_price_per_node": price_b[0],
            "interconnect_price_per_node": np.where(finite, price_e[0], np.nan),
            **with_ends("break_even_node_price", np.where(known, threshold, np.nan), low, high),
            "pays": np.where(known, _direction(point), None),
            "node_price": node.price,
            **with_ends("saving", np.where(np.isfinite(saving), saving, np.nan), saving_low, saving_high),
            "verdict": np.where(known, _verdict(saving, saving_low, saving_high), None),
            "note": notes,
        }
    )


def _drawn(baseline: tuple[Tariff, Floats], other: tuple[Tariff, Floats]) -> Exchange:
    """Draws with either end of both price ranges, (targets, scenarios, B)."""
    (tariff_b, nodes_b), (tariff_e, nodes_e) = baseline, other
    prices_b, prices_e = tariff_b.at(nodes_b), tariff_e.at(nodes_e)
    ends = [exchange(nodes_b, prices_b[cheap], nodes_e, prices_e[dear]) for cheap, dear in ((1, 2), (2, 1))]
    return Exchange(*(np.concatenate(values, axis=1) for values in zip(*ends, strict=True)))


def _threshold(traded: Exchange, below: Floats) -> Floats:
    """Price of a node from which on the interconnect pays, or up to which where `below`; 0 or more."""
    even = break_even_price(traded)
    from_price = np.where(traded.saved < 0, np.inf, even)
    up_to_price = np.where(traded.saved < 0, even, np.where(traded.extra < 0, np.inf, 0.0))
    prices = np.maximum(np.where(below, up_to_price, from_price), 0.0)
    return np.where(np.isnan(even), np.nan, prices)


def _saving(traded: Exchange, price: float) -> Floats:
    """What the interconnect saves at a price of a node, n_b (P + c_b) - n_e (P + c_e)."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(traded.saved), traded.saved, traded.saved * price - traded.extra)


def _direction(traded: Exchange) -> np.ndarray:
    """At which prices of a node the interconnect pays."""
    cheaper = traded.extra < 0
    cases = [(traded.saved >= 0) & cheaper, traded.saved > 0, cheaper]
    return np.select(cases, ["always", "above", "below"], "never")


def _verdict(saving: Floats, low: Floats, high: Floats) -> np.ndarray:
    """Whether it pays at the price of a node; by the point estimate where there is no interval."""
    low, high = np.where(np.isnan(low), saving, low), np.where(np.isnan(high), saving, high)
    return np.select([low > 0, high <= 0], ["pays", "does not pay"], "undecided")


def _explained(baseline_nodes: float, nodes: float) -> str | None:
    if np.isposinf(nodes):
        return "the speedup is not attained"
    if np.isposinf(baseline_nodes):
        return "the baseline does not attain the speedup"
    if np.isneginf(nodes) or np.isneginf(baseline_nodes):
        return "the speedup is reached below the smallest count measured"
    return None
