"""The table ``prices``: prices of interconnects by size, and the names of its offers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from analysis.presentation.blocks import KeyFigure, key_figure
from analysis.presentation.formats import listed
from analysis.presentation.labels import DIRECT, Labels, short_name
from analysis.runs.columns import (
    COUNT,
    MONEY,
    NOTE,
    TEXT,
    described,
    empty,
    table_schema,
    table_schemas,
    validated,
    with_descriptions,
    with_interval,
)
from analysis.runs.frames import Line, Tables, is_missing
from analysis.statistics import Integers
from analysis.topics.money.market import PricedItem
from analysis.topics.money.sentences import nodes, priced
from analysis.topics.prices.books import rows_of
from analysis.topics.prices.parts import switches_of
from analysis.topics.prices.switches import tree_quote

PRICES = table_schemas(
    table_schema(
        "prices",
        "One row per price of an interconnect and size, from published lists, price books, and "
        "switch trees of part lists.",
        interconnect=TEXT,
        offer=described(NOTE, "Switches of a published list; item of a price book or part list."),
        nodes=described(COUNT, "Nodes of the cluster; empty for any number."),
        currency=TEXT,
        year=described(COUNT, "Year of the price; empty if the list does not state it."),
        **with_descriptions(
            with_interval("price_per_node", MONEY),
            price_per_node="Price of the interconnect / nodes; the ends are the published range.",
        ),
        list_price=described(MONEY, "Price for all nodes."),
        basis=described(TEXT, "`published`, or `computed` (a switch tree)."),
        source=described(NOTE, "Source of the price."),
        note=NOTE,
    ),
)
OFFER = ["interconnect", "offer", "basis", "year", "source"]
"""Columns that identify an offer: an interconnect's price by size, from one source."""
LARGEST = 16384
"""Largest number of nodes of a tree with a price; the switches may allow less."""


def make_prices(published: Tables, offers: Mapping[str, PricedItem]) -> pd.DataFrame:
    """Gather prices of interconnects by size.

    Parameters
    ----------
    published : mapping of str to DataFrame
        As `analysis.importers.read_published` returns it; it may hold ``list_prices`` and ``node_prices``.
    offers : mapping of interconnect to PricedItem
        Item for each interconnect. An item of a price book yields a row for each end of a published range of
        sizes. An item of a part list yields a row for each switch tree of 8, 12, 16, 24 … nodes.

    Returns
    -------
    DataFrame
        Table ``prices``, one row per price. The rows of an offer are sorted by size.
    """
    tables = [*_published_prices(published), *_offered_prices(offers)]
    if not tables:
        return empty(PRICES["prices"])
    table = pd.concat([rows.astype(object) for rows in tables], ignore_index=True)
    return validated(PRICES["prices"], table.infer_objects())


def _published_prices(published: Tables) -> Iterator[pd.DataFrame]:
    """Yield the published prices by ports, then by nodes, in the columns of ``prices``."""
    if (rows := published.get("list_prices")) is not None:
        listed_rows = rows.assign(offer=rows["switching"], nodes=rows["ports"], note=None)
        yield _in_dollars(
            listed_rows, price_per_node=rows["price_per_port_usd"], list_price=rows["list_price_usd"]
        )
    if (rows := published.get("node_prices")) is not None:
        ranged = rows["usd_per_node_high"].notna()
        price = rows[["usd_per_node", "usd_per_node_high"]].mean(axis=1)
        yield _in_dollars(
            rows.assign(offer=None),
            price_per_node=price,
            price_per_node_low=rows["usd_per_node"].where(ranged),
            price_per_node_high=rows["usd_per_node_high"],
            list_price=rows["nodes"].astype(float) * price,
        )


def _in_dollars(rows: pd.DataFrame, **prices: pd.Series) -> pd.DataFrame:
    rows = rows.assign(basis="published", currency="USD", **prices)
    return rows.sort_values(["interconnect", "offer", "nodes"], kind="stable")


def _offered_prices(offers: Mapping[str, PricedItem]) -> Iterator[pd.DataFrame]:
    for interconnect, (listing, item) in offers.items():
        rows = rows_of(listing, item)
        prices = _tree_prices(listing, item, rows) if "part" in listing else _book_prices(rows)
        yield prices.assign(interconnect=interconnect, offer=item)


def _book_prices(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the price at both ends of each published range of sizes."""
    ends = [rows.assign(nodes=rows[end]) for end in ("nodes_from", "nodes_to")]
    both = pd.concat(ends).dropna(subset="nodes").drop_duplicates("nodes").sort_values("nodes")
    renamed = both.rename(columns=lambda name: name.replace("price", "price_per_node"))
    return renamed.assign(basis="published", list_price=both["nodes"].astype(float) * both["price"])


def _tree_prices(listing: pd.DataFrame, item: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the prices of switch trees of several sizes; the note states the blocking ratios."""
    quotes = tree_quote(listing, item, _tree_sizes())
    ratios = ", ".join(f"{switch.blocking_ratio:g}:1" for switch in switches_of(rows)[:-1])
    is_single_switch = quotes["note"].str.startswith("1 switch of")
    note = quotes["note"].where(is_single_switch, quotes["note"] + f"; blocking {ratios}")
    prices = quotes.assign(note=note, list_price=quotes["nodes"] * quotes["price_per_node"])
    return prices[prices["price_per_node"].notna()]


def _tree_sizes() -> Integers:
    """Return 8, 12, 16, 24 … up to `LARGEST`: powers of two, and 1.5 times powers of two."""
    powers = 2 ** np.arange(3, int(np.log2(LARGEST)) + 1)
    return np.union1d(powers, powers[:-1] * 3 // 2)


def offer_name(row: Line, labels: Labels) -> str:
    """Name an offer: its interconnect, its item, whether it is computed, and its year."""
    interconnect = labels.interconnect(row["interconnect"], DIRECT)
    year = "" if is_missing(row["year"]) else f"{int(row['year'])}"
    item = "" if is_missing(row["offer"]) or row["offer"] == row["interconnect"] else row["offer"]
    item = short_name(item, DIRECT)
    if row["basis"] == "computed":
        item = item.removeprefix(interconnect).strip()
        item = f"computed ({item})" if item else "computed"
    return ", ".join(filter(None, [interconnect, item, year]))


def compared_size(prices: pd.DataFrame) -> float | None:
    """Return the number of nodes at which page one compares prices.

    Of the sizes at which the offer with the lowest price is listed, it is the size that most offers have.
    None if that offer has no size.
    """
    cheapest = prices.nsmallest(1, "price_per_node")["interconnect"].iloc[0]
    sizes = prices.loc[prices["interconnect"] == cheapest, "nodes"].dropna()
    offers = prices.loc[prices["nodes"].isin(sizes), "nodes"].value_counts()
    return None if offers.empty else float(offers.index[0])


def lowest_price_title(prices: pd.DataFrame, labels: Labels) -> str:
    """Name the offer with the lowest price per node."""
    size = compared_size(prices)
    rows = prices if size is None else prices[prices["nodes"] == size]
    line = rows.nsmallest(1, "price_per_node").iloc[0].to_dict()
    price = priced(line, "price_per_node")
    return f"{offer_name(line, labels)} has the lowest price per node: {price}{_at_size(size)}"


def price_key_figures(prices: pd.DataFrame, labels: Labels) -> list[KeyFigure]:
    """Make a key figure of each offer at the compared size, cheap offers first."""
    size = compared_size(prices)
    if size is None:
        return []
    lines = prices[prices["nodes"] == size].sort_values("price_per_node", kind="stable").to_dict("records")
    label = f"Price per node at {nodes(size)}"
    return [
        key_figure(label, priced(line, "price_per_node"), offer_name(line, labels), kind=str(line["basis"]))
        for line in lines
    ]


def list_price_sentences(prices: pd.DataFrame, labels: Labels) -> list[str]:
    """State the price per node of each offer at its smallest and its largest size."""
    sentences = []
    for _, rows in labels.in_order(prices, "interconnect").groupby(OFFER, dropna=False, sort=False):
        with_size = rows[rows["nodes"].notna()]
        smallest_and_largest = with_size.iloc[[0, -1]] if len(with_size) else rows.head(1)
        prices_at_sizes = [
            f"{priced(row, 'price_per_node')}{_at_size(row['nodes'])}"
            for row in smallest_and_largest.drop_duplicates().to_dict("records")
        ]
        first = rows.iloc[0].to_dict()
        computed = " Nodeworth computed this price from the prices of parts."
        sentences.append(
            f"{offer_name(first, labels)}: the price per node is {listed(prices_at_sizes)}."
            f"{computed if first['basis'] == 'computed' else ''}"
        )
    return sentences


def _at_size(number_of_nodes: float | None) -> str:
    """State to which number of nodes a price applies, or that the source states no number."""
    if number_of_nodes is None or is_missing(number_of_nodes):
        return " (number of nodes not stated)"
    return f" at {nodes(number_of_nodes)}"
