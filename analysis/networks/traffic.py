"""Traffic patterns that were carried out: offered against accepted load, processes, fairness, slowdown."""

from __future__ import annotations

import pandas as pd

from analysis.tables.contract import COUNT, NOTE, POSITIVE, SHARE, TEXT, table_schema, validated
from analysis.tables.details import CHOICE, PHASE, RATE, RUN, WHOLE, Details

POINT = ("site", "case", "interconnect", "kind", "oversubscription", "nodes", "processes")

_PATTERN = {
    "interconnect": NOTE,
    "kind": TEXT,
    "pattern": TEXT,
    "job": TEXT,
    "processes": COUNT,
    "offered_load": POSITIVE,
    "beside_load": POSITIVE,
}
_CASE = {**CHOICE, "case": TEXT, "oversubscription": COUNT, "nodes": COUNT}

TRAFFIC = table_schema(
    "traffic",
    **_PATTERN,
    accepted_load=RATE,
    accepted_load_lowest_run=RATE,
    accepted_load_highest_run=RATE,
    offered_MBps=RATE,
    accepted_MBps=RATE,
    target_MBps=RATE,
    link_MBps=POSITIVE,
    fairness=SHARE,
    slowdown=POSITIVE,
    delay_seconds_p5=RATE,
    delay_seconds_p50=RATE,
    delay_seconds_p95=RATE,
    clients=COUNT,
    targets=COUNT,
    messages=WHOLE,
    completed=WHOLE,
    withheld=WHOLE,
    runs=COUNT,
    **_CASE,
)
"""One row a point, job of a pattern and load, medians over runs; columns.yaml says what they mean."""

PROCESSES = table_schema("traffic_processes", **_PATTERN, process=WHOLE, accepted_MBps=RATE, **_CASE)
"""One row a client of `TRAFFIC`'s rows."""

TRAFFIC_TABLES = {"traffic": TRAFFIC, "traffic_processes": PROCESSES}

_MEDIANS = ("accepted_load", "offered_MBps", "accepted_MBps", "target_MBps", "link_MBps", "fairness",
            "slowdown", "delay_seconds_p5", "delay_seconds_p50", "delay_seconds_p95")  # fmt: skip
_FIRST = ("clients", "targets")
_SUMS = ("messages", "completed", "withheld")


def make_traffic_tables(runs: pd.DataFrame, details: Details) -> dict[str, pd.DataFrame]:
    """Gather what traffic patterns came to over the repetitions of each point.

    Parameters
    ----------
    runs : DataFrame
        With the columns of `RUN` and `POINT`.
    details : mapping of str to DataFrame
        Side tables; ``traffic`` and ``traffic_processes`` are used.

    Returns
    -------
    dict of DataFrame
        Those of `TRAFFIC_TABLES`, empty where no run carried out a pattern; loads rise within a pattern.
    """
    frame = runs.reindex(columns=[*RUN, *POINT]).merge(details["traffic"], on=list(RUN))
    if frame.empty:
        return {name: validated(schema, pd.DataFrame()) for name, schema in TRAFFIC_TABLES.items()}
    key = [*POINT, *PHASE]
    groups = frame.groupby(key, dropna=False, sort=False)
    table = groups.agg(
        **{name: (name, "median") for name in _MEDIANS},
        accepted_load_lowest_run=("accepted_load", "min"),
        accepted_load_highest_run=("accepted_load", "max"),
        **{name: (name, "first") for name in _FIRST},
        **{name: (name, "sum") for name in _SUMS},
        runs=("accepted_load", "size"),
    ).reset_index()
    row = [*RUN, "row"]
    clients = frame[[*row, *key]].merge(details["traffic_processes"], on=row)
    shares = clients.groupby([*key, "process"], dropna=False, sort=False)["process_MBps"].median()
    shares = shares.rename("accepted_MBps").reset_index()
    tables = {"traffic": table, "traffic_processes": shares}
    return {name: validated(TRAFFIC_TABLES[name], _in_order(rows)) for name, rows in tables.items()}


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Cases in the order of the runs, then by point and choices, loads rising."""
    ordered = table.assign(order=pd.factorize(table["case"])[0])
    by = ["order", *POINT[2:], *PHASE, *(["process"] if "process" in table else [])]
    return ordered.sort_values(by, kind="stable", ignore_index=True)
