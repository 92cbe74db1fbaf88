"""By how much each node of a cluster is slower, with its interval."""

from __future__ import annotations

import pandas as pd

from analysis.presentation import formats, style
from analysis.presentation.axes import name_rows
from analysis.presentation.drawing import Drawing, new_drawing, shortened
from analysis.presentation.labels import level_of
from analysis.presentation.marks import Point, draw_points
from analysis.presentation.style import FigureLabels
from analysis.runs.frames import percent_interval

MOST = 40
"""Nodes that are drawn at most: the slowest."""
ROW_HEIGHT, AROUND = 0.2, 0.6
NORMAL, SLOW = style.Look(style.INK, "o"), style.Look(style.COLOURS[0], "s")


def node_figures(nodes: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the table ``nodes``: one row per node, the slowest on top."""
    estimated = nodes[nodes["slower_percent"].notna()]
    shown = estimated.head(MOST).to_dict("records")
    caption = (
        "How much longer runs take on each node than runs of the same points without it; the "
        f"{level_of(labels.facts)} intervals of all nodes hold at once. Squares are slow nodes."
    )
    if len(estimated) > MOST:
        caption += f" Shown are the {MOST} slowest of {len(estimated)} nodes."
    alt = "Effect of each node on the times of its runs in percent, with intervals."
    points = []
    for place, row in enumerate(shown):
        value, low, high = percent_interval(row, "slower")
        text = f"{row['node']}\n{formats.bracketed_percent(value, low, high)}"
        points.append(Point(value, place, SLOW if row["slow"] else NORMAL, None, text, low, high))
    with new_drawing("nodes", "nodes", ROW_HEIGHT * len(shown) + AROUND, caption, alt) as drawing:
        axes = drawing.figure.subplots()
        axes.axvline(0, color=style.IDEAL, linewidth=0.8, zorder=1)
        name_rows(axes, [shortened(row["node"], 34, lines=1) for row in shown])
        draw_points(drawing, axes, points, hollow=True, across=True)
        axes.set_xlabel("Slower than the others (%)")
    return [drawing]
