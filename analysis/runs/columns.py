"""Column types, shared columns and schemas of the result tables.

A table is defined in one module, where `table_schema` states its columns, their types and their descriptions.
``docs/make_reference.py`` writes the reference of tables from these descriptions.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import pandera.pandas as pa
from pandera.errors import SchemaErrors

from analysis.runs.errors import TableError
from analysis.runs.settings import PROCESSES

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
UNIT = {"unit": pa.Column(str, default=PROCESSES)}
"""Column with the unit of the counts that a row compares."""
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


SHARED_DESCRIPTIONS = {
    "case": "Name of the case.",
    "interconnect": "Name of the interconnect; empty for the serial run.",
    "kind": (
        "`measured`, `emulated`, `simulated` or `published`; a pair such as `measured/simulated` "
        "if the study compares kinds."
    ),
    "oversubscription": "Processes per core, data servers included.",
    "nodes": "Number of nodes in use; empty if unknown.",
    "processes": "MPI processes that compute.",
    "cores": "Cores that the processes run on.",
    "processes_per_node": "Processes per node, if the study varies placement.",
    "threads": (
        "Compute threads per process; 1 if the result does not state it. Empty for curves that are compared "
        "by nodes, which may differ in it."
    ),
    "site": "Site of the run; empty if the study has one site.",
    "unit": (
        "Unit of comparison of the case, `processes` or `nodes`. Counts to compare, such as a peak or an "
        "equivalent, are in this unit."
    ),
    "serial": "Whether the row is the serial run, which all interconnects of a case share.",
    "baseline_interconnect": "Interconnect that this one is compared with.",
    "speedup": "*T*₀ / *T(p)*: time of the reference / time of this point.",
    "p_value": "p-value of the test of this row.",
    "p_adjusted": (
        "p-value after Holm's correction over the table. It includes the factor 2ᵏ at look *k* > 1."
    ),
    "distinguishable": (
        "Whether `p_adjusted` is at most 5 %, and `verdict`, if there is "
        "one, is a direction; empty without a test."
    ),
    "verdict": (
        "`faster` or `slower` if sign, interval and `p_adjusted` agree; `untestable with n "
        "blocks`; else `not distinguishable`. Without a test, the direction and the reason: `(a "
        "single value, untested)`, `(untested)`, `over the whole band`. For imported runs also "
        "`time and interconnect cannot be separated`, `faster or slower within the rounding` and `the order "
        "of the runs and a drift may explain the difference`."
    ),
    "coverage": (
        "Coverage of the interval; a lower bound if a count or the fastest was chosen from "
        "several. Empty without an interval."
    ),
    "least_p": "Smallest p-value that this number of blocks can reach.",
    "simultaneous_low": (
        "Lower end of the interval at 1 − α/m, in percent, with m tests in the table. α is 5 %, or "
        "5 %/2ᵏ at look *k* > 1 at the case. All these intervals hold at once. If one excludes 0, Holm's "
        "correction rejects its test. Empty if the number of blocks cannot attain this level, or if the end "
        "is unknown."
    ),
    "simultaneous_high": "Upper end of that interval.",
    "blocks": "Blocks in the test; with two samples, the number of the smaller one.",
    "lag_one_correlation": (
        "Lag-one correlation, from block to block, of the log ratio to the baseline's time. For "
        "unpaired points, the largest correlation of imported times with earlier times; empty if "
        "none depend on them. For 6 to 29 unpaired runs, the mean over all points of the case."
    ),
    "effective_blocks": (
        "Number of independent blocks with the same information. Below 30 blocks it equals "
        "`blocks`, unless the correlation is credible (for unpaired points, possible)."
    ),
    "blocks_needed": (
        "Number of blocks at which the smallest possible p-value reaches the corrected level. If "
        "the count was chosen from several possible peaks, the number at which an interval is "
        "possible."
    ),
    "paired": "Whether the test compares common blocks.",
    "note": "Basis of the row, or the reason for a missing value.",
    "currency": "ISO code of all money in the row.",
    "imported_from": "File of a curve that the study did not measure.",
    "compared_kinds": "Kinds compared in this row, joined by `/`.",
    "pareto": (
        "Whether no other point of the case is better in one of the two quantities and at least "
        "as good in the other."
    ),
    "record": "Path of the record, relative to the study's folder.",
    "started": "Start of the run, ISO 8601.",
    "pareto_share": "Share of the bootstrap draws in which `pareto` holds.",
}
"""Descriptions of columns that mean the same in many tables, by name, unless the table describes them."""


def with_interval(name: str, column: pa.Column, description: str = "") -> dict[str, pa.Column]:
    """Return the columns of a quantity, with its description, and of the ends of its interval."""
    quantity = described(column, description) if description else column
    return {name: quantity, f"{name}_low": column, f"{name}_high": column}


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


def described(column: pa.Column, description: str) -> pa.Column:
    """Return a column with a description, in Markdown, for the reference of tables."""
    return pa.Column(**column.properties | {"description": description})


def with_descriptions(columns: Mapping[str, pa.Column], **descriptions: str) -> dict[str, pa.Column]:
    """Return several columns, of which the named columns have a description."""
    return {**columns, **{name: described(columns[name], text) for name, text in descriptions.items()}}


def table_schema(name: str, description: str, **columns: pa.Column) -> pa.DataFrameSchema:
    """Make the closed schema of a table: the given columns in order, then site and threads.

    Parameters
    ----------
    description : str
        What a row is, in Markdown, for the reference of tables.
    columns : Column
        Types and descriptions of the columns. `SHARED_DESCRIPTIONS` describes columns of many tables. A
        column ``NAME_low`` or ``NAME_high`` without a description is an end of the interval of ``NAME``.
    """
    last = {"site": NOTE, **{key: columns.pop(key) for key in THREADS if key in columns}}
    return pa.DataFrameSchema(
        columns | last, name=name, description=description, ordered=True, strict=True, coerce=True
    )


def table_schemas(*schemas: pa.DataFrameSchema) -> dict[str, pa.DataFrameSchema]:
    """Return schemas by the names of their tables; `table_schema` makes a schema."""
    return {str(schema.name): schema for schema in schemas}


def validated(schema: pa.DataFrameSchema, table: pd.DataFrame) -> pd.DataFrame:
    """Validate a table; missing columns are added with their defaults, and columns are put in order."""
    # pandas gives an empty column the type of numbers, which cannot take a text as its default.
    defaults = {
        name: column.default
        for name, column in schema.columns.items()
        if column.default is not None and (name not in table or table[name].isna().all())
    }
    return schema.validate(table.assign(**defaults).reindex(columns=list(schema.columns)))


def empty(schema: pa.DataFrameSchema) -> pd.DataFrame:
    """Return a table without rows."""
    return validated(schema, pd.DataFrame())


def first_fault(errors: SchemaErrors, source: str) -> TableError:
    """Return the error for the first fault that a schema finds in a table."""
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
