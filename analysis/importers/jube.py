"""Result tables of JUBE (``jube result``), and any other table with a heading that holds units."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter

from analysis.importers.importer import Importer
from analysis.importers.lines import has_only_numbers, quoted, whole_lines
from analysis.importers.lookalikes import SEPARATORS, is_json, lookalike
from analysis.importers.mapping import Mapping
from analysis.importers.results import Import
from analysis.importers.variables import GUESSES, Recorded, Value, make_runs
from analysis.runs.runs import TableError

_UNIT = re.compile(r"^(?P<name>.*\S)\s*\[(?P<unit>[^\[\]]+)\]$")
_RULE = re.compile(r"\|?[-=+|: ]*-{2,}[-=+|: ]*\|?")
_NAME = re.compile(r"(?=.*[^\W\d])[^=]{1,60}")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
WIDE = "  "
"""Separator of tables whose names hold single blanks."""
LARGEST_PREFACE = 200
"""Lines among which the heading of a table is sought."""
_KNOWN = {name for names in GUESSES.values() for name in names}


def parse(text: str, source: str) -> tuple[list[Recorded], list[str]]:
    """Parse a result table of JUBE, in the style csv or pretty, to one run per row.

    A second table in the file is skipped. ``name[unit]`` in the heading is a variable with its unit. A
    variable without a unit counts as a parameter, since it may be one.

    Raises
    ------
    TableError
        If there is no heading of two columns or more, a name occurs twice in it, or a quote is open.
    """
    unread: list[str] = []
    rows = _without_empty_end(_rows(text, source, unread))
    if not rows or len(rows[0][1]) < 2:
        raise TableError("has no heading of two columns or more, separated by , ; | or blanks", source)
    headings = [_UNIT.match(cell) for cell in rows[0][1]]
    names = [match["name"] if match else cell for match, cell in zip(headings, rows[0][1], strict=True)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise TableError("is there twice", source, f"line {rows[0][0]}", twice)
    units = {match["name"]: match["unit"] for match in headings if match}
    counts = Counter(len(cells) for _, cells in rows[1:])
    if counts and (usual := counts.most_common(1)[0][0]) != len(names):
        line = next(line for line, cells in rows[1:] if len(cells) == usual)
        message = f"{usual} cells where the heading has {len(names)}, as in most rows"
        raise TableError(message, source, f"line {line}")
    parameters = frozenset(names) - set(units)
    records = []
    for line, cells in rows[1:]:
        if len(cells) == len(names):
            variables: dict[str, Value] = {
                name: cell or None for name, cell in zip(names, cells, strict=True)
            }
            records.append(Recorded(source, f"line {line}", variables, units, parameters))
        else:
            unread.append(f"{source}: line {line}: {len(cells)} cells where the heading has {len(names)}")
    return records, unread


def _rows(text: str, source: str, unread: list[str]) -> list[tuple[int, list[str]]]:
    """Return line number and cells of each row of the first table, including the heading."""
    lines = list(whole_lines(f"{text}\n" if _ends_with_whole_row(text) else text, source, unread))
    begin, separator = _table(text.split("\n")) or (
        0,
        _most_frequent(lines[0][1]) if lines else "",
    )
    table = list(itertools.takewhile(lambda numbered: numbered[1].strip(), lines[begin:]))
    after_table = lines[begin + len(table) :]
    second_table = next((number for number, line in after_table if line.strip()), None)
    if second_table is not None:
        unread.append(f"{source}: line {second_table}: a second table: give each table a file of its own")
    table = [(number, line) for number, line in table if not _RULE.fullmatch(line.strip())]
    if separator == "|" and table and table[0][1].strip().endswith("|"):
        unread += [
            f"{source}: line {number}: cut off: {quoted(line)} has no | at its end"
            for number, line in table
            if not line.strip().endswith("|")
        ]
        table = [(number, line) for number, line in table if line.strip().endswith("|")]
    if not separator or separator == "|" or separator == WIDE:
        rows = [(number, _cells(line, separator, number == begin + 1)) for number, line in table]
        return _with_decimal_points(rows)
    text = "\n".join(line for _, line in table)
    reader = csv.reader(io.StringIO(text), delimiter=separator, strict=True)
    try:
        rows = [(begin + reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    except csv.Error as error:
        raise TableError(f"cannot be read: {error}", source, f"line {begin + reader.line_num}") from None
    return rows if separator == "," else _with_decimal_points(rows)


def _with_decimal_points(rows: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """Replace the decimal commas of a table whose separator is no comma.

    If every comma may separate thousands instead, as in 1,234, no cell is changed.
    """
    with_comma = {cell for _, cells in rows for cell in cells if _DECIMAL_COMMA.fullmatch(cell)}
    if all(map(_THOUSANDS.fullmatch, with_comma)):
        return rows
    return [
        (number, [cell.replace(",", ".") if cell in with_comma else cell for cell in cells])
        for number, cells in rows
    ]


def _ends_with_whole_row(text: str) -> bool:
    """Return whether the last two lines are rows in the style pretty with as many cells.

    The | at the end of such a row closes the last cell, so the row is whole without an end of line.
    """
    rows = [line.strip() for line in text.split("\n")[-2:]]
    return rows[0].count("|") == rows[-1].count("|") > 1 and all(row[0] == row[-1] == "|" for row in rows)


def _without_empty_end(rows: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """Return the rows without the empty cell that a separator at the end of every line makes."""
    if rows and all(len(cells) > 2 and not cells[-1] for _, cells in rows):
        return [(number, cells[:-1]) for number, cells in rows]
    return rows


def _most_frequent(line: str) -> str:
    """Return the separator that a line has most often; empty if it has none."""
    separator = max(SEPARATORS, key=line.strip().count)
    return separator if separator in line.strip() else ""


def _cells(line: str, separator: str, is_heading: bool) -> list[str]:
    """Split a line at a separator; without one, at blanks."""
    line = line.strip()
    if separator == WIDE:
        return re.split(r"\s{2,}" if is_heading else r"\s+", line.removeprefix("#").strip())
    if not separator:
        return line.removeprefix("#").split()
    if line.startswith("|") and separator == "|":
        line = line.strip("|")
    return [cell.strip() for cell in line.split(separator)]


def _table(lines: list[str]) -> tuple[int, str] | None:
    """Return the position of the heading of the first table, and its separator; None without a table.

    Nearly all lines until the next blank line have as many cells as the heading has names. A table whose
    columns are separated by blanks is at least half of the file, since logs hold such tables, too.
    """
    printed = sum(map(bool, map(str.strip, lines)))
    for begin, line in enumerate(lines[:LARGEST_PREFACE]):
        rows = [
            row
            for row in itertools.takewhile(str.strip, lines[begin + 1 :])
            if not _RULE.fullmatch(row.strip())
        ]
        most_frequent = _most_frequent(line)
        for separator in (most_frequent,) if most_frequent else ("", WIDE):
            names = _cells(line, separator, is_heading=True)
            if separator and not names[-1] and all(row.strip().endswith(separator) for row in rows):
                names = names[:-1]
            is_most = separator not in ("", WIDE) or 2 * (len(rows) + 1) >= printed
            if is_most and _are_names(names) and _fits(names, rows, separator):
                return begin, separator
    return None


def _are_names(cells: list[str]) -> bool:
    """Return whether cells may be names of columns: short, with a letter, no number, no name=value."""
    return len(cells) > 1 and all(_NAME.fullmatch(cell) and not has_only_numbers(cell) for cell in cells)


def _fits(names: list[str], rows: list[str], separator: str) -> bool:
    """Return whether rows have as many cells as there are names, or one more or less between separators."""
    counts = [len(_cells(row, separator, is_heading=False)) for row in rows]
    if not rows:
        return bool(separator) and any(name in _KNOWN or _UNIT.match(name) for name in names)
    numeric = [any(map(has_only_numbers, _cells(row, separator, is_heading=False))) for row in rows]
    if separator in ("", WIDE):
        return all(numeric) and set(counts) == {len(names)}
    tolerance = 1 if len(names) > 2 else 0  # a title of a column may hold the separator
    fitting = sum(
        abs(count - len(names)) <= tolerance and has_number
        for count, has_number in zip(counts, numeric, strict=True)
    )
    return 2 * fitting >= len(counts)


def recognises(text: str) -> bool:
    """Return whether a text holds a table with a heading, and is no output that has another name."""
    return not lookalike(text) and not is_json(text) and _table(text.split("\n")) is not None


def read(text: str, source: str, mapping: Mapping) -> Import:
    """Read a result table of JUBE, or any table with a heading: see `Importer`."""
    return make_runs(*parse(text, source), mapping, source)


IMPORTER = Importer("jube", recognises, read)
