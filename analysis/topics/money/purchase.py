"""The best purchase for a mix of cases within a budget: an interconnect and a number of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.curves.curves import Curve, Reference
from analysis.curves.point_comparison import share_blocks, took_turns
from analysis.curves.points import Sample, block_logs, roundings
from analysis.runs.frames import with_ends
from analysis.runs.kinds import ORDER, comparable_sets
from analysis.runs.lifetime import Lifetime
from analysis.runs.runs import TableError
from analysis.runs.settings import Mix, NodePrice, Settings
from analysis.statistics import Flags, Floats
from analysis.statistics.best import (
    ALPHA,
    FEWEST,
    may_be_best,
    pairwise_differences,
    weighted,
    with_offsets,
    within_bands,
)
from analysis.topics.money.lifetime import cost_columns
from analysis.topics.money.market import Tariff, interval_of_draws, joined, nodes_of


class Option(NamedTuple):
    """A cluster that may be bought: an interconnect with a number of nodes, and the kind of its runs."""

    kind: str
    interconnect: str
    nodes: int


class BestPoint(NamedTuple):
    """The fastest measured point of a case on an option.

    Attributes
    ----------
    log_speedup : float
    draws : array (scenarios, B)
        Draws of the log speedup.
    offset : float
        Log speedup of a run of 1 s, so that log speedup = offset - log time.
    sample : Sample
        Block times of the point.
    """

    log_speedup: float
    draws: Floats
    offset: float
    sample: Sample


class MeanSpeedup(NamedTuple):
    """Weighted mean of the log speedups of all cases on an option.

    Attributes
    ----------
    log_speedup : float
    draws : array (scenarios, B)
    points : list of BestPoint
        The best point of each case.
    """

    log_speedup: float
    draws: Floats
    points: list[BestPoint]


def purchase_rows(
    curves_by_case: Iterable[Sequence[Curve]],
    tariffs: Mapping[str, Tariff],
    node: NodePrice,
    mix: Mix,
    settings: Settings,
    lifetime: Lifetime | None = None,
) -> pd.DataFrame:
    """Compare options, each an interconnect with a number of nodes n, by their mean speedup.

    mean_speedup is the weighted geometric mean of the cases' speedups, exp(sum w_i log S_i / sum w_i). Only
    with this mean, the order of the options does not depend on the reference (Fleming and Wallace, How Not to
    Lie with Statistics, CACM 29, 1986). S_i is the highest measured speedup of case i on at most n nodes,
    over all process counts, threads and oversubscription levels, one job at a time. Only measured numbers of
    nodes are options; there is no interpolation.

    Parameters
    ----------
    curves_by_case : iterable of sequences of Curve
        All curves of each case.
    tariffs : mapping of interconnect to Tariff
    lifetime : Lifetime, optional
        Adds the costs over a lifetime; needed if the mix limits the power.

    Returns
    -------
    DataFrame
        Columns of table ``purchase``, one row per budget and option on which every case of the mix was
        measured. `best` has the highest mean speedup within the budget; among equals it is the cheapest.
        `may_be_best` marks all options that may have the highest mean (`analysis.statistics.best`).

    Raises
    ------
    TableError
        If a case of the mix was not measured.
    """
    mix_curves = {
        curves[0].case: curves for curves in curves_by_case if curves and curves[0].case in mix.weights
    }
    missing = [case for case in mix.weights if case not in mix_curves]
    if missing:
        raise TableError(f"weights: case '{missing[0]}' was not measured", column="case")
    shares = [mix.weights[case] / sum(mix.weights.values()) for case in mix_curves]
    kinds = {curve.kind for curves in mix_curves.values() for curve in curves}
    tables = []
    for compared_kinds in comparable_sets(kinds, settings.compare_kinds):
        best_points = [
            _best_points([curve for curve in curves if curve.kind in compared_kinds], node, settings.scaling)
            for curves in mix_curves.values()
        ]
        means = {
            option: mean
            for option, mean in _mean_speedups(best_points, shares).items()
            if option.interconnect in tariffs
        }
        if not means:
            continue
        clusters = _clusters(means, tariffs, node, settings)
        if lifetime is not None:
            clusters = pd.concat([clusters, cost_columns(lifetime, node, tariffs, clusters)], axis=1)
            clusters["kilowatts_limit"] = mix.kilowatts
        clusters["compared_kinds"] = "/".join(compared_kinds)
        tables += [_at_budget(clusters, means, shares, budget, mix.kilowatts) for budget in mix.budgets]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _best_points(curves: Sequence[Curve], node: NodePrice, scaling: str) -> dict[Option, BestPoint]:
    """Find the fastest point of a case on each option, with speedups relative to one reference."""
    best: dict[Option, BestPoint] = {}
    if not curves:
        return best
    by_kind = sorted(curves, key=lambda curve: ORDER.index(curve.kind))
    reference = by_kind[0].reference
    for curve in by_kind:
        log_speedup, draws = _log_speedup(curve, reference, scaling)
        for position, nodes in enumerate(nodes_of(curve, node.cores)):
            if np.isnan(nodes):
                continue
            option = Option(curve.kind, curve.interconnect, int(nodes))
            if option not in best or log_speedup[position] > best[option].log_speedup:
                best[option] = BestPoint(
                    float(log_speedup[position]),
                    draws[position],
                    float(log_speedup[position] + np.log(curve.table["seconds"][position])),
                    curve.samples[position],
                )
    return best


def _log_speedup(curve: Curve, reference: Reference, scaling: str) -> tuple[Floats, Floats]:
    """Return the log speedup of each point of a curve, scaled by cores in weak scaling, and its draws."""
    growth = np.zeros(len(curve.processes))
    if scaling == "weak":
        growth = np.log(curve.table["cores"] / reference.cores)
    log_speedup = np.log(reference.seconds / curve.table["seconds"]) + growth
    return log_speedup, np.log(reference.draws / curve.draws) + growth[:, None, None]


def _mean_speedups(
    best_points: Sequence[Mapping[Option, BestPoint]], shares: Sequence[float]
) -> dict[Option, MeanSpeedup]:
    """Compute the mean speedup of each option on which every case was measured.

    Parameters
    ----------
    best_points : sequence of mappings
        Best points of each case: see `_best_points`.
    shares : sequence of float
        Weight of each case; the sum is 1.
    """
    means = {}
    for option in sorted({option for points in best_points for option in points}):
        point_of_case = [_best_up_to(option, points) for points in best_points]
        points = [point for point in point_of_case if point is not None]
        if len(points) < len(best_points):
            continue
        log_speedup = sum(share * point.log_speedup for share, point in zip(shares, points, strict=True))
        draws = [share * point.draws for share, point in zip(shares, points, strict=True)]
        mean_draws = np.sum(np.broadcast_arrays(*draws), axis=0)
        means[option] = MeanSpeedup(log_speedup, mean_draws, points)
    return means


def _best_up_to(option: Option, points: Mapping[Option, BestPoint]) -> BestPoint | None:
    """Return the fastest point of a case on the option's interconnect and at most its number of nodes."""
    smaller = [
        point for other, point in points.items() if other[:2] == option[:2] and other.nodes <= option.nodes
    ]
    return max(smaller, key=lambda point: point.log_speedup, default=None)


def _clusters(
    means: Mapping[Option, MeanSpeedup], tariffs: Mapping[str, Tariff], node: NodePrice, settings: Settings
) -> pd.DataFrame:
    """Tabulate price and mean speedup of each option."""
    rows = []
    for option, mean in means.items():
        tariff = tariffs[option.interconnect]
        speedup_ends = interval_of_draws(np.exp(mean.draws), settings.level)
        rows.append(
            {
                **option._asdict(),
                "currency": node.currency,
                **with_ends("cluster_price", *tariff.clusters(option.nodes, node)),
                **with_ends("mean_speedup", np.exp(mean.log_speedup), *speedup_ends),
                "note": tariff.note(option.nodes),
            }
        )
    return pd.DataFrame(rows)


def _at_budget(
    clusters: pd.DataFrame,
    means: Mapping[Option, MeanSpeedup],
    shares: Sequence[float],
    budget: float,
    kilowatts: float | None,
) -> pd.DataFrame:
    """Mark the affordable options of a budget, the best option, and all options that may be the best."""
    affordable = clusters["cluster_price"] <= budget
    may_be_too_dear = affordable & (clusters["cluster_price_high"] > budget)
    notes = _noted(clusters["note"], may_be_too_dear, "above the budget at the high end of the price")
    if kilowatts is not None:
        affordable &= clusters["kilowatts"] <= kilowatts
        may_draw_more = affordable & (clusters["kilowatts_high"] > kilowatts)
        notes = _noted(notes, may_draw_more, "above the kilowatts at the high end of the power")
    table = clusters.assign(
        budget=budget,
        affordable=affordable,
        best=False,
        may_be_best=pd.array([pd.NA] * len(clusters), dtype="boolean"),
        note=notes,
    )
    if affordable.any():
        ranked = table[affordable].sort_values(
            ["mean_speedup", "cluster_price"], ascending=[False, True], kind="stable"
        )
        table.loc[ranked.index[0], "best"] = True
        options = list(means)
        affordable_options = [options[position] for position in np.flatnonzero(affordable)]
        affordable_means = {option: means[option] for option in affordable_options}
        is_candidate = _may_be_best(affordable_means, table[affordable], shares)
        if is_candidate is not None:
            table.loc[affordable, "may_be_best"] = is_candidate
    return table


def _noted(notes: pd.Series, where: pd.Series, text: str) -> pd.Series:
    """Add a text to the notes of the rows `where`."""
    texts = [joined(note, text if add else None) for note, add in zip(notes, where, strict=True)]
    return pd.Series(texts, notes.index, dtype=object)


def _may_be_best(
    means: Mapping[Option, MeanSpeedup], rows: pd.DataFrame, shares: Sequence[float]
) -> Flags | None:
    """Return which options may have the highest mean speedup; None if it cannot be tested."""
    if any(option.kind == "simulated" for option in means):
        low, high = (-np.log(rows[f"mean_speedup_{end}"].to_numpy(float)) for end in ("high", "low"))
        return None if np.isnan(low + high).any() else within_bands(low, high)
    points_by_case = list(zip(*(mean.points for mean in means.values()), strict=True))
    differences = []
    for points in points_by_case:
        samples = [point.sample for point in points]
        if min(len(sample.blocks) for sample in samples) < FEWEST or _apart_in_time(means, samples):
            return None
        offsets = np.array([point.offset for point in points])
        between = pairwise_differences(block_logs(samples)[1], roundings(samples))
        differences.append(with_offsets(between, offsets))
    best = int(rows["best"].to_numpy(bool).argmax())
    return may_be_best(weighted(differences, shares), best, ALPHA)


def _apart_in_time(options: Iterable[Option], samples: Sequence[Sample]) -> bool:
    """Return whether two options with equal numbers of nodes were run one after the other, without turns.

    Then the test cannot separate the interconnects from changes over time. Only imported runs are checked.
    """
    nodes_and_samples = [(option.nodes, sample) for option, sample in zip(options, samples, strict=True)]
    for (nodes, first), (other_nodes, second) in combinations(nodes_and_samples, 2):
        is_imported = first.order_from or second.order_from
        if nodes != other_nodes or not is_imported:
            continue
        if took_turns(first, second, share_blocks(first, second)) is False:
            return True
    return False
