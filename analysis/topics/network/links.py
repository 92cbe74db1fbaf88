"""Published figures of one kind of link at several rates, over several media, paths and interfaces."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from analysis.runs.columns import NOTE, POSITIVE, TEXT, table_schema, validated

LINKS = table_schema(
    "network_links",
    rate=TEXT,
    medium=NOTE,
    path=NOTE,
    bidirectional_Gbps=POSITIVE,
    latency_us=POSITIVE,
    source=NOTE,
)
"""One row a rate, medium and path or interface, as published; columns.yaml says what the columns mean."""

QUANTITIES = {"max bidirectional bandwidth": "bidirectional_Gbps", "min latency": "latency_us"}
"""Column of each published quantity that can be compared."""


def make_links(published: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Gather statements about links into a row each.

    Parameters
    ----------
    published : mapping of str to DataFrame
        As `analysis.importers.read_published` gives it; read is ``link_statements``.

    Returns
    -------
    DataFrame
        Columns of `LINKS`, in the order of the statements; without rows where there are none.
    """
    rows = published.get("link_statements")
    rows = None if rows is None else rows[rows["quantity"].isin(QUANTITIES)]
    if rows is None or rows.empty:
        return validated(LINKS, pd.DataFrame())
    key = ["rate", "medium", "path", "source"]
    wide = rows.assign(column=rows["quantity"].map(QUANTITIES))
    wide = wide.groupby([*key, "column"], dropna=False, sort=False)["value"].first().unstack("column")
    return validated(LINKS, wide.reset_index())
