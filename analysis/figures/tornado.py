"""Which input decides whether an interconnect pays over the years: a bar an input."""

from __future__ import annotations

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from analysis.decisions.lifetime_pairs import PAIR, mean_tornado
from analysis.figures import style
from analysis.figures.drawing import Drawing, canvas, shortened
from analysis.figures.style import FigureLabels
from analysis.runs.kinds import side
from analysis.text import formats
from analysis.text.lifetime import input_name

MOST_BARS = 8
MOST_PANELS = 6
BAR_HEIGHT, AROUND = 0.2, 0.6
LEAST_ALPHA, MOST_ALPHA = 0.45, 1.0
"""Opacity of the part of a bar towards an input's least, and towards its most."""


def tornado_figures(tornado: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the table ``tornado``: a panel an interconnect and its baseline, means over the cases."""
    means = mean_tornado(tornado)
    pairs = list(means.groupby(PAIR, sort=False))[:MOST_PANELS]
    shown = [rows.head(MOST_BARS) for _, rows in pairs]
    heights = [BAR_HEIGHT * len(rows) + AROUND for rows in shown]
    with mpl.rc_context(style.RC):
        figure = canvas(sum(heights) + 0.4)
        caption = (
            "Which input decides: what the interconnect saves of the whole cost at the baseline's highest "
            "speedup, with one input at a time at its least and at its most. The thin line is the saving "
            "with all at their values; left of 0 the interconnect costs more. On the right is the saving "
            "with the input at its least and at its most."
        )
        alt = "Saving over the years in percent, for each input at its least and at its most."
        drawing = Drawing("tornado", "tornado", figure, caption, alt)
        grid = figure.subplots(len(shown), 1, squeeze=False, sharex=True, height_ratios=heights)
        for axes, rows in zip(grid[:, 0], shown, strict=True):
            _draw(axes, rows, drawing, labels)
        grid[-1, 0].set_xlabel("Saving (% of the baseline's whole cost)")
        parts = {"Input at its least": LEAST_ALPHA, "Input at its most": MOST_ALPHA}
        handles = [Patch(color=style.INK, alpha=alpha, linewidth=0) for alpha in parts.values()]
        figure.legend(handles, list(parts), loc="outside lower center", ncols=2)
    return [drawing]


def _draw(axes: Axes, rows: pd.DataFrame, drawing: Drawing, labels: FigureLabels) -> None:
    first = rows.iloc[0]
    owner, centre = first["interconnect"], first["lifetime_saving_percent"]
    look = labels.look(owner)
    baseline = labels.interconnect(first["baseline_interconnect"], side(first["kind"], 0))
    title = f"{labels.interconnect(owner, side(first['kind'], 1))} instead of {baseline}"
    several = (
        f", geometric mean of {formats.counted(int(first['cases']), 'case')}" if first["cases"] > 1 else ""
    )
    axes.set_title(shortened(f"{title}{several}", 90, lines=1), loc="left")
    axes.axvline(0, color=style.INK, linewidth=0.7, zorder=1)
    axes.axvline(centre, color=look.colour, linewidth=0.9, zorder=3)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    for height, row in enumerate(rows.to_dict("records")):
        name = input_name(row["input"], labels)
        ends = {"least": (row["percent_at_low"], LEAST_ALPHA), "most": (row["percent_at_high"], MOST_ALPHA)}
        told = " to ".join(formats.percent(percent, signed=True) for percent, _ in ends.values())
        axes.annotate(
            told, (1, height), (3, 0), ("axes fraction", "data"), "offset points", va="center", fontsize=7
        )
        for end, (percent, alpha) in ends.items():
            (bar,) = axes.barh(
                height, percent - centre, left=centre, height=0.62, color=look.colour, alpha=alpha
            )
            drawing.mark(
                bar, owner, f"{title}\n{name} at its {end}: saves {formats.percent(percent, signed=True)}"
            )
    names = [shortened(input_name(name, labels), 44, lines=1) for name in rows["input"]]
    axes.set_yticks(range(len(rows)), names)
    axes.set_ylim(len(rows) - 0.4, -0.6)
