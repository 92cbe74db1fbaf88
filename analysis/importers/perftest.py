"""Output of perftest (ib_send_bw, ib_write_lat and so on)."""

from __future__ import annotations

import re

from analysis.importers.importer import Importer
from analysis.importers.lines import printed_range, quoted, whole_lines
from analysis.importers.mapping import Mapping
from analysis.importers.marks import MARKS, is_marked, program_of
from analysis.importers.results import Import
from analysis.importers.transports import GIGABIT, MEBI, RELIABLE, make_transports

OTHER_TITLE = re.compile(r"\w[\w &]+ (?:BW|Latency)[\w -]* Test$")
_DEPTH = re.compile(r"([TR]X) depth\s*:")
RATE_SLACK = 0.02
"""Relative tolerance between bandwidth and message rate, in addition to the printed digits."""
_CONNECTION = re.compile(r"Connection type\s*:\s*(RC|UC|UD|XRC|DC|SRD|RawEth)\b")
_QUEUE_PAIRS = re.compile(r"Number of qps\s*:\s*(\d+)")
_UNITS = {"BW average[MB/sec]": MEBI, "BW average[Gb/sec]": GIGABIT, "BW average[MiB/sec]": MEBI}


def parse(text: str, source: str) -> tuple[list[dict], list[str]]:
    """Parse the output of perftest programs to rows of transports, and list the skipped lines.

    MB/sec are 2^20 bytes per second. For datagrams, the client prints the sent rate and the server, whose
    output has an ``RX depth``, prints the received rate. The latency is the typical one, the median. The
    latency of a read is a whole round trip, as perftest prints it. Several queue pairs are part of the
    program's name, as in ``ib_send_bw -q 4``.
    """
    rows: list[dict] = []
    unread: list[str] = []
    title: re.Match | None = None
    transport, options = "", ""
    receives: bool | None = None
    columns: list[str] = []
    first, largest = 0, -1
    for number, printed in whole_lines(text, source, unread):
        line = printed.strip()
        if match := _QUEUE_PAIRS.search(line):
            options = f" -q {match[1]}" if int(match[1]) > 1 else ""
        if OTHER_TITLE.match(line) and title and not transport:
            unread.append(f"{source}: line {number}: {quoted(line)} stands in the heading of {title[0]!r}")
            title, columns = None, []
        elif OTHER_TITLE.match(line):
            title, transport, receives, columns = MARKS["perftest"].match(line), "", None, []
            options = ""
            if title is None:
                unread.append(f"{source}: line {number}: {quoted(line)} is no test of sends, writes or reads")
        elif match := _CONNECTION.search(line):
            if columns:  # the title of this test is missing
                title = None
            transport, columns = match[1].lower(), []
        elif match := _DEPTH.match(line):
            receives = match[1] == "RX"
        elif program := program_of(line):
            if title:
                unread.append(f"{source}: line {number}: {quoted(line)} begins output of {program}")
            title, transport, receives, columns = None, "", None, []
        elif line.startswith("#bytes"):
            if columns:
                title = None
            columns = re.split(r"\s{2,}|(?<=s) (?=#)", line) if "#iterations" in line else []
            first, largest = len(rows), -1
        elif title and columns and re.match(r"\d+\s", line):
            row = _row(line.split(), columns, title, transport, receives)
            size = int(line.split()[0])
            if size <= largest:  # lines are missing or swapped
                row, columns = "has no larger size than the row above: its table is left out", []
                del rows[first:]
            largest = size
            if isinstance(row, str):
                unread.append(f"{source}: line {number}: {quoted(line)} {row}")
            else:
                rows.append(row | {"program": row["program"] + options})
    return rows, unread


def _row(
    cells: list[str], columns: list[str], title: re.Match, transport: str, receives: bool | None
) -> dict | str:
    """Return the row of transports for a line, or the reason why it cannot be read."""
    if len(cells) != len(columns):
        return f"has {len(cells)} values where the table has {len(columns)} columns"
    if not transport:
        return "follows no line with the type of its connection"
    try:
        values = {name: float(cell) for name, cell in zip(columns, cells, strict=True)}
    except ValueError:
        return "holds what is no number"
    verb = title["verb"].lower().removeprefix("rdma_")
    row = {
        "program": f"ib_{verb}_{'bw' if title['what'] == 'BW' else 'lat'}",
        "transport": transport,
        "bytes": int(values["#bytes"]),
    }
    if title["what"] == "Latency":
        latency = values.get("t_typical[usec]", values.get("t_avg[usec]", 0.0))
        if not values.get("t_min[usec]", latency) <= latency <= values.get("t_max[usec]", latency):
            return "has a latency that is not between its lowest and its highest"
        return row | {"test": "pingpong", "latency_us": latency} if latency > 0 else "has no latency"
    unit = next((name for name in _UNITS if name in values), None)
    if unit is None or not values[unit] > 0:
        return "has no average bandwidth in a known unit"
    printed = dict(zip(columns, cells, strict=True))
    if _contradicts_rate(printed, unit):
        return "has a bandwidth and a message rate that contradict each other"
    if receives is None and transport not in RELIABLE:
        return "follows no line 'TX depth' or 'RX depth', which shows whether it was sent or received"
    side = "received_MBps" if receives else "sent_MBps"
    test = "both_ways" if title["both"] else "stream"
    return row | {"test": test, side: values[unit] * _UNITS[unit]}


def _contradicts_rate(printed: dict[str, str], unit: str) -> bool:
    """Return whether the printed message rate differs from bandwidth / bytes by more than its digits."""
    rate = printed.get("MsgRate[Mpps]", "")
    if not rate or not float(rate) or not float(printed["#bytes"]):
        return False
    low, high = (
        bound * _UNITS[unit] / float(printed["#bytes"]) for bound in printed_range(printed[unit], 1.0)
    )
    low_rate, high_rate = printed_range(rate, 1.0)
    return low * (1 - RATE_SLACK) > high_rate or high * (1 + RATE_SLACK) < low_rate


def read(text: str, source: str, mapping: Mapping) -> Import:
    """Read output of perftest: see `Importer`."""
    return make_transports(*parse(text, source), mapping, source)


def recognises(text: str) -> bool:
    """Return whether a text has the title of a perftest program, and the heading of a table."""
    return is_marked(text, "perftest") and "#bytes" in text


IMPORTER = Importer("perftest", recognises, read)
