"""Whether an interconnect pays over the years of a cluster, and which of the inputs decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.curves.comparison import names_of_pair
from analysis.curves.curves import Curve
from analysis.runs.frames import with_ends
from analysis.runs.lifetime import Lifetime
from analysis.runs.settings import NodePrice, Settings
from analysis.statistics import Floats
from analysis.topics.money.break_even import EqualSpeed
from analysis.topics.money.economics import Tariff, interval
from analysis.topics.money.exchange import Exchange, direction_of, exchange, threshold_of, verdict_on
from analysis.topics.money.lifetime import Inputs, Running, span

RUNS = "runs"
"""Name among the inputs of what was measured: how many nodes are as fast."""
MEASURES = ("lifetime_saving", "break_even_nodes", "break_even_years", "break_even_energy_price")
AT_ONCE = 2**19
"""Sizes times corners that are worked out at once: all of them would fill the memory."""
PAIR = ["baseline_interconnect", "kind", "interconnect"]
"""Columns that tell one comparison from another over all cases."""
Sizes = tuple[Floats, Floats, Floats, Floats]
"""Nodes and licences of the baseline, and of the other interconnect, of one shape."""


def lifetime_break_even(
    equal: EqualSpeed,
    offered: Mapping[str, Tariff],
    node: NodePrice,
    lifetime: Lifetime,
    settings: Settings,
) -> pd.DataFrame:
    """What an interconnect saves over the years of an equally fast cluster, and where it pays.

    With L the whole cost, n nodes, Y years and e the price of energy, each alone between the two clusters:

    - in nodes: n_e L_b / L_e of the interconnect cost as much as the baseline's n_b;
    - in years: purchases differ by as much as the yearly costs have made up for;
    - in price of energy: (L_e - e kWh_e - L_b + e kWh_b) / (kWh_b - kWh_e).

    Intervals are those of the draws of the node equivalents, each at all corners of the ranges; without
    draws, those of the ranges alone.

    Returns
    -------
    DataFrame
        The columns about a lifetime of table ``break_even``, in the order of its rows.
    """
    inputs = _inputs(equal, offered, node, lifetime)
    both = _both(equal, inputs, inputs.corners())
    sizes = _licensed(equal, lifetime, equal.sizes)
    years, energy = map(_first, _traded(both, sizes)[1:])
    below = [(one.saved < 0) & (one.extra < 0) for one in (years, energy)]
    point = _measures(both, sizes, below)[..., 0]
    low, high = _ends(equal, both, lifetime, sizes, below, settings)
    known = ~np.isnan(point[0]) & ~np.isneginf(equal.nodes) & ~np.isneginf(equal.baseline_nodes)
    values = np.where(known & np.isfinite(point), point, np.nan)
    values[2:] = np.where(known, point[2:], np.nan)
    columns: dict[str, object] = {}
    for name, *ends in zip(MEASURES, values, low, high, strict=True):
        columns |= with_ends(name, *ends)
    columns |= {
        "lifetime_saving_percent": np.where(known, _percent(both, sizes)[..., 0], np.nan),
        "lifetime_verdict": np.where(known, verdict_on(point[0], low[0], high[0]), None),
        "pays_in_years": np.where(known, direction_of(years), None),
        "pays_at_energy_price": np.where(known, direction_of(energy), None),
    }
    if lifetime.node_loaded_watts is None:
        columns = {name: value for name, value in columns.items() if "energy" not in name}
    return pd.DataFrame(columns)


def tornado_rows(
    equal: EqualSpeed,
    offered: Mapping[str, Tariff],
    node: NodePrice,
    lifetime: Lifetime,
    settings: Settings,
) -> pd.DataFrame:
    """What each input alone does to the saving, at the baseline's highest speedup.

    Returns
    -------
    DataFrame
        Columns of table ``tornado``, one row an input that has a range, and one for the runs if they have an
        interval in which both are as fast; none where one of the two is not.
    """
    highest = [int(np.argmax(equal.target))]
    inputs = _inputs(equal, offered, node, lifetime)
    sizes = _licensed(equal, lifetime, [one[highest] for one in equal.sizes])
    saved, *others = _percent(_both(equal, inputs, inputs.alone()), sizes)[0]
    if not np.isfinite(saved):
        return pd.DataFrame()
    swings = [
        (name, *inputs.ends[name], *ends)
        for name, *ends in zip(inputs.ranged, *_in_twos(others), strict=True)
    ]
    centre = _both(equal, inputs, {name: np.zeros(1, np.int64) for name in inputs.ends})
    draws = _licensed(equal, lifetime, [one[highest] for one in equal.draws])
    if not any(np.isnan(one).any() for one in draws):
        drawn = _over_draws(lambda some: _percent(centre, some)[None], draws, 1)[0]
        ends = [float(end[0]) for end in interval(drawn, settings.level)]
        swings += [(RUNS, np.nan, np.nan, np.nan, *ends)] if np.isfinite(ends).all() else []
    names = ["input", "value", "value_low", "value_high", "percent_at_low", "percent_at_high"]
    rows = pd.DataFrame(swings, columns=names)
    of_price = rows["input"].str.endswith(": price")
    rows.loc[of_price, ["value", "value_low", "value_high"]] = np.nan
    ends = rows[["percent_at_low", "percent_at_high"]]
    return rows.assign(
        **names_of_pair(equal.baseline, equal.other, equal.kind),
        target_speedup=equal.target[highest[0]],
        lifetime_saving_percent=saved,
        decides=(ends.min(axis=1) < 0) & (ends.max(axis=1) > 0),
    )


def mean_saving(percents: pd.Series) -> float:
    """Geometric mean over cases of what is paid instead, as a saving in percent of the baseline's cost."""
    return float(-100 * np.expm1(np.log1p(-percents / 100).mean()))


def mean_tornado(tornado: pd.DataFrame) -> pd.DataFrame:
    """Mean over cases (`mean_saving`) of what each input does to the saving, at the lowest oversubscription.

    Returns
    -------
    DataFrame
        `PAIR`, ``input``, the three columns in percent, ``decides`` of the means, and ``cases``; of each pair
        the input that moves it most first.
    """
    lowest = tornado[
        tornado["oversubscription"] == tornado.groupby("case")["oversubscription"].transform("min")
    ]
    percents = ["lifetime_saving_percent", "percent_at_low", "percent_at_high"]
    grouped = lowest.groupby([*PAIR, "input"], sort=False)
    means = grouped[percents].agg(mean_saving).join(grouped["case"].nunique().rename("cases")).reset_index()
    of_all = means["cases"] == means.groupby(PAIR)["cases"].transform("max")
    means = means[of_all]  # an interval that only some cases have says nothing beside means of all
    ends = means[percents[1:]]
    means = means.assign(
        swing=(ends["percent_at_high"] - ends["percent_at_low"]).abs(),
        decides=(ends.min(axis=1) < 0) & (ends.max(axis=1) > 0),
        pair=means.groupby(PAIR, sort=False).ngroup(),
    )
    return means.sort_values(["pair", "swing"], ascending=[True, False], ignore_index=True)


def _in_twos(values: list[float]) -> tuple[list[float], list[float]]:
    return values[::2], values[1::2]


def _inputs(equal: EqualSpeed, offered: Mapping[str, Tariff], node: NodePrice, lifetime: Lifetime) -> Inputs:
    names = list(dict.fromkeys(curve.interconnect for curve in (equal.baseline, equal.other)))
    return Inputs.of(replace(lifetime, CO2_kg_per_kWh=None), node, offered, names)  # of no account to money


def _both(equal: EqualSpeed, inputs: Inputs, index: Mapping[str, np.ndarray]) -> tuple[Running, Running]:
    running = inputs.at(index)
    return running[equal.baseline.interconnect], running[equal.other.interconnect]


def _licensed(equal: EqualSpeed, lifetime: Lifetime, sizes: Sequence[Floats]) -> Sizes:
    """Nodes and licences, from nodes and processes as `EqualSpeed` has them."""
    baseline_nodes, baseline_processes, nodes, processes = sizes
    return (
        baseline_nodes,
        _licences(equal.baseline, lifetime, baseline_processes),
        nodes,
        _licences(equal.other, lifetime, processes),
    )


def _licences(curve: Curve, lifetime: Lifetime, processes: Floats) -> Floats:
    whole = np.ceil(np.where(np.isneginf(processes), curve.processes[0], processes) - 1e-9)
    return lifetime.licences(whole, np.ceil(whole * curve.threads / curve.oversubscription))


def _decided(sizes: Sizes, traded: Exchange) -> Exchange:
    """Infinite where only one of the two is as fast: see `exchange`."""
    speed = exchange(sizes[0], 0.0, sizes[2], 0.0).saved[..., None]
    decided = np.isinf(speed)
    return Exchange(np.where(decided, speed, traded.saved), np.where(decided, -speed, traded.extra))


def _traded(both: tuple[Running, Running], sizes: Sizes) -> tuple[Floats, Exchange, Exchange]:
    """What is saved in all; what a year saves against the dearer purchase; which energy, against all else.

    Each part is taken from its like: what both pay alike leaves 0, not what rounding leaves of sums.
    """
    (baseline, other), (n_b, l_b, n_e, l_e) = both, sizes
    with np.errstate(invalid="ignore"):
        paid, instead = baseline.parts(n_b, l_b), other.parts(n_e, l_e)
        less = {part: paid[part] - instead[part] for part in paid}
        extra, rest = 0.0 - less["purchase"], less["maintenance"] + less["licences"]
        trades = (
            Exchange(sum(less.values()), extra),
            Exchange((less["energy"] + rest) / baseline.years, extra),
            Exchange(baseline.energy_of(n_b) - other.energy_of(n_e), extra - rest),
        )
    saving, years, energy = (_decided(sizes, one) for one in trades)
    return saving.saved, years, energy


def _costs(both: tuple[Running, Running], sizes: Sizes) -> tuple[Floats, Floats]:
    (baseline, other), (n_b, l_b, n_e, l_e) = both, sizes
    with np.errstate(invalid="ignore"):
        return baseline.cost(n_b, l_b), other.cost(n_e, l_e)


def _percent(both: tuple[Running, Running], sizes: Sizes) -> Floats:
    """Saving in percent of what the baseline costs, (..., choices); NaN where one is not as fast."""
    paid, instead = _costs(both, sizes)
    with np.errstate(invalid="ignore"):
        percent = 100 * (1 - instead / paid)
    return np.where(np.isfinite(paid) & np.isfinite(instead), percent, np.nan)


def _measures(both: tuple[Running, Running], sizes: Sizes, below: list[Floats]) -> Floats:
    """`MEASURES` of clusters (...) at all choices of the inputs, array (measures, ..., choices)."""
    paid, instead = _costs(both, sizes)
    with np.errstate(invalid="ignore"):
        nodes = sizes[2][..., None] * paid / instead
    saving, *traded = _traded(both, sizes)
    thresholds = [threshold_of(one, under[..., None]) for one, under in zip(traded, below, strict=True)]
    return np.stack([saving, nodes, *thresholds])


def _first(traded: Exchange) -> Exchange:
    return Exchange(traded.saved[..., 0], traded.extra[..., 0])


def _ends(
    equal: EqualSpeed,
    both: tuple[Running, Running],
    lifetime: Lifetime,
    sizes: Sizes,
    below: list[Floats],
    settings: Settings,
) -> tuple[Floats, Floats]:
    """Intervals of `MEASURES`, (measures, targets) each; where nothing was drawn, the ranges."""
    low, high = span(_measures(both, sizes, below))
    for number in range(len(equal.target)):
        draws = _licensed(equal, lifetime, [one[number] for one in equal.draws])
        if not any(np.isnan(one).any() for one in draws):
            under = [np.asarray(one[number]) for one in below]
            choices = len(both[0].years)
            drawn = _over_draws(lambda some, under=under: _measures(both, some, under), draws, choices)
            low[:, number], high[:, number] = interval(drawn, settings.level)
    return low, high


def _over_draws(measure: Callable[[Sizes], Floats], draws: Sizes, choices: int) -> Floats:
    """Least and most of each measure over all choices of the inputs, for every draw.

    Nodes are whole, so most draws are alike: each size is worked out once.

    Parameters
    ----------
    measure : function of `Sizes` (n,), to an array (measures, n, choices)
    draws : Sizes (..., scenarios, B)

    Returns
    -------
    array (measures, ..., 2 × scenarios, B)
    """
    shape = draws[0].shape
    each, where = np.unique(np.stack([one.ravel() for one in draws]), axis=1, return_inverse=True)
    parts = np.array_split(each, -(-each.shape[1] * choices // AT_ONCE), axis=1)
    found = [(values.min(axis=-1), values.max(axis=-1)) for values in map(measure, map(tuple, parts))]
    least, most = (np.concatenate(ends, axis=1) for ends in zip(*found, strict=True))
    return np.concatenate([end[:, where.ravel()].reshape(-1, *shape) for end in (least, most)], axis=-2)
