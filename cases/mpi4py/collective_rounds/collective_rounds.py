"""Rounds of collective operations, as many as asked, timed from MPI_Init on as a replay of them is."""

from mpi4py import MPI

BEGUN = MPI.Wtime()

from itertools import repeat  # noqa: E402

from workflows.benchmarks.collective import allreduce, alltoall, bcast, gatherv  # noqa: E402
from workflows.benchmarks.program import Result, start  # noqa: E402


def rounds(comm: MPI.Comm, small_bytes: int, large_bytes: int, rounds: int) -> Result:
    """Give the seconds of so many rounds of each operation and size, and wrong bytes on all ranks."""
    wrong = 0
    for make in (allreduce, alltoall, bcast, gatherv):
        for size in (small_bytes, large_bytes):
            operation = make(comm, size)
            operation.fill(1)
            for _ in repeat(None, rounds * operation.multiple):
                operation.call()
            wrong += operation.check(1)
    wrong = comm.allreduce(wrong)
    return {"seconds": MPI.Wtime() - BEGUN, "answer": wrong, "rows": []}


start(rounds)
