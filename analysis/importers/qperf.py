"""Output of qperf over TCP, UDP and verbs."""

from __future__ import annotations

import re

from analysis.importers.importer import Importer
from analysis.importers.lines import foreign_lines, quoted, whole_lines
from analysis.importers.mapping import Mapping
from analysis.importers.marks import MARKS, is_marked, program_of
from analysis.importers.results import Import
from analysis.importers.transports import RELIABLE, make_transports

OTHER_TEST = re.compile(r"\w+:$")
_VALUE = re.compile(
    r"(?P<name>\w+)\s*=\s*(?P<value>\d[\d,]*(?:\.\d+)?)\s*(?P<unit>\S+)(?: \((?P<exact>\d[\d,]*)\))?"
)
_MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "sec": 1e6}
_MEGABYTES = {
    f"{prefix}{unit}/sec": factor * size / 1e6
    for prefix, factor in (("", 1), ("K", 1e3), ("M", 1e6), ("G", 1e9))
    for unit, size in (("B" if prefix else "bytes", 1), ("b" if prefix else "bits", 1 / 8))
}
_SIZES = {"bytes": 1, "KB": 10**3, "MB": 10**6, "KiB": 2**10, "MiB": 2**20}
_COLUMNS = {"bw": "received_MBps", "send_bw": "sent_MBps", "recv_bw": "received_MBps"}


def _fits(name: str, row: dict) -> bool:
    """Return whether a test prints a value: reliable transports print one rate, others print two."""
    if name == "msg_size":
        return True
    if row["test"] == "pingpong" or name == "latency":
        return row["test"] == "pingpong" and name == "latency"
    return (name == "bw") == (row["transport"] in RELIABLE)


def parse(text: str, source: str) -> tuple[list[dict], list[str]]:
    """Parse the output of qperf to rows of transports, and list the skipped lines.

    Message sizes are missing unless qperf ran with ``-vu`` or ``-v``. Processor use is skipped, since qperf
    reports the whole machine.
    """
    rows: list[dict] = []
    unread: list[str] = []
    foreign: list[tuple[int, str]] = []
    is_test = False
    for number, printed in whole_lines(text, source, unread):
        line = printed.strip()
        if title := MARKS["qperf"].match(line):
            is_test = True
            test = "both_ways" if title["how"] == "bi_" else "stream"
            test = "pingpong" if title["what"] == "lat" else test
            rows.append({"program": title[0][:-1], "transport": title["transport"], "test": test})
        elif OTHER_TEST.match(line):
            is_test = False
            unread.append(f"{source}: line {number}: {quoted(line)} is no test that is known")
        elif program := program_of(line):
            is_test = False
            unread.append(f"{source}: line {number}: {quoted(line)} begins output of {program}")
        elif is_test and (match := _VALUE.match(line)):
            name, unit = match["name"], match["unit"]
            value = float(match["value"].replace(",", ""))
            column = "latency_us" if name == "latency" else _COLUMNS.get(name, "")
            if column and (column in rows[-1] or not _fits(name, rows[-1])):
                unread.append(f"{source}: line {number}: {quoted(line)} follows no line with its test")
                del rows[-1]
                is_test = False
            elif name == "latency" and unit in _MICROSECONDS:
                rows[-1][column] = value * _MICROSECONDS[unit]
            elif name in _COLUMNS and unit in _MEGABYTES:
                rows[-1][column] = value * _MEGABYTES[unit]
            elif name == "msg_size" and unit in _SIZES:
                exact = match["exact"]
                rows[-1]["bytes"] = int(exact.replace(",", "")) if exact else round(value * _SIZES[unit])
            elif name in ("latency", "msg_size", *_COLUMNS):
                unread.append(f"{source}: line {number}: {quoted(line)} has an unknown unit")
        elif line:
            foreign.append((number, line))
    unread += foreign_lines(source, foreign)
    complete: list[dict] = []
    for row in rows:
        if row.get("latency_us") or row.get("sent_MBps", row.get("received_MBps")):
            complete.append(row)
        else:
            size = f" of {row['bytes']} bytes" if "bytes" in row else ""
            unread.append(f"{source}: {row['program']}{size} has no result")
    return complete, unread


def read(text: str, source: str, mapping: Mapping) -> Import:
    """Read output of qperf: see `Importer`."""
    return make_transports(*parse(text, source), mapping, source)


IMPORTER = Importer("qperf", lambda text: is_marked(text, "qperf"), read)
