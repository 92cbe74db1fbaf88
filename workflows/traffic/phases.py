"""The phases of a pattern's case: which jobs run at once, at which offered load, and what they came to.

A phase is carried out by processes of MPI (`workflows.benchmarks.traffic`) or in simulated time
(`workflows.simulation.traffic`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflows.errors import InputError
from workflows.traffic.options import mean_sizes, numbers
from workflows.traffic.outcomes import outcome
from workflows.traffic.patterns import PERMUTATIONS, Pattern, TrafficJob, jobs_of
from workflows.traffic.schedule import MESSAGE, Demand

Row = dict[str, Any]

LINK_MESSAGES = 2000
"""Messages of a process at most while the rate of its link is measured."""

EXECUTION = ("seconds", "link_MBps", "seed")
"""Parameters of a case that say how its phases are carried out, beside those that say which there are."""


@dataclass(frozen=True)
class Phase:
    """Jobs that run at once, for a time; `labels` are columns by which its rows differ from other phases'."""

    labels: Row
    jobs: tuple[TrafficJob, ...]
    demands: dict[str, Demand]

    @property
    def link_bytes(self) -> int:
        """Size of the messages by which the rate of a link is measured: the mean of the first job's."""
        return self.demands[self.jobs[0].name].mean_bytes


def one_job(
    name: str, processes: int, mean_bytes: str | int, loads: str | float, sizes: str, intervals: str
) -> list[Phase]:
    """Phases of a pattern that leaves nothing open: ``uniform``, a permutation, or ``hot_spot``."""
    (job,) = jobs_of(Pattern(name), processes)
    return [
        Phase(
            {"pattern": name, "sizes": size, "intervals": interval},
            (job,),
            {job.name: Demand(load, mean, size, interval)},
        )
        for mean, size, interval, load in product(
            mean_sizes(mean_bytes), sizes.split(), intervals.split(), numbers("loads", loads)
        )
    ]


def multiple_hot_spots(
    processes: int,
    mean_bytes: str | int,
    loads: str | float,
    sizes: str,
    write_ratios: str | float,
    intervals: str,
    destinations: str,
    io_mappings: str,
    application_mappings: str,
) -> list[Phase]:
    """Phases of traffic to several I/O nodes, one for every combination of what its five dimensions have."""
    phases = []
    for mean, ratio, size, interval, choice, nodes, application, load in product(
        mean_sizes(mean_bytes),
        numbers("write_ratios", write_ratios),
        sizes.split(),
        intervals.split(),
        destinations.split(),
        io_mappings.split(),
        application_mappings.split(),
        numbers("loads", loads),
    ):
        pattern = Pattern(
            "multiple_hot_spots", destinations=choice, io_mapping=nodes, application_mapping=application
        )
        (job,) = jobs_of(pattern, processes)
        labels = {**_labels(pattern), "sizes": size, "intervals": interval, "write_ratio": ratio}
        phases.append(Phase(labels, (job,), {job.name: Demand(load, mean, size, interval, ratio)}))
    return phases


def combined(
    processes: int,
    mean_bytes: str | int,
    loads: str | float,
    io_mean_bytes: int,
    io_loads: str | float,
    io_write_ratio: float,
    io_mappings: str,
    application_mappings: str,
) -> list[Phase]:
    """Phases of a compute job alone and beside an I/O job: every placement of the I/O nodes, all loads."""
    phases = []
    for mean, nodes, application, load in product(
        mean_sizes(mean_bytes),
        io_mappings.split(),
        application_mappings.split(),
        numbers("loads", loads),
    ):
        pattern = Pattern("combined", io_mapping=nodes, application_mapping=application)
        compute, io = jobs_of(pattern, processes)
        labels, demand = _labels(pattern), Demand(load, mean)
        phases.append(Phase(labels, (compute,), {"compute": demand}))
        for io_load in numbers("io_loads", io_loads):
            beside = Demand(io_load, io_mean_bytes, write_ratio=io_write_ratio)
            phases.append(Phase(labels, (compute, io), {"compute": demand, "io": beside}))
    return phases


PHASES: Mapping[str, Callable[..., list[Phase]]] = {
    **{name: partial(one_job, name) for name in ("uniform", *PERMUTATIONS, "hot_spot")},
    "multiple_hot_spots": multiple_hot_spots,
    "combined": combined,
}
"""By pattern: its phases on a number of processes, from parameters of the case that are not `EXECUTION`."""


def _labels(pattern: Pattern) -> Row:
    """Choices of a pattern with I/O nodes."""
    return {
        "pattern": pattern.name,
        "io_mapping": pattern.io_mapping,
        "application_mapping": pattern.application_mapping,
        "destinations": pattern.destinations,
    }


def seconds_by_size(phases: Sequence[Phase], seconds: float) -> dict[int, float]:
    """How long phases take, by the size of the messages of their first job (`Phase.link_bytes`).

    Those of the largest messages take all of the time, others less, by the square root of the size: else a
    phase of small messages would have thousands of times as many.
    """
    sizes = dict.fromkeys(phase.link_bytes for phase in phases)
    return {size: seconds * math.sqrt(size / max(sizes)) for size in sizes}


def given_link_rate(link_MBps: str | float) -> float | None:  # noqa: N803
    """Bytes per second that a load of 1 stands for, or raise `InputError`; None where it is ``measured``."""
    if link_MBps == "measured":
        return None
    if isinstance(link_MBps, str) or not link_MBps > 0:
        raise InputError(f"link_MBps: {link_MBps!r}: must be 'measured' or a number above 0")
    return 1e6 * link_MBps


def link_messages(process: int, processes: int, mean_bytes: int) -> NDArray[np.void]:
    """Messages of a process by which the rate of a link is measured.

    Each process of the first half exchanges messages with one of the second half, as fast as it can; of an
    odd number of processes the last has no partner.
    """
    half = processes // 2
    messages = np.zeros(LINK_MESSAGES if process < 2 * half else 0, MESSAGE)
    messages["process"] = process
    messages["destination"] = (process + half) % max(2 * half, 1)
    messages["bytes"], messages["write"] = mean_bytes, True
    return messages


def link_rate(mean_bytes: int, arrived: NDArray[np.float64]) -> float | None:
    """Bytes per second of a process whose `link_messages` arrived so; None where none did."""
    there = arrived[~np.isnan(arrived)]
    return float(mean_bytes * len(there) / there.max()) if len(there) else None


def phase_rows(
    phase: Phase,
    messages: NDArray[np.void],
    arrived: NDArray[np.float64],
    link_bytes_per_second: float,
    seconds: float,
) -> list[Row]:
    """Sum up a phase that was carried out.

    Parameters
    ----------
    messages, arrived, link_bytes_per_second, seconds
        As `workflows.traffic.outcomes.outcome` takes them, of all jobs.

    Returns
    -------
    list of dict
        A row a job: the labels, its ``mean_bytes`` and ``offered_load``, the load of the other job
        (``beside_load``; None where it is alone), and what `outcome` gives.
    """
    rows = []
    for index, job in enumerate(phase.jobs):
        its = messages["job"] == index
        others = [demand.offered_load for name, demand in phase.demands.items() if name != job.name]
        labels: Row = {
            **phase.labels,
            "job": job.name,
            "mean_bytes": phase.demands[job.name].mean_bytes,
            "offered_load": phase.demands[job.name].offered_load,
            "beside_load": others[0] if others else None,
        }
        rows.append(labels | outcome(job, messages[its], arrived[its], link_bytes_per_second, seconds))
    return rows


def seconds_of_a_megabyte(rows: Sequence[Row]) -> float | None:
    """Time in which a client's megabyte is accepted, geometric mean over the rows that stand for the whole.

    These are the compute job's (where there is none, all) at the highest load. None where there are no rows,
    or nothing was accepted in a phase.
    """
    main = [row for row in rows if row["job"] == "compute"] or rows
    highest = [row for row in main if row["offered_load"] == max(row["offered_load"] for row in main)]
    if not highest or not all(row["accepted_MBps"] for row in highest):
        return None
    return math.exp(statistics.fmean(-math.log(row["accepted_MBps"]) for row in highest))


def add_slowdown(rows: Sequence[Row]) -> None:
    """Add ``slowdown`` to the compute job's rows beside another job: its bandwidth alone over that beside it.

    It is missing (None) where it got nothing through beside the other job.
    """
    key = ("io_mapping", "application_mapping", "mean_bytes", "offered_load")
    compute = [row for row in rows if row["pattern"] == "combined" and row["job"] == "compute"]
    alone = {
        tuple(row[name] for name in key): row["accepted_MBps"]
        for row in compute
        if row["beside_load"] is None
    }
    for row in compute:
        if row["beside_load"] is not None:
            beside = row["accepted_MBps"]
            row["slowdown"] = alone[tuple(row[name] for name in key)] / beside if beside else None
