"""Figures of changes between two sites, with a dot and an interval for each point that both sites have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.presentation import formats, style
from analysis.presentation.axes import name_rows
from analysis.presentation.drawing import Drawing, file_stem, new_drawing, shortened
from analysis.presentation.labels import Labels
from analysis.presentation.marks import Point, draw_points
from analysis.presentation.rows import side_by_side
from analysis.presentation.sentences import too_few
from analysis.presentation.style import FigureLabels
from analysis.runs.frames import Line, as_lines, is_missing, percent_interval

COLUMNS = 3
ROW_HEIGHT = 0.16
TITLE_HEIGHT = 0.6
PANEL_WIDTH = 1.45
NAMES_WIDTH = 2.4
MOST_ROWS = 44
"""Most rows of points in a figure."""
POINT = ["interconnect", "kind", "oversubscription", "processes", "processes_per_node", "threads"]
PointKey = tuple[Any, ...]


def changes_figures(changes: pd.DataFrame | None, labels: FigureLabels) -> list[Drawing]:
    """Draw the change of every point, one panel per case.

    Parameters
    ----------
    changes : DataFrame or None
        Table ``changes``; None if the study compares no sites.

    Returns
    -------
    list of Drawing
        At least one figure per pair of sites. A figure has at most `COLUMNS` cases and `MOST_ROWS` points.
    """
    if changes is None:
        return []
    drawings = []
    compared = changes[changes["change_percent"].notna()]
    for _, rows in compared.groupby(["site_before", "site_after"], sort=False):
        before, after = rows[["site_before", "site_after"]].iloc[0]
        for cases in side_by_side(labels.sorted_cases(rows["case"]), COLUMNS):
            points = _points(rows[rows["case"].isin(cases)], labels)
            for first in range(0, len(points), MOST_ROWS):
                shown = points[first : first + MOST_ROWS]
                drawings.append(_figure((before, after), rows, cases, shown, labels))
    return drawings


def _points(rows: pd.DataFrame, labels: Labels) -> list[PointKey]:
    """List the points of all cases: the serial run, then interconnects in the study's order."""
    distinct = {_point(row) for row in as_lines(rows)}
    return sorted(distinct, key=lambda point: (labels.place(point[0] or None), *point[1:]))


def _point(row: Line) -> PointKey:
    """Return the values of `POINT` in a row, as a key that can be sorted."""
    name, kind, level, processes, placement, threads = (row[key] for key in POINT)
    placement = 0.0 if is_missing(placement) else float(placement)
    return "" if is_missing(name) else name, kind, int(level), int(processes), placement, int(threads)


def _figure(
    sites: tuple[str, str],
    rows: pd.DataFrame,
    cases: Sequence[str],
    points: Sequence[PointKey],
    labels: FigureLabels,
) -> Drawing:
    """Draw the changes of some cases and points between two sites, with a panel per case."""
    before, after = sites
    height = ROW_HEIGHT * len(points) + 0.1 + TITLE_HEIGHT
    width = min(style.WIDTH, NAMES_WIDTH + PANEL_WIDTH * len(cases))
    alt = f"Change of speed from {before} to {after} in percent, by case and point."
    caption = _caption(before, after, rows, labels)
    with new_drawing(file_stem("changes", *sites), "changes", height, caption, alt, width=width) as drawing:
        for axes, case in zip(drawing.panels(len(cases), COLUMNS, sharey=True), cases, strict=True):
            name_rows(axes, [_name(point, labels) for point in points])
            _draw_panel(axes, rows[rows["case"] == case], points, drawing, labels)
            axes.set_title(shortened(labels.case(case), 28))
        drawing.figure.supxlabel("Change of speed (%)")
    return drawing


def _name(point: PointKey, labels: Labels) -> str:
    """Write the interconnect and size of a point, as the label of its row."""
    name, kind, level, processes, placement, threads = point
    title = shortened(labels.interconnect(name or None, kind), 34, lines=1)
    if name:
        title += f", {processes}" + (f" × {threads}" if threads > 1 else "")
        title += f" ({level} per core)" if level > 1 else ""
    return title + (f", {formats.number(placement)} per node" if placement else "")


def _draw_panel(
    axes: Axes, rows: pd.DataFrame, points: Sequence[PointKey], drawing: Drawing, labels: FigureLabels
) -> None:
    """Draw the changes of a case; the position of a point in `points` is its row."""
    axes.axvline(0, color=style.INK, linewidth=0.7, zorder=1)
    dots = []
    for row in as_lines(rows):
        point, interconnect, verdict = _point(row), row["interconnect"], row["verdict"]
        if point in points:
            change, low, high = percent_interval(row, "change")
            percent = f"{formats.bracketed_percent(change, low, high)}{formats.THIN}%"
            text = f"{_name(point, labels)}: {percent}, {verdict}"
            has_direction, look = verdict in ("faster", "slower"), labels.look(interconnect)
            dots.append(
                Point(change, points.index(point), look, interconnect, text, low, high, has_direction)
            )
    draw_points(drawing, axes, dots, hollow=True, across=True, size=3.6)
    axes.margins(x=0.12)
    axes.xaxis.set_major_locator(MaxNLocator(4))


def _caption(before: str, after: str, rows: pd.DataFrame, labels: Labels) -> str:
    """Explain the points, whiskers and stars of a figure."""
    sentences = [
        f"Change of speed from {before} to {after} at each point. Points that became faster lie right of 0. "
        "The number after the interconnect is the number of processes."
    ]
    if rows["change_low"].notna().any():
        sentences.append(
            f"Whiskers are {labels.confidence} intervals. A * marks a verdict of faster or slower."
        )
        if rows["change_low"].isna().any():
            sentences.append("Hollow points have no interval.")
    else:
        sentences.append(f"Hollow points have no interval, since {too_few(rows['blocks'])}.")
    return " ".join(sentences)
