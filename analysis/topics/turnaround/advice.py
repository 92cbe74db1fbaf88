"""Table ``advice``: how to run a case for one user, for a queue, on a shared machine, and for k jobs.

A way to run a job is a process count with its oversubscription, threads and placement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.presentation.formats import counted, listed, plain
from analysis.runs.columns import (
    COUNT,
    NOTE,
    POSITIVE,
    TEXT,
    described,
    table_schema,
    table_schemas,
    with_descriptions,
    with_interval,
)
from analysis.runs.frames import Piece, is_missing
from analysis.runs.settings import Settings
from analysis.statistics.bootstrap import interval_columns
from analysis.topics.turnaround.packing import Queue, Ways

ADVICE = table_schemas(
    table_schema(
        "advice",
        "Recommendations from `packing`, one row per goal.",
        case=TEXT,
        interconnect=TEXT,
        kind=TEXT,
        goal=described(TEXT, "`one user`, `queue`, `shared machine`, or `k jobs`."),
        jobs=described(COUNT, "Jobs in the queue."),
        available_cores=described(COUNT, "Cores to fill."),
        advice=described(TEXT, "Recommendation."),
        processes=COUNT,
        oversubscription=COUNT,
        jobs_at_once=described(COUNT, "Jobs at the same time."),
        threads=COUNT,
        time_per_job_seconds=described(POSITIVE, "Time of a job."),
        **with_descriptions(with_interval("jobs_per_day", POSITIVE), jobs_per_day="Jobs per day."),
        **with_descriptions(
            with_interval("makespan_seconds", POSITIVE), makespan_seconds="Time until all jobs are done."
        ),
        as_good=described(NOTE, "Alternatives that may be as good."),
        processes_per_node=POSITIVE,
    ),
)

GOALS = {
    "one user": ("least_time", "may_be_least_time"),
    "queue": ("most_jobs", "may_be_most_jobs"),
    "shared machine": ("least_time_efficient", None),
}
"""Columns of ``packing`` by goal: a mark of the advised way, and marks of the ways that may be as good."""
NOTED = ["processes", "oversubscription", "processes_per_node", "threads"]
"""Arguments of `with_notes`."""

_COPIED = ["processes", "oversubscription", "jobs_at_once", "processes_per_node", "threads"]
_COPIED += [f"{name}{end}" for name in ("jobs_per_day", "makespan_seconds") for end in ("", "_low", "_high")]


def advice_rows(ways: Ways, packing: Mapping[str, Any], queue: Queue, settings: Settings) -> Iterator[Piece]:
    """Advise a process count for one user, for a queue, for a shared machine, and for k jobs.

    One user needs the least time. A queue needs the most jobs per day with at least the stated efficiency. A
    shared machine needs the least time with this efficiency. The k jobs run in the waves that end soonest.

    Parameters
    ----------
    ways : Ways
    packing : mapping of str to array (ways,) or single value
        Columns from `analysis.topics.turnaround.packing.packing_columns` for these ways.
    queue : Queue
    settings : Settings

    Yields
    ------
    Piece
        A row of table ``advice`` for each goal.
    """
    common = {"case": ways.case, "interconnect": ways.interconnect, "kind": ways.kind, "jobs": queue.jobs}
    common["available_cores"] = ways.available
    for goal in GOALS:
        yield {**common, **_advice_for(goal, packing, queue)}
    yield {**common, **_advice_for_k_jobs(ways, packing, queue, settings)}


def _advice_for(goal: str, packing: Mapping[str, Any], queue: Queue) -> Piece:
    """Make the row of ``advice`` for one of `GOALS`, without the names of the case."""
    advised, as_good = GOALS[goal]
    is_advised = packing[advised]
    if not is_advised.any():
        return {"goal": goal, "advice": f"no count reaches an efficiency of {queue.efficiency:g}"}
    way = int(is_advised.argmax())
    may_be_as_good = packing[as_good] if as_good else None
    alternatives = [] if may_be_as_good is None else np.flatnonzero(may_be_as_good & ~is_advised).tolist()
    names = [with_notes(*(packing[name][alternative] for name in NOTED)) for alternative in alternatives]
    return {
        "goal": goal,
        "advice": _way_text(packing, way, packing["jobs_at_once"][way]),
        "time_per_job_seconds": packing["seconds"][way],
        "as_good": listed(names) if names else None,
        **{name: packing[name][way] for name in _COPIED},
    }


def _advice_for_k_jobs(ways: Ways, packing: Mapping[str, Any], queue: Queue, settings: Settings) -> Piece:
    """Make the row of ``advice`` for the k jobs of the queue, without the names of the case."""
    waves = fastest_waves(packing["seconds"], ways.jobs_at_once, queue.jobs)
    is_used = waves > 0
    makespan_draws = (waves[is_used, None, None] * ways.draws[is_used]).sum(axis=0)
    return {
        "goal": counted(queue.jobs, "job"),
        "advice": _waves_text(packing, waves, queue.jobs),
        "makespan_seconds": (waves * packing["seconds"]).sum(),
        **interval_columns("makespan_seconds", makespan_draws, settings.level),
    }


def fastest_waves(seconds: ArrayLike, jobs_at_once: ArrayLike, jobs: int) -> NDArray[np.int64]:
    """Compute how many waves of each way complete all jobs soonest, wave after wave.

    A wave runs equal jobs at once and lasts as long as one of them. The last wave may be partly empty. The
    solution is exact, by dynamic programming over the number of jobs left.

    Parameters
    ----------
    seconds : array (ways,)
        Time of one job.
    jobs_at_once : array (ways,)
    jobs : int

    Returns
    -------
    array (ways,)
        Number of waves of each way.

    Examples
    --------
    Four jobs: three at a time on 8 processes, then the last alone on 24:

    >>> fastest_waves([10.0, 15.0], [1, 3], 4)
    array([1, 1])
    """
    wave_seconds = np.asarray(seconds, float).tolist()
    wave_jobs = np.asarray(jobs_at_once, np.int64).tolist()
    shortest, first_way = [0.0], [0]  # shortest time for 0, 1, … jobs, and the way of its first wave
    for left in range(1, jobs + 1):
        times = [
            wave + shortest[max(left - size, 0)] for wave, size in zip(wave_seconds, wave_jobs, strict=True)
        ]
        shortest.append(min(times))
        first_way.append(times.index(shortest[left]))
    waves, left = np.zeros(len(wave_jobs), np.int64), jobs
    while left > 0:
        way = first_way[left]
        waves[way] += 1
        left -= wave_jobs[way]
    return waves


def _waves_text(packing: Mapping[str, Any], waves: NDArray[np.int64], jobs: int) -> str:
    """Describe the waves of each way; the last wave may have fewer jobs than fit."""
    phrases, left = [], jobs
    for way in np.flatnonzero(waves).tolist():
        at_once = packing["jobs_at_once"][way]
        run = min(left, waves[way] * at_once)
        number, size = counted(run, "job"), _size_text(packing, way)
        if waves[way] == 1:
            phrases.append(f"{number} on {size}" if run == 1 else f"{number} at once on {size} each")
        else:
            order = "one after another" if at_once == 1 else f"{at_once} at a time"
            phrases.append(f"{number}, {order}, on {size} each")
        left -= waves[way] * at_once
    return ", then ".join(phrases)


def _way_text(packing: Mapping[str, Any], way: int, jobs_at_once: int) -> str:
    """Describe how many jobs run at a time, and the size of a job."""
    size = _size_text(packing, way)
    return (
        f"1 job at a time on {size}" if jobs_at_once == 1 else f"{jobs_at_once} jobs at a time on {size} each"
    )


def _size_text(packing: Mapping[str, Any], way: int) -> str:
    """Describe the size of a job, and its placement if placement varies."""
    processes, cores, threads = (int(packing[name][way]) for name in ("processes", "cores", "threads"))
    size = counted(processes, "process")
    if threads > 1:
        size += f" of {threads} threads"
    if cores != processes:
        size += f" and {counted(cores, 'core')}"
    placement = per_node(packing["processes_per_node"][way])
    return f"{size} ({placement[0]})" if placement else size


def with_notes(processes: int, oversubscription: int, processes_per_node: float | None, threads: int) -> str:
    """Write a process count, with oversubscription and threads if above 1, and placement if it varies.

    Examples
    --------
    >>> with_notes(8, 1, 2.0, 4)
    '8 (4 threads each, 2 per node)'
    """
    notes = [
        *([f"oversubscription {oversubscription}"] if oversubscription > 1 else []),
        *([f"{threads} threads each"] if threads > 1 else []),
        *per_node(processes_per_node),
    ]
    return f"{processes} ({', '.join(notes)})" if notes else f"{processes}"


def per_node(processes: float | None) -> list[str]:
    """Write a placement as a list with one phrase, ``1 per node``; the list is empty if it does not vary."""
    return [] if processes is None or is_missing(processes) else [f"{plain(processes)} per node"]
