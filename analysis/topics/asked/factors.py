"""What the interconnects are made of, and in what those that are compared differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Column, bullets, left, right, row, table
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING, listed
from analysis.presentation.labels import Labels
from analysis.presentation.network_words import size_text

TITLES = {
    "mpi": ("MPI library", ""),
    "link_mbps": ("Link rate", "Mbit/s"),
    "host_bus": ("Host bus", ""),
    "transport": ("Transport", ""),
    "mtu": ("MTU", "bytes"),
    "cable": ("Cable", ""),
    "path": ("Path", ""),
    "compiler": ("Compiler", ""),
    "storage": ("Storage", ""),
    "latency_us": ("Latency", "µs"),
    "peak_MBps": ("Peak", "MB/s"),
    "eager_limit_bytes": ("Eager limit", "bytes"),
}
"""Title and unit of the factors that have a column; the last three are those of a model."""

OF_MODELS = {
    "switches_bytes": ("other changes of protocol", ""),
    "host_overhead": ("host overhead", ""),
    "directions": ("what both directions share", ""),
    "hop_us": ("delay of a switch", "µs"),
    "topology": ("topology", ""),
}
"""Title and unit of what else a model says; any other factor appears by its key in the file."""

WORDS = {
    "transport": {
        "rc": "reliable connection (RC)",
        "uc": "unreliable connection (UC)",
        "ud": "unreliable datagram (UD)",
        "tcp": "TCP",
        "udp": "UDP",
        "memory": "shared memory",
    },
    "path": {"back_to_back": "back to back"},
}

KEYS = {
    "send_us": "µs to send",
    "receive_us": "µs to receive",
    "send_ns_per_byte": "ns a byte sent",
    "receive_ns_per_byte": "ns a byte received",
    "both_ways_MBps": "MB/s both ways",
}
"""Unit and meaning of keys within a model's sections; others are words themselves."""

Factors = Mapping[str, Any]


def factor_blocks(content: Content) -> list[Block]:
    """Tabulate what the interconnects that ran are made of; list in what each differs from its baseline."""
    known = content.facts.interconnect
    present = content.labels.sorted_interconnects(content.runs["interconnect"].dropna())
    factors = {name: known(name).factors for name in present if known(name).factors}
    if not factors:
        return []
    keys = [key for key in TITLES if any(key in of_name for of_name in factors.values())]
    columns = [*left("Interconnect"), *(one for key in keys for one in _column(key))]
    rows = [
        row([content.labels.interconnect(name), *(_value(key, of_name) for key in keys)], "", name)
        for name, of_name in factors.items()
    ]
    blocks = [table("What the interconnects are made of.", columns, {"": rows})]
    kinds = {name: known(name).kind for name in factors}
    if said := differences(factors, kinds, content.facts.study.baselines, content.labels):
        blocks.append(bullets(said, "In what compared interconnects differ, by their files"))
    return blocks


def differences(
    factors: Mapping[str, Factors], kinds: Mapping[str, str | None], baselines: Sequence[str], labels: Labels
) -> list[str]:
    """Say in what interconnects of one kind differ from their baselines.

    A sentence a pair. Settings are left out where the MPI libraries differ, since each has its own.

    Parameters
    ----------
    factors : mapping
        By interconnect: the factors in `TITLES` and others, by key.
    """
    said = []
    for baseline, other in combinations(sorted(factors, key=lambda name: name not in baselines), 2):
        if baseline not in baselines or kinds[baseline] != kinds[other]:
            continue
        first, second = factors[other], factors[baseline]
        known = dict.fromkeys([*TITLES, *first, *second])
        keys = [key for key in known if _value(key, first, "") != _value(key, second, "")]
        if "mpi" in keys:
            keys = [key for key in keys if not key.startswith("launch.")]
        found = listed(_difference(key, first, second) for key in keys)
        found += ", each with settings of its own" if "mpi" in keys else ""
        what = f"differs from {labels.interconnect(baseline)} in {found or 'nothing that their files tell'}"
        said.append(f"{labels.interconnect(other)} {what}.")
    return said


def _difference(key: str, *pair: Factors) -> str:
    title, unit = (TITLES | OF_MODELS).get(key, (key, ""))
    title = title if title[:2].isupper() else title[0].lower() + title[1:]
    values = listed(_value(key, factors, "not told") for factors in pair)
    return f"{title} ({values}{f' {unit}' if unit else ''})"


def _column(key: str) -> list[Column]:
    """Describe the column of a factor, which holds numbers where it has a unit."""
    title, unit = TITLES[key]
    return right(f"{title} ({unit})") if unit else left(title)


def _value(key: str, factors: Factors, missing: str = MISSING) -> str:
    value = factors.get(key)
    if value is None:
        return missing
    if isinstance(value, dict):
        said = [_section(name, told) for name, told in value.items() if told != 0]
        return listed(said) or "nothing told"
    if isinstance(value, list):
        return listed(map(size_text, value)) or "none"
    if key in ("link_mbps", "mtu", "eager_limit_bytes"):
        return formats.number(value) if value % 1 else formats.whole(int(value))
    return WORDS.get(key, {}).get(value) or (
        formats.exact(float(f"{value:.4g}")) if key in _NUMBERS else str(value)
    )


_NUMBERS = ("latency_us", "peak_MBps", "hop_us")


def _section(name: str, told: object) -> str:
    """Write a key of a model's section with what it says: ``fat tree of ports 24, blocking ratio 2``."""
    if name in KEYS:
        return f"{formats.exact(told)} {KEYS[name]}"
    words = name.replace("_", " ")
    if isinstance(told, dict):
        of = ", ".join(_section(key, value) for key, value in told.items())
        return f"{words} of {of}" if of else words
    if isinstance(told, list):
        return f"{words} {' × '.join(map(str, told))}"
    return words if told is True else f"{words} {told}"
