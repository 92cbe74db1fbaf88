"""What a report is made of, as plain data that can be written as JSON.

A report is a list of sections, a section a heading and a list of blocks: paragraphs, lists, tables and
figures. All texts are ready to print; whoever renders them calculates and decides nothing. From ``case`` and
``interconnect`` a page with filters knows what a block or row belongs to; they are empty where it belongs to
all or none.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, Literal, TypedDict

from analysis.presentation.formats import MISSING
from analysis.runs.errors import one_line

HEAD_WIDTH = 13
"""Letters on a line of the head of a column of numbers."""
SHORT, SHORTEST, LONGEST_SHARE = 40, 20, 70
"""Letters of a column that is as wide as its cells: beside others like it, and beside a longer one, which it
would squeeze; and the most that count of one."""


class Column(TypedDict):
    """Head of a column on one or more lines.

    ``share`` is the column's share of the room that the others leave; with 0 it is as wide as its cells.
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
    """Rows under a title of their own; the title is empty where a table has no groups."""

    title: str
    rows: list[Row]


class Block(TypedDict, total=False):
    """One element of a section; ``type`` says which of the keys it has.

    ``paragraph``: text. ``list``: title, items. ``table``: caption, columns, groups. ``figure``: name (stem
    of its files), caption, alt, width_inches, height_inches. What is not ``printed`` is for the screen alone.
    """

    type: Literal["paragraph", "list", "table", "figure"]
    case: str
    printed: bool
    text: str
    title: str
    items: list[str]
    caption: str
    columns: list[Column]
    groups: list[Group]
    name: str
    alt: str
    width_inches: float
    height_inches: float


class Section(TypedDict):
    """A heading with its blocks; ``new_page``: it begins a printed page; ``appendix``: it is part of that."""

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
    """Make a list, with a title above it."""
    return {"type": "list", "title": title, "items": [one_line(item) for item in items], "case": case}


def on_screen(block: Block) -> Block:
    """Keep a block off paper."""
    return {**block, "printed": False}


def figure(entry: Mapping[str, Any]) -> Block:
    """Make a figure from its `analysis.presentation.drawing.Drawing.entry`."""
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
    """Describe columns of texts, which stand to the left."""
    return [{"title": [one_line(title)], "align": "left", "share": 0} for title in titles]


def right(*titles: str) -> list[Column]:
    """Describe columns of numbers, which stand to the right under titles of several lines."""
    lines = [textwrap.wrap(one_line(title), HEAD_WIDTH, break_long_words=False) for title in titles]
    return [{"title": title, "align": "right", "share": 0} for title in lines]


def row(cells: Sequence[object], case: str = "", interconnect: object = "") -> Row:
    """Make a row of texts."""
    owner = one_line(interconnect) if isinstance(interconnect, str) else ""
    return {"cells": [one_line(cell) for cell in cells], "case": case, "interconnect": owner}


def table(
    caption: str,
    columns: Sequence[Column],
    groups: Mapping[str, Sequence[Row]],
    case: str = "",
) -> Block:
    """Make a table from rows by the title of their group.

    Columns of long texts share the room. A column that is empty, after the first, is left out.
    """
    cells = [
        [line["cells"][index] for rows in groups.values() for line in rows] for index in range(len(columns))
    ]
    kept = [index == 0 or bool(set(texts) - {"", MISSING}) for index, texts in enumerate(cells)]
    columns, cells = list(compress(columns, kept)), list(compress(cells, kept))
    groups = {
        title: [{**line, "cells": list(compress(line["cells"], kept))} for line in rows]
        for title, rows in groups.items()
    }
    longest = [
        max((len(cell) for cell in texts), default=0) if head["align"] == "left" else 0
        for head, texts in zip(columns, cells, strict=True)
    ]
    short = [SHORT, *[SHORT if max(longest) <= SHORT else SHORTEST] * (len(longest) - 1)]
    shares = [
        min(length, LONGEST_SHARE) if length > most else 0
        for length, most in zip(longest, short, strict=True)
    ]
    return {
        "type": "table",
        "caption": caption,
        "columns": [{**head, "share": share} for head, share in zip(columns, shares, strict=True)],
        "groups": [{"title": one_line(title), "rows": list(rows)} for title, rows in groups.items() if rows],
        "case": case,
    }


def section(
    name: str, heading: str, blocks: Sequence[Block], new_page: bool = False, case: str = ""
) -> Section | None:
    """Make a section; none where there is nothing to say."""
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
    """Lines of a table: its rows and the titles of its groups; 0 of any other block."""
    return sum(len(group["rows"]) + bool(group["title"]) for group in block.get("groups", []))
