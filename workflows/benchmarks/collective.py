"""Collective operations over all message sizes."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle, repeat

from mpi4py import MPI

from workflows.benchmarks.messages import PERIOD, content, pages, powers, wrong_bytes
from workflows.benchmarks.sweep import Task, Tasks

MOST_BYTES_OF_A_RANK = 1 << 24
"""Maximum size of a buffer with a block for each process. Larger messages are left out."""


@dataclass(frozen=True)
class Operation:
    """A collective operation with a single message size, as seen by a rank.

    Attributes
    ----------
    call : callable
        Performs the operation once.
    fill, check : callable
        See `workflows.benchmarks.sweep.Task`.
    multiple : int
        Number of iterations after which every process has been the root.
    """

    call: Callable[[], object]
    fill: Callable[[int], None]
    check: Callable[[int], int]
    multiple: int = 1


def collective_sweep(
    comm: MPI.Comm, operation: Callable[[MPI.Comm, int], Operation], sizes: list[int], seconds: float
) -> Tasks:
    """Time a collective operation for each message size, as a mean over the processes.

    Batches follow each other without a barrier. The root changes after each iteration, as in the Intel MPI
    Benchmarks: with a fixed root, messages of several operations would overlap.
    """
    for size in sizes:
        collective = operation(comm, size)

        def iterate(count: int, call: Callable[[], object] = collective.call) -> None:
            for _ in repeat(None, count):
                call()

        labels = {"bytes": size}
        share = seconds / len(sizes)
        yield Task(labels, iterate, collective.fill, collective.check, share, multiple=collective.multiple)


def allreduce(comm: MPI.Comm, size: int) -> Operation:
    """Return the sum of doubles, which is exact in any order."""
    sent, received = pages(size), pages(size)
    count = size // 8
    spec, result = [sent, count, MPI.DOUBLE], [received, count, MPI.DOUBLE]

    def doubles(factor: int) -> bytes:
        period = array("d", (factor * (1 + index) for index in range(PERIOD)))
        return (period * (count // PERIOD + 1))[:count].tobytes()

    def fill(number: int) -> None:
        sent[:size] = doubles((comm.rank + 1) * (number + 1))

    def check(number: int) -> int:
        total = comm.size * (comm.size + 1) // 2
        return wrong_bytes(received[:size], doubles(total * (number + 1)))

    return Operation(lambda: comm.Allreduce(spec, result, MPI.SUM), fill, check)


def alltoall(comm: MPI.Comm, size: int) -> Operation:
    """Return the exchange in which each process sends a block of `size` bytes to each process."""
    sent, received = pages(size * comm.size), pages(size * comm.size)
    spec, result = [sent, size, MPI.BYTE], [received, size, MPI.BYTE]

    def blocks(pairs: list[tuple[int, int]], number: int) -> bytes:
        seeds = (2 * (source * comm.size + target) + number for source, target in pairs)
        return b"".join(content(seed, size) for seed in seeds)

    def fill(number: int) -> None:
        sent[: size * comm.size] = blocks([(comm.rank, target) for target in range(comm.size)], number)

    def check(number: int) -> int:
        expected = blocks([(source, comm.rank) for source in range(comm.size)], number)
        return wrong_bytes(received[: size * comm.size], expected)

    return Operation(lambda: comm.Alltoall(spec, result), fill, check)


def bcast(comm: MPI.Comm, size: int) -> Operation:
    """Return the broadcast of `size` bytes. Each process is the root in turn, and sends what it received."""
    memory = pages(size)
    spec = [memory, size, MPI.BYTE]
    roots = cycle(range(comm.size))

    def fill(number: int) -> None:
        memory[:size] = content(number, size) if comm.rank == 0 else bytes(size)

    return Operation(
        lambda: comm.Bcast(spec, next(roots)),
        fill,
        lambda number: wrong_bytes(memory[:size], content(number, size)),
        multiple=comm.size,
    )


def gatherv(comm: MPI.Comm, size: int) -> Operation:
    """Return the gathering of `size` bytes from each process. Each process is the root in turn."""
    sent, received = pages(size), pages(size * comm.size)
    counts = [size] * comm.size
    spec, result = [sent, size, MPI.BYTE], [received, counts, MPI.BYTE]
    roots = cycle(range(comm.size))

    def call() -> None:
        root = next(roots)
        comm.Gatherv(spec, result if root == comm.rank else None, root)

    def fill(number: int) -> None:
        sent[:size] = content(2 * comm.rank + number, size)

    def check(number: int) -> int:
        expected = b"".join(content(2 * source + number, size) for source in range(comm.size))
        return wrong_bytes(received[: size * comm.size], expected)

    return Operation(call, fill, check, multiple=comm.size)


def barrier(comm: MPI.Comm) -> Operation:
    """Return the barrier, which has nothing to check."""
    return Operation(comm.Barrier, lambda number: None, lambda number: 0)


def block_sizes(comm: MPI.Comm, largest_bytes: int) -> list[int]:
    """Return the message sizes of operations with a block for each process."""
    return powers(min(largest_bytes, MOST_BYTES_OF_A_RANK // comm.size))
