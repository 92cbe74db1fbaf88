"""Legends, and caption sentences about points, bars and lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pandas as pd
from matplotlib.lines import Line2D

from analysis.presentation import formats, style
from analysis.presentation.drawing import Drawing, shortened
from analysis.presentation.labels import SERIAL, Labels
from analysis.presentation.sentences import OF_SPEEDUPS, has_several
from analysis.presentation.style import FigureLabels
from analysis.runs.frames import is_missing

LETTER_POINTS = 3.75
"""Mean width of a character at the font size of the legend."""
POINTS_PER_INCH = 72
WEAK = "Scaling is weak: the size grows with the processes. Scaled speedup compares the work done per second."
HANDLE_POINTS = 40
"""Width of a line sample plus the space between two entries."""
WIDEST = 48
"""Most characters on a line of a label."""


class Entry(NamedTuple):
    """A curve in a legend; `placement` is its processes per node, or None if these do not vary."""

    interconnect: str
    kind: str
    placement: float | None
    label: str


def legend_entries(rows: pd.DataFrame, labels: Labels) -> list[Entry]:
    """List the curves in `rows`, in the order of the study."""
    columns = ["interconnect", "kind", "processes_per_node"]
    curves = rows.dropna(subset="interconnect").reindex(columns=columns).drop_duplicates()
    entries = [
        Entry(
            row["interconnect"],
            row["kind"],
            None if is_missing(row["processes_per_node"]) else float(row["processes_per_node"]),
            labels.curve(row),
        )
        for row in curves.to_dict("records")
    ]
    return sorted(
        entries, key=lambda entry: (labels.place(entry.interconnect), entry.kind, entry.placement or 0)
    )


def add_legend(
    drawing: Drawing,
    rows: pd.DataFrame,
    labels: FigureLabels,
    serial: bool = False,
    curves: bool = True,
    ideal: bool = True,
    named: bool = False,
) -> None:
    """Add a legend below the panels, in as many columns as fit, and enlarge the figure by its height.

    Parameters
    ----------
    serial : bool
        Whether the figure shows the serial run.
    curves : bool
        Whether the figure shows curves; otherwise entries have no lines.
    ideal : bool
        Whether the figure shows an ideal.
    named : bool
        Whether the curves are labelled at their ends, so that the legend omits them.
    """
    entries = [] if named else legend_entries(rows, labels)
    handles = [
        _handle(
            labels.look(entry.interconnect, entry.placement), style.line_of(entry.kind) if curves else "none"
        )
        for entry in entries
    ]
    texts = [shortened(entry.label, WIDEST) for entry in entries]
    if serial:
        handles.append(_handle(style.SERIAL_LOOK, "none"))
        texts.append(SERIAL)
    if curves and ideal:
        handles.append(Line2D([], [], color=style.IDEAL, linewidth=0.8))
        texts.append("Ideal")
    longest = max(len(line) for text in texts for line in text.split("\n"))
    entry_points = longest * LETTER_POINTS + HANDLE_POINTS
    width = drawing.figure.get_figwidth()
    columns = max(1, min(len(texts), int(width * POINTS_PER_INCH / entry_points)))
    legend = drawing.figure.legend(handles, texts, loc="outside lower center", ncols=columns)
    for entry, handle, text in zip(entries, legend.legend_handles, legend.get_texts(), strict=False):
        for artist in filter(None, (handle, text)):
            drawing.mark(artist, entry.interconnect)
    lines_per_entry = max(text.count("\n") + 1 for text in texts)
    _make_room(drawing, math.ceil(len(texts) / columns) * lines_per_entry)


def add_look_legend(
    drawing: Drawing, looks: Mapping[str, style.Look], line: style.LineStyle, columns: int
) -> None:
    """Add a legend of curves that are not interconnects below the panels, and enlarge the figure."""
    handles = [_handle(look, line) for look in looks.values()]
    drawing.figure.legend(handles, list(looks), loc="outside lower center", ncols=columns)
    _make_room(drawing, math.ceil(len(looks) / columns))


def _make_room(drawing: Drawing, lines: int) -> None:
    """Enlarge a figure by the height of a legend with this number of lines."""
    drawing.figure.set_figheight(drawing.figure.get_figheight() + 0.14 * lines + 0.12)


def _handle(look: style.Look, line: style.LineStyle) -> Line2D:
    return Line2D([], [], color=look.colour, marker=look.marker, linestyle=line)


def line_notes(kinds: Iterable[str]) -> list[str]:
    """Name the kinds whose lines are not solid, in at most one sentence."""
    names = {"emulated": "dashed", "simulated": "dotted", "published": "dash-dotted"}
    lines = formats.listed(
        f"{names[kind]} lines show {kind} values" for kind in dict.fromkeys(kinds) if kind in names
    )
    return [f"{lines[0].upper()}{lines[1:]}."] if lines else []


def reading_notes(rows: pd.DataFrame, labels: Labels, times: bool) -> list[str]:
    """Explain points, bars, hollow markers and line styles of a figure.

    `times`: whether the figure shows times.
    """
    with_interval = rows["speedup_low"].notna()
    notes = [WEAK] if labels.weak else []
    if with_interval.any():
        notes.append(f"Points are {labels.times(rows)}. Bars are {labels.intervals(rows, times)}.")
        if not with_interval.all():
            notes.append("Hollow points have no interval.")
    else:
        several = has_several(rows["n"])
        why = OF_SPEEDUPS if several else "Each of these points is a single sample."
        notes.append(f"Hollow points have no interval. {why}")
        notes += ["Bars are intervals of times."] if several and times else []
    return notes + line_notes(rows["kind"])
