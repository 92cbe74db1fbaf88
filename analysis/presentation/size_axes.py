"""Axes of message sizes, and curves against them."""

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
"""Place of a message of 0 bytes on a logarithmic axis of sizes: far enough from 1 byte for its label."""
MARKED_POWERS = 3
"""Powers of two from one marker to the next."""
SPREAD = 0.18
"""Opacity of a band."""


def positions(sizes: pd.Series) -> np.ndarray:
    """Positions of message sizes on an axis: 0 bytes stand at `ZERO`."""
    given = sizes.to_numpy(float)
    return np.where(given == 0, ZERO, given)


def size_axis(axes: Axes, sizes: pd.Series, narrow: bool = False) -> None:
    """Show message sizes on the horizontal axis: log2, ticks at 0 and at round sizes, few if `narrow`."""
    shown = positions(sizes.dropna())
    low, high = math.log2(shown.min()), math.log2(shown.max())
    step = 10 if narrow and high - low > 12 else 5 if narrow or high - low > 8 else 2
    powers = [power for power in range(math.ceil(max(low, 0)), math.floor(high) + 1) if power % step == 0]
    ticks = [*([ZERO] if shown.min() == ZERO else []), *(2.0**power for power in powers)]
    axes.set_xscale("log", base=2)
    axes.set_xlim(2 ** (low - 0.5), 2 ** (high + 0.5))
    fixed_ticks(axes.xaxis, ticks, [size_text(size) if size >= 1 else "0" for size in ticks])


def draw_curve(axes: Axes, rows: pd.DataFrame, quantity: str, drawing: Drawing, labels: FigureLabels) -> None:
    """Draw a quantity of a curve against the message size, with the range over its runs.

    Parameters
    ----------
    rows : DataFrame
        Rows of a point of `analysis.topics.network.curves.NETWORK`, sizes rising.
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
        band = axes.fill_between(x, low, high, color=look.colour, alpha=SPREAD, linewidth=0)
        drawing.mark(band, interconnect)
    points = []
    for position, row in zip(x, rows.to_dict("records"), strict=True):
        if _marked(int(row["bytes"])):
            count = "" if pd.isna(row["processes"]) else f", {counted(row['processes'], 'process')}"
            text = hover_text(row, f"{size_text(row['bytes'])}{count}", quantity, labels)
            points.append(Point(position, row[quantity], look, interconnect, text))
    draw_points(drawing, axes, points, size=3.2)


def _marked(size: int) -> bool:
    return size == 0 or (size & (size - 1) == 0 and (size.bit_length() - 1) % MARKED_POWERS == 0)


def _range(rows: pd.DataFrame, quantity: str) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest run; a bandwidth is highest where the time is lowest."""
    middle = rows[quantity].to_numpy(float)
    ends = [rows[f"latency_us_{end}_run"].to_numpy(float) for end in ("lowest", "highest")]
    if quantity == "latency_us":
        low, high = ends
    else:
        low, high = (middle * rows["latency_us"].to_numpy(float) / end for end in reversed(ends))
    return np.where(np.isnan(low), middle, low), np.where(np.isnan(high), middle, high)


def hover_text(row: Line, where: str, quantity: str, labels: Labels) -> str:
    """Write interconnect, size or count, and value of a point, one line each."""
    title, unit = QUANTITIES[quantity]
    name = labels.interconnect(row["interconnect"], row["kind"])
    return f"{name}\n{where}\n{title.lower()} {number(row[quantity])} {unit}"
