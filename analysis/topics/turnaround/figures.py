"""Trade-offs: price against speedup, and time per job against jobs per day."""

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
from analysis.presentation.style import FigureLabels
from analysis.runs.frames import Line, as_lines, interval
from analysis.runs.kinds import comparable_sets
from analysis.statistics.best import nondominated

COLUMNS = 3
MOST_PANELS = 12
"""Panels of a figure; further panels make another figure."""
PANEL_HEIGHT, ONLY_HEIGHT = 1.75, 2.7
CLOSE = 0.05
"""Share of an axis: the number of a point that follows so closely changes the side."""
FAINT = 0.35
"""Opacity of points outside the Pareto sets."""


@dataclass(frozen=True)
class AxisColumn:
    """A column of a table as an axis shows it, with bars of its interval or without."""

    column: str
    title: str
    unit: str = ""
    bars: bool = True

    def text(self, row: Line) -> str:
        """Write the value of a row with its interval."""
        value, low, high = interval(row, self.column)
        name = self.title.split(" (")[0]
        return f"{name} {formats.bracketed(value, low, high)}{formats.THIN if self.unit else ''}{self.unit}"


@dataclass(frozen=True)
class CasePanel:
    """Points of a case that share axes, all of kinds that may be compared."""

    case: str
    title: str
    rows: pd.DataFrame


@dataclass(frozen=True)
class Tradeoff:
    """Contents of the figures of a topic; `fronts` are the columns that identify a Pareto set."""

    topic: str
    x: AxisColumn
    y: AxisColumn
    caption: str
    fronts: Sequence[str] = ()


def pareto_figures(value: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the price of a cluster against its speedup, one panel per case, with the Pareto set of the case.

    Takes the table ``value``. The list is empty where the table has no price.
    """
    priced = value[value["cluster_price"].notna()]
    panels = []
    for case, rows in labels.by_case(priced):
        of_case = rows.groupby("compared_kinds", sort=False)
        panels += [
            CasePanel(case, _title(case, kinds, of_case.ngroups, labels), of_kinds)
            for kinds, of_kinds in of_case
        ]
    if not panels:
        return []
    currency = priced["currency"].iloc[0]
    price = AxisColumn("cluster_price", f"Price of the cluster ({currency})", currency)
    speedup = AxisColumn("speedup", labels.speedup.capitalize())
    caption = (
        f"Price of the cluster against {labels.speedup}, by case; all oversubscription levels together. The "
        "line joins the Pareto set: the points that no other point of the panel beats in price or speedup "
        "without being worse in the other."
    )
    if len(priced) < len(value):
        caption += " Points without a price are not shown."
    return _figures(Tradeoff("pareto", price, speedup, caption), panels, labels)


def turnaround_figures(packing: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw jobs per day against time per job, one panel per case, with the Pareto set of each interconnect.

    Takes the table ``packing``. The list is empty where the table is.
    """
    panels = []
    for case, of_case in labels.by_case(packing):
        sets = comparable_sets(of_case["kind"], labels.declared)
        panels += [
            CasePanel(
                case,
                _title(case, "/".join(kinds), len(sets), labels),
                of_case[of_case["kind"].isin(kinds)],
            )
            for kinds in sets
        ]
    if not panels:
        return []
    seconds = AxisColumn("seconds", "Time per job (s)", "s", bars=False)
    rate = AxisColumn("jobs_per_day", "Jobs per day")
    cores = sorted({int(count) for count in packing["available_cores"]})
    caption = (
        f"Jobs per day on {formats.listed(map(str, cores))}{formats.SPACE}cores against the time per job, by "
        "case; all oversubscription levels together. A line joins the Pareto set of an interconnect: the "
        "points that no other point of the interconnect beats in time or jobs per day without being worse "
        "in the other."
    )
    fronts = ["interconnect", "kind"]
    return _figures(Tradeoff("turnaround", seconds, rate, caption, fronts), panels, labels)


def _title(case: str, kinds: str, sets: int, labels: Labels) -> str:
    return labels.case(case) if sets == 1 else f"{labels.case(case)} ({kinds.replace('/', ' and ')})"


def _figures(tradeoff: Tradeoff, panels: Sequence[CasePanel], labels: FigureLabels) -> list[Drawing]:
    """Draw panels in figures of at most `MOST_PANELS`."""
    figures = -(-len(panels) // MOST_PANELS)
    each = -(-len(panels) // figures)
    rows = pd.concat([panel.rows for panel in panels])
    caption = " ".join([tradeoff.caption, *_reading_notes(tradeoff, rows, labels)])
    tradeoff = replace(tradeoff, caption=caption)
    drawings = []
    for index in range(figures):
        name = tradeoff.topic if figures == 1 else f"{tradeoff.topic}-{index + 1}"
        drawings.append(_figure(name, tradeoff, panels[index * each : (index + 1) * each], labels))
    return drawings


def _reading_notes(tradeoff: Tradeoff, rows: pd.DataFrame, labels: Labels) -> list[str]:
    notes = ["Numbers are processes; points outside the sets are faint."]
    with_interval = rows[f"{tradeoff.y.column}_low"].notna()
    if with_interval.any():
        priced = ", and across them the published range of the price" if tradeoff.x.bars else ""
        notes.append(f"Bars of the set: {labels.intervals(rows)}{priced}.")
    if not with_interval.all():
        notes.append("Hollow points have no interval.")
    return notes


def _figure(name: str, tradeoff: Tradeoff, panels: Sequence[CasePanel], labels: FigureLabels) -> Drawing:
    lines = -(-len(panels) // COLUMNS)
    columns = -(-len(panels) // lines)
    rows = pd.concat([panel.rows for panel in panels])
    titles = formats.listed(dict.fromkeys(panel.title for panel in panels))
    height = lines * (PANEL_HEIGHT if len(panels) > 1 else ONLY_HEIGHT)
    alt = f"{tradeoff.y.title} against {tradeoff.x.title.split(' (')[0].lower()} of {titles}."
    with new_drawing(name, tradeoff.topic, height, tradeoff.caption, alt) as drawing:
        grid = drawing.panels(len(panels), columns, (tradeoff.x.title, ""))
        for axes, panel in zip(grid, panels, strict=True):
            _draw_panel(axes, panel, tradeoff, drawing, labels)
            axes.set_title(shortened(panel.title, 28 if columns > 2 else 46))
            drawing.mark(axes, case=panel.case)
        drawing.figure.supylabel(tradeoff.y.title)
        serial = rows["serial"].astype(bool)
        add_legend(drawing, rows[~serial], labels, serial.any(), curves=False)
    return drawing


def _draw_panel(
    axes: Axes, panel: CasePanel, tradeoff: Tradeoff, drawing: Drawing, labels: FigureLabels
) -> None:
    x, y, fronts = tradeoff.x, tradeoff.y, list(tradeoff.fronts)
    rows = panel.rows.assign(pareto=panel.rows["pareto"].fillna(False).astype(bool))
    members = rows[rows["pareto"]]
    for (interconnect, *_), of_set in members.groupby(fronts) if fronts else [((None,), members)]:
        steps = of_set.drop_duplicates([x.column, y.column]).sort_values(x.column)
        colour = style.IDEAL if interconnect is None else labels.look(interconnect).colour
        (line,) = axes.plot(
            steps[x.column], steps[y.column], color=colour, drawstyle="steps-post", linewidth=0.6, zorder=1
        )
        drawing.mark(line, interconnect)
    # The serial run stands in the rows of every interconnect: draw it once, in a set if it is in one.
    ordered = rows.sort_values("pareto", ascending=False, kind="stable")
    again = ordered["serial"].astype(bool) & ordered.duplicated([x.column, y.column, "serial"])
    points = ordered[~again]
    shown = points[points["pareto"]]
    faint = _points(points[~points["pareto"]], tradeoff, y, labels)
    draw_points(drawing, axes, faint, hollow=True, bars=False, opacity=FAINT)
    draw_points(drawing, axes, _points(shown, tradeoff, y, labels), hollow=True, bars=y.bars)
    if x.bars:
        draw_bars(drawing, axes, _points(shown, tradeoff, x, labels), across=True)
    best = shown[nondominated(shown[x.column], shown[y.column])].sort_values([x.column, y.column])
    # Fronts of several interconnects are close where their counts are the same; one front numbers all points.
    once = ["processes"] if fronts else [x.column, y.column]
    for side, horizontal in ((x, True), (y, False)):
        ends = ("", "_low", "_high") if side.bars else ("",)
        values = points[[f"{side.column}{end}" for end in ends]].to_numpy(float).ravel()
        log_axis(axes, values, most=4 if horizontal else 6, horizontal=horizontal)
    before, width = 0.0, math.log(axes.get_xlim()[1] / axes.get_xlim()[0])
    for row in as_lines(best.drop_duplicates(once)):
        close = math.log(row[x.column] / before) < CLOSE * width if before else False
        where = {"xytext": (2.5, -2.5), "ha": "left", "va": "top"}
        if not close:
            where = {"xytext": (-2.5, 2.5), "ha": "right", "va": "bottom"}
        at = row[x.column], row[y.column]
        axes.annotate(str(row["processes"]), at, textcoords="offset points", fontsize=7, **where)
        before = row[x.column]


def _points(rows: pd.DataFrame, tradeoff: Tradeoff, barred: AxisColumn, labels: FigureLabels) -> list[Point]:
    """List the points of rows, with the intervals of the column `barred`."""
    points = []
    for row in as_lines(rows):
        interconnect = None if row["serial"] else row["interconnect"]
        look, x, y = labels.look(interconnect, row["processes_per_node"]), tradeoff.x, tradeoff.y
        lines = [x.text(row), y.text(row), *(["in the Pareto set"] if row["pareto"] else [])]
        text = point_text(labels, row, SERIAL if row["serial"] else labels.curve(row), "\n".join(lines))
        _, low, high = interval(row, barred.column)
        points.append(Point(row[x.column], row[y.column], look, interconnect, text, low, high))
    return points
