"""Patterns of traffic over all offered loads: what the programs of the cases give to `program.start`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from workflows.benchmarks.endpoint import Endpoint
from workflows.benchmarks.program import Told
from workflows.traffic import phases
from workflows.traffic.phases import Phase, Row
from workflows.traffic.schedule import messages_of


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
        wanted = phases.one_job(name, comm.size, mean_bytes, loads, sizes, intervals)
        return carried(comm, wanted, mean_bytes, seconds, link_MBps, seed)

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
    wanted = phases.multiple_hot_spots(
        comm.size,
        mean_bytes,
        loads,
        sizes,
        write_ratios,
        intervals,
        destinations,
        io_mappings,
        application_mappings,
    )
    return carried(comm, wanted, mean_bytes, seconds, link_MBps, seed)


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
    wanted = phases.combined(
        comm.size,
        mean_bytes,
        loads,
        io_mean_bytes,
        io_loads,
        io_write_ratio,
        io_mappings,
        application_mappings,
    )
    return carried(comm, wanted, mean_bytes, seconds, link_MBps, seed)


def carried(
    comm: MPI.Comm,
    wanted: Sequence[Phase],
    mean_bytes: int,
    seconds: float,
    link_MBps: str | float,  # noqa: N803
    seed: int,
) -> Told:
    """Carry out one phase after the other and sum them up.

    Parameters
    ----------
    comm : MPI.Comm
    wanted : sequence of Phase
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
        ``rows``, on rank 0: see `workflows.traffic.phases.phase_rows`; with a slowdown for combined jobs.
        ``answer``: wrong and lost bytes. ``seconds``: see `workflows.traffic.phases.seconds_of_a_megabyte`.
    """
    link, wrong = phases.given_link_rate(link_MBps), 0
    if link is None:
        link, wrong = _link_rate(comm, mean_bytes, seconds)
    own = [messages_of(comm.rank, phase.jobs, phase.demands, link, seconds, seed) for phase in wanted]
    endpoint = Endpoint(comm, _largest(comm, own))
    rows: list[Row] = []
    for phase, messages in zip(wanted, own, strict=True):
        arrived = endpoint.carry(messages, seconds)
        of_ranks = comm.gather((messages, arrived))
        if of_ranks is not None:
            gathered = (np.concatenate(arrays) for arrays in zip(*of_ranks, strict=True))
            rows += phases.phase_rows(phase, *gathered, link, seconds)
    endpoint.close()
    wrong += endpoint.wrong_bytes
    phases.add_slowdown(rows)
    return {"rows": rows, "answer": comm.allreduce(wrong), "seconds": phases.seconds_of_a_megabyte(rows)}


def _largest(comm: MPI.Comm, schedules: Iterable[NDArray[np.void]]) -> int:
    """Bytes of the largest message of all processes."""
    own = max((int(messages["bytes"].max(initial=1)) for messages in schedules), default=1)
    return comm.allreduce(own, MPI.MAX)


def _link_rate(comm: MPI.Comm, mean_bytes: int, seconds: float) -> tuple[float, int]:
    """Bytes per second that a load of 1 stands for, and wrong bytes while it was measured."""
    endpoint = Endpoint(comm, mean_bytes)
    arrived = endpoint.carry(phases.link_messages(comm.rank, comm.size, mean_bytes), seconds)
    endpoint.close()
    rates = comm.allgather(phases.link_rate(mean_bytes, arrived))
    return float(np.median([rate for rate in rates if rate is not None])), endpoint.wrong_bytes
