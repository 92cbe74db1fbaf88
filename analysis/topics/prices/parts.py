"""Part lists: prices of the parts of an interconnect's switch trees."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pandera.pandas as pa

from analysis.runs.columns import described
from analysis.runs.files import RowRule, read_listing
from analysis.runs.runs import COUNT, TableError
from analysis.statistics import Floats, Integers
from analysis.topics.prices.books import MONEY, ONE_MONEY, listing_schema

_PART = pa.Check.isin(["port", "switch", "uplink"], error="must be port, switch or uplink")
_LEVEL = pa.Check.in_range(1, 8, error="must be a level from 1 to 8")
_RADIX = pa.Check.in_range(2, 10**6, error="must be 2 ports or more")
_BASIS = pa.Check.isin(["published", "inferred"], error="must be published or inferred")
_RATIO = pa.Check.in_range(1, 1000, error="must be a ratio of 1 or more")

PART_LIST = listing_schema(
    "part list",
    "`config/prices/parts/*.csv`: one row per priced part of a switch tree.",
    {
        "part": described(
            pa.Column(str, _PART),
            "`port` (adapter and cable of a node), `switch`, or `uplink` (cable between switches).",
        ),
        "level": described(pa.Column("Int64", _LEVEL, nullable=True), "Level of a switch, 1 at the nodes."),
        "radix": described(pa.Column("Int64", _RADIX, nullable=True), "Number of its ports."),
        "blocking": described(
            pa.Column(float, _RATIO, nullable=True),
            "Blocking ratio, 2 for half the bandwidth; empty at the top.",
        ),
        "nodes_from": described(
            pa.Column("Int64", COUNT),
            "Smallest cluster at which the price applies; sizes have no gap from 1 on.",
        ),
        "nodes_to": described(
            pa.Column("Int64", COUNT, nullable=True), "Largest cluster; empty for no limit."
        ),
        "price": described(pa.Column(float, MONEY), "Price of one part."),
        "basis": described(pa.Column(str, _BASIS), "`published` or `inferred`."),
    },
)
"""Columns of a part list."""
_IN_ORDER = ["item", "part", "level", "nodes_from"]


def read_parts(path: str | Path) -> pd.DataFrame:
    """Read a part list, and check that each item describes a whole switch tree.

    Parameters
    ----------
    path : str or Path
        CSV file with the columns of `PART_LIST`.

    Returns
    -------
    DataFrame
        Rows sorted by item, part, level and first node count (``nodes_from``).

    Raises
    ------
    TableError
        If the file is damaged, or an item lacks a part, a switch level or a range of nodes. The message is
        one line with file and column.
    """
    parts = read_listing(path, PART_LIST, _PART_RULES)
    parts = parts.sort_values(_IN_ORDER, kind="stable", ignore_index=True)
    for item, rows in parts.groupby("item"):
        needed = ["port", "switch"] if rows["level"].nunique() < 2 else ["port", "switch", "uplink"]
        for part in needed:
            if not (rows["part"] == part).any():
                raise TableError(f"item '{item}' has no {part}", str(path), column="part")
        levels = sorted(rows["level"].dropna().unique())
        if levels != list(range(1, len(levels) + 1)):
            raise TableError(
                f"item '{item}' skips a level: {', '.join(map(str, levels))}", str(path), column="level"
            )
        switches_of(rows, str(path))  # raises if a level has no switch for some number of nodes
    return parts


def _misfits(parts: pd.DataFrame) -> pd.Series:
    """Mark rows whose sizes do not follow directly after the sizes of the previous row of the same part."""
    ordered = parts.sort_values(_IN_ORDER, kind="stable")
    previous_end = ordered.groupby(_IN_ORDER[:-1], dropna=False)["nodes_to"].shift()
    expected = previous_end.mask(~ordered.duplicated(_IN_ORDER[:-1]), 0) + 1
    return (ordered["nodes_from"] != expected).fillna(True).reindex(parts.index)


_PART_RULES: list[RowRule] = [
    *ONE_MONEY,
    (
        "level",
        lambda parts: (parts["part"] == "switch") != parts["level"].notna(),
        "belongs to a switch, and to no other part",
    ),
    (
        "radix",
        lambda parts: (parts["part"] == "switch") != parts["radix"].notna(),
        "belongs to a switch, and to no other part",
    ),
    (
        "blocking",
        lambda parts: (parts["part"] != "switch") & parts["blocking"].notna(),
        "belongs only to a switch",
    ),
    ("nodes_to", lambda parts: parts["nodes_to"] < parts["nodes_from"], "is below nodes_from"),
    ("nodes_from", _misfits, "must follow the sizes of the previous row; the first row starts at 1"),
]


class Switch(NamedTuple):
    """Number of ports of a switch, and its downward ports per uplink (NaN at the top of a tree)."""

    radix: int
    blocking_ratio: float


def switches_of(parts: pd.DataFrame, source: str = "parts") -> list[Switch]:
    """Return the switches of the levels of one item, from the edge to the top."""
    rows = parts[parts["part"] == "switch"]
    kinds = rows.groupby("level")[["radix", "blocking"]].agg(["nunique", "first"])
    top = int(rows["level"].max())
    for level, (_, kind) in enumerate(kinds.iterrows(), start=1):
        if kind["radix", "nunique"] > 1 or kind["blocking", "nunique"] > 1:
            raise TableError(f"level {level} has two kinds of switch", source, column="radix")
        if level < top and pd.isna(kind["blocking", "first"]):
            raise TableError(
                f"level {level} is below the top and needs a blocking ratio", source, column="blocking"
            )
    return [
        Switch(int(kind["radix", "first"]), float(kind["blocking", "first"])) for _, kind in kinds.iterrows()
    ]


def part_price(rows: pd.DataFrame, part: str, nodes: Integers, level: int | None = None) -> Floats:
    """Return the price of a part in clusters of several sizes, array (sizes,).

    NaN for clusters that are larger than the part list states.
    """
    is_at_level = rows["level"].isna() if level is None else rows["level"] == level
    rows = rows[(rows["part"] == part) & is_at_level]
    position = np.searchsorted(rows["nodes_from"].to_numpy(np.int64), nodes, side="right") - 1
    largest = rows["nodes_to"].iloc[-1]
    prices = rows["price"].to_numpy(float)[position]
    return prices if pd.isna(largest) else np.where(nodes <= int(largest), prices, np.nan)
