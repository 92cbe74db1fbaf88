"""The tracer's output of each rank, and the lines of the steps to trace."""

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
from workflows.tracing.trace import line_problem

_HEADER = re.compile(r"# tracer 1 rank (\d+) of (\d+) clock (\w+) cost (\d+) library (.*)")
_END = re.compile(r"# end (\d+) (\d+)")
_NOTE = re.compile(r"# (?:mark|sub \d+(?:,\d+)* \w+(?: \d+)*|any \d+ \d+|matched(?: \d+){3})")
_MARK = "# mark"


@dataclass(frozen=True)
class Raw:
    """Output of the tracer for one rank.

    Attributes
    ----------
    rank, processes : int
    clock : str
        ``thread_cpu``, ``elapsed`` or ``task_clock``, which count nanoseconds, or ``instructions``.
    clock_cost : int
        Cost of a reading of the clock, in the clock's unit. The tracer has subtracted it from the amounts.
    library : str
        Version text of the MPI library.
    cpu_ns, count : int
        Total CPU time, and total count of the clock.
    lines : Lines
        All lines except the first and the last: see tracer.c.
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
    """Read the tracer's output of all ranks.

    Raises
    ------
    InputError
        The file of a rank is missing or cut off, or contains an unknown line.
    """
    return [_read_rank(folder / f"rank-{rank}.txt", rank, processes) for rank in range(processes)]


def _read_rank(path: Path, rank: int, processes: int) -> Raw:
    try:
        *lines, rest = path.read_text(errors="replace").split("\n")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file: rank {rank} was not traced") from None
    header = _HEADER.fullmatch(lines[0]) if lines else None
    if not header:
        raise InputError(f"{path}: does not start with the tracer's header")
    ended = _END.fullmatch(lines[-1])
    if rest or not ended:
        raise InputError(f"{path}: was cut off after {len(lines)} lines: the program did not end well")
    if (int(header[1]), int(header[2])) != (rank, processes):
        raise InputError(f"{path}: is of rank {header[1]} of {header[2]}, not {rank} of {processes}")
    packed = pack(rank, lines[1:-1])
    for index, line in enumerate(packed.distinct):
        if not _NOTE.fullmatch(line) and (problem := line_problem(line, rank)):
            number = int(np.argmax(packed.which == index)) + 2
            raise InputError(f"{path}, line {number}: {problem}")
    clock, cost, library = header[3], int(header[4]), header[5]
    return Raw(rank, processes, clock, cost, library, int(ended[1]), int(ended[2]), packed)


def steps_window(raws: Sequence[Raw], skipped: int) -> tuple[list[tuple[int, int]], int]:
    """Find the lines of the steps to trace: after the first `skipped` steps, up to the last mark of rank 0.

    A mark is the end of a step. Other ranks may print no marks. Their lines are cut at the collective call of
    all ranks that comes last before the mark of rank 0.

    Returns
    -------
    list of (int, int)
        First line and end (exclusive), by rank.
    int
        Number of steps between the two marks.

    Raises
    ------
    InputError
        There are too few marks, or a step has no collective call.
    """
    marks = _indices(raws[0].lines, [line == _MARK for line in raws[0].lines.distinct]).tolist()
    steps = len(marks) - 1 - skipped
    if steps < 1:
        raise InputError(f"{len(marks)} steps are marked; {skipped + 2} are needed, {skipped} being skipped")
    if len(raws) == 1:
        return [(marks[skipped] + 1, marks[-1])], steps
    calls = [_collective_lines(raw.lines) for raw in raws]
    _check_same_calls(raws, calls)
    first, last = np.searchsorted(calls[0], (marks[skipped], marks[-1])).tolist()
    if first < 1 or last <= first:
        raise InputError("there is no collective call of all ranks in every step at which to cut")
    return [(int(places[first - 1]) + 1, int(places[last - 1]) + 1) for places in calls], steps


def step_of(raws: Sequence[Raw], rank: int, line: int) -> int | None:
    """Return the step, from 1, of a line of a rank; None if no step is marked."""
    marks = _indices(raws[0].lines, [text == _MARK for text in raws[0].lines.distinct])
    if not len(marks):
        return None
    if rank == 0:
        return int(np.searchsorted(marks, line)) + 1
    calls = int(np.searchsorted(_collective_lines(raws[rank].lines), line))
    calls_at_marks = np.searchsorted(_collective_lines(raws[0].lines), marks)
    return int(np.searchsorted(calls_at_marks, calls, side="right")) + 1


def step_amounts(raw: Raw, skipped: int) -> list[int]:
    """Return the compute amount of a rank in each step after the first `skipped`, in the clock's unit."""
    marks = _indices(raw.lines, [text == _MARK for text in raw.lines.distinct])[skipped:]
    before = np.cumsum(raw.lines.which == COMPUTING)[marks]
    amounts: list[int] = np.diff(np.append(0, np.cumsum(raw.lines.amounts))[before]).tolist()
    return amounts


def whole(raws: Sequence[Raw]) -> list[tuple[int, int]]:
    """Return all lines of every rank as a window."""
    return [(0, len(raw.lines)) for raw in raws]


def _indices(lines: Lines, selected: Sequence[bool]) -> NDArray[np.intp]:
    """Return the indices of the lines for which the distinct line is selected."""
    return np.flatnonzero(np.array([*selected, False])[lines.which])  # COMPUTING is last


def _collective_lines(lines: Lines) -> NDArray[np.intp]:
    """Return the indices of the collective calls of all ranks."""
    return _indices(lines, [_action(line) in COLLECTIVES for line in lines.distinct])


def _action(line: str) -> str:
    """Return the name of the action of a line; empty for a note of the tracer."""
    return "" if line[0] == "#" else line.split(" ", 2)[1]


def _check_same_calls(raws: Sequence[Raw], calls: Sequence[NDArray[np.intp]]) -> None:
    """Raise an `InputError` if ranks made different collective calls."""
    call_names = [
        np.array([_action(line) for line in raw.lines.distinct], dtype=str)[raw.lines.which[places]]
        for raw, places in zip(raws, calls, strict=True)
    ]
    for rank, names in enumerate(call_names):
        common = min(len(names), len(call_names[0]))
        if len(differing := np.flatnonzero(names[:common] != call_names[0][:common])):
            call = differing[0]
            raise InputError(
                f"collective call {call + 1} is {names[call]} on rank {rank}, {call_names[0][call]} on rank 0"
            )
        if len(names) != len(call_names[0]):
            raise InputError(f"rank {rank} made {len(names)} collective calls, rank 0 {len(call_names[0])}")
