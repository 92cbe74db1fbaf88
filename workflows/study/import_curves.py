"""Network curves of imported files: their sites and repetitions, and names that distinguish the files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import takewhile
from pathlib import Path

import pandas as pd

from analysis.importers import CURVES, Import
from analysis.importers.tables import SOURCE
from workflows.domain import InputError
from workflows.study.sites import at_site
from workflows.study.study import SiteGiven

CURVE = ("site", "interconnect", "kind", "benchmark", "processes", "group", "window", "waiting")
"""Columns that identify a curve of several files."""


def joined_curves(results: Mapping[Path, Import], sites: Mapping[Path, SiteGiven]) -> pd.DataFrame:
    """Join the network curves of all files; `record` names the file as `distinct_names` does.

    Files with a `repetition` of the same curve become one curve: see `_merged_repetitions`.

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
        See `workflows.study.sites.at_site`; also if two files are the same repetition of a curve.
    """
    names, tables = distinct_names(results), []
    for file, imported in results.items():
        if len(imported.curves):
            curves = at_site(imported.curves, file, sites.get(file))
            parts = imported.curves["record"].str.partition(":")
            record = parts[0].replace(file.name, names[file]) + parts[1] + parts[2]
            tables.append(curves.assign(record=record))
    if not tables:
        return pd.DataFrame(columns=list(CURVES.columns))
    return _merged_repetitions(pd.concat(tables, ignore_index=True))


def _merged_repetitions(curves: pd.DataFrame) -> pd.DataFrame:
    """Merge rows that differ only in their repetition: medians, and the extremes of the time over the runs.

    The record of a merged curve has ``*`` where the names of its files differ.

    Raises
    ------
    InputError
        Two files are the same repetition of a curve: one line.
    """
    point = [*CURVE, "bytes"]
    repeated, others = curves[curves["repetition"].notna()], curves[curves["repetition"].isna()]
    if repeated.empty:
        return curves
    twice = repeated[repeated.duplicated([*point, "repetition"], keep=False)]
    if len(twice):
        rows = twice.groupby([*point, "repetition"], dropna=False, sort=False)
        first, second, *_ = next(iter(rows))[1].to_dict("records")
        raise InputError(
            f"{first['record']} and {second['record']}: both are repetition {first['repetition']} of "
            f"{first['benchmark']} over {first['interconnect']}: state what distinguishes the files, such as "
            "site or processes"
        )
    is_several = repeated["runs"].notna()
    files = repeated["record"].str.partition(":")[0]
    files = files.groupby([repeated[name] for name in CURVE], dropna=False).transform(_common_name)
    repeated = repeated.assign(
        lowest=repeated["latency_us_low"].where(is_several, repeated["latency_us"]),
        highest=repeated["latency_us_high"].where(is_several, repeated["latency_us"]),
        count=repeated["runs"].fillna(1),
        record=files + ": " + repeated["record"].str.partition(": ")[2],
    )
    groups = repeated.groupby(point, dropna=False, sort=False)
    merged = groups.agg(
        **{name: (name, "median") for name in ("latency_us", "bandwidth_MBps", "messages_per_second")},
        latency_us_low=("lowest", "min"),
        latency_us_high=("highest", "max"),
        runs=("count", "sum"),
        samples=("samples", "first"),
        record=("record", "first"),
    ).reset_index()
    return CURVES.validate(pd.concat([others, merged], ignore_index=True)[list(CURVES.columns)])


def _common_name(names: pd.Series) -> str:
    """Return the common name of files, with ``*`` where their names differ."""
    distinct = sorted(set(names))
    if len(distinct) == 1:
        return str(distinct[0])
    begin = _common_beginning(distinct)
    end = _common_beginning([name[len(begin) :][::-1] for name in distinct])[::-1]
    return f"{begin}*{end}"


def _common_beginning(texts: Collection[str]) -> str:
    equal = takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    return "".join(letters[0] for letters in equal)


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
