"""Products of two dense matrices that lie on all processes by rows; each computes with its BLAS's threads."""

import json
from pathlib import Path

import mpi4py
import numpy as np
from mpi4py import MPI


def sine_transform(rows: range, size: int) -> np.ndarray:
    """Rows of the matrix of a discrete sine transform, which is its own inverse."""
    angles = np.outer(np.arange(rows.start, rows.stop) + 1, np.arange(size) + 1) * (np.pi / (size + 1))
    return np.sqrt(2 / (size + 1)) * np.sin(angles)


def product(comm: MPI.Comm, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Multiply two matrices of which each process has rows; those of the second go once round."""
    here, result = np.copy(second), np.zeros_like(first)
    mine = len(first)
    for step in range(comm.size):
        owner = (comm.rank + step) % comm.size
        result += first[:, owner * mine : (owner + 1) * mine] @ here
        if step + 1 < comm.size:
            comm.Sendrecv_replace(here, (comm.rank - 1) % comm.size, 0, (comm.rank + 1) % comm.size, 0)
    return result


def main() -> None:
    """Time the products and print the trace of the last one."""
    comm = MPI.COMM_WORLD
    given = json.loads(Path("parameters.json").read_text())
    size, mine = given["rows"], given["rows"] // comm.size
    rows = range(comm.rank * mine, (comm.rank + 1) * mine)
    matrix = sine_transform(rows, size)
    product(comm, matrix, matrix)  # threads are made, and connections
    comm.Barrier()
    if comm.rank == 0:
        print(json.dumps({"started": {"mpi4py": mpi4py.__version__, "numpy": np.__version__}}), flush=True)
    begun = MPI.Wtime()
    for _ in range(given["products"]):
        result = product(comm, matrix, matrix)
    seconds = comm.allreduce(MPI.Wtime() - begun, MPI.MAX)
    trace = comm.allreduce(float(np.trace(result, offset=rows.start)))
    if comm.rank == 0:
        print(json.dumps({"finished": {"seconds": seconds, "answer": trace}}), flush=True)


main()
