"""Phases of a case of traffic, and their results.

A phase is a set of jobs that run at the same time, each with an offered load. MPI processes carry out a phase
(`workflows.benchmarks.traffic`), or a simulation does (`workflows.simulation.traffic`).
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
from workflows.traffic.outcomes import outcome
from workflows.traffic.patterns import PERMUTATIONS, Pattern, TrafficJob, jobs_of, mean_sizes, numbers
from workflows.traffic.schedule import MESSAGE, Demand

Row = dict[str, Any]

LINK_MESSAGES = 2000
"""Maximum number of messages of a process while the rate of its link is measured."""

EXECUTION = ("seconds", "link_MBps", "seed")
"""Parameters of a case that set how phases are carried out. The other parameters choose the phases."""


@dataclass(frozen=True)
class Phase:
    """Jobs that run at the same time. `labels` are columns that distinguish the rows of phases."""

    labels: Row
    jobs: tuple[TrafficJob, ...]
    demands: dict[str, Demand]

    @property
    def link_bytes(self) -> int:
        """Size of the messages that measure the rate of a link: the mean size of the first job."""
        return self.demands[self.jobs[0].name].mean_bytes


def single_job(
    name: str, processes: int, mean_bytes: str | int, loads: str | float, sizes: str, intervals: str
) -> list[Phase]:
    """Return the phases of a pattern without choices: ``uniform``, a permutation, or ``hot_spot``."""
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
    """Return the phases of traffic to several I/O nodes: one for each combination of the parameters."""
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
    """Return the phases of a compute job, without and with an I/O job: every placement and load."""
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
            io_demand = Demand(io_load, io_mean_bytes, write_ratio=io_write_ratio)
            phases.append(Phase(labels, (compute, io), {"compute": demand, "io": io_demand}))
    return phases


PHASES: Mapping[str, Callable[..., list[Phase]]] = {
    **{name: partial(single_job, name) for name in ("uniform", *PERMUTATIONS, "hot_spot")},
    "multiple_hot_spots": multiple_hot_spots,
    "combined": combined,
}
"""For each pattern, a function that returns its phases. Its arguments are the number of processes, and the
parameters of the case that are not in `EXECUTION`."""


def _labels(pattern: Pattern) -> Row:
    """Return the choices of a pattern with I/O nodes."""
    return {
        "pattern": pattern.name,
        "io_mapping": pattern.io_mapping,
        "application_mapping": pattern.application_mapping,
        "destinations": pattern.destinations,
    }


def seconds_by_size(phases: Sequence[Phase], seconds: float) -> dict[int, float]:
    """Return the duration of phases by the message size of their first job (`Phase.link_bytes`).

    Phases with the largest messages take `seconds`. The duration is proportional to the square root of the
    message size. With equal durations, phases with small messages would have thousands of times as many
    messages.
    """
    sizes = dict.fromkeys(phase.link_bytes for phase in phases)
    return {size: seconds * math.sqrt(size / max(sizes)) for size in sizes}


def given_link_rate(link_MBps: str | float) -> float | None:  # noqa: N803
    """Return the bytes per second at a load of 1, or raise `InputError`; None: the rate is measured."""
    if link_MBps == "measured":
        return None
    if isinstance(link_MBps, str) or not link_MBps > 0:
        raise InputError(f"link_MBps: {link_MBps!r}: must be 'measured' or a number above 0")
    return 1e6 * link_MBps


def link_messages(process: int, processes: int, mean_bytes: int) -> NDArray[np.void]:
    """Return the messages of a process that measure the rate of its link.

    Each process of the first half exchanges messages with a process of the second half, as fast as possible.
    With an odd number of processes, the last process has no partner.
    """
    half = processes // 2
    messages = np.zeros(LINK_MESSAGES if process < 2 * half else 0, MESSAGE)
    messages["process"] = process
    messages["destination"] = (process + half) % max(2 * half, 1)
    messages["bytes"], messages["write"] = mean_bytes, True
    return messages


def link_rate(mean_bytes: int, arrived: NDArray[np.float64]) -> float | None:
    """Return the bytes per second of a process from the arrival times of its `link_messages`.

    It is None if no message arrived.
    """
    times = arrived[~np.isnan(arrived)]
    return float(mean_bytes * len(times) / times.max()) if len(times) else None


def phase_rows(
    phase: Phase,
    messages: NDArray[np.void],
    arrived: NDArray[np.float64],
    link_bytes_per_second: float,
    seconds: float,
) -> list[Row]:
    """Summarize a phase that was carried out.

    Parameters
    ----------
    messages, arrived, link_bytes_per_second, seconds
        See `workflows.traffic.outcomes.outcome`; of all jobs.

    Returns
    -------
    list of dict
        A row for each job: the labels, ``mean_bytes``, ``offered_load``, the load of the other job
        (``beside_load``; None without another job), and the values of `outcome`.
    """
    rows = []
    for index, job in enumerate(phase.jobs):
        is_of_job = messages["job"] == index
        others = [demand.offered_load for name, demand in phase.demands.items() if name != job.name]
        labels: Row = {
            **phase.labels,
            "job": job.name,
            "mean_bytes": phase.demands[job.name].mean_bytes,
            "offered_load": phase.demands[job.name].offered_load,
            "beside_load": others[0] if others else None,
        }
        results = outcome(job, messages[is_of_job], arrived[is_of_job], link_bytes_per_second, seconds)
        rows.append(labels | results)
    return rows


def seconds_of_a_megabyte(rows: Sequence[Row]) -> float | None:
    """Return the seconds per accepted megabyte of a client, as a geometric mean over rows.

    The mean covers the rows at the highest load: of the compute job, or of all jobs if there is no compute
    job. It is None without such rows, or if nothing was accepted in a phase.
    """
    main = [row for row in rows if row["job"] == "compute"] or rows
    highest = [row for row in main if row["offered_load"] == max(row["offered_load"] for row in main)]
    if not highest or not all(row["accepted_MBps"] for row in highest):
        return None
    return math.exp(statistics.fmean(-math.log(row["accepted_MBps"]) for row in highest))


def add_slowdown(rows: Sequence[Row]) -> None:
    """Add ``slowdown`` to the rows of a compute job that shares the network with an I/O job.

    The slowdown is the bandwidth without the I/O job divided by the bandwidth with it. It is None if none of
    the compute job's messages arrived.
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
            shared = row["accepted_MBps"]
            row["slowdown"] = alone[tuple(row[name] for name in key)] / shared if shared else None
