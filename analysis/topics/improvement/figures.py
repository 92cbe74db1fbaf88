"""Figures of improvements over a baseline: dots with whiskers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from analysis.curves.outcomes import INSEPARABLE
from analysis.presentation import formats, style
from analysis.presentation.axes import name_rows
from analysis.presentation.drawing import Drawing, file_stem, new_drawing, point_text, shortened
from analysis.presentation.labels import Labels
from analysis.presentation.marks import Point, draw_points
from analysis.presentation.sentences import too_few
from analysis.presentation.style import FigureLabels
from analysis.runs.frames import Line, as_lines, is_missing, percent_interval, unit_of
from analysis.runs.kinds import side
from analysis.topics.improvement.sentences import WITHHELD

COLUMNS = 4
ROW_HEIGHT = 0.3
TITLE_HEIGHT = 0.55
PANEL_WIDTH = 1.9
NAMES_WIDTH = 1.5
AVERAGE_BELOW = 0.26
"""Distance in rows between an improvement and its average."""
SIZE, AVERAGE_SIZE = 4.2, 5
"""Sizes of the markers of improvements and averages, in points."""


def improvement_figures(improvement: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the improvement over each baseline, one panel per case and oversubscription level.

    Returns
    -------
    list of Drawing
        One per baseline, kind of baseline and level; empty without comparisons.
    """
    drawings = []
    compared = improvement[improvement["improvement_percent"].notna()]
    compared = compared.assign(
        baseline_kind=compared["kind"].map(lambda kind: side(kind, 0)),
        other_kind=compared["kind"].map(lambda kind: side(kind, 1)),
    )
    several_levels = compared["oversubscription"].nunique() > 1
    for baseline in labels.sorted_interconnects(compared["baseline_interconnect"]):
        baseline_rows = compared[compared["baseline_interconnect"] == baseline]
        for (kind, level), rows in baseline_rows.groupby(["baseline_kind", "oversubscription"]):
            title = labels.interconnect(baseline, str(kind))
            title += f" at oversubscription {level}" if several_levels else ""
            drawings.append(_figure(file_stem("improvement", baseline), title, rows, labels))
    return drawings


def _figure(stem: str, title: str, rows: pd.DataFrame, labels: FigureLabels) -> Drawing:
    cases = labels.sorted_cases(rows["case"])
    interconnects = {_name(row, labels): row["interconnect"] for row in as_lines(rows)}
    entries = sorted(interconnects, key=lambda name: (labels.place(interconnects[name]), name))
    columns = min(COLUMNS, len(cases))
    names = [shortened(name, 26) for name in entries]
    panel_height = ROW_HEIGHT * len(entries) + 0.15
    inches = (panel_height + TITLE_HEIGHT) * -(-len(cases) // columns) + 0.5
    width = min(style.WIDTH, NAMES_WIDTH + PANEL_WIDTH * columns)
    alt = f"Improvement over {title} in percent, by case and interconnect."
    caption = _caption(title, rows, labels)
    with new_drawing(stem, "improvement", inches, caption, alt, width=width) as drawing:
        grid = drawing.panels(len(cases), COLUMNS, ("Improvement (%)", ""), sharey=True)
        for axes, case in zip(grid, cases, strict=True):
            panel = rows[rows["case"] == case]
            drawing.mark(axes, case=case)
            name_rows(axes, names)
            _draw_panel(axes, panel, entries, drawing, labels)
            _fit(axes, panel)
            axes.set_title(_title(labels.case(case), panel, columns))
        for axes in grid[::columns]:
            for name, label in zip(entries, axes.get_yticklabels(), strict=True):
                drawing.mark(label, interconnects[name])
        drawing.figure.legend(
            [
                Line2D([], [], color=style.INK, marker="o", markersize=SIZE, linewidth=0.9),
                Line2D([], [], color=style.INK, marker="|", markersize=AVERAGE_SIZE, linewidth=0.9),
            ],
            ["At the baseline's peak", "Geometric mean of the counts up to it"],
            loc="outside lower center",
            ncols=min(columns, 2),
        )
    return drawing


def _draw_panel(
    axes: Axes, rows: pd.DataFrame, entries: Sequence[str], drawing: Drawing, labels: FigureLabels
) -> None:
    axes.axvline(0, color=style.INK, linewidth=0.7, zorder=1)
    improvements, averages = [], []
    for row in as_lines(rows):
        name, interconnect = _name(row, labels), row["interconnect"]
        number, look = entries.index(name), labels.look(interconnect, row["processes_per_node"])
        point = {**row, "kind": row["other_kind"], row["unit"]: row["at_processes"]}
        value, low, high = percent_interval(row, "improvement")
        text = point_text(labels, point, name, _improvement_text(row))
        y, has_direction = number - AVERAGE_BELOW / 2, row["verdict"] in ("faster", "slower")
        improvements.append(Point(value, y, look, interconnect, text, low, high, has_direction))
        if not is_missing(row["average_percent"]):
            value, low, high = percent_interval(row, "average")
            percent = formats.bracketed_percent(value, low, high)
            average = f"average improvement up to here {percent}{formats.THIN}%"
            text, y = point_text(labels, point, name, average), number + AVERAGE_BELOW
            averages.append(Point(value, y, style.Look(look.colour, "|"), interconnect, text, low, high))
    draw_points(drawing, axes, improvements, hollow=True, across=True, size=SIZE)
    draw_points(drawing, axes, averages, across=True, size=AVERAGE_SIZE)


def _fit(axes: Axes, rows: pd.DataFrame) -> None:
    """Set the limits to show all values and 0, with room for the star."""
    columns = [f"{name}_{end}" for name in ("improvement", "average") for end in ("percent", "low", "high")]
    numbers = rows[columns].to_numpy(float)
    values = [0.0, *numbers[~np.isnan(numbers)].tolist()]
    span = max(max(values) - min(values), 1.0)
    axes.set_xlim(min(values) - 0.08 * span, max(values) + 0.14 * span)
    axes.xaxis.set_major_locator(MaxNLocator(4))


def _title(case: str, rows: pd.DataFrame, columns: int) -> str:
    counts = sorted({int(count) for count in rows["at_processes"]})
    where = f"at {formats.listed(map(str, counts), 'or')} {unit_of(rows)}"
    width = 25 if columns > 3 else 33
    return f"{shortened(case, width)}\n{shortened(where, width, lines=1)}"


def _name(row: Line, labels: Labels) -> str:
    return labels.curve({**row, "kind": row["other_kind"]})


def _improvement_text(row: Line) -> str:
    value = formats.bracketed_percent(*percent_interval(row, "improvement"))
    words = [f"improvement {value}{formats.THIN}%"]
    if not is_missing(row["p_adjusted"]):
        words.append(formats.p_value(row["p_adjusted"]))
    if not is_missing(row["verdict"]):
        words.append(str(row["verdict"]))
    return ", ".join(words)


def _caption(title: str, rows: pd.DataFrame, labels: Labels) -> str:
    sentences = [
        f"How much faster or slower each {labels.noun} is than {title}. {labels.interconnect_head}s right of "
        "0 are faster than this baseline."
    ]
    if rows["processes_per_node"].notna().any():
        sentences.append("The baseline has the same number of processes per node.")
    if rows["improvement_low"].notna().any():
        tested = " A * marks a verdict of faster or slower." if rows["p_adjusted"].notna().any() else ""
        sentences.append(f"Whiskers are {labels.intervals(rows)}.{tested}")
        if rows["improvement_low"].isna().any():
            sentences.append("Hollow points have no interval.")
    else:
        inseparable = rows["verdict"].eq(INSEPARABLE).all()
        why = WITHHELD[INSEPARABLE] if inseparable else too_few(rows["blocks"])
        sentences.append(f"Hollow points have no interval, because {why}.")
        if inseparable:
            sentences.append("Changes over time may therefore explain the differences.")
    across = sorted({kind for kind in rows["kind"] if "/" in kind})
    if across:
        named = formats.listed([kind.replace("/", " with ") for kind in across])
        sentences.append(f"Nodeworth compares {named} interconnects, because the study file allows this.")
    return " ".join(sentences)
