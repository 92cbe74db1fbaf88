"""From which price of a node on an interconnect pays through the nodes that it saves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.curves.comparison import names_of_pair, pairs
from analysis.curves.curves import Curve
from analysis.curves.equivalence import equivalents_of, targets_of
from analysis.runs.frames import with_ends
from analysis.runs.settings import NodePrice, Settings
from analysis.statistics import Floats
from analysis.topics.money.economics import Tariff, interval, joined, nodes_of, remark
from analysis.topics.money.exchange import (
    Exchange,
    direction_of,
    exchange,
    saving_at,
    threshold_of,
    verdict_on,
)


@dataclass(frozen=True, eq=False)
class EqualSpeed:
    """Clusters of two interconnects that are equally fast, one pair a target speedup.

    Nodes are bought whole: those of an equivalent number of processes are interpolated between the measured
    counts and rounded up.

    Attributes
    ----------
    target, baseline_processes, processes : arrays (targets,)
    baseline_nodes, nodes : arrays (targets,)
        Infinite where no size is as fast, minus infinite where the smallest one measured is faster already.
    draws : four arrays (targets, scenarios, B)
        Of the baseline's nodes and processes, and of the other's.
    """

    baseline: Curve
    other: Curve
    kind: str
    target: Floats
    baseline_processes: Floats
    processes: Floats
    baseline_nodes: Floats
    nodes: Floats
    draws: Sequence[Floats]

    @classmethod
    def of(cls, baseline: Curve, other: Curve, kind: str, node: NodePrice, settings: Settings) -> EqualSpeed:
        """Find them for every speedup of a baseline."""
        targets = targets_of(baseline, settings)
        target, _, processes, processes_draws = targets
        equivalent, equivalent_draws = equivalents_of(other, targets)
        draws = [
            _whole_nodes(baseline, processes_draws, node),
            processes_draws,
            _whole_nodes(other, equivalent_draws, node),
            equivalent_draws,
        ]
        return cls(
            baseline,
            other,
            kind,
            target,
            processes,
            equivalent,
            _whole_nodes(baseline, processes, node),
            _whole_nodes(other, equivalent, node),
            np.broadcast_arrays(*draws),
        )

    @property
    def sizes(self) -> Sequence[Floats]:
        """As `draws`, of the point estimates: arrays (targets,)."""
        return self.baseline_nodes, self.baseline_processes, self.nodes, self.processes


def equal_speeds(
    curves: Sequence[Curve],
    ranked: dict[str, list[str]],
    offered: Mapping[str, Tariff],
    node: NodePrice,
    settings: Settings,
) -> list[EqualSpeed]:
    """Clusters of equal speed of every baseline and interconnect of a case that both have a price.

    Parameters
    ----------
    curves : sequence of Curve
        Of one case.
    ranked : dict
        As `analysis.curves.curves.ranking` gives it.
    offered : mapping of interconnect to Tariff
    """
    return [
        EqualSpeed.of(baseline, other, kind, node, settings)
        for baseline, other, kind in pairs(curves, ranked, settings)
        if {baseline.interconnect, other.interconnect} <= offered.keys() and other.uses_somewhere
    ]


def break_even_rows(
    equal: EqualSpeed, offered: Mapping[str, Tariff], node: NodePrice, settings: Settings
) -> pd.DataFrame:
    """Price of a node at which an interconnect pays, for every node equivalent of a pair.

    The interval carries the draws of the node equivalents, with the range of both prices.

    Returns
    -------
    DataFrame
        Columns of table ``break_even``, but those about a lifetime.
    """
    nodes_b, nodes_e = equal.baseline_nodes, equal.nodes
    tariff_b, tariff_e = (offered[curve.interconnect] for curve in (equal.baseline, equal.other))
    price_b, price_e = tariff_b.at(nodes_b), tariff_e.at(nodes_e)
    point = exchange(nodes_b, price_b[0], nodes_e, price_e[0])
    below = (point.saved < 0) & (point.extra < 0)
    drawn = _drawn((tariff_b, equal.draws[0]), (tariff_e, equal.draws[2]))
    low, high = interval(threshold_of(drawn, below[:, None, None]), settings.level)
    saving = saving_at(point, node.price)
    savings = [saving_at(drawn, price) for price in sorted(set(node.prices))]
    saving_low, saving_high = interval(np.concatenate(savings, axis=1), settings.level)
    known = ~np.isneginf(nodes_e) & ~np.isneginf(nodes_b) & ~np.isnan(saving)
    notes = [
        joined(
            remark(equal.baseline.interconnect, tariff_b, n_b),
            remark(equal.other.interconnect, tariff_e, n_e),
            _explained(n_b, n_e),
            "no interval" if np.isnan(end) and not np.isnan(gain) else None,
        )
        for n_b, n_e, end, gain in zip(nodes_b, nodes_e, saving_high, saving, strict=True)
    ]
    finite = np.isfinite(nodes_e)
    processes, equivalent = equal.baseline_processes, equal.processes
    return pd.DataFrame(
        {
            **names_of_pair(equal.baseline, equal.other, equal.kind),
            "target_speedup": equal.target,
            "baseline_processes": np.where(np.isfinite(processes), processes, np.nan),
            "equivalent_processes": np.where(np.isneginf(equivalent), np.nan, equivalent),
            "baseline_nodes": np.where(np.isfinite(nodes_b), nodes_b, np.nan),
            "equivalent_nodes": np.where(finite, nodes_e, np.nan),
            "currency": node.currency,
            "baseline_interconnect_price_per_node": price_b[0],
            "interconnect_price_per_node": np.where(finite, price_e[0], np.nan),
            **with_ends(
                "break_even_node_price", np.where(known, threshold_of(point, below), np.nan), low, high
            ),
            "pays": np.where(known, direction_of(point), None),
            "node_price": node.price,
            **with_ends("saving", np.where(np.isfinite(saving), saving, np.nan), saving_low, saving_high),
            "verdict": np.where(known, verdict_on(saving, saving_low, saving_high), None),
            "note": notes,
        }
    )


def _whole_nodes(curve: Curve, processes: Floats, node: NodePrice) -> Floats:
    """Nodes for a number of processes between the measured counts, rounded up.

    Below the smallest count it is one node if the smallest count is on one node, else not known. One node
    that does not use the interconnect says nothing about it.
    """
    known = nodes_of(curve, node.cores)
    nodes = np.ceil(np.interp(processes, curve.processes, known) - 1e-9)
    nodes = np.where(np.isinf(processes), processes, nodes)
    nodes = np.where(np.isneginf(nodes) & (known[0] == 1) & curve.uses.all(), 1.0, nodes)
    return np.where(np.isnan(processes) | np.isnan(known).any(), np.nan, nodes)


def _drawn(baseline: tuple[Tariff, Floats], other: tuple[Tariff, Floats]) -> Exchange:
    """Draws with either end of both price ranges, (targets, scenarios, B)."""
    (tariff_b, nodes_b), (tariff_e, nodes_e) = baseline, other
    prices_b, prices_e = tariff_b.at(nodes_b), tariff_e.at(nodes_e)
    ends = [exchange(nodes_b, prices_b[cheap], nodes_e, prices_e[dear]) for cheap, dear in ((1, 2), (2, 1))]
    return Exchange(*(np.concatenate(values, axis=1) for values in zip(*ends, strict=True)))


def _explained(baseline_nodes: float, nodes: float) -> str | None:
    if np.isposinf(nodes):
        return "the speedup is not attained"
    if np.isposinf(baseline_nodes):
        return "the baseline does not attain the speedup"
    if np.isneginf(nodes) or np.isneginf(baseline_nodes):
        return "the speedup is reached below the smallest count measured"
    return None
