"""Price books of node hours: dated, sourced prices of systems by their terms."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pandera.pandas as pa

from analysis.runs.columns import described
from analysis.runs.files import RowRule, read_listing
from analysis.runs.frames import Line, as_lines, is_missing
from analysis.runs.settings import SystemPrice

SEPARATOR = ";"
"""Separates the systems of a price."""
_POSITIVE = pa.Check.gt(0, error="must be a price above 0")
_CURRENCY = pa.Check.str_matches(r"^[A-Z]{3}$", error="must be three capital letters, such as USD")

NODE_HOURS = pa.DataFrameSchema(
    {
        "systems": described(
            pa.Column(str), "Interconnects or sites that the price applies to, separated by `;`."
        ),
        "instance": described(pa.Column(str, nullable=True), "Type of the node."),
        "terms": described(pa.Column(str), "Terms, such as `on_demand` or `spot`; a study chooses one."),
        "currency": described(pa.Column(str, _CURRENCY), "ISO code, the same in all rows."),
        "price": described(
            pa.Column(float, _POSITIVE, nullable=True),
            "Price per node hour; by default the middle of its range.",
        ),
        "price_low": described(pa.Column(float, _POSITIVE, nullable=True), "Lower end of a range."),
        "price_high": described(pa.Column(float, _POSITIVE, nullable=True), "Upper end."),
        "date": described(pa.Column(str), "Date of the price."),
        "source": described(pa.Column(str), "Source of the price."),
        "note": pa.Column(str, nullable=True),
    },
    name="price book of node hours",
    description="`config/prices/node_hours/*.csv`: one row per price of a node hour. A system has at "
    "most one price at the same terms.",
    strict=True,
    ordered=True,
    coerce=True,
)
"""Columns of a price book of node hours."""


def _systems(row_systems: str) -> list[str]:
    return [name for text in row_systems.split(SEPARATOR) if (name := text.strip())]


def _repeats(book: pd.DataFrame) -> pd.Series:
    """Mark the rows with a system that an earlier row prices at the same terms."""
    systems = book.assign(systems=book["systems"].map(_systems)).explode("systems")
    return systems.duplicated(["systems", "terms"]).groupby(level=0).any()


_RULES: list[RowRule] = [
    ("systems", lambda book: book["systems"].map(_systems).map(len) == 0, "names no system"),
    ("systems", _repeats, "has a price at the same terms in an earlier row"),
    (
        "currency",
        lambda book: book["currency"] != book["currency"].iloc[0],
        "differs from the first row; no exchange rate is assumed",
    ),
    (
        "price",
        lambda book: book["price"].isna() & (book["price_low"].isna() | book["price_high"].isna()),
        "is empty: state a price, or price_low and price_high",
    ),
    (
        "price_low",
        lambda book: book["price_low"].isna() != book["price_high"].isna(),
        "needs price_high, and price_high needs price_low",
    ),
    (
        "price_low",
        lambda book: book["price_low"] > book[["price", "price_high"]].min(axis=1),
        "is above the price or price_high",
    ),
    ("price_high", lambda book: book["price_high"] < book["price"], "is below the price"),
]


def read_node_hours(path: str | Path) -> pd.DataFrame:
    """Read a price book of node hours.

    Parameters
    ----------
    path : path of a CSV file
        With the columns of `NODE_HOURS`.

    Returns
    -------
    DataFrame
        Rows in the order of the file.

    Raises
    ------
    TableError
        If the file is damaged. The message is one line with file, line and column.
    """
    return read_listing(path, NODE_HOURS, _RULES)


def _source(row: Line) -> str:
    """Write the source of a price with the type of the node, and the note, which explains the range."""
    instance = "" if is_missing(row["instance"]) else f"{row['instance']}: "
    note = "" if is_missing(row["note"]) else f"; {row['note']}"
    return f"{instance}{row['source']}{note}"


def prices_at(book: pd.DataFrame, terms: str) -> dict[str, SystemPrice]:
    """Return the price of each system that a book lists at some terms."""
    prices: dict[str, SystemPrice] = {}
    for row in as_lines(book[book["terms"] == terms]):
        ranged = not is_missing(row["price_low"])
        price = SystemPrice.of(
            {
                "price": None if is_missing(row["price"]) else row["price"],
                "price_range": [row["price_low"], row["price_high"]] if ranged else None,
                "terms": terms,
                "date": row["date"],
                "source": _source(row),
            }
        )
        prices |= dict.fromkeys(_systems(row["systems"]), price)
    return prices
