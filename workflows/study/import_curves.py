"""Network curves of imported files: their sites, and names that distinguish the files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import pandas as pd

from analysis.importers import CURVES, Import
from analysis.importers.tables import SOURCE
from workflows.study.sites import at_site
from workflows.study.study import SiteGiven


def joined_curves(results: Mapping[Path, Import], sites: Mapping[Path, SiteGiven]) -> pd.DataFrame:
    """Join the network curves of all files; `record` names the file as `distinct_names` does.

    Parameters
    ----------
    sites : mapping of Path to SiteGiven
        Sites that the study states for files.

    Returns
    -------
    DataFrame
        Columns of `analysis.importers.CURVES`; without rows if no file has a curve.

    Raises
    ------
    InputError
        See `workflows.study.sites.at_site`.
    """
    names, tables = distinct_names(results), []
    for file, imported in results.items():
        if len(imported.curves):
            curves = at_site(imported.curves, file, sites.get(file))
            parts = imported.curves["record"].str.partition(":")
            record = parts[0].replace(file.name, names[file]) + parts[1] + parts[2]
            tables.append(curves.assign(record=record))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=list(CURVES.columns))


def with_distinct_sources(results: Mapping[Path, Import]) -> dict[Path, dict[str, pd.DataFrame]]:
    """Return the derived figures of each file; `source` names the file as `distinct_names` does."""
    names = distinct_names(results)
    return {
        file: {
            name: table.assign(**{SOURCE: table[SOURCE].replace(file.name, names[file])})
            if SOURCE in table
            else table.assign(**{SOURCE: names[file]})
            for name, table in imported.derived.items()
        }
        for file, imported in results.items()
    }


def distinct_names(files: Collection[Path]) -> dict[Path, str]:
    """Return the name of each file, with the folders that distinguish files of the same name.

    Examples
    --------
    >>> list(distinct_names([Path("x/a/l.out"), Path("x/b/l.out"), Path("x/b/m.out")]).values())
    ['a/l.out', 'b/l.out', 'm.out']
    """
    names = {}
    for file in files:
        others = [other for other in files if other.name == file.name and other != file]
        length = 1
        while any(other.parts[-length:] == file.parts[-length:] for other in others):
            length += 1
        names[file] = Path(*file.parts[-length:]).as_posix()
    return names
