"""Tables on the quality of the measurements: outliers, run-to-run variability and drift.

They flag runs and points, and remove nothing from the estimates.
"""

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
    P_VALUES,
    POINT_COLUMNS,
    SHARE,
    described,
    in_percent,
    table_schema,
    table_schemas,
    validated,
    with_descriptions,
)
from analysis.runs.groups import Groups, coded, labelled, rectangles, runs_of
from analysis.runs.runs import BLOCK, DATE, SESSION, UNKNOWN_ORDER, WITH_BLOCKS, timed_rows
from analysis.runs.settings import Settings
from analysis.statistics import Floats, Integers
from analysis.statistics.dependence import credible, effective_blocks, lag_one
from analysis.statistics.distributions import thinned
from analysis.statistics.shift import paired_shift
from analysis.statistics.trend import trend

SPREAD_RULE = "Spread is exp(1.48 × the median absolute deviation of the log times) − 1."
OUTLIER_RULE = "Tukey's fences"
FENCES = 1.5
"""Distance of Tukey's fences from the quartiles, in interquartile ranges."""
FEWEST = 4
"""Smallest number of times of a point for fences, and of its blocks for a drift."""

POINT = list(POINT_COLUMNS)
QUALITY = table_schemas(
    table_schema(
        "repetitions",
        "One row per repetition, in the order of execution.",
        **POINT_COLUMNS,
        block=described(pa.Column("Int64"), "Number of the block."),
        repetition=described(COUNT, "Number within the block."),
        attempt=described(COUNT, "Number of the attempt."),
        order=described(COUNT, "Position in the order of execution within the case."),
        started=described(NOTE, "Start of the run."),
        seconds=described(NUMBER, "Time of the repetition."),
        relative_seconds=described(NUMBER, "Time / median of the point."),
        valid=described(FLAG, "Whether the repetition counts."),
        outlier=described(
            FLAG, "Whether the time is outside Tukey's fences of its point; it counts nevertheless."
        ),
        noise=described(SHARE, "Share of the wall time under CPU pressure, 0 to 1."),
        reason=described(NOTE, "Why the repetition does not count."),
        record=described(NOTE, "Path of its record."),
        order_from=described(NOTE, "Source of the order of the runs, as in `runs.csv`."),
    ),
    table_schema(
        "variability",
        "One row per point, with the spread of its blocks. Values and tests are empty if runs "
        "were stopped at their time limit.",
        **POINT_COLUMNS,
        n=described(COUNT, "Blocks."),
        seconds=described(NUMBER, "Median time."),
        spread_percent=described(NUMBER, "Robust standard deviation of the block times."),
        worst_percent=described(NUMBER, "Slowest block, relative to the median."),
        baseline_interconnect=NOTE,
        baseline_spread_percent=described(NUMBER, "Spread of the baseline."),
        blocks=described(COUNT, "Common blocks of both."),
        **P_VALUES,
        **DEPENDENCE,
    ),
    table_schema(
        "drift",
        "One row per point, with the trend of its times over the study. Points whose runs have no"
        " known order have no row. Values are empty if runs were stopped at their time limit. If "
        "blocks depend on earlier blocks, beyond the line, the test counts fewer of them.",
        **POINT_COLUMNS,
        n=described(COUNT, "Blocks."),
        **with_descriptions(
            in_percent("drift"),
            drift_percent="Change from the first to the last block along the Theil-Sen line.",
        ),
        kendall_tau=described(NUMBER, "Kendall's rank correlation of time and block."),
        **P_VALUES,
    ),
)
"""Schema of each table of this module by its name."""


OR_REPEATED = ", or of the points that --again named"
"""Addition to the definition of a block if `--again` repeated any point."""


def repeated_points(valid: pd.DataFrame) -> pd.Series:
    """Return for each point whether ``--again`` repeated it: a planned block then has several valid runs."""
    if "record" not in valid:
        return pd.Series(dtype=bool)
    planned = valid["record"].astype("str").str.extract(r"/block-(\d+)-attempt-", expand=False)
    planned_runs = valid.assign(planned=planned)[planned.notna()]
    runs = planned_runs.groupby([*POINT, "planned"], dropna=False).size()
    return runs.groupby(level=POINT, dropna=False).max() > 1


def make_quality_tables(
    runs: pd.DataFrame, ranked: dict[str, list[str]], settings: Settings
) -> dict[str, pd.DataFrame]:
    """Make the tables ``repetitions``, ``variability`` and ``drift`` from a runs table.

    Parameters
    ----------
    runs : DataFrame
        The runs table.
    ranked : dict
        Interconnects of each kind, from `analysis.curves.curves.ranking`.
    settings : Settings
    """
    ordered = in_order_of_execution(runs)
    point = points_of(ordered)
    times, has_order = _block_times(ordered, point), ~has_unknown_order(ordered, point)
    times_in_order = times
    if not has_order.all():
        times_in_order = _block_times(ordered[has_order].reset_index(drop=True), point[has_order])
    first_baselines = {kind: settings.baselines_among(names)[0] for kind, names in ranked.items()}
    tables = {
        "repetitions": flag_outliers(ordered, point).assign(order=ordered["order"].where(has_order)),
        "variability": _variability(times, first_baselines, settings),
        "drift": _drift(times_in_order, settings),
    }
    return {name: validated(schema, tables[name]) for name, schema in QUALITY.items()}


def in_order_of_execution(runs: pd.DataFrame) -> pd.DataFrame:
    """Sort runs by `started`, or by block if a start is missing, and number them within each case."""
    started = pd.to_datetime(runs["started"], utc=True, format="ISO8601")
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
    """Return the number of the point of each row, array (rows,); sites have separate points."""
    return Groups.of(*(coded(runs[name])[0] for name in ("site", *POINT))).number


def has_unknown_order(runs: pd.DataFrame, point: Integers) -> NDArray[np.bool_]:
    """Mark the rows of points whose runs have no known order, array (rows,).

    The column `order_from` states it. The order is also unknown if a point has runs from several files,
    unless all rows of the table have a start.

    Parameters
    ----------
    runs : DataFrame
    point : array (rows,)
        Number of the point of each row, from `points_of`.
    """
    if runs["started"].notna().all() or runs["order_from"].isna().all():
        return np.zeros(len(runs), bool)
    source, names = labelled(runs["order_from"], "")
    sources = np.bincount(point[Groups.of(point, source).rows])
    unknown = np.array([name.startswith(UNKNOWN_ORDER) for name in names])[source]
    return unknown | (sources > 1)[point]


def is_without_block(runs: pd.DataFrame) -> pd.Series:
    """Mark imported runs whose file has no block; their number in `block` follows from their order."""
    return ~runs["order_from"].astype("str").str.startswith(WITH_BLOCKS, na=True)


def run_names(runs: pd.DataFrame) -> pd.Series:
    """Name each run by its record, else by its block, repetition or start, else by its row at its point.

    The number in `block` counts imported runs without block, so that it names none of them. If the order of
    the runs is unknown, the time names the run.
    """
    row = runs.groupby(POINT, dropna=False)["block"].rank("first")
    evidence = runs["order_from"].astype("str").str.extract(r"^(\w+)", expand=False)
    names = {
        **dict.fromkeys((BLOCK, SESSION), "block " + runs["block"].astype(str)),
        DATE: "start " + runs["started"].astype(str),
        "repetition": "repetition " + runs["repetition"].astype(str),
        "started": "start " + runs["started"].astype(str),
        "row": row.map("row {:.0f} of its point".format),
    }
    named = runs["seconds"].map("{:g} s".format, na_action="ignore").fillna("without a time")
    for source, name in names.items():
        named = named.mask(evidence == source, name)
    named = named.mask(evidence.isna(), names[BLOCK])
    return runs["record"].astype("str").str.extract("([^/]+)$", expand=False).fillna(named)


def flag_outliers(runs: pd.DataFrame, point: Integers) -> pd.DataFrame:
    """Flag repetitions outside Tukey's fences of their point on log time (`OUTLIER_RULE`).

    Source: Tukey, Exploratory Data Analysis, 1977, section 2D. Invalid repetitions and points with fewer
    than `FEWEST` times get no flag.

    Parameters
    ----------
    runs : DataFrame
    point : array (rows,)
        Number of the point of each row, from `points_of`.

    Returns
    -------
    DataFrame
        `runs` with `relative_seconds` (time over the median of the point's valid times) and `outlier`.
    """
    seconds = runs["seconds"].where(runs["valid"])
    logs = np.log(seconds)
    logs_by_point = logs.groupby(point)
    lower, upper = (logs_by_point.quantile(share).to_numpy()[point] for share in (0.25, 0.75))
    margin = FENCES * (upper - lower)
    outlier = ((logs < lower - margin) | (logs > upper + margin)) & (
        logs_by_point.count().to_numpy()[point] >= FEWEST
    )
    medians = seconds.groupby(point).median().to_numpy()[point]
    return runs.assign(relative_seconds=runs["seconds"] / medians, outlier=outlier)


@dataclass(frozen=True, eq=False)
class _Times:
    """Block times, grouped by point, in the order of execution within a point.

    Attributes
    ----------
    points : DataFrame (points,)
        Columns `POINT`.
    first, n : arrays (points,)
        Index of the first time of each point, and number of times.
    block, seconds : arrays (times,)
        Blocks and their times; NaN for a block that was stopped at its time limit.
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
    starts = np.zeros(0, int)
    if len(timed):
        starts = np.minimum.reduceat(timed["order"].to_numpy()[groups.order], groups.first)
    point_of_time = point[groups.rows]
    first, n = runs_of(point_of_time)
    seconds = groups.median(timed["seconds"].to_numpy())
    if not timed["valid"].all():
        at_most = groups.median(timed["seconds"].where(timed["valid"], np.inf).to_numpy())
        seconds[at_most != seconds] = np.nan
    order = Groups.of(point_of_time, starts.astype(int)).order
    return _Times(
        timed[POINT].take(groups.rows[first]).reset_index(drop=True),
        first,
        n,
        block[groups.rows][order],
        seconds[order],
    )


def _variability(times: _Times, baselines: dict[str, str], settings: Settings) -> pd.DataFrame:
    """Compute the run-to-run variability of each point, and compare it with the baseline.

    ``spread_percent`` is 100 (exp(s) - 1), where s is 1.4826 times the median absolute deviation of the log
    block times from the log of their median. For normal log times s estimates their standard deviation.
    ``worst_percent`` is the slowest block relative to the median.

    The test is a paired version of Brown and Forsythe (JASA 69, 1974). It compares the absolute deviations
    of both points from their medians over the common blocks, by signed ranks. It is approximate, since the
    medians are estimates, and Holm-corrected within the table. Points with stopped runs get no values. A
    pair is not tested if its ratios or deviations have a credible lag-one correlation.
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
    tested = table.join(_deviation_tests(times, deviations, table, baselines))
    return corrected(tested, settings.look_factors(tested["case"]))


def _deviation_tests(
    times: _Times, deviations: Floats, table: pd.DataFrame, baselines: dict[str, str]
) -> pd.DataFrame:
    """Compare the deviations of each row of `table` with the baseline over the common blocks."""
    same = ["case", "kind", "oversubscription", "processes", "threads"]
    baseline_of_row = table["kind"].map(baselines)
    table = table.assign(point=np.arange(len(table)))
    is_baseline = table["interconnect"] == baseline_of_row
    baseline = table[is_baseline].drop_duplicates(same, keep="last")
    is_compared = ~is_baseline & baseline_of_row.notna() & table["interconnect"].notna()
    comparisons = table[is_compared].merge(baseline, on=same, suffixes=("", "_baseline"))
    pairs = comparisons["point"].to_numpy(), comparisons["point_baseline"].to_numpy()
    blocks, differences = _paired(times, deviations, *pairs)
    p_values = np.full(len(comparisons), np.nan)
    for rows, positions in rectangles(np.cumsum(blocks) - blocks, blocks):
        if positions.shape[1] > 1:
            rows, positions = _without_nan(rows, positions, differences)
            series = differences[positions]
            untested = credible(lag_one(series)[0], series.shape[1])
            p_values[rows] = np.where(untested, np.nan, paired_shift(series, 1.0).p_value)
    dependence = _dependence(*_paired(times, np.log(times.seconds), *pairs))
    p_values[credible(dependence["lag_one_correlation"], blocks.astype(float))] = np.nan
    columns = {
        "baseline_interconnect": comparisons["interconnect_baseline"],
        "baseline_spread_percent": comparisons["spread_percent_baseline"],
        "blocks": np.where(blocks > 0, blocks, np.nan),
        "p_value": p_values,
        **dependence,
    }
    return pd.DataFrame(columns).set_index(comparisons["point"]).reindex(table.index)


def _dependence(blocks: Integers, ratios: Floats) -> dict[str, Floats]:
    """Compute the lag-one correlation of the log ratios of each pair, and its effective number of blocks.

    `blocks` and `ratios` are the result of `_paired`.
    """
    correlation, effective = np.full((2, len(blocks)), np.nan)
    for rows, positions in rectangles(np.cumsum(blocks) - blocks, blocks):
        if positions.shape[1] > 1:
            rows, positions = _without_nan(rows, positions, ratios)
            correlation[rows], effective[rows], _ = effective_blocks(ratios[positions])
    return {"lag_one_correlation": correlation, "effective_blocks": effective}


def _without_nan(rows: Integers, positions: Integers, values: Floats) -> tuple[Integers, Integers]:
    """Select the rows whose values at `positions` (rows, values) contain no NaN."""
    is_complete = ~np.isnan(values[positions]).any(axis=1)
    return rows[is_complete], positions[is_complete]


def _paired(times: _Times, values: Floats, first: Integers, second: Integers) -> tuple[Integers, Floats]:
    """Compute the differences of the values of pairs of points over their common blocks.

    Returns
    -------
    blocks : array (pairs,)
        Number of common blocks.
    differences : array
        The differences of all pairs in turn, by increasing block.
    """
    stride = times.block.max(initial=0) + 1
    key = times.point * stride + times.block
    order = np.argsort(key)
    key, values = key[order], values[order]
    n = times.n[first]
    pair = np.repeat(np.arange(len(first)), n)
    index_first = np.repeat(times.first[first] - (np.cumsum(n) - n), n) + np.arange(len(pair))
    key_second = second[pair] * stride + key[index_first] % stride
    index_second = np.searchsorted(key, key_second).clip(max=max(len(key) - 1, 0))
    is_common = key[index_second] == key_second
    differences = (values[index_first] - values[index_second])[is_common]
    return np.bincount(pair[is_common], minlength=len(first)), differences


def _drift(times: _Times, settings: Settings) -> pd.DataFrame:
    """Compute the drift of each point's block times from its first to its last block, in percent.

    The drift is the slope of a Theil-Sen line through the log times in order of execution. Kendall's test
    uses the effective number of blocks (see `analysis.statistics.trend.trend`) and is Holm-corrected within
    the table. Points with stopped runs, or fewer than `FEWEST` blocks, get no values.
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
    return corrected(table, settings.look_factors(table["case"]))
