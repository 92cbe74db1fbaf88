"""Sentences about what interconnects cost and whether they pay.

Amounts are in the currency and year of their prices. The sentences name prices that are interpolated or of
another year.
"""

from __future__ import annotations

import math

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.formats import counted, listed
from analysis.presentation.labels import Labels
from analysis.runs.frames import BASELINE, Line, interval, is_missing
from analysis.runs.kinds import side
from analysis.topics.money.exchange import UNTESTED
from analysis.topics.prices.books import INTERPOLATED, NO_NEED

VERDICTS = ("pays", "undecided", "does not pay", *UNTESTED)
UNSURE = ". The differences are not tested"
_VERBS = {"undecided": "is undecided"}
"""Words of a sentence for verdicts that are not verbs."""
CHOICE = ["compared_kinds", "budget", "site"]
"""Columns that identify one choice of the table ``purchase``."""


def money(value: float) -> str:
    """Write an amount of money without its currency: without decimals from 100 on, else with three digits."""
    return formats.whole(value) if is_missing(value) or abs(value) >= 100 else formats.number(value)


def amount(row: Line, column: str) -> str:
    """Write an amount with its interval or range, without its currency."""
    value, low, high = interval(row, column)
    text = money(value)
    if is_missing(value) or is_missing(low) or is_missing(high) or low == high:
        return text
    return f"{text} [at most {money(high)}]" if low == -math.inf else f"{text} [{money(low)}, {money(high)}]"


def priced(row: Line, column: str) -> str:
    """Write an amount with its interval or range, and its currency."""
    return f"{amount(row, column)}{formats.SPACE}{row['currency']}"


def node_price(row: Line) -> str:
    """Write the study's price of a node with its currency."""
    return f"{money(row['node_price'])}{formats.SPACE}{row['currency']}"


def nodes(count: float) -> str:
    """Write a number of nodes."""
    return counted(int(count), "node")


def comparable_size(cost: pd.DataFrame) -> int:
    """Choose the number of nodes at which sentences compare prices.

    It is the largest number among those at which most interconnects have a price. Sizes that need no
    interconnect count only if there are no others.
    """
    priced_rows = cost[cost["cluster_price"].notna()]
    rows = cost if priced_rows.empty else priced_rows
    with_interconnect = rows[rows["basis"] != NO_NEED]
    rows = rows if with_interconnect.empty else with_interconnect
    interconnects = rows.groupby("nodes")["interconnect"].nunique()
    return int(interconnects[interconnects == interconnects.max()].index.max())


def link_prices(cost: pd.DataFrame, labels: Labels, most: int) -> list[str]:
    """State the price of a node's share of each interconnect.

    The share depends on the number of nodes, since few nodes may share a switch with many ports. The clauses
    therefore state it for the smallest and the largest number with a price. For more than `most`
    interconnects, a single clause states the range over all interconnects and sizes.
    """
    rows = cost[cost["interconnect_price_per_node"].notna() & (cost["basis"] != NO_NEED)]
    if rows.empty:
        return []
    unit = f"{formats.SPACE}{rows['currency'].iloc[0]} per node"
    sizes = formats.spanned(formats.whole(rows["nodes"].min()), formats.whole(rows["nodes"].max()))
    ends = rows.groupby("interconnect", sort=False)["interconnect_price_per_node"].agg(["min", "max"])
    if len(ends) > most:
        prices = formats.spanned(money(ends["min"].min()), money(ends["max"].max()))
        return [f"an interconnect costs {prices}{unit}, in clusters of {sizes} nodes"]
    clauses = []
    for name, low, high in ends.sort_values(["min", "max"]).itertuples():
        clause = f"{labels.interconnect(name)} costs {money(low)}{unit}"
        if low != high:
            by_size = rows[rows["interconnect"] == name].sort_values("nodes")
            clause = f"{labels.interconnect(name)} costs " + " and ".join(
                f"{money(line['interconnect_price_per_node'])}{unit} in a cluster of {nodes(line['nodes'])}"
                for line in (by_size.iloc[0], by_size.iloc[-1])
            )
        clauses.append(clause)
    return clauses


def unpriced_sentences(cost: pd.DataFrame, labels: Labels) -> list[str]:
    """State the reasons why interconnects have no price, from the whole table ``cost``."""
    rows = cost[(cost["nodes"] == comparable_size(cost)) & cost["cluster_price"].isna()]
    return [
        f"{listed(unpriced['interconnect'].map(labels.interconnect))}: {reason}."
        for reason, unpriced in rows.groupby("note", sort=False)
    ]


def price_sentences(cost: pd.DataFrame, labels: Labels) -> list[str]:
    """State years and sources of prices, and list interpolated prices, from the whole table ``cost``."""
    bought = cost[cost["cluster_price"].notna() & (cost["basis"] != NO_NEED)]
    node_year = int(cost["node_year"].iloc[0])
    sentences = [f"All prices are of {node_year}."]
    if set(cost["year"]) != {node_year}:
        by_year = [
            f"{listed(labels.interconnect(name) for name in rows['interconnect'].unique())} ({year})"
            for year, rows in cost.groupby("year")
        ]
        sentences = [
            f"Prices are of different years, not adjusted for inflation: a node ({node_year}), "
            f"{'; '.join(by_year)}."
        ]
    interpolated = bought[bought["basis"] == INTERPOLATED]
    if len(interpolated):
        sizes = [
            f"{labels.interconnect(name)} at {listed(map(formats.whole, rows['nodes']))}{formats.SPACE}nodes"
            for name, rows in interpolated.groupby("interconnect", sort=False)
        ]
        sentences.append(f"These prices are interpolated between published sizes: {'; '.join(sizes)}.")
    sources = list(dict.fromkeys(bought["source"].dropna().str.split(", section").str[0]))
    if sources:
        sentences.append(f"Source of the prices of interconnects: {'; '.join(sources)}.")
    return sentences


def at_highest_target(break_even: pd.DataFrame) -> pd.DataFrame:
    """Select the rows at the baselines' highest speedups, at the lowest oversubscription of each case."""
    lowest = break_even.groupby("case")["oversubscription"].transform("min")
    rows = break_even[break_even["oversubscription"] == lowest]
    keys = ["case", "baseline_interconnect", "kind", "oversubscription"]
    return rows[rows["target_speedup"] == rows.groupby(keys)["target_speedup"].transform("max")]


def verdict_sentences(break_even: pd.DataFrame, labels: Labels) -> list[str]:
    """Count the cases in which each interconnect pays at the study's price of a node.

    Parameters
    ----------
    break_even : DataFrame
        Rows of all cases that `at_highest_target` selects.
    """
    names_by_verdicts: dict[tuple[str, str], list[str]] = {}
    ordered = labels.in_order(break_even, "interconnect")
    keys = [*BASELINE, "interconnect"]
    for _, rows in ordered.groupby(keys, sort=False, dropna=False):
        counts = rows["verdict"].value_counts()
        verdicts = [
            f"{_VERBS.get(verdict, verdict)} in {_of_all(int(counts[verdict]), len(rows))}"
            for verdict in VERDICTS
            if verdict in counts
        ]
        if unknown := int(rows["verdict"].isna().sum()):
            verdicts.append(f"cannot be judged in {_of_all(unknown, len(rows))}")
        name, baseline = pair_names(rows.iloc[0].to_dict(), labels)
        names_by_verdicts.setdefault((baseline, listed(verdicts)), []).append(name)
    return [
        f"{_each(names)} instead of {baseline} {verdicts}."
        for (baseline, verdicts), names in names_by_verdicts.items()
    ]


def _of_all(number: int, total: int) -> str:
    """Count cases, and state the number of all cases if it is larger."""
    cases = counted(total, "case")
    return cases if number == total else f"{formats.whole(number)} of {cases}"


def _each(names: list[str]) -> str:
    """List names as the subject of a sentence with a verb in the singular."""
    return names[0] if len(names) == 1 else f"Each of {listed(names)}"


def pair_names(row: Line, labels: Labels) -> tuple[str, str]:
    """Name an interconnect and its baseline, each with its processes per node if they vary."""
    placement = row["processes_per_node"]
    return (
        labels.placed(row["interconnect"], side(row["kind"], 1), placement),
        labels.placed(row["baseline_interconnect"], side(row["kind"], 0), placement),
    )


def limits(row: Line) -> str:
    """Write the budget of a row of the table ``purchase``, with the limit of its power if it has one."""
    power, budget = row["kilowatts_limit"], f"{money(row['budget'])}{formats.SPACE}{row['currency']}"
    return budget if is_missing(power) else f"{budget} and {formats.exact(power)}{formats.THIN}kW"


def purchase_sentences(purchase: pd.DataFrame, labels: Labels) -> list[str]:
    """Recommend an interconnect and its number of nodes at each budget, from the whole table."""
    several_kinds = purchase["compared_kinds"].nunique() > 1
    sentences = [
        _purchase_sentence(rows, labels, several_kinds)
        for _, rows in purchase.groupby(CHOICE, sort=False, dropna=False)
    ]
    return list(dict.fromkeys(sentences))


def _purchase_sentence(rows: pd.DataFrame, labels: Labels, several_kinds: bool) -> str:
    """Recommend a cluster within a budget, and name the clusters that may be as fast."""
    first = rows.iloc[0].to_dict()
    kinds = f" ({listed(str(first['compared_kinds']).split('/'))})" if several_kinds else ""
    budget = f"For at most {limits(first)}{kinds}"
    is_best = rows["best"].fillna(False)
    if not is_best.any():
        return f"{budget}, you cannot buy a cluster that was run."
    row = rows[is_best].iloc[0].to_dict()
    name = labels.interconnect(row["interconnect"], row["kind"])
    mean = formats.bracketed(*interval(row, "mean_speedup"))
    text = f"{budget}, buy {nodes(row['nodes'])} with {name}"
    text += f" for {priced(row, 'cluster_price')}. The mean {labels.speedup} is {mean}"
    rivals = rows[rows["may_be_best"].fillna(False) & ~is_best]
    names = [
        f"{labels.interconnect(rival['interconnect'], rival['kind'])} on {nodes(rival['nodes'])}"
        for rival in labels.lines(rivals, "interconnect")
    ]
    if names:
        text += f". {listed(names)} may be as fast"
    if is_missing(row["may_be_best"]):
        text += UNSURE
    if not is_missing(row["note"]):
        text += f". Note: {row['note']}"
    return f"{text}."
