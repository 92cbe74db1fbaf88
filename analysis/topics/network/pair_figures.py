"""Figures of every pair of processes, of pairs at once, and of the availability of the processor."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from analysis.presentation import style
from analysis.presentation.axes import count_axis, log_axis
from analysis.presentation.drawing import Drawing, file_stem, new_drawing, shortened
from analysis.presentation.formats import counted, number
from analysis.presentation.heat_maps import add_colour_bar, draw_matrix
from analysis.presentation.labels import Labels
from analysis.presentation.legend import add_legend
from analysis.presentation.marks import Point, draw_curve, draw_lines
from analysis.presentation.network_words import QUANTITIES, size_text
from analysis.presentation.size_axes import hover_text, positions, size_axis
from analysis.presentation.style import FigureLabels
from analysis.topics.network.curves import POINT, pair_matrix

NUMBERED_RANKS = 16
"""Largest number of processes at which the cells show numbers."""
WIDEST = 2.0
"""Factor above or below the median from which the colour of a cell no longer changes."""
WIDE_CELLS = 4
"""Largest number of processes at which cells have space for three digits."""
TITLE_LETTERS = 30
MATRIX_INCHES = 1.6
MOST_COLUMNS = 4
LINE_HEIGHT = 2.0
_CURVE = ("case", "interconnect", "kind", "processes", "oversubscription")
SLOW_FAST = sns.blend_palette([style.BLUE, style.PAPER, style.ORANGE], as_cmap=True)


def matrix_figures(network: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw a matrix of all pairs of processes, one figure per message size, one panel per interconnect.

    The smallest size shows the latency, larger sizes the bandwidth. Colours show the time of a message
    relative to the median over the pairs, so that a slow link is visible on every interconnect.

    Parameters
    ----------
    network : DataFrame
        Table `analysis.topics.network.curves.NETWORK`.
    """
    rows = network[network["source"].notna() & (network["processes"] > 2)]
    smallest = rows["bytes"].min()
    return [
        _matrix_figure(rows_of_size, "latency_us" if size == smallest else "bandwidth_MBps", labels)
        for size, rows_of_size in rows.groupby("bytes")
    ]


def _matrix_figure(rows: pd.DataFrame, quantity: str, labels: Labels) -> Drawing:
    """Draw the matrices of a message size; `quantity` is the column of the numbers in the cells."""
    size = int(rows["bytes"].iloc[0])
    point = list(dict.fromkeys(["processes", "oversubscription", "interconnect", *POINT]))
    groups = labels.in_order(rows, *point).groupby(point, sort=False, dropna=False)
    matrices = [(pairs.iloc[0], pairs) for _, pairs in groups]
    panel_rows = math.ceil(len(matrices) / MOST_COLUMNS)
    title, unit = QUANTITIES[quantity]
    caption = (
        f"{title} in {unit} of a ping-pong of {size_text(size)} between every two processes. Nodeworth "
        "measured one pair after the other. Colours show the time of a message relative to the median of the "
        "panel. Orange pairs are slower. Blue pairs are faster."
    )
    stem, height = file_stem("network", "pairs", str(size)), panel_rows * (MATRIX_INCHES + 0.5) + 0.6
    with new_drawing(stem, "network", height, caption) as drawing:
        grid = drawing.panels(len(matrices), MOST_COLUMNS, ("Process", "Process"))
        norm = LogNorm(1 / WIDEST, WIDEST)
        for axes, (first, pairs) in zip(grid, matrices, strict=True):
            times = pair_matrix(pairs, "latency_us").to_numpy(float)
            relative = np.clip(times / np.nanmedian(times), 1 / WIDEST, WIDEST)
            font_size, digits = min(7, 34 / len(times)), 3 if len(times) <= WIDE_CELLS else 2
            numbers = pair_matrix(pairs, quantity).map(number, na_action="ignore", digits=digits).to_numpy()
            cell_texts = numbers if len(times) <= NUMBERED_RANKS else None
            draw_matrix(axes, relative, SLOW_FAST, norm, cell_texts, font_size)
            level = f", {first['oversubscription']} per core" if first["oversubscription"] > 1 else ""
            name = shortened(labels.interconnect(first["interconnect"], first["kind"]), TITLE_LETTERS, 1)
            axes.set_title(f"{name}\n{first['processes']} processes{level}", fontsize=7)
            drawing.mark(axes, first["interconnect"])
        ticks = {tick: f"{tick:g}" for tick in (0.5, 0.7, 1, 1.4, 2)}
        add_colour_bar(drawing, grid, SLOW_FAST, norm, "Time of a message / median over the pairs", ticks)
    return drawing


def pairs_figures(pairs: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw latency and total bandwidth against the number of pairs that exchange messages at once.

    The figure shows the latency of the smallest message and the bandwidth of the largest. It omits points
    with a single pair; the list is empty if there are no others.

    Parameters
    ----------
    pairs : DataFrame
        Table ``network_pairs``.
    """
    if pairs.empty or pairs["pairs"].max() < 2:
        return []
    pairs = pairs[pairs.groupby(["processes", "oversubscription"])["pairs"].transform("max") > 1]
    small, large = int(pairs["bytes"].min()), int(pairs["bytes"].max())
    shown = {"latency_us": small, "bandwidth_MBps": large}
    points = list(pairs.groupby(["processes", "oversubscription"]))
    caption = (
        "Several pairs exchange messages at once. Each pair has a process of the first half and a process of "
        f"the second half. Left: time of a message of {size_text(small)}. Right: bandwidth of all pairs in "
        f"both directions with messages of {size_text(large)}. The bandwidth does not grow if all pairs "
        "share a link or a core."
    )
    with new_drawing("network-at_once", "network", LINE_HEIGHT * len(points), caption) as drawing:
        grid = drawing.figure.subplots(len(points), 2, squeeze=False)
        for axes_row, (_, rows) in zip(grid, points, strict=True):
            for axes, (quantity, size) in zip(axes_row, shown.items(), strict=True):
                rows_of_size = rows[rows["bytes"] == size]
                for _, curve in rows_of_size.groupby(["interconnect", "kind"], sort=False):
                    _draw_pairs(axes, curve, quantity, drawing, labels)
                log_axis(axes, list(rows_of_size[quantity]))
                count_axis(axes, list(rows_of_size["pairs"]), inches=2.6)
                axes.set_ylabel("{} ({})".format(*QUANTITIES[quantity]))
                axes.set_title(_panel_title(rows, size) if len(points) > 1 else size_text(size))
        for axes in grid[-1]:
            axes.set_xlabel("Pairs at once")
        add_legend(drawing, pairs, labels, ideal=False)
    return [drawing]


def _panel_title(rows: pd.DataFrame, size: int) -> str:
    """Name the point of a panel and the message size."""
    count, level = rows[["processes", "oversubscription"]].iloc[0]
    title = f"{counted(count, 'process')}, {size_text(size)}"
    return f"{title}, oversubscription {level}" if level > 1 else title


def _draw_pairs(
    axes: Axes, rows: pd.DataFrame, quantity: str, drawing: Drawing, labels: FigureLabels
) -> None:
    """Draw a quantity of an interconnect against the number of pairs at once."""
    first = rows.iloc[0]
    look, points = labels.look(first["interconnect"]), []
    for row in rows.to_dict("records"):
        text = hover_text(row, f"{counted(row['pairs'], 'pair')} at once", quantity, labels)
        points.append(Point(row["pairs"], row[quantity], look, row["interconnect"], text))
    draw_curve(drawing, axes, points, style.line_of(first["kind"]))


def availability_figures(table: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the processor's availability during an exchange and its overhead, against the message size.

    Parameters
    ----------
    table : DataFrame
        Table ``network_availability``.
    """
    if table.empty:
        return []
    caption = (
        "Left: share of the time of an exchange in which the processor can do other work. At 1, the adapter "
        "does the whole exchange. At 0, the processor does the whole exchange. Shares outside 0 to 1 are "
        "drawn at the edge. Right: time that the exchange adds to simultaneous work. Points with a measured "
        "time of 0 or less are missing."
    )
    with new_drawing("network-availability", "network", LINE_HEIGHT, caption) as drawing:
        left, right = drawing.panels(2, 2, ("Message size", ""), sharex=True)
        table = table.assign(place=positions(table["bytes"]), share=table["availability"].clip(0, 1))
        for _, rows in table.groupby(list(_CURVE), sort=False):
            draw_lines(drawing, left, rows, "place", "share", labels, every=2)
            with_overhead = rows[rows["overhead_us"] > 0]
            draw_lines(drawing, right, with_overhead, "place", "overhead_us", labels, every=2)
        left.set_ylim(-0.05, 1.05)
        left.set_ylabel("Availability")
        positive = table.loc[table["overhead_us"] > 0, "overhead_us"]
        if len(positive):
            log_axis(right, list(positive))
        right.set_ylabel("Overhead (µs)")
        size_axis(left, table["bytes"])
        add_legend(drawing, table, labels, ideal=False)
    return [drawing]
