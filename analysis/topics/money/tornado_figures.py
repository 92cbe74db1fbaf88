"""Tornado figure of lifetime costs: one bar per input shows its effect on the saving."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from analysis.presentation import formats, style
from analysis.presentation.axes import name_rows
from analysis.presentation.drawing import Drawing, new_drawing, shortened
from analysis.presentation.style import FigureLabels
from analysis.runs.kinds import side
from analysis.topics.money.lifetime_pairs import PAIR, mean_tornado
from analysis.topics.money.lifetime_section import input_name

MOST_BARS = 8
MOST_PANELS = 6
BAR_HEIGHT, PANEL_MARGIN = 0.2, 0.6
"""Height of a bar, and of a panel without its bars, in inches."""
ALPHA_AT_LOW, ALPHA_AT_HIGH = 0.45, 1.0
"""Opacity of the bars for an input at its minimum and at its maximum."""


def tornado_figures(tornado: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the table ``tornado``: one panel per interconnect and baseline, means over the cases."""
    means = mean_tornado(tornado)
    pairs = list(means.groupby(PAIR, sort=False))[:MOST_PANELS]
    shown = [rows.head(MOST_BARS) for _, rows in pairs]
    heights = [BAR_HEIGHT * len(rows) + PANEL_MARGIN for rows in shown]
    caption = (
        "Saving in percent of the baseline's total cost, at the baseline's highest speedup. For each pair "
        "of bars, one input is at its minimum or its maximum. The thin line is the saving with all inputs "
        "at their stated values. The interconnect costs more left of 0. The numbers on the right are the "
        "savings at the minimum and at the maximum."
    )
    alt = "Saving over the years in percent, for each input at its minimum and at its maximum."
    with new_drawing("tornado", "tornado", sum(heights) + 0.4, caption, alt) as drawing:
        titles = ("Saving (% of the baseline's total cost)", "")
        grid = drawing.panels(len(shown), 1, titles, sharex=True, height_ratios=heights)
        for axes, rows in zip(grid, shown, strict=True):
            _draw(axes, rows, drawing, labels)
        opacities = {"Input at its minimum": ALPHA_AT_LOW, "Input at its maximum": ALPHA_AT_HIGH}
        handles = [Patch(color=style.INK, alpha=alpha, linewidth=0) for alpha in opacities.values()]
        drawing.figure.legend(handles, list(opacities), loc="outside lower center", ncols=2)
    return [drawing]


def _draw(axes: Axes, rows: pd.DataFrame, drawing: Drawing, labels: FigureLabels) -> None:
    """Draw the panel of an interconnect and its baseline, with a pair of bars for each row (an input)."""
    first = rows.iloc[0]
    interconnect, centre = first["interconnect"], first["lifetime_saving_percent"]
    look = labels.look(interconnect)
    baseline = labels.interconnect(first["baseline_interconnect"], side(first["kind"], 0))
    title = f"{labels.interconnect(interconnect, side(first['kind'], 1))} instead of {baseline}"
    cases = int(first["cases"])
    mean_text = f", geometric mean of {formats.counted(cases, 'case')}" if cases > 1 else ""
    axes.set_title(shortened(f"{title}{mean_text}", 90, lines=1), loc="left")
    axes.axvline(0, color=style.INK, linewidth=0.7, zorder=1)
    axes.axvline(centre, color=look.colour, linewidth=0.9, zorder=3)
    names = [input_name(name, labels) for name in rows["input"]]
    name_rows(axes, [shortened(name, 44, lines=1) for name in names])
    ends = {"minimum": ("percent_at_low", ALPHA_AT_LOW), "maximum": ("percent_at_high", ALPHA_AT_HIGH)}
    for end, (column, alpha) in ends.items():
        percents = rows[column]
        bars = axes.barh(range(len(rows)), percents - centre, 0.62, centre, color=look.colour, alpha=alpha)
        for bar, name, percent in zip(bars, names, percents, strict=True):
            saves = formats.percent(percent, signed=True)
            drawing.mark(bar, interconnect, f"{title}\n{name} at its {end}: saves {saves}")
    for place, row in enumerate(rows.to_dict("records")):
        texts = [formats.percent(row[f"percent_at_{end}"], signed=True) for end in ("low", "high")]
        axes.annotate(
            " to ".join(texts), (1, place), (3, 0), ("axes fraction", "data"), "offset points",
            va="center", fontsize=7,
        )  # fmt: skip
