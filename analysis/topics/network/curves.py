"""Curves of network benchmarks against message size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from analysis.runs.columns import (
    COUNT,
    NOTE,
    POSITIVE,
    TEXT,
    described,
    table_schema,
    validated,
    with_descriptions,
)
from analysis.runs.side_tables import LABELS, RUN, WHOLE

PERCENTILES = (5, 25, 75, 95)

POINT = ("site", "case", "interconnect", "kind", "oversubscription", "nodes", "processes", "imported_from")

DIRECTIONS = {"pingpong": 1, "sendrecv": 2}
"""Benchmarks of two processes with headline numbers, and the number of simultaneous messages of each."""

NETWORK = table_schema(
    "network",
    "One row per interconnect, benchmark, process count and message size.",
    interconnect=NOTE,
    kind=TEXT,
    benchmark=described(TEXT, "The case without its size, or the imported benchmark."),
    processes=COUNT,
    bytes=described(WHOLE, "Size of a message; of a block in `alltoall` and `gatherv`."),
    latency_us=described(
        POSITIVE,
        "Time of a message: half a round trip of a ping-pong, or a whole exchange or collective. "
        "Median over runs of the runs' medians over batches.",
    ),
    bandwidth_MBps=described(POSITIVE, "Bytes sent by all processes / that time; empty for collectives."),
    **with_descriptions(
        {f"latency_us_p{share}": POSITIVE for share in PERCENTILES},
        latency_us_p5="5th percentile over the batches, median over runs.",
        latency_us_p25="25th percentile.",
        latency_us_p75="75th percentile.",
        latency_us_p95="95th percentile.",
    ),
    **with_descriptions(
        {f"latency_us_{end}_{unit}": POSITIVE for unit in ("run", "rank") for end in ("lowest", "highest")},
        latency_us_lowest_run="Lowest median of a run.",
        latency_us_highest_run="Highest median of a run.",
        latency_us_lowest_rank="Time of the fastest rank, median over runs.",
        latency_us_highest_rank="Time of the slowest rank, median over runs.",
    ),
    busy_share=described(POSITIVE, "Share of a core that a rank kept busy, polling included."),
    n=described(COUNT, "Timed batches."),
    runs=described(COUNT, "Runs."),
    case=TEXT,
    oversubscription=COUNT,
    nodes=COUNT,
    pairs=described(COUNT, "Pairs that exchange at once."),
    source=described(WHOLE, "First rank of a pair."),
    target=described(WHOLE, "Second rank of a pair."),
    part=described(NOTE, "For `availability`: the exchange, the work, or both at once."),
    imported_from=NOTE,
    probe_latency_us=described(
        POSITIVE, "Time of an empty message when the runs were attested, median over runs."
    ),
)
"""One row per point, message size and other values of `LABELS`."""


def network_table(runs: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Summarise the curves of all repetitions of each point.

    Parameters
    ----------
    runs : DataFrame
        With the columns of `RUN` and `POINT`.
    rows : DataFrame
        Side table ``benchmarks``: see `analysis.runs.side_tables.DETAILS`.

    Returns
    -------
    DataFrame
        Columns of `NETWORK`, points in the order of the runs, with rising sizes; without rows if no run is of
        a network benchmark.
    """
    frame = runs.reindex(columns=[*RUN, *POINT, "probe_latency_us"]).merge(rows, on=list(RUN))
    if frame.empty:
        return validated(NETWORK, pd.DataFrame())
    key = [*POINT, *LABELS]
    groups = frame.groupby(key, dropna=False, sort=False)
    table = groups.agg(
        **{column: (source, "median") for column, source in _MEDIANS.items()},
        latency_us_lowest_run=("seconds_p50", "min"),
        latency_us_highest_run=("seconds_p50", "max"),
        moved_bytes=("moved_bytes", "first"),
        busy_share=("busy_share", "median"),
        n=("n", "sum"),
        runs=("n", "size"),
        probe_latency_us=("probe_latency_us", "median"),
    ).reset_index()
    times = [str(column) for column in table if str(column).startswith("latency_us")]
    table[times] *= 1e6
    table["bandwidth_MBps"] = table["moved_bytes"].replace(0, np.nan) / table["latency_us"]
    table["benchmark"] = table["case"].str.partition("-")[0]
    table["order"] = pd.factorize(table["case"])[0]
    order = ["order", *POINT[2:], "pairs", "source", "target", "part", "bytes"]
    return validated(NETWORK, table.sort_values(order, kind="stable", ignore_index=True))


_MEDIANS = {
    "latency_us": "seconds_p50",
    **{f"latency_us_p{share}": f"seconds_p{share}" for share in PERCENTILES},
    "latency_us_lowest_rank": "seconds_lowest_rank",
    "latency_us_highest_rank": "seconds_highest_rank",
}


def curves_by_point(table: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Yield the rows of each point's curve over the message size.

    Rows with other `LABELS` than the size, such as a pair of ranks, belong to no such curve.

    Parameters
    ----------
    table : DataFrame
        As `network_table` returns it; rows of a curve keep their order.
    """
    plain = table[table[list(LABELS[1:])].isna().all(axis="columns")]
    for _, rows in plain.groupby(list(POINT), dropna=False, sort=False):
        yield rows


def pair_matrix(table: pd.DataFrame, value: str) -> pd.DataFrame:
    """Arrange a value of every pair of ranks as a square matrix.

    Parameters
    ----------
    table : DataFrame
        Rows of one point and message size of benchmark ``pair_matrix``.
    value : str
        Column to arrange: ``latency_us`` or ``bandwidth_MBps``.

    Returns
    -------
    DataFrame
        Symmetric, ranks by ranks; the diagonal is missing.
    """
    pairs = table[table["source"] != table["target"]]
    upper = pairs.pivot(index="source", columns="target", values=value)
    ranks = sorted({*pairs["source"], *pairs["target"]})
    upper = upper.reindex(index=ranks, columns=ranks)
    return upper.fillna(upper.T)


def availability(table: pd.DataFrame) -> pd.DataFrame:
    """Compute the share of an exchange's time in which the processor can do other work, by message size.

    The overhead is the time of an exchange together with longer work, minus the time of the work alone.
    Availability is 1 - overhead / time of the exchange alone. It is 0 if the processor does the whole
    exchange, and 1 if the adapter does (Doerfler and Brightwell, EuroPVM/MPI 2006).

    Parameters
    ----------
    table : DataFrame
        Rows of benchmark ``availability`` as `network_table` returns them.

    Returns
    -------
    DataFrame
        Columns of `POINT`, ``bytes, exchange_us, overhead_us, availability``, in the order of the rows;
        without rows if the table has none of the benchmark.
    """
    key = [*POINT, "bytes"]
    rows = table[table["benchmark"] == "availability"]
    if rows.empty:
        return pd.DataFrame(columns=[*key, "exchange_us", "overhead_us", "availability"])
    wide = rows.groupby([*key, "part"], dropna=False, sort=False)["latency_us"].first().unstack("part")
    wide = wide.reset_index()
    overhead = wide["exchange_and_work"] - wide["work"]
    return wide[key].assign(
        exchange_us=wide["exchange"], overhead_us=overhead, availability=1 - overhead / wide["exchange"]
    )


def after_work(table: pd.DataFrame) -> pd.DataFrame:
    """Compute how much longer an exchange takes after work than directly after another exchange.

    Parameters
    ----------
    table : DataFrame
        Rows of benchmark ``after_work`` as `network_table` returns them.

    Returns
    -------
    DataFrame
        Columns of `POINT`, ``work_us, exchange_us, longer_us``, with rising work; without rows if the
        table has none of the benchmark.
    """
    rows = table[table["benchmark"] == "after_work"]
    work = rows["part"].str.extract(r"after_(\d+)_us", expand=False).astype(float)
    rows = rows[list(POINT)].assign(work_us=work, exchange_us=rows["latency_us"])
    at_once = rows[rows["work_us"] == 0].rename(columns={"exchange_us": "at_once_us"})
    rows = rows[rows["work_us"] > 0].merge(at_once.drop(columns="work_us"), on=list(POINT))
    rows["longer_us"] = rows["exchange_us"] - rows.pop("at_once_us")
    return rows.sort_values("work_us", kind="stable", ignore_index=True)


def sized(table: pd.DataFrame) -> pd.DataFrame:
    """Select the rows with a message size, except rows of a pair of ranks or of a part of an exchange."""
    plain = table[list(LABELS[1:])].isna().all(axis="columns")
    return table[plain & table["bytes"].notna()]


def spreads(table: pd.DataFrame) -> pd.DataFrame:
    """Compute the variability of ping-pongs and exchanges that were run more than once.

    Parameters
    ----------
    table : DataFrame
        As `network_table` returns it.

    Returns
    -------
    DataFrame
        Rows of 0 bytes and powers of two. ``between_percent`` is the median of the slowest run minus the
        median of the fastest run, in percent of the median over the runs. ``within_percent`` is how far the
        95th percentile over the batches lies above the median, in percent; both are medians over the runs.
    """
    rows = powers_only(sized(table))
    rows = rows[rows["benchmark"].isin(DIRECTIONS) & (rows["runs"] > 1)]
    middle = rows["latency_us"]
    return rows.assign(
        between_percent=100 * (rows["latency_us_highest_run"] - rows["latency_us_lowest_run"]) / middle,
        within_percent=100 * (rows["latency_us_p95"] / middle - 1),
    )


def powers_only(table: pd.DataFrame) -> pd.DataFrame:
    """Select the rows whose message size is missing, 0 bytes or a power of two."""
    sizes = table["bytes"].fillna(0).to_numpy("int64")
    is_zero_or_power = sizes & (sizes - 1) == 0
    return table[is_zero_or_power]


def interconnects_of(runs: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """List the interconnects of a study's runs, network curves, transports and prices, including imports."""
    names = ("network", "network_transports", "prices")
    sources = [runs, *(tables[name] for name in names if name in tables)]
    return list(dict.fromkeys(name for source in sources for name in source["interconnect"].dropna()))


def without_benchmarks(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Drop network benchmarks from all tables except the tables about benchmarks.

    The time of a run of a network benchmark is a mean over message sizes, so its speedup has no meaning.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        Tables of a study, as `analysis.pipeline.TABLE_SCHEMAS` names them.
    """
    cases = benchmarks(tables)
    kept = dict(tables)
    for name, table in tables.items():
        if cases and "case" in table and not name.startswith(_OF_BENCHMARKS):
            kept[name] = table[~table["case"].isin(cases)].reset_index(drop=True)
    return kept


_OF_BENCHMARKS = ("network", "traffic")
"""Prefixes of the tables that keep benchmarks of a network."""


def benchmarks(tables: Mapping[str, pd.DataFrame]) -> set[str]:
    """Return the cases that are network benchmarks, which are the cases with network curves or traffic."""
    cases = set(tables["traffic"]["case"]) if "traffic" in tables else set()
    for name in ("network", "network_transports"):
        if name in tables:
            cases |= set(tables[name].loc[tables[name]["imported_from"].isna(), "case"])
    return cases
