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
"""Radix of Open MPI's k-nomial tree: a process has at most `RADIX` - 1 children per level."""

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
        """Return the time at which each process is ready after a step.

        A message between nodes takes the time of the ping-pong. It first waits until all other messages of
        the step have passed the network ports of the two nodes. A message inside a node has no port. The
        sender is busy while its message occupies the port, or for the whole time of a message inside a node.

        Parameters
        ----------
        ready : array (ranks,)
            Time at which each process is ready for the step, in microseconds.

        Returns
        -------
        array (ranks,)
        """
        senders, receivers, size = step
        sender_nodes, receiver_nodes = (
            senders // self.processes_per_node,
            receivers // self.processes_per_node,
        )
        between = sender_nodes != receiver_nodes  # messages between nodes
        time = np.empty(len(senders))
        busy = np.empty(len(senders))

        leaving, arriving = np.bincount(sender_nodes[between]), np.bincount(receiver_nodes[between])
        ahead = np.maximum(leaving[sender_nodes[between]], arriving[receiver_nodes[between]]) - 1
        busy[between] = port_time = max(self.interval_us, size / self.port_rate)
        time[between] = np.interp(size, self.sizes, self.times_us) + ahead * port_time

        inside = np.bincount(sender_nodes[~between])  # number of messages inside each node
        rate = np.minimum(self.inside_rate, self.node_rate / inside[sender_nodes[~between]])
        time[~between] = busy[~between] = self.inside_us + size / rate

        later = ready.copy()
        later[senders] = np.maximum(later[senders], ready[senders] + busy)
        later[receivers] = np.maximum(later[receivers], ready[senders] + time)
        return later


def predicted_us(cluster: Cluster, nodes: int, steps: Iterable[Step]) -> float:
    """Predict the time that ``osu_allreduce`` prints: the mean over all processes, in microseconds."""
    ready = np.zeros(nodes * cluster.processes_per_node)
    for step in steps:
        ready = cluster.after(ready, step)
    return float(ready.mean())


def recursive_doubling(ranks: int, size: float) -> Iterator[Step]:
    """Yield the steps in which pairs at distances 1, 2, 4, ... exchange all `size` bytes.

    If the number of ranks is no power of two, some ranks first send their part to a neighbour. They receive
    the result at the end.
    """
    kept, left_out = _power_of_two(ranks, keep=1)
    yield left_out - 1, left_out, size
    for distance in _distances(len(kept)):
        yield kept, kept[np.arange(len(kept)) ^ distance], size
    yield left_out, left_out - 1, size


def rabenseifner(ranks: int, size: float) -> Iterator[Step]:
    """Yield the steps of Rabenseifner's algorithm: a reduce-scatter, then an allgather.

    The reduce-scatter exchanges `size` / 2d bytes at the distances d = 1, 2, 4, ... The allgather repeats
    these exchanges in reverse order. If the number of ranks is no power of two, some pairs of neighbours
    first reduce their data to the rank that takes part.
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
    """Choose ranks so that their number is a power of two.

    With r ranks beyond the power of two, only one rank of each of the first r pairs (0, 1), (2, 3), ... takes
    part.

    Parameters
    ----------
    keep : int
        0 if the even rank of a pair takes part, 1 if the odd rank does.

    Returns
    -------
    array
        Ranks that take part.
    array
        Odd ranks of the first r pairs.
    """
    beyond = ranks - (1 << (ranks.bit_length() - 1))
    even = 2 * np.arange(beyond)
    return np.concatenate([even + keep, np.arange(2 * beyond, ranks)]), even + 1


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
"""Algorithms that Open MPI 4.1 chooses: (upper limit of ranks, ((upper limit of bytes, algorithm), ...)), ...

Above the last limit of bytes, Open MPI uses Rabenseifner's algorithm. Source: function
``ompi_coll_tuned_allreduce_intra_dec_fixed`` in coll_tuned_decision_fixed.c of Open MPI 4.1.4. Its segmented
ring is a ring here, since the library states no size of segments.
"""


def openmpi_choice(ranks: int, size: int) -> Algorithm:
    """Return the algorithm of Open MPI 4.1 for a commutative reduction of floats.

    Raises
    ------
    InputError
        Open MPI would send all parts to a single rank, which no algorithm here describes.
    """
    choices = next(choices for rank_limit, choices in DECISIONS if ranks < rank_limit)
    algorithm = next((algorithm for byte_limit, algorithm in choices if size < byte_limit), rabenseifner)
    elements = size // ELEMENT_BYTES
    if algorithm is ring and elements < ranks:
        return recursive_doubling
    if algorithm is rabenseifner and elements < 1 << (ranks.bit_length() - 1):
        raise InputError(
            f"{size} bytes on {ranks} processes: Open MPI 4.1 sends all to one process; not predicted"
        )
    return algorithm
