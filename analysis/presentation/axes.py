"""Axes of process counts, logarithmic axes and axes of named rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    Locator,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from analysis.presentation.formats import fixed

POINTS_PER_INCH = 72
DIGIT_POINTS = 4.7
"""Width of a digit at the size of the tick labels."""


def fixed_ticks(axis: Axis, places: Sequence[float], texts: Sequence[str]) -> None:
    """Set the ticks of an axis and their labels, and remove all other ticks."""
    axis.set_major_locator(FixedLocator(places))
    axis.set_major_formatter(FixedFormatter(texts))
    axis.set_minor_locator(NullLocator())


def count_axis(axes: Axes, counts: Iterable[int], inches: float) -> None:
    """Show process or core counts on the horizontal axis, to base 2, with a tick at each count.

    A count whose label would touch another label has a short tick without a label. Both ends are labelled
    first, then powers of two, then the other counts.

    Parameters
    ----------
    inches : float
        Approximate width of the axes.
    """
    counts = sorted({int(count) for count in counts})
    axes.set_xscale("log", base=2)
    margin = max(0.06 * math.log2(counts[-1] / counts[0]), 0.25)
    low, high = math.log2(counts[0]) - margin, math.log2(counts[-1]) + margin
    axes.set_xlim(2**low, 2**high)
    labelled = _counts_with_labels(counts, inches * POINTS_PER_INCH / (high - low))
    fixed_ticks(axes.xaxis, labelled, [str(count) for count in labelled])
    axes.xaxis.set_minor_locator(FixedLocator(sorted(set(counts) - set(labelled))))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _counts_with_labels(counts: Sequence[int], points_per_doubling: float) -> list[int]:
    """Choose the counts whose labels have room on a logarithmic axis: see `count_axis`."""

    def importance(count: int) -> tuple[bool, bool, int]:
        is_end, is_power_of_two = count in (counts[0], counts[-1]), count & (count - 1) == 0
        return not is_end, not is_power_of_two, count

    def has_room(count: int, other: int) -> bool:
        distance = abs(math.log2(count / other)) * points_per_doubling
        mean_digits = (len(str(count)) + len(str(other))) / 2
        return distance > DIGIT_POINTS * (mean_digits + 1)

    labelled: list[int] = []
    for count in sorted(counts, key=importance):
        if all(has_room(count, other) for other in labelled):
            labelled.append(count)
    return sorted(labelled)


def log_axis(
    axes: Axes, values: Sequence[float], base: int = 10, most: int = 6, horizontal: bool = False
) -> None:
    """Make an axis logarithmic, with limits around `values` and at most `most` ticks.

    Parameters
    ----------
    values : sequence of float
        Missing values and values of 0 or less are ignored.
    base : int
        2 for speedups, 10 for times.
    horizontal : bool
        Whether it is the horizontal axis.
    """
    shown = [float(value) for value in values if value is not None and value > 0 and math.isfinite(value)]
    smallest, largest = min(shown), max(shown)
    margin = max((largest / smallest) ** 0.06, 1.04)
    low, high = smallest / margin, largest * margin
    ticks = log_ticks(low, high, base, most)
    labels = [_tick_label(tick) for tick in ticks]
    if horizontal:
        axes.set_xscale("log", base=base)
        axes.set_xlim(low, high)
        fixed_ticks(axes.xaxis, ticks, labels)
    else:
        axes.set_yscale("log", base=base)
        axes.set_ylim(low, high)
        fixed_ticks(axes.yaxis, ticks, labels)


def log_ticks(low: float, high: float, base: int = 10, most: int = 6) -> list[float]:
    """Choose round values for the ticks of a logarithmic axis: 3 to `most` values from `low` to `high`.

    If several choices have so many values, the choice whose values are spaced most evenly is taken.

    Examples
    --------
    >>> log_ticks(0.9, 70, base=2)
    [1.0, 4.0, 16.0, 64.0]
    >>> log_ticks(3.1, 5.2)
    [3.5, 4.0, 4.5, 5.0]
    """
    leading: list[tuple[float, ...]] = [(1, 1.5, 2, 3, 4, 6, 8), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)]
    locators: list[Locator] = [LogLocator(2**step) for step in (1, 2, 3, 4, 6, 8) if base == 2]
    locators += [LogLocator(10, digits, numticks=most) for digits in leading]
    ticks: list[float] = []
    for locator in [*locators, MaxNLocator(most - 1)]:
        ticks = [float(f"{tick:.6g}") for tick in locator.tick_values(low, high) if low <= tick <= high]
        if 3 <= len(ticks) <= most:
            break
    return ticks


def _tick_label(value: float) -> str:
    """Write the value of a tick without exponent and without trailing zeros."""
    return fixed(value, max(0, len(f"{value:.6f}".rstrip("0").split(".")[1])))


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Label the rows of a vertical axis, the first row on top, without grid lines and ticks."""
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
