"""Where the chart of the page that explores has its lines and points, in percent of its width and height."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.presentation import formats
from analysis.report.explore_controls import point_told

MOST_STEPS, APART, LINE = 7, 8, 5.5
"""Numbers upwards; how far numbers across are apart at least, and the height of a line of letters."""

SPEEDUPS = ["speedup", "speedup_low", "speedup_high"]
Axis = list[float]
"""Logarithms to base 2 of the values at its ends."""


def axes(curves: Sequence[Mapping[str, Any]]) -> list[Axis]:
    """Ends of the axes of curves as `analysis.report.explore` gives them: of processes, and of speedups."""
    return [_axis(_known(curves, *names)) for names in (["processes"], SPEEDUPS)]


def chart(curves: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Place curves on their `axes`.

    Returns
    -------
    dict
        ``across`` and ``up``: places and texts of numbers on the axes. ``curves``: by curve its ``line`` and
        ``band`` as SVG has them, its ``dots``, the height of its number (``number_at``), and what it is.
    """
    x, y = axes(curves)
    placed = [_curve(curve, x, y) for curve in curves]
    _numbered(curve for curve in placed if curve["dots"])
    steps = math.ceil((y[1] - y[0]) / MOST_STEPS) or 1
    powers = range(math.ceil(y[0]), math.floor(y[1]) + 1, steps)
    return {
        "across": list(_apart((_at(value, x), value) for value in sorted({*_known(curves, "processes")}))),
        "up": [[100 - _at(2.0**power, y), formats.exact(2.0**power)] for power in powers],
        "curves": placed,
    }


def _known(curves: Iterable[Mapping[str, Any]], *names: str) -> list[float]:
    values = (point[name] for curve in curves for point in curve["points"] for name in names)
    return [value for value in values if _is_shown(value)]


def _is_shown(value: object) -> bool:
    return isinstance(value, float) and value > 0


def _axis(values: Sequence[float]) -> Axis:
    return [math.log2(min(values)), math.log2(max(values))] if values else [0.0, 0.0]


def _at(value: float, axis: Axis) -> float:
    return round(100 * (math.log2(value) - axis[0]) / (axis[1] - axis[0] or 1), 2)


def _curve(curve: Mapping[str, Any], x: Axis, y: Axis) -> dict[str, Any]:
    def places(*names: str) -> list[list[tuple[float, float]]]:
        shown = [point for point in curve["points"] if all(_is_shown(point[name]) for name in names)]
        across = [_at(point["processes"], x) for point in shown]
        return [
            list(zip(across, (round(100 - _at(point[name], y), 2) for point in shown), strict=True))
            for name in names
        ]

    (line,), (low, high) = places("speedup"), places("speedup_low", "speedup_high")
    texts = [point_told(curve["title"], point) for point in curve["points"] if _is_shown(point["speedup"])]
    return {
        **{name: curve[name] for name in ("title", "interconnect", "kind", "colour")},
        "line": _path(line),
        "band": _path([*high, *low[::-1]]),
        "dots": [[*place, text] for place, text in zip(line, texts, strict=True)],
    }


def _path(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{across},{up}" for across, up in points)


def _numbered(curves: Iterable[dict[str, Any]]) -> None:
    """Place the number of each curve beside its end, none over another."""
    lowest = -math.inf
    for curve in sorted(curves, key=lambda curve: curve["dots"][-1][1]):
        curve["number_at"] = lowest = max(curve["dots"][-1][1], lowest + LINE)


def _apart(places: Iterable[tuple[float, float]]) -> Iterable[list[float | str]]:
    """Places with their numbers, without those that would touch another."""
    last = -math.inf
    for at, value in places:
        shown = at - last >= APART
        last = at if shown else last
        yield [at, formats.exact(value) if shown else ""]
