"""Frame of a benchmark program: read its parameters and print its result.

Rank 0 prints two lines of JSON: ``started`` when all ranks run, and ``finished`` with the seconds, the answer
and the other results. Nothing is printed in between, because forwarding output takes CPU time.
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

Result = dict[str, Any]
"""Result of a benchmark on rank 0: ``seconds``, ``answer``, ``rows`` and more."""


def start(program: Callable[..., Result], names: Sequence[str] | None = None) -> None:
    """Run a benchmark with the parameters of the case, and print its result.

    Parameters
    ----------
    program : callable
        Takes the communicator and the parameters. Its return value on rank 0 is printed.
    names : sequence of str, optional
        Names of the parameters; by default, the names in its signature.

    Raises
    ------
    ValueError
        The case has an unknown parameter, or lacks a parameter.
    """
    comm = MPI.COMM_WORLD
    parameters = json.loads(Path("parameters.json").read_text())
    names = names or list(inspect.signature(program).parameters)[1:]
    if set(parameters) != set(names):
        wrong = min(set(parameters) ^ set(names))
        raise ValueError(f"parameter {wrong!r}: this benchmark takes {', '.join(names)}, each of them")
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


def about() -> Result:
    """Return versions, and how the machine treats huge pages."""
    huge = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return {
        "mpi4py": mpi4py.__version__,
        "python": platform.python_version(),
        "library": MPI.Get_library_version().split("\n", 1)[0].strip("\0 "),
        "page_bytes": os.sysconf("SC_PAGE_SIZE"),
        "transparent_huge_pages": huge.read_text().strip() if huge.exists() else None,
    }


def memory() -> dict[str, int]:
    """Return the memory of this rank in bytes: its peak, locked pages, and pages pinned for an adapter."""
    status = Path("/proc/self/status").read_text()
    kilobytes = {name: int(size) for name, size in re.findall(r"^(Vm\w+):\s*(\d+) kB", status, re.M)}
    return {
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "locked_bytes": kilobytes["VmLck"] * 1024,
        "pinned_bytes": kilobytes["VmPin"] * 1024,
    }
