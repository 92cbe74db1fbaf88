"""How good the measurements are: outliers, run-to-run variability, drift. Nothing is removed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pandera.pandas as pa
from numpy.typing import NDArray

from analysis.curves.outcomes import corrected
from analysis.runs.columns import (
    COUNT,
    DEPENDENCE,
    FLAG,
    NOTE,
    NUMBER,
    OF_A_POINT,
    P_VALUES,
    SHARE,
    in_percent,
    table_schemas,
    validated,
)
from analysis.runs.groups import Groups, coded, labelled, rectangles, runs_of
from analysis.runs.runs import UNKNOWN_ORDER, TableError, timed_rows
from analysis.runs.settings import Settings
from analysis.statistics import Floats, Integers
from analysis.statistics.dependence import credible, effective_blocks, lag_one
from analysis.statistics.distributions import thinned
from analysis.statistics.shift import paired_shift
from analysis.statistics.trend import trend

OUTLIER_RULE = "Tukey's fences on log time: 1.5 interquartile ranges beyond the quartiles of its point"
FENCES = 1.5
FEWEST = 4
"""Times a point needs for fences, and blocks it needs for a drift."""

POINT = list(OF_A_POINT)
QUALITY = table_schemas(
    repetitions=dict(
        **OF_A_POINT,
        block=pa.Column("Int64"),
        **dict.fromkeys(("repetition", "attempt", "order"), COUNT),
        started=NOTE,
        seconds=NUMBER,
        relative_seconds=NUMBER,
        valid=FLAG,
        outlier=FLAG,
        noise=SHARE,
        reason=NOTE,
        record=NOTE,
    ),
    variability=dict(
        **OF_A_POINT,
        n=COUNT,
        **dict.fromkeys(("seconds", "spread_percent", "worst_percent"), NUMBER),
        baseline_interconnect=NOTE,
        baseline_spread_percent=NUMBER,
        blocks=COUNT,
        **P_VALUES,
        **DEPENDENCE,
    ),
    drift=dict(**OF_A_POINT, n=COUNT, **in_percent("drift"), kendall_tau=NUMBER, **P_VALUES),
)
"""Schema of each table of this module by its name."""


def make_quality_tables(
    runs: pd.DataFrame, ranked: dict[str, list[str]], settings: Settings
) -> dict[str, pd.DataFrame]:
    """Make the tables ``repetitions, variability, drift`` from a runs table.

    Parameters
    ----------
    ranked : dict
        As `analysis.curves.curves.ranking` gives it.

    Raises
    ------
    TableError
        If `started` holds text that is no time.
    """
    ordered = in_order_of_execution(runs)
    point = points_of(ordered)
    times, known = _block_times(ordered, point), ~of_unknown_order(ordered, point)
    in_order = times if known.all() else _block_times(ordered[known].reset_index(drop=True), point[known])
    first_baselines = {kind: settings.baselines_among(names)[0] for kind, names in ranked.items()}
    tables = {
        "repetitions": flag_outliers(ordered, point).assign(order=ordered["order"].where(known)),
        "variability": _variability(times, first_baselines, settings.alpha),
        "drift": _drift(in_order, settings),
    }
    return {name: validated(schema, tables[name]) for name, schema in QUALITY.items()}


def in_order_of_execution(runs: pd.DataFrame) -> pd.DataFrame:
    """Sort by `started`, or by block where some row has no start; `order` counts within each case."""
    started = pd.to_datetime(runs["started"], errors="coerce", utc=True, format="ISO8601")
    odd = started.isna() & runs["started"].notna()
    if odd.any():
        row = int(odd.argmax())
        raise TableError(
            f"'{runs['started'].iloc[row]}' is no time", "runs table", f"row {row + 1}", "started"
        )
    keys = [
        "block",
        "repetition",
        "attempt",
        "processes",
        "oversubscription",
        "interconnect",
        "kind",
        "threads",
    ]
    instants = [coded(started)[0]] if started.notna().all() else []
    order = Groups.of(*instants, *(coded(runs[name])[0] for name in keys)).order
    ordered = runs.take(order).reset_index(drop=True)
    return ordered.assign(order=Groups.of(coded(runs["case"])[0][order]).position + 1)


def points_of(runs: pd.DataFrame) -> Integers:
    """Number of the point of each row, array (rows,); points of two sites are two."""
    return Groups.of(*(coded(runs[name])[0] for name in ("site", *POINT))).number


def of_unknown_order(runs: pd.DataFrame, point: Integers) -> NDArray[np.bool_]:
    """Mark the rows of points whose runs have no known order, array (rows,).

    The runs table names such points. Points with runs of several files have no known order either, unless
    all rows of the table have a start.

    Parameters
    ----------
    point : array (rows,)
        As `points_of` gives it for them.
    """
    if runs["started"].notna().all() or runs["order_from"].isna().all():
        return np.zeros(len(runs), bool)
    source, names = labelled(runs["order_from"], "")
    sources = np.bincount(point[Groups.of(point, source).rows])
    unknown = np.array([name.startswith(UNKNOWN_ORDER) for name in names])[source]
    return unknown | (sources > 1)[point]


def flag_outliers(runs: pd.DataFrame, point: Integers) -> pd.DataFrame:
    """Flag repetitions outside Tukey's fences of their point on log time (`OUTLIER_RULE`).

    Tukey, Exploratory Data Analysis, 1977, section 2D. Invalid repetitions have no part in the
    fences and no flag, nor have points of fewer than `FEWEST` times.

    Parameters
    ----------
    point : array (rows,)
        As `points_of` gives it for them.

    Returns
    -------
    DataFrame
        `runs` with `relative_seconds` (to the median of the point's valid times) and `outlier`.
    """
    seconds = runs["seconds"].where(runs["valid"])
    logs = np.log(seconds)
    of_points = logs.groupby(point)
    lower, upper = (of_points.quantile(share).to_numpy()[point] for share in (0.25, 0.75))
    margin = FENCES * (upper - lower)
    outlier = ((logs < lower - margin) | (logs > upper + margin)) & (
        of_points.count().to_numpy()[point] >= FEWEST
    )
    medians = seconds.groupby(point).median().to_numpy()[point]
    return runs.assign(relative_seconds=runs["seconds"] / medians, outlier=outlier)


@dataclass(frozen=True, eq=False)
class _Times:
    """Block times of points, the times of a point next to each other in order of execution.

    Attributes
    ----------
    points : DataFrame (points,)
        `POINT`.
    first, n : arrays (points,)
        Where the times of each point begin, and their number.
    block, seconds : arrays (times,)
        Of a block that was stopped at its time limit, the time is NaN.
    """

    points: pd.DataFrame
    first: Integers
    n: Integers
    block: Integers
    seconds: Floats

    @property
    def point(self) -> Integers:
        """Number of the point of each time, array (times,)."""
        return np.repeat(np.arange(len(self.n)), self.n)


def _block_times(ordered: pd.DataFrame, point: Integers) -> _Times:
    timed = timed_rows(ordered)
    point, (block, _) = point[timed.index], coded(timed["block"])
    groups = Groups.of(point, block)
    starts = np.minimum.reduceat(timed["order"].to_numpy()[groups.order], groups.first) if len(timed) else []
    of_times = point[groups.rows]
    first, n = runs_of(of_times)
    seconds = groups.median(timed["seconds"].to_numpy())
    if not timed["valid"].all():
        at_most = groups.median(timed["seconds"].where(timed["valid"], np.inf).to_numpy())
        seconds[at_most != seconds] = np.nan
    order = Groups.of(of_times, np.array(starts, int)).order
    return _Times(
        timed[POINT].take(groups.rows[first]).reset_index(drop=True),
        first,
        n,
        block[groups.rows][order],
        seconds[order],
    )


def _variability(times: _Times, baselines: dict[str, str], alpha: float) -> pd.DataFrame:
    """Run-to-run variability of each point, and of the baseline's beside it.

    `spread_percent` is 100 (exp(s) - 1), s = 1.4826 times the median absolute deviation of the log
    block times from the log of their median: their standard deviation where they are normal.
    `worst_percent` is how far the slowest block is above the median. The test compares absolute
    deviations from either point's median over the common blocks, by signed ranks: Brown and Forsythe's
    idea (JASA 69, 1974), paired; approximate, since the medians are estimates. Holm-corrected within the
    table. None of a point with stopped runs, and no test where the lag-one correlation of ratios or of
    deviations is credible.
    """
    points = Groups(np.arange(len(times.seconds)), times.first, times.n)
    seconds = points.median(times.seconds)
    deviations = np.abs(np.log(times.seconds / np.repeat(seconds, times.n)))
    scale = np.where(times.n > 1, points.median(deviations), np.nan)
    worst = np.maximum.reduceat(times.seconds, times.first) if len(times.first) else seconds
    table = times.points.assign(
        n=times.n,
        seconds=seconds,
        spread_percent=100 * np.expm1(1.4826 * scale),
        worst_percent=100 * (worst / seconds - 1),
    )
    return corrected(table.join(_deviation_tests(times, deviations, table, baselines)), alpha)


def _deviation_tests(
    times: _Times, deviations: Floats, table: pd.DataFrame, baselines: dict[str, str]
) -> pd.DataFrame:
    """Compare the deviations of each point (row of `table`) with the baseline's over the common blocks."""
    same = ["case", "kind", "oversubscription", "processes", "threads"]
    theirs = table["kind"].map(baselines)
    table = table.assign(point=np.arange(len(table)))
    is_baseline = table["interconnect"] == theirs
    baseline = table[is_baseline].drop_duplicates(same, keep="last")
    compared = ~is_baseline & theirs.notna() & table["interconnect"].notna()
    found = table[compared].merge(baseline, on=same, suffixes=("", "_theirs"))
    pairs = found["point"].to_numpy(), found["point_theirs"].to_numpy()
    blocks, differences = _paired(times, deviations, *pairs)
    p_values = np.full(len(found), np.nan)
    for rows, positions in rectangles(np.cumsum(blocks) - blocks, blocks):
        if positions.shape[1] > 1:
            rows, positions = _known(rows, positions, differences)
            series = differences[positions]
            untested = credible(lag_one(series)[0], series.shape[1])
            p_values[rows] = np.where(untested, np.nan, paired_shift(series, 1.0).p_value)
    of_ratios = _dependence(*_paired(times, np.log(times.seconds), *pairs))
    p_values[credible(of_ratios["lag_one_correlation"], blocks)] = np.nan
    columns = {
        "baseline_interconnect": found["interconnect_theirs"],
        "baseline_spread_percent": found["spread_percent_theirs"],
        "blocks": np.where(blocks > 0, blocks, np.nan),
        "p_value": p_values,
        **of_ratios,
    }
    return pd.DataFrame(columns).set_index(found["point"]).reindex(table.index)


def _dependence(blocks: Integers, ratios: Floats) -> dict[str, Floats]:
    """Lag-one correlation of the log ratios of each pair, and the independent blocks that they are worth.

    All of them, unless the correlation counts. `blocks` and `ratios` are as `_paired` gives them.
    """
    correlation, effective = np.full((2, len(blocks)), np.nan)
    for rows, positions in rectangles(np.cumsum(blocks) - blocks, blocks):
        if positions.shape[1] > 1:
            rows, positions = _known(rows, positions, ratios)
            correlation[rows], effective[rows], _ = effective_blocks(ratios[positions])
    return {"lag_one_correlation": correlation, "effective_blocks": effective}


def _known(rows: Integers, positions: Integers, values: Floats) -> tuple[Integers, Integers]:
    """Rows, and the positions of their values, none of which is NaN."""
    known = ~np.isnan(values[positions]).any(axis=1)
    return rows[known], positions[known]


def _paired(times: _Times, values: Floats, first: Integers, second: Integers) -> tuple[Integers, Floats]:
    """Differences of the values of pairs of points over their common blocks.

    Returns
    -------
    blocks : array (pairs,)
        Number of common blocks.
    differences : array
        Pair after pair, by increasing block.
    """
    stride = times.block.max(initial=0) + 1
    key = times.point * stride + times.block
    order = np.argsort(key)
    key, values = key[order], values[order]
    n = times.n[first]
    pair = np.repeat(np.arange(len(first)), n)
    mine = np.repeat(times.first[first] - (np.cumsum(n) - n), n) + np.arange(len(pair))
    wanted = second[pair] * stride + key[mine] % stride
    index = np.searchsorted(key, wanted).clip(max=max(len(key) - 1, 0))
    common = key[index] == wanted
    return np.bincount(pair[common], minlength=len(first)), (values[mine] - values[index])[common]


def _drift(times: _Times, settings: Settings) -> pd.DataFrame:
    """Drift of each point's block times from its first to its last block, in percent.

    Theil-Sen line through the log times in order of execution, with Kendall's test of as many blocks as they
    are worth (see `analysis.statistics.trend.trend`), Holm-corrected within the table. Points of fewer than
    `FEWEST` blocks have none, nor have those with stopped runs.
    """
    logs = np.log(times.seconds)
    columns = ["drift_percent", "drift_low", "drift_high", "kendall_tau", "p_value"]
    drifts = np.full((len(times.n), len(columns)), np.nan)
    for point, (first, n) in enumerate(zip(times.first, times.n, strict=True)):
        series = thinned(logs[first : first + n])
        if len(series) >= FEWEST and not np.isnan(series).any():
            drift = trend(series, settings.level, dependent=True)
            change = 100 * np.expm1([drift.change, drift.low, drift.high])
            drifts[point] = *change, drift.tau, drift.p_value
    table = times.points.assign(n=times.n, **dict(zip(columns, drifts.T, strict=True)))
    return corrected(table, settings.alpha)
