"""How much longer than the fastest each interconnect takes at each count, and which may be the fastest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.curves.compared import (
    compare_points,
    one_of_several,
    percent_columns,
    same_machine,
    share_blocks,
    took_turns,
)
from analysis.curves.curves import Curve
from analysis.curves.points import Sample, block_logs, roundings
from analysis.runs.columns import COUNT, MARK, OF_A_POINT, POSITIVE, SHARE, TEXT, in_percent, table_schemas
from analysis.runs.frames import Piece
from analysis.runs.kinds import comparable_sets
from analysis.runs.settings import Settings
from analysis.statistics import Floats
from analysis.statistics.best import ALPHA, FEWEST, may_be_best, pairwise_differences, within_bands
from analysis.statistics.shift import EQUAL

FASTEST = table_schemas(
    fastest=dict(
        **OF_A_POINT,
        processes_per_node=POSITIVE,
        compared_kinds=TEXT,
        seconds=POSITIVE,
        place=COUNT,
        **in_percent("longer"),
        coverage=SHARE,
        may_be_fastest=MARK,
    )
)
"""Schema of the table of this module by its name."""


TURNS = 4
"""How often another may come to be the fastest; where three are each faster than the next, none is."""


class _Point(NamedTuple):
    """A point that competes: a curve at one of its counts."""

    curve: Curve
    at: int

    @property
    def sample(self) -> Sample:
        """Block times."""
        return self.curve.samples[self.at]

    def log(self, end: str = "") -> float:
        """Log time, or an end of its band; of a measured time without an interval, the time itself."""
        seconds = self.curve.table[f"seconds{end}"][self.at]
        if np.isnan(seconds) and self.curve.kind != "simulated":
            seconds = self.curve.table["seconds"][self.at]
        return float(np.log(seconds))


def fastest_rows(curves: Sequence[Curve], settings: Settings) -> Iterator[Piece]:
    """Make the rows of the table ``fastest`` from all curves of a case: a row for each point that competes.

    The fastest is the one that no other is ahead of by their joint log ratios; as a rule, but not always, it
    has the shortest median time. Which may be it is told by multiple comparisons with the best
    (`analysis.statistics.best`). How much longer each other one takes is the location of their joint log
    ratios; since the fastest was chosen from the data among as many as may be it, the interval is that of
    1 - alpha over their number. Simulated times have bands instead.
    """
    for kinds in comparable_sets({curve.kind for curve in curves}, settings.compare_kinds):
        fields: dict[tuple, list[_Point]] = {}
        for curve in (curve for curve in curves if curve.kind in kinds):
            placed = curve.oversubscription, curve.processes_per_node or 0, curve.threads
            for at in np.flatnonzero(curve.own & curve.uses):
                fields.setdefault((*placed, curve.processes[at]), []).append(_Point(curve, at))
        for _, points in sorted(fields.items(), key=itemgetter(0)):
            if len(points) > 1:
                yield from _rows(points, "/".join(kinds), settings)


def _rows(points: Sequence[_Point], kinds: str, settings: Settings) -> Iterator[Piece]:
    """Make the rows of the points of a count, the fastest first."""
    points = sorted(points, key=lambda point: (point.log(), point.curve.interconnect))
    for turn in range(TURNS):
        members, longer, coverage = _compared(points, settings)
        first = -np.inf if turn == TURNS - 1 else 0.0
        order = np.argsort([first, *np.where(np.abs(longer[0, 1:]) < EQUAL, 0, longer[0, 1:])], kind="stable")
        if order[0] == 0:
            break
        points = [points[number] for number in order]
    for place, number in enumerate(order.tolist(), 1):
        curve, at = points[number]
        yield {
            **curve.names,
            "processes": curve.processes[at],
            "nodes": curve.table["nodes"][at] or np.nan,
            "compared_kinds": kinds,
            "seconds": curve.table["seconds"][at],
            "place": place,
            **percent_columns("longer", longer[:, number]),
            "coverage": coverage[number],
            "may_be_fastest": members[number] if members.any() else None,
        }


def _compared(points: Sequence[_Point], settings: Settings) -> tuple[NDArray[np.bool_], Floats, Floats]:
    """Compare points with the first of them.

    Returns
    -------
    members : array (points,)
        Which may be the fastest; none where that is not known.
    longer : array (3, points)
        By how much (log) each takes longer, with the ends of the interval; NaN for the first.
    coverage : array (points,)
    """
    samples, first = [point.sample for point in points], points[0]
    coverage = np.full(len(points), np.nan)
    middle, low, high = (np.array([point.log(end) for point in points]) for end in ("", "_low", "_high"))
    longer = np.stack([middle - middle[0], low - high[0], high - low[0]])
    longer[:, 0] = np.nan
    if any(point.curve.kind == "simulated" for point in points):
        return within_bands(low, high), longer, coverage
    alike = [same_machine(point.curve.kind, first.curve.kind) for point in points[1:]]
    pairs = [
        (sample, first.sample, together and share_blocks(sample, first.sample))
        for sample, together in zip(samples[1:], alike, strict=True)
    ]
    separable = [
        not together or took_turns(*pair) is not False for pair, together in zip(pairs, alike, strict=True)
    ]
    members = np.zeros(len(points), bool)
    if all(separable) and all(len(sample.blocks) >= FEWEST and not sample.stopped for sample in samples):
        members = may_be_best(pairwise_differences(block_logs(samples)[1], roundings(samples)), 0, ALPHA)
    chosen_from = int(members.sum()) or len(points) - 1
    comparisons = compare_points(pairs, [(1 - settings.level) / chosen_from] * len(pairs))
    for number, (compared, apart) in enumerate(zip(comparisons, separable, strict=True), 1):
        shift = compared.shift
        if not np.isnan(shift.estimate):
            longer[0, number] = shift.estimate
        if apart:
            longer[1:, number] = shift.low, shift.high
            coverage[number] = one_of_several(shift.coverage, chosen_from)
        else:
            longer[1:, number] = np.nan
    return members, longer, coverage
