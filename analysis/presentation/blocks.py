"""Parts of a report as plain data that can be written as JSON.

A report is a list of sections. A section has a heading and a list of blocks: paragraphs, lists, tables and
figures. All texts are ready to print, so that templates calculate and decide nothing. The filters of the
HTML report use the keys ``case`` and ``interconnect``, which are empty for a block that no filter hides.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, Literal, TypedDict

from analysis.presentation.formats import MISSING
from analysis.runs.errors import one_line

HEAD_WIDTH = 13
"""Most characters on a line of the head of a column of numbers."""
SHORT = 40
"""Most characters of the cells of a column that is as wide as its cells."""
SHORT_WITH_LONGER = 20
"""The same for a table with a column of longer cells; the first column keeps the limit `SHORT`."""
MOST_SHARE = 70
"""Upper limit of `Column.share`."""


class Column(TypedDict):
    """Head of a column, on one or more lines.

    A column with ``share`` 0 is as wide as its cells. Other columns divide the remaining width in proportion
    to their ``share``.
    """

    title: list[str]
    align: Literal["left", "right"]
    share: int


class Row(TypedDict):
    """Cells of a table row."""

    cells: list[str]
    case: str
    interconnect: str


class Group(TypedDict):
    """Rows below a title, which is empty if the table has no groups."""

    title: str
    rows: list[Row]


class KeyFigure(TypedDict):
    """Result that page one shows in large type.

    ``label`` says what it measures, ``interval`` is empty without an interval, ``kind`` is the kind of the
    times (such as measured), ``note`` names what it refers to.
    """

    label: str
    value: str
    interval: str
    kind: str
    note: str


class Block(TypedDict, total=False):
    """Element of a section.

    The keys depend on ``type``. ``paragraph``: text. ``list``: title, items. ``table``: caption, columns,
    groups. ``figure``: name (stem of its files), caption, alt, width_inches, height_inches.
    ``key_figures``: key_figures. The PDF omits a block that is not ``printed``.
    """

    type: Literal["paragraph", "list", "table", "figure", "key_figures"]
    case: str
    printed: bool
    text: str
    title: str
    items: list[str]
    caption: str
    columns: list[Column]
    groups: list[Group]
    key_figures: list[KeyFigure]
    name: str
    alt: str
    width_inches: float
    height_inches: float


class Section(TypedDict):
    """Heading with its blocks.

    ``new_page``: whether the section starts a page of the PDF. ``appendix``: whether it is in the appendix.
    """

    id: str
    heading: str
    case: str
    new_page: bool
    appendix: bool
    blocks: list[Block]


def paragraph(text: str, case: str = "") -> Block:
    """Make a paragraph."""
    return {"type": "paragraph", "text": one_line(text), "case": case}


def bullets(items: Iterable[str], title: str = "", case: str = "") -> Block:
    """Make a list with a title."""
    return {"type": "list", "title": title, "items": [one_line(item) for item in items], "case": case}


def key_figure(label: str, value: str, note: str, interval: str = "", kind: str = "") -> KeyFigure:
    """Make a number of page one."""
    return {
        "label": one_line(label),
        "value": one_line(value),
        "interval": one_line(interval),
        "kind": one_line(kind),
        "note": one_line(note),
    }


def key_figures(figures: Iterable[KeyFigure]) -> Block:
    """Make a block of numbers in large type."""
    return {"type": "key_figures", "key_figures": list(figures), "case": ""}


def on_screen(block: Block) -> Block:
    """Return a block that the PDF omits."""
    return {**block, "printed": False}


def figure(entry: Mapping[str, Any]) -> Block:
    """Make the block of a figure from its `analysis.presentation.drawing.Drawing.entry`."""
    return {
        "type": "figure",
        "name": entry["name"],
        "caption": entry["caption"],
        "alt": entry["alt"],
        "width_inches": entry["width_inches"],
        "height_inches": entry["height_inches"],
        "case": entry["case"] or "",
    }


def left(*titles: str) -> list[Column]:
    """Make the heads of columns of texts, which are aligned to the left."""
    return [{"title": [one_line(title)], "align": "left", "share": 0} for title in titles]


def right(*titles: str) -> list[Column]:
    """Make the heads of columns of numbers, which are aligned to the right."""
    lines = [textwrap.wrap(one_line(title), HEAD_WIDTH, break_long_words=False) for title in titles]
    return [{"title": title, "align": "right", "share": 0} for title in lines]


def row(cells: Sequence[object], case: str = "", interconnect: object = "") -> Row:
    """Make a row of texts; a missing interconnect becomes empty."""
    name = one_line(interconnect) if isinstance(interconnect, str) else ""
    return {"cells": [one_line(cell) for cell in cells], "case": case, "interconnect": name}


def table(
    caption: str,
    columns: Sequence[Column],
    groups: Mapping[str, Sequence[Row]],
    case: str = "",
) -> Block:
    """Make a table from the rows of each group, by the title of the group.

    Columns of long texts share the width. Empty columns are omitted, except the first.
    """
    all_rows = [line["cells"] for rows in groups.values() for line in rows]
    texts_of_column = [[cells[index] for cells in all_rows] for index in range(len(columns))]
    kept = [index == 0 or bool(set(texts) - {"", MISSING}) for index, texts in enumerate(texts_of_column)]
    columns = list(compress(columns, kept))
    shares = _shares_of_width(columns, list(compress(texts_of_column, kept)))
    groups = {
        title: [{**line, "cells": list(compress(line["cells"], kept))} for line in rows]
        for title, rows in groups.items()
    }
    return {
        "type": "table",
        "caption": caption,
        "columns": [{**head, "share": share} for head, share in zip(columns, shares, strict=True)],
        "groups": [{"title": one_line(title), "rows": list(rows)} for title, rows in groups.items() if rows],
        "case": case,
    }


def _shares_of_width(columns: Sequence[Column], texts_of_column: Sequence[Sequence[str]]) -> list[int]:
    """Return the `Column.share` of each column: its longest text if that exceeds the limit, else 0."""
    longest = [
        max(map(len, texts), default=0) if head["align"] == "left" else 0
        for head, texts in zip(columns, texts_of_column, strict=True)
    ]
    limit_of_others = SHORT if max(longest) <= SHORT else SHORT_WITH_LONGER
    limits = [SHORT, *[limit_of_others] * (len(longest) - 1)]
    return [
        min(length, MOST_SHARE) if length > limit else 0
        for length, limit in zip(longest, limits, strict=True)
    ]


def section(
    name: str, heading: str, blocks: Sequence[Block], new_page: bool = False, case: str = ""
) -> Section | None:
    """Make a section, or None without blocks."""
    if not blocks:
        return None
    return {
        "id": name,
        "heading": one_line(heading),
        "case": case,
        "new_page": new_page,
        "appendix": False,
        "blocks": list(blocks),
    }


def lines_of(block: Block) -> int:
    """Count the rows and group titles of a table; 0 for any other block."""
    return sum(len(group["rows"]) + bool(group["title"]) for group in block.get("groups", []))
