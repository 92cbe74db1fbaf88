"""A distributed array as in GAMESS: processes compute, and data servers hold the array.

In the distributed data interface of GAMESS, each computing process has a second process as data server. The
server only waits for requests and answers them (Fletcher, Schmidt, Bode, Gordon, The distributed data
interface in GAMESS, 2000). In a run without servers, each computing process also holds blocks of the array.
It answers requests while it waits for its own.

The program imitates a direct self-consistent field. A task gets two blocks of an array (the density),
computes, and accumulates the result to a block of a second array (the Fock matrix).
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
from workflows.benchmarks.program import Result

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
    """Two arrays of blocks of doubles. Each block belongs to a process.

    Parameters
    ----------
    servers_per_process : int
        Number of data servers per computing process. 0: each process computes and holds blocks.
    blocks, block_doubles : int
        Number of blocks of an array, and of doubles in a block.

    Attributes
    ----------
    computing, holding : list of int
        Ranks that compute, and ranks that hold blocks. On each node, the first ranks compute and the others
        serve. Ranks are assigned to the cores in turn. So if each core has two ranks, a process shares its
        core with a server.
    seconds : dict of str to list of float
        For each operation, the times of the calls that another process answered.

    Raises
    ------
    ValueError
        The ranks of a node cannot be divided into processes and their servers.
    """

    def __init__(self, comm: MPI.Comm, servers_per_process: int, blocks: int, block_doubles: int) -> None:
        self.comm = comm
        node = comm.Split_type(MPI.COMM_TYPE_SHARED)
        if node.size % (1 + servers_per_process):
            raise ValueError(
                f"{node.size} ranks on a node cannot be processes with {servers_per_process} servers each"
            )
        is_computing = node.rank < node.size // (1 + servers_per_process)
        node.Free()
        all_computing = comm.allgather(is_computing)
        self.computing = [rank for rank in range(comm.size) if all_computing[rank]]
        self.holding = [rank for rank in range(comm.size) if not all_computing[rank]] or self.computing
        self.serves_itself = self.holding == self.computing
        held = [block for block in range(blocks) if self.holder(block) == comm.rank]
        self.held = {(number, block): np.zeros(block_doubles) for number in (DENSITY, FOCK) for block in held}
        self.update = np.zeros(block_doubles)
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)

    def holder(self, block: int) -> int:
        """Return the rank that holds a block."""
        return self.holding[block % len(self.holding)]

    def get(self, number: int, block: int, into: Block) -> None:
        """Copy a block of an array into memory."""
        if (number, block) in self.held:
            into[:] = self.held[number, block]
            return
        with self._timed("get"):
            reply = self.comm.Irecv([into, MPI.DOUBLE], self.holder(block), _REPLY)
            self._ask(_Operation.GET, number, block)
            self.wait(reply)

    def put(self, number: int, block: int, values: Block) -> None:
        """Replace a block of an array, and wait until it is replaced."""
        self._write(_Operation.PUT, number, block, values)

    def accumulate(self, number: int, block: int, values: Block) -> None:
        """Add to a block of an array in one step, and wait until it is added."""
        self._write(_Operation.ACCUMULATE, number, block, values)

    def serve(self, waiting: str) -> float:
        """Answer requests until every computing process is done; return the busy share of this process.

        Parameters
        ----------
        waiting : str
            ``sleep``: sleep between two looks for a request. Otherwise wait in MPI's receive.
        """
        left, status = len(self.computing), MPI.Status()
        start, busy = MPI.Wtime(), time.process_time()
        while left:
            while waiting == "sleep" and not self.comm.Iprobe(MPI.ANY_SOURCE, _REQUEST):
                time.sleep(SLEEP_SECONDS)
            left -= self._serve_one(status)
        return (time.process_time() - busy) / (MPI.Wtime() - start)

    def done(self) -> None:
        """Report that this process needs no block any more.

        Without servers, answer the requests of others until all processes have reported this.
        """
        if not self.serves_itself:
            for rank in self.holding:
                self.comm.Send([array("q", [_Operation.STOP, 0, 0]), MPI.INT64_T], rank, _REQUEST)
        else:
            self.wait(self.comm.Ibarrier())

    def _ask(self, operation: _Operation, number: int, block: int) -> None:
        request = array("q", [operation, number, block])
        self.comm.Send([request, MPI.INT64_T], self.holder(block), _REQUEST)

    def _write(self, operation: _Operation, number: int, block: int, values: Block) -> None:
        if (number, block) in self.held:
            self._change(operation, number, block, values)
            return
        with self._timed(operation.name.lower()):
            holder = self.holder(block)
            confirmed = self.comm.Irecv([bytearray(1), 0, MPI.BYTE], holder, _REPLY)
            self._ask(operation, number, block)
            self.wait(self.comm.Isend([values, MPI.DOUBLE], holder, _UPDATE))
            self.wait(confirmed)

    def _change(self, operation: _Operation, number: int, block: int, values: Block) -> None:
        if operation == _Operation.PUT:
            self.held[number, block][:] = values
        else:
            self.held[number, block] += values

    def wait(self, request: MPI.Request) -> None:
        """Wait for an MPI request. Without servers, answer the requests of other processes meanwhile."""
        if not self.serves_itself:
            request.Wait()
            return
        status = MPI.Status()
        while not request.Test():
            if self.comm.Iprobe(MPI.ANY_SOURCE, _REQUEST):
                self._serve_one(status)

    def _serve_one(self, status: MPI.Status) -> bool:
        """Answer the next request; return whether the request reports that a process is done."""
        request = array("q", [0] * REQUEST_WORDS)
        self.comm.Recv([request, MPI.INT64_T], MPI.ANY_SOURCE, _REQUEST, status)
        operation, number, block = request
        client = status.Get_source()
        if operation == _Operation.STOP:
            return True
        if operation == _Operation.GET:
            self.comm.Send([self.held[number, block], MPI.DOUBLE], client, _REPLY)
        else:
            self.comm.Recv([self.update, MPI.DOUBLE], client, _UPDATE)
            self._change(_Operation(operation), number, block, self.update)
            self.comm.Send([b"", 0, MPI.BYTE], client, _REPLY)
        return False

    @contextmanager
    def _timed(self, operation: str) -> Iterator[None]:
        start = MPI.Wtime()
        yield
        self.seconds[operation].append(MPI.Wtime() - start)


def data_servers(comm: MPI.Comm, blocks: int, block_doubles: int, tasks: int, products: int) -> Result:
    """Fill an array, do a fixed number of tasks that accumulate to a second array, and sum the second array.

    Parameters
    ----------
    blocks, block_doubles : int
        See `DistributedArrays`.
    tasks : int
        Number of tasks. Process r of p does the tasks r, r + p, ...
    products : int
        Number of products of 64 x 64 matrices that represent the work of a task.

    Returns
    -------
    dict
        ``seconds``: from the start of the first task to the end of the last.
        ``answer``: sum of the second array, which should be `expected_sum`.
        ``rows``: see `workflows.benchmarks.data_tasks.operation_rows`.
        ``busy_share``: busy share of a core, mean over the computing processes and over the servers.
        ``servers``, ``waiting``: number of servers, and how they waited.
    """
    servers = int(os.environ.get(SERVERS, "0")) if comm.size > 1 else 0
    waiting = os.environ.get(WAITING, "receive")
    if waiting not in ("receive", "sleep"):
        raise ValueError(f"{WAITING}: {waiting!r}: must be 'receive' or 'sleep'")
    arrays = DistributedArrays(comm, servers, blocks, block_doubles)
    is_computing = comm.rank in arrays.computing
    colleagues = comm.Split(int(is_computing), comm.rank)
    total = seconds = 0.0
    if is_computing:
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
    """Return a block of the first array. It holds whole numbers, so that sums are exact in any order."""
    return (block + np.arange(block_doubles, dtype=np.float64)) % _PRIME


def expected_sum(blocks: int, block_doubles: int, tasks: int) -> float:
    """Return the right sum of the second array, for any number of processes and servers."""
    sums = [float(density(block, block_doubles).sum()) for block in range(blocks)]
    return sum(sums[block] for task in range(tasks) for block in blocks_of_task(task, blocks))


def _tasks(
    arrays: DistributedArrays, colleagues: MPI.Comm, size: tuple[int, int, int, int]
) -> tuple[float, float]:
    """Do the tasks of this process; return the seconds until all processes are done, and its busy share."""
    blocks, block_doubles, tasks, products = size
    for block in range(colleagues.rank, blocks, colleagues.size):
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
    """Wait for all computing processes. Without servers, answer their requests meanwhile."""
    arrays.wait(colleagues.Ibarrier())


def _work() -> Callable[[int], None]:
    """Return a function that multiplies matrices a number of times, always in the same memory."""
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
    total_of_all: float = colleagues.allreduce(total)
    return total_of_all


def _rows(
    times_of_ranks: list[dict[str, list[float]]] | None, block_bytes: int
) -> list[dict[str, str | float]]:
    """Summarize the times of operations over the processes, which only the first rank has; else empty."""
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for times_of_rank in times_of_ranks or []:
        for name, times in times_of_rank.items():
            seconds[name] += times
    return operation_rows(seconds, block_bytes)
