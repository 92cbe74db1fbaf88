"""Titles of network benchmarks and their quantities, and message sizes as text."""

from __future__ import annotations

from analysis.presentation.formats import MISSING, THIN, exact, number
from analysis.runs.frames import is_missing

BENCHMARKS = {
    "pingpong": "Ping-pong",
    "sendrecv": "Exchange in both directions",
    "allreduce": "Allreduce",
    "alltoall": "All-to-all",
    "bcast": "Broadcast",
    "gatherv": "Gather",
    "barrier": "Barrier",
    "pair_matrix": "Every pair",
    "simultaneous_pairs": "Pairs at once",
    "availability": "Processor availability",
    "after_work": "Messages after work",
    "flush": "Completing one-sided calls",
    "window": "Window for one-sided calls",
}
"""Titles of the benchmarks, in the order of a report."""

COLLECTIVES = ("allreduce", "alltoall", "bcast", "gatherv", "barrier", "flush", "window")
"""Benchmarks of all processes, and benchmarks without a message size."""

QUANTITIES = {"latency_us": ("Latency", "µs"), "bandwidth_MBps": ("Bandwidth", "MB/s")}
"""Title and unit of each quantity of a network curve, by column."""

_UNITS = ("B", "KiB", "MiB", "GiB")


def benchmark(name: str) -> str:
    """Return the title of a benchmark, or its name if it is not in `BENCHMARKS`."""
    return BENCHMARKS.get(name, name)


def ordered(names: set[str]) -> list[str]:
    """Sort benchmarks by the order of `BENCHMARKS`; other names follow."""
    order = list(BENCHMARKS)
    return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))


def size_text(size: float) -> str:
    """Write a message size with its unit, in powers of 1024.

    Examples
    --------
    >>> size_text(0), size_text(1536), size_text(1 << 20)
    ('0\u202fB', '1.5\u202fKiB', '1\u202fMiB')
    """
    if is_missing(size):
        return MISSING
    power = 0
    while size >= 1024 and power < len(_UNITS) - 1:
        size, power = size / 1024, power + 1
    return f"{exact(size) if size == int(size) else number(size)}{THIN}{_UNITS[power]}"
