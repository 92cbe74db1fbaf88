"""Traffic patterns by the names that readers see."""

from __future__ import annotations

import pandas as pd

from analysis.tables.details import CHOICES


def with_titles(table: pd.DataFrame) -> pd.DataFrame:
    """Name the patterns of one of `TRAFFIC_TABLES` in ``title``, with the choices that vary within a pattern.

    As ``multiple hot spots, clustered, dedicated``.
    """
    titles = table["pattern"].astype(object)
    for _, rows in table.groupby("pattern"):
        for name in CHOICES:
            if rows[name].nunique() > 1:
                words = rows[name].map(_WORDS.get(name, str))
                titles.loc[rows.index] = titles.loc[rows.index] + ", " + words
    return table.assign(title=titles.str.replace("_", " "))


_MAPPINGS = {
    "clustered_io": "clustered under the I/O job",
    "clustered_compute": "clustered under the compute job",
}
_WORDS = {
    "sizes": lambda name: f"{name} sizes",
    "intervals": lambda name: f"{name} intervals",
    "io_mapping": lambda name: _MAPPINGS.get(name, name),
    "write_ratio": lambda share: f"{100 * share:.0f} % writes",
}
