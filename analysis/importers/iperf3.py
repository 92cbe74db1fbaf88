"""Output of iperf3 with ``-J``."""

from __future__ import annotations

import json
import re

from analysis.importers.importer import Importer
from analysis.importers.lookalikes import fault_in_json
from analysis.importers.mapping import Mapping
from analysis.importers.results import Import
from analysis.importers.transports import make_transports

VERSION = re.compile(r'"version"\s*:\s*"iperf 3')


SHORTEST_SECONDS = 0.5
"""Shortest run whose rate counts: buffers take what a shorter run sends."""


RATE_SLACK = 0.02
"""Relative tolerance between a rate and the bytes and seconds next to it."""


def parse(text: str, source: str) -> tuple[list[dict], list[str]]:
    """Parse the JSON of runs of iperf3.

    Rates are sums over all streams. Busy cores count the processes of iperf3 only. The JSON may be of the
    client or of the server.

    Returns
    -------
    list of dict
        One row of ``transports`` per usable run.
    list of str
        One line per run that cannot be used or is a copy, with the reason.
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
        except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
            row = f"is no result of iperf3: {fault_in_json(error)}"
        if isinstance(row, str):
            unread.append(f"{where}: {row}")
        elif (first := results.index(result) + 1) < number:
            unread.append(f"{where}: is a copy of run {first}, which counts once")
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
        return f"iperf3 reports an error: {result['error']}"
    start, end = result["start"]["test_start"], result["end"]
    if start.get("bidir") or any("bidir" in name for name in end):  # before 3.13, only the results show it
        return "holds both directions of --bidir: run the test without --bidir, and again with --reverse"
    seconds = end.get("sum_sent", end.get("sum", {})).get("seconds", SHORTEST_SECONDS)
    if seconds < SHORTEST_SECONDS:
        return (
            f"a run of {seconds:g} s is too short for a bandwidth: at least {SHORTEST_SECONDS:g} s are needed"
        )
    for name in ("sum", "sum_sent", "sum_received"):
        total = end.get(name, {})
        if {"bytes", "seconds"} <= total.keys() and total["bits_per_second"]:
            share = 8 * total["bytes"] / total["seconds"] / total["bits_per_second"]
            if not 1 - RATE_SLACK < share < 1 + RATE_SLACK:
                return f"bytes, seconds and bits_per_second of {name} contradict each other"
    transport, cpu = start["protocol"].lower(), end["cpu_utilization_percent"]
    # "host" wrote the file. The client sends, with --reverse the server, which has accepted a connection.
    is_server = "accepted_connection" in result["start"]
    host_sends = is_server == bool(start.get("reverse"))
    sender, receiver = ("host", "remote") if host_sends else ("remote", "host")
    row = {
        "program": f"iperf3 {start['protocol']}",
        "transport": transport,
        "test": "stream",
        "bytes": start["blksize"],
        # 0 is printed for another side that reported nothing.
        "sender_busy": cpu[f"{sender}_total"] / 100 or None,
        "receiver_busy": cpu[f"{receiver}_total"] / 100 or None,
    }
    if transport == "udp":
        lost_percent = end["sum"]["lost_percent"]
        sent = end.get("sum_sent", end["sum"])["bits_per_second"] / 8e6
        if not sent:
            return "has no sent rate: import the JSON of the client"
        received = sent * (1 - lost_percent / 100)
        return row | {"sent_MBps": sent, "received_MBps": received, "lost_percent": lost_percent}
    received = end["sum_received"]["bits_per_second"] / 8e6
    return row | {"received_MBps": received} if received else "has no received rate"


def recognises(text: str) -> bool:
    """Return whether a text is JSON of iperf3."""
    return bool(re.search(r"^\s*\{", text, re.M)) and bool(VERSION.search(text))


def read(text: str, source: str, mapping: Mapping) -> Import:
    """Read output of ``iperf3 -J``: see `Importer`."""
    return make_transports(*parse(text, source), mapping, source)


IMPORTER = Importer("iperf3", recognises, read)
