"""What published figures of one kind of link say beside each other, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import pandas as pd

from analysis.presentation.formats import THIN, exact, number
from analysis.runs.frames import is_missing

ALTERNATIVES = (
    ("rate", ()),
    ("medium", ()),
    ("path", ("switched", "back to back")),
    ("path", ("verbs", "ipoib")),
)
"""What links are compared by: a column, and the two values that are alternatives (none: any two)."""

_KEYS = ["rate", "medium", "path"]


def link_name(row: Mapping) -> str:
    """Name a link by what is known of it: ``QDR, fiber, IPoIB``."""
    known = [row[key] for key in _KEYS if not is_missing(row[key])]
    return ", ".join("IPoIB" if value == "ipoib" else value for value in known)


def link_sentences(links: pd.DataFrame) -> list[str]:
    """Compare links of the table `LINKS` that differ in one thing only: rate, medium, path, or interface."""
    return list(dict.fromkeys(_comparisons(links)))


def _comparisons(links: pd.DataFrame) -> Iterator[str]:
    rows = links.fillna(dict.fromkeys(_KEYS, "")).to_dict("records")
    for column, choice in ALTERNATIVES:
        others = [key for key in _KEYS if key != column]
        for link, other in combinations(rows, 2):
            same = all(link[key] == other[key] for key in others)
            values = {link[column], other[column]} - {""}
            if same and len(values) == 2 and values == set(choice or values):
                yield _compared(link, other)


def _compared(*links: Mapping) -> str:
    """Both bandwidths and latencies, the link of more bandwidth first."""
    first, second = sorted(links, key=lambda row: -row["bidirectional_Gbps"])
    return (
        f"{link_name(first)} against {link_name(second)}: "
        f"{_pair(first, second, 'bidirectional_Gbps', 'Gbit/s')} in both directions, "
        f"latency {_pair(first, second, 'latency_us', 'µs')}."
    )


def _pair(first: Mapping, second: Mapping, column: str, unit: str) -> str:
    """Two figures, and how many times the smaller the larger is: ``55 against 32 Gbit/s (factor 1.7)``."""
    low, high = sorted((first[column], second[column]))
    return (
        f"{exact(first[column])} against {exact(second[column])}{THIN}{unit} (factor {number(high / low, 2)})"
    )
