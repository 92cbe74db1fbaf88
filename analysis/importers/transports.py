"""Results of tests of transports below MPI."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Entries
from pathlib import Path

import pandas as pd
import pandera.pandas as pa
from pandera.errors import SchemaErrors

from analysis.importers.mapping import Mapping
from analysis.importers.plausible import implausible
from analysis.importers.results import NO_INTERCONNECT, Import, network_constants
from analysis.runs.columns import described, first_fault
from analysis.runs.runs import KIND, NAME, TableError

MEBI = 2**20 / 1e6
"""2^20 bytes in 10^6 bytes."""
GIGABIT = 1e9 / 8e6
"""10^9 bits in 10^6 bytes."""

TESTS = ("pingpong", "stream", "both_ways")
RELIABLE = ("tcp", "rc", "xrc", "sctp")
"""Transports without loss: all sent bytes are received."""

_SIZE = pa.Check.in_range(0, 2**62, error="must be 0 or more")
_RATE = pa.Column(float, pa.Check.ge(0, error="must be 0 or more"), nullable=True)
TRANSPORTS = pa.DataFrameSchema(
    {
        "interconnect": pa.Column(str, NAME),
        "kind": pa.Column(str, KIND),
        "program": described(pa.Column(str), "Program and test; `-q 4` for 4 queue pairs of perftest."),
        "transport": described(pa.Column(str, NAME), "`tcp`, `udp`; for InfiniBand `rc`, `uc`, `ud`, `xrc`."),
        "test": described(
            pa.Column(str, pa.Check.isin(TESTS, error=f"must be one of {', '.join(TESTS)}")),
            "`pingpong`, `stream` in one direction, `both_ways`.",
        ),
        "bytes": described(pa.Column("Int64", _SIZE, nullable=True), "Bytes per message, if printed."),
        "latency_us": described(
            pa.Column(float, pa.Check.gt(0, error="must be above 0"), nullable=True),
            "Half a round trip; for an RDMA read a whole round trip.",
        ),
        "sent_MBps": described(_RATE, "10⁶ bytes/s; for a reliable transport the same as `received_MBps`."),
        "received_MBps": described(_RATE, "10⁶ bytes/s."),
        "lost_percent": described(_RATE, "Messages that were not received, in percent of those sent."),
        "sender_busy": described(_RATE, "Cores that the sending program kept busy."),
        "receiver_busy": described(_RATE, "Cores that the receiving program kept busy."),
    },
    name="transports",
    description="Results of tests of transports below MPI, as perftest, qperf, iperf3, netperf and "
    "sockperf print them.",
    strict=True,
    coerce=True,
)
"""Columns of the table, with one row per transport, test and message size.

`transport` is for example rc, uc or ud (InfiniBand's connections and datagrams), tcp or udp. The busy columns
are the cores that the two programs use."""


def make_transports(
    rows: Iterable[Entries[str, object]], unread: list[str], mapping: Mapping, source: str
) -> Import:
    """Complete the rows of the output of a transport test.

    Parameters
    ----------
    rows : iterable of mappings
        Columns of `TRANSPORTS` that the output holds.
    unread : list of str
        One line for each part of the output that was skipped.
    mapping : Mapping
        Constants that the output does not hold: `interconnect`; `kind`, else ``published``.

    Raises
    ------
    TableError
        If there is no row, the mapping names no interconnect, or a value is out of range.
    """
    constants = network_constants(mapping, source, ("interconnect", "kind", "processes"))
    unread, rows = list(unread), list(rows)
    faults = [implausible(row) for row in rows]
    unread += [
        f"{source}: {row['program']}: {fault}" for row, fault in zip(rows, faults, strict=True) if fault
    ]
    rows = [row for row, fault in zip(rows, faults, strict=True) if not fault]
    rows = [{"kind": "published", **constants, **_completed(dict(row))} for row in rows]
    if not rows:
        raise TableError("holds no result" + (f": {unread[0]}" if unread else ""), source)
    if "interconnect" not in constants:
        raise TableError(NO_INTERCONNECT, source, column="interconnect")
    frame = pd.DataFrame(rows).reindex(columns=list(TRANSPORTS.columns))
    try:
        table = TRANSPORTS.validate(frame, lazy=True)
    except SchemaErrors as errors:
        raise first_fault(errors, source) from None
    return Import(derived={"transports": table.assign(source=Path(source).name)}, unread=unread)


def _completed(row: dict[str, object]) -> dict[str, object]:
    """Add the rate or the loss that follows from the printed values."""
    sent, received = _rate(row, "sent_MBps"), _rate(row, "received_MBps")
    if row["transport"] in RELIABLE:
        row["sent_MBps"], row["received_MBps"] = sent or received, received or sent
    elif sent and received is not None and "lost_percent" not in row:
        row["lost_percent"] = max(0.0, 100 * (1 - received / sent))
    return row


def _rate(row: dict[str, object], column: str) -> float | None:
    value = row.get(column)
    return float(value) if isinstance(value, int | float) else None
