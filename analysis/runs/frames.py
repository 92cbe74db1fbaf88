"""Rows and values of tables, and tables from pieces."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

Piece = Mapping[str, object]
"""Some rows of a table by column: arrays of one length, and single values that hold for all of them."""
Pieces = dict[str, list[Piece]]
"""Pieces of several tables by the name of the table."""
Tables = Mapping[str, pd.DataFrame]
"""Tables by their names."""


def stacked(pieces: Sequence[Piece]) -> pd.DataFrame:
    """Stack pieces, which have the columns of the first, into one table; a piece without arrays is one row.

    One frame for each piece would take most of a large study's time.
    """
    if not pieces or not any(np.ndim(value) for _, value in pieces[0].items()):
        return pd.DataFrame(list(pieces))
    lengths = [max(np.size(value) for _, value in piece.items()) for piece in pieces]
    columns = {}
    for name in pieces[0]:
        values = [
            piece[name] if np.ndim(piece[name]) else np.full(length, piece[name], object)
            for piece, length in zip(pieces, lengths, strict=True)
        ]
        columns[name] = np.concatenate(values)
    return pd.DataFrame(columns).infer_objects()


def with_ends(name: str, value: object, low: object, high: object) -> Piece:
    """Columns of a quantity and of the ends of its interval."""
    return {name: value, f"{name}_low": low, f"{name}_high": high}


Line = Mapping[Hashable, Any]
"""A row of a table, by column."""


def is_missing(value: object) -> bool:
    """Whether a value of a table is empty (None, NaN, NA, NaT or an empty text)."""
    return value is None or bool(pd.isna(value)) or value == ""


def as_float(value: object) -> float:
    """Turn a number of a table into a float; an empty one becomes NaN."""
    return math.nan if is_missing(value) else float(value)  # type: ignore[arg-type]


def interval(line: Line, column: str) -> tuple[float, float, float]:
    """Give a value of a row, and the ends of its interval."""
    return tuple(as_float(line[f"{column}{end}"]) for end in ("", "_low", "_high"))


def percent_interval(line: Line, quantity: str) -> tuple[float, float, float]:
    """Give the same of a quantity in percent, whose value is in a column ``<quantity>_percent``."""
    return tuple(as_float(line[f"{quantity}_{end}"]) for end in ("percent", "low", "high"))


CURVE = ["case", "interconnect", "kind", "oversubscription", "processes_per_node", "threads"]
"""Columns that name a curve in every table that has curves."""
BASELINE = ["baseline_interconnect", "kind", "processes_per_node"]
"""Columns that name the baseline of a comparison."""


def rows_like(rows: pd.DataFrame, line: Line, keys: Sequence[str] = CURVE) -> pd.DataFrame:
    """Rows that have the values of `line` in `keys`, a missing one being equal to a missing one alone."""
    same = np.full(len(rows), True)
    for key in keys:
        values = rows[key].array  # a Series would take half as long again
        found = values.isna() if is_missing(line[key]) else values == line[key]
        same &= found if isinstance(found, np.ndarray) else found.to_numpy(bool, na_value=False)
    return rows[same]


def as_lines(rows: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Rows as mappings, as ``to_dict("records")`` gives them, in a quarter of its time."""
    return [dict(zip(rows.columns, line, strict=True)) for line in rows.to_numpy(object).tolist()]


def lowest_level(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of the lowest oversubscription among these."""
    return rows[rows["oversubscription"] == rows["oversubscription"].min()]
