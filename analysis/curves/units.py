"""Units of comparison: whether a case is compared by processes or by nodes, and the layouts of its curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from numpy.typing import NDArray

from analysis.curves.points import CasePoints
from analysis.runs.errors import TableError
from analysis.runs.settings import NODES, PROCESSES, Settings

FEWEST_COUNTS = 2
"""Fewest counts that two interconnects share in the unit that compares them."""


class Layout(NamedTuple):
    """Processes per node, and threads per process."""

    processes_per_node: float
    threads: int

    def __str__(self) -> str:
        return f"{self.processes_per_node:g} x {self.threads}"


@dataclass(frozen=True)
class Unit:
    """Unit of comparison of a case.

    Attributes
    ----------
    name : str
        ``processes`` or ``nodes``.
    layouts : mapping of (kind, interconnect) to Layout, or None
        Layout of the compared curve of each interconnect; None by processes.
    """

    name: str = PROCESSES
    layouts: Mapping[tuple[str, str], Layout] | None = None

    def layout_of(self, table: Mapping[str, NDArray], row: int) -> Layout | None:
        """Return the layout of a point by nodes; None by processes and for a point of the compared curve."""
        if self.layouts is None:
            return None
        layout = _layout(table, row)
        compared = self.layouts[table["kind"][row], table["interconnect"][row]]
        return None if layout == compared else layout


def unit_of(points: CasePoints, ranked: Mapping[str, Sequence[str]], settings: Settings) -> Unit:
    """Return the unit that compares the interconnects of a case.

    It is the stated unit (`Settings.compare_by`). By default it is processes if every compared pair of
    interconnects shares at least two process counts. Otherwise it is nodes if every pair shares at least two
    node counts. Interconnects with fewer than two counts in a unit have no say.

    Raises
    ------
    TableError
        If the stated unit is nodes, and the nodes of a point are unknown.
    """
    table = points.table
    rows = [row for row, name in enumerate(table["interconnect"]) if name]
    unknown = [row for row in rows if not table["nodes"][row]]
    if settings.compare_by == NODES and unknown:
        row = unknown[0]
        where = f"case '{points.case}', interconnect '{table['interconnect'][row]}'"
        raise TableError("is empty, but the study states compare_by: nodes", where, column="nodes")
    by_nodes = settings.compare_by == NODES
    if settings.compare_by is None and not unknown and not _share(points, rows, PROCESSES, ranked, settings):
        by_nodes = _share(points, rows, NODES, ranked, settings)
    return Unit(NODES, _layouts(table, rows, settings)) if by_nodes else Unit()


def _share(
    points: CasePoints,
    rows: Sequence[int],
    unit: str,
    ranked: Mapping[str, Sequence[str]],
    settings: Settings,
) -> bool:
    """Return whether every compared pair shares at least two counts in a unit."""
    counts: dict[tuple[str, str], set[int]] = {}
    for row in rows:
        key = points.table["kind"][row], points.table["interconnect"][row]
        counts.setdefault(key, set()).add(int(points.table[unit][row]))
    scaled = {key: members for key, members in counts.items() if len(members) >= FEWEST_COUNTS}
    pairs = list(_compared_pairs(list(scaled), ranked, settings))
    return all(len(scaled[first] & scaled[second]) >= FEWEST_COUNTS for first, second in pairs)


def _compared_pairs(
    curves: Sequence[tuple[str, str]], ranked: Mapping[str, Sequence[str]], settings: Settings
) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Yield pairs of (kind, interconnect) of which one is a baseline."""
    kinds = {kind for kind, _ in curves}
    names = {kind: [name for name in ranked[kind] if (kind, name) in curves] for kind in kinds}
    baselines = {kind: settings.baselines_among(names[kind]) for kind in kinds}
    for first, second in combinations(curves, 2):
        compares_kinds = {(first[0], second[0]), (second[0], first[0])} & set(settings.compare_kinds)
        if (first[0] == second[0] or compares_kinds) and (
            first[1] in baselines[first[0]] or second[1] in baselines[second[0]]
        ):
            yield first, second


def _layouts(
    table: Mapping[str, NDArray], rows: Sequence[int], settings: Settings
) -> dict[tuple[str, str], Layout]:
    """Return the layout of each interconnect's compared curve.

    It is the stated layout if there are such points, else the layout that covers most node counts. Of several
    such layouts it is the one with the most threads on a node, then the one with the most processes.
    """
    nodes: dict[tuple[str, str], dict[Layout, set[int]]] = {}
    for row in rows:
        layouts = nodes.setdefault((table["kind"][row], table["interconnect"][row]), {})
        layouts.setdefault(_layout(table, row), set()).add(int(table["nodes"][row]))
    chosen = {}
    for (kind, name), layouts in nodes.items():
        stated = dict(settings.layouts).get(name)
        matching = [layout for layout in layouts if str(layout) == stated]
        chosen[kind, name] = matching[0] if matching else max(
            layouts,
            key=lambda layout: (
                len(layouts[layout]),
                layout.processes_per_node * layout.threads,
                layout.processes_per_node,
            ),
        )  # fmt: skip
    return chosen


def _layout(table: Mapping[str, NDArray], row: int) -> Layout:
    return Layout(float(table["processes"][row] / table["nodes"][row]), int(table["threads"][row]))
