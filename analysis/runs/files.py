"""Reading of CSV files with a closed schema; an error names the file and the line."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pandera.pandas as pa
from pandera.errors import SchemaErrors

from analysis.runs.columns import explained
from analysis.runs.errors import TableError, one_line, readable
from analysis.runs.frames import is_missing

RowRule = tuple[str, Callable[[pd.DataFrame], pd.Series], str]
"""A column, a function that marks the rows whose value breaks a rule, and the message."""


def read_listing(path: str | Path, schema: pa.DataFrameSchema, rules: list[RowRule]) -> pd.DataFrame:
    """Read a CSV file, and check it against a closed schema and rules about several cells.

    Parameters
    ----------
    path : path of a UTF-8 CSV file
    schema : DataFrameSchema
        The ``error`` of each check follows the wrong value in the message, such as "must be above 0".
    rules : list of RowRule
        Rules about several cells.

    Returns
    -------
    DataFrame
        Typed rows in the order of the file, with index from 0. Empty cells are missing values.

    Raises
    ------
    TableError
        For the first line at fault.
    """
    frame, lines = _read_text(Path(path))
    names = list(schema.columns)
    unexpected = [name for name in names if name not in frame] + [name for name in frame if name not in names]
    if unexpected:
        name = unexpected[0]
        message = "is missing" if name in names else "is no column of this table"
        raise TableError(f"{message} (columns: {', '.join(names)})", str(path), column=name)
    if frame.empty:
        raise TableError("holds no row", str(path))
    frame = frame[names]
    try:
        typed = schema.validate(frame, lazy=True)
    except SchemaErrors as errors:
        fault = errors.failure_cases.sort_values("index", kind="stable").iloc[0]
        raise _fault(
            frame, fault["column"], int(fault["index"]), explained(schema, fault), path, lines
        ) from None
    for column, broken, message in rules:
        rows = np.flatnonzero(broken(typed).fillna(False).to_numpy(bool))
        if len(rows):
            raise _fault(frame, column, int(rows[0]), message, path, lines)
    return typed


def _read_text(path: Path) -> tuple[pd.DataFrame, list[int]]:
    """Return the cells as text, with empty cells missing, and the line on which each row ends."""
    with readable(path, csv.Error), path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, strict=True)
        names = next(reader, [])
        rows = [(reader.line_num, cells) for cells in reader if cells]
    if len(set(names)) < len(names):
        raise TableError("a column is there twice", str(path), "line 1")
    for line, cells in rows:
        if len(cells) != len(names):
            raise TableError(
                f"{len(cells)} cells where the header has {len(names)}", str(path), f"line {line}"
            )
    frame = pd.DataFrame([cells for _, cells in rows], columns=names, dtype="str")
    return frame.apply(lambda column: column.str.strip()).replace("", pd.NA), [line for line, _ in rows]


def _fault(
    frame: pd.DataFrame, column: str, row: int, message: str, path: str | Path, lines: list[int]
) -> TableError:
    """Make the error for a cell; the message follows the value of the cell."""
    cell = frame[column].iloc[row]
    fault = message if is_missing(cell) else f"'{one_line(cell)}' {message}"
    return TableError(fault, str(path), f"line {lines[row]}", column, row)
