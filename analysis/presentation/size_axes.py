"""Logarithmic axes of message sizes, and curves over message sizes."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from analysis.presentation import style
from analysis.presentation.axes import fixed_ticks
from analysis.presentation.drawing import Drawing
from analysis.presentation.formats import counted, number
from analysis.presentation.labels import Labels
from analysis.presentation.marks import Point, draw_points
from analysis.presentation.network_words import QUANTITIES, size_text
from analysis.presentation.style import FigureLabels
from analysis.runs.frames import Line

ZERO = 0.125
"""Position of 0 bytes on a logarithmic axis; it leaves room for the label of 1 byte."""
MARKED_POWERS = 3
"""Powers of two between two markers."""
BAND_OPACITY = 0.18


def positions(sizes: pd.Series) -> np.ndarray:
    """Return the positions of message sizes on a logarithmic axis; 0 bytes are at `ZERO`."""
    values = sizes.to_numpy(float)
    return np.where(values == 0, ZERO, values)


def size_axis(axes: Axes, sizes: pd.Series, narrow: bool = False) -> None:
    """Show message sizes on the horizontal axis, to base 2. A `narrow` axis has fewer ticks."""
    shown = positions(sizes.dropna())
    low, high = math.log2(shown.min()), math.log2(shown.max())
    step = 10 if narrow and high - low > 12 else 5 if narrow or high - low > 8 else 2
    powers = [power for power in range(math.ceil(max(low, 0)), math.floor(high) + 1) if power % step == 0]
    ticks = [*([ZERO] if shown.min() == ZERO else []), *(2.0**power for power in powers)]
    axes.set_xscale("log", base=2)
    axes.set_xlim(2 ** (low - 0.5), 2 ** (high + 0.5))
    fixed_ticks(axes.xaxis, ticks, [size_text(size) if size >= 1 else "0" for size in ticks])


def draw_curve(axes: Axes, rows: pd.DataFrame, quantity: str, drawing: Drawing, labels: FigureLabels) -> None:
    """Draw a quantity against the message size, with a band from the lowest to the highest run.

    Parameters
    ----------
    rows : DataFrame
        Rows of one curve of the table ``network``, by increasing size.
    quantity : str
        ``latency_us`` or ``bandwidth_MBps``.
    """
    rows = rows[rows[quantity].notna()]
    if rows.empty:
        return
    interconnect, kind = rows[["interconnect", "kind"]].iloc[0]
    look, x = labels.look(interconnect), positions(rows["bytes"])
    middle = rows[quantity].to_numpy(float)
    (line,) = axes.plot(x, middle, color=look.colour, linestyle=style.line_of(kind), linewidth=1.0)
    drawing.mark(line, interconnect)
    low, high = _range(rows, quantity)
    if np.any(high > low):
        band = axes.fill_between(x, low, high, color=look.colour, alpha=BAND_OPACITY, linewidth=0)
        drawing.mark(band, interconnect)
    points = []
    for position, row in zip(x, rows.to_dict("records"), strict=True):
        if _has_marker(int(row["bytes"])):
            count = "" if pd.isna(row["processes"]) else f", {counted(row['processes'], 'process')}"
            text = hover_text(row, f"{size_text(row['bytes'])}{count}", quantity, labels)
            points.append(Point(position, row[quantity], look, interconnect, text))
    draw_points(drawing, axes, points, size=3.2)


def _has_marker(size: int) -> bool:
    """Return whether a size is 0, or 2^k with k a multiple of `MARKED_POWERS`."""
    is_power_of_two = size & (size - 1) == 0
    exponent = size.bit_length() - 1
    return size == 0 or (is_power_of_two and exponent % MARKED_POWERS == 0)


def _range(rows: pd.DataFrame, quantity: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and the highest value of a quantity over the runs of each row.

    The table has only the shortest and the longest time; the highest bandwidth follows from the shortest.
    """
    middle = rows[quantity].to_numpy(float)
    shortest = rows["latency_us_lowest_run"].to_numpy(float)
    longest = rows["latency_us_highest_run"].to_numpy(float)
    if quantity == "latency_us":
        low, high = shortest, longest
    else:
        message_size = middle * rows["latency_us"].to_numpy(float)  # 10^6 bytes/s × µs = bytes
        low, high = message_size / longest, message_size / shortest
    return np.where(np.isnan(low), middle, low), np.where(np.isnan(high), middle, high)


def hover_text(row: Line, where: str, quantity: str, labels: Labels) -> str:
    """Write the interconnect, the size or count, and the value of a point on three lines."""
    title, unit = QUANTITIES[quantity]
    name = labels.interconnect(row["interconnect"], row["kind"])
    return f"{name}\n{where}\n{title.lower()} {number(row[quantity])} {unit}"
