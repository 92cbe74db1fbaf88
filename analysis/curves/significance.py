"""Whether what tables compare can be told apart: Holm's correction within a table, and verdicts."""

from __future__ import annotations

from itertools import count
from math import comb

import numpy as np
import pandas as pd

from analysis.curves.outcomes import verdicts
from analysis.runs.groups import Floats
from analysis.runs.settings import DISTINGUISHABLE


def holm(p_values: Floats) -> Floats:
    """Holm-adjusted p-values of one family (Holm, Scandinavian Journal of Statistics 6, 1979).

    NaN is no test: it stays NaN and does not count.
    """
    p_values = np.asarray(p_values, float)
    adjusted = np.full(p_values.shape, np.nan)
    tests = np.flatnonzero(~np.isnan(p_values))
    order = tests[np.argsort(p_values[tests], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.maximum.accumulate(p_values[order] * factors).clip(max=1)
    return adjusted


def blocks_needed(tests: int, paired: bool, alpha: float = DISTINGUISHABLE) -> int:
    """Blocks at which the smallest p-value of a family of tests can fall to `alpha` at all.

    The smallest n with ``tests`` times the smallest possible p-value up to it: 2 / 2^n paired, 2 / C(2n, n)
    unpaired. For a single paired test six, for sixteen ten.
    """
    return next(
        blocks
        for blocks in count(2)
        if 2 * tests / (2**blocks if paired else comb(2 * blocks, blocks)) <= alpha
    )


def corrected(table: pd.DataFrame, alpha: float = DISTINGUISHABLE, level: float = 0.95) -> pd.DataFrame:
    """Correct the p-values of a table, count the blocks that the best would need, and judge.

    Parameters
    ----------
    table : DataFrame
        With ``p_value``, empty where there is no test, and ``paired``; without that column none is paired.
        With ``least_p``, the least p-value that a row's blocks can give, rows are judged too. With ``tested``
        (of `analysis.curves.compared.Contrast`) it is known from how many counts a row's was chosen.
    alpha : float
        Adjusted p-value up to which two things count as told apart.
    level : float
        Of the intervals, without which nothing is told apart either.

    Returns
    -------
    DataFrame
        `table` with ``p_adjusted``, ``distinguishable``, ``blocks_needed``, and with ``verdict`` where
        `verdicts` can tell one.
    """
    if table.empty:
        return table
    adjusted = pd.Series(holm(table["p_value"].to_numpy(float)), table.index)
    tested = adjusted.notna()
    paired = table["paired"] if "paired" in table else pd.Series(False, table.index)
    tests, miss = max(tested.sum(), 1), 1 - level
    candidates = [getattr(one, "candidates", 1) for one in table.get("tested", [None] * len(table))]
    rows = list(zip(paired, candidates, strict=True))
    needed = {
        (pairing, several): max(blocks_needed(tests, pairing, alpha), blocks_needed(several, pairing, miss))
        for pairing, several in set(rows)
    }
    table = table.assign(
        p_adjusted=adjusted,
        distinguishable=(adjusted <= alpha).astype("boolean").where(tested),
        blocks_needed=pd.Series([needed[row] for row in rows], table.index).where(tested),
    )
    if "least_p" in table:
        testable = holm(table["least_p"].where(tested).to_numpy(float)) <= alpha
        table["verdict"] = verdicts(table, testable)
    return table
