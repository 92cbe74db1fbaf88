"""How much longer than the fastest each interconnect takes at each count, and which may be the fastest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analysis.estimates.best import (
    ALPHA,
    FEWEST,
    behind_all,
    block_logs,
    may_be_best,
    roundings,
    within_bands,
)
from analysis.estimates.compared import (
    Samples,
    compare_points,
    one_of_several,
    percent_columns,
    same_machine,
    share_blocks,
    took_turns,
)
from analysis.estimates.curves import Curve, names_of
from analysis.estimates.points import Sample
from analysis.estimates.shift import EQUAL
from analysis.runs.groups import Floats, Integers, runs_of
from analysis.runs.kinds import comparable_sets
from analysis.runs.settings import Settings
from analysis.tables.contract import COUNT, MARK, OF_A_POINT, POSITIVE, SHARE, TEXT, in_percent, table_schemas
from analysis.tables.frames import Piece

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


@dataclass(frozen=True, eq=False)
class _Fields:
    """Points that compete, field by field: the fastest first; of equals, the first by name.

    Attributes
    ----------
    columns : dict of arrays (points,)
        Of the table ``fastest``, and the ends of the times' intervals.
    samples : list of Sample
        Block times of each point.
    first, size : arrays (fields,)
        Where the points of each field begin, and their number.
    """

    columns: dict[str, NDArray]
    samples: list[Sample]
    first: Integers
    size: Integers

    @property
    def number(self) -> Integers:
        """Number of the field of each point."""
        return np.repeat(np.arange(len(self.size)), self.size)

    @cached_property
    def leader(self) -> Integers:
        """Position of the first point of the field of each point."""
        return np.repeat(self.first, self.size)

    def pair(self, point: int) -> Samples:
        """Samples of a point and of the first of its field, paired where both may be and are."""
        first, kinds = int(self.leader[point]), self.columns["kind"]
        mine, best = self.samples[point], self.samples[first]
        return mine, best, same_machine(kinds[point], kinds[first]) and share_blocks(mine, best)

    @cached_property
    def separable(self) -> NDArray[np.bool_]:
        """Whether time and interconnect can be separated between each point and the first of its field."""
        kinds, points = self.columns["kind"], range(len(self.samples))
        if not any(sample.order_from for sample in self.samples):
            return np.ones(len(points), bool)
        alike = [same_machine(kinds[point], kinds[self.leader[point]]) for point in points]
        return np.array([not alike[one] or took_turns(*self.pair(one)) is not False for one in points])

    def of(self, order: Integers) -> _Fields:
        """The points in this order, in which whole fields are left out."""
        size = runs_of(self.number[order])[1]
        columns = {name: column[order] for name, column in self.columns.items()}
        return _Fields(
            columns, [self.samples[point] for point in order.tolist()], np.cumsum(size) - size, size
        )

    def where_all(self, marks: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which fields have a mark at each of their points."""
        return np.logical_and.reduceat(marks, self.first)

    def ends(self) -> Iterator[Floats]:
        """Log times at the ends of the band; of a measured time without an interval, the time itself."""
        seconds, measured = self.columns["seconds"], self.columns["kind"] != "simulated"
        for end in (self.columns["seconds_low"], self.columns["seconds_high"]):
            yield np.log(np.where(measured & np.isnan(end), seconds, end))


def fastest_pieces(of_cases: Sequence[Sequence[Curve]], settings: Settings) -> Iterator[Piece]:
    """Rows of the table ``fastest`` from all curves of each of some cases: one a point that competes.

    The fastest is the one that no other is ahead of by their joint log ratios; as a rule, but not always, it
    has the shortest median time. Which may be it is told by multiple comparisons with the best
    (`analysis.estimates.best`). How much longer each other one takes is the location of their joint log
    ratios; since the fastest was chosen from the data among as many as may be it, the interval is that of
    1 - alpha over their number. Simulated times have bands instead.
    """
    fields = _fields(of_cases, settings)
    for turn in range(TURNS):
        if fields is None:
            return
        piece, longer = _piece(fields, settings)
        if turn == TURNS - 1:
            longer[fields.first] = -np.inf
        number = fields.number
        order = np.lexsort((longer, number))
        led_by_another = order[fields.first] != fields.first
        done = ~led_by_another[number[order]]
        place = np.arange(len(order)) - fields.first[number] + 1
        yield {name: column[order[done]] for name, column in piece.items()} | {"place": place[done]}
        fields = fields.of(order[~done]) if led_by_another.any() else None


def _piece(fields: _Fields, settings: Settings) -> tuple[Piece, Floats]:
    """Columns of all points, and by how much (log) each takes longer than the first of its field."""
    columns, leader = fields.columns, fields.leader
    simulated = ~fields.where_all(columns["kind"] != "simulated")
    low, high = fields.ends()
    members = _members(fields, simulated, low, high)
    several = np.add.reduceat(members, fields.first, dtype=int)
    middle = np.log(columns["seconds"])
    longer = np.stack([middle - middle[leader], low - high[leader], high - low[leader]])
    coverage = np.full(len(leader), np.nan)
    others = np.flatnonzero(~np.repeat(simulated, fields.size) & (np.arange(len(leader)) > leader))
    pairs = [fields.pair(one) for one in others.tolist()]
    if pairs:
        chosen_from = np.repeat(np.where(several > 0, several, fields.size - 1), fields.size)[others]
        found = compare_points(pairs, (1 - settings.level) / chosen_from)
        estimate, *ends, attained = np.array([one.shift[:4] for one in found]).T
        for column in (*ends, attained):
            column[~fields.separable[others]] = np.nan
        coverage[others] = one_of_several(attained, chosen_from)
        longer[0, others] = np.where(np.isnan(estimate), longer[0, others], estimate)
        longer[1:, others] = ends
    behind = np.where(np.abs(longer[0]) < EQUAL, 0, longer[0])
    longer[:, fields.first] = np.nan
    return {
        **{name: column for name, column in columns.items() if name in FASTEST["fastest"].columns},
        "may_be_fastest": np.where(np.repeat(several > 0, fields.size), members, None),
        **percent_columns("longer", longer),
        "coverage": coverage,
    }, behind


def _fields(of_cases: Sequence[Sequence[Curve]], settings: Settings) -> _Fields | None:
    """Points of the same case, level, placement and count, of comparable kinds; None without any.

    Points that do not use their interconnect do not compete.
    """
    sets = [
        ("/".join(kinds), [curve for curve in curves if curve.kind in kinds])
        for curves in of_cases
        for kinds in comparable_sets({curve.kind for curve in curves}, settings.compare_kinds)
    ]
    competing = [
        (number, kinds, curve)
        for number, (kinds, curves) in enumerate(sets)
        for curve in curves
        if curve.uses_somewhere
    ]
    if not competing:
        return None
    number, kinds, curves = zip(*competing, strict=True)
    of_curve = np.repeat(np.arange(len(curves)), [len(curve.own) for curve in curves])
    columns = {**names_of(curves), "compared_kinds": np.array(kinds, object), "set": np.array(number)}
    columns["by_name"] = np.unique(columns["interconnect"].astype(str), return_inverse=True)[1]
    columns = {name: column[of_curve] for name, column in columns.items()}
    for name in ("processes", "nodes", "seconds", "seconds_low", "seconds_high"):
        columns[name] = np.concatenate([curve.table[name] for curve in curves])
    columns["nodes"] = np.where(columns["nodes"] == 0, np.nan, columns["nodes"])
    placed = ("set", "oversubscription", "processes_per_node", "threads", "processes")
    keys = np.nan_to_num(np.array([columns[name] for name in placed], float))  # NaN: no placement
    order = np.lexsort((columns["by_name"], columns["seconds"], *keys[::-1]))
    competes = np.concatenate([curve.own & curve.uses for curve in curves])
    order = order[competes[order]]
    differs = (keys[:, order[1:]] != keys[:, order[:-1]]).any(axis=0)
    size = runs_of(np.concatenate([[0], np.cumsum(differs)]))[1]
    order, size = order[np.repeat(size > 1, size)], size[size > 1]
    if not len(size):
        return None
    samples = [sample for curve in curves for sample in curve.samples]
    return _Fields(
        {name: column[order] for name, column in columns.items()},
        [samples[point] for point in order.tolist()],
        np.cumsum(size) - size,
        size,
    )


def _members(fields: _Fields, simulated: NDArray[np.bool_], low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Which points may be the fastest of their field, array (points,); none where that is not known."""
    testable = fields.where_all(
        [len(sample.blocks) >= FEWEST and not sample.stopped for sample in fields.samples] & fields.separable
    )
    members = np.zeros(len(fields.samples), bool)
    rows = [slice(first, first + size) for first, size in zip(fields.first, fields.size, strict=True)]
    known = np.flatnonzero(testable & ~simulated)
    logs = {
        number: (block_logs(fields.samples[rows[number]])[1], roundings(fields.samples[rows[number]]))
        for number in known
    }
    for numbers, found in behind_all(logs):
        told = may_be_best(found, np.zeros(len(numbers), int), ALPHA)
        members[fields.first[numbers][:, None] + np.arange(told.shape[1])] = told
    for number in np.flatnonzero(simulated):
        members[rows[number]] = within_bands(low[rows[number]], high[rows[number]])
    return members
