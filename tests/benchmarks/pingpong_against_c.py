"""What the ping-pong in mpi4py adds to one in C, on the same ranks, buffers and connections.

    .venv/bin/python tests/benchmarks/pingpong_against_c.py [interconnect ...]

Compiles pingpong_in_c.c with mpicc into a library that the ranks load. Batches of the two alternate within
one run, and the two of a round are compared, so that where the processors were placed does not matter.
The latency may be 0.30 µs higher at 8 B and 0.40 µs at 1 KiB, the bandwidth 2 % lower from 1 MB on.
The last column is the same ping-pong in memory of NumPy, which asks for huge pages from 4 MiB on: how much
less time than C's it takes is the distortion that our benchmarks avoid by pages of their own.
"""

import ctypes
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
LIMITS_US = {8: 0.30, 1024: 0.40}
LIMIT_PERCENT = 2.0
SIZES = (8, 1024, 1_000_000, 4_194_304, 16_777_216)
BATCH_SECONDS = 1e-3
SIZE_SECONDS = 5.0
FEWEST_ROUNDS, MOST_ROUNDS = 11, 1001
RUN_SECONDS = 120.0


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
    found = {}
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
            for one in (task, other):
                comm.Barrier()
                start = MPI.Wtime()
                one.iterate(count)
                seconds.append(MPI.Wtime() - start)
            times.append([one / count / 2 for one in seconds])
        assert task.check(0) == 0
        tasks.close()
        others.close()
        found[size] = times
    if comm.rank == 0:
        print(json.dumps(found))


def measure(name: str, library: Path) -> dict[int, list[list[float]]]:
    """Seconds (C, mpi4py, mpi4py with NumPy) of each round by size over an interconnect."""
    from workflows.applications import mpi4py
    from workflows.domain import Point
    from workflows.emulation import emulated_nodes
    from workflows.execution import execute
    from workflows.interconnects import load_interconnect
    from workflows.launch import mpirun

    interconnect = load_interconnect(name, ROOT / "config/interconnects")
    with ExitStack() as stack:
        nodes = stack.enter_context(emulated_nodes(interconnect.emulate)) if interconnect.emulate else ()
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        point = Point("pingpong", name, 2, 1, nodes=-(-2 // interconnect.cores_per_node), cores=2)
        command = [sys.executable, "-m", "mpi4py", __file__, "--rank", str(library)]
        launch = mpirun(point, interconnect, nodes, command, mpi4py.RANKS, scratch)
        done = execute(launch.argv, launch.env, scratch, RUN_SECONDS)
    if done.exit_status != 0 or not done.lines:
        raise SystemExit(f"{name}: failed: {done.errors[-2000:]}")
    return {int(size): times for size, times in json.loads(done.lines[-1].text).items()}


def compare(name: str, size: int, rounds: list[list[float]]) -> bool:
    """Print one line; whether what Python adds is within the limits."""
    in_c, ours, _ = (statistics.median(times) for times in zip(*rounds, strict=True))
    added_us = 1e6 * statistics.median(python - c for c, python, _ in rounds)
    added_percent = 100 * (statistics.median(python / c for c, python, _ in rounds) - 1)
    numpy_percent = 100 * (statistics.median(numpy / c for c, _, numpy in rounds) - 1)
    good = added_us <= LIMITS_US[size] if size in LIMITS_US else added_percent <= LIMIT_PERCENT
    told = f"{added_us:+8.3f} µs" if size in LIMITS_US else f"{added_percent:+8.2f} % "
    times = f"C {1e6 * in_c:10.3f} µs, mpi4py {1e6 * ours:10.3f} µs"
    verdict = "" if good else "beyond the limit"
    print(f"{name:22s} {size:9d} B  {times}  {told}  NumPy {numpy_percent:+6.1f} %  {verdict}", flush=True)
    return good


def main() -> None:
    """Compare over the interconnects named, by default shared memory and TCP; exit status 1 beyond a limit."""
    if sys.argv[1:2] == ["--rank"]:
        return ranks(sys.argv[2])
    if shutil.which("mpicc") is None:
        sys.exit("mpicc: not installed (Debian: libopenmpi-dev)")
    names = sys.argv[1:] or ["shared_memory", "tcp_loopback"]
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "pingpong_in_c.so"
        source = Path(__file__).with_name("pingpong_in_c.c")
        subprocess.run(["mpicc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
        within = [
            compare(name, size, rounds) for name in names for size, rounds in measure(name, library).items()
        ]
    return sys.exit(0 if all(within) else 1)


if __name__ == "__main__":
    main()
