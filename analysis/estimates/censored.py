"""Runs that were stopped at their time limit: they took longer than that, and what follows says no more."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.estimates.points import block_times, point_table
from analysis.runs.settings import Settings
from analysis.tables.selection import CURVE

_POINT = ["case", "interconnect", "kind", "oversubscription", "processes", "nodes"]
_COMPARED = {
    "improvement": ("improvement_low", "improvement_high", "average_low", "average_high"),
    "oversubscription": ("gain_low", "gain_high"),
    "placement": ("gain_low", "gain_high"),
}
"""Ends of intervals that are not known where a run was stopped, by table."""
NOTE = "runs were stopped at their time limit: no interval and no test"


def mark_censored(tables: dict[str, pd.DataFrame], runs: pd.DataFrame, settings: Settings) -> None:
    """Mark in the tables of `analysis.estimates.scaling.core_tables` what stopped runs leave unknown.

    A point of ``scaling`` has the number of its blocks that were stopped, and one whose median lies beyond
    the limit a row without it, but with the low end of its interval. A comparison with such a point has
    neither interval nor test.

    Parameters
    ----------
    tables : dict of DataFrame
        Changed; before Holm's correction.
    """
    if "censored" not in runs or not runs["censored"].any():
        return
    points = pd.DataFrame(point_table(*block_times(runs), settings.level)).drop(columns="first")
    points = points[points["censored"] > 0]
    points = points.assign(**{name: points[name].replace("", None) for name in ("interconnect", "site")})
    points["nodes"] = points["nodes"].replace(0, np.nan)
    unknown = points[points["seconds"].isna()].assign(serial=False)
    scaling = tables["scaling"]
    if len(scaling):
        known = points[[*_POINT, "censored"]].dropna(subset="interconnect")
        keyed = scaling[_POINT].astype({"nodes": float})
        scaling["censored"] = keyed.merge(known.astype({"nodes": float}), "left", _POINT)[
            "censored"
        ].to_numpy()
    rows = unknown.dropna(subset="interconnect").drop(columns=["machine", "site"])
    tables["scaling"] = _in_order(pd.concat([scaling, rows], ignore_index=True)) if len(rows) else scaling
    for name, ends in _COMPARED.items():
        _without_tests(tables[name], points, ends)


def _in_order(scaling: pd.DataFrame) -> pd.DataFrame:
    """Rows curve by curve, the curves as they come first, by increasing processes."""
    curve = scaling.groupby(CURVE[:4], sort=False, dropna=False).ngroup()
    order = np.lexsort((scaling["processes"].to_numpy(float), curve))
    return scaling.iloc[order].reset_index(drop=True)


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
