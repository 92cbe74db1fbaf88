"""Patterns of traffic: which processes send to which.

The definitions are those of Petrini, Frachtenberg, Hoisie, Coll, Performance evaluation of the Quadrics
interconnection network, Cluster Computing 6 (2003), sections 4.3 to 4.7. A node there is a process here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from workflows.errors import InputError
from workflows.traffic.options import ApplicationMapping, Destinations, IoMapping, one_of

Processes = NDArray[np.int64]


@dataclass(frozen=True)
class TrafficJob:
    """Processes that send messages, and those they send to.

    Attributes
    ----------
    name : str
        ``compute`` or ``io``.
    clients : array (clients,)
        Processes that issue messages, each once.
    targets : array
        Where they go. With `fixed`, the target of each client, (clients,). Else any client may choose any
        of them but itself for every message.
    fixed : bool
    """

    name: str
    clients: Processes
    targets: Processes
    fixed: bool


@dataclass(frozen=True)
class Pattern:
    """A pattern and the choices that patterns with I/O nodes leave open.

    Attributes
    ----------
    name : str
        One of `PATTERNS`.
    io_nodes : int or None
        Number of hot spots; None for one in eight processes, which is what the source has.
    destinations : str
        ``random``: a client draws the I/O node of every message; ``deterministic``: it has a fixed I/O node.
        The I/O job of ``combined`` has the same choice; the source's is random.
    io_mapping : str
        ``clustered``: the I/O nodes are the last processes; ``distributed``: one at the start of every
        stretch of equal length. For ``combined`` clustered I/O nodes are under one of the jobs:
        ``clustered_io`` has the compute job on the lower half, ``clustered_compute`` on the upper.
    application_mapping : str
        ``shared``: I/O nodes are clients too; ``dedicated``: they are not.
    """

    name: str
    io_nodes: int | None = None
    destinations: Destinations = "random"
    io_mapping: IoMapping = "clustered"
    application_mapping: ApplicationMapping = "shared"

    def __post_init__(self) -> None:
        one_of("pattern", self.name, PATTERNS)
        one_of("destinations", self.destinations, get_args(Destinations))
        one_of("application_mapping", self.application_mapping, get_args(ApplicationMapping))
        combined = ("clustered_io", "clustered_compute", "distributed")
        allowed = combined if self.name == "combined" else ("clustered", "distributed")
        if self.name in WITH_IO_NODES:
            one_of(f"io_mapping of {self.name}", self.io_mapping, allowed)


def jobs_of(pattern: Pattern, processes: int) -> tuple[TrafficJob, ...]:
    """Jobs of a pattern: a single job, or for ``combined`` the compute job and the I/O job.

    A process whose only target would be itself is no client.

    Raises
    ------
    InputError
        Where the pattern does not exist for so many processes or I/O nodes.
    """
    if processes < 2:
        raise InputError(f"processes: {processes}: a pattern of traffic needs 2 or more")
    jobs = tuple(_without_idle(job) for job in _jobs(pattern, processes))
    if not all(len(job.clients) for job in jobs):
        raise InputError(f"processes: {processes}: too few, {pattern.name} would send nothing")
    return jobs


def _jobs(pattern: Pattern, processes: int) -> tuple[TrafficJob, ...]:
    everyone = np.arange(processes)
    if pattern.name == "uniform":
        return (TrafficJob("compute", everyone, everyone, fixed=False),)
    if pattern.name == "hot_spot":
        return (TrafficJob("io", everyone[1:], np.zeros(processes - 1, np.int64), fixed=True),)
    if pattern.name in PERMUTATIONS:
        return (TrafficJob("compute", everyone, permutation(pattern.name, processes), fixed=True),)
    hot = io_nodes(pattern, processes)
    taken = everyone if pattern.application_mapping == "shared" else np.setdiff1d(everyone, hot)
    if pattern.name == "multiple_hot_spots":
        return (_io_job(pattern, taken, hot),)
    half = len(taken) // 2  # combined: two jobs of equal size side by side
    if half < 2:
        raise InputError(f"processes: {processes}: combined leaves {half} to a job, which needs 2 or more")
    lower, upper = taken[:half], taken[half : 2 * half]
    compute, io = (upper, lower) if pattern.io_mapping == "clustered_compute" else (lower, upper)
    return TrafficJob("compute", compute, compute, fixed=False), _io_job(pattern, io, hot)


def only(job: TrafficJob, process: int) -> TrafficJob:
    """Give the job with a single client, or with no client where the process is none of its clients."""
    return _of_clients(job, job.clients == process)


def io_nodes(pattern: Pattern, processes: int) -> Processes:
    """Processes that act as I/O nodes, in ascending order.

    Clustered ones are the last; distributed ones stand processes / count apart, the first at 0.

    Raises
    ------
    InputError
        Where there are as many I/O nodes as processes, or none.
    """
    count = max(1, processes // 8) if pattern.io_nodes is None else pattern.io_nodes
    if not 1 <= count < processes:
        raise InputError(f"io_nodes: {count}: must be from 1 to {processes - 1} of {processes} processes")
    if pattern.io_mapping == "distributed":
        return np.arange(count) * processes // count
    return np.arange(processes - count, processes)


def permutation(name: str, processes: int) -> Processes:
    """Destination of every process under a permutation.

    Parameters
    ----------
    name : str
        One of `PERMUTATIONS`.
    processes : int
        A power of two; for ``neighbor`` any even number.

    Returns
    -------
    array (processes,)
        A permutation of 0 ... processes − 1. All but ``shuffle``, and ``transpose`` of an odd power of two,
        are their own inverses.

    Raises
    ------
    InputError
    """
    one_of("permutation", name, tuple(PERMUTATIONS))
    bits = processes.bit_length() - 1
    if name == "neighbor":
        if processes < 2 or processes % 2:
            raise InputError(f"processes: {processes}: neighbor needs an even number")
    elif processes < 2 or processes != 1 << bits:
        raise InputError(f"processes: {processes}: {name} needs a power of two")
    return PERMUTATIONS[name](np.arange(processes), bits)


def _bit_reversal(process: Processes, bits: int) -> Processes:
    moved = [(process >> bit & 1) << (bits - 1 - bit) for bit in range(bits)]
    return np.sum(moved, axis=0)


def _butterfly(process: Processes, bits: int) -> Processes:
    differ = (process ^ (process >> (bits - 1))) & 1
    return process ^ (differ | (differ << (bits - 1))) if bits > 1 else process


def _rotated(process: Processes, bits: int, left: int) -> Processes:
    return ((process << left) | (process >> (bits - left))) & ((1 << bits) - 1)


PERMUTATIONS: dict[str, Callable[[Processes, int], Processes]] = {
    "bit_reversal": _bit_reversal,
    "butterfly": _butterfly,
    "complement": lambda process, bits: process ^ ((1 << bits) - 1),
    # The halves of the address; of an odd number of bits the lower half has one bit less.
    "transpose": lambda process, bits: _rotated(process, bits, bits - bits // 2),
    "shuffle": lambda process, bits: _rotated(process, bits, 1),
    "neighbor": lambda process, bits: process ^ 1,
}
WITH_IO_NODES = ("multiple_hot_spots", "combined")
PATTERNS = ("uniform", *PERMUTATIONS, "hot_spot", *WITH_IO_NODES)


def _io_job(pattern: Pattern, clients: Processes, hot: Processes) -> TrafficJob:
    """Clients of I/O nodes; a deterministic client that would be its own server takes the next I/O node."""
    if pattern.destinations == "random":
        return TrafficJob("io", clients, hot, fixed=False)
    index = np.arange(len(clients)) % len(hot)
    index = np.where(hot[index] == clients, (index + 1) % len(hot), index)
    return TrafficJob("io", clients, hot[index], fixed=True)


def _without_idle(job: TrafficJob) -> TrafficJob:
    """Leave out the clients that have nobody but themselves to send to."""
    if not job.fixed and len(job.targets) > 1:
        return job
    return _of_clients(job, job.clients != job.targets)


def _of_clients(job: TrafficJob, chosen: NDArray[np.bool_]) -> TrafficJob:
    targets = job.targets[chosen] if job.fixed else job.targets
    return replace(job, clients=job.clients[chosen], targets=targets)
