"""Output of sockperf's client: ping-pong, under-load and throughput."""

from __future__ import annotations

import re

from analysis.importers.importer import Importer
from analysis.importers.lines import whole_lines
from analysis.importers.mapping import Mapping
from analysis.importers.marks import is_marked
from analysis.importers.results import Import
from analysis.importers.transports import MEBI, make_transports

_COLOUR = re.compile(r"\x1b?\[\d[\d;]*m")


def parse(text: str, source: str) -> tuple[list[dict], list[str]]:
    """Parse the output of a sockperf client to a row of transports, or report why it cannot be read.

    The latency is the median of half a round trip, or the mean if there are no percentiles. sockperf states
    the message size for throughput only. Its MBps are 2^20 bytes per second, and count sent bytes.
    """
    unread: list[str] = []
    values: dict[str, str] = {}
    patterns = {
        "protocol": r"PORT =\s*\d+ # (TCP|UDP)",
        "bytes": r"msg-size=(\d+)\. For",
        "mean": r"Summary: Latency is ([\d.]+) usec",
        "median": r"percentile 50\.0+ =\s*([\d.]+)",
        "percentile": r"percentile (\d+)",
        "rate": r"Summary: BandWidth is ([\d.]+) MBps",
        "sent": r"\[Valid Duration\].*SentMessages=(\d+)",
        "dropped": r"# dropped messages = (\d+)",
        "round_trip": r"Summary: Round trip is ([\d.]+) usec",
    }
    for _, line in whole_lines(_COLOUR.sub("", text), source, unread):
        for name, pattern in patterns.items():
            if (match := re.search(pattern, line)) and name not in values:
                values[name] = match[1]
    if "protocol" not in values:
        message = (
            "no line such as 'PORT = 11111 # TCP' shows the transport: keep all lines that sockperf prints"
        )
        return [], [*unread, f"{source}: {message}"]
    row: dict[str, object] = {"program": "sockperf", "transport": values["protocol"].lower()}
    if "bytes" in values:
        row["bytes"] = int(values["bytes"])
    if "rate" in values:
        return [row | {"test": "stream", "sent_MBps": float(values["rate"]) * MEBI}], unread
    if "round_trip" in values:
        return [], [*unread, f"{source}: holds whole round trips (--full-rtt), which are not read"]
    if "mean" not in values:
        return [], [*unread, f"{source}: has neither a latency nor a bandwidth"]
    if "percentile" in values and "median" not in values:
        return [], [*unread, f"{source}: has percentiles, but not the median (percentile 50)"]
    if row["transport"] == "udp" and int(values.get("sent", 0)) and "dropped" in values:
        row["lost_percent"] = 100 * int(values["dropped"]) / int(values["sent"])
    return [row | {"test": "pingpong", "latency_us": float(values.get("median", values["mean"]))}], unread


def read(text: str, source: str, mapping: Mapping) -> Import:
    """Read output of sockperf: see `Importer`."""
    return make_transports(*parse(text, source), mapping, source)


IMPORTER = Importer("sockperf", lambda text: is_marked(text, "sockperf"), read)
