"""Tables for tests without a whole study."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.pipeline import REQUIRED, TABLE_SCHEMAS, make_all_tables
from analysis.runs.columns import validated
from analysis.runs.frames import Piece, stacked
from analysis.runs.settings import Settings
from analysis.topics.topic import Request

CORE = (*REQUIRED, "hybrid", "fastest")


def make_tables(runs: pd.DataFrame, settings: Settings) -> dict[str, pd.DataFrame]:
    """Make the tables that every study has, ``hybrid`` and ``fastest``."""
    tables = make_all_tables(runs, Request(settings), CORE)
    return {name: tables[name] for name in CORE if name in tables}


def finished(name: str, pieces: Sequence[Piece]) -> pd.DataFrame:
    """Make a table from pieces, with the columns of its schema."""
    return validated(TABLE_SCHEMAS[name], stacked(pieces))


def conform(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Give a table the columns of its schema, and an index from 0."""
    return validated(TABLE_SCHEMAS[name], table.reset_index(drop=True))
