"""Making one table from many small pieces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Piece = Mapping[str, object]
"""Some rows of a table by column: arrays of one length, and single values that hold for all of them."""
Pieces = dict[str, list[Piece]]
"""Pieces of several tables by the name of the table."""
Tables = Mapping[str, pd.DataFrame]
"""Tables by their names."""


def stacked(pieces: Sequence[Piece]) -> pd.DataFrame:
    """Stack pieces into one table.

    A frame a piece would take most of the time where pieces are many and small. Pieces with arrays all
    have the columns of the first; pieces of one row each may lack some.
    """
    if not pieces:
        return pd.DataFrame()
    arrays = [name for name, value in pieces[0].items() if np.ndim(value)]
    if not arrays:
        return pd.DataFrame(list(pieces))
    lengths = [len(piece[arrays[0]]) for piece in pieces]
    columns = {}
    for name in pieces[0]:
        values = [piece[name] for piece in pieces]
        if name in arrays:
            columns[name] = _typed(np.concatenate(values))
        else:
            columns[name] = _typed(np.array(values, object)).repeat(lengths)
    return pd.DataFrame(columns)


def _typed(values: NDArray) -> NDArray | pd.api.extensions.ExtensionArray:
    """Objects as texts or numbers, where they are: few are different, and each is looked at once."""
    if values.dtype != object:
        return values
    codes, different = pd.factorize(values)
    typed = pd.Series(different, dtype=object).infer_objects().array
    return typed.take(codes, allow_fill=True)


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
