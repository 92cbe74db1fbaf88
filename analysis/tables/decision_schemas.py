"""Schemas of the tables that help to decide: what to buy, how to run, what to ask a centre for."""

from __future__ import annotations

import pandas as pd
import pandera.pandas as pa

_TEXT = pa.Column(str)
_NOTE = pa.Column(str, nullable=True)
_FLAG = pa.Column("boolean", nullable=True)
_COUNT = pa.Column("Int64", pa.Check.ge(1), nullable=True)
_NUMBER = pa.Column(float, nullable=True)
_POSITIVE = pa.Column(float, pa.Check.gt(0), nullable=True)
_MONEY = pa.Column(float, pa.Check.ge(0), nullable=True)
_SHARE = pa.Column(float, pa.Check.in_range(0, 1), nullable=True)

_CURVE = {"case": _TEXT, "interconnect": _TEXT, "kind": _TEXT, "oversubscription": _COUNT}
_SIZE = {"processes_per_node": _POSITIVE, "nodes": _COUNT, "processes": _COUNT, "cores": _COUNT}
_PAID = {
    "currency": _TEXT,
    "cluster_price": _MONEY,
    "cluster_price_low": _MONEY,
    "cluster_price_high": _MONEY,
}


def _interval(name: str, column: pa.Column) -> dict[str, pa.Column]:
    return {name: column, f"{name}_low": column, f"{name}_high": column}


_COLUMNS: dict[str, dict[str, pa.Column]] = {
    "cost": {
        "interconnect": _TEXT,
        "nodes": _COUNT,
        "currency": _TEXT,
        "year": _COUNT,
        "node_price": _MONEY,
        **_interval("interconnect_price_per_node", _MONEY),
        **_interval("cluster_price", _MONEY),
        "interconnect_percent": _NUMBER,
        "basis": _NOTE,
        "item": _TEXT,
        "source": _NOTE,
        "note": _NOTE,
        "node_year": _COUNT,
    },
    "value": {
        **_CURVE,
        **_SIZE,
        "serial": _FLAG,
        **_interval("speedup", _POSITIVE),
        **_PAID,
        **_interval("price_per_speedup", _MONEY),
        "compared_kinds": _TEXT,
        "pareto": _FLAG,
        "pareto_share": _SHARE,
        "note": _NOTE,
    },
    "break_even": {
        "case": _TEXT,
        "target_speedup": _POSITIVE,
        "baseline_interconnect": _TEXT,
        "interconnect": _TEXT,
        "kind": _TEXT,
        "oversubscription": _COUNT,
        "processes_per_node": _POSITIVE,
        "baseline_processes": _POSITIVE,
        "equivalent_processes": _POSITIVE,
        "baseline_nodes": _COUNT,
        "equivalent_nodes": _COUNT,
        "currency": _TEXT,
        "baseline_interconnect_price_per_node": _MONEY,
        "interconnect_price_per_node": _MONEY,
        **_interval("break_even_node_price", _MONEY),
        "pays": _NOTE,
        "node_price": _MONEY,
        **_interval("saving", _NUMBER),
        "verdict": _NOTE,
        "note": _NOTE,
    },
    "purchase": {
        "compared_kinds": _TEXT,
        "budget": _MONEY,
        "interconnect": _TEXT,
        "kind": _TEXT,
        "nodes": _COUNT,
        **_PAID,
        "affordable": _FLAG,
        **_interval("mean_speedup", _POSITIVE),
        "best": _FLAG,
        "may_be_best": _FLAG,
        "note": _NOTE,
    },
    "packing": {
        **_CURVE,
        **_SIZE,
        "available_cores": _COUNT,
        "jobs_at_once": _COUNT,
        "used_cores": _COUNT,
        **_interval("seconds", _POSITIVE),
        "efficiency": _POSITIVE,
        **_interval("jobs_per_day", _POSITIVE),
        "jobs": _COUNT,
        **_interval("makespan_seconds", _POSITIVE),
        "pareto": _FLAG,
        "pareto_share": _SHARE,
        "least_time": _FLAG,
        "may_be_least_time": _FLAG,
        "most_jobs": _FLAG,
        "may_be_most_jobs": _FLAG,
        "least_time_efficient": _FLAG,
        "serial": _FLAG,
        "occupied_cores": _COUNT,
    },
    "advice": {
        "case": _TEXT,
        "interconnect": _TEXT,
        "kind": _TEXT,
        "goal": _TEXT,
        "jobs": _COUNT,
        "available_cores": _COUNT,
        "advice": _TEXT,
        "processes": _COUNT,
        "oversubscription": _COUNT,
        "jobs_at_once": _COUNT,
        "time_per_job_seconds": _POSITIVE,
        **_interval("jobs_per_day", _POSITIVE),
        **_interval("makespan_seconds", _POSITIVE),
        "not_told_apart": _NOTE,
        "processes_per_node": _POSITIVE,
    },
    "proposal": {
        **_CURVE,
        "processes_per_node": _POSITIVE,
        "nodes": _COUNT,
        "ranks": _COUNT,
        "ranks_per_node": _POSITIVE,
        "n": _COUNT,
        **_interval("seconds", _POSITIVE),
        "coverage": _SHARE,
        **_interval("speedup", _POSITIVE),
        "reference_seconds": _POSITIVE,
        "reference_processes": _COUNT,
        "reference_interconnect": _NOTE,
        **_interval("efficiency", _POSITIVE),
        **_interval("incremental_efficiency", _POSITIVE),
        "node_hours": _POSITIVE,
        "rule": _TEXT,
        "quantity": _TEXT,
        **_interval("value", _POSITIVE),
        "at_least": _POSITIVE,
        "verdict": _NOTE,
        "note": _NOTE,
    },
}

DECISION_TABLES = {
    name: pa.DataFrameSchema({**columns, "site": _NOTE}, name=name, ordered=True, strict=True, coerce=True)
    for name, columns in _COLUMNS.items()
}
"""Schema of each table by its name, which is that of its file; columns.yaml says what the columns mean."""


def conform(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Give a table the columns of its schema, in its order and of its types, index from 0.

    Columns that the schema does not have are left out, those that the table does not have are empty.
    """
    schema = DECISION_TABLES[name]
    return schema.validate(table.reindex(columns=list(schema.columns)).reset_index(drop=True))
