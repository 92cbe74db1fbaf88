"""Which interconnect is fastest where, and by how much."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.runs.kinds import comparable_sets
from analysis.tables.missing import is_missing
from analysis.text import formats
from analysis.text.formats import counted, listed
from analysis.text.labels import Labels
from analysis.text.scaling import processes

POINT = ["site", "case", "kinds", "oversubscription", "processes_per_node", "processes"]
COLUMNS = [
    *POINT,
    "nodes",
    "interconnects",
    "interconnect",
    "kind",
    "seconds",
    "next_interconnect",
    "next_kind",
    "next_seconds",
    "lead_percent",
    "spread_percent",
    "near",
]


def winners(scaling: pd.DataFrame, declared: Sequence[Sequence[str]]) -> pd.DataFrame:
    """Find the interconnect with the shortest median time wherever two or more were run.

    Parameters
    ----------
    scaling : DataFrame
        Table ``scaling`` of any number of cases.
    declared : sequence of pairs of str
        Kinds that the study declares comparable; others do not compete.

    Returns
    -------
    DataFrame
        One row a site, case, set of kinds, oversubscription, placement and process count. ``nodes``: missing
        where competitors have different numbers of nodes. ``interconnects``: how many compete.
        ``lead_percent``: time of the next over that of the fastest, less 1; ``spread_percent``: the same for
        the slowest. ``near``: how many intervals overlap that of the fastest, missing where a time has none.
    """
    own = scaling[~scaling["serial"]]
    rows = []
    for kinds in comparable_sets(own["kind"], declared):
        competing = own[own["kind"].isin(kinds)].assign(kinds="/".join(kinds))
        for point, found in competing.groupby(POINT, dropna=False, sort=False):
            if len(found) > 1:
                rows.append([*point, *_winner(found.sort_values(["seconds", "interconnect"]))])
    return pd.DataFrame(rows, columns=COLUMNS).sort_values(POINT, ignore_index=True)


def _winner(found: pd.DataFrame) -> list[object]:
    first, second = found.iloc[0], found.iloc[1]
    known = found[["seconds_low", "seconds_high"]].notna().all(axis=None)
    nodes = found["nodes"].dropna().unique()
    return [
        nodes[0] if len(nodes) == 1 and found["nodes"].notna().all() else None,
        len(found),
        *first[["interconnect", "kind", "seconds"]],
        *second[["interconnect", "kind", "seconds"]],
        100 * (second["seconds"] / first["seconds"] - 1),
        100 * (found["seconds"].iloc[-1] / first["seconds"] - 1),
        int((found["seconds_low"].iloc[1:] <= first["seconds_high"]).sum()) if known else None,
    ]


def spread_sentences(won: pd.DataFrame) -> list[str]:
    """Say how far apart the interconnects of a case are at each oversubscription level."""
    sentences = []
    for kinds, of_kinds in won.groupby("kinds", sort=False):
        spans = [
            f"{_span(rows['spread_percent'])} longer than the fastest{_level(of_kinds, level)}"
            for level, rows in of_kinds.groupby("oversubscription")
        ]
        which = f" of the {kinds.replace('/', ' and ')} ones" if won["kinds"].nunique() > 1 else ""
        sentences.append(f"The slowest interconnect{which} takes {listed(spans)}.")
    return sentences


def inside_sentences(won: pd.DataFrame) -> list[str]:
    """Say at which counts all of a case's processes are on one node, if others are on several."""
    nodes = won["nodes"].dropna()
    if nodes.empty or nodes.min() > 1 or nodes.max() == 1:
        return []
    counts = sorted(set(won.loc[won["nodes"] == 1, "processes"].map(int)))
    return [
        f"Runs of {processes(*counts)} on one node send nothing through the network: what tells their "
        "interconnects apart there is how messages pass inside the node."
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


def _span(percentages: pd.Series) -> str:
    return formats.spanned(*(formats.percent(percentages.agg(end)) for end in ("min", "max")))
