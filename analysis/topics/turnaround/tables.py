"""Turnaround of one job or throughput of many: how to run k jobs on N cores.

Jobs that run at the same time are taken not to slow each other: they are on separate cores, and what
they share (memory, interconnect, file system) is not modelled. Where placement varies, a job on several
nodes has them to itself: with fewer processes a node it occupies more of the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.curves.curves import Curve
from analysis.curves.points import Sample, block_logs, roundings
from analysis.runs.columns import (
    COUNT,
    MARK,
    NOTE,
    OF_A_CURVE,
    POSITIVE,
    SHARE,
    SIZE,
    TEXT,
    table_schemas,
    with_interval,
)
from analysis.runs.frames import Piece, Pieces, with_ends
from analysis.runs.settings import Queue, Settings
from analysis.statistics import Floats
from analysis.statistics.best import (
    ALPHA,
    FEWEST,
    may_be_best,
    nondominated,
    pairwise_differences,
    with_offsets,
    within_bands,
)
from analysis.statistics.bootstrap import interval_columns, percentile_interval
from analysis.statistics.metrics import efficiency, runs_per_day

TURNAROUND = table_schemas(
    packing=dict(
        **OF_A_CURVE,
        **SIZE,
        **dict.fromkeys(("available_cores", "jobs_at_once", "used_cores"), COUNT),
        **with_interval("seconds", POSITIVE),
        efficiency=POSITIVE,
        **with_interval("jobs_per_day", POSITIVE),
        jobs=COUNT,
        **with_interval("makespan_seconds", POSITIVE),
        pareto=MARK,
        pareto_share=SHARE,
        **dict.fromkeys(("least_time", "may_be_least_time", "most_jobs", "may_be_most_jobs"), MARK),
        least_time_efficient=MARK,
        serial=MARK,
        occupied_cores=COUNT,
    ),
    advice=dict(
        **dict.fromkeys(("case", "interconnect", "kind", "goal"), TEXT),
        jobs=COUNT,
        available_cores=COUNT,
        advice=TEXT,
        **dict.fromkeys(("processes", "oversubscription", "jobs_at_once", "threads"), COUNT),
        time_per_job_seconds=POSITIVE,
        **with_interval("jobs_per_day", POSITIVE),
        **with_interval("makespan_seconds", POSITIVE),
        not_told_apart=NOTE,
        processes_per_node=POSITIVE,
    ),
)

Words = ModuleType
"""What writes an advice: `analysis.topics.turnaround.ways`, which lies in a layer above."""


@dataclass(frozen=True, eq=False)
class Ways:
    """Ways to run one job of a case over one interconnect, by process count and oversubscription.

    Attributes
    ----------
    available : int
        Cores, N.
    table : dict of arrays (ways,)
        ``oversubscription, processes_per_node, nodes, processes, cores, occupied_cores, seconds,
        seconds_low, seconds_high, efficiency, serial``; only what fits the cores.
    draws : array (ways, scenarios, B)
        Of the time.
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
        """Jobs that fit the cores, floor(N / occupied cores)."""
        return self.available // self.table["occupied_cores"]


def ways_of(curves: Sequence[Curve], queue: Queue, settings: Settings) -> Iterator[Ways]:
    """Ways to run a case over each interconnect, levels and placements together.

    Weak scaling has none: its jobs are not the same job. Kinds that are not compared have machines of their
    own: a simulated machine may have more cores than any real one of the study.

    Parameters
    ----------
    curves : sequence of Curve
        Of one case.
    """
    if settings.scaling == "weak":
        return
    together = {frozenset(pair) for pair in settings.compare_kinds}
    ordered = sorted(curves, key=lambda curve: (curve.kind, curve.interconnect, curve.oversubscription))
    of_node = {id(curve): _cores_of_node(curve) for curve in curves}
    machines: dict[str, tuple[int, int]] = {}
    for kind in dict.fromkeys(curve.kind for curve in ordered):
        own = [curve for curve in curves if curve.kind == kind or frozenset((curve.kind, kind)) in together]
        most = max(of_node[id(curve)] for curve in own)
        machines[kind] = most, queue.cores or max(int(_occupied(curve, most).max()) for curve in own)
    for (kind, interconnect), group in groupby(ordered, key=lambda curve: (curve.kind, curve.interconnect)):
        members = list(group)
        most, available = machines[kind]
        tables = [_times(curve, most) for curve in members]
        table, draws = tables[0], members[0].draws
        samples = [sample for curve in members for sample in curve.samples]
        if len(members) > 1:
            table = {name: np.concatenate([columns[name] for columns in tables]) for name in table}
            draws = np.concatenate([curve.draws for curve in members])
        repeated = table["serial"] & (table["serial"].cumsum() > 1)
        fits = ~repeated & (table["occupied_cores"] <= available)
        if fits.any():
            if not fits.all():
                draws, table = draws[fits], {name: column[fits] for name, column in table.items()}
                samples = [samples[way] for way in np.flatnonzero(fits)]
            yield Ways(members[0].case, interconnect, kind, available, table, draws, samples)


def _cores_of_node(curve: Curve) -> int:
    """The most cores of a node that a run of a curve used; 1 where placement does not vary."""
    if curve.processes_per_node is None:
        return 1
    nodes = curve.table["nodes"]
    return int((-(-curve.table["cores"] // np.maximum(nodes, 1)))[nodes > 0].max(initial=1))


def _occupied(curve: Curve, cores_of_node: int) -> NDArray[np.int64]:
    """Cores that no other job can have: whole nodes of a job on several, where placement varies."""
    nodes, cores = curve.table["nodes"], curve.table["cores"]
    if curve.processes_per_node is None:
        return cores
    return np.where(nodes > 1, nodes * cores_of_node, cores)


def _times(curve: Curve, cores_of_node: int) -> dict[str, NDArray]:
    nodes, counts = curve.table["nodes"], len(curve.processes)
    placed = np.nan if curve.processes_per_node is None else curve.processes_per_node
    return {
        "oversubscription": np.full(counts, curve.oversubscription),
        "threads": np.where(curve.own, curve.threads, 1),
        "processes_per_node": np.where(curve.own, placed, np.nan),
        "nodes": np.where(nodes == 0, np.nan, nodes),
        "processes": curve.processes,
        "cores": curve.table["cores"],
        "occupied_cores": _occupied(curve, cores_of_node),
        **{name: curve.table[name] for name in ("seconds", "seconds_low", "seconds_high")},
        "efficiency": efficiency(curve.speedup, curve.table["cores"], curve.reference.cores),
        "serial": ~curve.own,
    }


def packing_columns(ways: Ways, queue: Queue, settings: Settings) -> dict[str, object]:
    """Work out jobs per day against time per job, for each way to run them.

    m = floor(N / occupied_cores) jobs run at once, so jobs_per_day = m 86400 / T; k jobs run in
    ceil(k / m) waves, and makespan_seconds is that many times T.

    Returns
    -------
    dict of arrays (ways,) and single values
        Columns of table ``packing``. `least_time`, `most_jobs` (with at least the queue's efficiency) and
        `least_time_efficient` mark one way each; `may_be_...` all that may be the best of them
        (`analysis.statistics.best`). The Pareto set is of time per job against jobs a day.
    """
    table, at_once, seconds = ways.table, ways.jobs_at_once, ways.table["seconds"]
    low, high = percentile_interval(ways.draws, settings.level)  # what follows is monotone
    rate, rate_low, rate_high = (at_once * runs_per_day(time) for time in (seconds, high, low))
    waves = -(-queue.jobs // at_once)
    efficient = table["efficiency"] >= queue.efficiency
    everyone = np.ones_like(efficient)
    least_time, most_jobs = _first(1 / seconds, rate, everyone), _first(rate, 1 / seconds, efficient)
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
        "may_be_least_time": _contenders(ways, least_time, everyone, np.zeros(len(at_once))),
        "most_jobs": most_jobs,
        "may_be_most_jobs": _contenders(ways, most_jobs, efficient, np.log(at_once)),
        "least_time_efficient": _first(1 / seconds, rate, efficient),
    }


def _pareto_share(ways: Ways) -> Floats | float:
    """Share of the draws in which each way is in the Pareto set; NaN for a band, or where draws lack."""
    if ways.draws.shape[1] > 1 or np.isnan(ways.draws).any():
        return np.nan
    seconds = ways.draws[:, 0]
    return nondominated(seconds, ways.jobs_at_once[:, None] / seconds).mean(axis=1)


def _first(values: Floats, second: Floats, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the highest value among some; of equal values, that with the highest second value."""
    values = np.where(among, values, -np.inf)
    second = np.where(values == values.max(), second, -np.inf)
    return (np.arange(len(values)) == second.argmax()) & among.any()


def _fewest(ways: Ways) -> int:
    """Blocks of the way that has the fewest, but of the serial run."""
    several = zip(ways.samples, ways.table["serial"], strict=True)
    return min((len(sample.blocks) for sample, serial in several if not serial), default=0)


def _contenders(
    ways: Ways, first: NDArray[np.bool_], among: NDArray[np.bool_], gains: Floats
) -> NDArray[np.bool_] | None:
    """Find which of some ways may have the least log time less a gain; None where that is not known."""
    if ways.kind == "simulated":
        low, high = (np.log(ways.table[f"seconds_{end}"]) - gains for end in ("low", "high"))
        if np.isnan(low + high).any():
            return None
        return within_bands(low, np.where(among, high, np.inf)) & among
    if _fewest(ways) < FEWEST:
        return None
    compared = with_offsets(pairwise_differences(block_logs(ways.samples)[1], roundings(ways.samples)), gains)
    return may_be_best(compared, int(first.argmax()), ALPHA, among)


def fastest_waves(seconds: ArrayLike, jobs_at_once: ArrayLike, jobs: int) -> NDArray[np.int64]:
    """How often to use each way so that k jobs end soonest, wave after wave.

    A wave runs equal jobs at once and lasts as long as one of them; the last may be partly empty.
    Solved exactly by dynamic programming over the number of jobs left.

    Parameters
    ----------
    seconds : array (ways,)
        Time of one job.
    jobs_at_once : array (ways,)

    Returns
    -------
    array (ways,)
        Waves of each way.

    Examples
    --------
    Three at a time on 8 processes, then the last alone on 24:

    >>> fastest_waves([10.0, 15.0], [1, 3], 4)
    array([1, 1])
    """
    seconds, at_once = np.asarray(seconds, float), np.asarray(jobs_at_once, np.int64)
    least, choice = [0.0], [0]  # by jobs left: when they end, and the way of their first wave
    for left in range(1, jobs + 1):
        ends = [
            wave + least[max(left - size, 0)]
            for wave, size in zip(seconds.tolist(), at_once.tolist(), strict=True)
        ]
        least.append(min(ends))
        choice.append(ends.index(least[left]))
    waves, left = np.zeros(len(at_once), np.int64), jobs
    while left > 0:
        waves[choice[left]] += 1
        left -= at_once[choice[left]]
    return waves


GOALS = {
    "one user": ("least_time", "may_be_least_time"),
    "queue": ("most_jobs", "may_be_most_jobs"),
    "shared machine": ("least_time_efficient", None),
}
"""For whom to advise, the way that is advised (a column of ``packing``) and the ways that may be as good."""


def advice_rows(
    ways: Ways, packing: Mapping[str, NDArray], queue: Queue, settings: Settings, words: Words
) -> Iterator[Piece]:
    """Advise a process count: for one user, for a queue, for a shared machine, and for k jobs.

    One user wants the least time. A queue wants the most jobs a day with at least the stated
    efficiency, a shared machine the least time with it. `k jobs` are run in the waves that end soonest.

    Parameters
    ----------
    packing : mapping of str to array (ways,)
        As `packing_columns` gives it for these ways.

    Yields
    ------
    Piece
        A row of table ``advice`` for each goal.
    """
    same = {"case": ways.case, "interconnect": ways.interconnect, "kind": ways.kind, "jobs": queue.jobs}
    same["available_cores"] = ways.available
    for goal in GOALS:
        yield same | _advice(packing, goal, queue, words)
    yield same | _best_waves(ways, packing, queue, settings, words)


_COPIED = ["processes", "oversubscription", "jobs_at_once", "processes_per_node", "threads"]
_COPIED += [f"{name}{end}" for name in ("jobs_per_day", "makespan_seconds") for end in ("", "_low", "_high")]


def _advice(packing: Mapping[str, NDArray], goal: str, queue: Queue, words: Words) -> Piece:
    """Advise a way for a goal."""
    chosen, contenders = GOALS[goal]
    if not packing[chosen].any():
        return {"goal": goal, "advice": words.unreached(queue.efficiency)}
    way = int(packing[chosen].argmax())
    may_be_best = packing[contenders] if contenders else None
    others = [] if may_be_best is None else np.flatnonzero(may_be_best & ~packing[chosen])
    return {
        "goal": goal,
        "advice": words.way_in_words(packing, way, packing["jobs_at_once"][way]),
        "time_per_job_seconds": packing["seconds"][way],
        "not_told_apart": words.names_of_ways(packing, others) if len(others) else None,
        **{name: packing[name][way] for name in _COPIED},
    }


def _best_waves(
    ways: Ways, packing: Mapping[str, NDArray], queue: Queue, settings: Settings, words: Words
) -> Piece:
    waves = fastest_waves(packing["seconds"], ways.jobs_at_once, queue.jobs)
    used = waves > 0
    drawn = (waves[used, None, None] * ways.draws[used]).sum(axis=0)
    return {
        "goal": words.goal_of(queue.jobs),
        "advice": words.waves_in_words(packing, waves, queue.jobs),
        "makespan_seconds": (waves * packing["seconds"]).sum(),
        **interval_columns("makespan_seconds", drawn, settings.level),
    }


def packing_pieces(curves: Sequence[Curve], queue: Queue, settings: Settings, words: Words) -> Pieces:
    """Make the rows of the tables ``packing`` and ``advice`` from all curves of a case."""
    pieces: Pieces = {"packing": [], "advice": []}
    for ways in ways_of(curves, queue, settings):
        packing = packing_columns(ways, queue, settings)
        pieces["packing"].append(packing)
        pieces["advice"] += advice_rows(ways, packing, queue, settings, words)
    return pieces
