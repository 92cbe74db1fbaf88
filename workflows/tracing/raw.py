"""What the tracer wrote of each rank: reading it, and finding the lines of the steps that are wanted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workflows.domain import InputError
from workflows.tracing.subsets import COLLECTIVES

_HEADER = re.compile(r"# tracer 1 rank (\d+) of (\d+) clock (\w+) cost (\d+) library (.*)")
_END = re.compile(r"# end (\d+) (\d+)")


@dataclass(frozen=True)
class Raw:
    """What the tracer wrote of one rank.

    Attributes
    ----------
    rank, processes : int
    clock : str
        ``thread_cpu`` or ``task_clock``: computing is in nanoseconds; or ``instructions``.
    clock_cost : int
        What one reading of the clock costs, in the clock's unit; it is subtracted already.
    library : str
        The MPI library's own name.
    cpu_ns, count : int
        All of the run by CPU time, and by the clock.
    lines : list of str
        All but the first and the last one; see tracer.c.
    """

    rank: int
    processes: int
    clock: str
    clock_cost: int
    library: str
    cpu_ns: int
    count: int
    lines: list[str]


def read_raw(folder: Path, processes: int) -> list[Raw]:
    """Read what the tracer wrote, by rank.

    Raises
    ------
    InputError
        A rank has no file, or one without beginning or end: one line.
    """
    raws = []
    for rank in range(processes):
        path = folder / f"rank-{rank}.txt"
        try:
            lines = path.read_text().splitlines()
        except FileNotFoundError:
            raise InputError(f"{path}: no such file: rank {rank} was not traced") from None
        header = _HEADER.fullmatch(lines[0]) if lines else None
        if not header:
            raise InputError(f"{path}: does not begin as the tracer begins a file")
        ended = _END.fullmatch(lines[-1])
        if not ended:
            raise InputError(f"{path}: was cut off after {len(lines)} lines: the program did not end well")
        if (int(header[1]), int(header[2])) != (rank, processes):
            raise InputError(f"{path}: is of rank {header[1]} of {header[2]}, not {rank} of {processes}")
        clock, cost, library = header[3], int(header[4]), header[5]
        raws.append(Raw(rank, processes, clock, cost, library, int(ended[1]), int(ended[2]), lines[1:-1]))
    return raws


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
    marks = [place for place, line in enumerate(raws[0].lines) if line == "# mark"]
    steps = len(marks) - 1 - skipped
    if steps < 1:
        raise InputError(f"{len(marks)} steps are marked; {skipped + 2} are needed, {skipped} being skipped")
    if len(raws) == 1:
        return [(marks[skipped] + 1, marks[-1])], steps
    calls = [_collective_lines(raw) for raw in raws]
    _check_same_calls(raws, calls)
    first, last = (sum(place < mark for place in calls[0]) for mark in (marks[skipped], marks[-1]))
    if first < 1 or last <= first:
        raise InputError("there is no collective call of all ranks in every step, so that they cannot be cut")
    return [(places[first - 1] + 1, places[last - 1] + 1) for places in calls], steps


def whole(raws: Sequence[Raw]) -> list[tuple[int, int]]:
    """All lines of every rank, as `steps_window` gives them."""
    return [(0, len(raw.lines)) for raw in raws]


def _collective_lines(raw: Raw) -> list[int]:
    return [place for place, line in enumerate(raw.lines) if _action(line) in COLLECTIVES]


def _action(line: str) -> str:
    return "" if line[0] == "#" else line.split(" ", 2)[1]


def _check_same_calls(raws: Sequence[Raw], calls: Sequence[Sequence[int]]) -> None:
    """Make sure that all ranks made the same collective calls."""
    named = [[_action(raw.lines[place]) for place in places] for raw, places in zip(raws, calls, strict=True)]
    for rank, names in enumerate(named):
        if names == named[0]:
            continue
        place = next((at for at, (a, b) in enumerate(zip(names, named[0], strict=False)) if a != b), None)
        if place is None:
            raise InputError(f"rank {rank} made {len(names)} collective calls, rank 0 {len(named[0])}")
        raise InputError(
            f"collective call {place + 1} is {names[place]} on rank {rank}, {named[0][place]} on rank 0"
        )
