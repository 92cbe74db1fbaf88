"""Curves of a case: points by increasing count, with the reference that speedup refers to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.curves.points import CasePoints, Sample, block_logs, cases, roundings
from analysis.curves.units import Unit, unit_of
from analysis.runs.frames import CURVE
from analysis.runs.runs import ENDS_OF_COMPUTING, TableError
from analysis.runs.settings import NODES, PROCESSES, Settings
from analysis.statistics import Flags, Floats, Integers, metrics
from analysis.statistics.best import (
    ALPHA,
    FEWEST,
    may_be_best,
    pairwise_differences,
    with_offsets,
    within_bands,
)
from analysis.statistics.bootstrap import percentile_interval

SERIAL_KINDS = {"emulated": ("emulated", "measured")}
"""Kinds whose serial run may be the reference of a kind; other kinds use only their own serial run."""


@dataclass(frozen=True, eq=False)
class Reference:
    """Run that speedup refers to, for one case and kind.

    Attributes
    ----------
    interconnect : str
        Empty for the serial run.
    seconds : float
        Median time.
    draws : array (scenarios, B)
        Bootstrap draws of the median time.
    """

    interconnect: str
    processes: int
    cores: int
    nodes: int
    seconds: float
    draws: Floats

    def size(self, unit: str) -> int:
        """Return the resources that efficiency divides by: nodes in unit nodes, else cores."""
        return self.nodes if unit == NODES else self.cores


@dataclass(frozen=True, eq=False)
class Curve:
    """Points of one case, interconnect, kind, oversubscription, number of threads and placement.

    Attributes
    ----------
    processes_per_node : float or None
        None if each process count of the case has only one placement, and for the compared curve of an
        interconnect in unit nodes.
    table : dict of arrays (counts,)
        ``processes, cores, nodes, n, seconds, seconds_low, seconds_high, coverage``, `ENDS_OF_COMPUTING`;
        nodes 0 is unknown.
    samples : list of Sample
        Block times of each point.
    speedup, speedup_low, speedup_high : arrays (counts,)
        Speedup and the ends of its interval; in weak scaling the scaled speedup.
    draws, speedup_draws : arrays (counts, scenarios, B)
        Bootstrap draws of the median time and of the speedup.
    is_serial : array (counts,) of bool
        True for the serial run, which is the first point of several curves.
    joins_nodes : bool
        Whether the interconnect connects nodes, so that messages inside a node do not use it.
    unit : str
        Unit of the counts: ``processes`` or ``nodes``.
    is_compared : bool
        Whether the curve may be compared with others: by nodes, one layout of each interconnect is.
    """

    case: str
    interconnect: str
    kind: str
    oversubscription: int
    processes_per_node: float | None
    threads: int
    table: dict[str, NDArray]
    samples: list[Sample]
    reference: Reference
    speedup: Floats
    speedup_low: Floats
    speedup_high: Floats
    draws: Floats
    speedup_draws: Floats
    is_serial: Flags
    joins_nodes: bool
    unit: str = PROCESSES
    is_compared: bool = True

    @property
    def processes(self) -> Integers:
        """Process counts, increasing."""
        return self.table["processes"]

    @property
    def counts(self) -> Integers:
        """Counts in the unit of the curve, increasing."""
        return self.table[self.unit]

    @property
    def size(self) -> Integers:
        """Resources that efficiency divides by: nodes in unit nodes, else cores."""
        return self.table["nodes" if self.unit == NODES else "cores"]

    def processes_at(self, counts: Floats) -> Floats:
        """Return the processes of counts; by nodes a curve has a constant number of processes per node."""
        return counts * (self.processes[0] / self.counts[0]) if self.unit == NODES else counts

    @cached_property
    def peak(self) -> int:
        """Position of the highest speedup; the first of equal ones."""
        return int(np.argmax(self.speedup))

    @cached_property
    def uses(self) -> Flags:
        """Whether messages may use the interconnect, array (counts,); False for processes on one node."""
        return (self.table["nodes"] != 1) | self.is_serial | (not self.joins_nodes)

    @property
    def uses_somewhere(self) -> bool:
        """Whether messages of any count may use the interconnect."""
        return bool(self.uses[~self.is_serial].any())

    def uses_at(self, counts: Floats) -> Flags:
        """Return whether messages may use the interconnect at the nearest counts at or above `counts`."""
        return self.uses[np.searchsorted(self.counts, counts).clip(max=len(self.counts) - 1)]

    @cached_property
    def sweeps(self) -> tuple[Integers, Floats]:
        """Blocks (blocks,), increasing, and log times (counts, blocks): see `block_logs`."""
        return block_logs(self.samples)

    def at(self, positions: Sequence[int]) -> Curve:
        """Restrict the curve to some of its counts."""
        arrays = ("speedup", "speedup_low", "speedup_high", "draws", "speedup_draws", "is_serial")
        return replace(
            self,
            table={name: column[positions] for name, column in self.table.items()},
            samples=[self.samples[position] for position in positions],
            **{name: getattr(self, name)[positions] for name in arrays},
        )

    def without_draws(self) -> Curve:
        """Remove the draws, so that quantities derived from the curve have no interval."""
        missing = {name: np.full_like(getattr(self, name), np.nan) for name in ("draws", "speedup_draws")}
        return replace(self, **missing)

    @property
    def names(self) -> dict[str, object]:
        """Values of the columns `CURVE`, which identify the curve.

        Compared curves of unit nodes may differ in their threads, so they leave this column empty.
        """
        names = {name: getattr(self, name) for name in CURVE}
        return names | {"threads": None} if self.unit == NODES and self.is_compared else names


def fewest_blocks(curve: Curve) -> int:
    """Return the smallest number of blocks of the points that the peak rests on.

    The serial run may have fewer, unless the peak rests on the serial run and a single other point.
    """
    parallel = ~curve.is_serial
    return int(curve.table["n"][parallel if parallel.sum() > 1 else slice(None)].min())


def may_peak(curve: Curve) -> Flags:
    """Return which counts of a curve may be its peak, array (counts,).

    The method is multiple comparisons with the best (`analysis.statistics.best`), and the highest point
    always belongs. For a simulated curve, these are the counts that are highest somewhere in the band. No
    count is returned for a curve of too few blocks or without a band.
    """
    offsets = np.log(curve.speedup * curve.table["seconds"])  # work, in weak scaling
    if curve.kind == "simulated":
        return within_bands(*(np.log(curve.table[f"seconds_{end}"]) - offsets for end in ("low", "high")))
    if fewest_blocks(curve) < FEWEST:
        return np.zeros(len(curve.processes), bool)
    differences = pairwise_differences(curve.sweeps[1], roundings(curve.samples))
    return may_be_best(with_offsets(differences, offsets), curve.peak, ALPHA)


def ranking(runs: pd.DataFrame) -> dict[str, list[str]]:
    """Return the interconnects of each kind by decreasing number of points, then by name."""
    point = ["kind", "interconnect", "case", "processes", "oversubscription", "threads"]
    points = runs.loc[runs["valid"] & runs["interconnect"].notna(), point].drop_duplicates()
    counts = points.groupby(["kind", "interconnect"]).size().reset_index(name="points")
    counts = counts.sort_values(["kind", "points", "interconnect"], ascending=[True, False, True])
    return {str(kind): list(names) for kind, names in counts.groupby("kind")["interconnect"]}


def all_curves(
    runs: pd.DataFrame, ranked: dict[str, list[str]], settings: Settings, quantity: str = "seconds"
) -> Iterator[list[Curve]]:
    """Yield the curves of each case that has any: see `make_curves`.

    Parameters
    ----------
    quantity : str
        Column that replaces ``seconds``: see `analysis.curves.points.cases`.
    """
    for points in cases(runs, settings, quantity) if ranked else ():
        if curves := make_curves(points, ranked, settings):
            yield curves


def make_curves(points: CasePoints, ranked: dict[str, list[str]], settings: Settings) -> list[Curve]:
    """Make all curves of a case.

    The serial run is the first point of each curve with one thread per process, unless the curve has its own
    point of one process.

    Parameters
    ----------
    ranked : dict
        As `ranking` returns it.

    Raises
    ------
    TableError
        If a case and kind has two serial points, or placement varies and some nodes are unknown.
    """
    table = points.table
    unit = unit_of(points, ranked, settings)
    rows: dict[tuple, list[int]] = {}
    for number, layout in enumerate(_layouts(points, unit)):  # points are in order of processes
        if table["interconnect"][number]:
            names = (table[name][number] for name in ("kind", "interconnect", "oversubscription"))
            rows.setdefault((*names, *layout), []).append(number)
    kinds = dict.fromkeys(key[0] for key in rows)
    references = {kind: _reference(points, kind, unit, ranked, settings) for kind in kinds}
    ordered = sorted(rows, key=lambda key: (*key[:3], key[3] or 0, key[4] or 0))
    return [_curve(points, key, rows[key], *references[key[0]], unit.name, settings) for key in ordered]


def _layouts(points: CasePoints, unit: Unit) -> list[tuple[float | None, int | None]]:
    """Return processes per node and threads of each point, as far as they identify its curve."""
    if unit.name == NODES:
        names = enumerate(points.table["interconnect"])
        layouts = [unit.layout_of(points.table, row) if name else None for row, name in names]
        return [(layout.processes_per_node, layout.threads) if layout else (None, None) for layout in layouts]
    return list(zip(_processes_per_node(points), points.table["threads"].tolist(), strict=True))


def _processes_per_node(points: CasePoints) -> list[float | None]:
    """Return the processes per node of each point; all None if no point has two placements."""
    table = points.table
    names = ("kind", "interconnect", "oversubscription", "processes", "threads")
    keys = list(zip(*(table[name] for name in names), strict=True))
    if len(set(keys)) == len(keys):
        return [None] * len(keys)
    if ((table["nodes"] == 0) & (table["interconnect"] != "")).any():
        raise TableError("is empty, where placement varies", f"case '{points.case}'", column="nodes")
    return [p / nodes if nodes else None for p, nodes in zip(table["processes"], table["nodes"], strict=True)]


def _serial(points: CasePoints, kind: str) -> int | None:
    """Return the position of the serial point of a kind; None if there is none."""
    table = points.table
    for serial_kind in SERIAL_KINDS.get(kind, (kind,)):
        rows = np.flatnonzero((table["interconnect"] == "") & (table["kind"] == serial_kind))
        if len(rows) > 1:
            where = f"case '{points.case}', kind {serial_kind}"
            raise TableError(f"two references, {len(rows)} serial points", where)
        if len(rows) == 1:
            return int(rows[0])
    return None


def _reference(
    points: CasePoints, kind: str, unit: Unit, ranked: dict[str, list[str]], settings: Settings
) -> tuple[Reference, int | None]:
    """Return the reference of a kind, and the position of its serial point, if any.

    In unit nodes there is no serial point, and the reference has the layout of its interconnect.
    """
    serial = _serial(points, kind) if unit.name == PROCESSES else None
    number, table = serial, points.table
    if number is None:
        names = set(table["interconnect"][table["kind"] == kind])
        present = [name for name in ranked[kind] if name in names]
        stated = settings.reference_interconnect
        name = stated if stated in names else settings.baselines_among(present)[0]
        order = ("threads", "processes", "oversubscription", "nodes")
        rows = np.flatnonzero((table["interconnect"] == name) & (table["kind"] == kind)).tolist()
        if unit.name == NODES:
            rows = [row for row in rows if unit.layout_of(table, row) is None]
        number = min(rows, key=lambda row: [table[column][row] for column in order])
    reference = Reference(
        interconnect=table["interconnect"][number],
        processes=table["processes"][number],
        cores=table["cores"][number],
        nodes=table["nodes"][number],
        seconds=table["seconds"][number],
        draws=points.draws[number],
    )
    return reference, serial


def _curve(
    points: CasePoints,
    key: tuple[str, str, int, float | None, int | None],
    members: list[int],
    reference: Reference,
    serial: int | None,
    unit: str,
    settings: Settings,
) -> Curve:
    """Make the curve of some points, with the serial run first if it serves the curve."""
    kind, interconnect, oversubscription, per_node, threads = key
    shared = serial is not None and points.table["processes"][members[0]] > 1 and threads == 1
    numbers = np.array([serial, *members] if shared else members)
    names = ("processes", "cores", "nodes", "n", "seconds", "seconds_low", "seconds_high", "coverage")
    table = {name: points.table[name][numbers] for name in (*names, *ENDS_OF_COMPUTING)}
    draws = np.stack([points.draws[number] for number in numbers])
    if settings.scaling == "weak":
        size = table["nodes" if unit == NODES else "cores"]
        speedup = metrics.scaled_speedup(table["seconds"], reference.seconds, size, reference.size(unit))
        drawn_size = size[:, None, None]
        speedup_draws = metrics.scaled_speedup(draws, reference.draws, drawn_size, reference.size(unit))
    else:
        speedup = metrics.speedup(table["seconds"], reference.seconds)
        speedup_draws = metrics.speedup(draws, reference.draws)
    low, high = percentile_interval(speedup_draws, settings.level)
    return Curve(
        points.case,
        interconnect,
        kind,
        int(oversubscription),
        per_node,
        int(points.table["threads"][members[0]]),
        table,
        [points.samples[number] for number in numbers],
        reference,
        speedup,
        low,
        high,
        draws,
        speedup_draws,
        is_serial=numbers == (-1 if serial is None else serial),
        joins_nodes=interconnect not in settings.inside_nodes,
        unit=unit,
        is_compared=unit == PROCESSES or threads is None,
    )
