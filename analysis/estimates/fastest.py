"""How much longer than the fastest each interconnect takes at each count, and which may be the fastest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analysis.estimates.best import ALPHA, FEWEST, behind_all, may_be_best, within_bands
from analysis.estimates.compared import Samples, compare_points, percent_columns, same_machine, share_blocks
from analysis.estimates.curves import Curve
from analysis.estimates.points import Sample
from analysis.runs.kinds import comparable_sets
from analysis.runs.settings import Settings
from analysis.tables.contract import COUNT, MARK, OF_A_POINT, POSITIVE, SHARE, TEXT, in_percent, table_schemas

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


@dataclass(frozen=True, eq=False)
class _Field:
    """Points that compete, the one of the shortest time first; of equals, the first by name."""

    kinds: str
    points: list[tuple[Curve, int]]

    def column(self, name: str) -> NDArray:
        """A column of the table of points, array (points,)."""
        return np.array([curve.table[name][position] for curve, position in self.points])

    @cached_property
    def samples(self) -> list[Sample]:
        """Block times of each point."""
        return [curve.samples[position] for curve, position in self.points]

    @property
    def simulated(self) -> bool:
        """Whether some of the points are."""
        return any(curve.kind == "simulated" for curve, _ in self.points)

    @property
    def testable(self) -> bool:
        """Whether all points have blocks enough, and no run of them was stopped."""
        return not self.simulated and all(
            len(sample.blocks) >= FEWEST and not sample.stopped for sample in self.samples
        )

    def ends(self) -> tuple[NDArray, NDArray]:
        """Log times at the ends of the band; of a measured time without an interval, the time itself."""
        seconds = self.column("seconds")
        measured = np.array([curve.kind != "simulated" for curve, _ in self.points])
        low, high = (self.column(f"seconds_{end}") for end in ("low", "high"))
        return tuple(np.log(np.where(measured & np.isnan(end), seconds, end)) for end in (low, high))

    def against_first(self) -> list[Samples]:
        """Each other point beside the first."""
        (first, _), *others = self.points
        pairs = zip(others, self.samples[1:], strict=True)
        return [
            (
                sample,
                self.samples[0],
                same_machine(curve.kind, first.kind) and share_blocks(sample, self.samples[0]),
            )
            for (curve, _), sample in pairs
        ]


def fastest_rows(of_cases: Sequence[Sequence[Curve]], settings: Settings) -> Iterator[dict[str, object]]:
    """Rows of the table ``fastest`` from all curves of each of some cases: one a point that competes.

    Which may be the fastest is told by multiple comparisons with the best (`analysis.estimates.best`). How
    much longer each other one takes is the location of their joint log ratios; since the fastest was chosen
    from the data among as many as may be it, the interval is that of 1 - alpha over their number. Simulated
    times have bands instead.
    """
    fields = [field for curves in of_cases for field in _fields(curves, settings)]
    members = _members(fields)
    compared = [field.against_first() for field in fields]
    shares = [
        (1 - settings.level) / (member.sum() or len(member) - 1)
        for member, pairs in zip(members, compared, strict=True)
        for _ in pairs
    ]
    found = iter(compare_points([pair for pairs in compared for pair in pairs], shares))
    for field, member in zip(fields, members, strict=True):
        low, high = field.ends() if field.simulated else (np.array([]),) * 2
        middle = np.log(field.column("seconds"))
        for place, (curve, position) in enumerate(field.points):
            longer: dict[str, float] = {}
            if place:
                shift = next(found).shift
                if np.isnan(shift.estimate) or field.simulated:
                    shift = shift._replace(estimate=middle[place] - middle[0])
                if field.simulated:
                    ends = low[place] - high[0], high[place] - low[0]
                    shift = shift._replace(low=ends[0], high=ends[1], coverage=np.nan)
                longer = percent_columns("longer", shift) | {"coverage": shift.coverage}
            yield {
                **curve.names,
                "processes": curve.processes[position],
                "nodes": curve.table["nodes"][position] or np.nan,
                "compared_kinds": field.kinds,
                "seconds": curve.table["seconds"][position],
                "place": place + 1,
                "may_be_fastest": bool(member[place]) if member.any() else None,
                **longer,
            }


def _fields(curves: Sequence[Curve], settings: Settings) -> Iterator[_Field]:
    for kinds in comparable_sets({curve.kind for curve in curves}, settings.compare_kinds):
        points: dict[tuple, list[tuple[Curve, int]]] = {}
        for curve in (curve for curve in curves if curve.kind in kinds):
            for position in np.flatnonzero(curve.own):
                level, per_node = curve.oversubscription, curve.processes_per_node or 0
                placed = level, per_node, curve.threads, curve.processes[position]
                points.setdefault(placed, []).append((curve, int(position)))
        for _, several in sorted(points.items()):
            if len(several) > 1:
                several.sort(key=lambda one: (one[0].table["seconds"][one[1]], one[0].interconnect))
                yield _Field("/".join(kinds), several)


def _members(fields: Sequence[_Field]) -> list[NDArray[np.bool_]]:
    """Which points of each field may be the fastest; none where that is not known."""
    members = [np.zeros(len(field.points), bool) for field in fields]
    known = {number: field.samples for number, field in enumerate(fields) if field.testable}
    for numbers, found in behind_all(known):
        told = may_be_best(found, np.zeros(len(numbers), int), ALPHA)
        for number, member in zip(numbers, told, strict=True):
            members[number] = member
    for number, field in enumerate(fields):
        if field.simulated:
            members[number] = within_bands(*field.ends())
    return members
