"""Studies of several sites: what is estimated separately, and how one report distinguishes it.

Results of two sites share no curve, no block, no reference and no comparison. Every table has the column
``site``, which is empty where a study has one site. What a report tells apart by threads it does alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pandas as pd

from analysis.runs.facts import AboutInterconnect, Facts
from analysis.runs.frames import Tables

INTERCONNECTS = ("interconnect", "baseline_interconnect", "reference_interconnect")
"""Columns that name an interconnect."""
_OF_ALL_THREADS = ("hybrid", "packing", "advice", "changes")
"""Tables that compare numbers of threads, so that their interconnects keep the names they have."""


def split(runs: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Give the runs of each site with its name, which is empty where a study has one site."""
    if runs["site"].isna().all():
        yield "", runs
        return
    for site, own in runs.groupby(runs["site"].fillna(""), sort=True):
        yield str(site), own


def told_apart(
    runs: pd.DataFrame, tables: Mapping[str, pd.DataFrame], facts: Facts
) -> tuple[pd.DataFrame, Tables, Facts]:
    """Make an interconnect at each site and of each number of threads one of its own, for figures and report.

    Returns
    -------
    runs, tables, facts
        The same for a study of one site and of one thread a process. Else interconnects are called
        ``name@site``, of several threads ``name@2-threads``, and their titles in the facts end so; the order
        is the study's, for an interconnect the order of the sites. Tables that compare sites, or numbers of
        threads, keep the names they have, which follow in the facts.
    """
    return _by_threads(*_by_site(runs, tables, facts))


def _by_threads(runs: pd.DataFrame, tables: Tables, facts: Facts) -> tuple[pd.DataFrame, Tables, Facts]:
    several = runs.loc[runs["threads"] > 1, ["interconnect", "threads"]].dropna().drop_duplicates()
    if several.empty:
        return runs, tables, facts
    apart = {}
    for name in dict.fromkeys([*facts.interconnects, *sorted(several["interconnect"])]):
        about = apart[name] = facts.interconnect(name)
        for threads in sorted(several.loc[several["interconnect"] == name, "threads"]):
            title = f"{about.title or name} ({threads} threads)"
            apart[f"{name}@{threads}-threads"] = replace(about, title=title)
    changed = {
        name: table if name in _OF_ALL_THREADS else _of_threads(table) for name, table in tables.items()
    }
    return _of_threads(runs), changed, replace(facts, interconnects=apart)


def without_threads(name: str) -> str:
    """Name an interconnect as it is called of one thread a process."""
    return re.sub(r"@\d+-threads$", "", name)


def _of_threads(table: pd.DataFrame) -> pd.DataFrame:
    """Name the interconnects of rows of several threads a process so."""
    if "threads" not in table:
        return table
    threads = table["threads"].fillna(1)
    suffix = "@" + threads.astype("str") + "-threads"
    columns = [column for column in INTERCONNECTS[:2] if column in table]
    return table.assign(
        **{column: table[column].mask(threads > 1, table[column] + suffix) for column in columns}
    )


def _by_site(
    runs: pd.DataFrame, tables: Mapping[str, pd.DataFrame], facts: Facts
) -> tuple[pd.DataFrame, Tables, Facts]:
    if runs["site"].isna().all():
        return runs, dict(tables), facts
    known = facts.interconnects
    present = runs.dropna(subset="interconnect")[["interconnect", "site"]].drop_duplicates()
    names = [*known, *sorted(set(present["interconnect"]) - set(known))]
    sites = list(dict.fromkeys(["", *facts.sites, *sorted(set(present["site"].fillna("")))]))
    pairs = set(zip(present["interconnect"], present["site"].fillna(""), strict=True))
    apart = {
        at_site(name, site): _at(facts.interconnect(name), name, site)
        for name in names
        for site in sites
        if (name, site) in pairs
    }
    changed = {name: _renamed(table) for name, table in tables.items()}
    both = apart | {name: facts.interconnect(name) for name in names}
    return _renamed(runs), changed, replace(facts, interconnects=both)


def at_site(name: str, site: str) -> str:
    """Name an interconnect at a site."""
    return f"{name}@{site}" if site else name


def _at(about: AboutInterconnect, name: str, site: str) -> AboutInterconnect:
    title = about.title or name
    return replace(about, title=f"{title} ({site})" if site else title)


def _renamed(table: pd.DataFrame) -> pd.DataFrame:
    if "site" not in table:
        return table
    named = table["site"].notna()
    suffix = "@" + table["site"].fillna("")
    columns = [column for column in INTERCONNECTS if column in table]
    return table.assign(**{column: table[column].mask(named, table[column] + suffix) for column in columns})
