"""Predict the time of an allreduce on many nodes from the messages that its algorithm sends.

An algorithm is a sequence of steps. A step is a set of simultaneous messages, at most one per receiver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workflows.errors import InputError

Floats = NDArray[np.float64]
Ranks = NDArray[np.int64]
Step = tuple[Ranks, Ranks, float]
"""Senders, their receivers, and the bytes of each message."""

ELEMENT_BYTES = 4
"""``osu_allreduce`` reduces floats."""

RADIX = 4
"""Each level of Open MPI's k-nomial tree has one child less than this."""

LARGE_BYTES = 16384
"""Smallest message for which `hierarchical` uses Rabenseifner's algorithm. An assumption."""


@dataclass(frozen=True)
class Cluster:
    """Costs of messages between equal nodes, which processes fill in the order of their ranks.

    Attributes
    ----------
    sizes, times_us : array (sizes,)
        Ping-pong between two nodes: bytes in ascending order, and one-way times.
    interval_us : float
        Shortest time between two messages that pass the network port of a node in one direction.
    port_rate : float
        Bandwidth of the port in each direction, in 10^6 bytes/s.
    inside_us, inside_rate : float
        Latency and bandwidth of a message inside a node.
    node_rate : float
        Bandwidth that all simultaneous messages inside a node share.
    processes_per_node : int
    """

    sizes: Floats
    times_us: Floats
    interval_us: float
    port_rate: float
    inside_us: float
    inside_rate: float
    node_rate: float
    processes_per_node: int

    def after(self, ready: Floats, step: Step) -> Floats:
        """Compute when each process is ready after a step.

        A message between nodes takes the time of the ping-pong. It first waits until the other messages of
        the step have passed the ports of both nodes. Sending keeps a process busy for the time that its
        message occupies the port, or for the whole message inside a node.

        Parameters
        ----------
        ready : array (ranks,)
            Time at which each process is ready for the step, in microseconds.

        Returns
        -------
        array (ranks,)
        """
        senders, receivers, size = step
        start, end = senders // self.processes_per_node, receivers // self.processes_per_node
        is_outside = start != end
        leaving, arriving = np.bincount(start[is_outside]), np.bincount(end[is_outside])
        inside = np.bincount(start[~is_outside])
        transfer = max(self.interval_us, size / self.port_rate)
        time = np.empty(len(senders))
        busy = np.where(is_outside, transfer, 0.0)
        waiting = np.maximum(leaving[start[is_outside]], arriving[end[is_outside]]) - 1
        time[is_outside] = np.interp(size, self.sizes, self.times_us) + waiting * transfer
        rate = np.minimum(self.inside_rate, self.node_rate / inside[start[~is_outside]])
        time[~is_outside] = busy[~is_outside] = self.inside_us + size / rate
        later = ready.copy()
        later[senders] = np.maximum(later[senders], ready[senders] + busy)
        later[receivers] = np.maximum(later[receivers], ready[senders] + time)
        return later


def predicted_us(cluster: Cluster, nodes: int, steps: Iterable[Step]) -> float:
    """Predict what ``osu_allreduce`` prints: the mean time over all processes, in microseconds."""
    ready = np.zeros(nodes * cluster.processes_per_node)
    for step in steps:
        ready = cluster.after(ready, step)
    return float(ready.mean())


def recursive_doubling(ranks: int, size: float) -> Iterator[Step]:
    """Yield the steps in which pairs at distances 1, 2, 4, ... exchange all `size` bytes.

    Ranks beyond a power of two give their part to a neighbour first, and get the result at the end.
    """
    kept, left_out = _power_of_two(ranks, keep=1)
    yield left_out - 1, left_out, size
    for distance in _distances(len(kept)):
        yield kept, kept[np.arange(len(kept)) ^ distance], size
    yield left_out, left_out - 1, size


def rabenseifner(ranks: int, size: float) -> Iterator[Step]:
    """Yield the steps of a reduction by halves at distances 1, 2, 4, ..., and of the same steps backwards.

    Each exchange at distance d carries `size` / 2d bytes. Of the ranks beyond a power of two, two neighbours
    share the first reduction.
    """
    kept, left_out = _power_of_two(ranks, keep=0)
    yield np.concatenate([left_out - 1, left_out]), np.concatenate([left_out, left_out - 1]), size / 2
    yield left_out, left_out - 1, size / 2
    distances = _distances(len(kept))
    for distance in [*distances, *reversed(distances)]:
        yield kept, kept[np.arange(len(kept)) ^ distance], size / 2 / distance
    yield left_out - 1, left_out, size


def ring(ranks: int, size: float) -> Iterator[Step]:
    """Yield the 2 (ranks - 1) steps in which each rank sends `size` / ranks bytes to the next rank."""
    every = np.arange(ranks)
    for _ in range(2 * (ranks - 1)):
        yield every, (every + 1) % ranks, size / ranks


def reduce_and_broadcast(ranks: int, size: float) -> Iterator[Step]:
    """Yield the steps of a reduction along a binomial tree, and of a broadcast along a 4-nomial tree."""
    every = np.arange(ranks)
    for distance in _distances(ranks):
        senders = every[every % (2 * distance) == distance]
        yield senders, senders - distance, size
    width = 1
    while width * RADIX < ranks:
        width *= RADIX
    while width:
        for child in range(1, RADIX):
            parents = every[(every % (RADIX * width) == 0) & (every + child * width < ranks)]
            yield parents, parents + child * width, size
        width //= RADIX


def hierarchical(nodes: int, processes_per_node: int, size: float) -> Iterator[Step]:
    """Yield a reduction inside each node, an allreduce of the nodes' first ranks, and a broadcast inside.

    The allreduce is recursive doubling below `LARGE_BYTES`, else Rabenseifner's algorithm.
    """
    first = np.arange(nodes) * processes_per_node
    inside = list(reduce_and_broadcast(processes_per_node, size))
    reduction = len(_distances(processes_per_node))
    among = rabenseifner if size >= LARGE_BYTES else recursive_doubling
    for senders, receivers, part in inside[:reduction]:
        yield np.add.outer(first, senders).ravel(), np.add.outer(first, receivers).ravel(), part
    for senders, receivers, part in among(nodes, size):
        yield first[senders], first[receivers], part
    for senders, receivers, part in inside[reduction:]:
        yield np.add.outer(first, senders).ravel(), np.add.outer(first, receivers).ravel(), part


def _distances(ranks: int) -> list[int]:
    """Return 1, 2, 4, ... below `ranks`."""
    return [1 << bit for bit in range((ranks - 1).bit_length())]


def _power_of_two(ranks: int, keep: int) -> tuple[Ranks, Ranks]:
    """Return the ranks of the largest power of two that take part, and the odd ranks of the other pairs.

    Of the first pairs of ranks, the one with the remainder `keep` takes part.
    """
    others = ranks - (1 << (ranks.bit_length() - 1))
    pairs = 2 * np.arange(others)
    return np.concatenate([pairs + keep, np.arange(2 * others, ranks)]), pairs + 1


Algorithm = Callable[[int, float], Iterator[Step]]

DECISIONS: tuple[tuple[float, tuple[tuple[float, Algorithm], ...]], ...] = (
    (4, ((8, ring), (4096, recursive_doubling), (8192, ring), (16384, recursive_doubling), (262144, ring))),
    (8, ((16, ring), (8192, recursive_doubling))),
    (16, ((8192, recursive_doubling),)),
    (32, ((64, ring), (4096, recursive_doubling))),
    (64, ((128, ring),)),
    (128, ((262144, recursive_doubling),)),
    (256, ((131072, reduce_and_broadcast), (262144, recursive_doubling))),
    (512, ((4096, reduce_and_broadcast),)),
    (2048, ((2048, reduce_and_broadcast), (16384, recursive_doubling))),
    (4096, ((2048, reduce_and_broadcast), (4096, ring), (16384, recursive_doubling))),
    (np.inf, ((2048, reduce_and_broadcast), (16384, ring), (32768, recursive_doubling))),
)
"""Choices of Open MPI 4.1 below numbers of ranks and of bytes; Rabenseifner's algorithm elsewhere.

From ``ompi_coll_tuned_allreduce_intra_dec_fixed`` in coll_tuned_decision_fixed.c of Open MPI 4.1.4. Its
segmented ring is a ring, since the library states no segments.
"""


def openmpi_choice(ranks: int, size: int) -> Algorithm:
    """Return the algorithm of Open MPI 4.1 for a commutative reduction of floats.

    Raises
    ------
    InputError
        Open MPI would send all parts to one rank, which no algorithm here describes.
    """
    choices = next(choices for below, choices in DECISIONS if ranks < below)
    algorithm = next((algorithm for below, algorithm in choices if size < below), rabenseifner)
    elements = size // ELEMENT_BYTES
    if algorithm is ring and elements < ranks:
        return recursive_doubling
    if algorithm is rabenseifner and elements < 1 << (ranks.bit_length() - 1):
        raise InputError(
            f"{size} bytes on {ranks} processes: Open MPI 4.1 sends all to one process; not predicted"
        )
    return algorithm
