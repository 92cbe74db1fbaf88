"""Output of iperf3 with ``-J``."""

from __future__ import annotations

import json
import re

from analysis.importers.importer import Importer
from analysis.importers.mapping import Mapping
from analysis.importers.results import Import
from analysis.importers.transports import make_transports

VERSION = re.compile(r'"version"\s*:\s*"iperf 3')


SHORTEST_SECONDS = 0.5
"""Shortest run whose rate counts: buffers take what a shorter run sends."""


def parse(text: str, source: str) -> tuple[list[dict], list[str]]:
    """Parse the JSON of runs of iperf3 to a row of transports each, or report why it cannot be read.

    Rates are sums over all streams. Busy cores count the processes of iperf3 only.
    """
    try:
        results = _documents(text)
    except ValueError as error:
        return [], [f"{source}: is cut off or damaged JSON of iperf3: {error}"]
    rows, unread = [], []
    for number, result in enumerate(results, 1):
        where = source if len(results) == 1 else f"{source}: run {number}"
        try:
            row = _row(result)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            row = f"is no result of iperf3: {type(error).__name__} {error}"
        if isinstance(row, str):
            unread.append(f"{where}: {row}")
        else:
            rows.append(row)
    return rows, unread


def _documents(text: str) -> list:
    """Return the JSON documents of a text, one for each run of iperf3."""
    decoder, place, results = json.JSONDecoder(), text.index("{"), []
    while place < len(text):
        result, place = decoder.raw_decode(text, place)
        results.append(result)
        following = text.find("{", place)
        place = len(text) if following < 0 else following
    return results


def _row(result: dict) -> dict | str:
    """Return the row of transports of a run, or the reason why it cannot be read."""
    if "error" in result:
        return f"iperf3 says: {result['error']}"
    start, end = result["start"]["test_start"], result["end"]
    if start.get("bidir"):
        return "a run in both directions does not report them separately"
    seconds = end.get("sum_sent", end.get("sum", {})).get("seconds", SHORTEST_SECONDS)
    if seconds < SHORTEST_SECONDS:
        return (
            f"a run of {seconds:g} s is too short for a bandwidth: at least {SHORTEST_SECONDS:g} s are needed"
        )
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
        return row | {"sent_MBps": sent, "received_MBps": sent * (1 - lost / 100), "lost_percent": lost}
    return row | {"received_MBps": end["sum_received"]["bits_per_second"] / 8e6}


def recognises(text: str) -> bool:
    """Return whether a text is JSON of iperf3."""
    return bool(re.search(r"^\s*\{", text, re.M)) and bool(VERSION.search(text))


def read(text: str, source: str, mapping: Mapping) -> Import:
    """Read output of ``iperf3 -J``: see `Importer`."""
    return make_transports(*parse(text, source), mapping, source)


IMPORTER = Importer("iperf3", recognises, read)
