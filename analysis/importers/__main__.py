"""Convert results of other tools to a CSV table: ``python -m analysis.importers --help``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from analysis.importers import (
    FORMATS,
    Mapping,
    make_mapping,
    read_foreign,
    read_mapping,
    write_table,
)
from analysis.importers.mapping import COUNTS, TEXTS
from analysis.importers.tables import table_of
from analysis.runs.runs import TableError


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m analysis.importers",
        description="Convert results of other tools to a runs table or network curves. List skipped entries.",
    )
    parser.add_argument("file", type=Path, help="file of results, or folder of ReFrame's performance logs")
    parser.add_argument("output", type=Path, help="CSV file to write; must not exist")
    parser.add_argument("--format", choices=FORMATS, help="by default recognised from the content")
    parser.add_argument("--mapping", type=Path, help="YAML file that maps the file's variables to columns")
    columns = ", ".join((*TEXTS, *COUNTS))
    parser.add_argument(
        "--set", action="append", default=[], metavar="COLUMN=VALUE", help=f"one of {columns}"
    )
    return parser.parse_args(words)


def constants(settings: list[str]) -> Mapping:
    """Make a mapping from ``COLUMN=VALUE`` settings."""
    pairs = [setting.partition("=")[::2] for setting in settings]
    values = {
        column: int(value) if column in COUNTS and value.isdecimal() else value for column, value in pairs
    }
    return make_mapping({column: {"value": value} for column, value in values.items()}, "--set")


def convert(options: argparse.Namespace) -> list[str]:
    """Convert a file, and return one line per skipped entry or doubt, and a last line about the output.

    Raises
    ------
    TableError
        As `read_foreign`; also if the output exists, or the file is a table of published figures already.
    """
    if options.output.exists():
        raise TableError("is there already", str(options.output))
    mapping = read_mapping(options.mapping) if options.mapping else Mapping()
    mapping = replace(mapping, fields=mapping.fields | constants(options.set).fields)
    imported = read_foreign(options.file, options.format, mapping)
    table, rows = (imported.curves, "message sizes") if imported.runs.empty else (imported.runs, "runs")
    if table.empty:
        (name, table), rows = next(iter(imported.derived.items())), "rows"
        if table_of(options.file.read_text(errors="replace")):
            raise TableError(
                f"is already a table of Nodeworth ({name}), which a study imports", str(options.file)
            )
    write_table(table, options.output)
    skipped = [f"not read: {line}" for line in imported.unread]
    doubts = [f"note: {line}" for line in imported.remarks]
    return [*skipped, *doubts, f"{options.output}: {len(table)} {rows}"]


def main() -> None:
    """Convert, or exit with one line about the fault."""
    try:
        print("\n".join(convert(arguments())), file=sys.stderr)
    except TableError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
