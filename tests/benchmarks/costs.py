"""Costs of commands, and their comparison with a limit."""

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
# A small process starts the command: the kernel counts the memory of the process that starts a program as the program's.
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
class Measured:
    """A measured cost.

    Attributes
    ----------
    name : str
    value, limit : float
        In `unit`.
    unit : str
    peer : str
        What the limit is relative to; empty for a limit that holds by itself.
    """

    name: str
    value: float
    unit: str
    limit: float
    peer: str = ""

    @property
    def is_above_limit(self) -> bool:
        """Whether the cost is higher than allowed."""
        return self.value > self.limit

    @property
    def row(self) -> str:
        """Row of a Markdown table."""
        return f"| {self.name} | {self.value:.3g} {self.unit} | {self.limit:.3g} {self.unit} | {self.peer or '–'} |"


@dataclass(frozen=True)
class Cost:
    """What a command and all that it started took."""

    wall_seconds: float
    cpu_seconds: float
    memory_bytes: int


def cost(command: Sequence[str | Path], cwd: Path = ROOT) -> Cost:
    """Run a command to its end. Its memory is the peak of its largest process.

    Raises
    ------
    RuntimeError
        If the command fails; the message ends with the command's output.
    """
    with tempfile.NamedTemporaryFile() as file:
        done = subprocess.run(
            [sys.executable, "-c", _INSIDE, file.name, *map(str, command)],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if done.returncode:
            output = done.stdout.decode(errors="replace")[-2000:]
            raise RuntimeError(f"{command[0]}: exit status {done.returncode}: {output}")
        return Cost(*json.loads(file.read()))


def interleaved(ways: Mapping[str, Callable[[], float]], rounds: int = 3) -> dict[str, float]:
    """Median of each way over some rounds; every other round runs the ways in reverse order."""
    results: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds):
        for name in list(ways) if number % 2 else reversed(list(ways)):
            results[name].append(ways[name]())
    return {name: median(values) for name, values in results.items()}
