"""Turnaround of one job or throughput of many: how to run k jobs on N cores.

Jobs that run at the same time are taken not to slow each other: they are on separate cores, and what
they share (memory, interconnect, file system) is not modelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analysis.bootstrap import Floats, percentile_interval
from analysis.curves import Curve
from analysis.decision_schemas import conform
from analysis.formats import counted, listed
from analysis.metrics import efficiency, runs_per_day
from analysis.pareto import nondominated
from analysis.peaks import lead_over_others
from analysis.settings import Settings


@dataclass(frozen=True)
class Queue:
    """What waits to be run, and on what.

    Attributes
    ----------
    jobs : int
        Equal jobs, k.
    cores : int or None
        N; without it, the largest number of cores on which the case was run.
    efficiency : float
        Least efficiency that a shared machine asks for.
    """

    jobs: int = 3
    cores: int | None = None
    efficiency: float = 0.75

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if not 1 <= self.jobs <= 100_000:
            raise ValueError(f"jobs: {self.jobs}; from 1 to 100000")
        if self.cores is not None and self.cores < 1:
            raise ValueError(f"cores: {self.cores}; 1 or more")
        if not 0 < self.efficiency <= 1:
            raise ValueError(f"efficiency: {self.efficiency}; above 0, at most 1")


@dataclass(frozen=True, eq=False)
class Ways:
    """Ways to run one job of a case over one interconnect, by process count and oversubscription.

    Attributes
    ----------
    case, interconnect, kind : str
    available : int
        Cores, N.
    table : DataFrame
        ``oversubscription, processes_per_node, nodes, processes, cores, jobs_at_once, used_cores, seconds,
        seconds_low, seconds_high, efficiency``; only what fits the cores.
    draws : array (ways, scenarios, B)
        Of the time.
    """

    case: str
    interconnect: str
    kind: str
    available: int
    table: pd.DataFrame
    draws: Floats


def ways_of(curves: Sequence[Curve], queue: Queue, scaling: str = "strong") -> Iterator[Ways]:
    """Ways to run a case over each interconnect, levels and placements together.

    Weak scaling has none: its jobs are not the same job.

    Parameters
    ----------
    curves : sequence of Curve
        Of one case.
    queue : Queue
    scaling : str
    """
    if scaling == "weak" or not curves:
        return
    available = queue.cores or max(int(curve.table["cores"].max()) for curve in curves)
    ordered = sorted(curves, key=lambda curve: (curve.kind, curve.interconnect, curve.oversubscription))
    for (kind, interconnect), group in groupby(ordered, key=lambda curve: (curve.kind, curve.interconnect)):
        members = list(group)
        table = pd.concat([_times(curve) for curve in members], ignore_index=True)
        repeated = table["serial"] & (table["serial"].cumsum() > 1)
        fits = ~repeated & (table["cores"] <= available)
        if fits.any():
            draws = np.concatenate([curve.draws for curve in members])[fits]
            at_once = available // table["cores"]
            table = table.assign(jobs_at_once=at_once, used_cores=at_once * table["cores"])[fits]
            yield Ways(members[0].case, interconnect, kind, available, table.reset_index(drop=True), draws)


def _times(curve: Curve) -> pd.DataFrame:
    nodes = curve.table["nodes"]
    return pd.DataFrame(
        {
            "oversubscription": curve.oversubscription,
            "processes_per_node": curve.processes_per_node,
            "nodes": np.where(nodes == 0, np.nan, nodes),
            "processes": curve.processes,
            "cores": curve.table["cores"],
            **{name: curve.table[name] for name in ("seconds", "seconds_low", "seconds_high")},
            "efficiency": efficiency(curve.speedup, curve.table["cores"], curve.reference.cores),
            "serial": ~curve.own,
        }
    )


def packing_rows(ways: Ways, queue: Queue, settings: Settings) -> pd.DataFrame:
    """Jobs a day against time per job, for each way to run them.

    floor(N / cores) jobs run at once, so jobs_per_day = floor(N / cores) 86400 / T; k jobs run in
    ceil(k / floor(N / cores)) waves, and makespan_seconds is that many times T.

    Parameters
    ----------
    ways : Ways
    queue : Queue
    settings : Settings

    Returns
    -------
    DataFrame
        Columns of table ``packing``. `least_time`, `most_jobs` (with at least the queue's efficiency) and
        `least_time_efficient` mark one way each; `may_be_...` all whose joint interval of the log lead
        over the others does not lie below 0. The Pareto set is that of time per job against jobs a day.
    """
    table = ways.table
    seconds, at_once = table["seconds"].to_numpy(), table["jobs_at_once"].to_numpy()
    rate, rate_draws = at_once * runs_per_day(seconds), at_once[:, None, None] * runs_per_day(ways.draws)
    waves = -(-queue.jobs // at_once)
    efficient = table["efficiency"].to_numpy() >= queue.efficiency
    everyone = np.ones(len(table), bool)
    sampled = ways.draws.shape[1] == 1 and not np.isnan(ways.draws).any()
    share = nondominated(ways.draws[:, 0], rate_draws[:, 0]).mean(axis=1) if sampled else np.nan
    return table.assign(
        case=ways.case,
        interconnect=ways.interconnect,
        kind=ways.kind,
        available_cores=ways.available,
        jobs=queue.jobs,
        **_with_interval("jobs_per_day", rate, rate_draws, settings.level),
        **_with_interval(
            "makespan_seconds", waves * seconds, waves[:, None, None] * ways.draws, settings.level
        ),
        pareto=nondominated(seconds, rate),
        pareto_share=share,
        least_time=_first(1 / seconds, rate, everyone),
        may_be_least_time=_contenders(1 / ways.draws, everyone, settings.level),
        most_jobs=_first(rate, 1 / seconds, efficient),
        may_be_most_jobs=_contenders(rate_draws, efficient, settings.level),
        least_time_efficient=_first(1 / seconds, rate, efficient),
    )


def _with_interval(name: str, value: Floats, draws: Floats, level: float) -> dict[str, Floats]:
    low, high = percentile_interval(draws, level)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _first(values: Floats, second: Floats, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the highest value among some, of equals the one with the highest second value."""
    marks = np.zeros(len(values), bool)
    if among.any():
        ranked = np.lexsort((-second, -values, ~among))
        marks[ranked[0]] = True
    return marks


def _contenders(draws: Floats, among: NDArray[np.bool_], level: float) -> pd.api.extensions.ExtensionArray:
    """Which of some may be the highest of them; empty without draws."""
    marks = pd.array(np.zeros(len(draws), bool), dtype="boolean")
    if np.isnan(draws).any():
        marks[:] = pd.NA
    elif among.any():
        _, high = percentile_interval(lead_over_others(draws[among]), level)
        marks[among] = high >= 0
    return marks


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


def advice_rows(ways: Ways, packing: pd.DataFrame, queue: Queue, settings: Settings) -> pd.DataFrame:
    """Process count to advise: for one user, for a queue, for a shared machine, and for k jobs.

    One user wants the least time. A queue wants the most jobs a day with at least the stated
    efficiency, a shared machine the least time with it. `k jobs` are run in the waves that end soonest.

    Parameters
    ----------
    ways : Ways
    packing : DataFrame
        As `packing_rows` gives it for these ways.
    queue : Queue
    settings : Settings

    Returns
    -------
    DataFrame
        Columns of table ``advice``.
    """
    rows = [_advice(packing, goal, queue) for goal in GOALS] + [_best_waves(ways, packing, queue, settings)]
    same = ["case", "interconnect", "kind", "jobs", "available_cores"]
    return pd.DataFrame(rows).assign(**packing.iloc[0][same])


def _advice(packing: pd.DataFrame, goal: str, queue: Queue) -> dict[str, object]:
    chosen, contenders = GOALS[goal]
    found = packing[packing[chosen]]
    if found.empty:
        return {"goal": goal, "advice": f"no count reaches an efficiency of {queue.efficiency:g}"}
    row = found.iloc[0]
    advice = {"goal": goal, "advice": _way(row), "time_per_job_seconds": row["seconds"]}
    if contenders is not None:
        others = packing[packing[contenders].fillna(False) & ~packing[chosen]]
        advice["not_told_apart"] = listed(_name(other) for other in others.itertuples()) or None
    counts = ["processes", "oversubscription", "jobs_at_once"]
    times = [f"{name}{end}" for name in ("jobs_per_day", "makespan_seconds") for end in ("", "_low", "_high")]
    return advice | row[counts + times].to_dict()


def _best_waves(ways: Ways, packing: pd.DataFrame, queue: Queue, settings: Settings) -> dict[str, object]:
    waves = fastest_waves(packing["seconds"], packing["jobs_at_once"], queue.jobs)
    (low,), (high,) = percentile_interval(
        (waves[:, None, None] * ways.draws).sum(axis=0)[None], settings.level
    )
    used = zip(waves, packing.iterrows(), strict=True)
    return {
        "goal": counted(queue.jobs, "job"),
        "advice": listed([f"{_way(row)}, {counted(count, 'wave')}" for count, (_, row) in used if count]),
        "makespan_seconds": float((waves * packing["seconds"]).sum()),
        "makespan_seconds_low": low,
        "makespan_seconds_high": high,
    }


def _way(row: pd.Series) -> str:
    jobs = "one job" if row["jobs_at_once"] == 1 else f"{row['jobs_at_once']} jobs"
    count = counted(row["processes"], "process", "processes")
    return f"{jobs} at a time on {count} and {counted(row['cores'], 'core')}"


def _name(way: tuple) -> str:
    """Process count, with the oversubscription level where it is not 1."""
    return f"{way.processes}" + (f" (level {way.oversubscription})" if way.oversubscription > 1 else "")


def packing_tables(
    case_curves: Iterable[Sequence[Curve]], queue: Queue, settings: Settings
) -> dict[str, pd.DataFrame]:
    """Tables ``packing`` and ``advice`` of all cases.

    Parameters
    ----------
    case_curves : iterable of sequences of Curve
        All curves of each case.
    queue : Queue
    settings : Settings
    """
    packings, advices = [pd.DataFrame()], [pd.DataFrame()]
    for curves in case_curves:
        for ways in ways_of(curves, queue, settings.scaling):
            packings.append(packing_rows(ways, queue, settings))
            advices.append(advice_rows(ways, packings[-1], queue, settings))
    tables = {"packing": packings, "advice": advices}
    return {name: conform(name, pd.concat(rows, ignore_index=True)) for name, rows in tables.items()}
