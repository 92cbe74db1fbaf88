"""Traffic patterns that were carried out: offered against accepted load, processes, fairness, slowdown."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.runs.columns import COUNT, NOTE, POSITIVE, SHARE, TEXT, table_schemas, validated
from analysis.runs.side_tables import CHOICE, DELAYS, PHASE, RATE, RUN, WHOLE, Details

POINT = ("site", "case", "interconnect", "kind", "oversubscription", "nodes", "processes")

_PATTERN = {
    "interconnect": NOTE,
    **dict.fromkeys(("kind", "pattern", "job"), TEXT),
    "processes": COUNT,
    "offered_load": POSITIVE,
    "beside_load": POSITIVE,
}
_CASE = {**CHOICE, "case": TEXT, "oversubscription": COUNT, "nodes": COUNT, "mean_bytes": WHOLE}
_RATES = ("offered_MBps", "accepted_MBps", "target_MBps")
_DELAYS = tuple(f"delay_seconds_p{share}" for share in DELAYS)
_MEDIANS = ("accepted_load", *_RATES, "link_MBps", "fairness", "slowdown", *_DELAYS)
_FIRST = ("clients", "targets")
_SUMS = ("messages", "completed", "withheld")

TRAFFIC_TABLES = table_schemas(
    traffic=dict(
        **_PATTERN,
        **dict.fromkeys(("accepted_load", "accepted_load_lowest_run", "accepted_load_highest_run"), RATE),
        **dict.fromkeys(_RATES, RATE),
        link_MBps=POSITIVE,
        fairness=SHARE,
        slowdown=POSITIVE,
        **dict.fromkeys(_DELAYS, RATE),
        **dict.fromkeys(_FIRST, COUNT),
        **dict.fromkeys(_SUMS, WHOLE),
        runs=COUNT,
        **_CASE,
    ),
    traffic_processes=dict(**_PATTERN, process=WHOLE, accepted_MBps=RATE, **_CASE),
)
"""``traffic`` has one row a point, job of a pattern and load, medians over runs; ``traffic_processes`` one a
client of these. columns.yaml says what the columns mean."""


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


def cases_that_vary(traffic: pd.DataFrame, choices: Sequence[str]) -> set[str]:
    """Cases whose runs had several values, or pairs of values, of the columns `choices` in one job."""
    different = traffic.drop_duplicates(["case", "job", *choices])
    several = different.duplicated(["case", "job"])
    return set(different.loc[several, "case"])


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Cases in the order of the runs, then by point and choices, loads rising."""
    ordered = table.assign(order=pd.factorize(table["case"])[0])
    by = ["order", *POINT[2:], *PHASE, *(["process"] if "process" in table else [])]
    return ordered.sort_values(by, kind="stable", ignore_index=True)
