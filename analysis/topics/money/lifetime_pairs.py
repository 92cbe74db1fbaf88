"""Whether an interconnect pays over the years of a cluster, and which input decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.curves.curve_comparison import names_of_pair
from analysis.curves.curves import Curve
from analysis.runs.frames import with_ends
from analysis.runs.lifetime import Lifetime
from analysis.runs.settings import NodePrice, Settings
from analysis.statistics import Flags, Floats, Integers
from analysis.topics.money.break_even import EqualSpeed
from analysis.topics.money.exchange import (
    Exchange,
    direction_of,
    exchange,
    texts_where,
    threshold_of,
    verdict_on,
)
from analysis.topics.money.lifetime import ClusterCosts, Inputs, span
from analysis.topics.money.market import Tariff, interval_of_draws

RUNS = "runs"
"""Name of the measured times among the inputs; they determine the clusters of equal speed."""
MEASURES = ("lifetime_saving", "break_even_nodes", "break_even_years", "break_even_energy_price")
LARGEST_BATCH = 2**19
"""Most sizes × choices that `_extremes` computes at once; all of them would fill the memory."""
PAIR = ["baseline_interconnect", "kind", "interconnect"]
"""Columns that identify a comparison over all cases."""


class Sizes(NamedTuple):
    """Nodes and licences of the baseline and of the other interconnect, arrays of one shape."""

    baseline_nodes: Floats
    baseline_licences: Floats
    nodes: Floats
    licences: Floats


class PairCosts(NamedTuple):
    """Costs of clusters with each of two interconnects, for several choices of the inputs."""

    baseline: ClusterCosts
    other: ClusterCosts

    def totals(self, sizes: Sizes) -> tuple[Floats, Floats]:
        """Return all payments for the baseline and for the other interconnect, (..., choices)."""
        with np.errstate(invalid="ignore"):
            return (
                self.baseline.total(sizes.baseline_nodes, sizes.baseline_licences),
                self.other.total(sizes.nodes, sizes.licences),
            )

    def percent_saved(self, sizes: Sizes) -> Floats:
        """Return the saving in percent of the baseline's cost, (..., choices).

        NaN if either interconnect does not reach the speed.
        """
        baseline_cost, cost = self.totals(sizes)
        with np.errstate(invalid="ignore"):
            percent = 100 * (1 - cost / baseline_cost)
        return np.where(np.isfinite(baseline_cost) & np.isfinite(cost), percent, np.nan)

    def trades(self, sizes: Sizes) -> tuple[Floats, Exchange, Exchange]:
        """Return the total saving, and two exchanges, each (..., choices).

        The first exchange sets savings per year against the extra price of the purchase. The second exchange
        sets saved energy against all other extra payments. Payments are subtracted part by part, so that
        equal parts leave exactly 0.
        """
        with np.errstate(invalid="ignore"):
            baseline_parts = self.baseline.parts(sizes.baseline_nodes, sizes.baseline_licences)
            parts = self.other.parts(sizes.nodes, sizes.licences)
            saved = {part: baseline_parts[part] - parts[part] for part in parts}
            extra_purchase, other_saved = 0.0 - saved["purchase"], saved["maintenance"] + saved["licences"]
            energy = self.baseline.energy_of(sizes.baseline_nodes) - self.other.energy_of(sizes.nodes)
            total = Exchange(np.sum([*saved.values()], axis=0), extra_purchase)
            yearly = Exchange((saved["energy"] + other_saved) / self.baseline.years, extra_purchase)
            of_energy = Exchange(energy, extra_purchase - other_saved)
        # Infinite if only one interconnect reaches the speed, as `exchange` returns it.
        nodes_saved = exchange(sizes.baseline_nodes, 0.0, sizes.nodes, 0.0).saved[..., None]
        one_is_slower = np.isinf(nodes_saved)

        def decided(trade: Exchange) -> Exchange:
            return Exchange(
                np.where(one_is_slower, nodes_saved, trade.saved),
                np.where(one_is_slower, -nodes_saved, trade.extra),
            )

        return decided(total).saved, decided(yearly), decided(of_energy)

    def measures(self, sizes: Sizes, below: Sequence[Flags]) -> Floats:
        """Return `MEASURES` of clusters (...), array (measures, ..., choices).

        Parameters
        ----------
        below : two arrays (...)
            Whether the interconnect pays below the number of years, and below the price of energy.
        """
        baseline_cost, cost = self.totals(sizes)
        with np.errstate(invalid="ignore"):
            nodes = sizes.nodes[..., None] * baseline_cost / cost
        saving, *trades = self.trades(sizes)
        thresholds = [
            threshold_of(trade, flags[..., None]) for trade, flags in zip(trades, below, strict=True)
        ]
        return np.stack([saving, nodes, *thresholds])


def lifetime_break_even(
    equal: EqualSpeed,
    tariffs: Mapping[str, Tariff],
    node: NodePrice,
    lifetime: Lifetime,
    settings: Settings,
) -> pd.DataFrame:
    """Compute the saving of an interconnect over the years of a cluster of equal speed, and its break-evens.

    L is the total cost, n the number of nodes, and e the price of energy; _b belongs to the baseline and _e
    to the other interconnect. Each break-even changes one quantity:

    - nodes: n_e L_b / L_e nodes with the interconnect cost as much as the baseline's n_b;
    - years: the difference of the purchases over the difference of the yearly costs;
    - price of energy: (L_e - e kWh_e - L_b + e kWh_b) / (kWh_b - kWh_e).

    Intervals combine the draws of the node equivalents with all corners of the ranges. Without draws, they
    cover the ranges only.

    Returns
    -------
    DataFrame
        The columns about a lifetime of table ``break_even``, in the order of its rows.
    """
    inputs = _inputs(equal, tariffs, node, lifetime)
    costs = _pair_costs(equal, inputs, inputs.corners())
    sizes = _with_licences(equal, lifetime, equal.sizes)
    years, energy = (Exchange(trade.saved[..., 0], trade.extra[..., 0]) for trade in costs.trades(sizes)[1:])
    below = [(trade.saved < 0) & (trade.extra < 0) for trade in (years, energy)]
    point = costs.measures(sizes, below)[..., 0]
    low, high = _intervals(equal, costs, lifetime, sizes, below, settings)
    decidable = ~np.isnan(point[0]) & ~np.isneginf(equal.nodes) & ~np.isneginf(equal.baseline_nodes)
    values = np.where(decidable & np.isfinite(point), point, np.nan)
    values[2:] = np.where(decidable, point[2:], np.nan)
    columns: dict[str, object] = {}
    for name, *ends in zip(MEASURES, values, low, high, strict=True):
        columns |= with_ends(name, *ends)
    percent = costs.percent_saved(sizes)[..., 0]
    columns |= {
        "lifetime_saving_percent": np.where(decidable, percent, np.nan),
        "lifetime_verdict": texts_where(decidable, verdict_on(point[0], low[0], high[0])),
        "pays_in_years": texts_where(decidable, direction_of(years)),
        "pays_at_energy_price": texts_where(decidable, direction_of(energy)),
    }
    if lifetime.node_loaded_watts is None:
        columns = {name: value for name, value in columns.items() if "energy" not in name}
    return pd.DataFrame(columns)


def tornado_rows(
    equal: EqualSpeed,
    tariffs: Mapping[str, Tariff],
    node: NodePrice,
    lifetime: Lifetime,
    settings: Settings,
) -> pd.DataFrame:
    """Compute the effect of each input on the saving, at the baseline's highest speedup.

    Returns
    -------
    DataFrame
        Columns of table ``tornado``, with one row per input that has a range. A further row is about the
        runs, if both interconnects reach the speed in the whole interval of the runs. The table is empty if
        an interconnect does not reach the speed.
    """
    highest = [int(np.argmax(equal.target))]
    inputs = _inputs(equal, tariffs, node, lifetime)
    sizes = _with_licences(equal, lifetime, [values[highest] for values in equal.sizes])
    # The first choice has all inputs at their values. Two choices follow for each input that has a range.
    saved, *at_ends = _pair_costs(equal, inputs, inputs.one_at_a_time()).percent_saved(sizes)[0]
    if not np.isfinite(saved):
        return pd.DataFrame()
    rows = [
        (name, *inputs.ends[name], at_low, at_high)
        for name, at_low, at_high in zip(inputs.ranged, at_ends[::2], at_ends[1::2], strict=True)
    ]
    costs_at_values = _pair_costs(equal, inputs, {name: np.zeros(1, np.int64) for name in inputs.ends})
    draws = _with_licences(equal, lifetime, [values[highest] for values in equal.draws])
    if not any(np.isnan(values).any() for values in draws):
        drawn = _extremes(lambda drawn_sizes: costs_at_values.percent_saved(drawn_sizes)[None], draws, 1)[0]
        interval_of_runs = [float(end[0]) for end in interval_of_draws(drawn, settings.level)]
        if np.isfinite(interval_of_runs).all():
            rows.append((RUNS, np.nan, np.nan, np.nan, *interval_of_runs))
    columns = ["input", "value", "value_low", "value_high", "percent_at_low", "percent_at_high"]
    table = pd.DataFrame(rows, columns=columns)
    is_price = table["input"].str.endswith(": price")  # it depends on the number of nodes
    table.loc[is_price, ["value", "value_low", "value_high"]] = np.nan
    names = pd.DataFrame([names_of_pair(equal.baseline, equal.other, equal.kind)])
    table = names.merge(table, how="cross")
    return table.assign(
        target_speedup=equal.target[highest[0]],
        lifetime_saving_percent=saved,
        decides=_changes_sign(table),
    )


def mean_saving(percents: pd.Series) -> float:
    """Return the mean saving over cases in percent: the geometric mean of the cost ratios, as a saving."""
    return float(-100 * np.expm1(np.log1p(-percents / 100).mean()))


def mean_tornado(tornado: pd.DataFrame) -> pd.DataFrame:
    """Average the effect of each input over the cases (`mean_saving`), at the lowest oversubscription.

    Returns
    -------
    DataFrame
        Columns `PAIR`, ``input``, the means of the three columns in percent, ``decides`` by these means, and
        ``cases``, the number of cases. In each pair, inputs are sorted by their effect, the largest first.
    """
    lowest = tornado[
        tornado["oversubscription"] == tornado.groupby("case")["oversubscription"].transform("min")
    ]
    percents = ["lifetime_saving_percent", "percent_at_low", "percent_at_high"]
    grouped = lowest.groupby([*PAIR, "input"], sort=False)
    means = grouped[percents].agg(mean_saving).join(grouped["case"].nunique().rename("cases")).reset_index()
    # An interval that only some cases have is not comparable with means of all cases.
    means = means[means["cases"] == means.groupby(PAIR)["cases"].transform("max")]
    means = means.assign(
        swing=(means["percent_at_high"] - means["percent_at_low"]).abs(),
        decides=_changes_sign(means),
        pair=means.groupby(PAIR, sort=False).ngroup(),
    )
    return means.sort_values(["pair", "swing"], ascending=[True, False], ignore_index=True)


def _changes_sign(table: pd.DataFrame) -> pd.Series:
    """Return whether each input turns a saving into a loss within its range."""
    ends = table[["percent_at_low", "percent_at_high"]]
    return (ends.min(axis=1) < 0) & (ends.max(axis=1) > 0)


def _inputs(equal: EqualSpeed, tariffs: Mapping[str, Tariff], node: NodePrice, lifetime: Lifetime) -> Inputs:
    """Gather the inputs of both interconnects, without CO₂, which costs nothing."""
    names = list(dict.fromkeys(curve.interconnect for curve in (equal.baseline, equal.other)))
    return Inputs.of(replace(lifetime, CO2_kg_per_kWh=None), node, tariffs, names)


def _pair_costs(equal: EqualSpeed, inputs: Inputs, index: Mapping[str, Integers]) -> PairCosts:
    costs = inputs.at(index)
    return PairCosts(costs[equal.baseline.interconnect], costs[equal.other.interconnect])


def _with_licences(equal: EqualSpeed, lifetime: Lifetime, sizes: Sequence[Floats]) -> Sizes:
    """Return nodes and licences, from nodes and processes in the order of `EqualSpeed.sizes`."""
    baseline_nodes, baseline_processes, nodes, processes = sizes
    return Sizes(
        baseline_nodes,
        _licences(equal.baseline, lifetime, baseline_processes),
        nodes,
        _licences(equal.other, lifetime, processes),
    )


def _licences(curve: Curve, lifetime: Lifetime, processes: Floats) -> Floats:
    whole = np.ceil(np.where(np.isneginf(processes), curve.processes[0], processes) - 1e-9)
    return lifetime.licences(whole, np.ceil(whole * curve.threads / curve.oversubscription))


def _intervals(
    equal: EqualSpeed,
    costs: PairCosts,
    lifetime: Lifetime,
    sizes: Sizes,
    below: Sequence[Flags],
    settings: Settings,
) -> tuple[Floats, Floats]:
    """Return both ends of the intervals of `MEASURES`, arrays (measures, targets).

    Without draws of a target, the interval covers the ranges of the inputs only.
    """
    low, high = span(costs.measures(sizes, below))
    for target in range(len(equal.target)):
        draws = _with_licences(equal, lifetime, [values[target] for values in equal.draws])
        if any(np.isnan(values).any() for values in draws):
            continue
        flags = [np.asarray(values[target]) for values in below]

        def measures(drawn_sizes: Sizes, flags: Sequence[Flags] = flags) -> Floats:
            return costs.measures(drawn_sizes, flags)

        drawn = _extremes(measures, draws, len(costs.baseline.years))
        low[:, target], high[:, target] = interval_of_draws(drawn, settings.level)
    return low, high


def _extremes(measure: Callable[[Sizes], Floats], draws: Sizes, choices: int) -> Floats:
    """Return minimum and maximum of each measure over all choices of the inputs, for every draw.

    Nodes are whole numbers, so most draws are equal. Each distinct size is computed only once.

    Parameters
    ----------
    measure : function of `Sizes` (n,)
        Returns an array (measures, n, choices).
    draws : Sizes (..., scenarios, B)

    Returns
    -------
    array (measures, ..., 2 × scenarios, B)
    """
    shape = draws.nodes.shape
    all_sizes = np.stack([values.ravel() for values in draws])
    distinct, position = np.unique(all_sizes, axis=1, return_inverse=True)
    batches = math.ceil(distinct.shape[1] * choices / LARGEST_BATCH)
    lows, highs = [], []
    for batch in np.array_split(distinct, batches, axis=1):
        values = measure(Sizes(*batch))
        lows.append(values.min(axis=-1))
        highs.append(values.max(axis=-1))
    extremes = [np.concatenate(ends, axis=1)[:, position.ravel()] for ends in (lows, highs)]
    return np.concatenate([end.reshape(-1, *shape) for end in extremes], axis=-2)
