"""Output of sockperf's client: ping-pong, under-load and throughput."""

from __future__ import annotations

import re

from analysis.importers.importer import Importer
from analysis.importers.lines import has_line, whole_lines
from analysis.importers.mapping import Mapping
from analysis.importers.results import Import
from analysis.importers.transports import MEBI, make_transports

START = re.compile(r"^sockperf: ")
_COLOUR = re.compile(r"\x1b?\[\d[\d;]*m")


def parse(text: str, source: str) -> tuple[list[dict], list[str]]:
    """Read what a client of sockperf printed.

    A latency is the median, half a round trip; without percentiles, the mean. sockperf says the size of its
    messages in its note on throughput alone. Its MBps are 2^20 bytes a second, and what it sent.
    """
    unread: list[str] = []
    found: dict[str, str] = {}
    patterns = {
        "protocol": r"PORT =\s*\d+ # (TCP|UDP)",
        "bytes": r"msg-size=(\d+)\. For",
        "mean": r"Summary: Latency is ([\d.]+) usec",
        "median": r"percentile 50\.0+ =\s*([\d.]+)",
        "rate": r"Summary: BandWidth is ([\d.]+) MBps",
        "sent": r"\[Valid Duration\].*SentMessages=(\d+)",
        "dropped": r"# dropped messages = (\d+)",
        "round_trip": r"Summary: Round trip is ([\d.]+) usec",
    }
    for _, line in whole_lines(_COLOUR.sub("", text), source, unread):
        for name, pattern in patterns.items():
            if (match := re.search(pattern, line)) and name not in found:
                found[name] = match[1]
    if "protocol" not in found:
        return [], [*unread, f"{source}: does not say whether it is TCP or UDP"]
    row: dict[str, object] = {"program": "sockperf", "transport": found["protocol"].lower()}
    if "bytes" in found:
        row["bytes"] = int(found["bytes"])
    if "rate" in found:
        return [row | {"test": "stream", "sent_MBps": float(found["rate"]) * MEBI}], unread
    if "round_trip" in found:
        return [], [*unread, f"{source}: holds whole round trips (--full-rtt), which are not read"]
    if "mean" not in found:
        return [], [*unread, f"{source}: has neither a latency nor a bandwidth"]
    if row["transport"] == "udp" and int(found.get("sent", 0)):
        row["lost_percent"] = 100 * int(found.get("dropped", 0)) / int(found["sent"])
    return [row | {"test": "pingpong", "latency_us": float(found.get("median", found["mean"]))}], unread


def read(text: str, source: str, mapping: Mapping) -> Import:
    """Read output of sockperf: see `Importer`."""
    return make_transports(*parse(text, source), mapping, source)


IMPORTER = Importer("sockperf", lambda text: has_line(text, START), read)
