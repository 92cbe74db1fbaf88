"""A distributed array in the manner of GAMESS: processes that compute, and data servers that hold the array.

In GAMESS's distributed data interface, as in the runs that the source measured, a second process beside each
that computes acts as data server: it does nothing but wait for requests and answer them (Fletcher, Schmidt,
Bode, Gordon, The distributed data interface in GAMESS, 2000). Without servers, each process holds
blocks of the array itself, and answers while it waits for an answer.

The work is that of a direct self-consistent field: a task gets two blocks of an array that was put before
(the density), computes, and accumulates what they give to a block of another (the Fock matrix).
"""

from __future__ import annotations

import os
import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from workflows.benchmarks import SERVERS
from workflows.benchmarks.data_tasks import (
    REQUEST_WORDS,
    SLEEP_SECONDS,
    WAITING,
    blocks_of_task,
    operation_rows,
)
from workflows.benchmarks.program import Told

Block = NDArray[np.float64]

_REQUEST, _UPDATE, _REPLY = range(1, 4)
_MATRIX = 64
_PRIME = 97


class _Operation(IntEnum):
    GET = 0
    PUT = 1
    ACCUMULATE = 2
    STOP = 3


DENSITY, FOCK = range(2)


class DistributedArrays:
    """Two arrays of blocks of doubles, each block with one of the processes.

    Parameters
    ----------
    servers_per_process : int
        0: every process computes and holds blocks.
    blocks, block_doubles : int
        Blocks of each array, and doubles of a block.

    Attributes
    ----------
    computing, holding : list of int
        Ranks that compute, and that hold blocks. On each node, the first ranks compute and the others serve;
        ranks are dealt to cores in turn, so a process and its server share a core where there are two a core.
    seconds : dict of str to list of float
        Time of each operation that this process had done for it elsewhere.

    Raises
    ------
    ValueError
        The ranks of a node cannot be divided into processes with so many servers.
    """

    def __init__(self, comm: MPI.Comm, servers_per_process: int, blocks: int, block_doubles: int) -> None:
        self.comm = comm
        node = comm.Split_type(MPI.COMM_TYPE_SHARED)
        if node.size % (1 + servers_per_process):
            raise ValueError(
                f"{node.size} ranks on a node are no processes with {servers_per_process} servers each"
            )
        computes = node.rank < node.size // (1 + servers_per_process)
        node.Free()
        everyone = comm.allgather(computes)
        self.computing = [rank for rank in range(comm.size) if everyone[rank]]
        self.holding = [rank for rank in range(comm.size) if not everyone[rank]] or self.computing
        self.serves_itself = self.holding == self.computing
        own = [block for block in range(blocks) if self.holder(block) == comm.rank]
        self.held = {(which, block): np.zeros(block_doubles) for which in (DENSITY, FOCK) for block in own}
        self.update = np.zeros(block_doubles)
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)

    def holder(self, block: int) -> int:
        """Rank that holds a block."""
        return self.holding[block % len(self.holding)]

    def get(self, which: int, block: int, into: Block) -> None:
        """Copy a block of an array."""
        if (which, block) in self.held:
            into[:] = self.held[which, block]
            return
        with self._timed("get"):
            reply = self.comm.Irecv([into, MPI.DOUBLE], self.holder(block), _REPLY)
            self._ask(_Operation.GET, which, block)
            self._wait(reply)

    def put(self, which: int, block: int, values: Block) -> None:
        """Replace a block of an array; it is done when this returns."""
        self._write(_Operation.PUT, which, block, values)

    def accumulate(self, which: int, block: int, values: Block) -> None:
        """Add to a block of an array, undivided by what others do; it is done when this returns."""
        self._write(_Operation.ACCUMULATE, which, block, values)

    def serve(self, waiting: str) -> float:
        """Answer requests until every process that computes has said that it is done.

        Returns the share of that time for which this process's core was busy with it.
        """
        left, status = len(self.computing), MPI.Status()
        start, busy = MPI.Wtime(), time.process_time()
        while left:
            while waiting == "sleep" and not self.comm.Iprobe(MPI.ANY_SOURCE, _REQUEST):
                time.sleep(SLEEP_SECONDS)
            left -= self._serve_one(status)
        return (time.process_time() - busy) / (MPI.Wtime() - start)

    def done(self) -> None:
        """Say that this process needs the arrays no more; without servers, go on answering until all have."""
        if not self.serves_itself:
            for rank in self.holding:
                self.comm.Send([array("q", [_Operation.STOP, 0, 0]), MPI.INT64_T], rank, _REQUEST)
        else:
            self._wait(self.comm.Ibarrier())

    def _ask(self, operation: _Operation, which: int, block: int) -> None:
        request = array("q", [operation, which, block])
        self.comm.Send([request, MPI.INT64_T], self.holder(block), _REQUEST)

    def _write(self, operation: _Operation, which: int, block: int, values: Block) -> None:
        if (which, block) in self.held:
            self._change(operation, which, block, values)
            return
        with self._timed(operation.name.lower()):
            holder = self.holder(block)
            confirmed = self.comm.Irecv([bytearray(1), 0, MPI.BYTE], holder, _REPLY)
            self._ask(operation, which, block)
            self._wait(self.comm.Isend([values, MPI.DOUBLE], holder, _UPDATE))
            self._wait(confirmed)

    def _change(self, operation: _Operation, which: int, block: int, values: Block) -> None:
        if operation == _Operation.PUT:
            self.held[which, block][:] = values
        else:
            self.held[which, block] += values

    def _wait(self, request: MPI.Request) -> None:
        """Wait for a request; without servers, answer others meanwhile."""
        if not self.serves_itself:
            request.Wait()
            return
        status = MPI.Status()
        while not request.Test():
            if self.comm.Iprobe(MPI.ANY_SOURCE, _REQUEST):
                self._serve_one(status)

    def _serve_one(self, status: MPI.Status) -> bool:
        """Answer the next request; whether it was that a process is done."""
        request = array("q", [0] * REQUEST_WORDS)
        self.comm.Recv([request, MPI.INT64_T], MPI.ANY_SOURCE, _REQUEST, status)
        operation, which, block = request
        client = status.Get_source()
        if operation == _Operation.STOP:
            return True
        if operation == _Operation.GET:
            self.comm.Send([self.held[which, block], MPI.DOUBLE], client, _REPLY)
        else:
            self.comm.Recv([self.update, MPI.DOUBLE], client, _UPDATE)
            self._change(_Operation(operation), which, block, self.update)
            self.comm.Send([b"", 0, MPI.BYTE], client, _REPLY)
        return False

    @contextmanager
    def _timed(self, operation: str) -> Iterator[None]:
        start = MPI.Wtime()
        yield
        self.seconds[operation].append(MPI.Wtime() - start)


def data_servers(comm: MPI.Comm, blocks: int, block_doubles: int, tasks: int, products: int) -> Told:
    """Fill one array, do a fixed number of tasks that read it and accumulate to another, and sum that up.

    Parameters
    ----------
    blocks, block_doubles : int
        See `DistributedArrays`.
    tasks : int
        Of all processes together; process r of p does tasks r, r + p, ...
    products : int
        Matrix products of 64 x 64 doubles that stand for the work of a task.

    Returns
    -------
    dict
        ``seconds``: from the first task to the end of the last. ``answer``: sum of the second array;
        `expected_sum` is right. ``rows``: for each operation, ``calls`` that left their process,
        ``block_bytes``, and percentiles of the time of a call, ``operation_seconds_p50`` and so on.
        ``busy_share``: of a core, mean over the processes that compute while they did tasks, and over the
        servers while they served. ``servers``, and how they were ``waiting``.
    """
    servers = int(os.environ.get(SERVERS, "0")) if comm.size > 1 else 0
    waiting = os.environ.get(WAITING, "receive")
    if waiting not in ("receive", "sleep"):
        raise ValueError(f"{WAITING}: {waiting!r}: must be 'receive' or 'sleep'")
    arrays = DistributedArrays(comm, servers, blocks, block_doubles)
    computes = comm.rank in arrays.computing
    colleagues = comm.Split(int(computes), comm.rank)
    total = seconds = 0.0
    if computes:
        seconds, busy = _tasks(arrays, colleagues, (blocks, block_doubles, tasks, products))
        total = _sum(arrays, colleagues, blocks, block_doubles)
        arrays.done()
    else:
        busy = arrays.serve(waiting)
    seconds, total = comm.bcast((seconds, total), arrays.computing[0])
    shares = comm.allgather(busy)
    rows = _rows(comm.gather(dict(arrays.seconds)), 8 * block_doubles)
    serving = [] if arrays.serves_itself else arrays.holding
    return {
        "rows": rows,
        "seconds": seconds,
        "answer": total,
        "servers": len(serving),
        "waiting": waiting if serving else None,
        "busy_share": {
            name: float(np.mean([shares[rank] for rank in ranks])) if ranks else None
            for name, ranks in (("processes", arrays.computing), ("servers", serving))
        },
    }


def density(block: int, block_doubles: int) -> Block:
    """What the first array holds: whole numbers, so that sums of doubles are exact in any order."""
    return (block + np.arange(block_doubles)) % float(_PRIME)


def expected_sum(blocks: int, block_doubles: int, tasks: int) -> float:
    """What the second array must sum up to, on any number of processes and servers."""
    sums = [float(density(block, block_doubles).sum()) for block in range(blocks)]
    return sum(sums[block] for task in range(tasks) for block in blocks_of_task(task, blocks))


def _tasks(
    arrays: DistributedArrays, colleagues: MPI.Comm, size: tuple[int, int, int, int]
) -> tuple[float, float]:
    """Do this process's tasks; seconds until all had done theirs, and its busy share of them."""
    blocks, block_doubles, tasks, products = size
    mine = range(colleagues.rank, blocks, colleagues.size)
    for block in mine:
        arrays.put(DENSITY, block, density(block, block_doubles))
    _together(arrays, colleagues)
    first_values, second_values = np.empty(block_doubles), np.empty(block_doubles)
    work = _work()
    start, busy = MPI.Wtime(), time.process_time()
    for task in range(colleagues.rank, tasks, colleagues.size):
        first, second = blocks_of_task(task, blocks)
        arrays.get(DENSITY, first, first_values)
        arrays.get(DENSITY, second, second_values)
        work(products)
        first_values += second_values
        arrays.accumulate(FOCK, first, first_values)
    _together(arrays, colleagues)
    seconds = MPI.Wtime() - start
    return seconds, (time.process_time() - busy) / seconds


def _together(arrays: DistributedArrays, colleagues: MPI.Comm) -> None:
    """Wait for all that compute; without servers, answer them meanwhile."""
    arrays._wait(colleagues.Ibarrier())


def _work() -> Callable[[int], None]:
    """Give what multiplies matrices so many times, in memory that is used again."""
    matrix = np.eye(_MATRIX) + 1 / _MATRIX
    result = np.empty_like(matrix)

    def work(products: int) -> None:
        for _ in range(products):
            np.matmul(matrix, matrix, out=result)

    return work


def _sum(arrays: DistributedArrays, colleagues: MPI.Comm, blocks: int, block_doubles: int) -> float:
    values, total = np.empty(block_doubles), 0.0
    for block in range(colleagues.rank, blocks, colleagues.size):
        arrays.get(FOCK, block, values)
        total += float(values.sum())
    _together(arrays, colleagues)
    return colleagues.allreduce(total)


def _rows(of_ranks: list[dict[str, list[float]]] | None, block_bytes: int) -> list[dict[str, str | float]]:
    """Sum up the times of operations over the processes; none on ranks that have none of the others."""
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for of_rank in of_ranks or []:
        for name, times in of_rank.items():
            seconds[name] += times
    return operation_rows(seconds, block_bytes)
