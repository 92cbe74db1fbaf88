"""Turnaround of one job or throughput of many: how to run k jobs on N cores.

Jobs that run at the same time are taken not to slow each other: they are on separate cores, and what
they share (memory, interconnect, file system) is not modelled. Where placement varies, a job on several
nodes has them to itself: with fewer processes a node it occupies more of the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.decisions.pareto import nondominated
from analysis.estimates.best import (
    ALPHA,
    FEWEST,
    Behind,
    behind_all,
    block_logs,
    may_be_best,
    roundings,
    with_offsets,
    within_bands,
)
from analysis.estimates.bootstrap import interval_columns, percentile_interval
from analysis.estimates.curves import Curve
from analysis.estimates.metrics import efficiency, runs_per_day
from analysis.estimates.points import Sample
from analysis.runs.groups import Floats
from analysis.runs.settings import Queue, Settings
from analysis.tables.frames import Piece, Pieces, with_ends

Words = ModuleType
"""What writes an advice: `analysis.text.ways`, which lies in a layer above."""


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


def alike(ways: Iterable[Ways]) -> Iterator[list[Ways]]:
    """Neighbours of which the same numbers of jobs fit the cores, and whose draws are of the same shape."""

    def key(case_ways: Ways) -> tuple:
        return case_ways.jobs_at_once.tobytes(), case_ways.draws.shape, _lacking(case_ways.draws)

    return (list(group) for _, group in groupby(ways, key))


def _lacking(draws: Floats) -> bool:
    """Whether some way has no draws: NaN throughout the last axis; other ways have no NaN."""
    return bool(np.isnan(draws[..., 0]).any())


def packing_columns(ways: Sequence[Ways], queue: Queue, settings: Settings) -> dict[str, NDArray]:
    """Jobs a day against time per job, for each way to run them.

    m = floor(N / occupied_cores) jobs run at once, so jobs_per_day = m 86400 / T; k jobs run in
    ceil(k / m) waves, and makespan_seconds is that many times T.

    Parameters
    ----------
    ways : sequence of Ways
        As `alike` puts them together.

    Returns
    -------
    dict of arrays (sequence, ways)
        Columns of table ``packing``. `least_time`, `most_jobs` (with at least the queue's efficiency) and
        `least_time_efficient` mark one way each; `may_be_...` all that may be the best of them
        (`analysis.estimates.best`). The Pareto set is of time per job against jobs a day.
    """
    table = {name: np.stack([case_ways.table[name] for case_ways in ways]) for name in ways[0].table}
    draws, at_once = np.stack([case_ways.draws for case_ways in ways], axis=1), ways[0].jobs_at_once
    seconds = table["seconds"]
    low, high = (end.T for end in percentile_interval(draws, settings.level))  # what follows is monotone
    rate, rate_low, rate_high = (at_once * runs_per_day(time) for time in (seconds, high, low))
    waves = -(-queue.jobs // at_once)
    efficient = table["efficiency"] >= queue.efficiency
    everyone = np.ones_like(efficient)
    pareto, pareto_share = _pareto(seconds, at_once, draws)
    measured = {row: case_ways for row, case_ways in enumerate(ways) if case_ways.kind != "simulated"}
    known = {
        row: (block_logs(own.samples)[1], roundings(own.samples))
        for row, own in measured.items()
        if _fewest(own) >= FEWEST
    }
    compared = list(behind_all(known))
    least_time, most_jobs = _first(1 / seconds, rate, everyone), _first(rate, 1 / seconds, efficient)
    return table | {
        "available_cores": np.repeat([[case_ways.available] for case_ways in ways], len(at_once), axis=1),
        "jobs_at_once": np.broadcast_to(at_once, seconds.shape),
        "used_cores": at_once * table["cores"],
        **with_ends("jobs_per_day", rate, rate_low, rate_high),
        "jobs": np.full(seconds.shape, queue.jobs),
        **with_ends("makespan_seconds", waves * seconds, waves * low, waves * high),
        "pareto": pareto,
        "pareto_share": pareto_share,
        "least_time": least_time,
        "may_be_least_time": _contenders(ways, compared, least_time, everyone, 0 * np.log(at_once)),
        "most_jobs": most_jobs,
        "may_be_most_jobs": _contenders(ways, compared, most_jobs, efficient, np.log(at_once)),
        "least_time_efficient": _first(1 / seconds, rate, efficient),
    }


def _pareto(
    seconds: Floats, jobs_at_once: NDArray[np.int64], draws: Floats
) -> tuple[NDArray[np.bool_], Floats]:
    """Mark the Pareto set of time per job against jobs per day, and give each way's share of the draws.

    The share is NaN for a band, and where some way has no draws.
    """
    members = nondominated(seconds.T, (jobs_at_once / seconds).T).T
    if draws.shape[2] > 1 or _lacking(draws):
        return members, np.full(members.shape, np.nan)
    drawn = nondominated(draws[:, :, 0], jobs_at_once[:, None, None] / draws[:, :, 0])
    return members, drawn.mean(axis=2).T


def _first(values: Floats, second: Floats, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the highest value of each row among some, among equals the highest second value."""
    values = np.where(among, values, -np.inf)
    second = np.where(values == values.max(axis=1, keepdims=True), second, -np.inf)
    return (np.arange(values.shape[1]) == second.argmax(axis=1)[:, None]) & among.any(axis=1, keepdims=True)


def _fewest(ways: Ways) -> int:
    """Blocks of the way that has the fewest, but of the serial run."""
    several = zip(ways.samples, ways.table["serial"], strict=True)
    return min((len(sample.blocks) for sample, serial in several if not serial), default=0)


def _contenders(
    ways: Sequence[Ways],
    compared: Sequence[tuple[list[int], Behind]],
    first: NDArray[np.bool_],
    among: NDArray[np.bool_],
    gains: Floats,
) -> NDArray[np.object_]:
    """Which of some (sequence, ways) may have the least log time less a gain; empty where not known."""
    members = np.full(among.shape, None)
    for rows, found in compared:
        best = first[rows].argmax(axis=1)
        members[rows] = may_be_best(with_offsets(found, gains), best, ALPHA, among[rows])
    for row in (row for row, case_ways in enumerate(ways) if case_ways.kind == "simulated"):
        low, high = (np.log(ways[row].table[f"seconds_{end}"]) - gains for end in ("low", "high"))
        if not np.isnan(low + high).any():
            members[row] = within_bands(low, np.where(among[row], high, np.inf)) & among[row]
    return members


def fastest_waves(seconds: ArrayLike, jobs_at_once: ArrayLike, jobs: int) -> NDArray[np.int64]:
    """How often to use each way so that k jobs end soonest, wave after wave.

    A wave runs equal jobs at once and lasts as long as one of them; the last may be partly empty.
    Solved exactly by dynamic programming over the number of jobs left.

    Parameters
    ----------
    seconds : array (..., ways)
        Time of one job; leading axes are problems of their own.
    jobs_at_once : array (ways,)

    Returns
    -------
    array (..., ways)
        Waves of each way.

    Examples
    --------
    Three at a time on 8 processes, then the last alone on 24:

    >>> fastest_waves([10.0, 15.0], [1, 3], 4)
    array([1, 1])
    """
    seconds, at_once = np.asarray(seconds, float), np.asarray(jobs_at_once, np.int64)
    problems = seconds.reshape(-1, len(at_once))
    every = np.arange(len(problems))
    least, choice = np.zeros((jobs + 1, len(problems))), np.zeros((jobs + 1, len(problems)), np.int64)
    for left in range(1, jobs + 1):
        ends = problems + least[np.maximum(left - at_once, 0)].T
        choice[left] = ends.argmin(axis=1)
        least[left] = ends[every, choice[left]]
    waves = np.zeros(problems.shape, np.int64)
    left = np.full(len(problems), jobs)
    while (busy := np.flatnonzero(left > 0)).size:
        chosen = choice[left[busy], busy]
        waves[busy, chosen] += 1
        left[busy] -= at_once[chosen]
    return waves.reshape(seconds.shape)


GOALS = {
    "one user": ("least_time", "may_be_least_time"),
    "queue": ("most_jobs", "may_be_most_jobs"),
    "shared machine": ("least_time_efficient", None),
}
"""For whom to advise, the way that is advised (a column of ``packing``) and the ways that may be as good."""


def advice_columns(
    ways: Sequence[Ways], packing: Mapping[str, NDArray], queue: Queue, settings: Settings, words: Words
) -> Piece:
    """Process count to advise: for one user, for a queue, for a shared machine, and for k jobs.

    One user wants the least time. A queue wants the most jobs a day with at least the stated
    efficiency, a shared machine the least time with it. `k jobs` are run in the waves that end soonest.

    Parameters
    ----------
    packing : mapping of str to array (sequence, ways)
        As `packing_columns` gives it for these ways.

    Returns
    -------
    Piece
        Columns of table ``advice``, the goals of each of the ways in successive rows.
    """
    goals = [_advice(packing, goal, queue, words) for goal in GOALS]
    goals.append(_best_waves(ways, packing, queue, settings, words))
    nothing = np.full(len(ways), np.nan)
    rows = [np.stack([goal.get(name, nothing) for goal in goals], axis=1).ravel() for name in _ADVISED]
    available = np.repeat([case_ways.available for case_ways in ways], len(goals))
    same = {**_names(ways, len(goals)), "jobs": queue.jobs, "available_cores": available}
    return same | dict(zip(_ADVISED, rows, strict=True))


def _names(ways: Sequence[Ways], rows: int) -> dict[str, NDArray[np.object_]]:
    """Columns that name what ways belong to, so many rows for each of them."""
    return {
        name: np.repeat(np.array([getattr(case_ways, name) for case_ways in ways], object), rows)
        for name in ("case", "interconnect", "kind")
    }


_COPIED = ["processes", "oversubscription", "jobs_at_once", "processes_per_node", "threads"]
_COPIED += [f"{name}{end}" for name in ("jobs_per_day", "makespan_seconds") for end in ("", "_low", "_high")]
_ADVISED = ["goal", "advice", "time_per_job_seconds", "not_told_apart", *_COPIED]


def _advice(packing: Mapping[str, NDArray], goal: str, queue: Queue, words: Words) -> dict[str, NDArray]:
    """Columns of ``advice`` for one goal, an entry for each of the ways."""
    chosen, contenders = GOALS[goal]
    found, way = packing[chosen].any(axis=1), packing[chosen].argmax(axis=1)
    every = np.arange(len(way))

    def advice(packing: Mapping[str, NDArray], chosen: NDArray[np.bool_]) -> str:
        way = int(chosen.argmax())
        if not chosen[way]:
            return words.unreached(queue.efficiency)
        return words.way_in_words(packing, way, packing["jobs_at_once"][way])

    def others_in_words(packing: Mapping[str, NDArray], others: NDArray[np.bool_]) -> str | None:
        return words.names_of_ways(packing, np.flatnonzero(others)) if others.any() else None

    columns = {name: np.where(found, packing[name][every, way], np.nan) for name in _COPIED}
    columns["goal"] = np.full(len(way), goal, object)
    columns["advice"] = _written(advice, packing, packing[chosen])
    columns["time_per_job_seconds"] = np.where(found, packing["seconds"][every, way], np.nan)
    if contenders is not None:
        others = packing[contenders].astype(bool) & ~packing[chosen] & found[:, None]
        columns["not_told_apart"] = _written(others_in_words, packing, others)
    return columns


_WORDED = ("processes", "cores", "oversubscription", "processes_per_node", "threads", "jobs_at_once")


def _written(
    write: Callable[[Mapping[str, NDArray], NDArray], str | None],
    packing: Mapping[str, NDArray],
    marks: NDArray,
) -> NDArray[np.object_]:
    """What is written about each of the ways and its marks, once for all that are alike."""
    worded = [packing[name] for name in _WORDED]
    keys = [b"".join(row.tobytes() for row in rows) for rows in zip(marks, *worded, strict=True)]
    texts = {
        key: write({name: packing[name][number] for name in _WORDED}, marks[number])
        for key, number in dict(zip(keys, range(len(keys)), strict=True)).items()
    }
    return np.array([texts[key] for key in keys], object)


def _best_waves(
    ways: Sequence[Ways], packing: Mapping[str, NDArray], queue: Queue, settings: Settings, words: Words
) -> dict[str, NDArray]:
    waves = fastest_waves(packing["seconds"], ways[0].jobs_at_once, queue.jobs)
    drawn = [
        (often[often > 0, None, None] * case_ways.draws[often > 0]).sum(axis=0)
        for case_ways, often in zip(ways, waves, strict=True)
    ]
    return {
        "goal": np.full(len(ways), words.goal_of(queue.jobs), object),
        "advice": _written(lambda rows, often: words.waves_in_words(rows, often, queue.jobs), packing, waves),
        "makespan_seconds": (waves * packing["seconds"]).sum(axis=1),
        **interval_columns("makespan_seconds", np.stack(drawn), settings.level),
    }


def packing_pieces(
    of_cases: Iterable[Sequence[Curve]], queue: Queue, settings: Settings, words: Words
) -> Pieces:
    """Rows of the tables ``packing`` and ``advice`` from all curves of each of some cases."""
    pieces: Pieces = {"packing": [], "advice": []}
    every = (case_ways for curves in of_cases for case_ways in ways_of(curves, queue, settings))
    for ways in alike(every):
        packing = packing_columns(ways, queue, settings)
        names = _names(ways, packing["seconds"].shape[1])
        pieces["packing"].append(names | {name: column.ravel() for name, column in packing.items()})
        pieces["advice"].append(advice_columns(ways, packing, queue, settings, words))
    return pieces
