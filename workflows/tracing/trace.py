"""A trace: the folder that describes what every rank of a run computed and communicated.

``rank-<r>.txt.gz`` are in SimGrid's time-independent format, ``trace.json`` says how they were made (its
schema is workflows/schemas/trace.yaml), ``profile.csv`` and ``pairs.csv`` sum the communication up.
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
"""Actions of ours: a transfer that involves no action of the target."""

ACTIONS = {
    **dict.fromkeys(("init", "finalize", "window"), 0),
    "compute": 1,
    **dict.fromkeys(("send", "isend", "recv", "irecv", "wait"), 3),
    **dict.fromkeys(ONE_SIDED, 2),
    "flush": None,
    **dict.fromkeys(COLLECTIVES, None),
}
"""Actions of a trace, and how many numbers each has; of collective calls, SimGrid checks that.
``flush`` names the ranks at which what was done to them is complete; ``window`` is the making of one."""

_FACTORS = ("corrected_factor", "low_factor", "high_factor")
_LINE = re.compile(r"\d+ \w+(?: \d+)*", re.ASCII)
_SHAPES = {b" %b%b" % (name.encode(), b" " * count) for name, count in ACTIONS.items() if count is not None}
"""Lines without their digits, of actions whose number of numbers is known."""
_COLLECTIVE = re.compile(f" (flush|{'|'.join(sorted(COLLECTIVES))}) *".encode())
"""Shape of an action with any whole numbers."""


@dataclass(frozen=True)
class Trace:
    """A trace that is complete.

    Attributes
    ----------
    steps : int
        Steps of the application that it holds.
    timed_steps : int
        Steps that the `seconds` of a run of the case cover.
    about : dict
        All of ``trace.json``.
    """

    folder: Path
    processes: int
    steps: int
    timed_steps: int
    about: dict[str, Any]

    @property
    def threads(self) -> int:
        """Threads that each rank computed with."""
        return self.about.get("threads", 1)

    def factors(self, end: str) -> tuple[float, ...]:
        """By rank, what its compute amounts are multiplied by: ``corrected``, or ``low`` or ``high``."""
        return tuple(map(float, self.about[f"{end}_factor"]))

    def corun_percent(self, end: str) -> float:
        """How much longer a rank computes for each other of its node that does; ends as in `factors`."""
        key = "corun_percent" if end == "corrected" else f"corun_percent_{end}"
        return self.about[key] or 0.0

    def summary(self) -> str:
        """One line on what it holds."""
        about = self.about
        calls = sum(row["calls"] for row in about["operations"])
        computing = sum(about["compute_seconds"])
        timed = (
            f"each rank timed alone, {about['repeats']} times"
            if about["timing"] == "alone"
            else f"ranks timed together, since {about['timing_reason']}"
        )
        if (spread := step_spread_percent(self.about)) is not None:
            timed += f"; its steps {spread:.0f} % apart"
        slower = about["corun_percent"]
        if slower is not None:
            timed += f"; {slower:.0f} % slower for each other rank that computes on its node"
        return (
            f"{self.folder}: {self.steps} steps, {calls} calls, {computing:.3g} s of computing, "
            f"{about['inflation']:.2f} times the serial run's; {timed}; correction: {about['correction']}"
        )

    def lines(self, rank: int) -> list[str]:
        """All lines of a rank.

        Raises
        ------
        InputError
            A file that is damaged or cut off: one line.
        """
        return _read_rank(self.folder, rank).decode().splitlines()


def step_spread_percent(about: Mapping[str, Any]) -> float | None:
    """How much longer rank 0 computed in its longest step than in the shortest, percent of their median.

    None where what trace.json says, `about`, has no two steps.
    """
    steps = about.get("step_seconds", [])
    middle = statistics.median(steps) if len(steps) > 1 else 0.0
    return 100 * (max(steps) - min(steps)) / middle if middle else None


def read_trace(folder: Path) -> Trace:
    """Read a trace and check all of it.

    Raises
    ------
    InputError
        One line with the file and what is wrong: ``trace.json`` missing, damaged or not as its schema says, a
        rank's file missing, too many, cut off or damaged, an action that is not known or lacks a number.
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
    wanted = [rank_file(rank) for rank in range(processes)]
    there = {path.name for path in folder.glob("rank-*")}
    for name in wanted:
        if name not in there:
            raise InputError(f"{folder / name}: no such file, of a trace of {processes} processes")
    if odd := sorted(there.difference(wanted)):
        raise InputError(f"{folder / odd[0]}: does not belong to a trace of {processes} processes")
    for rank in range(processes):
        _check_rank(folder, rank)
    return Trace(folder, processes, about["steps"], about["timed_steps"], about)


def rank_file(rank: int) -> str:
    """Name of the file of a rank."""
    return f"rank-{rank}.txt.gz"


def write_rank(folder: Path, rank: int, lines: Iterable[str]) -> None:
    """Write the file of a rank, its beginning and end added; the same lines make the same bytes."""
    content = "\n".join([f"{rank} init", *lines, f"{rank} finalize", ""])
    (folder / rank_file(rank)).write_bytes(gzip.compress(content.encode(), compresslevel=1, mtime=0))


def _read_rank(folder: Path, rank: int) -> bytes:
    path = folder / rank_file(rank)
    try:
        return gzip.decompress(path.read_bytes())
    except OSError as error:  # BadGzipFile is one, with no strerror
        raise InputError(f"{path}: cannot be read: {error.strerror or error}; trace it again") from None
    except (EOFError, zlib.error) as error:
        raise InputError(f"{path}: cut off or damaged ({error}); trace it again") from None


def _check_rank(folder: Path, rank: int) -> None:
    path = folder / rank_file(rank)
    content = _read_rank(folder, rank)
    own = b"%d" % rank
    if not content.startswith(own + b" init\n"):
        raise InputError(f"{path}, line 1: must be '{rank} init'")
    if not content.endswith(b"\n" + own + b" finalize\n"):
        raise InputError(f"{path}: cut off: must end with '{rank} finalize'; trace it again")
    shapes = set(content.translate(None, b"0123456789").splitlines())  # few, however long the trace
    lines = content.count(b"\n")
    own_lines = content.count(b"\n%b " % own) + 1
    collectives = {shape for shape in shapes if _COLLECTIVE.fullmatch(shape)}
    if shapes <= _SHAPES | collectives and own_lines == lines and not re.search(rb"  | \n", content):
        return
    for number, line in enumerate(content.splitlines(), 1):
        if wrong := what_is_wrong(line.decode(errors="replace"), rank):
            raise InputError(f"{path}, line {number}: {wrong}")


def what_is_wrong(line: str, rank: int) -> str | None:
    """Why a line is none of a rank's file; None for one that is."""
    words, said = line.split(" "), line[:60]
    name = words[1] if len(words) > 1 else ""
    if name not in ACTIONS:
        return f"unknown action {name!r} in {said!r}; known: {', '.join(sorted(ACTIONS))}"
    count = ACTIONS[name]
    if not _LINE.fullmatch(line) or count not in (None, len(words) - 2):
        return (
            f"{name} takes {'whole numbers alone' if count is None else f'{count} whole numbers'}: {said!r}"
        )
    return None if words[0] == str(rank) else f"is not of rank {rank}"
