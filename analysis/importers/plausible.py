"""Physical limits of latencies and bandwidths."""

from __future__ import annotations

from collections.abc import Mapping as Entries

SHORTEST_US = 0.003
"""Time in which light passes 1 m, rounded down: no message between two processors of a room is faster."""

LONGEST_SMALL_US = 1e6
"""Longest time of a small message between two processes; around the Earth it is below 10^6 µs."""

SMALL_BYTES = 1024
"""Largest message whose time is mostly latency."""

SLOWEST_MBPS = 1e-3
"""Lowest bandwidth of larger messages between two processes, 10^6 bytes/s: less than a modem."""

FASTEST_MBPS = 1e7
"""Highest bandwidth between two processes, 10^6 bytes/s: more than the caches of a processor."""

TWO_PROCESSES = ("osu_latency", "osu_bandwidth", "imb_pingpong", "imb_pingping", "netpipe", "pingpong")
"""Benchmarks of two processes, one of which sends a whole message."""


def implausible(row: Entries[str, object]) -> str:
    """Return why no interconnect within a room has such a latency or bandwidth; empty if one may have it.

    Parameters
    ----------
    row : mapping
        Columns of network curves, or of transports.
    """
    size = _number(row, "bytes")
    latency_us = _number(row, "latency_us")
    rates = {name: _number(row, name) for name in ("bandwidth_MBps", "sent_MBps", "received_MBps")}
    is_pair = row.get("benchmark", "netpipe") in TWO_PROCESSES
    if latency_us is not None and latency_us < SHORTEST_US:
        return f"{latency_us:g} µs are less than light needs for 1 m"
    fastest = max((rate for rate in rates.values() if rate is not None), default=0.0)
    if latency_us and size and is_pair:
        fastest = max(fastest, size / latency_us)
    if fastest > FASTEST_MBPS:
        return f"{fastest:g} MB/s are more than any interconnect carries"
    if not is_pair or not latency_us:
        return ""
    if (size or 0) <= SMALL_BYTES and latency_us > LONGEST_SMALL_US:
        return f"{latency_us:g} µs for {size or 0:g} bytes are more than a message around the Earth takes"
    if size and size > SMALL_BYTES and size / latency_us < SLOWEST_MBPS:
        return f"{size / latency_us:g} MB/s are less than any interconnect carries"
    return ""


def _number(row: Entries[str, object], column: str) -> float | None:
    value = row.get(column)
    return float(value) if isinstance(value, int | float) else None
