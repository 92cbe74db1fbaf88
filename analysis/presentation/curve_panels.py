"""Panels of curves against process or core counts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from analysis.presentation import formats, style
from analysis.presentation.axes import count_axis, log_axis
from analysis.presentation.drawing import Drawing, point_text, shortened
from analysis.presentation.labels import DIRECT, SERIAL, Labels
from analysis.presentation.marks import Point, draw_points
from analysis.presentation.style import FigureLabels
from analysis.runs.frames import Line, as_float, as_lines, interval, is_missing, unit_of
from analysis.runs.kinds import comparable_sets
from analysis.runs.settings import NODES

PERCENT = 100.0
LABEL_INCHES = 0.115
"""Height of a line of a curve label."""
LABEL_WIDTH = 34
"""Characters on a line of a curve label."""
NEAR = 1.6
"""Factor up to which the ideal may lie above or below all points and still be shown."""


@dataclass(frozen=True)
class Quantity:
    """A column of the table ``scaling`` with its title and unit in figures."""

    column: str
    title: str
    unit: str
    factor: float = 1.0


SPEEDUP = Quantity("speedup", "Speedup", "")
SCALED_SPEEDUP = Quantity("speedup", "Scaled speedup", "")
EFFICIENCY = Quantity("efficiency", "Efficiency (%)", f"{formats.THIN}%", PERCENT)
TIME = Quantity("seconds", "Time per run (s)", f"{formats.THIN}s")


def counts_of(rows: pd.DataFrame) -> str:
    """Return the column of the horizontal axis.

    It is the unit of the case, and ``cores`` if processes have several threads.
    """
    if unit_of(rows) == NODES:
        return NODES
    return "cores" if (rows["threads"] > 1).any() else "processes"


@dataclass(frozen=True)
class Panel:
    """Rows of the table ``scaling`` that share axes: comparable kinds at one oversubscription level."""

    kinds: tuple[str, ...]
    level: int
    rows: pd.DataFrame

    @cached_property
    def curves(self) -> list[DrawnCurve]:
        """Curves of the panel, which are the same for all quantities."""
        columns = ["interconnect", "kind", "processes_per_node"]
        return [
            DrawnCurve(
                None if is_missing(name) else str(name),
                str(kind),
                None if is_missing(placement) else as_float(placement),
                _lines_by_count(group),
            )
            for (name, kind, placement), group in self.rows.groupby(columns, dropna=False)
        ]

    @property
    def counts(self) -> str:
        """Column of the horizontal axis."""
        return counts_of(self.rows)


@dataclass(frozen=True)
class DrawnCurve:
    """A curve with its rows by increasing process count.

    Attributes
    ----------
    interconnect : str or None
        None for the serial run.
    kind : str
    placement : float or None
        Processes per node, if placement varies.
    rows : sequence of mapping
    """

    interconnect: str | None
    kind: str
    placement: float | None
    rows: Sequence[Line]

    def title(self, labels: Labels) -> str:
        """Return the name in legends and hover texts."""
        return labels.curve(self.rows[0]) if self.interconnect else SERIAL


def speedup_of(labels: Labels) -> Quantity:
    """Return the quantity that figures show as speedup: the scaled speedup in weak scaling."""
    return SCALED_SPEEDUP if labels.weak else SPEEDUP


def panels_of(scaling: pd.DataFrame, declared: Sequence[Sequence[str]]) -> list[Panel]:
    """Split the rows of a case into panels.

    Parameters
    ----------
    scaling : DataFrame
        Rows of one case.
    declared : sequence of pairs of str
        Kinds that the study declares comparable.

    Returns
    -------
    list of Panel
        Ordered by kinds, then by level. Only panels of level 1 show the serial run. Panels with a single
        count are omitted, unless all panels have a single count.
    """
    panels = []
    for kinds in comparable_sets(scaling["kind"], declared):
        rows = scaling[scaling["kind"].isin(kinds)]
        for level in sorted(int(level) for level in rows["oversubscription"].unique()):
            is_shown = (rows["oversubscription"] == level) & ((level == 1) | ~rows["serial"])
            shown = rows[is_shown]
            if not shown["serial"].all():
                panels.append(Panel(kinds, level, shown))
    return [panel for panel in panels if panel.rows[panel.counts].nunique() > 1] or panels


def curves_of(panel: Panel, labels: Labels) -> list[DrawnCurve]:
    """List the curves of a panel in the order of the study."""
    return sorted(
        panel.curves, key=lambda curve: (labels.place(curve.interconnect), curve.kind, curve.placement or 0)
    )


def _lines_by_count(rows: pd.DataFrame) -> list[dict[Hashable, Any]]:
    return as_lines(rows.sort_values("processes"))


def draw_panel(axes: Axes, panel: Panel, quantity: Quantity, drawing: Drawing, labels: FigureLabels) -> None:
    """Draw the ideal, the curves and the serial run of a panel."""
    for x, y in ideal_of(panel.rows, quantity, panel.counts):
        axes.plot(x, y, color=style.IDEAL, linewidth=0.8, zorder=1)
    curves, points = curves_of(panel, labels), []
    for index, curve in enumerate(curves):
        # Points are shifted only if the ideal is level. Near a slanted line they would seem better or worse.
        shift = dodge(index, len(curves), panel.rows[panel.counts]) if quantity is EFFICIENCY else 1.0
        x = [row[panel.counts] * (1.0 if row["serial"] else shift) for row in curve.rows]
        y = [row[quantity.column] * quantity.factor for row in curve.rows]
        colour = labels.look(curve.interconnect, curve.placement).colour
        (line,) = axes.plot(x, y, color=colour, linestyle=style.line_of(curve.kind), zorder=2)
        drawing.mark(line, curve.interconnect)
        points += _points(curve, panel.counts, quantity, labels, shift)
    serial = _lines_by_count(panel.rows[panel.rows["serial"]].drop_duplicates("seconds"))
    points += _points(DrawnCurve(None, DIRECT, None, serial), panel.counts, quantity, labels)
    draw_points(drawing, axes, points, hollow=True)


def _points(
    curve: DrawnCurve, counts: str, quantity: Quantity, labels: FigureLabels, shift: float = 1.0
) -> list[Point]:
    """Make the points of a curve, without the serial run.

    `shift` is a factor on the column `counts` that separates the bars of several curves.
    """
    look, points = labels.look(curve.interconnect, curve.placement), []
    for row in curve.rows:
        if curve.interconnect and row["serial"]:
            continue
        value, low, high = (end * quantity.factor for end in interval(row, quantity.column))
        text = f"{quantity.title.split(' (')[0].lower()} {formats.bracketed(value, low, high)}{quantity.unit}"
        text = point_text(labels, row, curve.title(labels), text)
        points.append(Point(row[counts] * shift, value, look, curve.interconnect, text, low, high))
    return points


def label_ends(
    axes: Axes,
    panel: Panel,
    quantity: Quantity,
    inches: float,
    drawing: Drawing,
    labels: FigureLabels,
    width: int = LABEL_WIDTH,
    lines: int = 1,
) -> None:
    """Label the curves of a panel right of their ends, on logarithmic axes.

    Parameters
    ----------
    inches : float
        Height of the axes.
    width, lines : int
        Most characters on a line, and most lines of a label. Labels that would overlap move apart.
    """
    curves = [curve for curve in curves_of(panel, labels) if curve.interconnect]
    names = [shortened(curve.title(labels), width, lines) for curve in curves]
    ends = [math.log(curve.rows[-1][quantity.column] * quantity.factor) for curve in curves]
    low, high = (math.log(end) for end in axes.get_ylim())
    further_lines = max(name.count("\n") for name in names)
    label_inches = LABEL_INCHES * (1 + 1.35 * further_lines)
    room = (high - low) * label_inches / inches
    left_end, right_end = axes.get_xlim()
    right = max(curve.rows[-1][panel.counts] for curve in curves) * (right_end / left_end) ** 0.06
    # Dotted, since a solid line to a label far right looks like a curve.
    leader = {
        "arrowstyle": "-",
        "color": style.IDEAL,
        "lw": 0.5,
        "ls": (0, (1, 3)),
        "shrinkA": 0,
        "shrinkB": 3,
    }
    for curve, name, end, place in zip(curves, names, ends, spread(ends, room), strict=True):
        text = axes.annotate(
            name, (curve.rows[-1][panel.counts], math.exp(end)), xytext=(right, math.exp(place)),
            annotation_clip=False, va="center", fontsize=7, color=style.INK, linespacing=0.95,
            arrowprops=leader,
        )  # fmt: skip
        for artist in filter(None, (text, text.arrow_patch)):
            drawing.mark(artist, curve.interconnect)


def spread(places: Sequence[float], room: float) -> list[float]:
    """Move places apart as little as possible, so that any two are at least `room` apart.

    Examples
    --------
    >>> spread([1.0, 1.0, 5.0], 1.0)
    [0.5, 1.5, 5.0]
    """
    order = sorted(range(len(places)), key=lambda index: (places[index], index))
    groups: list[tuple[float, int]] = []  # centre and size of groups of places that touch each other
    for index in order:
        groups.append((places[index], 1))
        while len(groups) > 1:  # join the last two groups as long as they overlap
            (centre, size), (last_centre, last_size) = groups[-2:]
            joint_size = size + last_size
            if last_centre - centre >= room * joint_size / 2:
                break
            groups[-2:] = [((centre * size + last_centre * last_size) / joint_size, joint_size)]
    moved = []
    for centre, size in groups:
        lowest = centre - room * (size - 1) / 2
        moved += [lowest + room * step for step in range(size)]
    return [place for _, place in sorted(zip(order, moved, strict=True))]


def dodge(index: int, curves: int, counts: Iterable[int]) -> float:
    """Return the factor on the counts of a curve that separates its interval bars from those of other curves.

    Neighbouring curves are at most 0.08 of a doubling apart. All curves together take at most 0.28 of the
    narrowest gap between counts.

    Parameters
    ----------
    index, curves : int
        Position of the curve from 0, and number of curves.
    """
    different_counts = sorted({int(count) for count in counts})
    doublings = [math.log2(larger / smaller) for smaller, larger in pairwise(different_counts)]
    narrowest_gap = min([*doublings, 1.0])
    step = min(0.08, 0.28 * narrowest_gap / max(curves - 1, 1))
    return 2 ** (step * (index - (curves - 1) / 2))


def ideal_of(
    rows: pd.DataFrame, quantity: Quantity, counts: str = "processes"
) -> list[tuple[list[float], list[float]]]:
    """Return, for each reference, the counts and the values of a quantity at an efficiency of 1.

    Parameters
    ----------
    rows : DataFrame
        Rows of the table ``scaling``.
    counts : str
        Column of the horizontal axis.
    """
    lines = []
    for _, group in rows.groupby("reference_seconds"):
        points = group.drop_duplicates(counts).sort_values(counts)
        ideal = {  # from the values of any point and its efficiency
            "speedup": points["speedup"] / points["efficiency"],
            "efficiency": points["efficiency"].where(points["efficiency"].isna(), PERCENT),
            "seconds": points["seconds"] * points["efficiency"],
        }
        lines.append((points[counts].astype(float).to_list(), ideal[quantity.column].to_list()))
    return lines


def finish_axis(axes: Axes, rows: pd.DataFrame, quantity: Quantity, inches: float) -> None:
    """Set scales, limits and ticks of a panel from all `rows` that share its axes.

    `inches` is the approximate width of the axes.
    """
    counts = counts_of(rows)
    count_axis(axes, rows[counts], inches)
    columns = [quantity.column, f"{quantity.column}_low", f"{quantity.column}_high"]
    values = (rows[columns].to_numpy(float) * quantity.factor).ravel()
    if quantity is EFFICIENCY:
        finite = [value for value in values if math.isfinite(value)]
        lowest, highest = min(finite), max([PERCENT, *finite])
        bottom = 0 if lowest < 40 else 10 * math.floor((lowest - 3) / 10)
        axes.set_ylim(bottom, highest + 0.04 * (highest - min(lowest, 60)))
        return
    ideals = np.array(
        [value for _, line in ideal_of(rows[~rows["serial"]], quantity, counts) for value in line]
    )
    near = (ideals < NEAR * np.nanmax(values)) & (ideals > np.nanmin(values) / NEAR)
    if quantity.column == SPEEDUP.column:  # show the ideal line, even if no speedup exceeds 1
        near |= ideals == np.min(ideals, where=ideals > 1, initial=np.inf)
    log_axis(axes, [*values, *ideals[near]], base=2 if quantity.column == SPEEDUP.column else 10)
