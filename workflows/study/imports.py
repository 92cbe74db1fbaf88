"""Read and check the files that a study imports, before the first run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from analysis.importers import make_mapping, merge_derived, read_foreign, with_resolution
from analysis.importers.tables import table_of
from analysis.runs.runs import TableError, line_of
from analysis.runs.settings import NODES
from analysis.topics.changes.tables import check_site_names, check_sites
from analysis.topics.network.imports import FILE
from workflows.domain import InputError, LeftOut
from workflows.inputs import table_errors_in
from workflows.study.import_curves import joined_curves, with_distinct_sources
from workflows.study.log_rows import read_logs
from workflows.study.logs import Logs
from workflows.study.populations import Population, split_by_settings
from workflows.study.request import check_names
from workflows.study.sites import at_site
from workflows.study.study import SiteGiven, Study, check_kinds

_REFERENCE = ["site", "case", "kind"]
"""Columns that identify a reference: each combination of their values may have only one serial point."""

Origin = tuple[Path, int | None]
"""A file and the index of a row in it; None if the file holds one run."""


@dataclass(frozen=True, eq=False)
class Imported:
    """Content of imported files.

    Attributes
    ----------
    runs : DataFrame
        Runs of all files, with the columns of the runs table that the files have. Blocks of different files
        have different numbers, because they did not run together. The order of runs is only known within a
        file, so the column ``order_from`` includes the position of the file in the study.
    origins : tuple of Origin
        Origin of each row of `runs`.
    published : dict of str to DataFrame
        Tables of imported values that are not times of runs, by name, such as network curves.
    unread : list of LeftOut
        Parts that could not be read, with the reason, and remarks on rows that may be copies.
    populations : dict of str to Population
        Interconnects that the study's settings split off, by their new names.
    """

    runs: pd.DataFrame
    origins: tuple[Origin, ...]
    published: dict[str, pd.DataFrame]
    unread: list[LeftOut]
    populations: dict[str, Population] = field(default_factory=dict)


def imports_of(study: Study) -> Imported:
    """Read everything that a study imports, and split the runs by its settings.

    Raises
    ------
    InputError
        A file cannot be read or is damaged, or a setting is no column of the runs: one line.
    """
    imported = read_imports(
        study.imports,
        study.import_sites,
        study.import_mappings,
        study.import_formats,
        study.import_matches,
        study.logs,
        study.settings,
    )
    runs, populations = split_by_settings(imported.runs, study.settings, f"{study.file}: settings")
    return replace(imported, runs=runs, populations=populations)


def read_imports(
    files: Sequence[Path],
    sites: Mapping[Path, SiteGiven],
    mappings: Mapping[Path, Mapping[str, Any]] = MappingProxyType({}),
    formats: Mapping[Path, str] = MappingProxyType({}),
    matches: frozenset[Path] = frozenset(),
    logs: Sequence[Logs] = (),
    settings: tuple[str, ...] = (),
) -> Imported:
    """Read results of other tools and other studies.

    Parameters
    ----------
    sites : mapping of Path to SiteGiven
        Sites that the study states for files.
    mappings : mapping of Path to mapping
        Meaning of the columns of files: see `analysis.importers.make_mapping`.
    formats : mapping of Path to str
        Formats that the study states for files: see `analysis.importers.read_foreign`.
    matches : frozenset of Path
        Files that a pattern of the study matches. Unreadable files among them are listed, if one can be read.
    logs : sequence of Logs
        Logs of runs; those of an entry of the study count as a file.
    settings : tuple of str
        Columns that separate points: see `analysis.importers.mapping.Mapping`.

    Raises
    ------
    InputError
        A file cannot be read or is damaged: one line.
    """
    tables, origins, unread, blocks = [], [], [], 0
    try:
        meanings = {
            file: replace(make_mapping(mappings.get(file, {}), f"mapping of {file}"), settings=settings)
            for file in files
        }
        results, faults = {}, list[TableError]()
        for file in files:
            try:
                results[file] = read_foreign(file, formats.get(file), meanings[file])
            except TableError as error:
                if file not in matches:
                    raise
                faults.append(error)
        if faults and not matches & results.keys():
            raise faults[0]
        published = merge_derived(with_distinct_sources(results))
    except TableError as error:
        raise InputError(str(error)) from None
    if len(curves := joined_curves(results, sites)):
        published[Path(FILE).stem] = curves
    unread += [LeftOut("unreadable", str(error)) for error in faults]
    parts: list[tuple[pd.DataFrame, list[Origin]]] = []
    for file, imported in results.items():
        runs = imported.runs if len(imported.curves) else at_site(imported.runs, file, sites.get(file))
        parts.append((runs, [(file, row) for row in range(len(runs))]))
        unread += [LeftOut(f"in {file}", line) for line in (*imported.unread, *imported.remarks)]
    for entry in logs:
        rows = read_logs(entry, settings)
        parts.append((rows.runs, [(file, None) for file in rows.files]))
        unread += rows.unread
    for number, (table, from_files) in enumerate(parts, 1):
        runs = with_resolution(table).dropna(axis="columns", how="all")
        order = table["order_from"].fillna("block") + f" of file {number}"
        tables.append(runs.assign(block=table["block"] + blocks, order_from=order))
        origins += from_files
        blocks += int(table["block"].max()) if len(runs) else 0
    runs = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    return Imported(runs, tuple(origins), published, unread)


def check_imports(study: Study, kinds: Collection[str] = ()) -> None:
    """Check the files that a study imports, as far as possible before its first run.

    Parameters
    ----------
    kinds : collection of str
        Kinds of the study's interconnects.

    Raises
    ------
    InputError
        A file cannot be read, a case has two references, the nodes of a run to compare are unknown, a named
        case, interconnect, kind or site does not exist, or two sites have no point in common: one line.
    """
    imported = imports_of(study)
    check_references(imported.runs, imported.origins)
    check_nodes(study, imported)
    check_imported_names(study, imported)
    check_kinds(study, {*kinds, *(imported.runs["kind"] if len(imported.runs) else ())})
    if study.cases:  # the study's runs, which may share points with a site, do not exist yet
        sites = [study.site, *imported.runs["site"]] if "site" in imported.runs else [study.site]
        with table_errors_in(str(study.file)):
            check_site_names([site for site in sites if pd.notna(site)], study.compare_sites)
    else:
        check_pairs(imported.runs, study.compare_sites, str(study.file))


def check_pairs(runs: pd.DataFrame, pairs: Sequence[tuple[str, str]], where: str) -> None:
    """Check that sites can be compared: see `analysis.topics.changes.tables.check_sites`.

    Raises
    ------
    InputError
        They cannot: one line that begins with `where`, the file or option that names the sites.
    """
    with table_errors_in(where):
        check_sites(runs, pairs)


def check_imported_names(study: Study, imported: Imported) -> None:
    """Check that the names in a study's keys exist in the study or its imports.

    Raises
    ------
    InputError
        See `workflows.study.request.check_names`.
    """
    tables = [imported.runs, *(table for table in imported.published.values() if "interconnect" in table)]
    named = {name for table in tables if len(table) for name in table["interconnect"].dropna()}
    cases = {*study.cases, *study.replayed.cases, *(imported.runs["case"] if len(imported.runs) else ())}
    sites = {site for table in tables if "site" in table for site in table["site"].dropna()}
    check_names(study, cases, {*study.interconnects, *named}, {*sites, *filter(None, [study.site])})


def check_nodes(study: Study, imported: Imported) -> None:
    """Check that the nodes of all parallel runs are known if the study compares by nodes.

    Raises
    ------
    InputError
        They are unknown for a run: one line with its file and line.
    """
    runs = imported.runs
    if study.for_analysis.get("compare_by") != NODES or runs.empty:
        return
    used = runs.reindex(columns=["interconnect", "nodes", "valid"])
    unknown = used.index[used["valid"] & used["interconnect"].notna() & used["nodes"].isna()]
    if len(unknown):
        raise InputError(
            f"{_name_of(imported.origins[unknown[0]])}: column 'nodes' is empty, and {study.file} states "
            "compare_by: nodes; give the nodes, or leave out compare_by"
        )


def check_references(runs: pd.DataFrame, origins: Sequence[Origin]) -> None:
    """Check that no case has two serial points, because only one can be the reference.

    Parameters
    ----------
    runs : DataFrame
        Some or all columns of the runs table.

    Raises
    ------
    InputError
        A case has two: one line with both points.
    """
    if runs.empty:
        return
    columns = [*_REFERENCE, "nodes", "oversubscription", "interconnect", "valid"]
    serial = runs.reindex(columns=columns)
    serial = serial[serial["valid"] & serial["interconnect"].isna()]
    for (_, case, kind), rows in serial.groupby(_REFERENCE, dropna=False, sort=False):
        points = rows.drop_duplicates(["nodes", "oversubscription"])
        if len(points) > 1:
            first, second = (
                (_name_of(origins[row]), _point(points.loc[row])) for row in points.index[:2].to_list()
            )
            raise InputError(
                f"{second[0]}: a second reference of case {case!r}, kind {kind}: a serial run with "
                f"{second[1]}; the reference in {first[0]} is a run with {first[1]}"
            )


def _name_of(origin: Origin) -> str:
    file, row = origin
    if row is None:
        return str(file)
    of_text = file.suffix == ".csv" and table_of(file.read_text(encoding="utf-8-sig")) == "runs"
    return f"{file}, " + (f"line {line_of(file, row)}" if of_text else f"row {row + 1}")


def _point(serial: pd.Series[Any]) -> str:
    nodes = "nodes unknown" if pd.isna(serial["nodes"]) else f"nodes {serial['nodes']:g}"
    return f"{nodes}, oversubscription {serial['oversubscription']:g}"
