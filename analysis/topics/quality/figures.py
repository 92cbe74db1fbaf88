"""Figures of the run-to-run spread of all points, and of points with two populations of runs."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from analysis.presentation import formats, style
from analysis.presentation.axes import log_axis, name_rows
from analysis.presentation.drawing import Drawing, new_drawing, point_text, shortened
from analysis.presentation.labels import Labels
from analysis.presentation.marks import Point, draw_points
from analysis.presentation.style import FigureLabels
from analysis.runs.frames import Line, as_lines, is_missing, rows_like
from analysis.runs.runs import valid_rows
from analysis.topics.quality.populations import mixed_points
from analysis.topics.quality.sentences import point_name
from analysis.topics.quality.tables import POINT, SPREAD_RULE

COLUMNS = 4
ROW_HEIGHT = 0.22
PANEL_WIDTH = 1.35
NAMES_WIDTH = 1.9
MOST_POINTS = 10
"""Largest number of points with two populations that are drawn."""
EDGE = 3.0
"""Points beyond this multiple of the 90th percentile of all points are drawn at the edge."""


def spread_figure(variability: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the spread of the block times of each point, with a panel for each case.

    Parameters
    ----------
    variability : DataFrame
        Table ``variability``.
    labels : FigureLabels

    Returns
    -------
    list of Drawing
        Empty if no point has two blocks, or if there is only one interconnect.
    """
    spreads = variability[variability["spread_percent"].notna()]
    pairs = zip(spreads["interconnect"], spreads["kind"], strict=True)
    spreads = spreads.assign(name=[labels.interconnect(*pair) for pair in pairs])
    if spreads["interconnect"].nunique() < 2:
        return []
    cases, names = labels.sorted_cases(spreads["case"]), _names(spreads, labels)
    limit = min(spreads["spread_percent"].max(), EDGE * spreads["spread_percent"].quantile(0.9)) or 1.0
    columns = min(COLUMNS, len(cases))
    rows = -(-len(cases) // columns)
    height = rows * (ROW_HEIGHT * len(names) + 0.35) + 0.5
    width = min(style.WIDTH, NAMES_WIDTH + PANEL_WIDTH * columns)
    alt = "Spread of the block times of every point in percent, by case and interconnect."
    caption = _caption(spreads, limit)
    with new_drawing("spread", "quality", height, caption, alt, width=width) as drawing:
        grid = drawing.panels(len(cases), columns, ("Spread (%)", ""), sharex=True, sharey=True)
        for axes, case in zip(grid, cases, strict=True):
            drawing.mark(axes, case=case)
            name_rows(axes, [shortened(name, 34, lines=1) for name in names])
            _draw_panel(axes, spreads[spreads["case"] == case], names, limit, drawing, labels)
            axes.set_title(shortened(labels.case(case), 20 if columns > 3 else 26))
        grid[0].set_xlim(-0.03 * limit, 1.06 * limit)
        grid[0].xaxis.set_major_locator(MaxNLocator(4))
        drawing.figure.legend(
            [
                Line2D([], [], color=style.INK, marker="o", markersize=3.2, linestyle="none"),
                Line2D([], [], color=style.INK, marker="|", markersize=9, linestyle="none"),
            ],
            ["A point", "Median of the points"],
            loc="outside lower center",
            ncols=2,
        )
    return [drawing]


def _names(spreads: pd.DataFrame, labels: Labels) -> list[str]:
    """Return the names in the study's order, with the serial run first."""
    return list(dict.fromkeys(labels.in_order(spreads, "interconnect", "name")["name"]))


def _draw_panel(
    axes: Axes, rows: pd.DataFrame, names: Sequence[str], limit: float, drawing: Drawing, labels: FigureLabels
) -> None:
    points, medians = [], []
    for name, rows_of_name in rows.groupby("name"):
        interconnect, place = rows_of_name["interconnect"].iloc[0], names.index(str(name))
        look = labels.look(interconnect)
        median = min(rows_of_name["spread_percent"].median(), limit)
        medians.append(Point(median, place, style.Look(look.colour, "|"), interconnect))
        for row in rows_of_name.to_dict("records"):
            text = point_text(labels, row, str(name), _hover_text(row))
            points.append(Point(min(row["spread_percent"], limit), place, look, interconnect, text))
    draw_points(drawing, axes, medians, size=9, edge=1.4)
    draw_points(drawing, axes, points, size=3.2, opacity=0.75)


def _hover_text(point: Line) -> str:
    text = (
        f"spread {formats.percent(point['spread_percent'], places=1)}, slowest block "
        f"{formats.percent(point['worst_percent'], signed=True)}"
    )
    if is_missing(point["p_adjusted"]):
        return text
    return f"{text}, against the baseline {formats.p_value(point['p_adjusted'])}"


def _caption(spreads: pd.DataFrame, limit: float) -> str:
    text = f"Run-to-run spread of the times of each point, in percent. {SPREAD_RULE}"
    beyond = int((spreads["spread_percent"] > limit).sum())
    if beyond:
        drawn = "is drawn" if beyond == 1 else "are drawn"
        text += f" {formats.counted(beyond, 'point')} above {formats.percent(limit)} {drawn} at the edge."
    return text


def population_figure(runs: pd.DataFrame, populations: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the times of points with two populations, the faster group filled and the slower group hollow.

    The list is empty without such a point.
    """
    mixed = mixed_points(populations)
    if mixed.empty:
        return []
    lines = as_lines(mixed.head(MOST_POINTS))
    caption = (
        "Times of the runs at points with two groups of runs. Filled marks are the faster group. Hollow "
        "marks are the slower group. Bars are the medians of the groups."
    )
    if len(mixed) > len(lines):
        named = f"{len(lines)} of {len(mixed)} points"
        caption += f" The figure shows the {named} with the largest distance between groups."
    alt = f"Times of the runs of {formats.counted(len(lines), 'point')}, in two groups each."
    with new_drawing("populations", "quality", ROW_HEIGHT * len(lines) + 0.6, caption, alt) as drawing:
        axes = drawing.figure.subplots()
        name_rows(axes, [shortened(point_name(line, labels), 60, lines=1) for line in lines])
        shown: list[float] = []
        for place, line in enumerate(lines):
            times = rows_like(valid_rows(runs), line, POINT)["seconds"].sort_values().tolist()
            look, interconnect = labels.look(line["interconnect"]), line["interconnect"]
            medians = [line["fast_seconds"], line["slow_seconds"]]
            for hollow, group in enumerate([times[: line["fast_n"]], times[line["fast_n"] :]]):
                points = [Point(time, place, look, interconnect, formats.seconds(time)) for time in group]
                draw_points(drawing, axes, points, hollow=bool(hollow), size=4)
            ticks = [Point(time, place, style.Look(look.colour, "|"), interconnect) for time in medians]
            draw_points(drawing, axes, ticks, size=9, edge=1.4)
            shown += times
        log_axis(axes, shown, horizontal=True)
        axes.set_xlabel("Time per run (s)")
    return [drawing]
