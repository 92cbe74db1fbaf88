"""Output of netperf: streams, and requests with responses, over TCP and UDP."""

from __future__ import annotations

import re

from analysis.importers.importer import Importer
from analysis.importers.lines import quoted, whole_lines
from analysis.importers.mapping import Mapping
from analysis.importers.marks import MARKS, is_marked, program_of
from analysis.importers.results import Import
from analysis.importers.transports import make_transports

SELECTED = re.compile(r"(?:[\w %()]+,){2,}[\w %()]+$|[A-Z_]+=")
"""Headings of the output of netperf with ``-o``, and lines of ``-k``."""
COLUMN = re.compile(r"per sec|% \w|\S+")
"""A unit in the heading of a table."""
UNKNOWN = "that is not read; run netperf -t TCP_STREAM, TCP_RR, UDP_STREAM or UDP_RR"
NO_RATE = "has a rate of 0"
NO_TABLE = "is followed by no table of the default output; run netperf without -o, -O and -k"
NO_SENT = "is the received rate; the sent rate is missing"
_MEGABIT = 1e6 / 8e6


def parse(text: str, source: str) -> tuple[list[dict], list[str]]:
    """Parse the tables of netperf to rows of transports, and list the skipped lines.

    The latency is half the mean time of a request with a response of the same size. For a stream over UDP,
    the first line is the sent rate and the second line the received rate. Processor use is skipped, since
    netperf reports the whole machine. Tests with selected output (``-k``, ``-o``), and other tests such as
    TCP_MAERTS, are skipped too.
    """
    rows: list[dict] = []
    unread: list[str] = []
    title: re.Match | None = None
    heading, before = "", 0
    titles: dict[int, str] = {}  # of tests without a table so far, by line
    title_line = 0
    for number, printed in whole_lines(text, source, unread):
        line = printed.strip()
        cells = line.split()
        if match := MARKS["netperf"].match(line):
            title, heading, before = match, "", len(rows)
            if match["what"]:
                title_line, titles[number] = number, line
            else:
                unread.append(f"{source}: line {number}: {quoted(line)} begins a test {UNKNOWN}")
                title = None
        elif program := program_of(line):
            if title:
                unread.append(f"{source}: line {number}: {quoted(line)} begins output of {program}")
            title, heading = None, ""
        elif title and SELECTED.match(line):
            titles.pop(title_line, "")
            unread.append(
                f"{source}: line {number}: {quoted(line)} is selected output; run netperf without -o, -k"
            )
        elif title and re.match(r"bytes\b", line):
            heading = line
        elif title and heading and cells and all(re.fullmatch(r"-?[\d.]+", cell) for cell in cells):
            titles.pop(title_line, "")
            try:
                fault = (
                    _read(rows, cells, title, heading) if len(cells) != 4 or len(rows) > before else NO_SENT
                )
            except (ValueError, ZeroDivisionError):
                fault = "has a size that is no whole number, or a rate of 0"
            if fault:
                unread.append(f"{source}: line {number}: {quoted(line)} {fault}")
    unread += [f"{source}: line {number}: {quoted(line)} {NO_TABLE}" for number, line in titles.items()]
    return rows, unread


def _read(rows: list[dict], cells: list[str], title: re.Match, heading: str) -> str:
    """Add a row of transports to `rows`, or add the received rate of a UDP stream to the last row.

    Returns
    -------
    str
        Reason why the line cannot be read; empty if it was read.
    """
    if len(cells) > len(COLUMN.findall(heading)):
        return f"has more values than its heading {quoted(heading)}"
    protocol, is_stream = title["protocol"].lower(), title["what"] != "REQUEST/RESPONSE"
    if is_stream and "10^6bits/s" not in heading:
        return f"is not in 10^6bits/sec: the heading is {quoted(heading)}; run netperf without -f"
    if any(cell.startswith("-") for cell in cells):
        return "has a value below 0"
    if not is_stream:
        if len(cells) == 2:  # socket sizes of the other side
            return ""
        if len(cells) < 6 or cells[2] != cells[3]:
            return "has a response that is not as long as its request"
        if not float(cells[5]):
            return NO_RATE
        latency = 1e6 / float(cells[5]) / 2
        row = {"test": "pingpong", "bytes": int(cells[2]), "latency_us": latency}
        rows.append({"program": f"netperf {title['protocol']}_RR", "transport": protocol, **row})
        return ""
    row = {"program": f"netperf {title['protocol']}_STREAM", "transport": protocol, "test": "stream"}
    if protocol == "tcp" and (len(cells) == 5 or len(cells) > 7):  # more with the use of processors
        if not float(cells[4]):
            return NO_RATE
        rows.append(row | {"bytes": int(cells[2]), "received_MBps": float(cells[4]) * _MEGABIT})
    elif protocol == "udp" and len(cells) >= 6:
        if not float(cells[5]):
            return NO_RATE
        rows.append(row | {"bytes": int(cells[1]), "sent_MBps": float(cells[5]) * _MEGABIT})
    elif protocol == "udp" and len(cells) == 4 and rows:
        rows[-1]["received_MBps"] = float(cells[3]) * _MEGABIT
    else:
        return "has too few values"
    return ""


def read(text: str, source: str, mapping: Mapping) -> Import:
    """Read output of netperf: see `Importer`."""
    return make_transports(*parse(text, source), mapping, source)


IMPORTER = Importer("netperf", lambda text: is_marked(text, "netperf"), read)
