"""Reads one log: its row of the runs table, and the line of its time or fault."""

from __future__ import annotations

import contextlib
import datetime
import math
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from analysis.importers.mapping import SECONDS
from analysis.runs.runs import LOOP_SECONDS
from workflows.applications import application, names, tools
from workflows.applications.base import LoggedRun
from workflows.domain import InputError, Line, Work
from workflows.launch.printed import shown_lines
from workflows.study.log_paths import COUNTS
from workflows.study.log_patterns import (
    ABOVE_0,
    COMPLETE,
    NUMBERS,
    READ_COUNTS,
    LogPattern,
    elapsed,
    number_of,
)
from workflows.study.logs import Logs

_TAG = re.compile(r"(?:\[\d+,\d+\]<std(?:out|err)>: ?|\s*\d+: )")
"""Rank of a line, as ``mpirun --tag-output`` and ``srun --label`` print it."""
_TAGGED_SHARE = 0.8
_CLOCKS = 0.01
"""Relative difference of two clocks of a run."""
_FAILED = (
    r"MPI_ABORT was invoked on rank |application called MPI_Abort\(|Abort\(\d+\) on node \d+ "
    r"|Primary job +terminated normally, but |\S+ (?:noticed|detected) that (?:one or more )?process"
    r"|=+ +BAD TERMINATION OF ONE OF |srun: error: \S+: tasks? \S+: "
    r"|slurmstepd: error: (?:\*\*\* |.*\boom[-_ ]?kill)|[\d.]+s: job\.exception "
)
"""Beginnings of lines in which a launcher reports that a process failed or that the job was cancelled."""
_DATES = ("%a %b %d %H:%M:%S %Y", "%b %d %Y %H:%M:%S")
"""Dates as C's ctime prints them, and with the day after the month."""


def log_lines(file: Path) -> list[Line]:
    """Return the lines of a log, without arrival times and ranks."""
    text = file.read_bytes().decode(errors="replace").replace("\r\n", "\n")
    lines = [shown_lines(line)[-1] for line in text.rstrip("\n").split("\n")]  # line numbers stay right
    return [Line(0.0, line) for line in _untagged(lines)]


def log_row(logs: Logs, lines: list[Line], of_path: Mapping[str, str]) -> tuple[dict[str, Any], int]:
    """Return the row of a log, and the number of the line of its time or fault.

    Parameters
    ----------
    of_path : mapping of str to str
        Fields of the path.

    Raises
    ------
    InputError
        Nothing names the interconnect of a run on several processes.
    """
    text = "\n".join(line.text for line in lines)
    run = (logs.program.read_log(lines) if logs.program else None) or LoggedRun()
    run, settings = _by_patterns(logs, text, run)
    run = _explained(logs, lines, run)
    place = {name: int(value) if name in COUNTS else value for name, value in of_path.items()}
    if "iteration" in place:
        place["repetition"] = place.pop("iteration")
    stated = {**logs.settings, **logs.stated, **place}
    counts, contradiction = _counts(stated, run)
    problem = run.problem or (None if run.seconds else "prints no time above 0")
    whole = (None if "wall_seconds" in logs.read else elapsed(text)) or run.wall_seconds
    problem = problem or contradiction or _too_long(run, whole) or _wrong_answer(logs, run)
    last = max((number for number, line in enumerate(lines, 1) if line.text.strip()), default=1)
    row = {
        "case": logs.application or "logs",
        "application": logs.application,
        **settings,
        **{name: value for name, value in stated.items() if name != "processes_per_node"},
        **counts,
        "seconds": run.seconds,
        **{LOOP_SECONDS + part: seconds for part, seconds in run.loop_seconds.items()},
        "resolution_seconds": run.resolution_seconds,
        "wall_seconds": whole,
        "started": _date(run.started),
        "work": run.work.amount if run.work and problem is None else None,
        "work_unit": run.work.unit if run.work and problem is None else None,
        "answer": run.answer,
        "valid": problem is None,
        "reason": problem,
    }
    if row.get("interconnect") is None and counts["processes"] not in (None, 1):
        missing = "state it next to logs, or as {interconnect} in from_path"
        raise InputError(f"{logs.where}.interconnect: missing; {missing}")
    return row, last if run.line is None else run.line + 1


def _by_patterns(logs: Logs, text: str, run: LoggedRun) -> tuple[LoggedRun, dict[str, str]]:
    """Return the run with what the study's expressions read, and the columns of settings."""
    settings: dict[str, str] = {}
    changes: dict[str, Any] = {}
    problem = None if "seconds" in logs.read and tools.CHOOSE in (run.problem or "") else run.problem
    for name, pattern in logs.read.items():
        matches = pattern.texts(text)
        if matches is None:
            if name in ("seconds", "answer", *READ_COUNTS, COMPLETE):
                problem = problem or f"incomplete: nothing in the log matches read.{name}"
        elif name in NUMBERS:
            value = _value(name, pattern, matches)
            if value is None:
                problem = problem or f"read.{name}: {matches[-1][1]!r} is no number"
            elif name in ABOVE_0 and (value.amount if name == "work" else value) <= 0:
                problem = problem or f"read.{name}: {matches[-1][1]!r} is not above 0"
                value = None
            changes[name] = value
            if name == "seconds":
                place = text.count("\n", 0, matches[-1].start(1))
                changes |= {"line": place, "resolution_seconds": None, "loop_seconds": {}}
        elif name == "started":
            changes[name] = matches[0][1]
            if _date(changes[name]) is None:
                problem = problem or f"read.started: {changes[name]!r} is no date"
        elif name != COMPLETE:
            settings[name] = matches[0][1]
    return replace(run, **changes, problem=problem), settings


def _explained(logs: Logs, lines: list[Line], run: LoggedRun) -> LoggedRun:
    """Return the run with a failure that the launcher reports, or whose program the log does not show."""
    if run.problem and not run.problem.startswith("incomplete"):
        return run
    failed = tools.first_match(f"^(?:{_FAILED})", lines)
    if failed is not None:
        return replace(run, problem="the launcher reports a failure", line=failed)
    if logs.program is None or "seconds" in logs.read or run.seconds is not None:
        return run
    marks = {name: mark for name in names() if (mark := application(name).log_mark)}
    places = {name: tools.first_match(mark, lines) for name, mark in marks.items()}
    if places.get(logs.application or "", 0) is not None:
        return run
    problem = f"no output of {logs.application} in the log"
    other = next((name for name, place in places.items() if place is not None), None)
    if other is None:
        return replace(run, problem=problem, line=None)  # the last line may show why it ended
    return replace(run, problem=f"{problem}, but output of {other}", line=places[other])


def _value(name: str, pattern: LogPattern, matches: list[re.Match[str]]) -> Any:
    """Return the sum of the numbers that expressions match; None if a text is no number."""
    numbers = [number_of(name, match[1] or "") for match in matches]
    if None in numbers:
        return None
    total = math.fsum(number for number in numbers if number is not None)
    if name in READ_COUNTS:
        return int(total)
    if name == "work":
        return Work(total, pattern.unit or "")
    return total * SECONDS.get(pattern.unit or "s", 1.0)


def _counts(stated: Mapping[str, Any], run: LoggedRun) -> tuple[dict[str, int | None], str | None]:
    """Return processes, threads and nodes, and how the log contradicts the path or the study."""
    printed = {field.name: getattr(run, field.name) for field in fields(run) if field.name in READ_COUNTS}
    counts = {name: stated.get(name) if value is None else value for name, value in printed.items()}
    each = stated.get("processes_per_node")
    if each and counts["processes"] is None and counts["nodes"]:
        counts["processes"] = counts["nodes"] * each
    if each and counts["nodes"] is None and counts["processes"]:
        counts["nodes"] = -(-counts["processes"] // each)
    for name, value in printed.items():
        if value is not None and stated.get(name) not in (None, value):
            return counts, f"ran with {name} {value}; the path or the study states {stated[name]}"
    processes, nodes = counts["processes"], counts["nodes"]
    if each and nodes and processes and -(-processes // each) != nodes:
        return counts, f"{processes} processes on {nodes} nodes contradict processes_per_node, {each}"
    return counts, None


def _too_long(run: LoggedRun, whole: float | None) -> str | None:
    """Return how the time of the main loop contradicts the time of the job, or its parts the main loop."""
    seconds, parts = run.seconds or 0.0, sum(run.loop_seconds.values())
    if whole is not None and seconds > (1 + _CLOCKS) * whole:
        return f"the main loop of {seconds:g} s is longer than the job of {whole:g} s"
    if parts > (1 + _CLOCKS) * seconds:
        return f"parts of {parts:g} s are longer than the main loop of {seconds:g} s"
    return None


def _wrong_answer(logs: Logs, run: LoggedRun) -> str | None:
    """Return how the answer differs from the expected answer."""
    if logs.expected is None:
        return None
    value, tolerance = logs.expected
    if run.answer is None:
        return "no answer printed, or no finite number"
    if abs(run.answer - value) <= tolerance * abs(value):
        return None
    return f"wrong answer: {run.answer:g}, expected {value:g} within {tolerance:g} relative"


def _date(printed: str | None) -> str | None:
    """Convert seconds since 1970, a date of an application or ISO 8601 to ISO 8601; None for other text."""
    text = (printed or "").strip()
    with contextlib.suppress(ValueError, OverflowError, OSError):
        return datetime.datetime.fromtimestamp(float(text), datetime.UTC).isoformat(timespec="seconds")
    for form in _DATES:
        with contextlib.suppress(ValueError):
            return datetime.datetime.strptime(" ".join(text.split()), form).isoformat()
    with contextlib.suppress(ValueError):
        return datetime.datetime.fromisoformat(text).isoformat()
    return None


def _untagged(lines: list[str]) -> list[str]:
    """Return lines without the rank before each, if most lines have it."""
    filled = [line for line in lines if line.strip()]
    if sum(bool(_TAG.match(line)) for line in filled) < _TAGGED_SHARE * max(1, len(filled)):
        return lines
    return [_TAG.sub("", line, count=1) for line in lines]
