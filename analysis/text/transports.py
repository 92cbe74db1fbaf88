"""Sentences on transports below MPI."""

from __future__ import annotations

import pandas as pd

from analysis.tables.missing import is_missing
from analysis.text import formats
from analysis.text.formats import number
from analysis.text.labels import Labels

NAMES = {
    "tcp": "TCP",
    "udp": "UDP",
    "mpi": "MPI",
    "rc": "reliable connection",
    "uc": "unreliable connection",
    "ud": "unreliable datagrams",
    "xrc": "extended reliable connection",
    "ipoib": "IP over InfiniBand",
    "verbs": "verbs",
}
"""Transports by the names that readers see."""
BESIDE = (("udp", "tcp"), ("ud", "rc"), ("uc", "rc"), ("ipoib", "verbs"), ("tcp", "mpi"), ("udp", "mpi"))
"""Pairs that are told side by side, where an interconnect has both."""


def transport_sentences(best: pd.DataFrame, labels: Labels) -> list[str]:
    """Set transports of an interconnect beside each other, of a table of their best figures."""
    said = []
    for (name, kind, level), own in best.groupby(["interconnect", "kind", "oversubscription"], dropna=False):
        lines = {row["transport"]: row for row in own.to_dict("records")}
        about = labels.interconnect(name, kind)
        if not is_missing(level) and level > 1:
            about += f", {int(level)} processes a core"
        for one, other in BESIDE:
            if one in lines and other in lines and (text := _beside(lines, one, other)):
                said.append(f"{about}: {text}.")
    return said


def _beside(lines: dict, one: str, other: str) -> str:
    parts = []
    first, second = lines[one], lines[other]
    if not is_missing(first["sent_MBps"]) and not is_missing(second["received_MBps"]):
        text = f"{NAMES[one]} sends {number(first['sent_MBps'])} MB/s"
        if not is_missing(first["received_MBps"]):
            text += f", of which {number(first['received_MBps'])} MB/s are received"
        parts.append(f"{text}; {NAMES[other]} brings {number(second['received_MBps'])} MB/s")
    both = [line["received_both_ways_MBps"] for line in (first, second)]
    if not any(map(is_missing, both)):
        parts.append(
            f"both directions together have {number(both[0])} MB/s by {NAMES[one]}, {number(both[1])} by "
            f"{NAMES[other]}"
        )
    latencies = [line["latency_us"] for line in (first, second)]
    if not any(map(is_missing, latencies)):
        parts.append(
            f"the latency of {NAMES[one]} is {number(latencies[0])} µs, "
            f"of {NAMES[other]} {number(latencies[1])} µs"
        )
    return "; ".join(parts)


def loss_text(percent: object) -> str:
    """Lost messages in percent."""
    return (
        formats.MISSING
        if is_missing(percent)
        else formats.percent(percent, places=1 if 0 < percent < 10 else 0)
    )
