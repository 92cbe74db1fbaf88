"""Curves of a case: points in order of processes, with the reference that speedup refers to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.curves.points import CasePoints, Sample, block_logs, cases, roundings
from analysis.runs.frames import CURVE
from analysis.runs.runs import ENDS_OF_COMPUTING, TableError
from analysis.runs.settings import Settings
from analysis.statistics import Floats, Integers, metrics
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
"""Kinds whose serial run serves a kind; any other kind is served only by its own."""


@dataclass(frozen=True, eq=False)
class Reference:
    """The run that speedup refers to, one a case and kind.

    Attributes
    ----------
    interconnect : str
        Empty for the serial run.
    draws : array (scenarios, B)
    """

    interconnect: str
    processes: int
    cores: int
    nodes: int
    seconds: float
    draws: Floats


@dataclass(frozen=True, eq=False)
class Curve:
    """Case × interconnect × kind × oversubscription × threads (× processes a node, where placement varies).

    Attributes
    ----------
    processes_per_node : float or None
        None where each process count of the case has one placement only.
    table : dict of arrays (counts,)
        ``processes, cores, nodes, n, seconds, seconds_low, seconds_high, coverage``, `ENDS_OF_COMPUTING`;
        nodes 0 is unknown.
    speedup, speedup_low, speedup_high : arrays (counts,)
        With the ends of its interval. Weak scaling: the scaled speedup.
    draws, speedup_draws : arrays (counts, scenarios, B)
        Of the median time and of the speedup.
    own : array (counts,) of bool
        False for the serial run, which all curves of its case with one thread a process share.
    joins_nodes : bool
        Whether the interconnect connects nodes, so that messages inside a node do not use it.
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
    own: NDArray[np.bool_]
    joins_nodes: bool

    @property
    def processes(self) -> NDArray[np.int64]:
        """Process counts, increasing."""
        return self.table["processes"]

    @cached_property
    def peak(self) -> int:
        """Position of the highest speedup; of equals, the first."""
        return int(np.argmax(self.speedup))

    @cached_property
    def uses(self) -> NDArray[np.bool_]:
        """Whether messages may use the interconnect, array (counts,); not if its processes share one node."""
        return (self.table["nodes"] != 1) | ~self.own | (not self.joins_nodes)

    @property
    def uses_somewhere(self) -> bool:
        """Whether messages of any count may use the interconnect."""
        return bool(self.uses[self.own].any())

    def uses_at(self, processes: Floats) -> NDArray[np.bool_]:
        """Whether messages may use the interconnect at the counts nearest above some numbers of processes."""
        return self.uses[np.searchsorted(self.processes, processes).clip(max=len(self.processes) - 1)]

    @cached_property
    def sweeps(self) -> tuple[Integers, Floats]:
        """Blocks (blocks,), increasing, and log times (counts, blocks): see `block_logs`."""
        return block_logs(self.samples)

    def at(self, positions: Sequence[int]) -> Curve:
        """The curve at some of its counts alone."""
        arrays = ("speedup", "speedup_low", "speedup_high", "draws", "speedup_draws", "own")
        return replace(
            self,
            table={name: column[positions] for name, column in self.table.items()},
            samples=[self.samples[position] for position in positions],
            **{name: getattr(self, name)[positions] for name in arrays},
        )

    def without_draws(self) -> Curve:
        """The curve without its draws, so that nothing that follows from it has an interval."""
        nothing = {name: np.full_like(getattr(self, name), np.nan) for name in ("draws", "speedup_draws")}
        return replace(self, **nothing)

    @property
    def names(self) -> dict[str, object]:
        """Values of the columns `CURVE`, which name it."""
        return {name: getattr(self, name) for name in CURVE}


def fewest_blocks(curve: Curve) -> int:
    """Blocks of the point with the fewest; the serial run, which all curves share, may have one alone."""
    return int(curve.table["n"][curve.own].min())


def may_peak(curve: Curve) -> NDArray[np.bool_]:
    """Find the counts of a curve that may be its peak, array (counts,).

    By multiple comparisons with the best (`analysis.statistics.best`); the highest point always belongs. Of a
    simulated curve, the counts that are highest somewhere in the band. None of a curve of too few blocks, or
    without a band.
    """
    offsets = np.log(curve.speedup * curve.table["seconds"])  # weak scaling's work
    if curve.kind == "simulated":
        return within_bands(*(np.log(curve.table[f"seconds_{end}"]) - offsets for end in ("low", "high")))
    if fewest_blocks(curve) < FEWEST:
        return np.zeros(len(curve.processes), bool)
    found = pairwise_differences(curve.sweeps[1], roundings(curve.samples))
    return may_be_best(with_offsets(found, offsets), curve.peak, ALPHA)


def ranking(runs: pd.DataFrame) -> dict[str, list[str]]:
    """Interconnects of each kind, those with the most points first, of equals the first by name."""
    point = ["kind", "interconnect", "case", "processes", "oversubscription", "threads"]
    points = runs.loc[runs["valid"] & runs["interconnect"].notna(), point].drop_duplicates()
    counts = points.groupby(["kind", "interconnect"]).size().reset_index(name="points")
    counts = counts.sort_values(["kind", "points", "interconnect"], ascending=[True, False, True])
    return counts.groupby("kind")["interconnect"].agg(list).to_dict()


def all_curves(
    runs: pd.DataFrame, ranked: dict[str, list[str]], settings: Settings, quantity: str = "seconds"
) -> Iterator[list[Curve]]:
    """All curves of each case in turn, for cases that have any: see `make_curves`.

    Parameters
    ----------
    quantity : str
        Column of which the curves are, in the place of ``seconds``: see `analysis.curves.points.cases`.
    """
    for points in cases(runs, settings, quantity) if ranked else ():
        if curves := make_curves(points, ranked, settings):
            yield curves


def make_curves(points: CasePoints, ranked: dict[str, list[str]], settings: Settings) -> list[Curve]:
    """All curves of a case.

    The serial run is the first point of every curve that it serves, of one thread a process, and that has no
    point of one process itself.

    Parameters
    ----------
    ranked : dict
        As `ranking` gives it.

    Raises
    ------
    TableError
        If a case and kind has two serial points, or placement varies and some nodes are not known.
    """
    table = points.table
    per_node = _processes_per_node(points)
    of_curve = (table[name] for name in ("kind", "interconnect", "oversubscription"))
    keys = zip(*of_curve, per_node, table["threads"], strict=True)
    rows: dict[tuple, list[int]] = {}
    for number, key in enumerate(keys):  # points are in order of processes
        if key[1]:
            rows.setdefault(key, []).append(number)
    kinds = dict.fromkeys(key[0] for key in rows)
    references = {kind: _reference(points, kind, ranked, settings) for kind in kinds}
    return [_curve(points, key, rows[key], *references[key[0]], settings) for key in sorted(rows)]


def _processes_per_node(points: CasePoints) -> list[float | None]:
    """Processes a node of each point, None throughout where no point has two placements."""
    table = points.table
    names = ("kind", "interconnect", "oversubscription", "processes", "threads")
    keys = list(zip(*(table[name] for name in names), strict=True))
    if len(set(keys)) == len(keys):
        return [None] * len(keys)
    if ((table["nodes"] == 0) & (table["interconnect"] != "")).any():
        raise TableError("is empty, where placement varies", f"case '{points.case}'", column="nodes")
    return [p / nodes if nodes else None for p, nodes in zip(table["processes"], table["nodes"], strict=True)]


def _serial(points: CasePoints, kind: str) -> int | None:
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
    points: CasePoints, kind: str, ranked: dict[str, list[str]], settings: Settings
) -> tuple[Reference, int | None]:
    """The reference of a kind, and its serial point, if any."""
    serial = _serial(points, kind)
    number, table = serial, points.table
    if number is None:
        names = set(table["interconnect"][table["kind"] == kind])
        present = [name for name in ranked[kind] if name in names]
        wanted = settings.reference_interconnect
        name = wanted if wanted in names else settings.baselines_among(present)[0]
        order = ("threads", "processes", "oversubscription", "nodes")
        rows = np.flatnonzero((table["interconnect"] == name) & (table["kind"] == kind))
        number = min(rows, key=lambda row: [table[column][row] for column in order])
    about = {name: table[name][number] for name in ("interconnect", "processes", "cores", "nodes", "seconds")}
    return Reference(**about, draws=points.draws[number]), serial


def _curve(
    points: CasePoints,
    key: tuple[str, str, int, float | None, int],
    members: list[int],
    reference: Reference,
    serial: int | None,
    settings: Settings,
) -> Curve:
    """Make the curve of some points, with the serial run first if it serves the curve."""
    kind, interconnect, oversubscription, per_node, threads = key
    shared = serial is not None and points.table["processes"][members[0]] > 1 and threads == 1
    numbers = np.array([serial, *members] if shared else members)
    names = ("processes", "cores", "nodes", "n", "seconds", "seconds_low", "seconds_high", "coverage")
    table = {name: points.table[name][numbers] for name in (*names, *ENDS_OF_COMPUTING)}
    draws = np.stack([points.draws[number] for number in numbers])
    cores = table["cores"]
    if settings.scaling == "weak":
        speedup = metrics.scaled_speedup(table["seconds"], reference.seconds, cores, reference.cores)
        drawn_cores = cores[:, None, None]
        speedup_draws = metrics.scaled_speedup(draws, reference.draws, drawn_cores, reference.cores)
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
        int(threads),
        table,
        [points.samples[number] for number in numbers],
        reference,
        speedup,
        low,
        high,
        draws,
        speedup_draws,
        own=numbers != (-1 if serial is None else serial),
        joins_nodes=interconnect not in settings.inside_nodes,
    )
