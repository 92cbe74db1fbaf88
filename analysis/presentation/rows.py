"""Tables of a report, with a row for each row of a table of results.

Each column of a report's table is a `Field`, which writes the cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import pandas as pd

from analysis.curves.outcomes import SINGLE_VALUE
from analysis.presentation import formats
from analysis.presentation.blocks import Block, Column, Row, left, right, row, table
from analysis.runs.frames import Line, is_missing, percent_interval

MOST_ROWS = 120
"""Rows of the longest table that the HTML report shows."""

_Item = TypeVar("_Item")


class Field(NamedTuple):
    """A column of a report table.

    Attributes
    ----------
    head : Column
    write : callable
        Writes a cell. It receives the columns of the row that `names` lists, or the whole row.
    names : tuple of str
    """

    head: Column
    write: Callable[..., object]
    names: tuple[str, ...]


def texts(title: str, write: Callable[..., object], *names: str) -> Field:
    """Make a column of texts; for `write` and `names` see `Field`."""
    return Field(left(title)[0], write, names)


def numbers(title: str, write: Callable[..., object], *names: str) -> Field:
    """Make a column of numbers; for `write` and `names` see `Field`."""
    return Field(right(title)[0], write, names)


def percent_cell(quantity: str) -> Callable[[Line], str]:
    """Return a function that writes a percentage of a row with its interval."""
    return lambda line: formats.bracketed_percent(*percent_interval(line, quantity))


def p_value(value: float) -> str:
    """Write a p-value without the symbol p, which is the title of its column."""
    return formats.p_value(value, symbol=False)


def verdict(line: Line) -> str:
    """Write the verdict of a comparison, and whether its test is unpaired."""
    text = "no test" if is_missing(line["verdict"]) else str(line["verdict"])
    text = "not tested: a single value" if text.endswith(SINGLE_VALUE) else text
    is_unpaired = not line.get("paired", True) and not is_missing(line["p_adjusted"])
    return f"{text}, unpaired" if is_unpaired else text


GAIN = [
    numbers("Gain (%)", percent_cell("gain")),
    numbers("p", p_value, "p_adjusted"),
    texts("Outcome", lambda line: line["verdict"] if line["paired"] else f"{line['verdict']}, unpaired"),
]
"""Fields of a gain at equal cores or processes."""


def with_levels(rows: pd.DataFrame, name: Callable[[Line], str]) -> Callable[[Line], str]:
    """Return a function that writes the title of a row's group: its name and oversubscription level.

    The level is left out if all `rows` have the same level.
    """
    if rows["oversubscription"].nunique() < 2:
        return name
    return lambda line: f"{name(line)}, oversubscription {line['oversubscription']}"


def line_table(
    caption: str,
    fields: Sequence[Field],
    lines: Iterable[Line],
    title: Callable[[Line], str] = lambda line: "",
    case: str = "",
    of_cases: bool = True,
) -> Block:
    """Make a table with a row for each of `lines`.

    Parameters
    ----------
    title : callable
        Writes the title of the group of a row.
    case : str
        Case of the whole table, for the filters of the HTML report.
    of_cases : bool
        Whether each row belongs to the case of its line.
    """
    groups: dict[str, list[Row]] = {}
    for line in lines:
        cells = [
            field.write(*(line[name] for name in field.names)) if field.names else field.write(line)
            for field in fields
        ]
        table_row = row(cells, line["case"] if of_cases else "", line.get("interconnect"))
        groups.setdefault(title(line), []).append(table_row)
    return table(caption, [field.head for field in fields], groups, case)


def side_by_side(items: Sequence[_Item], most: int) -> Iterator[Sequence[_Item]]:
    """Split the columns of a wide table into as few tables as possible, of nearly equal width.

    Each table has at most `most` columns.
    """
    tables = math.ceil(len(items) / most)
    size = math.ceil(len(items) / tables) if tables else 1
    return (items[start : start + size] for start in range(0, len(items), size))
