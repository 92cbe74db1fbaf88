"""What is missing in a table: None, NaN, NA, NaT or an empty text."""

from __future__ import annotations

import math

import pandas as pd


def is_missing(value: object) -> bool:
    """Whether a value of a table is empty (None, NaN, NA, NaT or an empty text)."""
    return value is None or bool(pd.isna(value)) or value == ""


def as_float(value: object) -> float:
    """Turn a number of a table into a float; an empty one becomes NaN."""
    return math.nan if is_missing(value) else float(value)  # type: ignore[arg-type]
