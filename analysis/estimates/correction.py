"""Holm's correction of the tests that a table holds."""

from __future__ import annotations

import pandas as pd

from analysis.estimates.significance import DISTINGUISHABLE, blocks_needed, holm


def corrected(table: pd.DataFrame) -> pd.DataFrame:
    """Correct the p-values of a table, and tell how many blocks the best of them would need.

    Parameters
    ----------
    table : DataFrame
        With ``p_value``, empty where there is no test, and ``paired``; without that column no row is.

    Returns
    -------
    DataFrame
        `table` with ``p_adjusted``, ``distinguishable`` and ``blocks_needed``.
    """
    if table.empty:
        return table
    adjusted = pd.Series(holm(table["p_value"].to_numpy(float)), table.index)
    tested = adjusted.notna()
    paired = table["paired"] if "paired" in table else pd.Series(False, table.index)
    needed = {one: blocks_needed(max(tested.sum(), 1), one, DISTINGUISHABLE) for one in (False, True)}
    return table.assign(
        p_adjusted=adjusted,
        distinguishable=adjusted <= DISTINGUISHABLE,
        blocks_needed=paired.map(needed).where(tested),
    )
