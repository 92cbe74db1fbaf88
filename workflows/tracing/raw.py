"""What the tracer wrote of each rank: reading it, and finding the lines of the steps that are wanted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workflows.domain import InputError
from workflows.tracing.lines import COMPUTING, Lines, pack
from workflows.tracing.subsets import COLLECTIVES
from workflows.tracing.trace import what_is_wrong

_HEADER = re.compile(r"# tracer 1 rank (\d+) of (\d+) clock (\w+) cost (\d+) library (.*)")
_END = re.compile(r"# end (\d+) (\d+)")
_NOTE = re.compile(r"# (?:mark|sub \d+(?:,\d+)* \w+(?: \d+)*|any \d+ \d+|matched(?: \d+){3})")
_MARK = "# mark"


@dataclass(frozen=True)
class Raw:
    """What the tracer wrote of one rank.

    Attributes
    ----------
    rank, processes : int
    clock : str
        ``thread_cpu``, ``elapsed`` or ``task_clock``: computing is in nanoseconds; or ``instructions``.
    clock_cost : int
        What one reading of the clock costs, in the clock's unit; it is subtracted already.
    library : str
        The MPI library's own name.
    cpu_ns, count : int
        All of the run by CPU time, and by the clock.
    lines : Lines
        All but the first and the last one; see tracer.c.
    """

    rank: int
    processes: int
    clock: str
    clock_cost: int
    library: str
    cpu_ns: int
    count: int
    lines: Lines


def read_raw(folder: Path, processes: int) -> list[Raw]:
    """Read what the tracer wrote, by rank.

    Raises
    ------
    InputError
        A rank has no file, or one without beginning or end, or with a line that the tracer does not write:
        one line.
    """
    return [_read_rank(folder / f"rank-{rank}.txt", rank, processes) for rank in range(processes)]


def _read_rank(path: Path, rank: int, processes: int) -> Raw:
    try:
        *lines, rest = path.read_text(errors="replace").split("\n")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file: rank {rank} was not traced") from None
    header = _HEADER.fullmatch(lines[0]) if lines else None
    if not header:
        raise InputError(f"{path}: does not begin as the tracer begins a file")
    ended = _END.fullmatch(lines[-1])
    if rest or not ended:
        raise InputError(f"{path}: was cut off after {len(lines)} lines: the program did not end well")
    if (int(header[1]), int(header[2])) != (rank, processes):
        raise InputError(f"{path}: is of rank {header[1]} of {header[2]}, not {rank} of {processes}")
    packed = pack(rank, lines[1:-1])
    for index, line in enumerate(packed.distinct):
        if not _NOTE.fullmatch(line) and (wrong := what_is_wrong(line, rank)):
            number = int(np.argmax(packed.which == index)) + 2
            raise InputError(f"{path}, line {number}: {wrong}")
    clock, cost, library = header[3], int(header[4]), header[5]
    return Raw(rank, processes, clock, cost, library, int(ended[1]), int(ended[2]), packed)


def steps_window(raws: Sequence[Raw], skipped: int) -> tuple[list[tuple[int, int]], int]:
    """Find the lines between two marks of rank 0: after the first `skipped` steps, to the last mark.

    The other ranks, which may print nothing, are cut after the same collective call of all ranks: the last
    one before rank 0's mark.

    Returns
    -------
    list of (int, int)
        First line and line after the last one, by rank.
    int
        Steps between the two marks.

    Raises
    ------
    InputError
        Fewer marks than that, or no collective call between the steps.
    """
    marks = _places(raws[0].lines, [line == _MARK for line in raws[0].lines.distinct]).tolist()
    steps = len(marks) - 1 - skipped
    if steps < 1:
        raise InputError(f"{len(marks)} steps are marked; {skipped + 2} are needed, {skipped} being skipped")
    if len(raws) == 1:
        return [(marks[skipped] + 1, marks[-1])], steps
    calls = [_collective_lines(raw.lines) for raw in raws]
    _check_same_calls(raws, calls)
    first, last = np.searchsorted(calls[0], (marks[skipped], marks[-1])).tolist()
    if first < 1 or last <= first:
        raise InputError("there is no collective call of all ranks in every step, so that they cannot be cut")
    return [(int(places[first - 1]) + 1, int(places[last - 1]) + 1) for places in calls], steps


def step_of(raws: Sequence[Raw], rank: int, line: int) -> int | None:
    """Tell in which step, from 1, a line of a rank is; None where no step is marked."""
    marks = _places(raws[0].lines, [text == _MARK for text in raws[0].lines.distinct])
    if not len(marks):
        return None
    if rank == 0:
        return int(np.searchsorted(marks, line)) + 1
    calls = int(np.searchsorted(_collective_lines(raws[rank].lines), line))
    of_marks = np.searchsorted(_collective_lines(raws[0].lines), marks)
    return int(np.searchsorted(of_marks, calls, side="right")) + 1


def step_amounts(raw: Raw, skipped: int) -> list[int]:
    """What rank 0 computed in each step after the first `skipped`, by its clock; nothing without steps."""
    marks = _places(raw.lines, [text == _MARK for text in raw.lines.distinct])[skipped:]
    before = np.cumsum(raw.lines.which == COMPUTING)[marks]
    return np.diff(np.append(0, np.cumsum(raw.lines.amounts))[before]).tolist()


def whole(raws: Sequence[Raw]) -> list[tuple[int, int]]:
    """All lines of every rank, as `steps_window` gives them."""
    return [(0, len(raw.lines)) for raw in raws]


def _places(lines: Lines, wanted: Sequence[bool]) -> NDArray[np.intp]:
    """Places of the lines that are wanted; `wanted` is by distinct line."""
    return np.flatnonzero(np.array([*wanted, False])[lines.which])  # the last one is COMPUTING


def _collective_lines(lines: Lines) -> NDArray[np.intp]:
    return _places(lines, [_action(line) in COLLECTIVES for line in lines.distinct])


def _action(line: str) -> str:
    return "" if line[0] == "#" else line.split(" ", 2)[1]


def _check_same_calls(raws: Sequence[Raw], calls: Sequence[NDArray[np.intp]]) -> None:
    """Make sure that all ranks made the same collective calls."""
    named = [
        np.array([_action(line) for line in raw.lines.distinct], dtype=str)[raw.lines.which[places]]
        for raw, places in zip(raws, calls, strict=True)
    ]
    for rank, names in enumerate(named):
        both = min(len(names), len(named[0]))
        if len(other := np.flatnonzero(names[:both] != named[0][:both])):
            place = other[0]
            raise InputError(
                f"collective call {place + 1} is {names[place]} on rank {rank}, {named[0][place]} on rank 0"
            )
        if len(names) != len(named[0]):
            raise InputError(f"rank {rank} made {len(names)} collective calls, rank 0 {len(named[0])}")
