"""Column types and schemas of the result tables."""

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
"""Column that is last in every table."""
CURVE_COLUMNS = {"case": TEXT, "interconnect": TEXT, "kind": TEXT, "oversubscription": COUNT, **THREADS}
"""Columns that identify a curve."""
POINT_COLUMNS = CURVE_COLUMNS | {"interconnect": NOTE, "processes": COUNT, "nodes": COUNT}
"""Columns that identify a point; a serial run has no interconnect."""
PAIR_COLUMNS = dict.fromkeys(("baseline_interconnect", "interconnect", "kind"), TEXT)
"""Columns that identify the two curves of a comparison."""
P_VALUES = {"p_value": SHARE, "p_adjusted": SHARE, "distinguishable": MARK}
TEST_COLUMNS = {"p_adjusted": SHARE, "blocks": COUNT, "blocks_needed": COUNT}
"""Columns of a test after Holm's correction."""
VERDICT_COLUMNS = {"verdict": NOTE, "coverage": SHARE, "least_p": SHARE}
"""Verdict of a comparison, coverage of its interval, and smallest p-value that its blocks allow."""
SIZE = {"processes_per_node": POSITIVE, "nodes": COUNT, "processes": COUNT, "cores": COUNT}
"""Columns for the size of a run."""
DEPENDENCE = dict.fromkeys(("lag_one_correlation", "effective_blocks"), NUMBER)
"""Dependence of the paired blocks of a comparison on earlier blocks."""
SIMULTANEOUS_INTERVAL = {"simultaneous_low": NUMBER, "simultaneous_high": NUMBER}
"""Simultaneous interval of a comparison in percent: all intervals of a table hold together."""
IMPROVEMENT_KEY = {"case": TEXT, **PAIR_COLUMNS, "oversubscription": COUNT, "at_processes": COUNT}
"""Columns that identify a row of ``improvement``, together with `THREADS`."""


def with_interval(name: str, column: pa.Column) -> dict[str, pa.Column]:
    """Return the columns of a quantity and of the ends of its interval."""
    return {name: column, f"{name}_low": column, f"{name}_high": column}


def in_percent(name: str) -> dict[str, pa.Column]:
    """Return the columns of a change in percent and of the ends of its interval."""
    return {f"{name}_{end}": NUMBER for end in ("percent", "low", "high")}


GAIN_COLUMNS = dict(
    seconds_of_baseline=POSITIVE,
    seconds=POSITIVE,
    **in_percent("gain"),
    paired=FLAG,
    p_value=SHARE,
    distinguishable=MARK,
    **TEST_COLUMNS,
    **VERDICT_COLUMNS,
    **SIMULTANEOUS_INTERVAL,
)
"""Columns of the gain of a placement, level or number of threads over its baseline."""


def table_schema(name: str, **columns: pa.Column) -> pa.DataFrameSchema:
    """Make the closed schema of a table: the given columns in order, then site and threads."""
    last = {"site": NOTE, **{key: columns.pop(key) for key in THREADS if key in columns}}
    return pa.DataFrameSchema(columns | last, name=name, ordered=True, strict=True, coerce=True)


def table_schemas(**tables: dict[str, pa.Column]) -> dict[str, pa.DataFrameSchema]:
    """Make the closed schemas of several tables by name: see `table_schema`."""
    return {name: table_schema(name, **columns) for name, columns in tables.items()}


def validated(schema: pa.DataFrameSchema, table: pd.DataFrame) -> pd.DataFrame:
    """Validate a table; missing columns are added empty, and columns are put in order."""
    return schema.validate(table.reindex(columns=list(schema.columns)))


def empty(schema: pa.DataFrameSchema) -> pd.DataFrame:
    """Return a table without rows."""
    return validated(schema, pd.DataFrame())


def first_fault(errors: SchemaErrors, source: str) -> TableError:
    """Return the first fault of a table as an error."""
    fault = errors.failure_cases.iloc[0]
    shown = "" if fault["check"] == "not_nullable" else f"{str(fault['failure_case'])!r} "
    return TableError(shown + explained(errors.schema, fault), source, column=fault["column"])


def explained(schema: pa.DataFrameSchema, fault: pd.Series) -> str:
    """Describe a failed check of pandera; checks of types and missing values carry no message.

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
