"""What the interconnects are made of, and in what those that are compared differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from analysis.report.blocks import Block, bullets, left, row, table
from analysis.report.content import Content
from analysis.text import formats
from analysis.text.formats import MISSING, listed
from analysis.text.labels import Labels

TITLES = {
    "mpi": ("MPI library", ""),
    "link_mbps": ("Link rate", "Mbit/s"),
    "transport": ("Transport", ""),
    "mtu": ("MTU", "bytes"),
    "cable": ("Cable", ""),
    "path": ("Path", ""),
}
"""Title and unit of the factors that have a name; others appear by their key in the interconnect's file."""

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

Factors = Mapping[str, Any]


def factor_blocks(content: Content) -> list[Block]:
    """Tabulate what the interconnects that ran are made of; list in what each differs from its baseline."""
    known = content.facts.interconnect
    present = content.labels.sorted_interconnects(content.runs["interconnect"].dropna())
    factors = {name: known(name).factors for name in present if known(name).factors}
    if not factors:
        return []
    keys = [key for key in TITLES if any(key in of_name for of_name in factors.values())]
    columns = left("Interconnect", *map(_head, keys))
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
    kinds : mapping
        Kind of each interconnect.
    """
    said = []
    for baseline, other in combinations(sorted(factors, key=lambda name: name not in baselines), 2):
        if baseline not in baselines or kinds[baseline] != kinds[other]:
            continue
        first, second = factors[other], factors[baseline]
        keys = [key for key in dict.fromkeys([*TITLES, *first, *second]) if first.get(key) != second.get(key)]
        if "mpi" in keys:
            keys = [key for key in keys if not key.startswith("launch.")]
        found = listed(_difference(key, first, second) for key in keys)
        found += ", each with settings of its own" if "mpi" in keys else ""
        what = f"differs from {labels.interconnect(baseline)} in {found or 'nothing that their files tell'}"
        said.append(f"{labels.interconnect(other)} {what}.")
    return said


def _difference(key: str, *pair: Factors) -> str:
    title, unit = TITLES.get(key, (key, ""))
    title = title if title[:2].isupper() else title[0].lower() + title[1:]
    values = listed(_value(key, factors, "not told") for factors in pair)
    return f"{title} ({values}{f' {unit}' if unit else ''})"


def _head(key: str) -> str:
    title, unit = TITLES[key]
    return f"{title} ({unit})" if unit else title


def _value(key: str, factors: Factors, missing: str = MISSING) -> str:
    value = factors.get(key)
    if value is None:
        return missing
    if key in ("link_mbps", "mtu"):
        return formats.number(value) if value % 1 else formats.whole(int(value))
    return WORDS.get(key, {}).get(value, str(value))
