"""A figure with its caption, the values that a page shows on hover, and its files."""

from __future__ import annotations

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

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
DOTS_PER_INCH = 200
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
AXIS_INCHES = 0.3
"""Height of the numbers and the title of a horizontal axis."""

_About = TypeVar("_About", AboutCase, AboutInterconnect)


@dataclass(frozen=True)
class Mark:
    """Meaning of an element of a figure.

    Attributes
    ----------
    interconnect : str
        Empty where the element belongs to no interconnect.
    text : str
        Shown on hover; empty for an element that shows no value (a line, a legend entry).
    case : str
        Empty where the element belongs to no case, or where the figure shows a single case.
    """

    interconnect: str
    text: str = ""
    case: str = ""


@dataclass
class Drawing:
    """A figure and the words of a page about it.

    Attributes
    ----------
    name : str
        Stem of its files and prefix of its identifiers.
    topic : str
        Where the report puts the figure (``scaling``, ``overview``, ...).
    figure : Figure
    caption, alt : str
        The text below the figure, and a description for readers who do not see it.
    case : str or None
        The case, where the figure shows a single case.
    marks : dict of str to Mark
        By the identifier of the artist, or of the element of a collection.
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
        """Tie an artist to its interconnect, its case, and to the values shown when a pointer is over it.

        An artist is an element of a panel or, in a figure of several cases, the axes of a case.
        """
        artist.set_gid(self._identifier(interconnect, text, case))

    def mark_each(
        self, collection: Collection, interconnects: Sequence[object], texts: Sequence[str] = ()
    ) -> None:
        """Tie each element of a collection to its interconnect and to the value shown on hover, if any."""
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
        """Divide the figure into panels, in rows that are filled from the left.

        The figure grows by the room of the axis below panels that have no panel below them.

        Parameters
        ----------
        most_columns : int
            Panels side by side.
        titles : pair of str
            Titles of the horizontal axes, below the lowest panel of each column, and of the vertical axes,
            left of the first panel of each row.
        **shared
            As `matplotlib.figure.Figure.subplots` takes them.
        """
        columns = min(most_columns, count)
        if count % columns:
            self.figure.set_figheight(self.figure.get_figheight() + AXIS_INCHES)
        grid = self.figure.subplots(-(-count // columns), columns, squeeze=False, **shared).ravel()
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
        """Return what a report needs to know to show the figure, as plain data."""
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
    """Start a drawing of a size in inches; everything drawn within the context has the theme.

    `alt` is the caption by default.
    """
    with mpl.rc_context(style.RC):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield Drawing(name, topic, figure, caption, alt or caption, case)


def point_text(labels: Labels, row: Line, name: str, value: str) -> str:
    """Write case, interconnect and kind, processes and value of a point, one line each.

    Parameters
    ----------
    row : mapping
        With ``case``, ``kind``, ``processes`` and ``oversubscription``.
    name : str
        Title of the interconnect, or of another owner of the value; `point_text` adds a missing kind.
    value : str
        With its unit and interval, in one line or several.
    """
    has_kind = is_missing(row["kind"]) or KINDS.get(row["kind"], row["kind"]) in name
    owner = name if has_kind else f"{name}, {one_line(row['kind'])}"
    count = counted(row["processes"], "process")
    return "\n".join(
        [labels.case(row["case"]), owner, f"{count}, oversubscription {row['oversubscription']}", value]
    )


def save(drawing: Drawing, folder: Path, png: bool = False) -> Path:
    """Write a drawing as SVG, and as PNG if asked for, into a folder that exists; gives the SVG.

    The same drawing gives the same bytes. In the SVG every mark is a group with its text as title, its
    interconnect as ``data-interconnect`` and its case as ``data-case``. Identifiers begin with the drawing's
    name, so that several figures can stand in one page.
    """
    file, raw = folder / f"{drawing.name}.svg", BytesIO()
    with mpl.rc_context(style.RC | {"svg.hashsalt": drawing.name}):
        drawing.figure.savefig(raw, format="svg", dpi=DOTS_PER_INCH, metadata=NO_METADATA)
        if png:
            drawing.figure.savefig(file.with_suffix(".png"), dpi=DOTS_PER_INCH)
    file.write_bytes(_annotated(raw.getvalue(), drawing))
    return file


def _annotated(svg: bytes, drawing: Drawing) -> bytes:
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(svg)
    root.set("id", "drawing")
    root.set("role", "img")
    root.set("aria-label", drawing.alt)
    for element in root.iter():
        if element.tag == f"{{{SVG}}}a":  # an element of a collection
            element.tag, identifier = f"{{{SVG}}}g", element.attrib.pop(f"{{{XLINK}}}href")
            element.attrib = {"id": identifier}
        if mark := drawing.marks.get(element.get("id", "")):
            element.set("class", "mark" if mark.text else "panel" if mark.case else "part")
            for key, value in (("interconnect", mark.interconnect), ("case", mark.case)):
                if value:
                    element.set(f"data-{key}", value)
            if mark.text:
                title = ElementTree.Element(f"{{{SVG}}}title")
                title.text = mark.text
                element.insert(0, title)
        _prefix_identifiers(element, drawing.name)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def _prefix_identifiers(element: ElementTree.Element, prefix: str) -> None:
    for key, value in element.attrib.items():
        if key == "id":
            element.set(key, f"{prefix}-{value}")
        elif key == f"{{{XLINK}}}href" and value.startswith("#"):
            element.set(key, f"#{prefix}-{value[1:]}")
        elif "url(#" in value:
            element.set(key, value.replace("url(#", f"url(#{prefix}-"))


def file_stem(*words: str) -> str:
    """Join words to the name of a file that has only letters, digits, ``_`` and ``-``.

    Examples
    --------
    >>> file_stem("scaling", "../a b")
    'scaling-a_b'
    """
    return "-".join(re.sub(r"[^A-Za-z0-9]+", "_", word).strip("_") or "x" for word in words)[:80]


def distinct(drawings: list[Drawing]) -> list[Drawing]:
    """Number drawings of the same name, from the second on: ``changes``, ``changes-2``."""
    taken: set[str] = set()
    for drawing in drawings:
        stem, number = drawing.name, 1
        while drawing.name in taken:
            number += 1
            drawing.name = f"{stem}-{number}"
        taken.add(drawing.name)
    return drawings


def shortened(label: str, width: int = 52, lines: int = 2) -> str:
    """Break a label into at most `lines` lines of at most `width` letters; a cut label ends in ``…``."""
    return "\n".join(textwrap.wrap(label, width, max_lines=lines, placeholder="…")) or label


def drawable(facts: Facts) -> Facts:
    """Replace letters that the figures' font lacks in titles by ``\ufffd``.

    Other fonts are not on every machine, and the layout does not know the width of their letters.
    """
    covered = font_manager.get_font(font_manager.findfont("DejaVu Sans")).get_charmap()

    def plain(about: _About) -> _About:
        letters = about.title or ""
        shown = (letter if letter.isspace() or ord(letter) in covered else "\ufffd" for letter in letters)
        return replace(about, title="".join(shown))

    return replace(
        facts,
        cases={name: plain(about) for name, about in facts.cases.items()},
        interconnects={name: plain(about) for name, about in facts.interconnects.items()},
    )
