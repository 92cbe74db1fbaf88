"""Speedup, efficiency and time against processes: a figure per case and an overview of all cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import matplotlib as mpl
import pandas as pd

from analysis import formats
from analysis.figures import style
from analysis.figures.curves import (
    EFFICIENCY,
    TIME,
    Panel,
    curves_of,
    draw_panel,
    finish_axis,
    panels_of,
    speedup_of,
)
from analysis.figures.drawing import Drawing, canvas, file_stem, shortened
from analysis.figures.legend import add_legend, legend_entries, reading_notes
from analysis.figures.style import Look
from analysis.labels import Labels

PANEL_HEIGHT = 1.85
ALL_PANELS = 4.6
OVERVIEW_COLUMNS = 4
OVERVIEW_HEIGHT = 1.45


def scaling_figures(scaling: pd.DataFrame, labels: Labels, looks: Mapping[str, Look]) -> list[Drawing]:
    """Draw speedup, efficiency and time of every case, one row of panels per oversubscription level.

    Kinds that may not be compared have rows of their own.

    Parameters
    ----------
    scaling : DataFrame
    labels : Labels
    looks : mapping of str to Look

    Returns
    -------
    list of Drawing
        In the study's order of cases; none for a case of which there is nothing but a serial run.
    """
    drawings: list[Drawing] = []
    for case in labels.sorted_cases(scaling["case"].unique()):
        of_case = scaling[scaling["case"] == case]
        panels = panels_of(of_case, labels.declared)
        if panels:
            stem = file_stem("scaling", case, taken={drawing.name for drawing in drawings})
            drawing = _scaling_figure(case, panels, labels, looks, stem)
            drawing.caption += _left_out(of_case, panels)
            drawings.append(drawing)
    return drawings


def _left_out(scaling: pd.DataFrame, panels: Sequence[Panel]) -> str:
    """Say which oversubscription levels make no curve."""
    gone = sorted(set(scaling["oversubscription"]) - {panel.level for panel in panels})
    if not gone:
        return ""
    levels = formats.listed(str(level) for level in gone)
    return f" Oversubscription {levels} was run at one count only and makes no curve."


def _scaling_figure(
    case: str, panels: Sequence[Panel], labels: Labels, looks: Mapping[str, Look], name: str
) -> Drawing:
    rows = pd.concat([panel.rows for panel in panels])
    entries = legend_entries(rows, labels)
    quantities = (speedup_of(labels), EFFICIENCY, TIME)
    with mpl.rc_context(style.RC):
        figure = canvas(1.0)
        drawing = Drawing(
            name,
            "scaling",
            figure,
            _scaling_caption(case, panels, rows, labels),
            _alt(case, rows, labels),
            case,
        )
        grid = figure.subplots(len(panels), 3, sharex="col", sharey="col", squeeze=False)
        for panel, axes in zip(panels, grid, strict=True):
            curves = curves_of(panel, labels)
            for axis, quantity in zip(axes, quantities, strict=True):
                draw_panel(axis, panel, curves, quantity, drawing, labels, looks)
                axis.set_ylabel(quantity.title)
            axes[0].set_title(_panel_title(panel, panels), fontweight="bold")
        for axis, quantity in zip(grid[0], quantities, strict=True):
            finish_axis(axis, rows, quantity, inches=1.7)
        for axis in grid[-1]:
            axis.set_xlabel("Processes")
        legend_height = add_legend(figure, drawing, entries, looks, rows["serial"].any())
        figure.set_size_inches(
            style.WIDTH, min(PANEL_HEIGHT * len(panels), ALL_PANELS) + 0.15 + legend_height
        )
    return drawing


def overview_figure(scaling: pd.DataFrame, labels: Labels, looks: Mapping[str, Look]) -> list[Drawing]:
    """Draw the speedup of all cases side by side, one panel per case, kinds and oversubscription level.

    Returns
    -------
    list of Drawing
        One, or none where there is nothing but serial runs.
    """
    every = labels.sorted_cases(scaling["case"].unique())
    found = {case: panels_of(scaling[scaling["case"] == case], labels.declared) for case in every}
    panels = {case: own for case, own in found.items() if own}
    if not panels:
        return []
    rows = pd.concat([panel.rows for own in panels.values() for panel in own])
    cells = _overview_cells(panels)
    columns = len(cells[0])
    names = formats.listed([labels.case(case) for case in panels])
    speedup = speedup_of(labels)
    shown = f"{speedup.title} against the number of processes, by case."
    caption = " ".join([shown, *reading_notes(rows, labels, times=False)])
    with mpl.rc_context(style.RC):
        height = len(cells) * OVERVIEW_HEIGHT
        figure = canvas(height)
        alt = f"{speedup.title} of {names} against processes."
        drawing = Drawing("overview", "overview", figure, caption, alt)
        grid = figure.subplots(len(cells), columns, sharex=True, sharey=True, squeeze=False)
        for axis_row, cell_row in zip(grid, cells, strict=True):
            unders = {_panel_title(panel, panels[case]) for case, panel in filter(None, cell_row)}
            beside = len(panels) > 1 and len(unders) == 1  # said once, beside the row
            for axis, cell in zip(axis_row, cell_row, strict=True):
                if cell is None:
                    axis.set_axis_off()
                    continue
                case, panel = cell
                drawing.mark(axis, case=case)
                draw_panel(axis, panel, curves_of(panel, labels), speedup, drawing, labels, looks)
                first = len(panels) > 1 and panel is panels[case][0]
                name = shortened(labels.case(case), width=24 if columns > 3 else 34) if first else ""
                under = "" if beside else _panel_title(panel, panels[case])
                axis.set_title("\n".join(filter(None, (name, under))))
                axis.tick_params(labelbottom=True, labelleft=True)
                if cell is next(filter(None, cell_row)):
                    axis.set_ylabel("\n".join([speedup.title, *(unders if beside else [])]).strip())
        finish_axis(grid[0][0], rows, speedup, inches=style.WIDTH / columns - 0.4)
        for axis in grid[-1]:
            axis.set_xlabel("Processes")
        legend = add_legend(figure, drawing, legend_entries(rows, labels), looks, rows["serial"].any())
        figure.set_size_inches(style.WIDTH, height + legend + 0.2)
    return [drawing]


def _overview_cells(panels: Mapping[str, Sequence[Panel]]) -> list[list[tuple[str, Panel] | None]]:
    """Arrange cases side by side and the panels of each below one another; of a single case, side by side."""
    columns = [[(case, panel) for panel in own] for case, own in panels.items()]
    if len(columns) == 1:
        return _rows_of(columns[0])
    return [
        list(row) for chunk in _rows_of(columns) for row in zip_longest(*(column or [] for column in chunk))
    ]


def _rows_of(cells: Sequence[Any]) -> list[list[Any]]:
    """Break cells into rows, as equal as possible; the last is filled up with None."""
    rows = -(-len(cells) // OVERVIEW_COLUMNS)
    columns = -(-len(cells) // rows)
    padded = [*cells, *[None] * (rows * columns - len(cells))]
    return [padded[start : start + columns] for start in range(0, len(padded), columns)]


def _panel_title(panel: Panel, panels: Sequence[Panel]) -> str:
    words = []
    if len({one.kinds for one in panels}) > 1:
        words.append(formats.listed(panel.kinds))
    if len({one.level for one in panels}) > 1:
        words.append(f"oversubscription {panel.level}")
    title = ", ".join(words)
    return title[:1].upper() + title[1:]


def _scaling_caption(case: str, panels: Sequence[Panel], rows: pd.DataFrame, labels: Labels) -> str:
    shown = f"{labels.speedup} (left), efficiency (centre) and time per run (right) against processes"
    sentences = [f"{labels.case(case)}: {shown}."]
    sentences += reading_notes(rows, labels, times=True)
    if len({panel.level for panel in panels}) > 1:
        sentences.append(
            "One row per oversubscription level (processes per core); all levels refer to the same time, and "
            "the ideal is that of the cores used."
        )
    if len({panel.kinds for panel in panels}) > 1:
        sentences.append("Kinds that the study does not compare are in rows of their own.")
    return " ".join(sentences)


def _alt(case: str, rows: pd.DataFrame, labels: Labels) -> str:
    names = formats.listed(entry.label for entry in legend_entries(rows, labels))
    counts = sorted({int(count) for count in rows["processes"]})
    return (
        f"{labels.speedup.capitalize()}, efficiency and time per run of {labels.case(case)} against "
        f"{counts[0]} to {counts[-1]} processes over {names}."
    )
