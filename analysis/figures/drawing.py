"""A figure with what it needs around it: caption, values to show on hover, files."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox, ScaledTranslation

from analysis.figures import style
from analysis.figures.png import DOTS_PER_INCH
from analysis.runs.errors import one_line
from analysis.runs.facts import AboutCase, AboutInterconnect, Facts
from analysis.tables.missing import Line, is_missing
from analysis.text.formats import counted
from analysis.text.labels import KINDS, Labels

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"

DECIMALS = re.compile(r"(\.\d\d)\d+")
"""More than a hundredth of a point, which nobody can see, would double the size of the files."""

_Found = TypeVar("_Found")
_About = TypeVar("_About", AboutCase, AboutInterconnect)


@dataclass(frozen=True)
class Mark:
    """What an element of a figure stands for.

    Attributes
    ----------
    interconnect : str
        Empty where it belongs to none.
    text : str
        Shown on hover; empty for what only belongs to the interconnect (a line, a legend entry).
    case : str
        Empty where it belongs to none, or where the whole figure is of one.
    """

    interconnect: str
    text: str = ""
    case: str = ""


@dataclass
class Drawing:
    """A figure and what a page says about it.

    Attributes
    ----------
    name : str
        Stem of its files and prefix of its identifiers.
    topic : str
        What the figure is for (``scaling``, ``overview``, ...): where the report puts it.
    figure : Figure
    caption, alt : str
        What a page says below it, and what it shows, for those who do not see it.
    case : str or None
        The case, where it shows one only.
    marks : dict of str to Mark
        By the identifier (gid) of the artist.
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
        gid = f"mark{len(self.marks)}"
        artist.set_gid(gid)
        names = [one_line(name) if isinstance(name, str) else "" for name in (interconnect, case)]
        self.marks[gid] = Mark(names[0], text, names[1])

    def entry(self) -> dict[str, Any]:
        """Return what a report needs to know to show the figure, as plain data."""
        width, height = (round(float(inches), 3) for inches in self.figure.get_size_inches())
        return {"name": self.name, "topic": self.topic, "case": self.case, "caption": self.caption,
                "alt": self.alt, "width_inches": width, "height_inches": height}  # fmt: skip


def point_text(labels: Labels, row: Line, name: str, value: str) -> str:
    """Write what a value belongs to (case, interconnect and kind, processes) and the value, a line each.

    Parameters
    ----------
    row : mapping
        With ``case``, ``kind``, ``processes`` and ``oversubscription``.
    name : str
        Title of the interconnect, or of whatever else the value belongs to. The kind is added if it lacks it.
    value : str
        With its unit and interval; may be of several lines.
    """
    has_kind = is_missing(row["kind"]) or KINDS.get(row["kind"], row["kind"]) in name
    owner = name if has_kind else f"{name}, {one_line(row['kind'])}"
    count = counted(row["processes"], "process")
    return "\n".join(
        [labels.case(row["case"]), owner, f"{count}, oversubscription {row['oversubscription']}", value]
    )


def canvas(height: float, width: float = style.WIDTH) -> Figure:
    """Empty figure of a size in inches, laid out so that nothing overlaps. Call within `mpl.rc_context`."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03, wspace=0.04, hspace=0.04)
    return figure


def dot(axes: Axes, x: object, y: object, look: style.Look, hollow: bool = False, **more: object) -> Line2D:
    """Draw the marker of a value, or of several; hollow where it has no interval."""
    face = style.PAPER if hollow else look.colour
    marker = {"color": look.colour, "marker": look.marker, "markerfacecolor": face, "linestyle": "none"}
    (drawn,) = axes.plot(x, y, **marker, **more)
    return drawn


def draw_percentage(
    drawing: Drawing,
    axes: Axes,
    height: float,
    ends: tuple[float, float, float],
    look: style.Look,
    size: float,
    mark: Mark,
    starred: bool = False,
) -> None:
    """Draw a percentage and the ends of its interval at a height: a dot with its whisker, and a star."""
    value, low, high = ends
    owner = mark.interconnect
    hollow = is_missing(low) or is_missing(high)
    if not hollow:
        (line,) = axes.plot([low, high], [height, height], color=look.colour, linewidth=0.9, zorder=2)
        drawing.mark(line, owner)
    drawing.mark(dot(axes, value, height, look, hollow, markersize=size, zorder=3), owner, mark.text)
    if starred:
        star = axes.annotate(
            "*", (value if hollow else high, height), xytext=(3, -1), textcoords="offset points", va="center"
        )
        drawing.mark(star, owner)


def save(drawing: Drawing, folder: Path) -> Path:
    """Write a drawing as SVG into a folder that exists; other formats are made from that.

    The same drawing gives the same bytes. In the SVG every mark is a group with its text as title, its
    interconnect as ``data-interconnect`` and its case as ``data-case``; identifiers begin with the drawing's
    name, so that several figures can stand in one page.
    """
    file, figure, raw = folder / f"{drawing.name}.svg", drawing.figure, BytesIO()
    with mpl.rc_context(style.RC | {"svg.hashsalt": drawing.name}):
        FigureCanvasAgg(figure)
        for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
            if not axis.get_label_text():
                axis.set_label_coords(0, 0)  # else a place is looked for, past all tick labels, several times
        if all(axes.get_aspect() == "auto" for axes in figure.axes):
            for axes in figure.axes:
                _measure_once(axes)
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine("none")
        figure.set_dpi(DOTS_PER_INCH)
        FigureCanvasSVG(figure).print_svg(raw, metadata={"Date": None})  # `savefig` draws twice
    file.write_bytes(_annotated(raw.getvalue(), drawing))
    return file


def _measure_once(axes: Axes) -> None:
    """Lay axes out in half the time: what stands around them is as large wherever they are moved.

    Tick labels too are measured once, not five times; spines, which are as large as their axes, never. Not
    for images, which have sizes of their own.
    """
    for spine in axes.spines.values():
        spine.set_in_layout(False)
    for axis in (axes.xaxis, axes.yaxis):
        axis._get_ticklabel_bboxes = _once(axis._get_ticklabel_bboxes)
    measure = axes.get_tightbbox

    @_once
    def around(*given: Any, **more: Any) -> np.ndarray:
        found = measure(*given, **more).extents - axes.bbox.extents
        _keep_labels(axes)
        return found

    axes.get_tightbbox = lambda *given, **more: Bbox.from_extents(axes.bbox.extents + around(*given, **more))


def _keep_labels(axes: Axes) -> None:
    """Keep labels on the left and below where their place was found; drawing would look for it anew."""
    inches = axes.figure.dpi_scale_trans
    for axis, side in ((axes.xaxis, "bottom"), (axes.yaxis, "left")):
        if axis.get_label_position() != side or axis.get_offset_text().get_text():
            del axis._get_ticklabel_bboxes  # drawing goes by it
        elif axis.get_label_text():
            x, y = axis.label.get_position()  # across the axis in dots, along it as a share
            if side == "left":
                at, away = (0, y), (x - axes.bbox.x0, 0)
            else:
                at, away = (x, 0), (0, y - axes.bbox.y0)
            moved = ScaledTranslation(*(dots / axes.figure.dpi for dots in away), inches)
            axis.set_label_coords(*at, transform=axes.transAxes + moved)


def _once(measure: Callable[..., _Found]) -> Callable[..., _Found]:
    """A function that measures when it is called first, and then says that ever again."""
    found: list[_Found] = []

    def measured(*given: Any, **more: Any) -> _Found:
        if not found:
            found.append(measure(*given, **more))
        return found[0]

    return measured


def _annotated(svg: bytes, drawing: Drawing) -> bytes:
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(svg)
    for metadata in root.findall(f"{{{SVG}}}metadata"):
        root.remove(metadata)
    root.set("id", "drawing")
    root.set("role", "img")
    root.set("aria-label", drawing.alt)
    for element in root.iter():
        gid = element.get("id")
        if mark := drawing.marks.get(gid or ""):
            element.set("class", "mark" if mark.text else "panel" if mark.case else "part")
            for key, value in (("interconnect", mark.interconnect), ("case", mark.case)):
                if value:
                    element.set(f"data-{key}", value)
            if mark.text:
                title = ElementTree.Element(f"{{{SVG}}}title")
                title.text = mark.text
                element.insert(0, title)
        _prefix_identifiers(element, drawing.name)
        for key in {"d", "x", "y", "transform"} & element.attrib.keys():
            element.set(key, DECIMALS.sub(r"\1", element.attrib[key]))
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
    """Name of a file made of `words`, of letters, digits, ``_`` and ``-`` alone.

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
    """Break a label into at most so many `lines` of at most `width` letters; what is cut ends in ``…``."""
    return "\n".join(textwrap.wrap(label, width, max_lines=lines, placeholder="…")) or label


def drawable(facts: Facts) -> Facts:
    """Facts whose titles hold no letter that the figures' font lacks; such a letter becomes ``\ufffd``.

    Other fonts are not on every machine, and a printer without one takes any room for such a letter.
    """
    known = font_manager.get_font(font_manager.findfont("DejaVu Sans")).get_charmap()

    def plain(about: _About) -> _About:
        letters = about.title or ""
        shown = (letter if letter.isspace() or ord(letter) in known else "\ufffd" for letter in letters)
        return replace(about, title="".join(shown))

    return replace(
        facts,
        cases={name: plain(about) for name, about in facts.cases.items()},
        interconnects={name: plain(about) for name, about in facts.interconnects.items()},
    )
