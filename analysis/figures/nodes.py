"""By how much each node of a cluster is slower, with its interval."""

from __future__ import annotations

import matplotlib as mpl
import pandas as pd

from analysis.figures import style
from analysis.figures.drawing import Drawing, Mark, canvas, draw_percentage, shortened
from analysis.figures.style import FigureLabels
from analysis.tables.missing import percent_interval
from analysis.text import formats
from analysis.text.labels import level_of

MOST = 40
"""Nodes that are drawn, the slowest."""
ROW_HEIGHT, AROUND = 0.2, 0.6
NORMAL, SLOW = style.Look(style.INK, "o"), style.Look(style.COLOURS[0], "s")


def node_figures(nodes: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the table ``nodes``: a line a node, the slowest above."""
    known = nodes[nodes["slower_percent"].notna()]
    shown = known.head(MOST).to_dict("records")
    caption = (
        "How much longer runs take on each node than runs of the same points without it; the "
        f"{level_of(labels.facts)} intervals of all nodes hold at once. Squares are slow nodes."
    )
    if len(known) > MOST:
        caption += f" Of {len(known)} nodes, the {MOST} slowest."
    alt = "Effect of each node on the times of its runs in percent, with intervals."
    with mpl.rc_context(style.RC):
        figure = canvas(ROW_HEIGHT * len(shown) + AROUND)
        drawing = Drawing("nodes", "nodes", figure, caption, alt)
        axes = figure.subplots()
        axes.axvline(0, color=style.IDEAL, linewidth=0.8, zorder=1)
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
        for height, row in enumerate(shown):
            ends = percent_interval(row, "slower")
            text = f"{row['node']}\n{formats.bracketed_percent(*ends)}"
            look = SLOW if row["slow"] else NORMAL
            draw_percentage(drawing, axes, height, ends, look, 4.0, Mark("", text))
        axes.set_yticks(range(len(shown)), [shortened(row["node"], 34, lines=1) for row in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel("Slower than the others (%)")
    return [drawing]
