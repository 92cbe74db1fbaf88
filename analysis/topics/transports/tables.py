"""Transports below MPI, side by side: measured, printed by other programs, published; MPI beside."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from analysis.runs.columns import COUNT, NOTE, POSITIVE, TEXT, table_schema, validated
from analysis.runs.side_tables import RATE, RUN, WHOLE
from analysis.topics.network.curves import NETWORK, powers_only

POINT = ("site", "case", "interconnect", "kind", "oversubscription", "nodes", "processes")
KEY = ("transport", "test", "bytes", "offered_MBps")
_RATES = ("offered_MBps", "sent_MBps", "received_MBps", "lost_percent")
_LATENCIES = ("latency_us", "latency_us_p5", "latency_us_p95")
_BUSY = ("sender_busy", "receiver_busy")

TRANSPORT_TABLE = table_schema(
    "network_transports",
    interconnect=NOTE,
    **dict.fromkeys(("kind", "transport", "test"), TEXT),
    bytes=WHOLE,
    **dict.fromkeys(_RATES, RATE),
    **dict.fromkeys(_LATENCIES, POSITIVE),
    **dict.fromkeys(_BUSY, RATE),
    program=NOTE,
    **dict.fromkeys(("n", "runs", "processes", "oversubscription", "nodes"), COUNT),
    case=NOTE,
    imported_from=NOTE,
)
"""A row a transport, test and message size; columns.yaml says what the columns mean."""

STATED = {
    ("UD sent", "bandwidth"): ("ud", "stream", "sent_MBps"),
    ("UD received", "bandwidth"): ("ud", "stream", "received_MBps"),
    ("reliable", "bandwidth"): ("rc", "stream", "received_MBps"),
    **{
        (path, quantity): (path, test, column)
        for path in ("ipoib", "verbs")
        for quantity, test, column in (
            ("max bidirectional bandwidth", "both_ways", "received_MBps"),
            ("min latency", "pingpong", "latency_us"),
        )
    },
}
"""Transport, test and column of a published statement about a link, by its path and quantity."""
_UNITS = {"Gbit/s": 125.0, "us": 1.0}


def make_transport_table(
    runs: pd.DataFrame,
    details: pd.DataFrame,
    published: Mapping[str, pd.DataFrame],
    network: pd.DataFrame,
) -> pd.DataFrame:
    """Put everything that is known of transports below one another.

    Parameters
    ----------
    runs : DataFrame
        With the columns of `RUN` and `POINT`.
    published : mapping of str to DataFrame
        Read are ``transports``, what other programs printed, and ``link_statements``.
    network : DataFrame
        Columns of `analysis.topics.network.curves.NETWORK`: ping-pongs of MPI over the same interconnects.

    Returns
    -------
    DataFrame
        Columns of `TRANSPORT_TABLE`; without rows where no transport was measured, imported or published.
    """
    own = _measured(runs, details)
    others = [_imported(published.get("transports")), _stated(published.get("link_statements"))]
    found = [table for table in (own, *others) if len(table)]
    if not found:
        return validated(TRANSPORT_TABLE, pd.DataFrame())
    names = {name for table in found for name in table["interconnect"]}
    found.append(_of_mpi(network[network["interconnect"].isin(names)]))
    return validated(TRANSPORT_TABLE, pd.concat(found, ignore_index=True))


def _measured(runs: pd.DataFrame, details: pd.DataFrame) -> pd.DataFrame:
    frame = runs.reindex(columns=[*RUN, *POINT]).merge(details, on=list(RUN))
    if frame.empty:
        return frame
    # A rate is a share of what TCP carried in the same run, so it differs from run to run: its place counts.
    key = [*POINT, *KEY[:3]]
    place = frame.groupby([*RUN, *KEY[:3]], dropna=False)["offered_MBps"].rank()
    frame = frame.rename(columns={"latency_us_p50": "latency_us"}).assign(place=place.fillna(0))
    groups = frame.groupby([*key, "place"], dropna=False, sort=False)
    table = groups.agg(
        **{name: (name, "median") for name in (*_RATES, *_LATENCIES, *_BUSY)},
        n=("n", "sum"),
        runs=("n", "size"),
    )
    return table.reset_index().assign(program="sockets")


def _imported(rows: pd.DataFrame | None) -> pd.DataFrame:
    return pd.DataFrame() if rows is None else rows.rename(columns={"source": "imported_from"})


def _stated(rows: pd.DataFrame | None) -> pd.DataFrame:
    """Published statements about links that tell transports apart, a row a transport and test."""
    if rows is None:
        return pd.DataFrame()
    found: dict[tuple, dict] = {}
    for row in rows.to_dict("records"):
        if (row["path"], row["quantity"]) not in STATED:
            continue
        transport, test, column = STATED[row["path"], row["quantity"]]
        name = f"infiniband_{str(row['rate']).lower()}"
        line = found.setdefault(
            (name, transport, test),
            {"interconnect": name, "kind": "published", "transport": transport, "test": test},
        )
        line[column] = row["value"] * _UNITS[row["unit"]]
        line["imported_from"] = row["source"]
    table = pd.DataFrame(list(found.values()))
    if {"sent_MBps", "received_MBps"} <= set(table):
        table["lost_percent"] = 100 * (1 - table["received_MBps"] / table["sent_MBps"])
    return table


def _of_mpi(network: pd.DataFrame) -> pd.DataFrame:
    """Ping-pongs of MPI, to stand beside those of transports."""
    rows = powers_only(network[network["benchmark"] == "pingpong"])
    rows = rows.reindex(columns=[name for name in NETWORK.columns if name in TRANSPORT_TABLE.columns])
    return rows.assign(transport="mpi", test="pingpong", program="pingpong")


def best_of_transports(table: pd.DataFrame) -> pd.DataFrame:
    """Sum up each transport of an interconnect.

    Parameters
    ----------
    table : DataFrame
        As `make_transport_table` gives it.

    Returns
    -------
    DataFrame
        A row an interconnect, kind, transport, oversubscription and file: ``latency_us``, the lowest;
        ``sent_MBps``, ``received_MBps``, ``lost_percent`` and the busy columns of the stream that brought
        most in one direction; ``received_both_ways_MBps``.
    """
    rows = []
    key = ["interconnect", "kind", "transport", "oversubscription", "imported_from"]
    for values, own in table.groupby(key, dropna=False, sort=False):
        streams = own[own["test"] == "stream"]
        rates = streams["received_MBps"].fillna(streams["sent_MBps"])
        best = streams.loc[rates.idxmax()] if rates.notna().any() else {}
        rows.append(
            dict(zip(key, values, strict=True))
            | {"latency_us": own.loc[own["test"] == "pingpong", "latency_us"].min()}
            | {name: best.get(name) for name in ("bytes", *_RATES[1:], *_BUSY)}
            | {"received_both_ways_MBps": own.loc[own["test"] == "both_ways", "received_MBps"].max()}
        )
    return pd.DataFrame(rows)
