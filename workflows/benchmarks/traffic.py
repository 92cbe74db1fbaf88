"""Patterns of traffic over all offered loads: what the programs of the cases give to `program.start`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from workflows.benchmarks.endpoint import Endpoint
from workflows.benchmarks.program import Told
from workflows.benchmarks.sweep import Row, summary
from workflows.errors import InputError
from workflows.traffic.options import numbers
from workflows.traffic.outcomes import outcome
from workflows.traffic.patterns import Job, Pattern, jobs_of
from workflows.traffic.schedule import MESSAGE, Demand, messages_of

LINK_MESSAGES = 2000
"""Messages of a process at most while the rate of its link is measured."""


@dataclass(frozen=True)
class Phase:
    """Jobs that run at once, for a time.

    Attributes
    ----------
    labels : dict
        What tells its rows from others.
    jobs : tuple of Job
    demands : dict of str to Demand
    """

    labels: Row
    jobs: tuple[Job, ...]
    demands: dict[str, Demand]


def one_job(name: str) -> Callable[..., Told]:
    """Give the program of a pattern that leaves nothing open: ``uniform``, a permutation, or ``hot_spot``."""

    def program(
        comm: MPI.Comm,
        mean_bytes: int,
        loads: str | float,
        sizes: str,
        intervals: str,
        seconds: float,
        link_MBps: str | float,  # noqa: N803
        seed: int,
    ) -> Told:
        jobs = jobs_of(Pattern(name), comm.size)
        phases = [
            Phase({"pattern": name, "sizes": sizes, "intervals": intervals}, jobs, _same(jobs, demand))
            for load in numbers("loads", loads)
            for demand in [Demand(load, mean_bytes, sizes, intervals)]
        ]
        return carried(comm, phases, mean_bytes, seconds, link_MBps, seed)

    return program


def multiple_hot_spots(
    comm: MPI.Comm,
    mean_bytes: int,
    loads: str | float,
    sizes: str,
    write_ratios: str | float,
    intervals: str,
    destinations: str,
    io_mappings: str,
    application_mappings: str,
    seconds: float,
    link_MBps: str | float,  # noqa: N803
    seed: int,
) -> Told:
    """Traffic to several I/O nodes, for every combination of what its five dimensions have."""
    phases = []
    for ratio, interval, choice, nodes, application, load in product(
        numbers("write_ratios", write_ratios),
        intervals.split(),
        destinations.split(),
        io_mappings.split(),
        application_mappings.split(),
        numbers("loads", loads),
    ):
        pattern = Pattern(
            "multiple_hot_spots", destinations=choice, io_mapping=nodes, application_mapping=application
        )
        jobs = jobs_of(pattern, comm.size)
        labels = {**_labels(pattern), "sizes": sizes, "intervals": interval, "write_ratio": ratio}
        phases.append(Phase(labels, jobs, _same(jobs, Demand(load, mean_bytes, sizes, interval, ratio))))
    return carried(comm, phases, mean_bytes, seconds, link_MBps, seed)


def combined(
    comm: MPI.Comm,
    mean_bytes: int,
    loads: str | float,
    io_mean_bytes: int,
    io_loads: str | float,
    io_write_ratio: float,
    io_mappings: str,
    application_mappings: str,
    seconds: float,
    link_MBps: str | float,  # noqa: N803
    seed: int,
) -> Told:
    """A compute job alone and beside an I/O job, for every placement of the I/O nodes and load of the two."""
    phases = []
    for nodes, application, load in product(
        io_mappings.split(), application_mappings.split(), numbers("loads", loads)
    ):
        pattern = Pattern("combined", io_mapping=nodes, application_mapping=application)
        compute, io = jobs_of(pattern, comm.size)
        labels, demand = _labels(pattern), Demand(load, mean_bytes)
        phases.append(Phase(labels, (compute,), {"compute": demand}))
        for io_load in numbers("io_loads", io_loads):
            beside = Demand(io_load, io_mean_bytes, write_ratio=io_write_ratio)
            phases.append(Phase(labels, (compute, io), {"compute": demand, "io": beside}))
    told = carried(comm, phases, mean_bytes, seconds, link_MBps, seed)
    add_slowdown(told["rows"])
    return told


def _labels(pattern: Pattern) -> Row:
    """Choices of a pattern with I/O nodes."""
    return {
        "pattern": pattern.name,
        "io_mapping": pattern.io_mapping,
        "application_mapping": pattern.application_mapping,
        "destinations": pattern.destinations,
    }


def _same(jobs: Iterable[Job], demand: Demand) -> dict[str, Demand]:
    return {job.name: demand for job in jobs}


def carried(
    comm: MPI.Comm,
    phases: Sequence[Phase],
    mean_bytes: int,
    seconds: float,
    link_MBps: str | float,  # noqa: N803
    seed: int,
) -> Told:
    """Carry out one phase after the other and sum them up.

    Parameters
    ----------
    comm : MPI.Comm
    phases : sequence of Phase
        The same on every process.
    mean_bytes : int
        Size of the messages by which the rate of a link is measured.
    seconds : float
        Of a phase.
    link_MBps : float or str
        What a load of 1 is, 10^6 bytes/s of a process; ``measured``: what a process sends while every one of
        the first half exchanges messages with one of the second half, median over the processes.
    seed : int

    Returns
    -------
    dict
        ``rows``, on rank 0: a row a phase and job, with its labels, its ``offered_load``, the load of the
        other job (``beside_load``; None where it is alone), and what `workflows.traffic.outcomes.outcome`
        gives. ``answer``: wrong and lost bytes. ``seconds``: geometric mean of the time in which a client's
        megabyte is accepted, over the compute job's rows (where there is none, all) at the highest load;
        None where nothing was accepted in one of them.
    """
    link, wrong = _link_rate(comm, mean_bytes, seconds, link_MBps)
    own = [messages_of(comm.rank, phase.jobs, phase.demands, link, seconds, seed) for phase in phases]
    endpoint = Endpoint(comm, _largest(comm, own))
    rows: list[Row] = []
    for phase, messages in zip(phases, own, strict=True):
        arrived = endpoint.carry(messages, seconds)
        parts = comm.gather((messages, arrived))
        if parts is not None:
            rows += _rows(phase, parts, link, seconds)
    endpoint.close()
    wrong += endpoint.wrong_bytes
    return {"rows": rows, "answer": comm.allreduce(wrong), "seconds": _seconds_of_a_megabyte(rows)}


def _largest(comm: MPI.Comm, schedules: Iterable[NDArray[np.void]]) -> int:
    """Bytes of the largest message of all processes."""
    own = max((int(messages["bytes"].max(initial=1)) for messages in schedules), default=1)
    return comm.allreduce(own, MPI.MAX)


def _link_rate(
    comm: MPI.Comm,
    mean_bytes: int,
    seconds: float,
    link_MBps: str | float,  # noqa: N803
) -> tuple[float, int]:
    """Bytes per second that a load of 1 stands for, and wrong bytes while it was measured."""
    if link_MBps != "measured":
        if isinstance(link_MBps, str) or not link_MBps > 0:
            raise InputError(f"link_MBps: {link_MBps!r}: must be 'measured' or a number above 0")
        return 1e6 * link_MBps, 0
    half = comm.size // 2
    messages = np.zeros(LINK_MESSAGES if comm.rank < 2 * half else 0, MESSAGE)
    messages["destination"] = (comm.rank + half) % max(2 * half, 1)
    messages["bytes"], messages["write"] = mean_bytes, True
    endpoint = Endpoint(comm, mean_bytes)
    arrived = endpoint.carry(messages, seconds)
    endpoint.close()
    there = arrived[~np.isnan(arrived)]
    rates = comm.allgather(float(mean_bytes * len(there) / there.max()) if len(there) else None)
    return float(np.median([rate for rate in rates if rate is not None])), endpoint.wrong_bytes


def _rows(
    phase: Phase,
    parts: Sequence[tuple[NDArray[np.void], NDArray[np.float64]]],
    link_bytes_per_second: float,
    seconds: float,
) -> list[Row]:
    messages, arrived = (np.concatenate(part) for part in zip(*parts, strict=True))
    rows = []
    for place, job in enumerate(phase.jobs):
        its = messages["job"] == place
        others = [demand.offered_load for name, demand in phase.demands.items() if name != job.name]
        labels: dict[str, Any] = {
            **phase.labels,
            "job": job.name,
            "offered_load": phase.demands[job.name].offered_load,
            "beside_load": others[0] if others else None,
        }
        rows.append(labels | outcome(job, messages[its], arrived[its], link_bytes_per_second, seconds))
    return rows


def _seconds_of_a_megabyte(rows: Sequence[Row]) -> float | None:
    """Geometric mean over the rows that stand for the whole; None on ranks that have no rows."""
    main = [row for row in rows if row["job"] == "compute"] or rows
    highest = [row for row in main if row["offered_load"] == max(row["offered_load"] for row in main)]
    if not highest or not all(row["accepted_MBps"] for row in highest):
        return None
    return summary([1 / row["accepted_MBps"] for row in highest])


def add_slowdown(rows: Sequence[Row]) -> None:
    """Add ``slowdown`` to the compute job's rows beside another job: its bandwidth alone over that beside it.

    It is missing (None) where it got nothing through beside the other job.
    """
    key = ("io_mapping", "application_mapping", "offered_load")
    compute = [row for row in rows if row["job"] == "compute"]
    alone = {
        tuple(row[name] for name in key): row["accepted_MBps"]
        for row in compute
        if row["beside_load"] is None
    }
    for row in compute:
        if row["beside_load"] is not None:
            beside = row["accepted_MBps"]
            row["slowdown"] = alone[tuple(row[name] for name in key)] / beside if beside else None
