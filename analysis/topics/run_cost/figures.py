"""Figures of the cost of a run against its time to solution, with the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from analysis.presentation import formats, style
from analysis.presentation.axes import log_axis
from analysis.presentation.drawing import Drawing, new_drawing, point_text, shortened
from analysis.presentation.legend import add_legend
from analysis.presentation.marks import Point, draw_curve
from analysis.presentation.rows import side_by_side
from analysis.presentation.style import FigureLabels
from analysis.runs.facts import Facts
from analysis.runs.frames import CURVE, Line, as_lines, interval
from analysis.topics.money.sentences import priced
from analysis.topics.run_cost.tables import BUDGET, DEADLINE
from analysis.topics.topic import View

COLUMNS, MOST_PANELS = 3, 12
PANEL_HEIGHT, ONLY_HEIGHT = 1.9, 3.4
"""Height of a row of panels, and of a single panel, in inches."""


def draw_run_costs(view: View) -> list[Drawing]:
    """Draw cost against time to solution, one panel per case, in figures of at most `MOST_PANELS`."""
    costs, labels = view.tables.get("run_costs"), view.labels
    if costs is None:
        return []
    panels = [
        (case, rows)
        for case, of_case in labels.by_case(costs)
        for _, rows in of_case.groupby("compared_kinds", sort=False)
    ]
    figures = list(side_by_side(panels, MOST_PANELS))
    return [
        _figure("run_cost" if len(figures) == 1 else f"run_cost-{number}", members, view.facts, labels)
        for number, members in enumerate(figures, 1)
    ]


def _figure(
    name: str, panels: Sequence[tuple[str, pd.DataFrame]], facts: Facts, labels: FigureLabels
) -> Drawing:
    rows = pd.concat([rows for _, rows in panels])
    currency, lines = rows["currency"].iloc[0], -(-len(panels) // COLUMNS)
    caption = (
        "Cost of a run against its time to solution. Numbers at the points are numbers of nodes. The grey "
        "line joins the Pareto front: the points with the best trade-offs between cost and time. "
    )
    if rows["cost_low"].notna().any():
        caption += (
            "Bars of the cost combine the interval of the time with the range of the price. They have the "
            "confidence of the interval of the time. "
        )
    if rows["cost_low"].isna().any():
        caption += "Hollow points have no interval. "
    if facts.run_costs and (facts.run_costs.deadlines or facts.run_costs.budgets):
        caption += f"Dotted lines mark {DEADLINE}s and {BUDGET}s. "
    height = lines * (PANEL_HEIGHT if len(panels) > 1 else ONLY_HEIGHT)
    cases = formats.listed(dict.fromkeys(labels.case(case) for case, _ in panels))
    alt = f"Cost of a run against time to solution of {cases}."
    with new_drawing(name, "run_cost", height, caption.strip(), alt) as drawing:
        grid = drawing.panels(len(panels), COLUMNS, ("Time to solution (s)", f"Cost of a run ({currency})"))
        for axes, (case, of_case) in zip(grid, panels, strict=True):
            _draw_panel(axes, of_case, drawing, facts, labels, every=len(panels) == 1)
            if len(panels) > 1:
                axes.set_title(shortened(labels.case(case), 28))
            drawing.mark(axes, case=case)
        add_legend(drawing, rows, labels, ideal=False)
    return drawing


def _draw_panel(
    axes: Axes, rows: pd.DataFrame, drawing: Drawing, facts: Facts, labels: FigureLabels, every: bool
) -> None:
    """Draw a case; without `every`, only the front and the last point of each curve have numbers."""
    for horizontal, name in ((True, "seconds"), (False, "cost")):
        values = rows[[name, f"{name}_low", f"{name}_high"]].to_numpy(float).ravel().tolist()
        log_axis(axes, values, horizontal=horizontal)
    front = rows[rows["pareto"].fillna(False).astype(bool)].sort_values("seconds")
    axes.plot(
        front["seconds"], front["cost"], drawstyle="steps-post", color=style.IDEAL, linewidth=4,
        alpha=0.5, zorder=0.5, solid_capstyle="round",
    )  # fmt: skip
    for _, curve in rows.groupby(CURVE, sort=False, dropna=False):
        lines = as_lines(curve.sort_values("nodes"))
        points = [_point(line, labels) for line in lines]
        draw_curve(drawing, axes, points, style.line_of(str(lines[0]["kind"])), hollow=True)
        for line in lines if every else [line for line in lines if line["pareto"] or line is lines[-1]]:
            axes.annotate(
                str(line["nodes"]), (line["seconds"], line["cost"]), xytext=(3, 3),
                textcoords="offset points", fontsize=6, color=labels.look(line["interconnect"]).colour,
                fontweight="bold" if line["pareto"] is True else "normal",
            )  # fmt: skip
    if facts.run_costs:
        (fastest, slowest), (cheapest, dearest) = axes.get_xlim(), axes.get_ylim()
        for seconds in facts.run_costs.deadlines:
            if fastest < seconds < slowest:
                axes.axvline(seconds, color=style.INK, linestyle=":", linewidth=0.7, zorder=1)
        for budget in facts.run_costs.budgets:
            if cheapest < budget < dearest:
                axes.axhline(budget, color=style.INK, linestyle=":", linewidth=0.7, zorder=1)


def _point(line: Line, labels: FigureLabels) -> Point:
    """Return the point of a row, with the interval of its cost."""
    texts = [
        f"{line['nodes']} nodes, {formats.seconds(line['seconds'])}",
        f"{priced(line, 'cost')} per run",
        *(["in the Pareto front"] if line["pareto"] is True else []),
    ]
    _, low, high = interval(line, "cost")
    return Point(
        line["seconds"],
        line["cost"],
        labels.look(line["interconnect"], line["processes_per_node"]),
        line["interconnect"],
        point_text(labels, line, labels.curve(line), "\n".join(texts)),
        low,
        high,
    )
