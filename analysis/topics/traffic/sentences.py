"""Traffic patterns by the names that readers see."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from analysis.presentation.network_words import size_text
from analysis.runs.side_tables import CHOICES

NAMED = (*CHOICES, "mean_bytes")


def with_titles(table: pd.DataFrame, unnamed: Collection[str] = ()) -> pd.DataFrame:
    """Name the patterns of one of `TRAFFIC_TABLES` in ``title``, with the choices that vary within a pattern.

    As ``multiple hot spots, clustered, dedicated``. The `unnamed` are left to something else, as an axis.
    """
    titles = table["pattern"].astype(object)
    for _, rows in table.groupby(["pattern", "job"]):
        for name in (choice for choice in NAMED if choice not in unnamed):
            if rows[name].nunique() > 1:
                words = rows[name].map(_WORDS.get(name, str))
                titles.loc[rows.index] = titles.loc[rows.index] + ", " + words
    return table.assign(title=titles.str.replace("_", " "))


def distribution_words(rows: pd.DataFrame) -> pd.Series:
    """Name the distributions of sizes and of intervals as the source does: S and T."""
    return rows["sizes"] + " S, " + rows["intervals"] + " T"


def nodes_words(rows: pd.DataFrame) -> pd.Series:
    """Name where the I/O nodes are."""
    return rows["io_mapping"].map(lambda name: _MAPPINGS.get(name, name))


_MAPPINGS = {
    "clustered_io": "clustered under the I/O job",
    "clustered_compute": "clustered under the compute job",
}
_WORDS = {
    "sizes": lambda name: f"{name} sizes",
    "intervals": lambda name: f"{name} intervals",
    "io_mapping": lambda name: _MAPPINGS.get(name, name),
    "write_ratio": lambda share: f"{100 * share:.0f} % writes",
    "mean_bytes": lambda size: f"{size_text(size)} messages",
}
