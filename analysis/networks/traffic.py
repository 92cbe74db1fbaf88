"""Traffic patterns that were carried out: offered against accepted load, processes, fairness, slowdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pandera.pandas as pa

from analysis.tables.contract import COUNT, NOTE, POSITIVE, SHARE, TEXT, table_schema, validated

CHOICES = ("sizes", "intervals", "io_mapping", "application_mapping", "destinations", "write_ratio")
"""What a pattern leaves open; a case has some of them."""

POINT = ("site", "case", "interconnect", "kind", "oversubscription", "nodes", "processes")
PHASE = ("pattern", "job", *CHOICES, "offered_load", "beside_load")

_WHOLE = pa.Column("Int64", pa.Check.ge(0), nullable=True)
_RATE = pa.Column(float, pa.Check.ge(0), nullable=True)
_CHOICES = {
    name: pa.Column(float, pa.Check.in_range(0, 1), nullable=True) if name == "write_ratio" else NOTE
    for name in CHOICES
}

TRAFFIC = table_schema(
    "traffic",
    interconnect=NOTE,
    kind=TEXT,
    pattern=TEXT,
    job=TEXT,
    processes=COUNT,
    offered_load=POSITIVE,
    beside_load=POSITIVE,
    accepted_load=_RATE,
    accepted_load_lowest_run=_RATE,
    accepted_load_highest_run=_RATE,
    offered_MBps=_RATE,
    accepted_MBps=_RATE,
    target_MBps=_RATE,
    link_MBps=POSITIVE,
    fairness=SHARE,
    slowdown=POSITIVE,
    delay_seconds_p5=_RATE,
    delay_seconds_p50=_RATE,
    delay_seconds_p95=_RATE,
    clients=COUNT,
    targets=COUNT,
    messages=_WHOLE,
    completed=_WHOLE,
    withheld=_WHOLE,
    runs=COUNT,
    **_CHOICES,
    case=TEXT,
    oversubscription=COUNT,
    nodes=COUNT,
)
"""One row a point, job of a pattern and load, medians over runs; columns.yaml says what they mean."""

PROCESSES = table_schema(
    "traffic_processes",
    interconnect=NOTE,
    kind=TEXT,
    pattern=TEXT,
    job=TEXT,
    processes=COUNT,
    offered_load=POSITIVE,
    beside_load=POSITIVE,
    process=_WHOLE,
    accepted_MBps=_RATE,
    **_CHOICES,
    case=TEXT,
    oversubscription=COUNT,
    nodes=COUNT,
)
"""One row a client of `TRAFFIC`'s rows."""

TRAFFIC_TABLES = {"traffic": TRAFFIC, "traffic_processes": PROCESSES}

_MEDIANS = ("accepted_load", "offered_MBps", "accepted_MBps", "target_MBps", "link_MBps", "fairness",
            "slowdown", "delay_seconds_p5", "delay_seconds_p50", "delay_seconds_p95")  # fmt: skip
_FIRST = ("clients", "targets")
_SUMS = ("messages", "completed", "withheld")


def make_traffic_tables(runs: pd.DataFrame, details: Sequence[Mapping[str, Any]]) -> dict[str, pd.DataFrame]:
    """Gather what traffic patterns came to over the repetitions of each point.

    Parameters
    ----------
    runs : DataFrame
        Valid runs, with the columns of `POINT`.
    details : sequence of mappings
        Of each run, what its program told: ``rows`` as `workflows.benchmarks.traffic` makes them. Those of
        other programs are passed over.

    Returns
    -------
    dict of DataFrame
        Those of `TRAFFIC_TABLES`, empty where no run carried out a pattern; loads rise within a pattern.
    """
    points = runs.reindex(columns=list(POINT)).to_dict("records")
    rows = [
        {**point, **row}
        for point, told in zip(points, details, strict=True)
        for row in told.get("rows", [])
        if "offered_load" in row
    ]
    if not rows:
        return {name: validated(schema, pd.DataFrame()) for name, schema in TRAFFIC_TABLES.items()}
    key = [*POINT, *PHASE]
    values = [*_MEDIANS, *_FIRST, *_SUMS, "process", "process_MBps"]
    frame = pd.DataFrame(rows).reindex(columns=[*key, *values])
    frame[list(_MEDIANS)] = frame[list(_MEDIANS)].astype(float)
    groups = frame.groupby(key, dropna=False, sort=False)
    table = groups.agg(
        **{name: (name, "median") for name in _MEDIANS},
        accepted_load_lowest_run=("accepted_load", "min"),
        accepted_load_highest_run=("accepted_load", "max"),
        **{name: (name, "first") for name in _FIRST},
        **{name: (name, "sum") for name in _SUMS},
        runs=("accepted_load", "size"),
    ).reset_index()
    clients = frame[[*key, "process", "process_MBps"]].explode(["process", "process_MBps"])
    clients["process_MBps"] = clients["process_MBps"].astype(float)
    shares = clients.groupby([*key, "process"], dropna=False, sort=False)["process_MBps"].median()
    shares = shares.rename("accepted_MBps").reset_index()
    tables = {"traffic": table, "traffic_processes": shares}
    return {name: validated(TRAFFIC_TABLES[name], _in_order(one)) for name, one in tables.items()}


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Cases in the order of the runs, then by point and choices, loads rising."""
    places = {name: place for place, name in enumerate(dict.fromkeys(table["case"]))}
    ordered = table.assign(place=table["case"].map(places))
    by = ["place", *POINT[2:], *PHASE, *(["process"] if "process" in table else [])]
    return ordered.sort_values(by, kind="stable", ignore_index=True)
