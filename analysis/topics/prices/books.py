"""Price books: dated, sourced prices of interconnects by size, with interpolation between sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pandera.pandas as pa
from numpy.typing import ArrayLike

from analysis.runs.columns import described
from analysis.runs.files import RowRule, read_listing
from analysis.runs.runs import NAME, TableError

_PRICE = ("price_per_node", "price_per_node_low", "price_per_node_high")
QUOTE = ("item", "nodes", "currency", "year", *_PRICE, "basis", "source", "note")
"""Columns of a quotation from a price book or a switch tree."""

NO_NEED, INTERPOLATED = "none needed", "interpolated"
"""Bases of a price: 0 for a single node; a line between the prices of two published sizes."""
ALONE = "one node needs no interconnect"

_CURRENCY = pa.Check.str_matches(r"^[A-Z]{3}$", error="must be three capital letters, such as USD")
_YEAR = pa.Check.in_range(1950, 2200, error="must be a year")
_SIZE = pa.Check.in_range(2, 10**9, error="must be 2 or more: one node needs no interconnect")
MONEY = pa.Check.in_range(0, 1e15, error="must be a price, 0 or more")


def listing_schema(name: str, description: str, columns: dict[str, pa.Column]) -> pa.DataFrameSchema:
    """Return the closed schema of a list of prices: item, currency, year, `columns`, source and note."""
    money = {
        "item": described(pa.Column(str, NAME), "Name of the priced item."),
        "currency": pa.Column(str, _CURRENCY),
        "year": described(pa.Column("Int64", _YEAR), "Year of the price; the same in all rows of an item."),
    }
    origin = {
        "source": described(pa.Column(str), "Source of the price."),
        "note": pa.Column(str, nullable=True),
    }
    return pa.DataFrameSchema(
        money | columns | origin,
        name=name,
        description=description,
        strict=True,
        ordered=True,
        coerce=True,
    )


BOOK = listing_schema(
    "price book",
    "`config/prices/*.csv`: one row per published price.",
    {
        "nodes_from": described(
            pa.Column("Int64", _SIZE), "Smallest size at which the price applies, 2 or more."
        ),
        "nodes_to": described(
            pa.Column("Int64", _SIZE, nullable=True), "Largest size; empty if none was published."
        ),
        "per": described(
            pa.Column(str, pa.Check.isin(["node", "cluster"], error="must be node or cluster")),
            "`node`: share of one node. `cluster`: the whole interconnect at one size.",
        ),
        "price": described(
            pa.Column(float, MONEY, nullable=True),
            "The price; if only a range was published, it is empty and the middle of the range counts.",
        ),
        "price_low": described(pa.Column(float, MONEY, nullable=True), "Lower end of a published range."),
        "price_high": described(pa.Column(float, MONEY, nullable=True), "Upper end."),
        "max_nodes": described(
            pa.Column("Int64", _SIZE, nullable=True),
            "Size limit of the interconnect; the same in all rows of an item.",
        ),
    },
)
"""Columns of a price book."""


def read_book(path: str | Path) -> pd.DataFrame:
    """Read a price book, check it, and convert its prices to prices per node.

    Parameters
    ----------
    path : path of a CSV file
        With the columns of `BOOK`.

    Returns
    -------
    DataFrame
        Rows of the file sorted by item and `nodes_from`. Prices ``per`` cluster are divided by `nodes_from`,
        so that all are per node. A missing `price` is the middle of its range.

    Raises
    ------
    TableError
        If the file is damaged. The message is one line with file, line and column.
    """
    book = read_listing(path, BOOK, _BOOK_RULES)
    book = book.sort_values(["item", "nodes_from"], kind="stable", ignore_index=True)
    divisor = book["nodes_from"].astype(float).where(book["per"] == "cluster", 1.0)
    prices = book[["price", "price_low", "price_high"]].div(divisor, axis=0)
    middle = prices[["price_low", "price_high"]].mean(axis=1)
    return book.assign(**prices).assign(price=prices["price"].fillna(middle))


def _first(listing: pd.DataFrame, column: str) -> pd.Series:
    return listing.groupby("item")[column].transform("first")


def _one_value(column: str) -> RowRule:
    """Make the rule that all rows of an item have the same value in a column."""
    return (
        column,
        lambda listing: listing[column] != _first(listing, column),
        "differs from a previous row of the same item",
    )


ONE_MONEY: list[RowRule] = [_one_value("currency"), _one_value("year")]
"""Rules that all rows of an item have one currency and one year."""


def _overlaps(book: pd.DataFrame) -> pd.Series:
    """Mark rows whose sizes begin before the sizes of the previous row of the item end."""
    with_end = book.assign(end=book["nodes_to"].fillna(10**9))
    ordered = with_end.sort_values(["item", "nodes_from"], kind="stable")
    previous_end = ordered.groupby("item")["end"].shift()
    return (previous_end >= ordered["nodes_from"]).reindex(book.index)


_BOOK_RULES: list[RowRule] = [
    *ONE_MONEY,
    ("nodes_to", lambda book: book["nodes_to"] < book["nodes_from"], "is below nodes_from"),
    (
        "nodes_to",
        lambda book: (book["per"] == "cluster") & (book["nodes_to"] != book["nodes_from"]).fillna(True),
        "must equal nodes_from if the price is per cluster",
    ),
    ("nodes_from", _overlaps, "overlaps another row of the same item"),
    (
        "price",
        lambda book: book["price"].isna() & (book["price_low"].isna() | book["price_high"].isna()),
        "is empty: state a price, or price_low and price_high",
    ),
    (
        "price_low",
        lambda book: book["price_low"] > book[["price", "price_high"]].min(axis=1),
        "is above the price or price_high",
    ),
    ("price_high", lambda book: book["price_high"] < book["price"], "is below the price"),
    (
        "max_nodes",
        lambda book: book["max_nodes"].fillna(0) != _first(book, "max_nodes").fillna(0),
        "differs from another row of the same item",
    ),
    (
        "max_nodes",
        lambda book: book["max_nodes"] < book["nodes_to"].fillna(book["nodes_from"]),
        "is below nodes_to",
    ),
]


def quote(book: pd.DataFrame, item: str, nodes: ArrayLike) -> pd.DataFrame:
    """Return the price of an interconnect for each of several numbers of nodes.

    A published price holds from one number of nodes to another. Between two published prices, the price of
    the whole interconnect is interpolated linearly, and `basis` is ``interpolated``. The lowest and highest
    price per node then cover both published prices. Outside the published numbers of nodes there is no
    price; `note` has the reason. A single node needs no interconnect.

    Parameters
    ----------
    book : DataFrame
        As `read_book` returns it.
    nodes : array (sizes,)
        Whole numbers, 1 or more.

    Returns
    -------
    DataFrame
        Columns `QUOTE`, one row per size. `price_per_node` is the price of one node's share of the
        interconnect; the lowest and highest price are empty if none was published.

    Raises
    ------
    TableError
        If the book does not list `item`.
    """
    rows = rows_of(book, item)
    ranges = _size_ranges(rows)
    nodes = np.asarray(nodes, np.int64)
    position = np.searchsorted(ranges["nodes_from"], nodes, side="right") - 1
    quotes = ranges.iloc[position].reset_index(drop=True)
    money = {name: rows[name].iloc[0] for name in ("currency", "year")}
    price = quotes["base"] / nodes + quotes["price_per_node"]
    return quotes.assign(item=item, nodes=nodes, **money, price_per_node=price)[list(QUOTE)]


def rows_of(listing: pd.DataFrame, item: str) -> pd.DataFrame:
    """Return the rows of an item with an index from 0; raise a `TableError` if there are none."""
    rows = listing[listing["item"] == item].reset_index(drop=True)
    if rows.empty:
        items = ", ".join(sorted(listing["item"].unique()))
        raise TableError(f"there is no item '{item}'; known are {items}", "prices", column="item")
    return rows


def _size_ranges(rows: pd.DataFrame) -> pd.DataFrame:
    """Divide the sizes of an item, from 1 node on, into ranges with one rule for the price.

    In each range, the interconnect of n nodes costs base + n price_per_node. Without a price,
    price_per_node is empty.

    Returns
    -------
    DataFrame
        One row per range, in ascending order, with its first size ``nodes_from``.
    """
    ranges: list[dict[str, object]] = [
        {"nodes_from": 1, "price_per_node": 0.0, "basis": NO_NEED, "note": ALONE}
    ]
    first = int(rows["nodes_from"].iloc[0])
    if first > 2:
        ranges.append({"nodes_from": 2, "note": f"no price below {first} nodes, the smallest published size"})
    for number, (_, row) in enumerate(rows.iterrows()):
        ranges.append(
            {
                "nodes_from": row["nodes_from"],
                "price_per_node": row["price"],
                "price_per_node_low": row["price_low"],
                "price_per_node_high": row["price_high"],
                "basis": "published",
                "source": row["source"],
                "note": row["note"],
            }
        )
        if number + 1 < len(rows):
            ranges.append(_interpolated_range(row, rows.iloc[number + 1]))
    largest, limit = rows["nodes_to"].iloc[-1], rows["max_nodes"].iloc[-1]
    if not pd.isna(largest) and (pd.isna(limit) or largest != limit):
        ranges.append(
            {"nodes_from": largest + 1, "note": f"no price above {largest} nodes, the largest published size"}
        )
    if not pd.isna(limit):
        ranges.append({"nodes_from": limit + 1, "note": f"at most {limit} nodes"})
    return pd.DataFrame(ranges, columns=["nodes_from", "base", *QUOTE[4:]]).fillna({"base": 0.0})


def _interpolated_range(below: pd.Series, above: pd.Series) -> dict[str, object]:
    """Make the range between two published sizes, on the straight line through their total prices."""
    size, next_size = int(below["nodes_to"]), int(above["nodes_from"])
    price, next_price = size * below["price"], next_size * above["price"]
    slope = (next_price - price) / (next_size - size)
    ends = pd.DataFrame([below, above])
    return {
        "nodes_from": size + 1,
        "base": price - slope * size,
        "price_per_node": slope,
        "price_per_node_low": ends["price_low"].fillna(ends["price"]).min(),
        "price_per_node_high": ends["price_high"].fillna(ends["price"]).max(),
        "basis": INTERPOLATED,
        "source": below["source"],
        "note": f"between the published sizes {size} and {next_size}",
    }
