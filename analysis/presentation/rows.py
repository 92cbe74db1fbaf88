"""Tables whose rows are lines of a table of the study: a column says how its cells are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import pandas as pd

from analysis.presentation.blocks import Block, Column, Row, left, right, row, table
from analysis.presentation.formats import bracketed_percent
from analysis.runs.frames import Line, percent_interval


class Field(NamedTuple):
    """A column: its head, and what writes its cells.

    That is given the columns of a line that have these `names` or, without names, all of it.
    """

    head: Column
    write: Callable[..., object]
    names: tuple[str, ...]


def texts(title: str, write: Callable[..., object], *names: str) -> Field:
    """Describe a column of texts and how they are written."""
    return Field(*left(title), write, names)


def numbers(title: str, write: Callable[..., object], *names: str) -> Field:
    """Describe a column of numbers and how they are written."""
    return Field(*right(title), write, names)


def in_percent(quantity: str) -> Callable[[Line], str]:
    """Write a percentage of a line with its interval."""
    return lambda line: bracketed_percent(*percent_interval(line, quantity))


def with_levels(rows: pd.DataFrame, name: Callable[[Line], str]) -> Callable[[Line], str]:
    """Write a line's title: its name, with its level of oversubscription where `rows` have several."""
    several = rows["oversubscription"].nunique() > 1
    return lambda line: name(line) + f", oversubscription {line['oversubscription']}" * several


def line_table(
    caption: str,
    fields: Sequence[Field],
    lines: Iterable[Line],
    title: Callable[[Line], str] = lambda line: "",
    case: str = "",
    of_cases: bool = True,
) -> Block:
    """Make a table with a row a line, under the title of its group.

    A row belongs to the interconnect of its line and, if rows are `of_cases`, to its case.
    """
    groups: dict[str, list[Row]] = {}
    for line in lines:
        cells = [field.write(*([line[name] for name in field.names] or [line])) for field in fields]
        own = row(cells, line["case"] if of_cases else "", line.get("interconnect"))
        groups.setdefault(title(line), []).append(own)
    return table(caption, [field.head for field in fields], groups, case)
