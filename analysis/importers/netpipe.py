"""NetPIPE's ``np.out`` (three columns of NetPIPE 3, five of NetPIPE 5) and screen."""

from __future__ import annotations

import re
from collections import Counter

from analysis.importers.importer import Importer
from analysis.importers.lines import (
    contradicts,
    decimals,
    foreign_lines,
    has_only_numbers,
    quoted,
    read_row,
    whole_lines,
)
from analysis.importers.mapping import Mapping
from analysis.importers.results import Import, make_curves

MEBIT = 2**20 / 8e6
"""NetPIPE 3's Mbps, 2^20 bits per second (netpipe.c divides by 1024 × 1024), in 10^6 bytes per second."""

GIGABIT = 1e9 / 8e6
"""NetPIPE 5's Gbps, 10^9 bits per second, in 10^6 bytes per second."""

NETPIPE_3 = (("bytes", 1.0), ("bandwidth_MBps", MEBIT), ("latency_us", 1e6))
"""Bytes, Mbps, seconds."""

NETPIPE_5 = (("bytes", 1.0), ("bandwidth_MBps", GIGABIT), None, None, ("latency_us", 1.0))
"""Bytes, Gbps on average, of the slowest and of the fastest trial, microseconds."""


SCREEN = re.compile(
    r"(?:\d+: +)?(?P<bytes>\d+) +(?:bytes|B) +\d+ +times +--> +(?P<rate>[\d.]+) +(?P<unit>[MG]bps) +in +"
    r"(?P<us>[\d.]+) +usecs?\b"
)
"""A line of NetPIPE's screen. NetPIPE 3 prints Mbps of 2^20 bits, NetPIPE 5 prints Gbps of 10^9 bits."""

INTEGRITY = re.compile(r"\d+ bytes +\d+ times +\d+ failures")
"""A line of NetPIPE 5 with ``--integrity``."""

MESSAGES = 2
"""Most messages in the printed time: 2 if both directions are counted."""


def parse(text: str, source: str) -> tuple[list[dict], list[str]]:
    """Parse a file of NetPIPE to rows of network curves, and list the skipped lines.

    `latency_us` is half a round trip. If NetPIPE streamed or sent in both directions, `latency_us` is the
    time of one message, and `bytes` counts both directions.
    """
    rows: list[dict] = []
    unread: list[str] = []
    foreign: list[tuple[int, str]] = []
    trials, contradictions = False, 0
    counts = Counter(len(line.split()) for line in text.split("\n") if line.strip())
    usual = counts.most_common(1)[0][0] if counts else 0
    for number, line in whole_lines(text, source, unread):
        cells = line.split()
        if not cells:
            continue
        screen = SCREEN.match(line.strip())
        if screen is None and not has_only_numbers(cells[0]):
            foreign.append((number, line))
            continue
        row = _screen_row(screen) if screen else _row(cells)
        if screen is None and len(cells) != usual:
            row = f"has {len(cells)} values where most lines have {usual}" if isinstance(row, dict) else row
        if isinstance(row, str):
            contradictions += "contradict each other" in row
            unread.append(f"{source}: line {number}: {quoted(line)} {row}")
        else:
            printed = {} if screen else {"decimals": decimals(cells)}
            rows.append({"benchmark": "netpipe", "line": number, **printed, **row})
            trials |= screen is None and len(cells) > 3
    if contradictions > len(rows):
        first = next(line for line in unread if "contradict each other" in line)
        unread = [f"{first}, and so do most lines"]
        rows = []
    if trials:
        unread.append(f"{source}: columns 3 and 4, the slowest and the fastest trial, are not kept")
    return rows, unread + foreign_lines(source, foreign)


def _screen_row(match: re.Match[str]) -> dict | str:
    """Return the values of a line of the screen, or the reason why it cannot be read."""
    factor = MEBIT if match["unit"] == "Mbps" else GIGABIT
    targets = (("bytes", 1.0), ("bandwidth_MBps", factor), ("latency_us", 1.0))
    row = read_row([match["bytes"], match["rate"], match["us"]], targets)
    if isinstance(row, str):
        return row
    return contradicts(row, (match["us"], 1.0), (match["rate"], factor), MESSAGES) or row


def _row(cells: list[str]) -> dict | str:
    """Return the values of a line, or the reason why it cannot be read."""
    if len(cells) == 2 or cells[-1] == "failures":
        return "is an integrity check without a time"
    # NetPIPE 5 --workload appends the work done meanwhile
    numbers = cells[:5] if len(cells) == 7 else cells
    targets = NETPIPE_3 if len(numbers) == 3 else NETPIPE_5
    row = read_row(numbers, targets)
    if isinstance(row, str):
        return row
    return contradicts(row, (numbers[-1], targets[-1][1]), (numbers[1], targets[1][1]), MESSAGES) or row


def read(text: str, source: str, mapping: Mapping) -> Import:
    """Read NetPIPE's np.out: see `Importer`."""
    return make_curves(*parse(text, source), mapping, source)


def recognises(text: str) -> bool:
    """Return whether a text is NetPIPE's screen or integrity check; the numbers of np.out have no mark."""
    lines = [line.strip() for line in text.splitlines()]
    return any(SCREEN.match(line) or INTEGRITY.match(line) for line in lines)


IMPORTER = Importer("netpipe", recognises, read)
