"""Axes of counts and logarithmic axes with plainly written ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter, NullLocator

from analysis.text.formats import fixed

POINTS_PER_INCH = 72
DIGIT_POINTS = 4.7
"""Width of a digit at the size of the tick labels."""


def fixed_ticks(axis: Axis, places: Sequence[float], texts: Sequence[str]) -> None:
    """Give an axis these ticks with these labels, and no others."""
    axis.set_major_locator(FixedLocator(places))
    axis.set_major_formatter(FixedFormatter(texts))
    axis.set_minor_locator(NullLocator())


def count_axis(axes: Axes, counts: Sequence[int], inches: float) -> None:
    """Make the horizontal axis one of process or core counts: log2, ticks at the counts that occur.

    Of axes that are about so many `inches` wide: counts whose labels would touch others have a short tick
    and no line of the grid; powers of two are labelled first.
    """
    counts = sorted({int(count) for count in counts})
    axes.set_xscale("log", base=2)
    margin = max(0.06 * math.log2(counts[-1] / counts[0]), 0.25)
    low, high = math.log2(counts[0]) - margin, math.log2(counts[-1]) + margin
    axes.set_xlim(2**low, 2**high)
    per_unit = inches * POINTS_PER_INCH / (high - low)
    labelled: list[int] = []
    for count in sorted(counts, key=lambda c: (c not in (counts[0], counts[-1]), c & (c - 1) != 0, c)):
        if all(
            abs(math.log2(count / other)) * per_unit
            > DIGIT_POINTS * (len(str(count)) + len(str(other))) / 2 + DIGIT_POINTS
            for other in labelled
        ):
            labelled.append(count)
    fixed_ticks(axes.xaxis, sorted(labelled), [str(count) for count in sorted(labelled)])
    axes.xaxis.set_minor_locator(FixedLocator(sorted(set(counts) - set(labelled))))
    axes.xaxis.set_minor_formatter(NullFormatter())


def log_axis(
    axes: Axes, values: Sequence[float], base: int = 10, most: int = 6, horizontal: bool = False
) -> None:
    """Make an axis logarithmic, with at most `most` plainly written ticks around `values`.

    Parameters
    ----------
    values : sequence of float
        Positive values to be shown; missing ones are passed over.
    base : int
        2 for speedups, 10 for times.
    horizontal : bool
        Which axis it is; by default the vertical one.
    """
    shown = [float(value) for value in values if value is not None and value > 0 and math.isfinite(value)]
    low, high = min(shown), max(shown)
    pad = max((high / low) ** 0.06, 1.04)
    low, high = low / pad, high * pad
    axis = axes.xaxis if horizontal else axes.yaxis
    (axes.set_xscale if horizontal else axes.set_yscale)("log", base=base)
    (axes.set_xlim if horizontal else axes.set_ylim)(low, high)
    ticks = log_ticks(low, high, base, most)
    fixed_ticks(axis, ticks, [_plain(tick) for tick in ticks])


def log_ticks(low: float, high: float, base: int = 10, most: int = 6) -> list[float]:
    """Round values from `low` to `high`: as many as `most` allows, spaced as evenly on a log axis.

    Examples
    --------
    >>> log_ticks(0.9, 70, base=2)
    [1.0, 4.0, 16.0, 64.0]
    >>> log_ticks(3.1, 5.2)
    [3.2, 3.6, 4.0, 4.4, 4.8, 5.2]
    """
    if base == 2:
        for step in (1, 2, 3, 4, 6, 8):
            powers = range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)
            ticks = [2.0**power for power in powers if power % step == 0]
            if 3 <= len(ticks) <= most:
                return ticks
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    for leading in ((1, 1.5, 2, 3, 4, 6, 8), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)):
        ticks = [digit * 10.0**decade for decade in decades for digit in leading]
        ticks = [float(f"{tick:.6g}") for tick in ticks if low <= tick <= high]
        if 3 <= len(ticks) <= most:
            return ticks
    if high / low > 10:
        whole = [decade for decade in decades if low <= 10.0**decade <= high]
        return [10.0**decade for decade in whole[:: math.ceil(len(whole) / most)]]
    for step in sorted(digit * 10.0**decade for decade in decades for digit in (0.1, 0.2, 0.4, 0.5, 1, 2, 5)):
        first, last = math.ceil(low / step), math.floor(high / step)
        if last - first + 1 <= most:
            return [float(f"{step * multiple:.6g}") for multiple in range(first, last + 1)]
    return []


def _plain(value: float) -> str:
    return fixed(value, max(0, len(f"{value:.6f}".rstrip("0").split(".")[1])))


def rank_axes(axes: Axes, ranks: int, along: str = "Process", down: str = "Process") -> None:
    """Let the axes of a matrix of ranks name at most eight or so of them."""
    step = -(-ranks // 8)
    axes.set_xticks(range(0, ranks, step))
    axes.set_yticks(range(0, ranks, step))
    axes.tick_params(length=0)
    axes.grid(False)
    axes.set_xlabel(along)
    axes.set_ylabel(down)
