"""What a benchmark hands to the clock (clock.py): figures, each with what a peer took in the same run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
GROWTH = 1.25
# A small process starts what is measured: the kernel counts the memory of the one that starts a program as the program's.
_INSIDE = """
import json, resource, subprocess, sys, time
begun = time.monotonic()
status = subprocess.run(sys.argv[2:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    json.dump([time.monotonic() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024], file)
sys.exit(status)
"""


@dataclass(frozen=True)
class Figure:
    """One thing that was measured.

    Attributes
    ----------
    what : str
        Name of the row; it stays the same from table to table.
    value, peer_value : float
        In `unit`; the peer's is None where there is none.
    limit : float or None
        Highest value allowed, in `unit`.
    ratio_limit : float or None
        Highest ratio to the peer allowed.
    """

    what: str
    value: float
    unit: str
    limit: float | None = None
    peer: str = ""
    peer_value: float | None = None
    ratio_limit: float | None = None

    @property
    def ratio(self) -> float | None:
        """Value as a multiple of the peer's."""
        return self.value / self.peer_value if self.peer_value else None


@dataclass(frozen=True)
class Cost:
    """What a command and all that it started took."""

    wall_seconds: float
    cpu_seconds: float
    memory_bytes: int


def cost(command: Sequence[str | Path], cwd: Path = ROOT) -> Cost:
    """Run a command to its end; its peak memory is that of its largest process.

    Raises
    ------
    RuntimeError
        If it fails; with the end of what it said.
    """
    with tempfile.NamedTemporaryFile() as told:
        done = subprocess.run(
            telling_cost(told.name, command),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if done.returncode:
            said = done.stdout.decode(errors="replace")[-2000:]
            raise RuntimeError(f"{command[0]}: exit status {done.returncode}: {said}")
        return Cost(*json.loads(told.read()))


def telling_cost(told: str | Path, command: Sequence[str | Path]) -> list[str]:
    """Make a command write the three values of its `Cost` into a file, as a list in JSON, when it has ended."""
    return [sys.executable, "-c", _INSIDE, str(told), *map(str, command)]


def side_by_side(ways: Mapping[str, Callable[[], float]], rounds: int = 3) -> dict[str, float]:
    """Take the median of each way over some rounds; every other round in reverse order."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds):
        for name in list(ways) if number % 2 else reversed(list(ways)):
            found[name].append(ways[name]())
    return {name: median(values) for name, values in found.items()}
