"""Legends, and what a caption says about points, bars and lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis import formats
from analysis.figures import style
from analysis.figures.drawing import Drawing, shortened
from analysis.figures.style import Look
from analysis.labels import SERIAL, Labels

LETTER_POINTS = 3.75
"""Mean width of a letter at the size of the legend."""
POINTS_PER_INCH = 72
HANDLE_POINTS = 40
"""Width of what stands before and between the entries."""


def legend_entries(rows: pd.DataFrame, labels: Labels) -> list[tuple[str, str, str]]:
    """Interconnect, kind and label of everything in `rows`, in the study's order."""
    pairs = rows.dropna(subset="interconnect")[["interconnect", "kind"]].drop_duplicates()
    order = labels.sorted_interconnects(pairs["interconnect"])
    found = sorted(pairs.itertuples(index=False, name=None), key=lambda pair: (order.index(pair[0]), pair[1]))
    return [(name, kind, labels.interconnect(name, kind)) for name, kind in found]


def add_legend(
    figure: Figure,
    drawing: Drawing,
    entries: Sequence[tuple[str, str, str]],
    looks: Mapping[str, Look],
    serial: bool = False,
    curves: bool = True,
) -> float:
    """Put the legend below the panels, in as many columns as fit.

    Parameters
    ----------
    figure : Figure
    drawing : Drawing
    entries : sequence of (interconnect, kind, label)
    looks : mapping of str to Look
    serial : bool
        Whether there is a point of the serial run to explain.
    curves : bool
        Whether points are joined, and an ideal drawn.

    Returns
    -------
    float
        Its approximate height in inches.
    """
    handles = [
        Line2D(
            [],
            [],
            color=looks[name].colour,
            marker=looks[name].marker,
            linestyle=style.line_of(kind) if curves else "none",
        )
        for name, kind, _ in entries
    ]
    texts = [shortened(label) for _, _, label in entries]
    if serial:
        handles.append(
            Line2D([], [], color=style.SERIAL_LOOK.colour, marker=style.SERIAL_LOOK.marker, linestyle="none")
        )
        texts.append(SERIAL)
    if curves:
        handles.append(Line2D([], [], color=style.IDEAL, linewidth=0.8))
        texts.append("Ideal")
    longest = max(len(line) for text in texts for line in text.split("\n"))
    entry_points = longest * LETTER_POINTS + HANDLE_POINTS
    columns = max(1, min(len(texts), int(figure.get_size_inches()[0] * POINTS_PER_INCH / entry_points)))
    legend = figure.legend(handles, texts, loc="outside lower center", ncols=columns)
    for (name, _, _), handle, text in zip(entries, legend.legend_handles, legend.get_texts(), strict=False):
        drawing.mark(handle, name)
        drawing.mark(text, name)
    lines = -(-len(texts) // columns) * max(text.count("\n") + 1 for text in texts)
    return 0.14 * lines + 0.12


def reading_notes(rows: pd.DataFrame, labels: Labels) -> list[str]:
    """Say what the points, bars, hollow markers and line styles of a figure of `rows` mean."""
    with_interval = rows["speedup_low"].notna()
    notes = []
    if with_interval.any():
        notes.append(f"Points are medians over blocks, bars their {labels.level} intervals.")
        if not with_interval.all():
            notes.append("Hollow points have no interval.")
    else:
        notes.append("Hollow points: one sample each, so there are no intervals.")
    others = [kind for kind in dict.fromkeys(rows["kind"]) if kind in style.LINES and kind != "measured"]
    names = {"emulated": "dashed", "simulated": "dotted", "published": "dash-dotted"}
    if others:
        lines = formats.listed([f"{names[kind]} lines are {kind}" for kind in others])
        notes.append(f"{lines[0].upper()}{lines[1:]}.")
    return notes
