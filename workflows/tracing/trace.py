"""A trace: a folder with the computing and communication of every rank of a run.

The files ``rank-<r>.txt.gz`` are in SimGrid's time-independent format. ``trace.json`` describes how they were
made; its schema is workflows/schemas/trace.yaml. ``profile.csv`` and ``pairs.csv`` sum up the communication.
"""

from __future__ import annotations

import gzip
import json
import re
import statistics
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflows import inputs
from workflows.domain import InputError
from workflows.tracing.subsets import COLLECTIVES

FORMAT = "SimGrid 3.32 time-independent, compute in nanoseconds"

ONE_SIDED = {"put", "get", "accumulate", "fetch"}
"""Actions that SimGrid lacks: transfers without an action of the target."""

ACTIONS = {
    **dict.fromkeys(("init", "finalize", "window"), 0),
    "compute": 1,
    **dict.fromkeys(("send", "isend", "recv", "irecv", "wait"), 3),
    **dict.fromkeys(ONE_SIDED, 2),
    "flush": None,
    **dict.fromkeys(COLLECTIVES, None),
}
"""Number of arguments of each action; None for any number, which SimGrid checks for collective calls.

``flush`` completes the transfers to the ranks it names; ``window`` is the creation of an MPI window.
"""

_FACTORS = ("corrected_factor", "low_factor", "high_factor")
_LINE = re.compile(r"\d+ \w+(?: \d+)*", re.ASCII)
_SHAPES = {b" %b%b" % (name.encode(), b" " * count) for name, count in ACTIONS.items() if count is not None}
"""Lines without digits, of the actions with a fixed number of arguments."""
_COLLECTIVE = re.compile(f" (flush|{'|'.join(sorted(COLLECTIVES))}) *".encode())
"""Lines without digits, of the actions with any number of arguments."""


@dataclass(frozen=True)
class Trace:
    """A complete trace.

    Attributes
    ----------
    steps : int
        Traced steps of the application.
    timed_steps : int
        Steps that the `seconds` of a run of the case cover.
    about : dict
        Content of ``trace.json``.
    """

    folder: Path
    processes: int
    steps: int
    timed_steps: int
    about: dict[str, Any]

    @property
    def threads(self) -> int:
        """Threads of each rank."""
        return int(self.about.get("threads", 1))

    def factors(self, end: str) -> tuple[float, ...]:
        """Return the factor of each rank's compute amounts; `end` is ``corrected``, ``low`` or ``high``."""
        return tuple(map(float, self.about[f"{end}_factor"]))

    def corun_percent(self, end: str) -> float:
        """Return the slowdown per other computing rank on the node, percent; `end` as in `factors`."""
        key = "corun_percent" if end == "corrected" else f"corun_percent_{end}"
        return float(self.about[key] or 0.0)

    def summary(self) -> str:
        """Return a summary of the trace in one line."""
        about = self.about
        calls = sum(row["calls"] for row in about["operations"])
        computing = sum(about["compute_seconds"])
        timed = (
            f"each rank timed alone, {about['repeats']} times"
            if about["timing"] == "alone"
            else f"ranks timed together ({about['timing_reason']})"
        )
        if (spread := step_spread_percent(self.about)) is not None:
            timed += f"; its steps {spread:.0f} % apart"
        slowdown = about["corun_percent"]
        if slowdown is not None:
            timed += f"; {slowdown:.0f} % slower for each other rank that computes on its node"
        return (
            f"{self.folder}: {self.steps} steps, {calls} calls, {computing:.3g} s of computing, "
            f"{about['inflation']:.2f} times the serial run's; {timed}; correction: {about['correction']}"
        )

    def lines(self, rank: int) -> list[str]:
        """Return all lines of a rank.

        Raises
        ------
        InputError
            The file is damaged or cut off.
        """
        return _read_rank(self.folder, rank).decode().splitlines()


def step_spread_percent(about: Mapping[str, Any]) -> float | None:
    """Return the range of rank 0's compute times of steps, percent of their median.

    None if trace.json, `about`, holds fewer than two steps.
    """
    steps = about.get("step_seconds", [])
    middle = statistics.median(steps) if len(steps) > 1 else 0.0
    return 100 * (max(steps) - min(steps)) / middle if middle else None


def read_trace(folder: Path) -> Trace:
    """Read a trace and check all its files.

    Raises
    ------
    InputError
        ``trace.json`` is missing, damaged or violates its schema; a rank's file is missing, superfluous,
        cut off or damaged; an action is unknown or lacks an argument. The message is one line with the file.
    """
    file = folder / "trace.json"
    try:
        about = json.loads(file.read_text())
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{file}: damaged ({error}); trace it again") from None
    inputs.check(about, "trace", file)
    processes = about["processes"]
    for name in _FACTORS:
        if len(about[name]) != processes:
            raise InputError(
                f"{file}: {name}: {len(about[name])} numbers, not one for each of {processes} processes"
            )
    expected = [rank_file(rank) for rank in range(processes)]
    present = {path.name for path in folder.glob("rank-*")}
    for name in expected:
        if name not in present:
            raise InputError(f"{folder / name}: no such file, of a trace of {processes} processes")
    if superfluous := sorted(present.difference(expected)):
        raise InputError(f"{folder / superfluous[0]}: does not belong to a trace of {processes} processes")
    for rank in range(processes):
        _check_rank(folder, rank)
    return Trace(folder, processes, about["steps"], about["timed_steps"], about)


def rank_file(rank: int) -> str:
    """Return the name of a rank's file."""
    return f"rank-{rank}.txt.gz"


def write_rank(folder: Path, rank: int, lines: Iterable[str]) -> None:
    """Write the file of a rank with ``init`` and ``finalize``; equal lines result in equal bytes."""
    content = "\n".join([f"{rank} init", *lines, f"{rank} finalize", ""])
    (folder / rank_file(rank)).write_bytes(gzip.compress(content.encode(), compresslevel=1, mtime=0))


def _read_rank(folder: Path, rank: int) -> bytes:
    path = folder / rank_file(rank)
    try:
        return gzip.decompress(path.read_bytes())
    except OSError as error:  # BadGzipFile is an OSError without strerror
        raise InputError(f"{path}: cannot be read: {error.strerror or error}; trace it again") from None
    except (EOFError, zlib.error) as error:
        raise InputError(f"{path}: cut off or damaged ({error}); trace it again") from None


def _check_rank(folder: Path, rank: int) -> None:
    path = folder / rank_file(rank)
    content = _read_rank(folder, rank)
    prefix = b"%d" % rank
    if not content.startswith(prefix + b" init\n"):
        raise InputError(f"{path}, line 1: must be '{rank} init'")
    if not content.endswith(b"\n" + prefix + b" finalize\n"):
        raise InputError(f"{path}: cut off: must end with '{rank} finalize'; trace it again")
    shapes = set(content.translate(None, b"0123456789").splitlines())  # few, however long the trace
    lines = content.count(b"\n")
    lines_of_rank = content.count(b"\n%b " % prefix) + 1
    collectives = {shape for shape in shapes if _COLLECTIVE.fullmatch(shape)}
    if shapes <= _SHAPES | collectives and lines_of_rank == lines and not re.search(rb"  | \n", content):
        return
    for number, line in enumerate(content.splitlines(), 1):
        if problem := line_problem(line.decode(errors="replace"), rank):
            raise InputError(f"{path}, line {number}: {problem}")


def line_problem(line: str, rank: int) -> str | None:
    """Return why a line does not belong in a rank's file; None if it does."""
    words, shown = line.split(" "), line[:60]
    name = words[1] if len(words) > 1 else ""
    if name not in ACTIONS:
        return f"unknown action {name!r} in {shown!r}; known: {', '.join(sorted(ACTIONS))}"
    count = ACTIONS[name]
    if not _LINE.fullmatch(line) or count not in (None, len(words) - 2):
        return (
            f"{name} takes {'only whole numbers' if count is None else f'{count} whole numbers'}: {shown!r}"
        )
    return None if words[0] == str(rank) else f"is not of rank {rank}"
