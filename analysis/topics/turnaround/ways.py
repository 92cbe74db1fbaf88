"""Ways to run jobs, in words."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from analysis.presentation.formats import counted, listed, plain
from analysis.runs.frames import is_missing


def waves_in_words(packing: Mapping[str, NDArray], waves: NDArray[np.int64], jobs: int) -> str:
    """Write one way after the other, with no more jobs at a time than are left.

    Parameters
    ----------
    packing : mapping of str to array (ways,)
        As `analysis.topics.turnaround.tables.packing_columns` gives it.
    waves : array (ways,)
        As `analysis.topics.turnaround.tables.fastest_waves` gives it.
    """
    phrases, left = [], jobs
    for way in np.flatnonzero(waves):
        at_once = packing["jobs_at_once"][way]
        often = "one wave" if waves[way] == 1 else counted(waves[way], "wave")
        phrases.append(f"{way_in_words(packing, way, min(left, at_once))}, in {often}")
        left -= waves[way] * at_once
    return ", then ".join(phrases)


def way_in_words(packing: Mapping[str, NDArray], way: int, jobs_at_once: int) -> str:
    """Write how many jobs run at a time, the size of each, and its placement where placement varies."""
    processes, cores, threads = (int(packing[name][way]) for name in ("processes", "cores", "threads"))
    single = jobs_at_once == 1
    size = counted(processes, "process") + f" of {threads} threads" * (threads > 1)
    size += f" and {counted(cores, 'core')}" * (cores != processes) + ("" if single else " each")
    return ", ".join(
        [
            f"{'one' if single else jobs_at_once} at a time on {size}",
            *per_node(packing["processes_per_node"][way]),
        ]
    )


def name_of_way(packing: Mapping[str, NDArray], way: int) -> str:
    """Write the process count of a way, with what distinguishes it from others of that count."""
    return with_notes(*(packing[name][way] for name in NOTED))


def names_of_ways(packing: Mapping[str, NDArray], ways: NDArray[np.int64]) -> str:
    """Write the process counts of several ways as a list."""
    return listed(name_of_way(packing, way) for way in ways)


def goal_of(jobs: int) -> str:
    """Name the goal of running so many jobs soonest."""
    return counted(jobs, "job")


def unreached(efficiency: float) -> str:
    """Write that no way has an efficiency."""
    return f"no count reaches an efficiency of {efficiency:g}"


NOTED = ["processes", "oversubscription", "processes_per_node", "threads"]
"""What `with_notes` takes."""


def with_notes(processes: int, level: int, processes_per_node: object, threads: int) -> str:
    """Write a count, level and threads where they are not 1, and placement where it varies.

    Examples
    --------
    >>> with_notes(8, 1, 2.0, 4)
    '8 (4 threads each, 2 per node)'
    """
    notes = [
        *([f"oversubscription {level}"] if level > 1 else []),
        *([f"{threads} threads each"] if threads > 1 else []),
        *per_node(processes_per_node),
    ]
    return f"{processes}" + (f" ({', '.join(notes)})" if notes else "")


def per_node(processes: object) -> list[str]:
    """Write a placement as a list of one, ``1 per node``; of none where it does not vary."""
    return [] if is_missing(processes) else [f"{plain(processes)} per node"]
