"""Figures of trade-offs: price and speedup, or time per job and jobs per day, with Pareto sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd
from matplotlib.axes import Axes

from analysis.presentation import formats, style
from analysis.presentation.axes import log_axis
from analysis.presentation.drawing import Drawing, new_drawing, point_text, shortened
from analysis.presentation.labels import SERIAL, Labels
from analysis.presentation.legend import add_legend
from analysis.presentation.marks import Point, draw_bars, draw_points
from analysis.presentation.rows import side_by_side
from analysis.presentation.style import FigureLabels
from analysis.runs.frames import Line, as_lines, interval
from analysis.runs.kinds import comparable_sets
from analysis.statistics.best import nondominated

COLUMNS = 3
MOST_PANELS = 12
"""Largest number of panels in a figure; further panels make another figure."""
PANEL_HEIGHT, ONLY_HEIGHT = 1.75, 2.7
"""Height of a row of panels, and of a single panel, in inches."""
CLOSE = 0.05
"""Share of the axis below which two points are close: the number of the second is then on its other side."""
FAINT = 0.35
"""Opacity of points outside the Pareto sets."""


@dataclass(frozen=True)
class AxisColumn:
    """A column of a table on an axis; `bars` draws its intervals."""

    column: str
    title: str
    unit: str = ""
    bars: bool = True

    def text(self, row: Line) -> str:
        """Write the title of the column, and the value of a row with its interval."""
        value, low, high = interval(row, self.column)
        name = self.title.split(" (")[0]
        return f"{name} {formats.bracketed(value, low, high)}{formats.THIN if self.unit else ''}{self.unit}"


@dataclass(frozen=True)
class CasePanel:
    """Points of a case on the same axes, all of comparable kinds."""

    case: str
    title: str
    rows: pd.DataFrame


@dataclass(frozen=True)
class Tradeoff:
    """Axes and caption of the figures of a topic; `fronts` are columns with a Pareto set for each value."""

    topic: str
    x: AxisColumn
    y: AxisColumn
    caption: str
    fronts: Sequence[str] = ()


def pareto_figures(value: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the price of a cluster against its speedup, one panel per case, with the Pareto set of the case.

    Parameters
    ----------
    value : DataFrame
        Table ``value``. The list of drawings is empty if the table has no price.
    labels : FigureLabels
    """
    priced = value[value["cluster_price"].notna()]
    panels = []
    for case, rows in labels.by_case(priced):
        groups = rows.groupby("compared_kinds", sort=False)
        panels += [
            CasePanel(case, _title(case, str(kinds), groups.ngroups, labels), rows_of_kinds)
            for kinds, rows_of_kinds in groups
        ]
    if not panels:
        return []
    currency = priced["currency"].iloc[0]
    price = AxisColumn("cluster_price", f"Price of the cluster ({currency})", currency)
    speedup = AxisColumn("speedup", labels.speedup.capitalize())
    caption = (
        f"Price of the cluster against {labels.speedup}, for each case. The line joins the Pareto set: the "
        f"points with the best trade-offs between price and {labels.speedup}."
    )
    if len(priced) < len(value):
        caption += " Points without a price are not shown."
    return _figures(Tradeoff("pareto", price, speedup, caption), panels, labels)


def turnaround_figures(packing: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw jobs per day against time per job, one panel per case, with the Pareto set of each interconnect.

    Parameters
    ----------
    packing : DataFrame
        Table ``packing``. The list of drawings is empty if the table is.
    labels : FigureLabels
    """
    panels = []
    for case, rows in labels.by_case(packing):
        sets = comparable_sets(rows["kind"], labels.declared)
        panels += [
            CasePanel(
                case,
                _title(case, "/".join(kinds), len(sets), labels),
                rows[rows["kind"].isin(kinds)],
            )
            for kinds in sets
        ]
    if not panels:
        return []
    seconds = AxisColumn("seconds", "Time per job (s)", "s", bars=False)
    rate = AxisColumn("jobs_per_day", "Jobs per day")
    cores = sorted({int(count) for count in packing["available_cores"]})
    shared = "the cores in column “Cores” of the table"
    shared = shared if len(cores) > 1 else formats.counted(cores[0], "core")
    caption = (
        "Jobs per day against the time per job, for each case. All jobs of an interconnect share "
        f"{shared}. A line joins the points of an interconnect with the best trade-offs between time per job "
        "and jobs per day (Pareto set)."
    )
    fronts = ["interconnect", "kind"]
    return _figures(Tradeoff("turnaround", seconds, rate, caption, fronts), panels, labels)


def _title(case: str, kinds: str, sets: int, labels: Labels) -> str:
    return labels.case(case) if sets == 1 else f"{labels.case(case)} ({kinds.replace('/', ' and ')})"


def _figures(tradeoff: Tradeoff, panels: Sequence[CasePanel], labels: FigureLabels) -> list[Drawing]:
    """Draw the panels in figures of at most `MOST_PANELS`."""
    rows = pd.concat([panel.rows for panel in panels])
    caption = " ".join([tradeoff.caption, *_reading_notes(tradeoff, rows, labels)])
    tradeoff = replace(tradeoff, caption=caption)
    pages = list(side_by_side(panels, MOST_PANELS))
    drawings = []
    for number, page in enumerate(pages, start=1):
        name = tradeoff.topic if len(pages) == 1 else f"{tradeoff.topic}-{number}"
        drawings.append(_figure(name, tradeoff, page, labels))
    return drawings


def _reading_notes(tradeoff: Tradeoff, rows: pd.DataFrame, labels: Labels) -> list[str]:
    """Explain the numbers, faint points, bars and hollow points of the figures."""
    notes = ["Numbers at points are processes. Points outside the Pareto sets are faint."]
    if rows["oversubscription"].nunique() > 1:
        notes.append("All oversubscription levels are shown.")
    with_interval = rows[f"{tradeoff.y.column}_low"].notna()
    if with_interval.any():
        price_range = " Horizontal bars are price ranges." if tradeoff.x.bars else ""
        notes.append(f"Vertical bars are {labels.intervals(rows)}.{price_range}")
    if not with_interval.all():
        notes.append("Hollow points have no interval.")
    return notes


def _figure(name: str, tradeoff: Tradeoff, panels: Sequence[CasePanel], labels: FigureLabels) -> Drawing:
    """Draw one figure of a trade-off, with a panel per case and set of comparable kinds."""
    panel_rows = math.ceil(len(panels) / COLUMNS)
    columns = math.ceil(len(panels) / panel_rows)
    rows = pd.concat([panel.rows for panel in panels])
    titles = formats.listed(dict.fromkeys(panel.title for panel in panels))
    height = panel_rows * (PANEL_HEIGHT if len(panels) > 1 else ONLY_HEIGHT)
    alt = f"{tradeoff.y.title} against {tradeoff.x.title.split(' (')[0].lower()} of {titles}."
    with new_drawing(name, tradeoff.topic, height, tradeoff.caption, alt) as drawing:
        grid = drawing.panels(len(panels), columns, (tradeoff.x.title, ""))
        for axes, panel in zip(grid, panels, strict=True):
            _draw_panel(axes, panel, tradeoff, drawing, labels)
            axes.set_title(shortened(panel.title, 28 if columns > 2 else 46))
            drawing.mark(axes, case=panel.case)
        drawing.figure.supylabel(tradeoff.y.title)
        serial = rows["serial"].astype(bool)
        add_legend(drawing, rows[~serial], labels, bool(serial.any()), curves=False)
    return drawing


def _draw_panel(
    axes: Axes, panel: CasePanel, tradeoff: Tradeoff, drawing: Drawing, labels: FigureLabels
) -> None:
    """Draw the Pareto sets of a panel as lines, then all points, with a number at the best points."""
    x, y = tradeoff.x, tradeoff.y
    rows = panel.rows.assign(pareto=panel.rows["pareto"].fillna(False).astype(bool))
    _draw_fronts(axes, rows[rows["pareto"]], tradeoff, drawing, labels)
    # Every interconnect has a row of the serial run. It is drawn once, as a member of a set if it is in any.
    ordered = rows.sort_values("pareto", ascending=False, kind="stable")
    is_repeated = ordered["serial"].astype(bool) & ordered.duplicated([x.column, y.column, "serial"])
    points = ordered[~is_repeated]
    members, others = points[points["pareto"]], points[~points["pareto"]]
    draw_points(drawing, axes, _points(others, tradeoff, y, labels), hollow=True, bars=False, opacity=FAINT)
    draw_points(drawing, axes, _points(members, tradeoff, y, labels), hollow=True, bars=y.bars)
    if x.bars:
        draw_bars(drawing, axes, _points(members, tradeoff, x, labels), across=True)
    for side, horizontal in ((x, True), (y, False)):
        ends = ("", "_low", "_high") if side.bars else ("",)
        values = points[[f"{side.column}{end}" for end in ends]].to_numpy(float).ravel().tolist()
        log_axis(axes, values, most=4 if horizontal else 6, horizontal=horizontal)
    _number_best(axes, members, tradeoff)


def _draw_fronts(
    axes: Axes, members: pd.DataFrame, tradeoff: Tradeoff, drawing: Drawing, labels: FigureLabels
) -> None:
    """Draw each Pareto set as a line of steps; the set of a whole panel has no interconnect."""
    x, y = tradeoff.x.column, tradeoff.y.column
    fronts: list[tuple[object, pd.DataFrame]] = [(None, members)]
    if tradeoff.fronts:  # the first column is the interconnect
        fronts = [(key[0], front) for key, front in members.groupby(list(tradeoff.fronts))]
    for interconnect, front in fronts:
        steps = front.drop_duplicates([x, y]).sort_values(x)
        colour = style.IDEAL if interconnect is None else labels.look(interconnect).colour
        (line,) = axes.plot(steps[x], steps[y], color=colour, drawstyle="steps-post", linewidth=0.6, zorder=1)
        drawing.mark(line, interconnect)


def _number_best(axes: Axes, members: pd.DataFrame, tradeoff: Tradeoff) -> None:
    """Write the process count at each point that no point of any set beats."""
    x, y = tradeoff.x.column, tradeoff.y.column
    best = members[nondominated(members[x], members[y])].sort_values([x, y])
    # Points with equal counts of several sets are close to each other, so only one of them is numbered.
    numbered_by = ["processes"] if tradeoff.fronts else [x, y]
    left, right = axes.get_xlim()
    close_distance = CLOSE * math.log(right / left)
    previous = 0.0
    for row in as_lines(best.drop_duplicates(numbered_by)):
        is_close = previous > 0 and math.log(row[x] / previous) < close_distance
        axes.annotate(
            str(row["processes"]),
            (row[x], row[y]),
            xytext=(2.5, -2.5) if is_close else (-2.5, 2.5),
            textcoords="offset points",
            ha="left" if is_close else "right",
            va="top" if is_close else "bottom",
            fontsize=7,
        )
        previous = row[x]


def _points(rows: pd.DataFrame, tradeoff: Tradeoff, barred: AxisColumn, labels: FigureLabels) -> list[Point]:
    """Return the points of rows, with the intervals of the column `barred`."""
    points = []
    for row in as_lines(rows):
        interconnect = None if row["serial"] else row["interconnect"]
        look, x, y = labels.look(interconnect, row["processes_per_node"]), tradeoff.x, tradeoff.y
        lines = [x.text(row), y.text(row), *(["in the Pareto set"] if row["pareto"] else [])]
        text = point_text(labels, row, SERIAL if row["serial"] else labels.curve(row), "\n".join(lines))
        _, low, high = interval(row, barred.column)
        points.append(Point(row[x.column], row[y.column], look, interconnect, text, low, high))
    return points
