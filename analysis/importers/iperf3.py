"""Output of iperf3 with ``-J``."""

from __future__ import annotations

import json
import re

from analysis.importers.importer import Importer
from analysis.importers.mapping import Mapping
from analysis.importers.results import Import
from analysis.importers.transports import make_transports

VERSION = re.compile(r'"version"\s*:\s*"iperf 3')


def parse(text: str, source: str) -> tuple[list[dict], list[str]]:
    """Parse the JSON of one run of iperf3 to a row of transports, or report why it cannot be read.

    Rates are sums over all streams. Busy cores count the processes of iperf3 only.
    """
    try:
        result = json.loads(text)
        if "error" in result:
            return [], [f"{source}: iperf3 says: {result['error']}"]
        start, end = result["start"]["test_start"], result["end"]
        if start.get("bidir"):
            return [], [f"{source}: a run in both directions does not report them separately"]
        transport, cpu = start["protocol"].lower(), end["cpu_utilization_percent"]
        sides = ("remote", "host") if start.get("reverse") else ("host", "remote")
        row = {
            "program": f"iperf3 {start['protocol']}",
            "transport": transport,
            "test": "stream",
            "bytes": start["blksize"],
            **{
                f"{who}_busy": cpu[f"{side}_total"] / 100
                for who, side in zip(("sender", "receiver"), sides, strict=True)
            },
        }
        if transport == "udp":
            lost = end["sum"]["lost_percent"]
            sent = end.get("sum_sent", end["sum"])["bits_per_second"] / 8e6
            return [
                row | {"sent_MBps": sent, "received_MBps": sent * (1 - lost / 100), "lost_percent": lost}
            ], []
        return [row | {"received_MBps": end["sum_received"]["bits_per_second"] / 8e6}], []
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return [], [f"{source}: is no result of iperf3: {type(error).__name__} {error}"]


def recognises(text: str) -> bool:
    """Return whether a text is JSON of iperf3."""
    return text.lstrip().startswith("{") and bool(VERSION.search(text))


def read(text: str, source: str, mapping: Mapping) -> Import:
    """Read output of ``iperf3 -J``: see `Importer`."""
    return make_transports(*parse(text, source), mapping, source)


IMPORTER = Importer("iperf3", recognises, read)
