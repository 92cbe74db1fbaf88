"""The figure of page one: how far every interconnect scales, and its processes for the same speedup."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.ticker import MaxNLocator

from analysis.estimates.headline import Contest, contests, nodes_of, whole
from analysis.figures import style
from analysis.figures.curves import (
    Panel,
    counts_of,
    curves_of,
    draw_panel,
    finish_axis,
    label_ends,
    speedup_of,
)
from analysis.figures.drawing import Drawing, new_drawing, point_text, shortened
from analysis.figures.style import FigureLabels
from analysis.runs.kinds import ran, side
from analysis.tables.missing import Line, interval, is_missing
from analysis.tables.selection import alike
from analysis.text.answer import what_is_seen
from analysis.text.formats import counted
from analysis.text.scaling import processes

HEIGHT = 2.5
LETTERS = 34
BAND = 0.16
"""Opacity of a band."""
MOST_BARS = 9


def answer_figure(tables: dict[str, pd.DataFrame], labels: FigureLabels) -> list[Drawing]:
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
    first = lines[0]
    baseline = {**first, "interconnect": first["baseline_interconnect"], "kind": side(first["kind"], 0)}
    bars = [(baseline, float(first["baseline_processes"]))]
    bars += [({**line, "kind": side(line["kind"], 1)}, float(line["equivalent_processes"])) for line in lines]
    widest = whole(bars[0][1])
    for place, (line, count) in enumerate(bars):
        colour = labels.look(line["interconnect"], line["processes_per_node"]).colour
        needed = whole(count)
        nodes = nodes_of(
            alike(headline.scaling, line, ["interconnect", "kind", "processes_per_node"]), needed
        )
        name, value = labels.curve(line), counted(needed, "process")
        value += "" if nodes is None else f", {counted(nodes, 'node')}"
        (bar,) = axes.barh(place, needed, color=colour, height=0.46)
        drawing.mark(
            bar, line["interconnect"], point_text(labels, {**line, "processes": needed}, name, value)
        )
        inside = needed > 0.6 * widest
        ink = _ink_on(colour) if inside else style.INK
        for text, at, aligned, written in (
            (shortened(name, LETTERS, lines=1), (0, place - 0.26), "bottom", style.INK),
            (value, (0 if inside else needed, place), "center", ink),
        ):
            note = axes.annotate(
                text, at, xytext=(3, 0), textcoords="offset points", va=aligned, fontsize=7, color=written
            )
            drawing.mark(note, line["interconnect"])
    axes.set_yticks([])
    axes.set_ylim(len(bars) - 0.6, -0.75)
    axes.grid(False, axis="y")
    axes.set_xlim(0, widest)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_xlabel("Processes for the same speedup")


def _ink_on(colour: str) -> str:
    """Choose white or ink for text on a colour, by its luminance (ITU-R BT.601)."""
    red, green, blue = to_rgb(colour)
    return style.PAPER if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else style.INK
