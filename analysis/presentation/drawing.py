"""Figures with captions and hover texts, and their SVG and PNG files."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.figure import Figure

from analysis.presentation import style
from analysis.presentation.formats import counted
from analysis.presentation.labels import KINDS, Labels
from analysis.runs.errors import one_line
from analysis.runs.facts import AboutCase, AboutInterconnect, Facts
from analysis.runs.frames import Line, is_missing
from analysis.runs.settings import NODES

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
DOTS_PER_INCH = 200
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
AXIS_INCHES = 0.3
"""Height of the numbers and the title of a horizontal axis."""

_About = TypeVar("_About", AboutCase, AboutInterconnect)


@dataclass(frozen=True)
class Mark:
    """Interconnect, case and hover text of an element of a figure.

    Attributes
    ----------
    interconnect : str
        Empty if the element belongs to no interconnect.
    text : str
        Shown on hover; empty for an element without a value, such as a line or a legend entry.
    case : str
        Empty if the element belongs to no case, or if the figure shows a single case.
    """

    interconnect: str
    text: str = ""
    case: str = ""


@dataclass
class Drawing:
    """A figure and the texts that belong to it.

    Attributes
    ----------
    name : str
        Stem of its files and prefix of its identifiers.
    topic : str
        Topic whose section shows the figure.
    figure : Figure
    caption, alt : str
        Text below the figure, and a description for readers who cannot see it.
    case : str or None
        Case of a figure that shows a single case.
    marks : dict of str to Mark
        Marks by the identifier of the artist, or of the element of a collection.
    """

    name: str
    topic: str
    figure: Figure
    caption: str
    alt: str
    case: str | None = None
    marks: dict[str, Mark] = field(default_factory=dict)

    def mark(
        self, artist: Artist, interconnect: object = None, text: str = "", case: str | None = None
    ) -> None:
        """Attach an interconnect, a hover text and a case to an artist.

        The artist is an element of a panel, or the axes of a case in a figure of several cases.
        """
        artist.set_gid(self._identifier(interconnect, text, case))

    def mark_each(
        self, collection: Collection, interconnects: Sequence[object], texts: Sequence[str] = ()
    ) -> None:
        """Attach an interconnect and a hover text to each element of a collection."""
        pairs = zip(interconnects, texts or [""] * len(interconnects), strict=True)
        collection.set_urls([self._identifier(interconnect, text) for interconnect, text in pairs])

    def _identifier(self, interconnect: object, text: str, case: str | None = None) -> str:
        identifier = f"mark{len(self.marks)}"
        names = [one_line(name) if isinstance(name, str) else "" for name in (interconnect, case)]
        self.marks[identifier] = Mark(names[0], text, names[1])
        return identifier

    def panels(
        self, count: int, most_columns: int, titles: tuple[str, str] = ("", ""), **shared: Any
    ) -> list[Axes]:
        """Divide the figure into panels, row by row.

        The figure grows by the height of an axis if the last row is not full.

        Parameters
        ----------
        most_columns : int
            Most panels side by side.
        titles : pair of str
            Titles of the horizontal axes, below each column, and of the vertical axes, left of each row.
        **shared
            Options of `matplotlib.figure.Figure.subplots`.
        """
        columns = min(most_columns, count)
        if count % columns:
            self.figure.set_figheight(self.figure.get_figheight() + AXIS_INCHES)
        rows = math.ceil(count / columns)
        grid = self.figure.subplots(rows, columns, squeeze=False, **shared).ravel()
        for place, axes in enumerate(grid):
            if place >= count:
                axes.set_axis_off()
            if place + columns >= count:
                axes.set_xlabel(titles[0])
                axes.tick_params(labelbottom=True)
            if place % columns == 0:
                axes.set_ylabel(titles[1])
        return list(grid[:count])

    def entry(self) -> dict[str, Any]:
        """Describe the figure for a report, as plain data."""
        width, height = (round(float(inches), 3) for inches in self.figure.get_size_inches())
        return {"name": self.name, "topic": self.topic, "case": self.case, "caption": self.caption,
                "alt": self.alt, "width_inches": width, "height_inches": height}  # fmt: skip


@contextmanager
def new_drawing(
    name: str,
    topic: str,
    height: float,
    caption: str,
    alt: str = "",
    case: str | None = None,
    width: float = style.WIDTH,
) -> Iterator[Drawing]:
    """Make an empty drawing with a size in inches; figures are drawn within the context, in the common style.

    `alt` defaults to the caption.
    """
    with mpl.rc_context(style.RC):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield Drawing(name, topic, figure, caption, alt or caption, case)


def point_text(labels: Labels, row: Line, name: str, value: str) -> str:
    """Write the hover text of a point: case, interconnect with kind, processes and value, on a line each.

    Parameters
    ----------
    row : mapping
        With ``case``, ``kind``, ``oversubscription``, and ``processes`` or ``nodes``: nodes count if the row
        has the ``unit`` nodes.
    name : str
        Title of the interconnect or the curve. The kind is appended if it is missing.
    value : str
        Value with its unit and interval.
    """
    has_kind = is_missing(row["kind"]) or KINDS.get(row["kind"], str(row["kind"])) in name
    owner = name if has_kind else f"{name}, {one_line(row['kind'])}"
    by_nodes = row.get("unit") == NODES
    count = counted(row["nodes"], "node") if by_nodes else counted(row["processes"], "process")
    return "\n".join(
        [labels.case(row["case"]), owner, f"{count}, oversubscription {row['oversubscription']}", value]
    )


def save(drawing: Drawing, folder: Path, png: bool = False) -> Path:
    """Write a drawing as SVG, optionally also as PNG, into an existing folder; return the path of the SVG.

    The bytes depend only on the drawing. In the SVG each mark is a group with its text as title, its
    interconnect as ``data-interconnect`` and its case as ``data-case``. Identifiers start with the name of
    the drawing, so that one page can hold several figures.
    """
    file, raw = folder / f"{drawing.name}.svg", BytesIO()
    with mpl.rc_context(style.RC | {"svg.hashsalt": drawing.name}):
        drawing.figure.savefig(raw, format="svg", dpi=DOTS_PER_INCH, metadata=NO_METADATA)
        if png:
            drawing.figure.savefig(file.with_suffix(".png"), dpi=DOTS_PER_INCH)
    file.write_bytes(_annotated(raw.getvalue(), drawing))
    return file


def _annotated(svg: bytes, drawing: Drawing) -> bytes:
    """Add the marks of a drawing to its SVG: see `save`."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(svg)
    root.set("id", "drawing")
    root.set("role", "img")
    root.set("aria-label", drawing.alt)
    for element in root.iter():
        if element.tag == f"{{{SVG}}}a":  # an element of a collection: Matplotlib writes its mark as a link
            identifier = element.attrib[f"{{{XLINK}}}href"]
            element.tag, element.attrib = f"{{{SVG}}}g", {"id": identifier}
        if mark := drawing.marks.get(element.get("id", "")):
            _add_mark(element, mark)
        _prefix_identifiers(element, drawing.name)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def _add_mark(element: ElementTree.Element, mark: Mark) -> None:
    """Add class, interconnect, case and hover text of a mark to an element of an SVG."""
    element.set("class", "panel" if mark.case else "part")
    if mark.interconnect:
        element.set("data-interconnect", mark.interconnect)
    if mark.case:
        element.set("data-case", mark.case)
    if mark.text:
        element.set("class", "mark")
        title = ElementTree.Element(f"{{{SVG}}}title")
        title.text = mark.text
        element.insert(0, title)


def _prefix_identifiers(element: ElementTree.Element, prefix: str) -> None:
    """Prefix the identifier of an element and its references, in place, so that figures of a page differ."""
    for key, value in element.attrib.items():
        if key == "id":
            element.set(key, f"{prefix}-{value}")
        elif key == f"{{{XLINK}}}href" and value.startswith("#"):
            element.set(key, f"#{prefix}-{value[1:]}")
        elif "url(#" in value:
            element.set(key, value.replace("url(#", f"url(#{prefix}-"))


def file_stem(*words: str) -> str:
    """Join words to a file name of letters, digits, ``_`` and ``-``.

    Examples
    --------
    >>> file_stem("scaling", "../a b")
    'scaling-a_b'
    """
    return "-".join(re.sub(r"[^A-Za-z0-9]+", "_", word).strip("_") or "x" for word in words)[:80]


def distinct(drawings: list[Drawing]) -> list[Drawing]:
    """Number drawings with the same name: ``changes``, ``changes-2``."""
    taken: set[str] = set()
    for drawing in drawings:
        stem, number = drawing.name, 1
        while drawing.name in taken:
            number += 1
            drawing.name = f"{stem}-{number}"
        taken.add(drawing.name)
    return drawings


def shortened(label: str, width: int = 52, lines: int = 2) -> str:
    """Break a label into at most `lines` lines of `width` characters. A label that is cut ends in ``…``."""
    return "\n".join(textwrap.wrap(label, width, max_lines=lines, placeholder="…")) or label


def drawable(facts: Facts) -> Facts:
    """Replace characters of titles that the font of the figures lacks by ``\ufffd``.

    Other fonts are not installed everywhere, and the layout does not know the width of their characters.
    """
    covered = font_manager.get_font(font_manager.findfont("DejaVu Sans")).get_charmap()

    def plain(about: _About) -> _About:
        title = about.title or ""
        characters = (char if char.isspace() or ord(char) in covered else "\ufffd" for char in title)
        return replace(about, title="".join(characters))

    return replace(
        facts,
        cases={name: plain(about) for name, about in facts.cases.items()},
        interconnects={name: plain(about) for name, about in facts.interconnects.items()},
    )
