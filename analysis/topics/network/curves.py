"""Curves of network benchmarks against message size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from analysis.runs.columns import COUNT, NOTE, POSITIVE, TEXT, table_schema, validated
from analysis.runs.side_tables import LABELS, RUN, WHOLE

PERCENTILES = (5, 25, 75, 95)

POINT = ("site", "case", "interconnect", "kind", "oversubscription", "nodes", "processes", "imported_from")

DIRECTIONS = {"pingpong": 1, "sendrecv": 2}
"""Benchmarks of two processes that have headline numbers, and the messages that are under way at once."""

NETWORK = table_schema(
    "network",
    interconnect=NOTE,
    kind=TEXT,
    benchmark=TEXT,
    processes=COUNT,
    bytes=WHOLE,
    latency_us=POSITIVE,
    bandwidth_MBps=POSITIVE,
    **{f"latency_us_p{share}": POSITIVE for share in PERCENTILES},
    **{f"latency_us_{end}_{what}": POSITIVE for what in ("run", "rank") for end in ("lowest", "highest")},
    busy_share=POSITIVE,
    n=COUNT,
    runs=COUNT,
    case=TEXT,
    **dict.fromkeys(("oversubscription", "nodes", "pairs"), COUNT),
    source=WHOLE,
    target=WHOLE,
    part=NOTE,
    imported_from=NOTE,
    probe_latency_us=POSITIVE,
)
"""One row a point and message size (and what else `LABELS` has); columns.yaml says what the columns mean."""


def network_table(runs: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Gather curves over the repetitions of each point.

    Parameters
    ----------
    runs : DataFrame
        With the columns of `RUN` and `POINT`.
    rows : DataFrame
        Side table ``benchmarks``: see `analysis.runs.side_tables.DETAILS`.

    Returns
    -------
    DataFrame
        Columns of `NETWORK`, points in the order of the runs, sizes rising; without rows where no run
        is of a network benchmark.
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
    times = [column for column in table if column.startswith("latency_us")]
    table[times] *= 1e6
    table["bandwidth_MBps"] = table["moved_bytes"].replace(0, np.nan) / table["latency_us"]
    table["benchmark"] = table["case"].str.partition("-")[0]
    table["order"] = pd.factorize(table["case"])[0]
    by = ["order", *POINT[2:], "pairs", "source", "target", "part", "bytes"]
    return validated(NETWORK, table.sort_values(by, kind="stable", ignore_index=True))


_MEDIANS = {
    "latency_us": "seconds_p50",
    **{f"latency_us_p{share}": f"seconds_p{share}" for share in PERCENTILES},
    "latency_us_lowest_rank": "seconds_lowest_rank",
    "latency_us_highest_rank": "seconds_highest_rank",
}


def network_parts(table: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Give the rows of each curve against size, one a point; points with several curves are left out.

    Parameters
    ----------
    table : DataFrame
        As `network_table` gives it; rows of a curve keep their order.
    """
    plain = table[table[list(LABELS[1:])].isna().all(axis="columns")]
    for _, rows in plain.groupby(list(POINT), dropna=False, sort=False):
        yield rows


def pair_matrix(table: pd.DataFrame, value: str) -> pd.DataFrame:
    """Lay out a figure of every pair of ranks as a square.

    Parameters
    ----------
    table : DataFrame
        Rows of one point and message size of benchmark ``pair_matrix``.
    value : str
        Column to lay out: ``latency_us`` or ``bandwidth_MBps``.

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
    """How much of an exchange's time the processor has for other work, by message size.

    The overhead is what the exchange adds to work that takes longer than the exchange: time of both at
    once less the time of the work alone. Availability is 1 - overhead / time of the exchange: 0 where the
    processor does all of it, 1 where the adapter does (Doerfler and Brightwell, EuroPVM/MPI 2006).

    Parameters
    ----------
    table : DataFrame
        Rows of benchmark ``availability`` as `network_table` gives them.

    Returns
    -------
    DataFrame
        Columns of `POINT`, ``bytes, exchange_us, overhead_us, availability``, in the order of the rows;
        without rows where the table has none of the benchmark.
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
    """How much longer an exchange takes after work than at once after another.

    Parameters
    ----------
    table : DataFrame
        Rows of benchmark ``after_work`` as `network_table` gives them.

    Returns
    -------
    DataFrame
        Columns of `POINT`, ``work_us, exchange_us, longer_us``, work rising; without rows where the
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
    """Rows of curves against the message size, without pairs, parts of an exchange, and barriers."""
    plain = table[list(LABELS[1:])].isna().all(axis="columns")
    return table[plain & table["bytes"].notna()]


def spreads(table: pd.DataFrame) -> pd.DataFrame:
    """How the times of ping-pongs and exchanges that were run more than once vary.

    Parameters
    ----------
    table : DataFrame
        As `network_table` gives it.

    Returns
    -------
    DataFrame
        Rows of 0 bytes and powers of two, with ``between_percent``: slowest less fastest run's median, in
        percent of their median; and ``within_percent``: 95th percentile over a run's batches less its
        median, in percent of that median.
    """
    rows = powers_only(sized(table))
    rows = rows[rows["benchmark"].isin(DIRECTIONS) & (rows["runs"] > 1)]
    middle = rows["latency_us"]
    return rows.assign(
        between_percent=100 * (rows["latency_us_highest_run"] - rows["latency_us_lowest_run"]) / middle,
        within_percent=100 * (rows["latency_us_p95"] / middle - 1),
    )


def powers_only(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of no size, of 0 bytes and of powers of two, without the perturbed sizes beside them."""
    sizes = table["bytes"].fillna(0).to_numpy("int64")
    return table[sizes & (sizes - 1) == 0]


def interconnects_of(runs: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """Interconnects of a study's runs, and of its network curves, transports and prices: imports too."""
    known = ("network", "network_transports", "prices")
    sources = [runs, *(tables[name] for name in known if name in tables)]
    return list(dict.fromkeys(name for source in sources for name in source["interconnect"].dropna()))


def without_benchmarks(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Leave out of all other tables the cases that are benchmarks of a network.

    The time of such a run is a mean over message sizes: a speedup over process counts would mean nothing.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        Of a study, as `analysis.pipeline.TABLE_SCHEMAS` names them.
    """
    names = benchmarks(tables)
    return {
        name: table[~table["case"].isin(names)].reset_index(drop=True)
        if names and "case" in table and not name.startswith(_OF_BENCHMARKS)
        else table
        for name, table in tables.items()
    }


_OF_BENCHMARKS = ("network", "traffic")
"""What the names of the tables of such cases begin with."""


def benchmarks(tables: Mapping[str, pd.DataFrame]) -> set[str]:
    """Cases of a study that are benchmarks of a network: cases of its curves and of its traffic patterns."""
    found = set(tables["traffic"]["case"]) if "traffic" in tables else set()
    for name in ("network", "network_transports"):
        if name in tables:
            found |= set(tables[name].loc[tables[name]["imported_from"].isna(), "case"])
    return found
