"""Whether an interconnect pays over the years of a cluster, and which input decides."""

from __future__ import annotations

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
"""Name of the measured times among the inputs; they determine how many nodes are as fast."""
MEASURES = ("lifetime_saving", "break_even_nodes", "break_even_years", "break_even_energy_price")
SIMULTANEOUS_INTERVAL = 2**19
"""Sizes × choices that `_extremes` computes at once; all of them would fill the memory."""
PAIR = ["baseline_interconnect", "kind", "interconnect"]
"""Columns that identify a comparison over all cases."""


class Sizes(NamedTuple):
    """Nodes and licences of the baseline and of the other interconnect, arrays of one shape."""

    baseline_nodes: Floats
    baseline_licences: Floats
    nodes: Floats
    licences: Floats


class PairCosts(NamedTuple):
    """Costs of clusters with the baseline and with the other interconnect, at some choices of the inputs."""

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
        """Return the saving in percent of the baseline's cost, (..., choices); NaN if one is not as fast."""
        paid, instead = self.totals(sizes)
        with np.errstate(invalid="ignore"):
            percent = 100 * (1 - instead / paid)
        return np.where(np.isfinite(paid) & np.isfinite(instead), percent, np.nan)

    def trades(self, sizes: Sizes) -> tuple[Floats, Exchange, Exchange]:
        """Return the total saving, the trade of yearly costs and the trade of energy, each (..., choices).

        The second trades the savings per year against the dearer purchase, the third the saved energy against
        all other payments. Payments are subtracted part by part, so that equal parts leave exactly 0.
        """
        with np.errstate(invalid="ignore"):
            paid = self.baseline.parts(sizes.baseline_nodes, sizes.baseline_licences)
            instead = self.other.parts(sizes.nodes, sizes.licences)
            less = {part: paid[part] - instead[part] for part in paid}
            extra, rest = 0.0 - less["purchase"], less["maintenance"] + less["licences"]
            energy = self.baseline.energy_of(sizes.baseline_nodes) - self.other.energy_of(sizes.nodes)
            total = Exchange(np.sum([*less.values()], axis=0), extra)
            yearly = Exchange((less["energy"] + rest) / self.baseline.years, extra)
            of_energy = Exchange(energy, extra - rest)
        # Infinite if only one of the two is as fast, as `exchange` returns it.
        speed = exchange(sizes.baseline_nodes, 0.0, sizes.nodes, 0.0).saved[..., None]
        one_is_slower = np.isinf(speed)

        def decided(trade: Exchange) -> Exchange:
            return Exchange(
                np.where(one_is_slower, speed, trade.saved), np.where(one_is_slower, -speed, trade.extra)
            )

        return decided(total).saved, decided(yearly), decided(of_energy)

    def measures(self, sizes: Sizes, below: Sequence[Flags]) -> Floats:
        """Return `MEASURES` of clusters (...), array (measures, ..., choices)."""
        paid, instead = self.totals(sizes)
        with np.errstate(invalid="ignore"):
            nodes = sizes.nodes[..., None] * paid / instead
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
    """Compute the saving of an interconnect over the years of an equally fast cluster, and where it pays.

    With the total cost L, n nodes and the price of energy e, each break-even changes one quantity:

    - nodes: n_e L_b / L_e nodes with the interconnect cost as much as the baseline's n_b;
    - years: the difference of the purchases over the difference of the yearly costs;
    - price of energy: (L_e - e kWh_e - L_b + e kWh_b) / (kWh_b - kWh_e).

    Intervals combine the draws of the node equivalents with all corners of the ranges. Without draws they are
    the ranges alone.

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
        Columns of table ``tornado``. It has one row per input that has a range, and one row for the runs if
        they have an interval in which both interconnects are as fast. It is empty if one interconnect is not
        as fast.
    """
    highest = [int(np.argmax(equal.target))]
    inputs = _inputs(equal, tariffs, node, lifetime)
    sizes = _with_licences(equal, lifetime, [values[highest] for values in equal.sizes])
    saved, *swings = _pair_costs(equal, inputs, inputs.one_at_a_time()).percent_saved(sizes)[0]
    if not np.isfinite(saved):
        return pd.DataFrame()
    rows = [
        (name, *inputs.ends[name], at_low, at_high)
        for name, at_low, at_high in zip(inputs.ranged, swings[::2], swings[1::2], strict=True)
    ]
    centre = _pair_costs(equal, inputs, {name: np.zeros(1, np.int64) for name in inputs.ends})
    draws = _with_licences(equal, lifetime, [values[highest] for values in equal.draws])
    if not any(np.isnan(values).any() for values in draws):
        drawn = _extremes(lambda drawn_sizes: centre.percent_saved(drawn_sizes)[None], draws, 1)[0]
        of_runs = [float(end[0]) for end in interval_of_draws(drawn, settings.level)]
        if np.isfinite(of_runs).all():
            rows.append((RUNS, np.nan, np.nan, np.nan, *of_runs))
    names = ["input", "value", "value_low", "value_high", "percent_at_low", "percent_at_high"]
    table = pd.DataFrame(rows, columns=names)
    table.loc[table["input"].str.endswith(": price"), ["value", "value_low", "value_high"]] = np.nan
    names_by_column = pd.DataFrame([names_of_pair(equal.baseline, equal.other, equal.kind)])
    table = names_by_column.merge(table, how="cross")
    return table.assign(
        target_speedup=equal.target[highest[0]],
        lifetime_saving_percent=saved,
        decides=_changes_sign(table),
    )


def mean_saving(percents: pd.Series) -> float:
    """Return the geometric mean over cases of the cost ratio, as a saving in percent."""
    return float(-100 * np.expm1(np.log1p(-percents / 100).mean()))


def mean_tornado(tornado: pd.DataFrame) -> pd.DataFrame:
    """Average the effect of each input over the cases (`mean_saving`), at the lowest oversubscription.

    Returns
    -------
    DataFrame
        `PAIR`, ``input``, the three columns in percent, ``decides`` of the means, and ``cases``. The input
        with the largest effect is first in each pair.
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
    """Return intervals of `MEASURES`, two arrays (measures, targets); without draws, the ranges."""
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
    flat = np.stack([values.ravel() for values in draws])
    distinct, position = np.unique(flat, axis=1, return_inverse=True)
    parts = np.array_split(distinct, -(-distinct.shape[1] * choices // SIMULTANEOUS_INTERVAL), axis=1)
    ends = [
        (values.min(axis=-1), values.max(axis=-1)) for values in (measure(Sizes(*part)) for part in parts)
    ]
    low, high = (np.concatenate(values, axis=1) for values in zip(*ends, strict=True))
    return np.concatenate([end[:, position.ravel()].reshape(-1, *shape) for end in (low, high)], axis=-2)
