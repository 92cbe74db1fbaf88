"""What the output of an OpenFOAM solver says: times, convergence, the answer, and whether it counts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from workflows.applications.tools import impossible, last_number, number, unsure
from workflows.domain import Answer, Line, Reading

_ITERATION_BEGIN = re.compile(r"Time = \S")
_ITERATION_END = re.compile(r"ExecutionTime = (\S+) s  ClockTime = \S+ s")
# A coupled solver prints the iterations of all components in each one's line: (3 3 3).
_EQUATION = re.compile(r"Solving for (\w+), Initial residual = ([^ ,]+), .*No Iterations \(?(\d+)")
_CLOCK = r"ClockTime = (\S+) s"
_CONTINUITY = r"continuity errors : sum local = ([^ ,]+)"
_COURANT = re.compile(r"Courant Number(?:s = \S+| mean: \S+ max:) (\S+)")


def read_output(
    lines: Sequence[Line], iterations: int, processes: int, limits: dict[str, Any], answer: Answer
) -> Reading:
    """Read the output of a solver.

    An iteration (or time step) ends with its ``ExecutionTime =`` line. The main loop lasts from the end of
    the first iteration, which also allocates and is not counted, to the end of the last one. The start-up
    lasts to the first ``Time =`` line; the output from the last ``ExecutionTime =`` line on, and holds the
    functions that compute the answer. All times are those of the lines' arrival: of OpenFOAM's own, one is
    CPU time and the other (``ClockTime``) whole seconds. Where the main loop does not fit to them, the stamps
    are wrong and the run does not count.

    Parameters
    ----------
    lines : sequence of Line
        Standard output.
    iterations : int
        How many there must be.
    processes : int
        Ranks that were started.
    limits : dict
        ``settings.read`` of the case file.
    answer : Answer
        What the run must print.
    """
    begin = next((index for index, line in enumerate(lines) if _ITERATION_BEGIN.match(line.text)), None)
    ends = [index for index, line in enumerate(lines) if _ITERATION_END.match(line.text)]
    if begin is None or not ends or ends[0] < begin:
        startup = None if begin is None else lines[begin].seconds
        return Reading(
            None, startup, None, None, f"incomplete: 0 of {iterations} iterations", {"iterations": 0}
        )

    after = lines[ends[-1] + 1 :]
    value = last_number(limits["answer"], after)
    convergence = _convergence(lines, begin, ends)
    whole = len(ends) == iterations
    seconds = lines[ends[-1]].seconds - lines[ends[0]].seconds if whole else None
    problem = (
        _other_processes(lines, processes)
        or _incomplete(after, len(ends), iterations, processes)
        or _diverged(convergence, limits)
        or _out_of_range(after, limits["ranges"])
        or impossible(value, answer)
        or _clock(seconds, lines[ends[0]], lines[ends[-1]])
    )
    return Reading(
        seconds=seconds,
        startup_seconds=lines[begin].seconds,
        output_seconds=lines[-1].seconds - lines[ends[-1]].seconds if whole else None,
        answer=value,
        problem=problem,
        details={
            "iterations": len(ends),
            "first_iteration_seconds": _gap(lines, begin, ends[0]),
            "iteration_seconds": [_gap(lines, start, end) for start, end in pairwise(ends)],
            "loop_seconds": _equation_seconds(lines[ends[0] : ends[-1] + 1]) if whole else {},
            "cpu_seconds_of_rank_0": last_number(_ITERATION_END.pattern, lines[: ends[-1] + 1]),
            **convergence,
            "solver_iterations": {
                name: count / len(ends) for name, count in convergence["linear_iterations"].items()
            },
        },
    )


def read_error(errors: str) -> str | None:
    """Find the first line of what OpenFOAM says on standard error when it gives up."""
    texts = [re.sub(r"^\[\d+\] *", "", text).strip() for text in errors.splitlines()]
    heading = next((index for index, text in enumerate(texts) if text.startswith("--> FOAM FATAL")), None)
    return None if heading is None else next(filter(None, texts[heading + 1 :]), texts[heading])


def read_version(lines: Sequence[Line]) -> str | None:
    """Version as the log's header has it (``Build``: Debian's package leaves the other line blank)."""
    for line in lines:
        if match := re.match(r"Build +: (.+)", line.text):
            return match[1].strip()
    return None


def _convergence(lines: Sequence[Line], begin: int, ends: Sequence[int]) -> dict[str, Any]:
    """Residuals and continuity error of the last iteration, Courant number and solver work of them all.

    An equation that is solved several times in an iteration has the residual of the first time.
    """
    loop = lines[begin : ends[-1] + 1]
    last = lines[ends[-2] + 1 : ends[-1] + 1] if len(ends) > 1 else loop
    linear: Counter[str] = Counter()
    for match in _matches(_EQUATION, loop):
        linear[match[1]] += int(match[3])
    residuals: dict[str, float | None] = {}
    for match in _matches(_EQUATION, last):
        residuals.setdefault(match[1], number(match[2]))
    courant = [number(match[1]) for match in _matches(_COURANT, loop)]
    return {
        "initial_residuals": residuals,
        "linear_iterations": dict(linear),
        "continuity_error": last_number(_CONTINUITY, last),
        "largest_courant": None if None in courant else max(courant, default=None),
    }


def _equation_seconds(loop: Sequence[Line]) -> dict[str, float]:
    """Time of each equation in the main loop: from the arrival of the line before to that of its own.

    That is assembling and solving it. The components of a vector are one equation. What follows the last one
    of an iteration, and whatever else prints a line, is ``other``.
    """
    seconds: Counter[str] = Counter()
    for before, line in pairwise(loop):
        match = _EQUATION.search(line.text)
        name = re.sub(r"(?<=[A-Z])[xyz]$", "", match[1]) if match else "other"
        seconds[name] += line.seconds - before.seconds
    return {name: round(value, 6) for name, value in seconds.items()}


def _other_processes(lines: Sequence[Line], processes: int) -> str | None:
    ran_on = last_number(r"^nProcs +: (\d+)$", lines)
    return None if ran_on in (None, processes) else f"ran on {ran_on:g} processes, not {processes}"


def _incomplete(after: Sequence[Line], done: int, iterations: int, processes: int) -> str | None:
    if done != iterations:
        return f"incomplete: {done} of {iterations} iterations"
    texts = {line.text.strip() for line in after}
    for text in ("End", *(["Finalising parallel run"] if processes > 1 else [])):
        if text not in texts:
            return f"incomplete: no '{text}' after the last iteration"
    return None


def _clock(seconds: float | None, first: Line, last: Line) -> str | None:
    """Compare the main loop by the stamps with OpenFOAM's clock, and with the CPU time of rank 0 meanwhile.

    The clock is cut to whole seconds. CPU time beyond it is from further threads, and then says nothing.
    """
    passed, cpu = (_passed(pattern, first, last) for pattern in (_CLOCK, _ITERATION_END.pattern))
    if passed is None or cpu is None:
        return "time unsure: no number in OpenFOAM's ExecutionTime or ClockTime"
    least, most = passed - 1, passed + 1
    return unsure(seconds, max(least, cpu) if cpu <= most else least, most, "OpenFOAM")


def _passed(pattern: str, first: Line, last: Line) -> float | None:
    begun, ended = (last_number(pattern, [line]) for line in (first, last))
    return None if begun is None or ended is None else ended - begun


def _diverged(convergence: dict[str, Any], limits: dict[str, Any]) -> str | None:
    """Say which of the case's limits the run breaks; what is missing or no number breaks any limit."""
    residuals = dict.fromkeys(limits["residuals"]) | convergence["initial_residuals"]
    single = (
        ("continuity error", "continuity_error", "continuity"),
        ("Courant number", "largest_courant", "courant"),
    )
    found = [
        *((what, convergence[key], limits[limit]) for what, key, limit in single if limit in limits),
        *(
            (f"residual of {name}", value, limits["residuals"].get(name, math.inf))
            for name, value in residuals.items()
        ),
    ]
    for what, value, limit in found:
        if value is None:
            return f"diverged: {what} is not there or no finite number"
        if value > limit:
            return f"diverged: {what} {value:.3g} above {limit:g}"
    return None


def _out_of_range(after: Sequence[Line], ranges: dict[str, Sequence[float]]) -> str | None:
    """Say which field ends outside its range, by what volFieldValue prints of its minimum and maximum."""
    for name, (low, high) in ranges.items():
        for which in ("min", "max"):
            value = last_number(rf"\b{which}\(\w+\) of {re.escape(name)} = (\S+)", after)
            if value is None:
                return f"diverged: {which}({name}) is not there or no finite number"
            if not low <= value <= high:
                return f"diverged: {which}({name}) {value:.4g} outside {low:g} to {high:g}"
    return None


def _matches(pattern: re.Pattern[str], lines: Iterable[Line]) -> Iterable[re.Match[str]]:
    return (match for line in lines if (match := pattern.search(line.text)))


def _gap(lines: Sequence[Line], start: int, end: int) -> float:
    return round(lines[end].seconds - lines[start].seconds, 6)
