"""The price of a node from which an interconnect pays through the nodes that it saves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.curves.curve_comparison import Pair, names_of_pair
from analysis.curves.curves import Curve
from analysis.curves.equivalence import equivalents_of, targets_of
from analysis.runs.frames import with_ends
from analysis.runs.settings import NodePrice, Settings
from analysis.statistics import Floats
from analysis.topics.money.exchange import (
    Exchange,
    direction_of,
    exchange,
    saving_at,
    texts_where,
    threshold_of,
    verdict_on,
)
from analysis.topics.money.market import Tariff, interval_of_draws, joined, nodes_of


@dataclass(frozen=True, eq=False)
class EqualSpeed:
    """Clusters of two interconnects that are equally fast, one pair of clusters per target speedup.

    Nodes are bought whole: the nodes of an equivalent number of processes are interpolated between the
    measured counts and rounded up.

    Attributes
    ----------
    target, baseline_processes, processes : arrays (targets,)
    baseline_nodes, nodes : arrays (targets,)
        Infinite if no size is as fast, minus infinite if the smallest measured size is faster already.
    draws : four arrays (targets, scenarios, B)
        Draws of the baseline's nodes, its processes, the other interconnect's nodes, and its processes.
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
        """Find the clusters for every target speedup of a baseline."""
        targets = targets_of(baseline, settings)
        equivalent, equivalent_draws = equivalents_of(other, targets)
        draws = np.broadcast_arrays(
            _whole_nodes(baseline, targets.counts_draws, node),
            baseline.processes_at(targets.counts_draws),
            _whole_nodes(other, equivalent_draws, node),
            other.processes_at(equivalent_draws),
        )
        return cls(
            baseline,
            other,
            kind,
            targets.speedup,
            baseline.processes_at(targets.counts),
            other.processes_at(equivalent),
            _whole_nodes(baseline, targets.counts, node),
            _whole_nodes(other, equivalent, node),
            draws,
        )

    @property
    def sizes(self) -> Sequence[Floats]:
        """Point estimates in the order of `draws`: arrays (targets,)."""
        return self.baseline_nodes, self.baseline_processes, self.nodes, self.processes


def equal_speeds(
    pairs: Iterable[Pair], tariffs: Mapping[str, Tariff], node: NodePrice, settings: Settings
) -> list[EqualSpeed]:
    """Find clusters of equal speed for every pair of curves that both have a price.

    Parameters
    ----------
    pairs : iterable of Pair
        As `analysis.curves.curve_comparison.pairs` returns them.
    tariffs : mapping of interconnect to Tariff
    """
    return [
        EqualSpeed.of(baseline, other, kind, node, settings)
        for baseline, other, kind in pairs
        if {baseline.interconnect, other.interconnect} <= tariffs.keys() and other.uses_somewhere
    ]


def break_even_rows(
    equal: EqualSpeed, tariffs: Mapping[str, Tariff], node: NodePrice, settings: Settings
) -> pd.DataFrame:
    """Compute the price of a node at which an interconnect pays, for every node equivalent of a pair.

    Intervals combine the draws of the node equivalents with the range of both prices.

    Returns
    -------
    DataFrame
        Columns of table ``break_even``, except those about a lifetime.
    """
    # In names, _b belongs to the baseline and _e to the other interconnect, as in the formulas of `exchange`.
    nodes_b, nodes_e = equal.baseline_nodes, equal.nodes
    tariff_b, tariff_e = (tariffs[curve.interconnect] for curve in (equal.baseline, equal.other))
    price_b, price_e = tariff_b.at(nodes_b), tariff_e.at(nodes_e)
    point = exchange(nodes_b, price_b[0], nodes_e, price_e[0])
    below = (point.saved < 0) & (point.extra < 0)
    drawn = _drawn_exchange(tariff_b, equal.draws[0], tariff_e, equal.draws[2])
    low, high = interval_of_draws(threshold_of(drawn, below[:, None, None]), settings.level)
    saving = saving_at(point, node.price)
    savings = [saving_at(drawn, price) for price in sorted(set(node.prices))]
    saving_low, saving_high = interval_of_draws(np.concatenate(savings, axis=1), settings.level)
    decidable = ~np.isneginf(nodes_e) & ~np.isneginf(nodes_b) & ~np.isnan(saving)
    has_no_interval = np.isnan(saving_high) & ~np.isnan(saving)
    notes = [
        joined(
            tariff_b.note(n_b),
            tariff_e.note(n_e),
            _speed_note(n_b, n_e),
            "no interval" if without_interval else None,
        )
        for n_b, n_e, without_interval in zip(nodes_b, nodes_e, has_no_interval, strict=True)
    ]
    finite = np.isfinite(nodes_e)
    processes, equivalent = equal.baseline_processes, equal.processes
    threshold = np.where(decidable, threshold_of(point, below), np.nan)
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
            **with_ends("break_even_node_price", threshold, low, high),
            "pays": texts_where(decidable, direction_of(point)),
            "node_price": node.price,
            **with_ends("saving", np.where(np.isfinite(saving), saving, np.nan), saving_low, saving_high),
            "verdict": texts_where(decidable, verdict_on(saving, saving_low, saving_high)),
            "note": notes,
        }
    )


def _whole_nodes(curve: Curve, counts: Floats, node: NodePrice) -> Floats:
    """Return how many nodes counts of a curve need, interpolated between measured counts and rounded up.

    Below the smallest count, the number is 1 if the smallest count is on one node, else unknown. It is also
    unknown if this node does not use the interconnect, since the interconnect is then not measured.
    """
    measured = nodes_of(curve, node.cores)
    nodes = np.ceil(np.interp(counts, curve.counts, measured) - 1e-9)
    nodes = np.where(np.isinf(counts), counts, nodes)
    nodes = np.where(np.isneginf(nodes) & (measured[0] == 1) & curve.uses.all(), 1.0, nodes)
    return np.where(np.isnan(counts) | np.isnan(measured).any(), np.nan, nodes)


def _drawn_exchange(tariff_b: Tariff, nodes_b: Floats, tariff_e: Tariff, nodes_e: Floats) -> Exchange:
    """Return draws of an exchange at both extremes of the price ranges, arrays (targets, 2 × scenarios, B).

    One extreme takes the lowest price of the baseline and the highest price of the other interconnect.
    """
    _, low_b, high_b = tariff_b.at(nodes_b)
    _, low_e, high_e = tariff_e.at(nodes_e)
    ends = exchange(nodes_b, low_b, nodes_e, high_e), exchange(nodes_b, high_b, nodes_e, low_e)
    saved, extra = (np.concatenate(values, axis=1) for values in zip(*ends, strict=True))
    return Exchange(saved, extra)


def _speed_note(baseline_nodes: float, nodes: float) -> str | None:
    """Explain why there are no clusters of equal speed."""
    if np.isposinf(nodes):
        return "the speedup is not attained"
    if np.isposinf(baseline_nodes):
        return "the baseline does not attain the speedup"
    if np.isneginf(nodes) or np.isneginf(baseline_nodes):
        return "the speedup is reached below the smallest count measured"
    return None
