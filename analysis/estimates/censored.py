"""Runs that were stopped at their time limit: they took longer than that, and what follows says no more."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.estimates.points import block_times, point_table
from analysis.runs.settings import Settings
from analysis.tables.contract import (
    COUNT,
    OF_A_POINT,
    POSITIVE,
    SHARE,
    table_schemas,
    validated,
    with_interval,
)

_COMPARED = {
    "improvement": ("improvement_low", "improvement_high", "average_low", "average_high"),
    "oversubscription": ("gain_low", "gain_high"),
    "placement": ("gain_low", "gain_high"),
}
"""Ends of intervals that are not known where a run was stopped, by table."""
NOTE = "runs were stopped at their time limit: no interval and no test"


CENSORED = table_schemas(
    censored=dict(
        **OF_A_POINT,
        cores=COUNT,
        n=COUNT,
        censored=COUNT,
        **with_interval("seconds", POSITIVE),
        coverage=SHARE,
    )
)
"""Schema of the table of this module by its name."""


def make_censored(runs: pd.DataFrame, settings: Settings) -> dict[str, pd.DataFrame]:
    """Make the table ``censored``: a row a point of which some block was stopped; none without such a block.

    A median or an end of its interval that lies beyond the limit is empty.
    """
    points = _stopped_points(runs, settings)
    return {} if points.empty else {"censored": validated(CENSORED["censored"], points)}


def _stopped_points(runs: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    if "censored" not in runs or not runs["censored"].any():
        return pd.DataFrame()
    points = pd.DataFrame(point_table(*block_times(runs), settings.level))
    points = points[points["censored"] > 0].reset_index(drop=True)
    return points.assign(
        **{name: points[name].replace("", None) for name in ("interconnect", "site")},
        nodes=points["nodes"].replace(0, np.nan),
    )


def mark_censored(tables: dict[str, pd.DataFrame], runs: pd.DataFrame, settings: Settings) -> None:
    """Empty intervals and tests of comparisons in which a run was stopped at its time limit.

    Parameters
    ----------
    tables : dict of DataFrame
        Those of `analysis.estimates.scaling.core_tables`, changed; before Holm's correction.
    """
    points = _stopped_points(runs, settings)
    for name, ends in _COMPARED.items() if len(points) else ():
        _without_tests(tables[name], points, ends)


def _without_tests(table: pd.DataFrame, points: pd.DataFrame, ends: tuple[str, ...]) -> None:
    """Empty the intervals and tests of comparisons in which a run was stopped, at any count of the case."""
    if table.empty:
        return
    sides = [name for name in ("baseline_interconnect", "interconnect") if name in table]
    stopped = set(points[["case", "interconnect"]].itertuples(index=False, name=None))
    touched = np.zeros(len(table), bool)
    for side in sides:
        touched |= [pair in stopped for pair in zip(table["case"], table[side], strict=True)]
    for name in (*ends, "p_value", *(name for name in ("least_p", "coverage") if name in table)):
        table.loc[touched, name] = np.nan
    if "baseline_interconnect" in table:
        notes = table["note"] if "note" in table else [None] * len(table)
        told = [NOTE if pd.isna(note) else f"{note}; {NOTE}" for note in notes]
        table["note"] = np.where(touched, told, notes)
