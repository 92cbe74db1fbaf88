"""Turnaround of one job or throughput of many: how to run k jobs on N cores.

Jobs that run at the same time are taken not to slow each other: they are on separate cores, and what
they share (memory, interconnect, file system) is not modelled. Where placement varies, a job on several
nodes has them to itself: with fewer processes a node it occupies more of the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.bootstrap import Floats, percentile_interval
from analysis.curves import Curve
from analysis.formats import counted, listed
from analysis.frames import Pieces
from analysis.metrics import efficiency, runs_per_day
from analysis.peaks import may_lead
from analysis.settings import Queue, Settings
from analysis.turnaround_words import name_of_way, waves_in_words, way_in_words


@dataclass(frozen=True, eq=False)
class Ways:
    """Ways to run one job of a case over one interconnect, by process count and oversubscription.

    Attributes
    ----------
    case, interconnect, kind : str
    available : int
        Cores, N.
    table : dict of arrays (ways,)
        ``oversubscription, processes_per_node, nodes, processes, cores, occupied_cores, seconds,
        seconds_low, seconds_high, efficiency, serial``; only what fits the cores.
    draws : array (ways, scenarios, B)
        Of the time.
    """

    case: str
    interconnect: str
    kind: str
    available: int
    table: dict[str, NDArray]
    draws: Floats

    @property
    def names(self) -> dict[str, str]:
        """What the ways belong to, by column."""
        return {"case": self.case, "interconnect": self.interconnect, "kind": self.kind}

    @property
    def jobs_at_once(self) -> NDArray[np.int64]:
        """Jobs that fit the cores, floor(N / occupied cores)."""
        return self.available // self.table["occupied_cores"]


def ways_of(curves: Sequence[Curve], queue: Queue, settings: Settings) -> Iterator[Ways]:
    """Ways to run a case over each interconnect, levels and placements together.

    Weak scaling has none: its jobs are not the same job. Kinds that are not compared are on machines of their
    own: a simulated one may have more cores than any that was measured on.

    Parameters
    ----------
    curves : sequence of Curve
        Of one case.
    queue : Queue
    settings : Settings
    """
    if settings.scaling == "weak":
        return
    together = {frozenset(pair) for pair in settings.compare_kinds}
    ordered = sorted(curves, key=lambda curve: (curve.kind, curve.interconnect, curve.oversubscription))
    for (kind, interconnect), group in groupby(ordered, key=lambda curve: (curve.kind, curve.interconnect)):
        members = list(group)
        machine = [one for one in curves if one.kind == kind or frozenset((one.kind, kind)) in together]
        of_node = max(_cores_of_node(curve) for curve in machine)
        available = queue.cores or max(int(_occupied(curve, of_node).max()) for curve in machine)
        times = [_times(curve, of_node) for curve in members]
        table = {name: np.concatenate([columns[name] for columns in times]) for name in times[0]}
        repeated = table["serial"] & (table["serial"].cumsum() > 1)
        fits = ~repeated & (table["occupied_cores"] <= available)
        if fits.any():
            draws = np.concatenate([curve.draws for curve in members])[fits]
            table = {name: column[fits] for name, column in table.items()}
            yield Ways(members[0].case, interconnect, kind, available, table, draws)


def _cores_of_node(curve: Curve) -> int:
    """The most cores of a node that a run of a curve used; 1 where no number of nodes is known."""
    nodes = curve.table["nodes"]
    return int((-(-curve.table["cores"] // np.maximum(nodes, 1)))[nodes > 0].max(initial=1))


def _occupied(curve: Curve, cores_of_node: int) -> NDArray[np.int64]:
    """Cores that no other job can have: whole nodes of a job on several, where placement varies."""
    nodes, cores = curve.table["nodes"], curve.table["cores"]
    alone = (nodes > 1) & (curve.processes_per_node is not None)
    return np.where(alone, nodes * cores_of_node, cores)


def _times(curve: Curve, cores_of_node: int) -> dict[str, NDArray]:
    nodes, counts = curve.table["nodes"], len(curve.processes)
    placed = np.nan if curve.processes_per_node is None else curve.processes_per_node
    return {
        "oversubscription": np.full(counts, curve.oversubscription),
        "processes_per_node": np.where(curve.own, placed, np.nan),
        "nodes": np.where(nodes == 0, np.nan, nodes),
        "processes": curve.processes,
        "cores": curve.table["cores"],
        "occupied_cores": _occupied(curve, cores_of_node),
        **{name: curve.table[name] for name in ("seconds", "seconds_low", "seconds_high")},
        "efficiency": efficiency(curve.speedup, curve.table["cores"], curve.reference.cores),
        "serial": ~curve.own,
    }


def packing_columns(ways: Ways, queue: Queue, settings: Settings) -> dict[str, NDArray]:
    """Jobs a day against time per job, for each way to run them.

    m = floor(N / occupied_cores) jobs run at once, so jobs_per_day = m 86400 / T; k jobs run in
    ceil(k / m) waves, and makespan_seconds is that many times T.

    Parameters
    ----------
    ways : Ways
    queue : Queue
    settings : Settings

    Returns
    -------
    dict of arrays (ways,)
        Columns of table ``packing``. `least_time`, `most_jobs` (with at least the queue's efficiency) and
        `least_time_efficient` mark one way each; `may_be_...` all that may be the best of them
        (`analysis.peaks.may_lead`). The Pareto set is that of time per job against jobs a day.
    """
    table, draws, at_once = ways.table, ways.draws, ways.jobs_at_once
    seconds = table["seconds"]
    low, high = percentile_interval(draws, settings.level)  # what follows is monotone in the time
    rate, rate_low, rate_high = (at_once * runs_per_day(time) for time in (seconds, high, low))
    waves = -(-queue.jobs // at_once)
    efficient = table["efficiency"] >= queue.efficiency
    everyone = np.ones(len(seconds), bool)
    pareto, pareto_share = _pareto(ways)
    return table | {
        "available_cores": np.full(len(seconds), ways.available),
        "jobs_at_once": at_once,
        "used_cores": at_once * table["cores"],
        "jobs_per_day": rate,
        "jobs_per_day_low": rate_low,
        "jobs_per_day_high": rate_high,
        "jobs": np.full(len(seconds), queue.jobs),
        "makespan_seconds": waves * seconds,
        "makespan_seconds_low": waves * low,
        "makespan_seconds_high": waves * high,
        "pareto": pareto,
        "pareto_share": pareto_share,
        "least_time": _first(1 / seconds, rate, everyone),
        "may_be_least_time": _contenders(-draws, everyone, settings.level),
        "most_jobs": _first(rate, 1 / seconds, efficient),
        "may_be_most_jobs": _contenders(at_once[:, None, None] / draws, efficient, settings.level),
        "least_time_efficient": _first(1 / seconds, rate, efficient),
    }


def unbeaten(seconds: Floats, jobs_at_once: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which ways belong to the Pareto set of time per job against jobs a day.

    A way belongs to it unless another takes no longer, finishes no fewer jobs a day, and is better in one
    of the two. One with more jobs at once beats it by taking no longer, one with fewer by finishing no
    fewer a day, one with as many by taking less time.

    Parameters
    ----------
    seconds : array (ways, B)
        B problems of their own, as bootstrap draws are.
    jobs_at_once : array (ways,)

    Returns
    -------
    array (ways, B)
    """
    jobs, group = np.unique(jobs_at_once, return_inverse=True)
    order = np.argsort(group, kind="stable")
    least = np.minimum.reduceat(seconds[order], np.searchsorted(group[order], np.arange(len(jobs))), axis=0)
    rates = jobs[:, None] / least
    best = np.ones(least.shape, bool)
    shortest, highest = least[-1], rates[0]
    for fewer in range(len(jobs) - 2, -1, -1):
        best[fewer] = least[fewer] < shortest
        shortest = np.minimum(shortest, least[fewer])
    for more in range(1, len(jobs)):
        best[more] &= rates[more] > highest
        highest = np.maximum(highest, rates[more])
    return (seconds == least[group]) & best[group]


def _pareto(ways: Ways) -> tuple[NDArray[np.bool_], Floats]:
    """Which ways belong to the Pareto set, and in which share of the draws; NaN for a band or one sample."""
    problems = ways.table["seconds"][:, None]
    sampled = ways.draws.shape[1] == 1 and not np.isnan(ways.draws).any()
    if sampled:
        problems = np.hstack([problems, ways.draws[:, 0]])
    members = unbeaten(problems, ways.jobs_at_once)
    share = members[:, 1:].mean(axis=1) if sampled else np.full(len(members), np.nan)
    return members[:, 0], share


def _first(values: Floats, second: Floats, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the highest value among some, of equals the one with the highest second value."""
    marks = np.zeros(len(values), bool)
    if among.any():
        ranked = np.lexsort((-second, -values, ~among))
        marks[ranked[0]] = True
    return marks


def _contenders(draws: Floats, among: NDArray[np.bool_], level: float) -> NDArray[np.object_]:
    """Which of some may be the highest of them; empty without draws."""
    if np.isnan(draws).any():
        return np.full(len(draws), None)
    marks = np.zeros(len(draws), bool)
    if among.any():
        marks[among] = may_lead(draws[among], level)
    return marks.astype(object)


def fastest_waves(seconds: ArrayLike, jobs_at_once: ArrayLike, jobs: int) -> NDArray[np.int64]:
    """How often to use each way so that k jobs end soonest, wave after wave.

    A wave runs equal jobs at once and lasts as long as one of them; the last may be partly empty.
    Solved exactly by dynamic programming over the number of jobs left.

    Parameters
    ----------
    seconds : array (ways,)
        Time of one job.
    jobs_at_once : array (ways,)
    jobs : int

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
    least, choice = np.zeros(jobs + 1), np.zeros(jobs + 1, np.int64)
    for left in range(1, jobs + 1):
        ends = seconds + least[np.maximum(left - at_once, 0)]
        choice[left] = ends.argmin()
        least[left] = ends[choice[left]]
    waves = np.zeros(len(seconds), np.int64)
    left = jobs
    while left > 0:
        waves[choice[left]] += 1
        left -= at_once[choice[left]]
    return waves


GOALS = {
    "one user": ("least_time", "may_be_least_time"),
    "queue": ("most_jobs", "may_be_most_jobs"),
    "shared machine": ("least_time_efficient", None),
}
"""For whom to advise, the way that is advised (a column of ``packing``) and those not told apart from it."""


def advice_rows(
    ways: Ways, packing: Mapping[str, NDArray], queue: Queue, settings: Settings
) -> list[dict[str, object]]:
    """Process count to advise: for one user, for a queue, for a shared machine, and for k jobs.

    One user wants the least time. A queue wants the most jobs a day with at least the stated
    efficiency, a shared machine the least time with it. `k jobs` are run in the waves that end soonest.

    Parameters
    ----------
    ways : Ways
    packing : mapping of str to array
        As `packing_columns` gives it for these ways.
    queue : Queue
    settings : Settings

    Returns
    -------
    list of dict
        Rows of table ``advice``.
    """
    same = ways.names | {"jobs": queue.jobs, "available_cores": ways.available}
    rows = [_advice(packing, goal, queue) for goal in GOALS] + [_best_waves(ways, packing, queue, settings)]
    return [same | row for row in rows]


def _advice(packing: Mapping[str, NDArray], goal: str, queue: Queue) -> dict[str, object]:
    chosen, contenders = GOALS[goal]
    found = np.flatnonzero(packing[chosen])
    if not len(found):
        return {"goal": goal, "advice": f"no count reaches an efficiency of {queue.efficiency:g}"}
    way = found[0]
    advice = {
        "goal": goal,
        "advice": way_in_words(packing, way, packing["jobs_at_once"][way]),
        "time_per_job_seconds": packing["seconds"][way],
    }
    if contenders is not None:
        others = np.flatnonzero(packing[contenders].astype(bool) & ~packing[chosen])
        advice["not_told_apart"] = listed(name_of_way(packing, other) for other in others) or None
    counts = ["processes", "oversubscription", "jobs_at_once", "processes_per_node"]
    times = [f"{name}{end}" for name in ("jobs_per_day", "makespan_seconds") for end in ("", "_low", "_high")]
    return advice | {name: packing[name][way] for name in counts + times}


def _best_waves(
    ways: Ways, packing: Mapping[str, NDArray], queue: Queue, settings: Settings
) -> dict[str, object]:
    waves = fastest_waves(packing["seconds"], packing["jobs_at_once"], queue.jobs)
    used = np.flatnonzero(waves)
    drawn = (waves[used, None, None] * ways.draws[used]).sum(axis=0)
    (low,), (high,) = percentile_interval(drawn[None], settings.level)
    return {
        "goal": counted(queue.jobs, "job"),
        "advice": waves_in_words(packing, waves, queue.jobs),
        "makespan_seconds": float((waves * packing["seconds"]).sum()),
        "makespan_seconds_low": low,
        "makespan_seconds_high": high,
    }


def packing_pieces(curves: Sequence[Curve], queue: Queue, settings: Settings) -> Pieces:
    """Rows of the tables ``packing`` and ``advice`` from all curves of one case."""
    pieces: Pieces = {"packing": [], "advice": []}
    for ways in ways_of(curves, queue, settings):
        packing = packing_columns(ways, queue, settings)
        pieces["packing"].append(ways.names | packing)
        pieces["advice"] += advice_rows(ways, packing, queue, settings)
    return pieces
