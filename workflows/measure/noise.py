"""Noise of the machine: how busy other programs keep its CPUs, from counters of the kernel."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from workflows.domain import Noise

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_INTERVAL_SECONDS = 0.1
LONG_WAIT_SECONDS = 1.0
"""Wait for an idle machine from which on Nodeworth displays the wait."""


@dataclass(frozen=True)
class Counters:
    """Counters of the whole machine at one moment, in seconds since boot.

    Attributes
    ----------
    clock : float
        Monotonic clock.
    pressure : float or None
        Time in which at least one runnable task waited for a CPU. None on a kernel without /proc/pressure.
    busy, steal : float
        CPU time of all tasks, and CPU time that the hypervisor gave to others, over all CPUs.
    """

    clock: float
    pressure: float | None
    busy: float
    steal: float


def read_counters() -> Counters:
    """Read /proc/pressure/cpu and /proc/stat."""
    try:
        line = _first_line("/proc/pressure/cpu")
        pressure = int(line.rsplit(b"total=", 1)[1]) / 1e6
    except OSError:  # the kernel has no pressure accounting, or forbids reading it
        pressure = None
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, _first_line("/proc/stat").split()[1:9])
    return Counters(
        clock=time.monotonic(),
        pressure=pressure,
        busy=(user + nice + system + irq + softirq) / _TICKS_PER_SECOND,
        steal=steal / _TICKS_PER_SECOND,
    )


def _first_line(file: str) -> bytes:
    with Path(file).open("rb") as lines:
        return lines.readline()


def noise_between(before: Counters, after: Counters, own_cpu_seconds: float | None) -> Noise:
    """Return the noise between two readings of the counters.

    Parameters
    ----------
    own_cpu_seconds : float or None
        CPU time of the run in this interval, which is not noise. None: unknown.
    """
    elapsed = max(after.clock - before.clock, 1e-9)
    share = None
    if before.pressure is not None and after.pressure is not None:
        share = min(max((after.pressure - before.pressure) / elapsed, 0.0), 1.0)
    foreign_cores = None
    if own_cpu_seconds is not None:
        foreign_cores = max((after.busy - before.busy - own_cpu_seconds) / elapsed, 0.0)
    return Noise(share, foreign_cores, stolen_cores=(after.steal - before.steal) / elapsed)


def wait_until_idle(
    limit_seconds: float, idle_cores: float = 0.1, show_wait: Callable[[float], None] | None = None
) -> tuple[float, float]:
    """Wait until fewer CPUs than `idle_cores` are busy, for a bounded time.

    Parameters
    ----------
    show_wait : callable, optional
        Receives the number of busy CPUs once, when the wait has lasted for `LONG_WAIT_SECONDS`.

    Returns
    -------
    waited_seconds : float
    busy_cores : float
        CPUs that were busy, or stolen by the hypervisor, in the last interval.
    """
    start = before = read_counters()
    while True:
        time.sleep(_INTERVAL_SECONDS)
        after = read_counters()
        noise = noise_between(before, after, own_cpu_seconds=0.0)
        busy = (noise.foreign_cores or 0.0) + (noise.stolen_cores or 0.0)
        waited = after.clock - start.clock
        if busy < idle_cores or waited >= limit_seconds:
            return waited, busy
        if show_wait and waited >= LONG_WAIT_SECONDS:
            show_wait(busy)
            show_wait = None
        before = after


def killed_for_memory(counters: Path = Path("/proc/vmstat")) -> int | None:
    """Return how many processes the kernel killed for lack of memory since boot; None if unknown."""
    try:
        pairs = (line.split() for line in counters.read_text().splitlines())
        return next((int(value) for name, value in pairs if name == "oom_kill"), None)
    except OSError:
        return None
