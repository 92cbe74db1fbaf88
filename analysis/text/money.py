"""What interconnects cost and whether they pay, in plain sentences with their numbers.

Amounts are in the currency and year of their prices; the sentences name prices that are interpolated or of
another year.
"""

from __future__ import annotations

import pandas as pd

from analysis.decisions.prices import INTERPOLATED, NO_NEED
from analysis.runs.kinds import side
from analysis.tables.missing import Line, interval, is_missing
from analysis.text import formats
from analysis.text.formats import counted, listed
from analysis.text.labels import DIRECT, Labels, short_name
from analysis.text.scaling import and_level, processes

VERDICTS = ("pays", "undecided", "does not pay")
AGAINST = ["baseline_interconnect", "kind", "processes_per_node"]  # what tells one baseline from another


def money(value: float) -> str:
    """Write an amount of money without its currency: to the unit from 100 on, else to three digits."""
    return formats.whole(value) if is_missing(value) or abs(value) >= 100 else formats.number(value)


def amount(row: Line, column: str) -> str:
    """Write an amount with its interval or range, without its currency."""
    value, low, high = interval(row, column)
    text = money(value)
    if not is_missing(value) and not (is_missing(low) or is_missing(high) or low == high):
        text += f" [{money(low)}, {money(high)}]"
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
    priced = cost[cost["cluster_price"].notna()]
    bought = priced[priced["basis"] != NO_NEED]
    having = (priced if bought.empty else bought).groupby("nodes")["interconnect"].nunique()
    return int(having[having == having.max()].index.max())


def link_prices(cost: pd.DataFrame, labels: Labels, most: int) -> list[str]:
    """Say what a node's share of each interconnect costs, or of how many what where they are over `most`."""
    rows = cost[(cost["nodes"] == comparable_size(cost)) & (cost["basis"] != NO_NEED)]
    rows = rows[rows["interconnect_price_per_node"].notna()].sort_values("interconnect_price_per_node")
    if rows.empty:
        return []
    prices = rows["interconnect_price_per_node"].map(money).tolist()
    names = rows["interconnect"].map(labels.interconnect)
    each = [f"{price} with {name}" for price, name in zip(prices, names, strict=True)]
    said = listed(each) if len(each) <= most else f"{prices[0]} to {prices[-1]}"
    unit = f"{rows['currency'].iloc[0]}, at {nodes(rows['nodes'].iloc[0])}"
    return [f"the link of a node costs ({unit}) {said}"]


def cost_sentences(cost: pd.DataFrame, labels: Labels) -> list[str]:
    """Say what a cluster costs with each interconnect, and which share of it the interconnect is.

    Takes the whole table ``cost``.
    """
    size = comparable_size(cost)
    rows = cost[cost["nodes"] == size]
    priced = rows[rows["cluster_price"].notna()].sort_values("cluster_price", kind="stable")
    prices = [
        f"{amount(row, 'cluster_price')} with {labels.interconnect(row['interconnect'])} "
        f"({formats.percent(row['interconnect_percent'])})"
        for row in priced.to_dict("records")
    ]
    first = rows.iloc[0]
    said = [
        f"At {node_price(first)} a node, a cluster of {nodes(size)} costs, in {first['currency']} and with "
        f"the interconnect's share of it: {'; '.join(prices)}."
    ]
    lacking: dict[str, list[str]] = {}
    for row in rows[rows["cluster_price"].isna()].to_dict("records"):
        lacking.setdefault(str(row["note"]), []).append(labels.interconnect(row["interconnect"]))
    said += [f"{listed(names)}: {why}." for why, names in lacking.items()]
    return said


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


def value_sentences(value: pd.DataFrame, labels: Labels) -> list[str]:
    """Say which point of a case has the lowest price per unit of speedup, and what the fastest costs."""
    said = []
    priced = value[value["cluster_price"].notna()]
    for kinds, rows in priced[~priced["serial"].astype(bool)].groupby("compared_kinds", sort=False):
        cheapest = rows.loc[rows["price_per_speedup"].idxmin()]
        fastest = rows.loc[rows["speedup"].idxmax()]
        which = f" of the {listed(str(kinds).split('/'))} ones" * (value["compared_kinds"].nunique() > 1)
        text = (
            f"The lowest price per unit of {labels.speedup}{which} is "
            f"{_priced(cheapest, 'price_per_speedup')}, with {_point(cheapest, labels)}"
        )
        if fastest.name == cheapest.name:
            text += ", which is the fastest too"
        else:
            price = _priced(fastest, "price_per_speedup")
            text += f"; the fastest, {_point(fastest, labels)}, costs {price} per unit"
        serial = priced[priced["serial"].astype(bool) & (priced["compared_kinds"] == kinds)]
        if len(serial):
            text += f"; the serial run on one node, {_priced(serial.iloc[0], 'price_per_speedup')}"
        said.append(f"{text}.")
    return said


def _point(row: pd.Series, labels: Labels) -> str:
    level = f" at oversubscription {row['oversubscription']}" if row["oversubscription"] > 1 else ""
    return f"{processes(row['processes'])}{level} on {nodes(row['nodes'])} over {labels.curve(row)}"


def at_highest_target(break_even: pd.DataFrame) -> pd.DataFrame:
    """Rows of the baselines' highest speedups, at the lowest oversubscription level of each case."""
    lowest = break_even.groupby("case")["oversubscription"].transform("min")
    rows = break_even[break_even["oversubscription"] == lowest]
    keys = ["case", "baseline_interconnect", "kind", "oversubscription"]
    return rows[rows["target_speedup"] == rows.groupby(keys)["target_speedup"].transform("max")]


def break_even_sentences(break_even: pd.DataFrame, labels: Labels) -> list[str]:
    """Say at which price of a node each interconnect pays, and whether it does at the study's.

    Takes the rows of one case that `at_highest_target` gives.
    """
    said = []
    for (baseline, kind, placement), rows in break_even.groupby(AGAINST, sort=False, dropna=False):
        first = rows.iloc[0]
        start = f"For the {labels.speedup} of {formats.number(first['target_speedup'])}"
        start += f" that {labels.placed(baseline, side(kind, 0), placement)} has"
        start += "" if is_missing(first["baseline_nodes"]) else f" on {nodes(first['baseline_nodes'])}"
        alike: dict[str, list[str]] = {}
        for row in labels.lines(rows, "interconnect"):
            alike.setdefault(_pays(row), []).append(labels.compared(row))
        verdicts = [f"{'each of ' * (len(names) > 1)}{listed(names)} {text}" for text, names in alike.items()]
        level = and_level(break_even, first["oversubscription"], first["oversubscription"] > 1)
        said.append(f"{start}{level}: {'; '.join(verdicts)}.")
    return said


def _pays(row: Line) -> str:
    """Say from which price of a node it pays, and whether it does at the study's."""
    if is_missing(row["pays"]):
        return f"cannot be judged ({row['note']})"
    even = _priced(row, "break_even_node_price")
    verdict = "that is undecided" if row["verdict"] == "undecided" else f"it {row['verdict']}"
    alone = is_missing(row["saving_low"]) and row["verdict"] != "undecided"
    at = f"at {node_price(row)} {verdict}{', by single figures' * alone}"
    text = {
        "above": f"pays from {even} a node on, and {at}",
        "below": f"pays up to {even} a node, and {at}",
        "always": "pays at any price of a node",
        "never": f"pays at no price of a node ({_why_never(row)})",
    }[row["pays"]]
    unsure = row["pays"] in ("always", "never") and row["verdict"] == "undecided"
    return f"{text} by the point estimates, and {at}" if unsure else text


def _why_never(row: Line) -> str:
    if is_missing(row["equivalent_nodes"]):
        return "the speedup is not attained"
    saved = row["baseline_nodes"] - row["equivalent_nodes"]
    return f"{'as many' if saved == 0 else 'more'} nodes, and no cheaper"


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


def purchase_sentences(purchase: pd.DataFrame, labels: Labels) -> list[str]:
    """Say which interconnect, and how many nodes of it, to buy at each budget. Takes the whole table."""
    said = []
    for (kinds, budget), rows in purchase.groupby(["compared_kinds", "budget"], sort=False):
        which = f", of the {listed(str(kinds).split('/'))} ones," * (purchase["compared_kinds"].nunique() > 1)
        limit = rows["kilowatts_limit"].iloc[0]
        power = "" if is_missing(limit) else f" and {formats.number(limit)}{formats.THIN}kW"
        start = f"For {money(budget)}{formats.SPACE}{rows['currency'].iloc[0]}{power} at most"
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
        text += "" if is_missing(row["note"]) else f" (price: {row['note']})"
        said.append(f"{text}.")
    return said
