"""Verdicts on comparisons, and the correction of the tests of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.runs.settings import DISTINGUISHABLE, Settings
from analysis.statistics.multiple_tests import blocks_needed, holm

OUTCOMES = ("faster", "slower", "not distinguishable", "untestable", "untested")
"""Kinds of verdicts. Verdicts of the last two kinds add a reason."""
MEDIANS_DISAGREE = "the medians of all runs say the opposite"
"""Note if the sign of a comparison differs from that of the medians in table ``scaling``."""
SINGLE_VALUE = "(a single value, untested)"
"""End of the verdict on a comparison in which an interconnect has a single value."""
ONE_NODE = "are on one node, so no message crosses the interconnect"
"""End of the note on two points that are not compared, since one does not use its interconnect."""
FASTEST_ALONE = "the baseline is fastest on one process"
"""Note on a comparison at the count where the other interconnect is fastest."""
STOPPED = "runs were stopped at their time limit"
AT_LEAST, AT_MOST, EITHER = (
    f"{STOPPED}: {bound}" for bound in ("at least so much", "at most so much", "the sign is not known")
)
"""Notes on comparisons with stopped runs; after `STOPPED` alone, the estimate does not depend on them."""
INSEPARABLE = "time and interconnect cannot be separated"
"""Verdict if all runs of one interconnect came before all runs of the other."""
WITHIN_ROUNDING = "faster or slower within the rounding"
"""Verdict if times differ by no more than their rounding."""
ORDER_AND_DRIFT = "the order of the runs and a drift may explain the difference"
"""Verdict if one interconnect always ran first in its block, and the drift is as large as the difference."""
RUNS_DEPEND = "successive runs may depend on each other"
"""Verdict in place of a direction if imported runs are too few to show how much they depend on each other."""
UNKNOWN_TURNS = "unknown whether the interconnects took turns: time may explain the difference"
"""Note on imported runs without evidence of whether they took turns."""
DEPENDS_ON_COUNT = "the direction depends on the count"
"""Note if the sign of a comparison differs among the counts at which the baseline may be best."""
DEPENDENT = "blocks depend on the ones before: no interval, no test"
"""Note on a comparison with stopped runs that is not tested."""
_QUANTITIES = ("improvement", "gain", "change")


def corrected(table: pd.DataFrame, factors: Sequence[int] = (), level: float = 0.95) -> pd.DataFrame:
    """Correct the p-values of a table for multiple tests, and judge its rows.

    Parameters
    ----------
    table : DataFrame
        With ``p_value``, empty if there is no test, and optionally: ``paired``, else no row is paired;
        ``least_p``, the smallest p-value that a row's blocks allow, from which the verdict follows;
        ``tested``, a `analysis.curves.point_comparison.Contrast` with the number of candidates.
    factors : sequence of int
        Factor of the p-value of each row, because of earlier looks (see `Settings.look_factors`). By default,
        all factors are 1.
    level : float
        Level of the intervals.

    Returns
    -------
    DataFrame
        `table` with ``p_adjusted``, ``distinguishable``, ``blocks_needed``, and ``verdict`` if there is
        ``least_p``.
    """
    if table.empty:
        return table
    factor = np.asarray(factors or [1] * len(table))
    adjusted = pd.Series(holm(table["p_value"].to_numpy(float) * factor), table.index)
    tested = adjusted.notna()
    paired = table["paired"] if "paired" in table else pd.Series(False, table.index)
    tests = max(tested.sum(), 1)
    contrasts = table.get("tested", [None] * len(table))
    candidates = [getattr(contrast, "candidates", 1) for contrast in contrasts]
    rows = list(zip(paired, candidates, factor, strict=True))
    needed = {
        (is_paired, number, times): max(
            blocks_needed(tests * times, is_paired, DISTINGUISHABLE),
            blocks_needed(number, is_paired, 1 - level),
        )
        for is_paired, number, times in set(rows)
    }
    table = table.assign(
        p_adjusted=adjusted,
        distinguishable=(adjusted <= DISTINGUISHABLE).astype("boolean").where(tested),
        blocks_needed=pd.Series([needed[row] for row in rows], table.index).where(tested),
    )
    if "least_p" in table:
        testable = holm(table["least_p"].where(tested).to_numpy(float) * factor) <= DISTINGUISHABLE
        table["verdict"] = verdicts(table, testable)
        has_direction = table["verdict"].isin(["faster", "slower"])
        table["distinguishable"] = (table["distinguishable"] & has_direction).where(tested)
    return table


def verdicts(table: pd.DataFrame, testable: Sequence[bool] | NDArray[np.bool_]) -> NDArray[np.object_]:
    """Return the verdict on each row: a direction needs the sign, the interval and the corrected test.

    Parameters
    ----------
    table : DataFrame
        With the columns of a quantity in percent, ``distinguishable``, ``coverage``, ``blocks`` and ``kind``.
        A value of ``withheld`` replaces the verdict.
    testable : array (rows,)
        Whether Holm's correction could reject the row if every test were as significant as possible.

    Returns
    -------
    array (rows,)
        With a test: ``faster``, ``slower``, ``untestable with n blocks`` or ``not distinguishable``. Without
        a test: ``faster over the whole band``, ``faster or slower within the band``, ``faster (a single
        value, untested)`` or ``faster (untested)``, and the same with ``slower``. `INSEPARABLE`,
        `WITHIN_ROUNDING`, `ORDER_AND_DRIFT` or `RUNS_DEPEND` if that forbids a direction. None without an
        estimate.
    """
    quantity = next(name for name in _QUANTITIES if f"{name}_percent" in table)
    estimate, low, high = (table[f"{quantity}_{end}"].to_numpy(float) for end in ("percent", "low", "high"))
    tested = table["distinguishable"].notna().to_numpy()
    simulated = table["kind"].str.contains("simulated").to_numpy(bool)
    direction = np.where(estimate > 0, "faster", np.where(estimate < 0, "slower", "equal")).astype(object)
    excludes_zero = ((estimate > 0) & (low > 0)) | ((estimate < 0) & (high < 0))
    untestable = table["blocks"].map(
        lambda number: f"untestable with {number:.0f} blocks", na_action="ignore"
    )
    no_interval = np.isnan(low + high)
    judged = np.select(
        [
            np.isnan(estimate) & ~tested,
            tested & (~np.asarray(testable) | table["coverage"].isna().to_numpy()),
            tested & excludes_zero & table["distinguishable"].fillna(False).to_numpy(bool),
            tested,
            simulated & excludes_zero,
            simulated & ~no_interval,
            no_interval & ~(table["blocks"].to_numpy(float) > 1),
        ],
        [
            np.full(len(table), None),
            untestable.to_numpy(object),
            direction,
            np.full(len(table), "not distinguishable", object),
            direction + " over the whole band",
            np.full(len(table), "faster or slower within the band", object),
            direction + f" {SINGLE_VALUE}",
        ],
        direction + " (untested)",
    )
    if "withheld" in table:
        judged = np.where(table["withheld"].notna(), table["withheld"], judged)
    return judged


def could_decide(tables: Mapping[str, pd.DataFrame], names_baseline: bool, settings: Settings) -> bool:
    """Return whether a test of a report could have shown a direction, whatever the times.

    Only then does the report use up a share of the error rate. Tests of drift and spread do not count, since
    they compare no interconnects.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        Tables of the report, as `corrected` makes them. Others are skipped.
    names_baseline : bool
        Whether the study names its baselines. Otherwise the title tests a comparison without correction.
    settings : Settings
        Settings of the report.
    """
    for table in tables.values():
        if "least_p" not in table:
            continue
        tested = table[table["p_value"].notna()]
        verdicts_on_tests = [tested["verdict"]]
        if "best_verdict" in table:
            verdicts_on_tests.append(table["best_verdict"][table["best_p_value"].notna()])
        if any((texts.map(outcome) != "untestable").any() for texts in verdicts_on_tests):
            return True
        factors = settings.look_factors(tested["case"])
        if not names_baseline and (tested["least_p"] * factors <= DISTINGUISHABLE).any():
            return True
    return False


def outcome(verdict: str | None) -> str:
    """Return which of `OUTCOMES` a verdict belongs to."""
    words = verdict if isinstance(verdict, str) else "untested"
    if words in OUTCOMES:
        return words
    return "untestable" if words.startswith("untestable") else "untested"
