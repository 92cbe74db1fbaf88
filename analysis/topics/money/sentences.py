"""What interconnects cost and whether they pay, in plain sentences with their numbers.

Amounts are in the currency and year of their prices; the sentences name prices that are interpolated or of
another year.
"""

from __future__ import annotations

import math

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.formats import counted, listed
from analysis.presentation.labels import DIRECT, Labels, short_name
from analysis.runs.frames import Line, interval, is_missing
from analysis.runs.kinds import side
from analysis.topics.money.exchange import UNTESTED
from analysis.topics.prices.books import INTERPOLATED, NO_NEED

VERDICTS = ("pays", "undecided", "does not pay", *UNTESTED)
UNSURE = ", by estimates whose differences are not tested"
AGAINST = ["baseline_interconnect", "kind", "processes_per_node"]  # what tells one baseline from another


def money(value: float) -> str:
    """Write an amount of money without its currency: to the unit from 100 on, else to three digits."""
    return formats.whole(value) if is_missing(value) or abs(value) >= 100 else formats.number(value)


def amount(row: Line, column: str) -> str:
    """Write an amount with its interval or range, without its currency."""
    value, low, high = interval(row, column)
    text = money(value)
    if not is_missing(value) and not (is_missing(low) or is_missing(high) or low == high):
        text += f" [at most {money(high)}]" if low == -math.inf else f" [{money(low)}, {money(high)}]"
    return text


def _priced(row: Line, column: str) -> str:
    return f"{amount(row, column)}{formats.SPACE}{row['currency']}"


def node_price(row: Line) -> str:
    """Write the study's price of a node with its currency."""
    return f"{money(row['node_price'])}{formats.SPACE}{row['currency']}"


def nodes(count: float) -> str:
    """Write a number of nodes."""
    return counted(int(count), "node")


def comparable_size(cost: pd.DataFrame) -> int:
    """Choose the largest number of nodes at which most interconnects have a price, above one if it can."""
    priced = cost[cost["cluster_price"].notna() | cost["cluster_price"].isna().all()]
    bought = priced[priced["basis"] != NO_NEED]
    having = (priced if bought.empty else bought).groupby("nodes")["interconnect"].nunique()
    return int(having[having == having.max()].index.max())


def link_prices(cost: pd.DataFrame, labels: Labels, most: int) -> list[str]:
    """Say what a node's share of each interconnect costs, or of how many what where they are over `most`.

    Few nodes share a switch that is priced for more: so each has a range over the sizes that have a price.
    """
    rows = cost[cost["interconnect_price_per_node"].notna() & (cost["basis"] != NO_NEED)]
    if rows.empty:
        return []
    ends = rows.groupby("interconnect", sort=False)["interconnect_price_per_node"].agg(["min", "max"])
    prices = {
        labels.interconnect(name): formats.spanned(money(low), money(high))
        for name, low, high in ends.sort_values(["min", "max"]).itertuples()
    }
    said = listed(f"{price} with {name}" for name, price in prices.items())
    if len(prices) > most:
        said = formats.spanned(money(ends["min"].min()), money(ends["max"].max()))
    sizes = formats.spanned(*(formats.whole(count) for count in (rows["nodes"].min(), rows["nodes"].max())))
    return [f"the link of a node costs ({rows['currency'].iloc[0]}, at {sizes} nodes) {said}"]


def unpriced_sentences(cost: pd.DataFrame, labels: Labels) -> list[str]:
    """Say why interconnects have no price. Takes the whole table ``cost``."""
    rows = cost[(cost["nodes"] == comparable_size(cost)) & cost["cluster_price"].isna()]
    return [
        f"{listed(own['interconnect'].map(labels.interconnect))}: {why}."
        for why, own in rows.groupby("note", sort=False)
    ]


def price_sentences(cost: pd.DataFrame, labels: Labels) -> list[str]:
    """Say of which years prices are, which are interpolated, and where they come from.

    Takes the whole table ``cost``.
    """
    bought = cost[cost["cluster_price"].notna() & (cost["basis"] != NO_NEED)]
    node_year = int(cost["node_year"].iloc[0])
    years = {int(year) for year in cost["year"].unique()}
    said = [f"All prices are of {node_year}."]
    if years != {node_year}:
        of_year = [
            f"{listed(labels.interconnect(name) for name in rows['interconnect'].unique())} of {year}"
            for year, rows in cost.groupby("year")
        ]
        said = [
            f"Prices are of different years and not adjusted: the node's of {node_year}, that of "
            f"{'; '.join(of_year)}."
        ]
    between = bought[bought["basis"] == INTERPOLATED]
    if len(between):
        sizes = [
            f"{labels.interconnect(name)} at {listed(map(formats.whole, rows['nodes']))}{formats.SPACE}nodes"
            for name, rows in between.groupby("interconnect", sort=False)
        ]
        said.append(f"Interpolated between published sizes: {'; '.join(sizes)}.")
    sources = list(dict.fromkeys(bought["source"].dropna().str.split(", section").str[0]))
    if sources:
        said.append(f"Prices of interconnects: {'; '.join(sources)}.")
    return said


OFFER = ["interconnect", "offer", "basis", "year", "source"]
"""Columns that tell one offer of the table ``prices`` from another."""


def offer_name(row: Line, labels: Labels) -> str:
    """Name an offer of the table ``prices``: interconnect, what of it, whether computed, and the year."""
    owner = labels.interconnect(row["interconnect"], DIRECT)
    year = "" if is_missing(row["year"]) else f"{int(row['year'])}"
    offer = "" if is_missing(row["offer"]) or row["offer"] == row["interconnect"] else row["offer"]
    offer = short_name(offer, DIRECT)
    if row["basis"] == "computed":
        offer = f"computed ({offer})"
    return ", ".join(filter(None, [owner, offer, year]))


def list_price_sentences(prices: pd.DataFrame, labels: Labels) -> list[str]:
    """Say of each offer of the table ``prices`` what a node costs at its smallest and largest size."""
    said = []
    for _, rows in labels.in_order(prices, "interconnect").groupby(OFFER, dropna=False, sort=False):
        sized = rows.dropna(subset="nodes")
        ends = dict.fromkeys(sized.index[[0, -1]] if len(sized) else rows.index[:1])
        at = [
            _priced(row, "price_per_node")
            + (" at any size" if is_missing(row["nodes"]) else f" at {nodes(row['nodes'])}")
            for row in rows.loc[list(ends)].to_dict("records")
        ]
        said.append(f"{offer_name(rows.iloc[0], labels)}: a node's share costs {listed(at)}.")
    return said


def at_highest_target(break_even: pd.DataFrame) -> pd.DataFrame:
    """Rows of the baselines' highest speedups, at the lowest oversubscription level of each case."""
    lowest = break_even.groupby("case")["oversubscription"].transform("min")
    rows = break_even[break_even["oversubscription"] == lowest]
    keys = ["case", "baseline_interconnect", "kind", "oversubscription"]
    return rows[rows["target_speedup"] == rows.groupby(keys)["target_speedup"].transform("max")]


def verdict_sentences(break_even: pd.DataFrame, labels: Labels) -> list[str]:
    """Count over all cases where each interconnect pays at the study's price of a node.

    Takes the rows of all cases that `at_highest_target` gives.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    judged = labels.in_order(break_even, "interconnect")
    keys = [*AGAINST, "interconnect"]
    for (baseline, kind, placement, interconnect), rows in judged.groupby(keys, sort=False, dropna=False):
        counts = rows["verdict"].value_counts()
        found = [f"{word} in {counted(counts[word], 'case')}" for word in VERDICTS if word in counts]
        if unknown := int(rows["verdict"].isna().sum()):
            found.append(f"cannot be judged in {counted(unknown, 'case')}")
        against = labels.placed(baseline, side(kind, 0), placement)
        names = alike.setdefault((against, listed(found)), [])
        names.append(labels.placed(interconnect, side(kind, 1), placement))
    return [f"{listed(names)} against {against}: {verdicts}." for (against, verdicts), names in alike.items()]


CHOICE = ["compared_kinds", "budget", "site"]
"""Columns that tell one choice of the table ``purchase`` from another."""


def limits(row: Line) -> str:
    """Write what a row of the table ``purchase`` may cost, and may draw where that is limited."""
    power, budget = row["kilowatts_limit"], f"{money(row['budget'])}{formats.SPACE}{row['currency']}"
    return budget if is_missing(power) else f"{budget} and {formats.exact(power)}{formats.THIN}kW"


def purchase_sentences(purchase: pd.DataFrame, labels: Labels) -> list[str]:
    """Say which interconnect, and how many nodes of it, to buy at each budget. Takes the whole table."""
    said = []
    for (kinds, *_), rows in purchase.groupby(CHOICE, sort=False, dropna=False):
        which = f", of the {listed(str(kinds).split('/'))} ones," * (purchase["compared_kinds"].nunique() > 1)
        start = f"For {limits(rows.iloc[0])} at most"
        best = rows[rows["best"].fillna(False)]
        if best.empty:
            said.append(f"{start}{which} nothing that was run can be bought.")
            continue
        row = best.iloc[0]
        name = labels.interconnect(row["interconnect"], row["kind"])
        text = f"{start}, buy{which} {nodes(row['nodes'])} with {name}"
        mean = formats.bracketed(*interval(row, "mean_speedup"))
        text += f" for {_priced(row, 'cluster_price')}: mean {labels.speedup} {mean}"
        alike = rows[rows["may_be_best"].fillna(False) & ~rows["best"].fillna(False)]
        names = [
            f"{labels.interconnect(other['interconnect'], other['kind'])} on {nodes(other['nodes'])}"
            for other in labels.lines(alike, "interconnect")
        ]
        text += f"; {listed(names)} cannot be told apart from it" if names else ""
        text += UNSURE if is_missing(row["may_be_best"]) else ""
        text += "" if is_missing(row["note"]) else f" (note: {row['note']})"
        said.append(f"{text}.")
    return list(dict.fromkeys(said))
