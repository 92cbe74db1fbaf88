"""Which interconnect, and how many nodes of it, to buy at a budget for a mix of cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.curves.compared import share_blocks, took_turns
from analysis.curves.curves import Curve, Reference
from analysis.curves.points import Sample, block_logs, roundings
from analysis.runs.frames import with_ends
from analysis.runs.kinds import ORDER, comparable_sets
from analysis.runs.runs import TableError
from analysis.runs.settings import Mix, NodePrice, Settings
from analysis.statistics import Floats
from analysis.statistics.best import (
    ALPHA,
    FEWEST,
    may_be_best,
    pairwise_differences,
    weighted,
    with_offsets,
    within_bands,
)
from analysis.topics.money.economics import Tariff, interval, joined, nodes_of, remark


class _Best(NamedTuple):
    """Log speedup on the best measured point of at most so many nodes.

    Attributes
    ----------
    draws : array (scenarios, B)
    samples : list of (float, float, Sample)
        By case, its weight, the log speedup that block times of 1 s would have, and its block times.
    """

    log_speedup: float
    draws: Floats
    samples: list[tuple[float, float, Sample]]


Option = tuple[str, str, int]
"""Kind, interconnect and number of nodes."""
ClusterColumns = Callable[[pd.DataFrame], pd.DataFrame]
"""Gives more columns of clusters that have an interconnect and a number of nodes."""


def purchase_rows(
    case_curves: Iterable[Sequence[Curve]],
    offered: Mapping[str, Tariff],
    node: NodePrice,
    mix: Mix,
    settings: Settings,
    more: ClusterColumns | None = None,
) -> pd.DataFrame:
    """Compare what can be bought, an interconnect with a number of nodes, by its mean speedup.

    mean_speedup is the weighted geometric mean of the cases' speedups, exp(sum w_i log S_i / sum w_i):
    the only mean whose order does not depend on the reference (Fleming and Wallace, How Not to Lie with
    Statistics, CACM 29, 1986). S_i is the highest speedup that case i was measured to have on at most n
    nodes, over all process counts, threads and oversubscription levels, one job at a time. Sizes are the
    numbers of nodes that were measured; none is interpolated.

    Parameters
    ----------
    case_curves : iterable of sequences of Curve
        All curves of each case.
    offered : mapping of interconnect to Tariff
    more : ClusterColumns, optional
        What gives the columns about a lifetime; needed for a limit of power.

    Returns
    -------
    DataFrame
        Columns of table ``purchase``; an option is there if every case of the mix was measured on it.
        `best` has the highest mean speedup of those within the budget, of equals the cheapest;
        `may_be_best` are all that may have it (`analysis.statistics.best`).

    Raises
    ------
    TableError
        If a case of the mix was not measured.
    """
    weighted = {curves[0].case: curves for curves in case_curves if curves and curves[0].case in mix.weights}
    missing = [case for case in mix.weights if case not in weighted]
    if missing:
        raise TableError(f"weights: case '{missing[0]}' was not measured", column="case")
    kinds = {curve.kind for curves in weighted.values() for curve in curves}
    tables = []
    for together in comparable_sets(kinds, settings.compare_kinds):
        best = _mean_speedups(weighted, together, node, mix, settings.scaling)
        options = {option: mean for option, mean in best.items() if option[1] in offered}
        sizes = pd.DataFrame(
            [(interconnect, nodes) for _, interconnect, nodes in options], columns=["interconnect", "nodes"]
        )
        running = None if more is None or not options else more(sizes)
        tables += [
            _at_budget(options, budget, mix.kilowatts, together, offered, node, settings, running)
            for budget in mix.budgets
        ]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _mean_speedups(
    weighted: Mapping[str, Sequence[Curve]], kinds: Sequence[str], node: NodePrice, mix: Mix, scaling: str
) -> dict[Option, _Best]:
    """Options on which every case was measured, with the weighted mean of their log speedups."""
    total = sum(mix.weights.values())
    found: list[dict[Option, _Best]] = []
    for curves in weighted.values():
        curves = sorted((curve for curve in curves if curve.kind in kinds), key=lambda c: ORDER.index(c.kind))
        found.append(_by_size(curves, node, scaling) if curves else {})
    shares = [mix.weights[case] / total for case in weighted]
    means = {}
    for kind, interconnect, nodes in sorted(set().union(*found)):
        bests = [_at_most(options, kind, interconnect, nodes) for options in found]
        if all(best is not None for best in bests):
            means[kind, interconnect, nodes] = _Best(
                sum(share * best.log_speedup for share, best in zip(shares, bests, strict=True)),
                sum(share * best.draws for share, best in zip(shares, bests, strict=True)),
                [
                    (share, of_a_second, sample)
                    for share, best in zip(shares, bests, strict=True)
                    for _, of_a_second, sample in best.samples
                ],
            )
    return means


def _by_size(curves: Sequence[Curve], node: NodePrice, scaling: str) -> dict[Option, _Best]:
    """Highest speedup of one case on each interconnect and number of nodes, to one common reference."""
    reference = curves[0].reference
    best: dict[Option, _Best] = {}
    for curve in curves:
        point, draws = _log_speedup(curve, reference, scaling)
        for number, nodes in enumerate(nodes_of(curve, node.cores)):
            if not np.isnan(nodes):
                option = (curve.kind, curve.interconnect, int(nodes))
                if option not in best or point[number] > best[option].log_speedup:
                    of_a_second = float(point[number] + np.log(curve.table["seconds"][number]))
                    samples = [(1.0, of_a_second, curve.samples[number])]
                    best[option] = _Best(float(point[number]), draws[number], samples)
    return best


def _log_speedup(curve: Curve, reference: Reference, scaling: str) -> tuple[Floats, Floats]:
    grown = (
        np.log(curve.table["cores"] / reference.cores)
        if scaling == "weak"
        else np.zeros(len(curve.processes))
    )
    point = np.log(reference.seconds / curve.table["seconds"]) + grown
    return point, np.log(reference.draws / curve.draws) + grown[:, None, None]


def _at_most(options: Mapping[Option, _Best], kind: str, interconnect: str, nodes: int) -> _Best | None:
    """The best of one case on at most so many nodes."""
    within = [best for (k, i, n), best in options.items() if (k, i) == (kind, interconnect) and n <= nodes]
    return max(within, key=lambda best: best.log_speedup, default=None)


def _at_budget(
    options: Mapping[Option, _Best],
    budget: float,
    kilowatts: float | None,
    kinds: Sequence[str],
    offered: Mapping[str, Tariff],
    node: NodePrice,
    settings: Settings,
    running: pd.DataFrame | None,
) -> pd.DataFrame:
    rows = []
    for (kind, interconnect, nodes), mean in options.items():
        price, low, high = offered[interconnect].clusters(nodes, node)
        speedup_ends = interval(np.exp(mean.draws), settings.level)
        rows.append(
            {
                "compared_kinds": "/".join(kinds),
                "budget": budget,
                "interconnect": interconnect,
                "kind": kind,
                "nodes": nodes,
                "currency": node.currency,
                **with_ends("cluster_price", price, low, high),
                "affordable": price <= budget,
                **with_ends("mean_speedup", np.exp(mean.log_speedup), *speedup_ends),
                "best": False,
                "may_be_best": pd.NA,
                "note": joined(
                    remark(interconnect, offered[interconnect], nodes),
                    "above the budget at the high end of the price" if price <= budget < high else None,
                ),
            }
        )
    table = pd.DataFrame(rows)
    if running is not None:
        table = pd.concat([table, running], axis=1).assign(kilowatts_limit=kilowatts)
    if rows and kilowatts is not None:
        table["affordable"] &= table["kilowatts"] <= kilowatts
        above = table["affordable"] & (table["kilowatts_high"] > kilowatts)
        table["note"] = table["note"].where(
            ~above,
            [joined(note, "above the kilowatts at the high end of the power") for note in table["note"]],
        )
    if rows and table["affordable"].any():
        within = np.flatnonzero(table["affordable"])
        order = np.lexsort(
            (table["cluster_price"].to_numpy()[within], -table["mean_speedup"].to_numpy()[within])
        )
        table.loc[within[order[0]], "best"] = True
        members = _may_be_best([list(options.items())[index] for index in within], table.loc[within])
        if members is not None:
            table["may_be_best"] = pd.array([pd.NA] * len(table), dtype="boolean")
            table.loc[within, "may_be_best"] = members
    return table


def _apart_in_time(options: Sequence[tuple[Option, _Best]], samples: Sequence[Sample]) -> bool:
    """Whether, on some number of nodes, all runs over one interconnect came before those over another."""
    found = [(nodes, sample) for ((*_, nodes), _), sample in zip(options, samples, strict=True)]
    return any(
        mine == theirs and took_turns(first, second, share_blocks(first, second)) is False
        for (mine, first), (theirs, second) in combinations(found, 2)
        if first.order_from or second.order_from
    )


def _may_be_best(options: Sequence[tuple[Option, _Best]], rows: pd.DataFrame) -> NDArray[np.bool_] | None:
    """Which options may have the highest mean speedup; None where that is not known."""
    if any(kind == "simulated" for (kind, *_), _ in options):
        low, high = (-np.log(rows[f"mean_speedup_{end}"].to_numpy(float)) for end in ("high", "low"))
        return None if np.isnan(low + high).any() else within_bands(low, high)
    of_cases = list(zip(*(best.samples for _, best in options), strict=True))
    if min(len(sample.blocks) for of_case in of_cases for *_, sample in of_case) < FEWEST:
        return None
    if any(_apart_in_time(options, [sample for *_, sample in of_case]) for of_case in of_cases):
        return None
    parts = [
        with_offsets(
            pairwise_differences(
                block_logs([sample for *_, sample in of_case])[1],
                roundings([sample for *_, sample in of_case]),
            ),
            np.array([gain for _, gain, _ in of_case]),
        )
        for of_case in of_cases
    ]
    weights = [of_case[0][0] for of_case in of_cases]
    return may_be_best(weighted(parts, weights), np.array(rows["best"].to_numpy(bool).argmax()), ALPHA)
