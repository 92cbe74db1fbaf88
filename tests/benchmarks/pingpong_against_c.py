"""Overhead of the ping-pong in mpi4py over one in C, on the same ranks, buffers and connections.

    .venv/bin/python tests/benchmarks/pingpong_against_c.py [interconnect ...]

Compiles pingpong_in_c.c with mpicc into a library that the ranks load. Batches of the two alternate within
one run, and the two of a round are compared, so that where the processors were placed does not matter.
The latency may be 0.30 µs higher at 8 B and 0.40 µs at 1 KiB, the bandwidth 2 % lower from 1 MB on.
The last column is the same ping-pong in memory of NumPy, which asks for huge pages from 4 MiB on: how much
less time than C's it takes is the distortion that our benchmarks avoid by pages of their own.
"""

import ctypes
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from two_ranks import INTERCONNECTS, compare, install, two_ranks

SIZES = (8, 1024, 1_000_000, 4_194_304, 16_777_216)
BATCH_SECONDS = 1e-3
SIZE_SECONDS = 5.0
FEWEST_ROUNDS, MOST_ROUNDS = 11, 1001


def ranks(library: str) -> None:
    """What both ranks run; the first one prints the seconds of every round by size."""
    import numpy as np
    from mpi4py import MPI

    from workflows.benchmarks.point_to_point import Side, ping_pong

    comm = MPI.COMM_WORLD
    in_c = ctypes.CDLL(library).ping_pong
    in_c.restype = ctypes.c_double
    in_c.argtypes = [ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int] * 4]
    side, in_numpy = Side(comm, max(SIZES)), Side(comm, 0)
    in_numpy.sent, in_numpy.received = (np.ones(max(SIZES), np.uint8) for _ in range(2))
    sent, received = MPI.Get_address(side.sent), MPI.Get_address(side.received)
    times_by_size = {}
    for size in SIZES:
        task = next(tasks := ping_pong(side, 0, 1, size, seconds=1.0))
        other = next(others := ping_pong(in_numpy, 0, 1, size, seconds=1.0))
        task.fill(0)
        each = comm.bcast(in_c(sent, received, size, 1 - comm.rank, comm.rank == 0, 5) / 5)
        count = max(1, round(BATCH_SECONDS / each))
        rounds = round(min(max(SIZE_SECONDS / (3 * count * each), FEWEST_ROUNDS), MOST_ROUNDS))
        times = []
        for _ in range(rounds):
            comm.Barrier()
            seconds = [in_c(sent, received, size, 1 - comm.rank, comm.rank == 0, count)]
            for program in (task, other):
                comm.Barrier()
                start = MPI.Wtime()
                program.iterate(count)
                seconds.append(MPI.Wtime() - start)
            times.append([duration / count / 2 for duration in seconds])
        assert task.check(0) == 0
        tasks.close()
        others.close()
        times_by_size[size] = times
    if comm.rank == 0:
        print(json.dumps(times_by_size))


def measure(name: str, library: Path) -> dict[int, list[list[float]]]:
    """Seconds (C, mpi4py, mpi4py with NumPy) of each round by size over an interconnect."""
    command = [sys.executable, "-m", "mpi4py", str(Path(__file__).resolve()), "--rank", str(library)]
    with two_ranks(name) as run:
        done = run(command, library.parent)
    return {int(size): times for size, times in json.loads(done.lines[-1].text).items()}


def main() -> None:
    """Compare over the interconnects named, by default all of this machine; exit status 1 beyond a limit."""
    if sys.argv[1:2] == ["--rank"]:
        return ranks(sys.argv[2])
    install()
    within = []
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "pingpong_in_c.so"
        source = Path(__file__).with_name("pingpong_in_c.c")
        subprocess.run(["mpicc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
        for name in sys.argv[1:] or INTERCONNECTS:
            for size, rounds in measure(name, library).items():
                percent = 100 * (statistics.median(numpy / c for c, _, numpy in rounds) - 1)
                pairs = [(c, python) for c, python, _ in rounds]
                within.append(compare(name, size, "C", pairs, f"NumPy {percent:+6.1f} %"))
    return sys.exit(0 if all(within) else 1)


if __name__ == "__main__":
    main()
