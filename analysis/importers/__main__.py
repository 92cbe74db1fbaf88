"""Write results of other tools as a CSV table of ours: ``python -m analysis.importers --help``."""

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
from analysis.runs.runs import TableError


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m analysis.importers",
        description="Write foreign results as a runs table or as network curves. What was skipped is listed.",
    )
    parser.add_argument("file", type=Path, help="file of results, or folder of ReFrame's performance logs")
    parser.add_argument("output", type=Path, help="CSV file to write; must not be there")
    parser.add_argument("--format", choices=FORMATS, help="by default told from the content")
    parser.add_argument("--mapping", type=Path, help="YAML file: which of the file's variables is what")
    columns = ", ".join((*TEXTS, *COUNTS))
    parser.add_argument(
        "--set", action="append", default=[], metavar="COLUMN=VALUE", help=f"one of {columns}"
    )
    return parser.parse_args(words)


def constants(settings: list[str]) -> Mapping:
    """Mapping of ``COLUMN=VALUE`` settings."""
    pairs = [setting.partition("=")[::2] for setting in settings]
    values = {
        column: int(value) if column in COUNTS and value.isdecimal() else value for column, value in pairs
    }
    return make_mapping({column: {"value": value} for column, value in values.items()}, "--set")


def convert(options: argparse.Namespace) -> list[str]:
    """Read, write and give what was skipped, and last what was written.

    Raises
    ------
    TableError
        As `read_foreign`; also if the output is there, or the file holds derived figures alone.
    """
    if options.output.exists():
        raise TableError("is there already", str(options.output))
    mapping = read_mapping(options.mapping) if options.mapping else Mapping()
    given = constants(options.set)
    mapping = replace(mapping, fields=mapping.fields | given.fields)
    found = read_foreign(options.file, options.format, mapping)
    table, what = (found.curves, "message sizes") if found.runs.empty else (found.runs, "runs")
    if table.empty:
        raise TableError("holds derived figures, which are read as they are", str(options.file))
    write_table(table, options.output)
    return [*(f"not read: {line}" for line in found.unread), f"{options.output}: {len(table)} {what}"]


def main() -> None:
    """Convert, or say in one line why not."""
    try:
        print("\n".join(convert(arguments())), file=sys.stderr)
    except TableError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
