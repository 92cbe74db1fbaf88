"""The chart of the explorer: positions of lines and points in percent of its width and height."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.presentation import formats
from analysis.presentation.formats import counted
from analysis.runs.frames import Line, interval

MOST_TICKS = 7
"""Ticks of the vertical axis, approximately."""
LABEL_DISTANCE = 8
"""Least distance between labels of the horizontal axis, in percent."""
LINE_HEIGHT = 5.5
"""Height of a line of text, in percent."""
SPEEDUPS = ["speedup", "speedup_low", "speedup_high"]

AxisLimits = list[float]
"""Logarithms to base 2 of the smallest and the largest value."""
Position = tuple[float, float]
"""Distances from the left and from the top, in percent."""
Curve = Mapping[str, Any]
"""A curve of `analysis.report.explore.explore`."""


def axis_limits(curves: Sequence[Curve]) -> list[AxisLimits]:
    """Return the limits of the axes of processes and of speedups."""
    return [_limits(_values(curves, *names)) for names in (["processes"], SPEEDUPS)]


def make_chart(curves: Sequence[Curve]) -> dict[str, Any]:
    """Make the chart of a panel.

    Returns
    -------
    dict
        ``across`` and ``up``: positions and labels of the ticks. ``curves``: for each curve its title,
        interconnect, kind and colour, its ``line`` and ``band`` as SVG points, its ``dots`` with their texts,
        and the height of its number (``number_at``).
    """
    x, y = axis_limits(curves)
    drawn = [_place_curve(curve, x, y) for curve in curves]
    _place_numbers([curve for curve in drawn if curve["dots"]])
    step = math.ceil((y[1] - y[0]) / MOST_TICKS) or 1
    powers = range(math.ceil(y[0]), math.floor(y[1]) + 1, step)
    counts = sorted(set(_values(curves, "processes")))
    return {
        "across": _label_apart((_percent(count, x), count) for count in counts),
        "up": [[100 - _percent(2.0**power, y), formats.exact(2.0**power)] for power in powers],
        "curves": drawn,
    }


def _values(curves: Iterable[Curve], *names: str) -> list[float]:
    """Return the values of the columns `names` that a logarithmic axis can show."""
    points = [point for curve in curves for point in curve["points"]]
    return [point[name] for point in points for name in names if _is_shown(point[name])]


def _is_shown(value: object) -> bool:
    return isinstance(value, float) and value > 0


def _limits(values: Sequence[float]) -> AxisLimits:
    return [math.log2(min(values)), math.log2(max(values))] if values else [0.0, 0.0]


def _percent(value: float, limits: AxisLimits) -> float:
    """Return the position of a value on an axis, in percent."""
    return round(100 * (math.log2(value) - limits[0]) / (limits[1] - limits[0] or 1), 2)


def _place_curve(curve: Curve, x: AxisLimits, y: AxisLimits) -> dict[str, Any]:
    """Place the line, the band and the dots of a curve: see `make_chart`."""

    def positions(name: str, points: Iterable[Mapping[str, Any]]) -> list[Position]:
        return [
            (_percent(point["processes"], x), round(100 - _percent(point[name], y), 2)) for point in points
        ]

    dots = [point for point in curve["points"] if _is_shown(point["speedup"])]
    with_band = [
        point
        for point in curve["points"]
        if _is_shown(point["speedup_low"]) and _is_shown(point["speedup_high"])
    ]
    line = positions("speedup", dots)
    low, high = positions("speedup_low", with_band), positions("speedup_high", with_band)
    texts = [_point_text(curve["title"], point) for point in dots]
    return {
        **{name: curve[name] for name in ("title", "interconnect", "kind", "colour")},
        "line": _svg_points(line),
        "band": _svg_points([*high, *low[::-1]]),
        "dots": [[*position, text] for position, text in zip(line, texts, strict=True)],
    }


def _point_text(title: str, point: Line) -> str:
    """Write a point of a curve with its time and speedup."""
    speedup = formats.bracketed(*interval(point, "speedup"))
    processes, seconds = counted(point["processes"], "process"), formats.seconds(point["seconds"])
    return f"{title}: {processes}, {seconds}, speedup {speedup}"


def _svg_points(positions: Iterable[Position]) -> str:
    return " ".join(f"{across},{up}" for across, up in positions)


def _place_numbers(curves: Iterable[dict[str, Any]]) -> None:
    """Place the number of each curve at its last point, below the number of the curve above it."""
    lowest = -math.inf
    for curve in sorted(curves, key=lambda curve: curve["dots"][-1][1]):
        curve["number_at"] = lowest = max(curve["dots"][-1][1], lowest + LINE_HEIGHT)


def _label_apart(ticks: Iterable[tuple[float, float]]) -> list[list[float | str]]:
    """Label the ticks of the horizontal axis, except those too close to the label before."""
    labelled: list[list[float | str]] = []
    last = -math.inf
    for position, count in ticks:
        has_label = position - last >= LABEL_DISTANCE
        last = position if has_label else last
        labelled.append([position, formats.exact(count) if has_label else ""])
    return labelled
