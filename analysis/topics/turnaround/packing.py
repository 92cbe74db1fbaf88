"""Table ``packing``: jobs per day and time per job, for each way to run equal jobs on all available cores.

A way to run a job is a process count with its oversubscription, threads and placement. Jobs that run at the
same time are assumed not to slow each other: they run on separate cores, and the model has no shared memory,
interconnect or file system. If placement varies, no other job runs on the nodes of a job on several nodes.
Fewer processes per node then occupy more of the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.curves.curves import Curve
from analysis.curves.points import Sample, block_logs, roundings
from analysis.runs.columns import (
    COUNT,
    CURVE_COLUMNS,
    MARK,
    POSITIVE,
    SHARE,
    SIZE,
    described,
    table_schema,
    table_schemas,
    with_descriptions,
    with_interval,
)
from analysis.runs.frames import with_ends
from analysis.runs.json_parts import JsonPart
from analysis.runs.settings import NODES, Settings
from analysis.statistics import Flags, Floats
from analysis.statistics.best import (
    ALPHA,
    FEWEST,
    may_be_best,
    nondominated,
    pairwise_differences,
    with_offsets,
    within_bands,
)
from analysis.statistics.bootstrap import percentile_interval
from analysis.statistics.metrics import efficiency, runs_per_day


@dataclass(frozen=True)
class Queue(JsonPart, optional={"cores"}):
    """Section ``queue`` of a study: jobs that wait to be run, and the machine for them.

    Attributes
    ----------
    jobs : int
        Number k of equal jobs.
    efficiency : float
        Smallest efficiency that a shared machine accepts.
    cores : int or None
        Number N of cores; by default the largest number on which the case was run, over all kinds that are
        compared with each other.
    """

    jobs: int = 3
    efficiency: float = 0.75
    cores: int | None = None

    def __post_init__(self) -> None:
        """Raise `ValueError` for impossible values."""
        if not 1 <= self.jobs <= 100_000:
            raise ValueError(f"jobs: {self.jobs}; from 1 to 100000")
        if self.cores is not None and self.cores < 1:
            raise ValueError(f"cores: {self.cores}; 1 or more")
        if not 0 < self.efficiency <= 1:
            raise ValueError(f"efficiency: {self.efficiency}; above 0, at most 1")


PACKING = table_schemas(
    table_schema(
        "packing",
        "One row per point, with copies of its job on all available cores.",
        **CURVE_COLUMNS,
        **SIZE,
        available_cores=described(COUNT, "Cores to fill."),
        jobs_at_once=described(COUNT, "Jobs that fit."),
        used_cores=described(COUNT, "Cores on which these jobs compute."),
        **with_descriptions(with_interval("seconds", POSITIVE), seconds="Time of a job."),
        efficiency=described(POSITIVE, "As in `scaling`."),
        **with_descriptions(
            with_interval("jobs_per_day", POSITIVE), jobs_per_day="jobs at once × 86,400 s / time."
        ),
        jobs=described(COUNT, "Equal jobs in the queue."),
        **with_descriptions(
            with_interval("makespan_seconds", POSITIVE), makespan_seconds="Time until all of them are done."
        ),
        pareto=described(
            MARK,
            "Whether no other point has at least as short a time and as many jobs per day, and is "
            "better in one of the two.",
        ),
        pareto_share=SHARE,
        least_time=described(MARK, "Whether it has the shortest time; one row of a curve."),
        may_be_least_time=described(
            MARK, "Whether it may have the shortest time, by multiple comparisons with the best."
        ),
        most_jobs=described(
            MARK, "Whether it completes the most jobs per day at the minimum efficiency or above."
        ),
        may_be_most_jobs=described(
            MARK, "Whether it may complete the most jobs, by multiple comparisons with the best."
        ),
        least_time_efficient=described(
            MARK, "Whether it has the shortest time at the minimum efficiency or above."
        ),
        serial=MARK,
        occupied_cores=described(COUNT, "Cores that no other job can use; whole nodes if placement varies."),
    ),
)


@dataclass(frozen=True, eq=False)
class Ways:
    """Ways to run one job of a case over one interconnect.

    Attributes
    ----------
    available : int
        Number N of cores of the machine.
    table : dict of arrays (ways,)
        ``oversubscription, processes_per_node, nodes, processes, cores, occupied_cores, seconds,
        seconds_low, seconds_high, efficiency, serial`` of the ways that fit these cores.
    draws : array (ways, scenarios, B)
        Bootstrap draws of the time.
    samples : list of Sample
        Block times of each way.
    """

    case: str
    interconnect: str
    kind: str
    available: int
    table: dict[str, NDArray]
    draws: Floats
    samples: list[Sample]

    @property
    def jobs_at_once(self) -> NDArray[np.int64]:
        """Number of jobs that fit the cores, floor(N / occupied cores)."""
        return self.available // self.table["occupied_cores"]


def ways_of(curves: Sequence[Curve], queue: Queue, settings: Settings) -> Iterator[Ways]:
    """Yield the ways to run a case over each interconnect, with all levels and placements together.

    Kinds that the study does not compare have separate machines: a simulated machine may have more cores than
    the measured machine. In weak scaling there are no ways, since the jobs of two counts differ. A case by
    nodes has none either: its efficiencies are per node, and its systems may differ in cores per node.

    Parameters
    ----------
    curves : sequence of Curve
        Curves of one case.
    queue : Queue
    settings : Settings

    Yields
    ------
    Ways
        One for each kind and interconnect with a way that fits the cores.
    """
    if settings.scaling == "weak" or any(curve.unit == NODES for curve in curves):
        return
    ordered = sorted(curves, key=lambda curve: (curve.kind, curve.interconnect, curve.oversubscription))
    for (kind, interconnect), members in groupby(ordered, key=lambda curve: (curve.kind, curve.interconnect)):
        cores_per_node, available = _machine(kind, curves, queue, settings)
        ways = _joined(list(members), interconnect, kind, cores_per_node, available)
        is_repeated = ways.table["serial"] & (ways.table["serial"].cumsum() > 1)
        fits = ~is_repeated & (ways.table["occupied_cores"] <= available)
        if fits.any():
            yield _selected(ways, fits)


def _machine(kind: str, curves: Sequence[Curve], queue: Queue, settings: Settings) -> tuple[int, int]:
    """Return the cores per node and the number of all cores of the machine of a kind.

    The queue may state the number of all cores. By default it is the largest number that a job occupied.
    """
    compared = {frozenset(pair) for pair in settings.compare_kinds}
    same_machine = [
        curve for curve in curves if curve.kind == kind or frozenset((curve.kind, kind)) in compared
    ]
    cores_per_node = max(map(_cores_per_node, same_machine))
    most_occupied = max(int(_occupied_cores(curve, cores_per_node).max()) for curve in same_machine)
    return cores_per_node, queue.cores or most_occupied


def _joined(
    curves: Sequence[Curve], interconnect: str, kind: str, cores_per_node: int, available: int
) -> Ways:
    """Join the points of all curves of an interconnect as ways to run a job."""
    tables = [_columns_of(curve, cores_per_node) for curve in curves]
    return Ways(
        curves[0].case,
        interconnect,
        kind,
        available,
        {name: np.concatenate([columns[name] for columns in tables]) for name in tables[0]},
        np.concatenate([curve.draws for curve in curves]),
        [sample for curve in curves for sample in curve.samples],
    )


def _selected(ways: Ways, mask: Flags) -> Ways:
    """Return the ways that `mask`, array (ways,), marks."""
    return replace(
        ways,
        table={name: column[mask] for name, column in ways.table.items()},
        draws=ways.draws[mask],
        samples=[ways.samples[way] for way in np.flatnonzero(mask)],
    )


def _cores_per_node(curve: Curve) -> int:
    """Return the largest number of cores per node of any run of a curve; 1 if placement does not vary."""
    if curve.processes_per_node is None:
        return 1
    nodes = curve.table["nodes"]
    cores_of_fullest_node = -(-curve.table["cores"] // np.maximum(nodes, 1))
    return int(cores_of_fullest_node[nodes > 0].max(initial=1))


def _occupied_cores(curve: Curve, cores_per_node: int) -> NDArray[np.int64]:
    """Return the cores that no other job can use, for each point.

    If placement varies, a job on several nodes occupies all of their cores.
    """
    nodes, cores = curve.table["nodes"], curve.table["cores"]
    if curve.processes_per_node is None:
        return cores
    return np.where(nodes > 1, nodes * cores_per_node, cores)


def _columns_of(curve: Curve, cores_per_node: int) -> dict[str, NDArray]:
    """Make the columns of `Ways.table` for the points of a curve."""
    nodes, counts = curve.table["nodes"], len(curve.processes)
    processes_per_node = np.nan if curve.processes_per_node is None else curve.processes_per_node
    return {
        "oversubscription": np.full(counts, curve.oversubscription),
        "threads": np.where(~curve.is_serial, curve.threads, 1),
        "processes_per_node": np.where(~curve.is_serial, processes_per_node, np.nan),
        "nodes": np.where(nodes == 0, np.nan, nodes),
        "processes": curve.processes,
        "cores": curve.table["cores"],
        "occupied_cores": _occupied_cores(curve, cores_per_node),
        **{name: curve.table[name] for name in ("seconds", "seconds_low", "seconds_high")},
        "efficiency": efficiency(curve.speedup, curve.table["cores"], curve.reference.cores),
        "serial": curve.is_serial,
    }


def packing_columns(ways: Ways, queue: Queue, settings: Settings) -> dict[str, Any]:
    """Compute jobs per day and time per job, for each way to run a job.

    m = floor(N / occupied_cores) jobs run at once, so that jobs_per_day = m 86400 / T. The k jobs of the
    queue run in ceil(k / m) waves, so that makespan_seconds = ceil(k / m) T.

    Returns
    -------
    dict of arrays (ways,) and single values
        Columns of table ``packing``. `least_time`, `most_jobs` (with at least the queue's efficiency) and
        `least_time_efficient` each mark one way; `may_be_...` marks all ways that may be the best
        (`analysis.statistics.best`). The Pareto set is that of time per job and jobs per day.
    """
    table, at_once, seconds = ways.table, ways.jobs_at_once, ways.table["seconds"]
    low, high = percentile_interval(ways.draws, settings.level)  # all derived quantities are monotone in time
    rate, rate_low, rate_high = (at_once * runs_per_day(time) for time in (seconds, high, low))
    waves = -(-queue.jobs // at_once)
    is_efficient = table["efficiency"] >= queue.efficiency
    all_ways = np.ones_like(is_efficient)
    least_time = _mark_highest(1 / seconds, rate, all_ways)
    most_jobs = _mark_highest(rate, 1 / seconds, is_efficient)
    return {
        "case": ways.case,
        "interconnect": ways.interconnect,
        "kind": ways.kind,
        **table,
        "available_cores": ways.available,
        "jobs_at_once": at_once,
        "used_cores": at_once * table["cores"],
        **with_ends("jobs_per_day", rate, rate_low, rate_high),
        "jobs": queue.jobs,
        **with_ends("makespan_seconds", waves * seconds, waves * low, waves * high),
        "pareto": nondominated(seconds, at_once / seconds),
        "pareto_share": _pareto_share(ways),
        "least_time": least_time,
        "may_be_least_time": _may_be_best(ways, least_time, all_ways, np.zeros(len(at_once))),
        "most_jobs": most_jobs,
        "may_be_most_jobs": _may_be_best(ways, most_jobs, is_efficient, np.log(at_once)),
        "least_time_efficient": _mark_highest(1 / seconds, rate, is_efficient),
    }


def _pareto_share(ways: Ways) -> Floats | float:
    """Return the share of draws in which each way is in the Pareto set.

    NaN if times have a band, or if a way has no draws.
    """
    if ways.draws.shape[1] > 1 or np.isnan(ways.draws).any():
        return np.nan
    seconds = ways.draws[:, 0]
    return nondominated(seconds, ways.jobs_at_once[:, None] / seconds).mean(axis=1)


def _mark_highest(values: Floats, tie_breakers: Floats, allowed: Flags) -> Flags:
    """Mark the allowed way with the highest value; in a tie, the way with the highest tie breaker."""
    values = np.where(allowed, values, -np.inf)
    tie_breakers = np.where(values == values.max(), tie_breakers, -np.inf)
    return (np.arange(len(values)) == tie_breakers.argmax()) & allowed.any()


def _may_be_best(ways: Ways, best: Flags, allowed: Flags, gains: Floats) -> Flags | None:
    """Mark the allowed ways that may have the smallest value of log time - gain.

    Parameters
    ----------
    best, allowed : arrays (ways,)
        Mark of the way with the smallest value, and marks of the ways that count.
    gains : array (ways,)
        Logarithm of the number by which a way's rate exceeds 1 / time.

    Returns
    -------
    array (ways,) or None
        None if simulated times have no band, or if measured times have fewer than `FEWEST` blocks.
    """
    if ways.kind == "simulated":
        low, high = (np.log(ways.table[f"seconds_{end}"]) - gains for end in ("low", "high"))
        if np.isnan(low + high).any():
            return None
        return within_bands(low, np.where(allowed, high, np.inf)) & allowed
    parallel = (
        sample for sample, serial in zip(ways.samples, ways.table["serial"], strict=True) if not serial
    )
    if min((len(sample.blocks) for sample in parallel), default=0) < FEWEST:
        return None
    differences = pairwise_differences(block_logs(ways.samples)[1], roundings(ways.samples))
    return may_be_best(with_offsets(differences, gains), np.asarray(best.argmax()), ALPHA, allowed)
