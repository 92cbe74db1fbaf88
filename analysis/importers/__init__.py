"""Results imported from other benchmarking frameworks, network benchmarks and publications."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from analysis.importers.importer import Importer
from analysis.importers.lines import first_line, quoted
from analysis.importers.lookalikes import (
    NO_HEADING,
    heading_apart,
    holds_only_numbers,
    is_json,
    lookalike,
    parse_json,
)
from analysis.importers.mapping import COLUMNS, Mapping, make_mapping, read_mapping
from analysis.importers.marks import MARKS
from analysis.importers.registry import IMPORTERS
from analysis.importers.resolution import with_resolution
from analysis.importers.results import CURVES, Import, read_text, write_table
from analysis.importers.tables import merge_derived, read_derived, table_of, write_derived
from analysis.runs.runs import REQUIRED, TableError, read_runs

__all__ = [
    "COLUMNS",
    "CURVES",
    "FORMATS",
    "IMPORTERS",
    "Import",
    "Importer",
    "Mapping",
    "make_mapping",
    "merge_derived",
    "read_foreign",
    "read_mapping",
    "read_published",
    "with_resolution",
    "write_derived",
    "write_table",
]

FORMATS = tuple(importer.name for importer in IMPORTERS)
"""Formats that `read_foreign` reads; docs/import.md describes each."""


def read_foreign(path: str | Path, format: str | None = None, mapping: Mapping | None = None) -> Import:
    """Read a file of results to import, or a folder of ReFrame's performance logs.

    Parameters
    ----------
    path : path of a file or folder
    format : str, optional
        One of `FORMATS`. By default the first importer that recognises the content reads the file.
    mapping : Mapping, optional
        Assigns variables of the file to columns, and gives values that the file lacks. Nodeworth's own
        tables take no mapping.

    Returns
    -------
    Import
        Incomplete entries of the file are skipped and listed in `Import.unread`.

    Raises
    ------
    TableError
        The file cannot be read, its format is unknown, or a name or number in it is wrong. The message is
        one line with file, line and column.
    """
    path, mapping = Path(path), mapping or Mapping()
    if format is not None and format not in FORMATS:
        raise TableError(f"format {format!r} is unknown (known: {', '.join(FORMATS)})", str(path))
    candidates = [importer for importer in IMPORTERS if format in (None, importer.name)]
    if path.is_dir():
        read_folder = next((importer.read_folder for importer in candidates if importer.read_folder), None)
        if read_folder is None:
            raise TableError(f"is a folder; format {format} reads files only", str(path))
        return read_folder(path, mapping)
    if path.suffix == ".parquet" and format in (None, "runs"):
        return Import(runs=read_runs(path, mapping.settings))
    text = read_text(path)
    if format is None:
        return recognised(text, str(path)).read(text, str(path), mapping)
    try:
        return candidates[0].read(text, str(path), mapping)
    except TableError as error:
        if not candidates[0].recognises(text) and (message := lookalike(text)):
            raise TableError(f"cannot be read as {format}: {message}", str(path)) from error
        raise


def recognised(text: str, source: str) -> Importer:
    """Return the first importer that recognises the content of a file.

    Raises
    ------
    TableError
        If no importer recognises it.
    """
    programs = [importer for importer in IMPORTERS if importer.name in MARKS and importer.recognises(text)]
    if len(programs) > 1:
        names = " and of ".join(importer.name for importer in programs)
        message = f"holds output of {names}: give each its own file, or state the format to be read"
        raise TableError(message, source)
    importer = next((importer for importer in IMPORTERS if importer.recognises(text)), None)
    if importer is not None:
        return importer
    if message := lookalike(text):
        raise TableError(message, source)
    if is_json(text):
        parse_json(text, source)
        message = "is JSON, but no report of ReFrame (session_info) and no result of iperf3 (version)"
        raise TableError(message, source)
    if holds_only_numbers(text):
        raise TableError(heading_apart(text) or NO_HEADING.format(",".join(REQUIRED)), source)
    first = f"its first line is {quoted(first_line(text))}, and no line marks a benchmark or a table"
    raise TableError(
        f"is in no known format: {first}. If it has one of these formats, name it: {', '.join(FORMATS)}. "
        "A log of any other program is read by regular expressions (docs/import-logs.md)",
        source,
    )


def read_published(folder: str | Path) -> dict[str, pd.DataFrame]:
    """Read the derived figures among the CSV files of a folder.

    Parameters
    ----------
    folder : path of a folder
        ``analysis/published``, or a folder that `write_derived` wrote. Its runs tables and network curves
        are skipped; `read_foreign` reads them.

    Returns
    -------
    dict of str to DataFrame
        Typed tables by name (``peaks``, ``improvement``, …; docs/reference/imports.md lists them). Column
        `source` is the file. The report shows these figures next to the study's own and estimates nothing
        from them.

    Raises
    ------
    TableError
        If there is no such folder, or a CSV file has unknown columns or is damaged.
    """
    if not Path(folder).is_dir():
        raise TableError("there is no such folder", str(folder))
    texts = {path: read_text(path) for path in sorted(Path(folder).glob("*.csv"))}
    return merge_derived(
        {
            path: read_derived(path, text).derived
            for path, text in texts.items()
            if table_of(text) not in ("runs", "curves")
        }
    )
