"""How good the measurements are: outliers, run-to-run variability, drift. Nothing is removed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pandera.pandas as pa

from analysis.curves import ranking
from analysis.records import TableError
from analysis.schemas import COUNT, FLAG, NOTE, NUMBER, SHARE, TEXT, table_schema, validated
from analysis.settings import Settings
from analysis.significance import DISTINGUISHABLE, holm, sign_flip_p
from analysis.trend import trend

OUTLIER_RULE = "Tukey's fences on log time: 1.5 interquartile ranges beyond the quartiles of its point"
FENCES = 1.5
FEWEST = 4
"""Times a point needs for fences, and blocks it needs for a drift."""
LARGEST = 2**18
"""Numbers held at once."""
MOST = 1_000
"""Blocks the drift of a point is worked out from; of more, medians of as many groups in a row."""

POINT = ["case", "interconnect", "kind", "oversubscription", "processes", "nodes"]
_POINT = {
    "case": TEXT,
    "interconnect": NOTE,
    "kind": TEXT,
    "oversubscription": COUNT,
    "processes": COUNT,
    "nodes": COUNT,
}
_TEST = {"p_value": SHARE, "p_adjusted": SHARE, "distinguishable": FLAG}
QUALITY = {
    "repetitions": table_schema(
        "repetitions",
        **_POINT,
        block=pa.Column("Int64"),
        repetition=COUNT,
        attempt=COUNT,
        order=COUNT,
        started=NOTE,
        seconds=NUMBER,
        relative_seconds=NUMBER,
        valid=FLAG,
        outlier=FLAG,
        noise=SHARE,
        reason=NOTE,
        record=NOTE,
    ),
    "variability": table_schema(
        "variability",
        **_POINT,
        n=COUNT,
        seconds=NUMBER,
        spread_percent=NUMBER,
        worst_percent=NUMBER,
        baseline_interconnect=NOTE,
        baseline_spread_percent=NUMBER,
        blocks=COUNT,
        **_TEST,
    ),
    "drift": table_schema(
        "drift",
        **_POINT,
        n=COUNT,
        drift_percent=NUMBER,
        drift_low=NUMBER,
        drift_high=NUMBER,
        kendall_tau=NUMBER,
        **_TEST,
    ),
}
"""Schema of each table of this module by its name."""


def make_quality_tables(runs: pd.DataFrame, settings: Settings) -> dict[str, pd.DataFrame]:
    """Make the tables ``repetitions, variability, drift`` from a runs table.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.records.read_runs` gives it.
    settings : Settings

    Raises
    ------
    TableError
        If `started` holds text that is no time.
    """
    ordered = in_order_of_execution(runs)
    times = _block_times(ordered)
    tables = {
        "repetitions": flag_outliers(ordered),
        "variability": _variability(times, _baselines(runs, settings), settings.seed),
        "drift": _drift(times, settings.level),
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
    keys = ["block", "repetition", "attempt", "processes", "oversubscription", "interconnect", "kind"]
    if started.notna().all():
        keys = ["instant", *keys]
    ordered = runs.assign(instant=started).sort_values(keys)
    ordered["order"] = ordered.groupby("case").cumcount() + 1
    return ordered.drop(columns="instant").reset_index(drop=True)


def flag_outliers(runs: pd.DataFrame) -> pd.DataFrame:
    """Flag repetitions outside Tukey's fences of their point on log time (`OUTLIER_RULE`).

    Tukey, Exploratory Data Analysis, 1977, section 2D. Invalid repetitions have no part in the
    fences and no flag, nor have points of fewer than `FEWEST` times.

    Returns
    -------
    DataFrame
        `runs` with `relative_seconds` (to the median of the point's valid times) and `outlier`.
    """
    valid, keys = runs["seconds"].where(runs["valid"]), runs.groupby(POINT, dropna=False).ngroup()
    logs = np.log(valid)
    points = logs.groupby(keys)
    lower, upper = (points.transform("quantile", share) for share in (0.25, 0.75))
    margin = FENCES * (upper - lower)
    outside = (logs < lower - margin) | (logs > upper + margin)
    relative = runs["seconds"] / valid.groupby(keys).transform("median")
    return runs.assign(relative_seconds=relative, outlier=outside & (points.transform("count") >= FEWEST))


def variability(runs: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Run-to-run variability of each point, and of the baseline's beside it.

    `spread_percent` is 100 (exp(s) - 1), s = 1.4826 times the median absolute deviation of the log
    block times from the log of their median: their standard deviation where they are normal.
    `worst_percent` is how far the slowest block is above the median. The test compares absolute
    deviations from either point's median over the common blocks, by sign flips: Brown and Forsythe's
    idea (JASA 69, 1974), paired; approximate, since the medians are estimates. Holm-corrected within the
    table.
    """
    return _variability(_block_times(in_order_of_execution(runs)), _baselines(runs, settings), settings.seed)


def drift(runs: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Drift of each point's block times from its first to its last block, in percent.

    Theil-Sen line through the log times in order of execution, with Kendall's test (see
    `analysis.trend.trend`), Holm-corrected within the table. Points of fewer than `FEWEST` blocks have
    none.
    """
    return _drift(_block_times(in_order_of_execution(runs)), level)


def _baselines(runs: pd.DataFrame, settings: Settings) -> dict[str, str]:
    """The first baseline of each kind."""
    ranked = ranking(runs)
    return {
        kind: next((name for name in settings.baselines if name in names), names[0])
        for kind, names in ranked.items()
    }


def _block_times(ordered: pd.DataFrame) -> pd.DataFrame:
    """Log of each point's block times, the blocks of a point in order of execution."""
    valid = ordered[ordered["valid"]]
    blocks = valid.groupby([*POINT, "block"], dropna=False, sort=False)
    times = blocks.agg(seconds=("seconds", "median"), order=("order", "min")).reset_index()
    times["log"] = np.log(times["seconds"])
    return times.sort_values([*POINT, "order"], ignore_index=True)


def _variability(times: pd.DataFrame, baselines: dict[str, str], seed: int) -> pd.DataFrame:
    points = times.groupby(POINT, dropna=False)
    deviations = np.log(times["seconds"] / points["seconds"].transform("median")).abs()
    table = points["seconds"].agg(n="size", seconds="median", worst="max").reset_index()
    scale = deviations.groupby([times[name] for name in POINT], dropna=False).median().to_numpy()
    table["spread_percent"] = 100 * np.expm1(1.4826 * np.where(table["n"] > 1, scale, np.nan))
    table["worst_percent"] = 100 * (table["worst"] / table["seconds"] - 1)
    tests = _deviation_tests(times.assign(deviation=deviations), table, baselines, seed)
    return _corrected(table.join(tests))


def _deviation_tests(
    times: pd.DataFrame, table: pd.DataFrame, baselines: dict[str, str], seed: int
) -> pd.DataFrame:
    """Compare the deviations of each point (row of `table`) with the baseline's over the common blocks."""
    same = ["case", "kind", "oversubscription", "processes"]
    theirs = table["kind"].map(baselines)
    table = table.assign(point=np.arange(len(table)))
    is_baseline = table["interconnect"] == theirs
    baseline = table[is_baseline].drop_duplicates(same, keep="last")
    compared = ~is_baseline & theirs.notna() & table["interconnect"].notna()
    found = table[compared].merge(baseline, on=same, suffixes=("", "_theirs"))
    times = times.assign(point=np.repeat(table["point"].to_numpy(), table["n"]))
    mine = times[["point", "block", "deviation"]]
    other = mine.rename(columns={"point": "point_theirs"})
    pairs = found[["point", "point_theirs"]].merge(mine, on="point")
    pairs = pairs.merge(other, on=["point_theirs", "block"], suffixes=("", "_theirs"))
    pairs = pairs.sort_values(["point", "block"])
    blocks = pairs.groupby("point").size().reindex(found["point"], fill_value=0).to_numpy()
    p_values = np.full(len(found), np.nan)
    differences = (pairs["deviation"] - pairs["deviation_theirs"]).to_numpy()
    starts = np.cumsum(blocks) - blocks
    for size in np.unique(blocks[blocks > 1]):
        rows = np.flatnonzero(blocks == size)
        step = max(LARGEST // 2 ** min(size, 16), 1)
        for some in np.split(rows, range(step, len(rows), step)):
            samples = differences[starts[some][:, None] + np.arange(size)]
            p_values[some] = sign_flip_p(samples, seed)
    told = {
        "baseline_interconnect": found["interconnect_theirs"],
        "baseline_spread_percent": found["spread_percent_theirs"],
        "blocks": np.where(blocks > 0, blocks, np.nan),
        "p_value": p_values,
    }
    return pd.DataFrame(told).set_index(found["point"]).reindex(table.index)


def _drift(times: pd.DataFrame, level: float) -> pd.DataFrame:
    table = times.groupby(POINT, dropna=False).agg(n=("log", "size")).reset_index()
    table = table.reindex(
        columns=[*table, "drift_percent", "drift_low", "drift_high", "kendall_tau", "p_value"]
    )
    logs = np.split(times["log"].to_numpy(), np.cumsum(table["n"])[:-1])
    lengths = np.minimum(table["n"], MOST)
    for length in np.unique(lengths[lengths >= FEWEST]):
        rows = np.flatnonzero(lengths == length)
        step = max(LARGEST // length**2, 1)
        for some in np.split(rows, range(step, len(rows), step)):
            found = trend(np.array([_thinned(logs[row]) for row in some]), level)
            change = 100 * np.expm1(np.stack([found.change, found.low, found.high]))
            columns = ["drift_percent", "drift_low", "drift_high", "kendall_tau", "p_value"]
            table.loc[some, columns] = np.vstack([change, found.tau, found.p_value]).T
    return _corrected(table)


def _thinned(logs: np.ndarray) -> np.ndarray:
    return logs if len(logs) <= MOST else np.array([np.median(part) for part in np.array_split(logs, MOST)])


def _corrected(table: pd.DataFrame) -> pd.DataFrame:
    adjusted = holm(table["p_value"].to_numpy(float))
    return table.assign(p_adjusted=adjusted, distinguishable=adjusted <= DISTINGUISHABLE)
