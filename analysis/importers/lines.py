"""Lines and tables in the output of benchmarks."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Sequence

LARGEST = {"bytes": 2**53, "samples": 10**9, "group": 10**9}
"""Columns of whole numbers and their largest values; only `bytes` and `group` may be 0."""

Target = tuple[str, float]
"""Column of network curves for a printed column, and the factor to its unit."""

FALLS = "has a smaller size than the row above: lines are missing or swapped; both rows are left out"
"""Why a row and the row above belong to no table: the sizes of a table rise."""

SLACK = 0.002
"""Relative tolerance between time × bandwidth and the bytes, in addition to the printed digits."""


SETTING = re.compile(
    r"(?:.*[$#+>%] +)?(?P<statement>(?:export|setenv|unset) +(?P<name>\w+).*|source +\S*/\S+"
    r"|(?:module|ml) +(?:load|add|unload|rm|swap|switch|purge|restore|use)\b.*|spack +(?:load|unload)\b.*)"
)
"""Line of a shell that changes the environment of the programs after it."""


_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def first_line(text: str) -> str:
    """Return the first line that is not blank."""
    return next((line for line in text.splitlines() if line.strip()), "")


def has_line(text: str, pattern: re.Pattern[str]) -> bool:
    """Return whether a line begins with a match of a pattern."""
    return any(pattern.match(line) for line in text.splitlines())


def has_only_numbers(line: str) -> bool:
    """Return whether a line holds numbers between separators and nothing else, so that it is no heading."""
    return all(map(_NUMBER.fullmatch, re.split(r"[\s,;|]+", line.strip(" \t,;|"))))


def whole_lines(text: str, source: str, unread: list[str]) -> Iterator[tuple[int, str]]:
    """Yield number, from 1, and text of each line; list a last line without an end in `unread`."""
    *lines, last = text.split("\n")
    yield from enumerate((line.rstrip("\r") for line in lines), 1)
    if last.strip():
        unread.append(f"{source}: line {len(lines) + 1}: cut off: {quoted(last)} has no end of line")


def foreign_lines(source: str, lines: Sequence[tuple[int, str]]) -> list[str]:
    """Return a sentence about the lines of other programs, given with their numbers; none without lines."""
    if not lines:
        return []
    number, line = lines[0]
    place = "is a line" if len(lines) == 1 else f"is the first of {len(lines)} lines"
    return [f"{source}: line {number}: {quoted(line)} {place} of another program"]


def set_environment(environment: dict[str, str], line: str) -> None:
    """Add a line that changes the environment; it replaces an earlier line about the same variable."""
    if match := SETTING.match(line):
        environment[match["name"] or match["statement"]] = match["statement"]


def without_rows(source: str, number: int, benchmark: str, foreign: Sequence[tuple[int, str]]) -> str:
    """Return a sentence about a heading without rows, with the first line of another program after it."""
    following = next((f": line {later} is {quoted(line)}" for later, line in foreign if later > number), "")
    return (
        f"{source}: line {number}: the table of {benchmark} has no row, so the benchmark stopped{following}"
    )


def quoted(line: str) -> str:
    """Return a line in quotes, shortened to 60 characters."""
    line = " ".join(line.split())
    return repr(line if len(line) <= 60 else line[:59] + "…")


def drop_largest(rows: list[dict], largest: int) -> None:
    """Remove the last rows of a table, those of its largest size, if the sizes fall after them."""
    while rows and rows[-1].get("bytes") == largest:
        del rows[-1]


def decimals(cells: Sequence[str]) -> tuple[int, ...]:
    """Return the number of decimals of each printed value."""
    return tuple(len(cell.partition(".")[2]) for cell in cells)


def read_row(cells: Sequence[str], targets: Sequence[Target | None]) -> dict[str, float | int] | str:
    """Return the values of a printed row by column, or the reason why it cannot be read.

    Parameters
    ----------
    cells : sequence of str
        Printed values.
    targets : sequence of Target or None
        Target of each cell; None for a cell that is not kept.
    """
    if len(cells) != len(targets):
        return f"has {len(cells)} values where the table has {len(targets)} columns"
    row: dict[str, float | int] = {}
    for cell, target in zip(cells, targets, strict=True):
        if target is None:
            continue
        column, factor = target
        try:
            value = int(cell) if column in LARGEST else float(cell) * factor
        except ValueError:
            return f"{cell!r} is no number"
        if column == "bandwidth_MBps" and value == 0 and row.get("bytes") == 0:
            continue
        if value == 0 and column not in ("bytes", "group"):
            return f"{column} {cell} is not above 0"
        if not 0 <= value <= LARGEST.get(column, sys.float_info.max):
            return f"{column} {quoted(cell)} is out of range"
        row[column] = value
    return row


def contradicts(
    row: dict[str, float | int],
    time: tuple[str, float],
    rate: tuple[str, float],
    most_messages: float = math.inf,
    least_messages: int = 1,
) -> str:
    """Check that the printed time and bandwidth of a message agree.

    A whole number of messages passes in the printed time: 1 in a ping-pong, 2 if both sides send, 4 in an
    exchange with two neighbours, or one per pair of processes.

    Parameters
    ----------
    row : dict
        With `bytes`, `latency_us` (or `latency_us_high`) and `bandwidth_MBps`.
    time, rate : pairs of str and float
        Printed numbers, and their factors to microseconds and to 10^6 bytes per second. The number of digits
        is their precision.
    most_messages, least_messages : float and int
        Largest and smallest number of messages that may pass in the printed time.

    Returns
    -------
    str
        The contradiction; empty if they agree.
    """
    if not row.get("bytes") or "bandwidth_MBps" not in row:
        return ""
    (low_us, high_us), (low_rate, high_rate) = (printed_range(*printed) for printed in (time, rate))
    fewest = low_us * low_rate * (1 - SLACK) / row["bytes"]
    most = high_us * high_rate * (1 + SLACK) / row["bytes"]
    if min(math.floor(most), most_messages) >= max(least_messages, math.ceil(fewest)):
        return ""
    return f"time {time[0]} and bandwidth {rate[0]} contradict each other for {row['bytes']} bytes"


def printed_range(cell: str, factor: float) -> tuple[float, float]:
    """Return the smallest and the largest value that would be printed as this number, times a factor."""
    half = 0.5 * 10.0 ** -len(cell.partition(".")[2])
    return (float(cell) - half) * factor, (float(cell) + half) * factor
