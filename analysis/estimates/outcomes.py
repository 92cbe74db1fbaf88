"""What a comparison came to, in one word."""

from __future__ import annotations

import pandas as pd

from analysis.tables.missing import Line, is_missing

SHARED = "not to be compared"
OUTCOMES = ("faster", "slower", "not distinguishable", "untested", SHARED)


def outcome(row: Line, quantity: str) -> str:
    """Name the outcome of a row of the improvement or oversubscription table.

    Parameters
    ----------
    row : mapping
        With ``<quantity>_percent``, ``p_adjusted`` and ``distinguishable``.
    quantity : str
        ``improvement`` or ``gain``.

    Returns
    -------
    str
        One of `OUTCOMES`; `SHARED` where the baseline is fastest on one process, the serial run that
        both share.
    """
    if is_missing(row["p_adjusted"]):
        return SHARED if row.get("at_processes") == 1 and row[f"{quantity}_percent"] == 0 else "untested"
    if not row["distinguishable"]:
        return "not distinguishable"
    return "faster" if row[f"{quantity}_percent"] > 0 else "slower"


def is_shared(improvement: pd.DataFrame) -> pd.Series:
    """Say for every row of the improvement table whether its outcome is `SHARED`."""
    shared = [outcome(row, "improvement") == SHARED for row in improvement.to_dict("records")]
    return pd.Series(shared, improvement.index, dtype=bool)
