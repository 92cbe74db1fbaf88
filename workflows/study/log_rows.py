"""Makes rows of the runs table from logs."""

from __future__ import annotations

import contextlib
import datetime
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.importers.lines import quoted
from analysis.importers.mapping import SECONDS
from analysis.runs.runs import LOOP_SECONDS, UNKNOWN_ORDER, TableError, complete_runs
from workflows.applications import tools
from workflows.applications.base import LoggedRun
from workflows.domain import InputError, LeftOut, Line, Work
from workflows.study.log_paths import COUNTS
from workflows.study.log_patterns import COMPLETE, NUMBERS, READ_COUNTS, LogPattern, elapsed, number_of
from workflows.study.logs import READ, Logs

_TAG = re.compile(r"(?:\[\d+,\d+\]<std(?:out|err)>: ?|\s*\d+: )")
"""Rank of a line, as ``mpirun --tag-output`` and ``srun --label`` print it."""
_TAGGED_SHARE = 0.8
_CLOCKS = 0.01
"""Relative difference of two clocks of a run."""
_NO_PROCESSES = "no number of processes: state processes, or processes_per_node and nodes"
_DATES = ("%a %b %d %H:%M:%S %Y", "%b %d %Y %H:%M:%S")
"""Dates as C's ctime prints them, and with the day after the month."""


@dataclass(frozen=True)
class LogRows:
    """Runs that logs hold.

    Attributes
    ----------
    runs : DataFrame
        A complete runs table.
    files : tuple of Path
        Log of each row.
    unread : list of LeftOut
        Logs that hold no valid run, with line and reason.
    """

    runs: pd.DataFrame
    files: tuple[Path, ...]
    unread: list[LeftOut]


def read_logs(logs: Logs) -> LogRows:
    """Read logs; each is a row, valid or not, unless its point is unknown.

    Raises
    ------
    InputError
        The template matches none of the paths, no log makes a row, or a row is wrong: one line.
    """
    rows, files, unread = [], [], []
    for file in logs.files:
        name = _shown(file, logs.base)
        of_path = logs.template.fields(file) if logs.template else {}
        if logs.template and of_path is None:
            unread.append(LeftOut(name, f"from_path {logs.template.text!r} does not match the path"))
            continue
        lines = _lines(file)
        row, line = _row(logs, lines, of_path or {})
        where = f"{name}: line {line}"
        nowhere = row["processes"] is None
        reason = row["reason"] or (_NO_PROCESSES if nowhere else None)
        if reason:
            unread.append(LeftOut(where, f"{reason}, at {quoted(lines[line - 1].text)}"))
        if not nowhere:
            rows.append(row | {"record": where})
            files.append(file)
    if not rows:
        first = f"{unread[0].what}: {unread[0].reason}"
        raise InputError(f"{logs.where}: none of {len(logs.files)} logs can be read; the first: {first}")
    return LogRows(_table(logs, rows, files), tuple(files), unread)


def _table(logs: Logs, rows: list[dict[str, Any]], files: list[Path]) -> pd.DataFrame:
    """Complete the rows; without a date or repetition the order of the runs is unknown."""
    frame = pd.DataFrame(rows).dropna(axis="columns", how="all")
    for column in frame.columns.difference([*READ, "reason", "started", "record", "case", "interconnect"]):
        with contextlib.suppress(ValueError, TypeError):
            frame[column] = pd.to_numeric(frame[column])
    if "repetition" in frame and frame["repetition"].min() == 0:
        frame["repetition"] += 1
    if "seconds" not in frame:
        frame["seconds"] = np.nan
    # The order of the names is no order in time: the order of such rows is drawn, so that no test sees one.
    drawn = np.random.default_rng(0).permutation(len(frame))
    try:
        runs = complete_runs(frame.iloc[drawn], logs.where)
    except TableError as error:
        if error.row is None:
            raise InputError(f"{logs.where}: {error.column}: {error.message}") from None
        file = _shown(files[drawn[error.row]], logs.base)
        raise InputError(f"{logs.where}: {file}: {error.column}: {error.message}") from None
    runs["order_from"] = runs["order_from"].mask(runs["order_from"] == "row", UNKNOWN_ORDER)
    return runs.iloc[np.argsort(drawn)].reset_index(drop=True)


def _lines(file: Path) -> list[Line]:
    """Return the lines of a log, without arrival times and ranks."""
    text = file.read_bytes().decode(errors="replace").replace("\r\n", "\n")
    return [Line(0.0, line) for line in _untagged(text.rstrip("\n").split("\n"))]


def _row(logs: Logs, lines: list[Line], of_path: Mapping[str, str]) -> tuple[dict[str, Any], int]:
    """Return the row of a log, and the number of the line of its time or fault."""
    text = "\n".join(line.text for line in lines)
    run = (logs.program.read_log(lines) if logs.program else None) or LoggedRun()
    run, settings = _by_patterns(logs, text, run)
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
    if row.get("interconnect") is None and counts["processes"] != 1:
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
            if name in ("seconds", "answer", COMPLETE):
                problem = problem or f"incomplete: nothing in the log matches read.{name}"
        elif name in NUMBERS:
            value = _value(name, pattern, matches)
            if value is None:
                problem = problem or f"read.{name}: {matches[-1][1]!r} is no number"
            changes[name] = value
            if name == "seconds":
                place = text.count("\n", 0, matches[-1].start(1))
                changes |= {"line": place, "resolution_seconds": None, "loop_seconds": {}}
        elif name == "started":
            changes[name] = matches[0][1]
        elif name != COMPLETE:
            settings[name] = matches[0][1]
    return replace(run, **changes, problem=problem), settings


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


def _shown(file: Path, base: Path) -> str:
    """Return the path relative to the study file, or the whole path of a file elsewhere."""
    return str(file.relative_to(base) if file.is_relative_to(base) else file)
