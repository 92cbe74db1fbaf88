"""Every pair of processes as a heat map, pairs at once, and what an exchange leaves of the processor."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm

from analysis.figures import style
from analysis.figures.axes import count_axis, fixed_ticks, log_axis, rank_axes
from analysis.figures.drawing import Drawing, canvas, dot, file_stem, shortened
from analysis.figures.legend import add_legend
from analysis.figures.sizes import hover_text, positions, size_axis
from analysis.figures.style import FigureLabels
from analysis.networks.curves import POINT, pair_matrix
from analysis.text.formats import counted, number
from analysis.text.labels import Labels
from analysis.text.network_words import QUANTITIES, size_text

NUMBERED_RANKS = 16
"""Processes at most whose pairs have their numbers written in."""
WIDEST = 2.0
"""Factor over and under the median at which the colours end."""
DARK = 0.65
"""Times below this share of the median have white numbers."""
WIDE_CELLS = 4
"""Processes up to which there is room for three digits."""
TITLE_LETTERS = 30
MATRIX_INCHES = 1.6
MOST_COLUMNS = 4
LINE_HEIGHT = 2.0
_CURVE = ("case", "interconnect", "kind", "processes", "oversubscription")
SLOW_FAST = LinearSegmentedColormap.from_list("pairs", [style.COLOURS[0], style.PAPER, style.COLOURS[1]])


def matrix_figures(network: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw every pair as a square of pairs, a figure a message size, a panel an interconnect.

    The smallest size shows the latency, larger ones the bandwidth. Colours show the time of a message
    relative to the median over the pairs, so that a slow link shows whatever the interconnect. Takes the
    table `analysis.networks.curves.NETWORK`.
    """
    rows = network[network["source"].notna() & (network["processes"] > 2)]
    return [
        _matrix_figure(int(size), own, "bandwidth_MBps" if index else "latency_us", labels)
        for index, (size, own) in enumerate(rows.groupby("bytes"))
    ]


def _matrix_figure(size: int, rows: pd.DataFrame, quantity: str, labels: Labels) -> Drawing:
    point = list(dict.fromkeys(["processes", "oversubscription", "interconnect", *POINT]))
    groups = labels.in_order(rows, *point).groupby(point, sort=False, dropna=False)
    squares = [(pairs.iloc[0], pairs) for _, pairs in groups]
    columns = min(MOST_COLUMNS, len(squares))
    lines = -(-len(squares) // columns)
    title, unit = QUANTITIES[quantity]
    caption = (
        f"{title} in {unit} of a ping-pong of {size_text(size)} between every two processes, one pair "
        "after the other. Colours: time of a message relative to the median over the pairs of a panel; "
        "orange pairs are slower, blue ones faster."
    )
    with mpl.rc_context(style.RC):
        figure = canvas(lines * (MATRIX_INCHES + 0.5) + 0.6)
        drawing = Drawing(file_stem("network", "pairs", str(size)), "network", figure, caption, caption)
        grid = figure.subplots(lines, columns, squeeze=False)
        norm = LogNorm(1 / WIDEST, WIDEST)
        for axes, (first, pairs) in zip(grid.flat, squares, strict=False):
            values = pair_matrix(pairs, quantity).to_numpy(float)
            times = pair_matrix(pairs, "latency_us").to_numpy(float)
            relative = np.clip(times / np.nanmedian(times), 1 / WIDEST, WIDEST)
            axes.imshow(relative, cmap=SLOW_FAST, norm=norm)
            _write_numbers(axes, values, relative)
            rank_axes(axes, len(values))
            level = f", {first['oversubscription']} a core" if first["oversubscription"] > 1 else ""
            name = shortened(labels.interconnect(first["interconnect"], first["kind"]), TITLE_LETTERS, 1)
            axes.set_title(f"{name}\n{first['processes']} processes{level}", fontsize=7)
            drawing.mark(axes, first["interconnect"])
        for axes in grid.flat[len(squares) :]:
            axes.set_axis_off()
        bar = figure.colorbar(
            mpl.cm.ScalarMappable(norm, SLOW_FAST), ax=grid, location="bottom", aspect=60, shrink=0.6
        )
        bar.set_label("Time of a message / median over the pairs")
        ticks = (0.5, 0.7, 1, 1.4, 2)
        fixed_ticks(bar.ax.xaxis, ticks, [f"{tick:g}" for tick in ticks])
        bar.outline.set_linewidth(style.RC["axes.linewidth"])
    return drawing


def _write_numbers(axes: Axes, values: np.ndarray, relative: np.ndarray) -> None:
    if len(values) > NUMBERED_RANKS:
        return
    size, digits = min(6.5, 34 / len(values)), 3 if len(values) <= WIDE_CELLS else 2
    for (down, along), value in np.ndenumerate(values):
        if not np.isnan(value):
            colour = style.PAPER if relative[down, along] < DARK else style.INK
            text = number(value, digits)
            axes.text(along, down, text, ha="center", va="center", fontsize=size, color=colour)


def pairs_figures(pairs: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the latency and the bandwidth of all pairs together against the number of pairs at once.

    Takes the table ``network_pairs``. Shown are the smallest and the largest message of the points with most
    pairs; nothing where there never was more than one.
    """
    if pairs.empty or pairs["pairs"].max() < 2:
        return []
    pairs = pairs[pairs.groupby(["processes", "oversubscription"])["pairs"].transform("max") > 1]
    small, large = int(pairs["bytes"].min()), int(pairs["bytes"].max())
    shown = {"latency_us": small, "bandwidth_MBps": large}
    points = list(pairs.groupby(["processes", "oversubscription"]))
    with mpl.rc_context(style.RC):
        figure = canvas(LINE_HEIGHT * len(points))
        caption = (
            "Pairs of processes that exchange messages at once, the first half of the processes with the "
            f"second half: time of a message of {size_text(small)}, and bandwidth of all pairs together in "
            f"both directions at {size_text(large)}, against the number of pairs. Where all pairs share one "
            "link or core, the bandwidth does not grow."
        )
        drawing = Drawing("network-at_once", "network", figure, caption, caption)
        grid = figure.subplots(len(points), 2, squeeze=False)
        for line, ((count, level), rows) in zip(grid, points, strict=True):
            for axes, (quantity, size) in zip(line, shown.items(), strict=True):
                own = rows[rows["bytes"] == size]
                for _, curve in own.groupby(["interconnect", "kind"], sort=False):
                    _draw_pairs(axes, curve, quantity, drawing, labels)
                log_axis(axes, list(own[quantity]))
                count_axis(axes, list(own["pairs"]), inches=2.6)
                axes.set_ylabel("{} ({})".format(*QUANTITIES[quantity]))
                of = f"{counted(count, 'process')}, " if len(points) > 1 else ""
                at = f", oversubscription {level}" if len(points) > 1 and level > 1 else ""
                axes.set_title(f"{of}{size_text(size)}{at}")
        for axes in grid[-1]:
            axes.set_xlabel("Pairs at once")
        add_legend(drawing, pairs, labels, ideal=False)
    return [drawing]


def _draw_pairs(
    axes: Axes, rows: pd.DataFrame, quantity: str, drawing: Drawing, labels: FigureLabels
) -> None:
    first = rows.iloc[0]
    look, line = labels.look(first["interconnect"]), style.line_of(first["kind"])
    (joined,) = axes.plot(rows["pairs"], rows[quantity], color=look.colour, linestyle=line)
    drawing.mark(joined, first["interconnect"])
    for row in rows.to_dict("records"):
        text = hover_text(row, f"{counted(row['pairs'], 'pair')} at once", quantity, labels)
        drawing.mark(dot(axes, row["pairs"], row[quantity], look), row["interconnect"], text)


def availability_figures(table: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the processor's availability during an exchange and its overhead, against the message size.

    Takes the table ``network_availability``.
    """
    if table.empty:
        return []
    caption = (
        "Left: share of an exchange's time that the processor has for other work (1: the adapter does it "
        "all, 0: the processor does). Right: what the exchange adds to work that goes on meanwhile; where "
        "the spread of the measurement makes it 0 or less, there is no point. Shares outside 0 to 1 are "
        "drawn at the edge."
    )
    with mpl.rc_context(style.RC):
        figure = canvas(LINE_HEIGHT)
        drawing = Drawing("network-availability", "network", figure, caption, caption)
        left, right = figure.subplots(1, 2, sharex=True)
        for _, rows in table.groupby(list(_CURVE), sort=False):
            first = rows.iloc[0]
            look, line = labels.look(first["interconnect"]), style.line_of(first["kind"])
            marks = {"color": look.colour, "linestyle": line, "marker": look.marker, "markersize": 3.2}
            within = rows.assign(availability=rows["availability"].clip(0, 1))
            over = rows[rows["overhead_us"] > 0]
            for axes, own, column in ((left, within, "availability"), (right, over, "overhead_us")):
                (joined,) = axes.plot(positions(own["bytes"]), own[column], markevery=2, **marks)
                drawing.mark(joined, first["interconnect"])
        left.set_ylim(-0.05, 1.05)
        left.set_ylabel("Availability")
        positive = table.loc[table["overhead_us"] > 0, "overhead_us"]
        if len(positive):
            log_axis(right, list(positive))
        right.set_ylabel("Overhead (µs)")
        size_axis(left, table["bytes"])
        for axes in (left, right):
            axes.set_xlabel("Message size")
        add_legend(drawing, table, labels, ideal=False)
    return [drawing]
