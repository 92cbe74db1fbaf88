"""Schemas of the tables: the contract's columns first, in its order, then those appended here."""

from __future__ import annotations

import pandas as pd
import pandera.pandas as pa

TEXT = pa.Column(str)
NOTE = pa.Column(str, nullable=True)
FLAG = pa.Column(bool)
COUNT = pa.Column("Int64", pa.Check.ge(1), nullable=True)
NUMBER = pa.Column(float, nullable=True)
POSITIVE = pa.Column(float, pa.Check.gt(0), nullable=True)
SHARE = pa.Column(float, pa.Check.in_range(0, 1), nullable=True)


OF_A_POINT = {
    "case": TEXT,
    "interconnect": NOTE,
    "kind": TEXT,
    "oversubscription": COUNT,
    "processes": COUNT,
    "nodes": COUNT,
}
"""Columns that name a point."""


def table_schema(name: str, **columns: pa.Column) -> pa.DataFrameSchema:
    """Closed schema of a table: these columns in this order, then the site, cast to their types."""
    return pa.DataFrameSchema(columns | {"site": NOTE}, name=name, ordered=True, strict=True, coerce=True)


def validated(schema: pa.DataFrameSchema, table: pd.DataFrame) -> pd.DataFrame:
    """Validate a table after giving it the schema's columns, empty where it has none, in its order."""
    return schema.validate(table.reindex(columns=list(schema.columns)))


TABLES = {
    "scaling": table_schema(
        "scaling",
        case=TEXT,
        interconnect=TEXT,
        kind=TEXT,
        oversubscription=COUNT,
        nodes=COUNT,
        processes=COUNT,
        cores=COUNT,
        n=COUNT,
        seconds=POSITIVE,
        seconds_low=POSITIVE,
        seconds_high=POSITIVE,
        coverage=SHARE,
        reference_seconds=POSITIVE,
        reference_processes=COUNT,
        speedup=POSITIVE,
        speedup_low=POSITIVE,
        speedup_high=POSITIVE,
        efficiency=POSITIVE,
        efficiency_low=POSITIVE,
        efficiency_high=POSITIVE,
        incremental_efficiency=POSITIVE,
        serial_fraction=NUMBER,
        processes_per_node=POSITIVE,
        reference_interconnect=NOTE,
        reference_cores=COUNT,
        serial=FLAG,
        runs_per_day=POSITIVE,
        rate=POSITIVE,
        rate_unit=NOTE,
    ),
    "peaks": table_schema(
        "peaks",
        case=TEXT,
        interconnect=TEXT,
        kind=TEXT,
        oversubscription=COUNT,
        peak_processes=COUNT,
        peak_set=NOTE,
        peak_speedup=POSITIVE,
        reached=FLAG,
        processes_per_node=POSITIVE,
        peak_speedup_low=POSITIVE,
        peak_speedup_high=POSITIVE,
        blocks=COUNT,
        note=NOTE,
    ),
    "improvement": table_schema(
        "improvement",
        case=TEXT,
        baseline_interconnect=TEXT,
        interconnect=TEXT,
        kind=TEXT,
        oversubscription=COUNT,
        at_processes=COUNT,
        improvement_percent=NUMBER,
        improvement_low=NUMBER,
        improvement_high=NUMBER,
        average_percent=NUMBER,
        average_low=NUMBER,
        average_high=NUMBER,
        paired=FLAG,
        p_value=SHARE,
        distinguishable=FLAG,
        processes_per_node=POSITIVE,
        baseline_peak_processes=COUNT,
        p_adjusted=SHARE,
        blocks=COUNT,
        blocks_needed=COUNT,
        note=NOTE,
    ),
    "node_equivalent": table_schema(
        "node_equivalent",
        case=TEXT,
        target_speedup=POSITIVE,
        baseline_interconnect=TEXT,
        interconnect=TEXT,
        kind=TEXT,
        baseline_processes=POSITIVE,
        equivalent_processes=POSITIVE,
        equivalent_low=POSITIVE,
        equivalent_high=POSITIVE,
        processes_saved=NUMBER,
        attainable=FLAG,
        oversubscription=COUNT,
        processes_per_node=POSITIVE,
    ),
    "oversubscription": table_schema(
        "oversubscription",
        case=TEXT,
        interconnect=TEXT,
        kind=TEXT,
        oversubscription=COUNT,
        cores=COUNT,
        nodes=COUNT,
        processes=COUNT,
        processes_of_one=COUNT,
        seconds=POSITIVE,
        seconds_of_one=POSITIVE,
        gain_percent=NUMBER,
        gain_low=NUMBER,
        gain_high=NUMBER,
        p_value=SHARE,
        distinguishable=FLAG,
        processes_per_node=POSITIVE,
        p_adjusted=SHARE,
        blocks=COUNT,
        blocks_needed=COUNT,
    ),
    "placement": table_schema(
        "placement",
        case=TEXT,
        interconnect=TEXT,
        kind=TEXT,
        oversubscription=COUNT,
        processes=COUNT,
        cores=COUNT,
        processes_per_node_of_baseline=POSITIVE,
        processes_per_node=POSITIVE,
        nodes_of_baseline=COUNT,
        nodes=COUNT,
        seconds_of_baseline=POSITIVE,
        seconds=POSITIVE,
        gain_percent=NUMBER,
        gain_low=NUMBER,
        gain_high=NUMBER,
        paired=FLAG,
        p_value=SHARE,
        distinguishable=FLAG,
        p_adjusted=SHARE,
        blocks=COUNT,
        blocks_needed=COUNT,
    ),
}
"""Schema of each table by its name, which is that of its file."""
