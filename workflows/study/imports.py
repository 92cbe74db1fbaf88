"""Imported results: the files that a study names, read and checked before anything is run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from analysis.importers import make_mapping, merge_derived, read_foreign, with_resolution
from analysis.importers.tables import table_of
from analysis.runs.runs import TableError, line_of
from analysis.topics.changes.tables import check_site_names, check_sites
from analysis.topics.network.imports import FILE
from workflows.domain import InputError, LeftOut
from workflows.inputs import found_wrong_in
from workflows.study.request import check_names
from workflows.study.sites import at_site
from workflows.study.study import SiteGiven, Study, check_kinds

_REFERENCE = ["site", "case", "kind"]
"""Columns: for each combination of their values there is one serial point, the reference of its speedups."""

Origin = tuple[Path, int | None]
"""A file, and the position of a row in it, from 0; None where the file holds one run."""


@dataclass(frozen=True, eq=False)
class Imported:
    """What files of imported results hold.

    Attributes
    ----------
    runs : DataFrame
        Columns of the runs table, as far as the files have them, one file after another. Blocks of two
        files have different numbers, since they were not run together. ``order_from`` names the file, by its
        place in the study: what gives the order of the runs of one file says nothing of another file.
    origins : tuple of Origin
        Where each row of `runs` is from.
    published : dict of str to DataFrame
        Figures without a time of a run, by the name of their table; network curves among them.
    unread : list of LeftOut
        What could not be read, and why.
    """

    runs: pd.DataFrame
    origins: tuple[Origin, ...]
    published: dict[str, pd.DataFrame]
    unread: list[LeftOut]


def read_imports(
    files: Sequence[Path],
    sites: Mapping[Path, SiteGiven],
    mappings: Mapping[Path, Mapping[str, Any]] = MappingProxyType({}),
    formats: Mapping[Path, str] = MappingProxyType({}),
) -> Imported:
    """Read files of results of other tools, and of other studies.

    Parameters
    ----------
    sites : mapping of Path to SiteGiven
        What the study says of the sites of files.
    mappings : mapping of Path to mapping
        What the columns of other files mean: see `analysis.importers.make_mapping`.
    formats : mapping of Path to str
        Formats that the study states; see `analysis.importers.read_foreign`.

    Raises
    ------
    InputError
        A file that cannot be read or is damaged: one line.
    """
    tables, origins, unread, blocks = [], [], [], 0
    try:
        known = {file: make_mapping(given, f"mapping of {file}") for file, given in mappings.items()}
        found = {file: read_foreign(file, formats.get(file), known.get(file)) for file in files}
        published = merge_derived(found)
    except TableError as error:
        raise InputError(str(error)) from None
    if curves := [imported.curves for imported in found.values() if len(imported.curves)]:
        published[Path(FILE).stem] = pd.concat(curves, ignore_index=True)
    for number, (file, imported) in enumerate(found.items(), 1):
        runs = with_resolution(imported.runs).dropna(axis="columns", how="all")
        runs = at_site(runs, file, sites.get(file))
        order = imported.runs["order_from"].fillna("block") + f" of file {number}"
        tables.append(runs.assign(block=imported.runs["block"] + blocks, order_from=order))
        origins += [(file, row) for row in range(len(runs))]
        blocks += int(imported.runs["block"].max()) if len(runs) else 0
        unread += [LeftOut(f"in {file}", line) for line in imported.unread]
    runs = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    return Imported(runs, tuple(origins), published, unread)


def check_imports(study: Study, kinds: Collection[str] = ()) -> None:
    """Check the files that a study imports, as far as that is possible before it is run.

    `kinds` are those of the study's own interconnects.

    Raises
    ------
    InputError
        One line for a file that cannot be read, two references of one case, a case, interconnect, kind or
        site to compare that there is not, or two sites that have nothing in common.
    """
    imported = read_imports(study.imports, study.import_sites, study.import_mappings, study.import_formats)
    check_references(imported.runs, imported.origins)
    check_imported_names(study, imported)
    check_kinds(study, {*kinds, *(imported.runs["kind"] if len(imported.runs) else ())})
    if study.cases:  # what its own runs have in common with others is not known yet
        sites = [study.site, *imported.runs["site"]] if "site" in imported.runs else [study.site]
        with found_wrong_in(str(study.file)):
            check_site_names(filter(pd.notna, sites), study.compare_sites)
    else:
        check_pairs(imported.runs, study.compare_sites, str(study.file))


def check_pairs(runs: pd.DataFrame, pairs: Sequence[tuple[str, str]], where: str) -> None:
    """Check that sites can be compared: see `analysis.topics.changes.tables.check_sites`.

    Raises
    ------
    InputError
        One line that begins with `where`, the file or option that names the sites.
    """
    with found_wrong_in(where):
        check_sites(runs, pairs)


def check_imported_names(study: Study, imported: Imported) -> None:
    """Check the names in a study's keys against its own and those of what it imports.

    Raises
    ------
    InputError
        See `workflows.study.request.check_names`.
    """
    tables = [imported.runs, *(table for table in imported.published.values() if "interconnect" in table)]
    named = {name for table in tables if len(table) for name in table["interconnect"].dropna()}
    cases = {*study.cases, *study.replayed.cases, *(imported.runs["case"] if len(imported.runs) else ())}
    check_names(study, cases, {*study.interconnects, *named})


def check_references(runs: pd.DataFrame, origins: Sequence[Origin]) -> None:
    """Check that no case has two serial points, which would both be its reference.

    Parameters
    ----------
    runs : DataFrame
        Columns of the runs table, as far as there are any.

    Raises
    ------
    InputError
        One line that names both points.
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
                (_name_of(origins[row]), _point(point)) for row, point in points.head(2).iterrows()
            )
            raise InputError(
                f"{second[0]}: a second reference of case {case!r}, kind {kind}: a serial run with "
                f"{second[1]}; that of {first[0]} is with {first[1]}"
            )


def _name_of(origin: Origin) -> str:
    file, row = origin
    if row is None:
        return str(file)
    of_text = file.suffix == ".csv" and table_of(file.read_text(encoding="utf-8-sig")) == "runs"
    return f"{file}, " + (f"line {line_of(file, row)}" if of_text else f"row {row + 1}")


def _point(serial: Mapping[str, object]) -> str:
    nodes = "nodes unknown" if pd.isna(serial["nodes"]) else f"nodes {serial['nodes']:g}"
    return f"{nodes}, oversubscription {serial['oversubscription']:g}"
