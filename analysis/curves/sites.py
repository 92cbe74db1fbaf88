"""Studies of several sites, and the names that distinguish their interconnects in figures and the report.

Results of two sites share no curve, no block, no reference and no comparison. Every table has the column
``site``, which is empty in a study of one site. Interconnects with several threads per process are
distinguished in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pandas as pd

from analysis.runs.facts import Facts
from analysis.runs.frames import Tables

INTERCONNECTS = ("interconnect", "baseline_interconnect", "reference_interconnect")
"""Columns that name an interconnect."""
_COMPARE_THREADS = ("hybrid", "packing", "advice", "changes")
"""Tables that compare numbers of threads; their interconnects keep their names."""


def runs_by_site(runs: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name and the runs of each site; the name is empty in a study of one site."""
    if runs["site"].isna().all():
        yield "", runs
        return
    for site, site_runs in runs.groupby(runs["site"].fillna(""), sort=True):
        yield str(site), site_runs


def with_distinct_interconnects(
    runs: pd.DataFrame, tables: Mapping[str, pd.DataFrame], facts: Facts
) -> tuple[pd.DataFrame, Tables, Facts]:
    """Rename interconnects by site and by number of threads, for figures and the report.

    Returns
    -------
    runs, tables, facts
        Unchanged for a study of one site and one thread per process. Otherwise interconnects are called
        ``name@site``, or ``name@2-threads``, and their titles end accordingly. Interconnects keep the order
        of the study, and sites theirs. Tables that compare sites or numbers of threads keep the original
        names, which follow in the facts.
    """
    return _by_threads(*_by_site(runs, tables, facts))


def without_threads(name: str) -> str:
    """Remove the number of threads from the name of an interconnect."""
    return re.sub(r"@\d+-threads$", "", name)


def at_site(name: str, site: str) -> str:
    """Return the name of an interconnect at a site."""
    return f"{name}@{site}" if site else name


def _by_threads(runs: pd.DataFrame, tables: Tables, facts: Facts) -> tuple[pd.DataFrame, Tables, Facts]:
    threaded = runs.loc[runs["threads"] > 1, ["interconnect", "threads"]].dropna().drop_duplicates()
    if threaded.empty:
        return runs, tables, facts
    interconnects = {}
    for name in dict.fromkeys([*facts.interconnects, *sorted(threaded["interconnect"])]):
        about = interconnects[name] = facts.interconnect(name)
        for threads in sorted(threaded.loc[threaded["interconnect"] == name, "threads"]):
            title = f"{about.title or name} ({threads} threads)"
            interconnects[f"{name}@{threads}-threads"] = replace(about, title=title)
    renamed = {
        name: table if name in _COMPARE_THREADS else _with_threads(table) for name, table in tables.items()
    }
    return _with_threads(runs), renamed, replace(facts, interconnects=interconnects)


def _with_threads(table: pd.DataFrame) -> pd.DataFrame:
    """Add the number of threads to the interconnects of rows with several threads per process."""
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
    # A study that imports only network curves has no runs, but the rows of its tables have sites.
    of_tables = [
        table.dropna(subset="site") for table in tables.values() if {"interconnect", "site"} <= {*table}
    ]
    present = pd.concat([table[["interconnect", "site"]].astype("str") for table in (runs, *of_tables)])
    present = present.dropna(subset="interconnect").drop_duplicates()
    if present["site"].isna().all() and runs["site"].isna().all():
        return runs, dict(tables), facts
    names = [*facts.interconnects, *sorted(set(present["interconnect"]) - set(facts.interconnects))]
    sites = list(dict.fromkeys(["", *facts.sites, *sorted(set(present["site"].fillna("")))]))
    pairs = set(zip(present["interconnect"], present["site"].fillna(""), strict=True))
    interconnects = {}
    for name in names:
        about = facts.interconnect(name)
        for site in (site for site in sites if (name, site) in pairs):
            title = about.title or name
            interconnects[at_site(name, site)] = replace(about, title=f"{title} ({site})" if site else title)
    interconnects |= {name: facts.interconnect(name) for name in names}
    renamed = {name: _with_site(table) for name, table in tables.items()}
    return _with_site(runs), renamed, replace(facts, interconnects=interconnects)


def _with_site(table: pd.DataFrame) -> pd.DataFrame:
    """Add the site to the interconnects of a table."""
    if "site" not in table:
        return table
    has_site = table["site"].notna()
    suffix = "@" + table["site"].fillna("")
    columns = [column for column in INTERCONNECTS if column in table]
    return table.assign(
        **{column: table[column].mask(has_site, table[column] + suffix) for column in columns}
    )
