"""Result tables of JUBE (``jube result``), and any other table with a heading that holds units."""

from __future__ import annotations

import csv
import io
import itertools
import re

from analysis.importers.importer import Importer
from analysis.importers.lines import first_line, has_only_numbers, whole_lines
from analysis.importers.mapping import Mapping
from analysis.importers.results import Import
from analysis.importers.variables import Recorded, Value, make_runs
from analysis.runs.runs import TableError

_UNIT = re.compile(r"^(?P<name>.*\S)\s*\[(?P<unit>[^\[\]]+)\]$")
_RULE = re.compile(r"^\|[-|: ]+\|$")


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
    rows = _rows(text, source, unread)
    if not rows or len(rows[0][1]) < 2:
        raise TableError("has no heading of two columns or more, separated by , ; or |", source)
    headings = [_UNIT.match(cell) for cell in rows[0][1]]
    names = [match["name"] if match else cell for match, cell in zip(headings, rows[0][1], strict=True)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise TableError("is there twice", source, f"line {rows[0][0]}", twice)
    units = {match["name"]: match["unit"] for match in headings if match}
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
    lines = list(whole_lines(text, source, unread))
    begin = next((index for index, (_, line) in enumerate(lines) if re.search(r"[,;|]", line)), len(lines))
    table = list(itertools.takewhile(lambda numbered: numbered[1].strip(), lines[begin:]))
    after_table = lines[begin + len(table) :]
    second_table = next((number for number, line in after_table if line.strip()), None)
    if second_table is not None:
        unread.append(f"{source}: line {second_table}: a second table: give each table a file of its own")
    heading = table[0][1] if table else ""
    if heading.startswith("|"):
        pretty = [(number, line.strip("|").split("|")) for number, line in table if not _RULE.match(line)]
        return [(number, [cell.strip() for cell in cells]) for number, cells in pretty]
    text = "\n".join(line for _, line in table)
    reader = csv.reader(io.StringIO(text), delimiter=max(",;|", key=heading.count), strict=True)
    try:
        return [(begin + reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    except csv.Error as error:
        raise TableError(f"cannot be read: {error}", source, f"line {begin + reader.line_num}") from None


def recognises(text: str) -> bool:
    """Return whether a text has a heading and separators in one of its first two lines."""
    lines = [line for line in text.splitlines() if line.strip()][:2]
    return not has_only_numbers(first_line(text)) and any(re.search(r"[,;|]", line) for line in lines)


def read(text: str, source: str, mapping: Mapping) -> Import:
    """Read a result table of JUBE, or any table with a heading: see `Importer`."""
    return make_runs(*parse(text, source), mapping, source)


IMPORTER = Importer("jube", recognises, read)
