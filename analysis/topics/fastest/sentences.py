"""Which interconnect is fastest where, and by how much."""

from __future__ import annotations

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.formats import counted
from analysis.presentation.labels import Labels
from analysis.presentation.sentences import processes
from analysis.runs.frames import is_missing
from analysis.statistics.shift import EQUAL

POINT = ["site", "case", "compared_kinds", "oversubscription", "processes_per_node", "threads", "processes"]
LONGER = ["longer_percent", "longer_low", "longer_high"]
_COLUMNS = [
    *POINT,
    *("nodes", "interconnects", "interconnect", "kind", "seconds", "next_interconnect", "next_kind"),
    *(f"{which}_{end}" for which in ("lead", "spread") for end in ("percent", "low", "high")),
    *("near", "alike", "equal"),
]


def winners(fastest: pd.DataFrame) -> pd.DataFrame:
    """Find the interconnect with the shortest median time wherever two or more were run.

    Returns
    -------
    DataFrame
        One row a site, case, set of kinds, oversubscription, placement, threads and process count.
        ``nodes``: missing where competitors have different numbers of nodes. ``interconnects``: how many
        compete. ``lead``: how much longer the next takes, ``spread``: the slowest, each with its interval.
        ``near``: how many others may be the fastest, missing where that is not known and none is as fast;
        ``alike``: names of all that may be; ``equal``: of all that are as fast.
    """
    rows = [
        [*point, *_winner(found.sort_values("place"))]
        for point, found in fastest.groupby(POINT, dropna=False, sort=False)
    ]
    return pd.DataFrame(rows, columns=_COLUMNS).sort_values(POINT, ignore_index=True)


def _winner(found: pd.DataFrame) -> list[object]:
    first, second, last = found.iloc[0], found.iloc[1], found.iloc[-1]
    nodes, known = found["nodes"].dropna().unique(), found["may_be_fastest"].notna().all()
    equal = found["longer_percent"].fillna(0).abs() <= 100 * EQUAL
    alike = found["may_be_fastest"].fillna(False) | equal
    return [
        nodes[0] if len(nodes) == 1 and found["nodes"].notna().all() else None,
        len(found),
        *first[["interconnect", "kind", "seconds"]],
        *second[["interconnect", "kind"]],
        *second[LONGER],
        *last[LONGER],
        int(alike.sum()) - 1 if known or equal.sum() > 1 else None,
        *(tuple(found.loc[which, "interconnect"]) for which in (alike, equal)),
    ]


def fastest_run(rows: pd.DataFrame, labels: Labels) -> str:
    """Name the shortest time of a case with where it was taken."""
    best = rows.loc[rows["seconds"].idxmin()]
    name = labels.curve(best)
    nodes = "" if is_missing(best["nodes"]) else f" ({counted(best['nodes'], 'node')})"
    return (
        f"{formats.seconds(best['seconds'])} on {processes(best['processes'])}{nodes}"
        f"{_level(rows, best['oversubscription'])}, over {name}"
    )


def _level(rows: pd.DataFrame, level: int) -> str:
    return f" at oversubscription {level}" if rows["oversubscription"].nunique() > 1 else ""
