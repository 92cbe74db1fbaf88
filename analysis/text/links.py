"""What published figures of one kind of link say beside each other, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from analysis.tables.missing import is_missing
from analysis.text.formats import THIN, exact, number

ALTERNATIVES = (
    ("rate", ()),
    ("medium", ()),
    ("path", ("switched", "back to back")),
    ("path", ("verbs", "ipoib")),
)
"""What links are compared by: a column, and the values between which it is a choice (none: any two)."""

FIELDS = (("bidirectional_Gbps", "Gbit/s"), ("latency_us", "µs"))
"""Columns that are compared, with their units."""

_NAMES = {"verbs": "verbs", "ipoib": "IPoIB"}


def link_name(row: Mapping) -> str:
    """Name a link by what was said of it: ``QDR, fiber, IPoIB``."""
    parts = [row[key] for key in ("rate", "medium", "path") if not is_missing(row[key])]
    return ", ".join(_NAMES.get(part, part) for part in parts)


def link_sentences(links: pd.DataFrame) -> list[str]:
    """Compare links that differ in one thing only: their rate, medium, path, or interface.

    Parameters
    ----------
    links : DataFrame
        Columns of `LINKS`.
    """
    return list(dict.fromkeys(_comparisons(links)))


def _comparisons(links: pd.DataFrame) -> Iterator[str]:
    rows = links.to_dict("records")
    for column, choice in ALTERNATIVES:
        others = [key for key in ("rate", "medium", "path") if key != column]
        for index, one in enumerate(rows):
            for other in rows[index + 1 :]:
                same = all(_equal(one[key], other[key]) for key in others)
                named = not (is_missing(one[column]) or is_missing(other[column]))
                chosen = not choice or {one[column], other[column]} == set(choice)
                if same and named and chosen and one[column] != other[column]:
                    yield _compared(one, other)


def _equal(one: object, other: object) -> bool:
    return one == other or (is_missing(one) and is_missing(other))


def _compared(one: Mapping, other: Mapping) -> str:
    """Both bandwidths and latencies, the link of more bandwidth first."""
    first, second = sorted((one, other), key=lambda row: -row["bidirectional_Gbps"])
    return (
        f"{link_name(first)} against {link_name(second)}: {_pair(first, second, *FIELDS[0])} in both "
        f"directions, latency {_pair(first, second, *FIELDS[1])}."
    )


def _pair(first: Mapping, second: Mapping, column: str, unit: str) -> str:
    """Two figures, and how many times the smaller the larger is: ``55 against 32 Gbit/s (factor 1.7)``."""
    low, high = sorted((first[column], second[column]))
    told = f"{exact(first[column])} against {exact(second[column])}{THIN}{unit}"
    return f"{told} (factor {number(high / low, 2)})"
