"""What every benchmark program does: read its parameters and print what it found.

Rank 0 prints two lines of JSON: ``started`` when all ranks are up, and ``finished`` with the seconds, the
answer and whatever else the benchmark gives. Nothing is printed between, as whoever passes it on takes CPU
time.
"""

from __future__ import annotations

import inspect
import json
import os
import platform
import re
import resource
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mpi4py
from mpi4py import MPI

Told = dict[str, Any]


def start(program: Callable[..., Told], known: Sequence[str] | None = None) -> None:
    """Run a benchmark with the parameters of the case's size, and print its result.

    Parameters
    ----------
    program : callable
        Takes the communicator and the parameters; gives, on rank 0, ``seconds``, ``answer`` and ``rows``.
        What it gives on other ranks is not used.
    known : sequence of str, optional
        Names of the parameters, by default those of its signature.

    Raises
    ------
    ValueError
        The size has a parameter that the benchmark does not take, or lacks a parameter.
    """
    comm = MPI.COMM_WORLD
    parameters = json.loads(Path("parameters.json").read_text())
    known = known or list(inspect.signature(program).parameters)[1:]
    if set(parameters) != set(known):
        odd = min(set(parameters) ^ set(known))
        raise ValueError(f"parameter {odd!r}: this benchmark takes {', '.join(known)}, each of them")
    comm.Barrier()
    if comm.rank == 0:
        print(json.dumps({"started": about()}), flush=True)
    before = os.times()
    result = program(comm, **parameters)
    after = os.times()
    cpu = {"user_seconds": after.user - before.user, "system_seconds": after.system - before.system}
    ranks = {"cpu": comm.gather(cpu), "memory": comm.gather(memory())}
    if comm.rank == 0:
        print(json.dumps({"finished": result | ranks}), flush=True)


def about() -> Told:
    """What runs: versions, and how the machine treats huge pages."""
    huge = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return {
        "mpi4py": mpi4py.__version__,
        "python": platform.python_version(),
        "library": MPI.Get_library_version().split("\n", 1)[0].strip("\0 "),
        "page_bytes": os.sysconf("SC_PAGE_SIZE"),
        "transparent_huge_pages": huge.read_text().strip() if huge.exists() else None,
    }


def memory() -> dict[str, int]:
    """Bytes of this rank's memory: the most it had, what is locked, and what is pinned for an adapter."""
    status = Path("/proc/self/status").read_text()
    kilobytes = {name: int(size) for name, size in re.findall(r"^(Vm\w+):\s*(\d+) kB", status, re.M)}
    return {
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "locked_bytes": kilobytes["VmLck"] * 1024,
        "pinned_bytes": kilobytes["VmPin"] * 1024,
    }
