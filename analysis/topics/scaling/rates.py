"""Rates beside times: work done a second, and runs a day."""

from __future__ import annotations

import pandas as pd

from analysis.runs.runs import TableError
from analysis.statistics.metrics import rate, runs_per_day

_WHERE = ["case", "processes"]


def add_rates(scaling: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Give every point of `scaling` its rate: `runs_per_day`, and `rate` in `rate_unit` a second.

    Both come from the median time, 86400 / T and work / T. A runs table has the work of a repetition
    in the columns `work` (an amount) and `work_unit` (``cell iterations``); a case without them has
    no rate.

    Raises
    ------
    TableError
        If a case does two amounts of work on the same number of processes, or has two units.
    """
    table = scaling.assign(runs_per_day=runs_per_day(scaling["seconds"]))
    if "work" not in runs:
        return table
    worked = runs[runs["valid"] & runs["work"].notna()]
    known = worked.reindex(columns=[*_WHERE, "work", "work_unit"]).drop_duplicates()
    _check_unique(known, _WHERE, "work")
    _check_unique(known, ["case"], "work_unit")
    found = table[_WHERE].merge(known, how="left", on=_WHERE).set_axis(table.index)
    return table.assign(rate=rate(found["work"], table["seconds"]), rate_unit=found["work_unit"])


def _check_unique(known: pd.DataFrame, keys: list[str], column: str) -> None:
    pairs = known[[*keys, column]].drop_duplicates()
    twice = pairs[pairs.duplicated(keys, keep=False)]
    if twice.empty:
        return
    first = twice.iloc[0]
    values = twice.loc[(twice[keys] == first[keys]).all(axis=1), column]
    where = f"case '{first['case']}'" + (f", {first['processes']} processes" if "processes" in keys else "")
    raise TableError(f"is both {values.iloc[0]} and {values.iloc[1]}", where, column=column)
