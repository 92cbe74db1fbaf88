"""What is missing in a table: None, NaN, NA, NaT or an empty text."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

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
