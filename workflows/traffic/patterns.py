"""Patterns of traffic: senders and their receivers.

Petrini, Frachtenberg, Hoisie, Coll, Performance evaluation of the Quadrics interconnection network, Cluster
Computing 6 (2003), sections 4.3 to 4.7, define the patterns. Their nodes are processes here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from workflows.errors import InputError

Processes = NDArray[np.int64]


def one_of(key: str, value: str, allowed: Sequence[str]) -> None:
    """Raise `InputError` if `value` is not allowed."""
    if value not in allowed:
        raise InputError(f"{key}: {value}: must be one of {', '.join(allowed)}")


def numbers(key: str, text: str | float) -> list[float]:
    """Return the numbers of a parameter, which are separated by blanks, or raise `InputError`."""
    try:
        values = [float(word) for word in str(text).split()]
    except ValueError:
        values = []
    if not values:
        raise InputError(f"{key}: {text!r}: must be numbers with blanks between them")
    return values


def mean_sizes(text: str | float) -> list[int]:
    """Return the whole numbers above 0 of the parameter ``mean_bytes``, or raise `InputError`."""
    sizes = numbers("mean_bytes", text)
    if not all(size >= 1 and size.is_integer() for size in sizes):
        raise InputError(f"mean_bytes: {text!r}: must be whole numbers above 0 with blanks between them")
    return [int(size) for size in sizes]


@dataclass(frozen=True)
class TrafficJob:
    """Processes that send messages, and the processes to which they send.

    Attributes
    ----------
    name : str
        ``compute`` or ``io``.
    clients : array (clients,)
        Processes that send messages, without duplicates.
    targets : array
        Processes that receive messages. With `fixed`, it holds the target of each client, (clients,).
        Otherwise a client chooses a target for each message, which may be any except the client itself.
    fixed : bool
        Whether each client sends all its messages to the same target.
    """

    name: str
    clients: Processes
    targets: Processes
    fixed: bool


@dataclass(frozen=True)
class Pattern:
    """A pattern, with the choices that patterns with I/O nodes have.

    Attributes
    ----------
    name : str
        One of `PATTERNS`.
    io_nodes : int or None
        Number of hot spots; None: one in eight processes, as in the paper.
    destinations : str
        ``random``: a client draws the I/O node of every message. ``deterministic``: a client has a fixed I/O
        node. The I/O job of ``combined`` has the same choice; in the paper it is random.
    io_mapping : str
        ``clustered``: the I/O nodes are the last processes. ``distributed``: the I/O nodes are spread evenly.
        For ``combined``, clustered I/O nodes lie in the half of a job: the compute job has the lower half
        with ``clustered_io``, and the upper half with ``clustered_compute``.
    application_mapping : str
        ``shared``: I/O nodes are clients as well. ``dedicated``: they are not.
    """

    name: str
    io_nodes: int | None = None
    destinations: str = "random"
    io_mapping: str = "clustered"
    application_mapping: str = "shared"

    def __post_init__(self) -> None:
        one_of("pattern", self.name, PATTERNS)
        one_of("destinations", self.destinations, ("random", "deterministic"))
        one_of("application_mapping", self.application_mapping, ("shared", "dedicated"))
        combined = ("clustered_io", "clustered_compute", "distributed")
        allowed = combined if self.name == "combined" else ("clustered", "distributed")
        if self.name in WITH_IO_NODES:
            one_of(f"io_mapping of {self.name}", self.io_mapping, allowed)


def jobs_of(pattern: Pattern, processes: int) -> tuple[TrafficJob, ...]:
    """Return the jobs of a pattern: a single job, or the compute job and the I/O job of ``combined``.

    A process that could only send to itself is not a client.

    Raises
    ------
    InputError
        The pattern does not exist for this number of processes or I/O nodes.
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
    clients = everyone if pattern.application_mapping == "shared" else np.setdiff1d(everyone, hot)
    if pattern.name == "multiple_hot_spots":
        return (_io_job(pattern, clients, hot),)
    half = len(clients) // 2  # combined: two jobs of equal size
    if half < 2:
        raise InputError(f"processes: {processes}: combined leaves {half} to a job, which needs 2 or more")
    lower, upper = clients[:half], clients[half : 2 * half]
    compute, io = (upper, lower) if pattern.io_mapping == "clustered_compute" else (lower, upper)
    return TrafficJob("compute", compute, compute, fixed=False), _io_job(pattern, io, hot)


def only(job: TrafficJob, process: int) -> TrafficJob:
    """Return the job with `process` as its only client; without clients if `process` is not a client."""
    return _of_clients(job, job.clients == process)


def io_nodes(pattern: Pattern, processes: int) -> Processes:
    """Return the processes that act as I/O nodes, in ascending order.

    Clustered I/O nodes are the last processes. Distributed I/O nodes are processes / count apart, from 0 on.

    Raises
    ------
    InputError
        The number of I/O nodes is below 1, or not below the number of processes.
    """
    count = max(1, processes // 8) if pattern.io_nodes is None else pattern.io_nodes
    if not 1 <= count < processes:
        raise InputError(f"io_nodes: {count}: must be from 1 to {processes - 1} of {processes} processes")
    if pattern.io_mapping == "distributed":
        return np.arange(count) * processes // count
    return np.arange(processes - count, processes)


def permutation(name: str, processes: int) -> Processes:
    """Return the destination of each process under a permutation.

    Parameters
    ----------
    name : str
        One of `PERMUTATIONS`.
    processes : int
        A power of two; for ``neighbor`` any even number.

    Returns
    -------
    array (processes,)
        A permutation of 0 ... processes - 1. Each is its own inverse, except ``shuffle`` and the
        ``transpose`` of an odd power of two.

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
    reversed_bits: Processes = np.sum(moved, axis=0)
    return reversed_bits


def _butterfly(process: Processes, bits: int) -> Processes:
    differ = (process ^ (process >> (bits - 1))) & 1
    return process ^ (differ | (differ << (bits - 1))) if bits > 1 else process


def _rotated(process: Processes, bits: int, left: int) -> Processes:
    return ((process << left) | (process >> (bits - left))) & ((1 << bits) - 1)


PERMUTATIONS: dict[str, Callable[[Processes, int], Processes]] = {
    "bit_reversal": _bit_reversal,
    "butterfly": _butterfly,
    "complement": lambda process, bits: process ^ ((1 << bits) - 1),
    # Swaps the halves of the address. With an odd number of bits, the upper half is longer by a bit.
    "transpose": lambda process, bits: _rotated(process, bits, bits - bits // 2),
    "shuffle": lambda process, bits: _rotated(process, bits, 1),
    "neighbor": lambda process, bits: process ^ 1,
}
WITH_IO_NODES = ("multiple_hot_spots", "combined")
PATTERNS = ("uniform", *PERMUTATIONS, "hot_spot", *WITH_IO_NODES)


def _io_job(pattern: Pattern, clients: Processes, hot: Processes) -> TrafficJob:
    """Return the job of I/O clients.

    A deterministic client that is an I/O node itself sends to the next I/O node.
    """
    if pattern.destinations == "random":
        return TrafficJob("io", clients, hot, fixed=False)
    index = np.arange(len(clients)) % len(hot)
    index = np.where(hot[index] == clients, (index + 1) % len(hot), index)
    return TrafficJob("io", clients, hot[index], fixed=True)


def _without_idle(job: TrafficJob) -> TrafficJob:
    """Return the job without the clients that could only send to themselves."""
    if not job.fixed and len(job.targets) > 1:
        return job
    return _of_clients(job, job.clients != job.targets)


def _of_clients(job: TrafficJob, chosen: NDArray[np.bool_]) -> TrafficJob:
    """Return the job with only the chosen clients."""
    targets = job.targets[chosen] if job.fixed else job.targets
    return replace(job, clients=job.clients[chosen], targets=targets)
