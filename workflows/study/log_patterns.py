"""Regular expressions that read values from the log of any program."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.importers.mapping import SECONDS
from workflows.applications import tools
from workflows.domain import InputError

TIMES = ("seconds", "wall_seconds")
READ_COUNTS = ("processes", "threads", "nodes")
NUMBERS = (*TIMES, *READ_COUNTS, "answer", "work")
ABOVE_0 = (*READ_COUNTS, "work")
"""Numbers that a sound run prints above 0; each other value makes the log invalid."""
COMPLETE = "complete"
_ELAPSED = (
    r"^real\s+(\d+m[\d.]+s|[\d.]+)$",
    r"^\s*Elapsed \(wall clock\) time \(h:mm:ss or m:ss\): (\S+)$",
    r"^[\d.]+user [\d.]+system ([\d:.]+)elapsed ",
)
"""Lines of ``time``, by the shell, by POSIX and by GNU."""


@dataclass(frozen=True)
class LogPattern:
    """Reads one value from a log: the last match of each expression, whose numbers are added.

    Attributes
    ----------
    expressions : tuple of re.Pattern
        Each matches anywhere in the text, also across lines; ``^`` and ``$`` are the ends of a line. The
        first group is the value.
    unit : str or None
    """

    expressions: tuple[re.Pattern[str], ...]
    unit: str | None = None

    def texts(self, text: str) -> list[re.Match[str]] | None:
        """Return the last match of each expression; None if one has no match."""
        last = [max(found.finditer(text), key=re.Match.start, default=None) for found in self.expressions]
        complete = [match for match in last if match]
        return complete if len(complete) == len(last) else None


def log_pattern(name: str, stated: Any, where: str) -> LogPattern:
    """Check how the study says that a value is read.

    Parameters
    ----------
    stated : str, list of str or mapping
        An expression, several whose numbers are added, or either as ``pattern`` with a ``unit``.

    Raises
    ------
    InputError
        An expression is wrong or has no group, or the unit is unknown.
    """
    entry: Mapping[str, Any] = stated if isinstance(stated, dict) else {"pattern": stated}
    listed = entry["pattern"] if isinstance(entry["pattern"], list) else [entry["pattern"]]
    expressions = []
    for text in listed:
        try:
            expressions.append(re.compile(text, re.M))
        except re.error as error:
            raise InputError(f"{where}.{name}: '{text}' is no regular expression: {error}") from None
        if not expressions[-1].groups and name != COMPLETE:
            raise InputError(f"{where}.{name}: {text!r} has no group; put the value in parentheses: (\\S+)")
    unit = entry.get("unit")
    if name in TIMES and unit not in (None, *SECONDS):
        raise InputError(f"{where}.{name}: {unit!r} is no unit of time; allowed: {', '.join(SECONDS)}")
    if name == "work" and unit is None:
        raise InputError(f"{where}.work: needs a unit: {{pattern: …, unit: cells}}")
    if len(expressions) > 1 and name not in NUMBERS:
        raise InputError(f"{where}.{name}: takes one expression; only numbers are added")
    return LogPattern(tuple(expressions), unit)


def number_of(name: str, text: str) -> float | None:
    """Convert a printed value; None if it is no finite number. Commas may group the digits of a count."""
    if name in TIMES:
        return tools.duration(text)
    return tools.number(text.replace(",", "") if name in READ_COUNTS else text)


def elapsed(text: str) -> float | None:
    """Return the wall seconds that ``time`` prints last around a program; None without such a line."""
    matches = [match for pattern in _ELAPSED for match in re.finditer(pattern, text, re.M)]
    last = max(matches, key=re.Match.start, default=None)
    return tools.duration(last[1]) if last else None
