"""Schemas of the tables: the contract's columns first, in its order, then those appended here."""

from __future__ import annotations

import pandas as pd
import pandera.pandas as pa
from pandera.errors import SchemaErrors

from analysis.runs.errors import TableError

TEXT = pa.Column(str)
NOTE = pa.Column(str, nullable=True)
FLAG = pa.Column(bool)
MARK = pa.Column("boolean", nullable=True)
COUNT = pa.Column("Int64", pa.Check.ge(1, error="must be 1 or more"), nullable=True)
NUMBER = pa.Column(float, nullable=True)
POSITIVE = pa.Column(float, pa.Check.gt(0, error="must be above 0"), nullable=True)
SHARE = pa.Column(float, pa.Check.in_range(0, 1, error="must be from 0 to 1"), nullable=True)

MONEY = pa.Column(float, pa.Check.ge(0, error="must be 0 or more"), nullable=True)

THREADS = {"threads": COUNT}
"""Column of what names a curve or a point that comes last in every table."""
OF_A_CURVE = {"case": TEXT, "interconnect": TEXT, "kind": TEXT, "oversubscription": COUNT, **THREADS}
"""Columns that name a curve."""
OF_A_POINT = OF_A_CURVE | {"interconnect": NOTE, "processes": COUNT, "nodes": COUNT}
"""Columns that name a point; a serial run has no interconnect."""
OF_A_PAIR = dict.fromkeys(("baseline_interconnect", "interconnect", "kind"), TEXT)
"""Columns that name two curves that are compared."""
P_VALUES = {"p_value": SHARE, "p_adjusted": SHARE, "distinguishable": MARK}
OF_A_TEST = {"p_adjusted": SHARE, "blocks": COUNT, "blocks_needed": COUNT}
"""Columns about a test after Holm's correction."""
JUDGED = {"verdict": NOTE, "coverage": SHARE, "least_p": SHARE}
"""What a comparison came to, what its interval covers, and the least p-value that its blocks can give."""
SIZE = {"processes_per_node": POSITIVE, "nodes": COUNT, "processes": COUNT, "cores": COUNT}
"""Columns of the size of a run."""
DEPENDENCE = dict.fromkeys(("lag_one_correlation", "effective_blocks"), NUMBER)
"""How far the paired blocks of a comparison depend on the ones before."""
AT_ONCE = {"simultaneous_low": NUMBER, "simultaneous_high": NUMBER}
"""Interval of a comparison in percent that holds together with those of the whole table."""
OF_AN_IMPROVEMENT = {"case": TEXT, **OF_A_PAIR, "oversubscription": COUNT, "at_processes": COUNT}
"""Columns that name a row of ``improvement``, with `THREADS`."""


def with_interval(name: str, column: pa.Column) -> dict[str, pa.Column]:
    """Columns of a quantity and of the ends of its interval."""
    return {name: column, f"{name}_low": column, f"{name}_high": column}


def in_percent(name: str) -> dict[str, pa.Column]:
    """Columns of a change in percent and of the ends of its interval."""
    return {f"{name}_{end}": NUMBER for end in ("percent", "low", "high")}


OF_A_GAIN = dict(
    seconds_of_baseline=POSITIVE,
    seconds=POSITIVE,
    **in_percent("gain"),
    paired=FLAG,
    p_value=SHARE,
    distinguishable=MARK,
    **OF_A_TEST,
    **JUDGED,
    **AT_ONCE,
)
"""What a placement, or a number of threads, brings beside its baseline."""


def table_schema(name: str, **columns: pa.Column) -> pa.DataFrameSchema:
    """Closed schema of a table: these columns in this order, then site and threads, cast to their types."""
    last = {"site": NOTE, **{key: columns.pop(key) for key in THREADS if key in columns}}
    return pa.DataFrameSchema(columns | last, name=name, ordered=True, strict=True, coerce=True)


def table_schemas(**tables: dict[str, pa.Column]) -> dict[str, pa.DataFrameSchema]:
    """Closed schemas of several tables by their names: see `table_schema`."""
    return {name: table_schema(name, **columns) for name, columns in tables.items()}


def validated(schema: pa.DataFrameSchema, table: pd.DataFrame) -> pd.DataFrame:
    """Validate a table after giving it the schema's columns, empty where it has none, in its order."""
    return schema.validate(table.reindex(columns=list(schema.columns)))


def empty(schema: pa.DataFrameSchema) -> pd.DataFrame:
    """Give a table of a schema without rows."""
    return validated(schema, pd.DataFrame())


def first_fault(errors: SchemaErrors, source: str) -> TableError:
    """Describe the first of the faults that a schema finds in a table."""
    fault = errors.failure_cases.iloc[0]
    shown = "" if fault["check"] == "not_nullable" else f"{str(fault['failure_case'])!r} "
    return TableError(shown + explained(errors.schema, fault), source, column=fault["column"])


def explained(schema: pa.DataFrameSchema, fault: pd.Series) -> str:
    """Say what a failed check of pandera means; types and missing values have no message of their own.

    Parameters
    ----------
    fault : Series
        A row of ``failure_cases`` of pandera's `SchemaErrors`.
    """
    check = str(fault["check"])
    if check.startswith(("coerce_dtype", "dtype")):
        whole = str(schema.columns[fault["column"]].dtype) == "Int64"
        return "is no whole number" if whole else "is no number"
    return "must not be empty" if check == "not_nullable" else check
