"""Points, intervals and curves that all figures share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from analysis.presentation import style
from analysis.presentation.drawing import Drawing
from analysis.presentation.style import FigureLabels


class Point(NamedTuple):
    """A point of a figure with its interval and hover text.

    Attributes
    ----------
    x, y : float
        A point with a missing coordinate is not drawn.
    look : Look
    interconnect : object
        Missing if the value belongs to no interconnect.
    text : str
        Shown on hover.
    low, high : float
        Ends of the interval, or NaN.
    star : bool
        Whether to draw a star right of the interval.
    """

    x: float
    y: float
    look: style.Look
    interconnect: object = None
    text: str = ""
    low: float = math.nan
    high: float = math.nan
    star: bool = False


def draw_curve(
    drawing: Drawing, axes: Axes, points: Sequence[Point], line: style.LineStyle, **options: Any
) -> None:
    """Draw the points of an interconnect and join them by a line.

    Parameters
    ----------
    line : str or tuple
        Line style of Matplotlib.
    **options
        Options of `draw_points`.
    """
    if points:
        x, y = [point.x for point in points], [point.y for point in points]
        (joined,) = axes.plot(x, y, color=points[0].look.colour, linestyle=line, linewidth=1.0)
        drawing.mark(joined, points[0].interconnect)
        draw_points(drawing, axes, points, **options)


def draw_lines(
    drawing: Drawing, axes: Axes, rows: pd.DataFrame, x: str, y: str, labels: FigureLabels, every: int
) -> None:
    """Draw a line for each interconnect and kind, without hover texts.

    Parameters
    ----------
    x, y : str
        Columns of `rows`.
    every : int
        Distance between two markers, in rows.
    """
    for (interconnect, kind), curve in rows.groupby(["interconnect", "kind"], sort=False):
        look = labels.look(interconnect)
        (line,) = axes.plot(
            curve[x], curve[y], color=look.colour, linestyle=style.line_of(str(kind)), linewidth=0.9,
            marker=look.marker, markersize=3.2, markevery=every,
        )  # fmt: skip
        drawing.mark(line, interconnect)


def draw_points(
    drawing: Drawing,
    axes: Axes,
    points: Iterable[Point],
    *,
    hollow: bool = False,
    bars: bool = True,
    across: bool = False,
    size: float = style.MARKER_POINTS,
    edge: float = 0.8,
    opacity: float = 1.0,
) -> None:
    """Draw points, each with a bar that spans its interval.

    Parameters
    ----------
    hollow : bool
        Whether the markers of points without an interval are hollow.
    bars, across : bool
        Whether intervals are drawn, and whether they are horizontal.
    size, edge : float
        Size of the markers and width of their edges, in points.
    """
    shown = [point for point in points if math.isfinite(point.x) and math.isfinite(point.y)]
    if not shown:
        return
    if bars:
        draw_bars(drawing, axes, shown, across)
    markers, colours = [point.look.marker for point in shown], [point.look.colour for point in shown]
    sns.scatterplot(
        x=[point.x for point in shown], y=[point.y for point in shown], style=markers,
        markers=dict(zip(markers, markers, strict=True)), s=size**2, linewidth=edge, alpha=opacity,
        legend=False, zorder=3, ax=axes,
    )  # fmt: skip
    dots = axes.collections[-1]
    filled = [not hollow or _has_interval(point) for point in shown]
    faces = [colour if fill else style.PAPER for colour, fill in zip(colours, filled, strict=True)]
    dots.set(edgecolor=colours, facecolor=faces)
    drawing.mark_each(dots, [point.interconnect for point in shown], [point.text for point in shown])
    for point in shown:
        if point.star:
            end = point.x if math.isnan(point.high) else point.high
            star = axes.annotate("*", (end, point.y), xytext=(3, -1), textcoords="offset points", va="center")
            drawing.mark(star, point.interconnect)


def draw_bars(drawing: Drawing, axes: Axes, points: Iterable[Point], across: bool = False) -> None:
    """Draw the intervals of points as bars."""
    points = [point for point in points if _has_interval(point)]
    if points:
        positions = [point.y if across else point.x for point in points]
        low, high = [point.low for point in points], [point.high for point in points]
        colours = [point.look.colour for point in points]
        draw = axes.hlines if across else axes.vlines
        bars = draw(positions, low, high, colors=colours, linewidth=0.8, zorder=2.5)
        drawing.mark_each(bars, [point.interconnect for point in points])


def _has_interval(point: Point) -> bool:
    return math.isfinite(point.low) and math.isfinite(point.high)
