"""What data servers cost: times of operations on the distributed array, and how busy cores are kept."""

from __future__ import annotations

import pandas as pd

from analysis.runs.columns import COUNT, NUMBER, OF_A_POINT, POSITIVE, TEXT, table_schemas, validated
from analysis.runs.side_tables import RUN

DATA_SERVER_TABLES = table_schemas(
    data_servers=dict(
        **OF_A_POINT,
        operation=TEXT,
        runs=COUNT,
        servers=NUMBER,
        **dict.fromkeys(("seconds", "calls", "latency_us", "latency_us_p5", "latency_us_p95"), POSITIVE),
        **dict.fromkeys(("busy_processes", "busy_servers"), NUMBER),
    )
)
"""Schema of the table of this module by its name; columns.yaml says what the columns mean."""
_POINT = ["site", *OF_A_POINT]


def make_data_servers(runs: pd.DataFrame, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Gather operations over the repetitions of each point.

    Parameters
    ----------
    runs : DataFrame
        With the columns of `RUN`, of a point, ``site`` and ``seconds``.
    rows : DataFrame
        Side table ``data_servers``: see `analysis.runs.side_tables.DETAILS`.

    Returns
    -------
    dict of DataFrame
        By its name, the table in the order of the runs; nothing where no run has a row.
    """
    frame = runs.reindex(columns=[*RUN, *_POINT, "seconds"]).merge(rows, on=list(RUN))
    if frame.empty:
        return {}
    medians = {name: (name, "median") for name in ("seconds", "calls", "servers", *_BUSY)}
    medians |= {name: (source, "median") for name, source in _TIMES.items()}
    groups = frame.groupby([*_POINT, "operation"], dropna=False, sort=False)
    table = groups.agg(runs=("seconds", "size"), **medians).reset_index()
    table[list(_TIMES)] *= 1e6
    return {name: validated(schema, table) for name, schema in DATA_SERVER_TABLES.items()}


_BUSY = ("busy_processes", "busy_servers")
_TIMES = {
    "latency_us": "operation_seconds_p50",
    "latency_us_p5": "operation_seconds_p5",
    "latency_us_p95": "operation_seconds_p95",
}
