"""The figure of page one: how far every interconnect scales, and its processes for the same speedup."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.presentation.contests import Contest, contests, nodes_of, whole
from analysis.presentation.curve_panels import (
    Panel,
    counts_of,
    curves_of,
    draw_panel,
    finish_axis,
    label_ends,
    speedup_of,
)
from analysis.presentation.drawing import Drawing, new_drawing, point_text, shortened
from analysis.presentation.formats import counted
from analysis.presentation.sentences import processes
from analysis.presentation.style import FigureLabels
from analysis.report.page_one_sentences import what_is_seen
from analysis.runs.frames import Line, interval, is_missing, rows_like
from analysis.runs.kinds import ran, side

HEIGHT = 2.5
LETTERS = 34
BAND = 0.16
"""Opacity of a band."""
MOST_BARS = 9
NUMBER_SHARE = 0.5
"""Room right of the longest bar for its number, as a share of the bar."""


def page_one_figure(tables: dict[str, pd.DataFrame], labels: FigureLabels) -> list[Drawing]:
    """Draw the headline: speedup of every interconnect, and the processes that reach the baseline's best.

    Returns
    -------
    list of Drawing
        A single figure, or none without a curve of two points.
    """
    headline = next(iter(contests(tables, labels.declared)), None)
    if headline is None or headline.scaling[counts_of(headline.scaling)].nunique() < 2:
        return []
    bars = _bars(headline)
    title = what_is_seen(headline, labels)
    if labels.facts.study.unfinished and any(map(ran, headline.kinds)):
        most = headline.scaling["processes"].max()
        title = f"{labels.speedup} up to {processes(most)}, so far"
    title = f"{title[:1].upper()}{title[1:]}"
    against = f"{labels.speedup} against {counts_of(headline.scaling)}"
    ideal = "the ideal" if headline.level == 1 else "the ideal of as many cores"
    caption = f"{labels.case(headline.case)}: {against}, with {ideal} in grey"
    right = "; right, the processes, interpolated, that do what the baseline does at its best."
    caption += right if bars else "."
    with new_drawing("answer", "answer", HEIGHT, caption, f"{title}. {caption}") as drawing:
        figure = drawing.figure
        figure.suptitle(shortened(title, 88), fontsize=9, fontweight="bold", x=0.01, ha="left")
        grid = figure.subplots(1, 2, width_ratios=(4, 3)) if bars else [figure.subplots()]
        _draw_curves(grid[0], headline, drawing, labels)
        if bars:
            _draw_bars(grid[1], headline, bars, drawing, labels)
    return [drawing]


def _draw_curves(axes: Axes, headline: Contest, drawing: Drawing, labels: FigureLabels) -> None:
    rows = headline.scaling if headline.level == 1 else headline.scaling[~headline.scaling["serial"]]
    panel, speedup = Panel(headline.kinds, headline.level, rows), speedup_of(labels)
    draw_panel(axes, panel, speedup, drawing, labels)
    finish_axis(axes, rows, speedup, inches=2.6)
    axes.set_xlabel(panel.counts.capitalize())
    axes.set_ylabel(speedup.title)
    curves = [curve for curve in curves_of(panel, labels) if curve.interconnect]
    for curve in curves:
        ends = [(row[panel.counts], *interval(row, "speedup")[1:]) for row in curve.rows]
        band = [of_count for of_count in ends if not any(map(is_missing, of_count))]
        if len(band) > 1:
            colour = labels.look(curve.interconnect, curve.placement).colour
            drawing.mark(
                axes.fill_between(
                    *zip(*band, strict=True), color=colour, alpha=BAND, linewidth=0, zorder=1.5
                ),
                curve.interconnect,
            )
    label_ends(axes, panel, speedup, HEIGHT - 0.8, drawing, labels)


def _bars(headline: Contest) -> list[Line]:
    """Rows of the node equivalents of the baseline with most comparisons, the best last."""
    rows = headline.against_baseline(headline.equivalent)
    rows = rows[rows["attainable"] & rows["equivalent_processes"].notna()]
    if rows.empty:
        return []
    return rows.nsmallest(MOST_BARS - 1, "equivalent_processes")[::-1].to_dict("records")


def _draw_bars(
    axes: Axes, headline: Contest, lines: Sequence[Line], drawing: Drawing, labels: FigureLabels
) -> None:
    """Draw the processes of the baseline at its best, and the equivalents of `lines`, with their nodes."""
    first = lines[0]
    baseline = {**first, "interconnect": first["baseline_interconnect"], "kind": side(first["kind"], 0)}
    rows = [{**baseline, "processes": whole(float(first["baseline_processes"]))}]
    for line in lines:
        needed = whole(float(line["equivalent_processes"]))
        rows.append({**line, "kind": side(line["kind"], 1), "processes": needed})
    colours = [labels.look(row["interconnect"], row["processes_per_node"]).colour for row in rows]
    bars = axes.barh(range(len(rows)), [row["processes"] for row in rows], color=colours, height=0.46)
    values = [_value(row, headline) for row in rows]
    numbers = axes.bar_label(bars, values, padding=3, fontsize=7)
    for place, (row, bar, number, value) in enumerate(zip(rows, bars, numbers, values, strict=True)):
        name = labels.curve(row)
        title = axes.annotate(
            shortened(name, LETTERS, lines=1), (0, place - 0.26), xytext=(3, 0), textcoords="offset points",
            va="bottom", fontsize=7,
        )  # fmt: skip
        drawing.mark(bar, row["interconnect"], point_text(labels, row, name, value))
        for text in (number, title):
            drawing.mark(text, row["interconnect"])
    axes.set_yticks([])
    axes.set_ylim(len(rows) - 0.6, -0.75)
    axes.grid(False, axis="y")
    axes.margins(x=NUMBER_SHARE)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_xlabel("Processes for the same speedup")


def _value(row: Line, headline: Contest) -> str:
    """Write the processes of a row, and their nodes if the table of scaling has these."""
    of_curve = rows_like(headline.scaling, row, ["interconnect", "kind", "processes_per_node"])
    nodes = nodes_of(of_curve, row["processes"])
    return counted(row["processes"], "process") + ("" if nodes is None else f", {counted(nodes, 'node')}")
