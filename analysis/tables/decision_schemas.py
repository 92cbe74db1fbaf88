"""Schemas of the tables that help to decide: what to buy, how to run, what to ask a centre for."""

from __future__ import annotations

import pandas as pd
import pandera.pandas as pa

from analysis.tables.contract import (
    COUNT,
    NOTE,
    NUMBER,
    OF_A_CURVE,
    OF_A_PAIR,
    POSITIVE,
    SHARE,
    TEXT,
    THREADS,
    table_schemas,
    validated,
    with_interval,
)

_FLAG = pa.Column("boolean", nullable=True)
_MONEY = pa.Column(float, pa.Check.ge(0), nullable=True)

_SIZE = {"processes_per_node": POSITIVE, "nodes": COUNT, "processes": COUNT, "cores": COUNT}
_PERCENT = pa.Column(float, pa.Check.in_range(0, 100), nullable=True)
_RUNNING = {
    "lifetime_years": POSITIVE,
    **with_interval("lifetime_cost", _MONEY),
    **{f"{part}_percent": _PERCENT for part in ("purchase", "energy", "maintenance", "licences")},
    **with_interval("kilowatts", _MONEY),
    **with_interval("lifetime_kWh", _MONEY),
    **with_interval("lifetime_CO2_kg", _MONEY),
}
"""What a cluster costs, draws and uses over its years; empty where a study does not ask."""
_PAID = {"currency": TEXT, **with_interval("cluster_price", _MONEY)}

DECISION_TABLES = table_schemas(
    prices=dict(
        interconnect=TEXT,
        offer=NOTE,
        nodes=COUNT,
        currency=TEXT,
        year=COUNT,
        **with_interval("price_per_node", _MONEY),
        list_price=_MONEY,
        basis=TEXT,
        source=NOTE,
        note=NOTE,
    ),
    cost=dict(
        interconnect=TEXT,
        nodes=COUNT,
        currency=TEXT,
        year=COUNT,
        node_price=_MONEY,
        **with_interval("interconnect_price_per_node", _MONEY),
        **with_interval("cluster_price", _MONEY),
        interconnect_percent=NUMBER,
        basis=NOTE,
        item=TEXT,
        source=NOTE,
        note=NOTE,
        node_year=COUNT,
        **_RUNNING,
    ),
    value=dict(
        **OF_A_CURVE,
        **_SIZE,
        serial=_FLAG,
        **with_interval("speedup", POSITIVE),
        **_PAID,
        **with_interval("price_per_speedup", _MONEY),
        compared_kinds=TEXT,
        pareto=_FLAG,
        pareto_share=SHARE,
        note=NOTE,
        **with_interval("lifetime_cost", _MONEY),
        **with_interval("job_cost", _MONEY),
        **with_interval("job_kWh", _MONEY),
        **with_interval("job_CO2_kg", _MONEY),
    ),
    break_even=dict(
        case=TEXT,
        target_speedup=POSITIVE,
        **OF_A_PAIR,
        oversubscription=COUNT,
        **THREADS,
        **dict.fromkeys(("processes_per_node", "baseline_processes", "equivalent_processes"), POSITIVE),
        baseline_nodes=COUNT,
        equivalent_nodes=COUNT,
        currency=TEXT,
        baseline_interconnect_price_per_node=_MONEY,
        interconnect_price_per_node=_MONEY,
        **with_interval("break_even_node_price", _MONEY),
        pays=NOTE,
        node_price=_MONEY,
        **with_interval("saving", NUMBER),
        verdict=NOTE,
        note=NOTE,
        **with_interval("lifetime_saving", NUMBER),
        lifetime_saving_percent=NUMBER,
        lifetime_verdict=NOTE,
        **with_interval("break_even_nodes", POSITIVE),
        **with_interval("break_even_years", _MONEY),
        pays_in_years=NOTE,
        **with_interval("break_even_energy_price", _MONEY),
        pays_at_energy_price=NOTE,
    ),
    tornado=dict(
        case=TEXT,
        **OF_A_PAIR,
        oversubscription=COUNT,
        **THREADS,
        processes_per_node=POSITIVE,
        target_speedup=POSITIVE,
        input=TEXT,
        **with_interval("value", NUMBER),
        lifetime_saving_percent=NUMBER,
        percent_at_low=NUMBER,
        percent_at_high=NUMBER,
        decides=_FLAG,
    ),
    purchase=dict(
        compared_kinds=TEXT,
        budget=_MONEY,
        interconnect=TEXT,
        kind=TEXT,
        nodes=COUNT,
        **_PAID,
        affordable=_FLAG,
        **with_interval("mean_speedup", POSITIVE),
        best=_FLAG,
        may_be_best=_FLAG,
        note=NOTE,
        kilowatts_limit=POSITIVE,
        **_RUNNING,
    ),
    packing=dict(
        **OF_A_CURVE,
        **_SIZE,
        **dict.fromkeys(("available_cores", "jobs_at_once", "used_cores"), COUNT),
        **with_interval("seconds", POSITIVE),
        efficiency=POSITIVE,
        **with_interval("jobs_per_day", POSITIVE),
        jobs=COUNT,
        **with_interval("makespan_seconds", POSITIVE),
        pareto=_FLAG,
        pareto_share=SHARE,
        **dict.fromkeys(("least_time", "may_be_least_time", "most_jobs", "may_be_most_jobs"), _FLAG),
        least_time_efficient=_FLAG,
        serial=_FLAG,
        occupied_cores=COUNT,
    ),
    advice=dict(
        **dict.fromkeys(("case", "interconnect", "kind", "goal"), TEXT),
        jobs=COUNT,
        available_cores=COUNT,
        advice=TEXT,
        **dict.fromkeys(("processes", "oversubscription", "jobs_at_once", "threads"), COUNT),
        time_per_job_seconds=POSITIVE,
        **with_interval("jobs_per_day", POSITIVE),
        **with_interval("makespan_seconds", POSITIVE),
        not_told_apart=NOTE,
        processes_per_node=POSITIVE,
    ),
    proposal=dict(
        **OF_A_CURVE,
        processes_per_node=POSITIVE,
        nodes=COUNT,
        ranks=COUNT,
        ranks_per_node=POSITIVE,
        n=COUNT,
        **with_interval("seconds", POSITIVE),
        coverage=SHARE,
        **with_interval("speedup", POSITIVE),
        reference_seconds=POSITIVE,
        reference_processes=COUNT,
        reference_interconnect=NOTE,
        **with_interval("efficiency", POSITIVE),
        **with_interval("incremental_efficiency", POSITIVE),
        node_hours=POSITIVE,
        rule=TEXT,
        quantity=TEXT,
        **with_interval("value", POSITIVE),
        at_least=POSITIVE,
        verdict=NOTE,
        note=NOTE,
    ),
)
"""Schema of each table by its name, which is that of its file; columns.yaml says what the columns mean."""


def conform(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Give a table the columns of its schema, in its order and of its types, index from 0.

    Columns that the schema does not have are left out, those that the table does not have are empty.
    """
    return validated(DECISION_TABLES[name], table.reset_index(drop=True))
