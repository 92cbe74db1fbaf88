"""Schemas of tables, and tables checked against them, in little time where nothing is wrong.

Pandera takes a millisecond for a column however few its rows are, and a quarter of a second to be imported,
so it is asked only for the faults of a table that is not plainly sound. A schema has neither an index nor
checks of whole tables.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd


class Check:
    """What values must be: a check of Pandera by its name, what it is given, and what to say of others."""

    def __init__(self, name: str, *given: Any, error: str | None = None, **named: bool) -> None:
        self.name, self.given, self.error, self.named = name, given, error, named


class Column:
    """Type of a column, what its values must be, and whether values, or all of it, may be missing."""

    def __init__(
        self, kind: str | type, *checks: Check, nullable: bool = False, required: bool = True
    ) -> None:
        self.kind, self.checks, self.nullable, self.required = kind, checks, nullable, required

    @property
    def dtype(self) -> Any:
        """Type as pandas has it; that of texts follows ``mode.string_storage``."""
        return pd.api.types.pandas_dtype(self.kind)


@dataclass(frozen=True, eq=False)
class Schema:
    """Columns of a table: whether there are no others (`strict`), in this order, and cast to their types."""

    columns: Mapping[str, Column]
    name: str = ""
    strict: bool = False
    ordered: bool = False
    coerce: bool = False

    def with_columns(self, more: Mapping[str, Column]) -> Schema:
        """Give the schema with more columns, the last ones."""
        return replace(self, columns={**self.columns, **more})

    def without_column(self, name: str) -> Schema:
        """Give the schema without a column."""
        return replace(self, columns={key: column for key, column in self.columns.items() if key != name})


class SchemaError(Exception):
    """What is wrong with a table.

    Attributes
    ----------
    cases : DataFrame
        A row a fault: ``column``, ``index`` (the row), ``failure_case`` (the value) and ``check`` (what the
        check says of it, or else its name).
    """

    def __init__(self, cases: pd.DataFrame) -> None:
        column, check, value = cases[["column", "check", "failure_case"]].iloc[0]
        super().__init__(f"column '{column}': {value!r}: {check}")
        self.cases = cases


def checked(schema: Schema, table: pd.DataFrame) -> pd.DataFrame:
    """Give a table with the types of its schema.

    Raises
    ------
    SchemaError
        If it is not what its schema says.
    """
    dtypes = {name: column.dtype for name, column in schema.columns.items()}
    other = {name: dtypes[name] for name, dtype in table.dtypes.items() if dtypes.get(name, dtype) != dtype}
    try:
        cast = _cast(table, other) if schema.coerce and other else table
    except (TypeError, ValueError, OverflowError):
        return _by_pandera(schema, table)
    return cast if _sound(schema, cast) else _by_pandera(schema, table)


def _by_pandera(schema: Schema, table: pd.DataFrame) -> pd.DataFrame:
    import pandera.pandas as pa
    from pandera.errors import SchemaErrors

    def check(asked: Check) -> pa.Check:
        return getattr(pa.Check, asked.name)(*asked.given, error=asked.error, **asked.named)

    columns = {
        name: pa.Column(
            column.dtype,
            [check(asked) for asked in column.checks],
            nullable=column.nullable,
            required=column.required,
        )
        for name, column in schema.columns.items()
    }
    asked = pa.DataFrameSchema(
        columns, name=schema.name, strict=schema.strict, ordered=schema.ordered, coerce=schema.coerce
    )
    try:
        return asked.validate(table, lazy=True)
    except SchemaErrors as errors:
        raise SchemaError(errors.failure_cases) from None


def empty(schema: Schema) -> pd.DataFrame:
    """Table of a schema without rows."""
    return pd.DataFrame({name: pd.Series(dtype=column.dtype) for name, column in schema.columns.items()})


def _cast(table: pd.DataFrame, dtypes: dict[str, object]) -> pd.DataFrame:
    """What ``table.astype(dtypes)`` gives, in half of the time where columns are short."""
    arrays = {name: column.array for name, column in table.items()}
    arrays |= {name: arrays[name].astype(dtype) for name, dtype in dtypes.items()}
    return pd.DataFrame(arrays, table.index, copy=False)


def _sound(schema: Schema, table: pd.DataFrame) -> bool:
    if (schema.strict or schema.ordered) and list(table) != list(schema.columns):
        return False
    found = dict(table.items())
    return all(
        _sound_column(column, found[name]) if name in found else not column.required
        for name, column in schema.columns.items()
    )


def _sound_column(column: Column, values: pd.Series) -> bool:
    if values.dtype != column.dtype:
        return False
    missing = values.isna().to_numpy()
    if not missing.any():
        there = values
    elif column.nullable:
        there = values[~missing]
    else:
        return False
    return there.empty or all(_holds(check, there) for check in column.checks)


def _holds(check: Check, values: pd.Series) -> bool:
    match check.name, check.given:
        case "gt", (least,):
            return bool(values.to_numpy().min() > least)
        case "ge", (least,):
            return bool(values.to_numpy().min() >= least)
        case "in_range", (least, most):
            ends = (check.named.get(f"include_{end}", True) for end in ("min", "max"))
            above, below = (operator.ge if included else operator.gt for included in ends)
            numbers = values.to_numpy()
            return bool(above(numbers.min(), least) and below(most, numbers.max()))
        case "equal_to", (value,):
            return bool((values.to_numpy() == value).all())
        case "isin", (allowed,):
            return set(values.unique()).issubset(allowed)
        case "str_matches", (pattern,):
            return all(isinstance(text, str) and re.match(pattern, text) for text in values.unique())
    raise ValueError(f"no check {check.name!r}")
