"""NetPIPE's ``np.out``: three columns of NetPIPE 3, five of NetPIPE 5."""

from __future__ import annotations

import re

from analysis.importers.importer import Importer
from analysis.importers.lines import contradicts, first_line, quoted, read_row, whole_lines
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


INTEGRITY = re.compile(r" *\d+ bytes +\d+ times +\d+ failures")
"""A line of NetPIPE 5 with ``--integrity``. Other output of NetPIPE is only numbers, so nothing marks it."""


def parse(text: str, source: str) -> tuple[list[dict], list[str]]:
    """Parse a file of NetPIPE to rows of network curves, and list the skipped lines.

    `latency_us` is half a round trip. If NetPIPE streamed or sent in both directions, `latency_us` is the
    time of one message, and `bytes` counts both directions.
    """
    rows: list[dict] = []
    unread: list[str] = []
    trials = False
    for number, line in whole_lines(text, source, unread):
        cells = line.split()
        if not cells:
            continue
        row = _row(cells)
        if isinstance(row, str):
            unread.append(f"{source}: line {number}: {quoted(line)} {row}")
        else:
            rows.append({"benchmark": "netpipe", "line": number, **row})
            trials |= len(cells) > 3
    if trials:
        unread.append(f"{source}: columns 3 and 4, the slowest and the fastest trial, are not kept")
    return rows, unread


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
    return contradicts(row, (numbers[-1], targets[-1][1]), (numbers[1], targets[1][1])) or row


def read(text: str, source: str, mapping: Mapping) -> Import:
    """Read NetPIPE's np.out: see `Importer`."""
    return make_curves(*parse(text, source), mapping, source)


IMPORTER = Importer("netpipe", lambda text: bool(INTEGRITY.match(first_line(text))), read)
