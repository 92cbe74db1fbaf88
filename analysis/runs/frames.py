"""Making one table from many small pieces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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


def merge(several: Iterable[Pieces]) -> Pieces:
    """Put the pieces of the same table together, in order."""
    merged: Pieces = {}
    for tables in several:
        for name, pieces in tables.items():
            merged.setdefault(name, []).extend(pieces)
    return merged
