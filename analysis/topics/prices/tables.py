"""What interconnects cost by size: published prices, price books and switch trees in one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.runs.columns import (
    COUNT,
    MONEY,
    NOTE,
    TEXT,
    empty,
    table_schemas,
    validated,
    with_interval,
)
from analysis.topics.money.market import PricedItem
from analysis.topics.prices.books import rows_of
from analysis.topics.prices.parts import switches_of
from analysis.topics.prices.switches import tree_quote

PRICES = table_schemas(
    prices=dict(
        interconnect=TEXT,
        offer=NOTE,
        nodes=COUNT,
        currency=TEXT,
        year=COUNT,
        **with_interval("price_per_node", MONEY),
        list_price=MONEY,
        basis=TEXT,
        source=NOTE,
        note=NOTE,
    ),
)

LARGEST = 16384
"""Trees are priced up to this size, or to the largest that their switches allow."""


def make_prices(published: Mapping[str, pd.DataFrame], offers: Mapping[str, PricedItem]) -> pd.DataFrame:
    """Gather prices of interconnects by size.

    Parameters
    ----------
    published : mapping of str to DataFrame
        As `analysis.importers.read_published` gives it; read are ``list_prices`` and ``node_prices``.
    offers : mapping of interconnect to PricedItem
        Of a price book, the ends of each published range of sizes are listed; of a part list, trees of 8, 12,
        16, 24 … nodes.

    Returns
    -------
    DataFrame
        Table ``prices``, one row a price, sizes rising within what is offered.
    """
    tables = [*_published(published), *_offered(offers)]
    if not tables:
        return empty(PRICES["prices"])
    table = pd.concat([rows.astype(object) for rows in tables], ignore_index=True)
    return validated(PRICES["prices"], table.infer_objects())


def _published(published: Mapping[str, pd.DataFrame]) -> Iterator[pd.DataFrame]:
    if (rows := published.get("list_prices")) is not None:
        listed = rows.assign(offer=rows["switching"], nodes=rows["ports"], note=None)
        yield _in_dollars(
            listed, price_per_node=rows["price_per_port_usd"], list_price=rows["list_price_usd"]
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
    made = rows.assign(basis="published", currency="USD", **prices)
    return made.sort_values(["interconnect", "offer", "nodes"], kind="stable")


def _offered(offers: Mapping[str, PricedItem]) -> Iterator[pd.DataFrame]:
    for interconnect, (listing, item) in offers.items():
        rows = rows_of(listing, item)
        made = _of_tree(listing, item, rows) if "part" in listing else _of_book(rows)
        yield made.assign(interconnect=interconnect, offer=item)


def _of_book(rows: pd.DataFrame) -> pd.DataFrame:
    ends = [rows.assign(nodes=rows[end]) for end in ("nodes_from", "nodes_to")]
    both = pd.concat(ends).dropna(subset="nodes").drop_duplicates("nodes").sort_values("nodes")
    renamed = both.rename(columns=lambda name: name.replace("price", "price_per_node"))
    return renamed.assign(basis="published", list_price=both["nodes"].astype(float) * both["price"])


def _of_tree(listing: pd.DataFrame, item: str, rows: pd.DataFrame) -> pd.DataFrame:
    quotes = tree_quote(listing, item, _sizes())
    ratios = [switch.blocking_ratio for switch in switches_of(rows)[:-1]]
    shape = ", ".join(f"{ratio:g}:1" for ratio in ratios)
    single = quotes["note"].str.startswith("1 switch of")
    note = quotes["note"].where(single, quotes["note"] + f"; blocking {shape}")
    priced = quotes.assign(note=note, list_price=quotes["nodes"] * quotes["price_per_node"])
    return priced[priced["price_per_node"].notna()]


def _sizes() -> NDArray[np.int64]:
    """8, 12, 16, 24 and so on to `LARGEST`: switches have so many ports, or twice or three times as many."""
    powers = 2 ** np.arange(3, int(np.log2(LARGEST)) + 1)
    return np.union1d(powers, powers[:-1] * 3 // 2)
