"""What a comparison came to, in a few words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.runs.settings import DISTINGUISHABLE
from analysis.statistics.multiple_tests import blocks_needed, holm

OUTCOMES = ("faster", "slower", "not distinguishable", "untestable", "untested")
"""Kinds of verdicts. Of the last two, verdicts say more."""
MEDIANS_DISAGREE = "the medians of the times say the opposite"
"""Note of a comparison whose sign is not that of the medians in table ``scaling``."""
ONE_NODE = "are on one node, so no message crosses the interconnect"
"""End of the note of two points that are not compared, since one of them does not use its interconnect."""
STOPPED = "runs were stopped at their time limit"
AT_LEAST, AT_MOST, EITHER = (
    f"{STOPPED}: {bound}" for bound in ("at least so much", "at most so much", "the sign is not known")
)
"""Notes of a comparison with such runs: the estimate does not hang on them, or is a bound, or is none."""
INSEPARABLE = "time and interconnect cannot be separated"
"""Verdict if all runs of one interconnect came before all runs of the other."""
WITHIN_ROUNDING = "faster or slower within the rounding"
"""Verdict if times differ by no more than their rounding."""
UNKNOWN_TURNS = "unknown whether the interconnects took turns: time may explain the difference"
"""Note of a comparison of imported runs if nothing shows whether they took turns."""
DEPENDENT = "blocks depend on the ones before: no interval, no test"
"""Note of a comparison with such runs that is not tested."""
_QUANTITIES = ("improvement", "gain", "change")


def corrected(table: pd.DataFrame, alpha: float = DISTINGUISHABLE, level: float = 0.95) -> pd.DataFrame:
    """Correct the p-values of a table, count the blocks that the best would need, and judge.

    Parameters
    ----------
    table : DataFrame
        With ``p_value``, empty where there is no test, and ``paired``; without that column none is paired.
        With ``least_p``, the least p-value that a row's blocks can give, rows are judged too. With ``tested``
        (of `analysis.curves.point_comparison.Contrast`) it is known from how many counts a row's was chosen.
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


def verdicts(table: pd.DataFrame, testable: Sequence[bool] | NDArray[np.bool_]) -> NDArray[np.object_]:
    """Judge every row: a direction needs the sign, the interval and the corrected test.

    Parameters
    ----------
    table : DataFrame
        With the columns of a quantity in percent, ``distinguishable``, ``coverage``, ``blocks`` and ``kind``.
        With ``withheld``, that is the verdict where there is one.
    testable : array (rows,)
        Whether Holm's correction could reject the row, were every test as significant as its blocks allow.

    Returns
    -------
    array (rows,)
        ``faster`` or ``slower``; ``untestable with n blocks``; else ``not distinguishable``. Without a test
        ``faster over the whole band`` (or ``slower``), ``faster or slower within the band``; of one figure
        each ``faster (one figure each, untested)`` and the like. `INSEPARABLE` or `WITHIN_ROUNDING` where
        that forbids a direction. None without an estimate.
    """
    quantity = next(name for name in _QUANTITIES if f"{name}_percent" in table)
    estimate, low, high = (table[f"{quantity}_{end}"].to_numpy(float) for end in ("percent", "low", "high"))
    tested = table["distinguishable"].notna().to_numpy()
    told = np.where(estimate > 0, "faster", np.where(estimate < 0, "slower", "equal")).astype(object)
    sure = ((estimate > 0) & (low > 0)) | ((estimate < 0) & (high < 0))
    blocks = table["blocks"].map(lambda number: f"untestable with {number:.0f} blocks", na_action="ignore")
    unknown = np.isnan(low + high)
    once = unknown & ~(table["blocks"].to_numpy(float) > 1)
    judged = np.select(
        [
            np.isnan(estimate) & ~tested,
            tested & (~np.asarray(testable) | table["coverage"].isna().to_numpy()),
            tested & sure & table["distinguishable"].fillna(False).to_numpy(bool),
            tested,
            table["kind"].str.contains("simulated").to_numpy(bool) & sure,
            table["kind"].str.contains("simulated").to_numpy(bool) & ~unknown,
            once,
        ],
        [
            np.full(len(table), None),
            blocks.to_numpy(object),
            told,
            np.full(len(table), "not distinguishable", object),
            told + " over the whole band",
            np.full(len(table), "faster or slower within the band", object),
            told + " (one figure each, untested)",
        ],
        told + " (untested)",
    )
    if "withheld" in table:
        judged = np.where(table["withheld"].notna(), table["withheld"], judged)
    return judged


def outcome(verdict: str | None) -> str:
    """Say which of `OUTCOMES` a verdict belongs to."""
    words = verdict if isinstance(verdict, str) else "untested"
    if words in OUTCOMES:
        return words
    return "untestable" if words.startswith("untestable") else "untested"
