"""What clusters cost over their years, and which input decides, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.formats import counted, listed
from analysis.presentation.labels import Labels
from analysis.runs.frames import Line, is_missing
from analysis.runs.kinds import side
from analysis.runs.lifetime import Assumed, Lifetime
from analysis.runs.settings import NodePrice
from analysis.topics.money.lifetime import NODE_PRICE
from analysis.topics.money.lifetime_pairs import PAIR, RUNS, mean_saving
from analysis.topics.money.sentences import AGAINST, amount, nodes

_NAMES = {
    "years": "years",
    "utilisation": "utilisation",
    "node_idle_watts": "power of an idle node",
    "node_loaded_watts": "power of a computing node",
    "pue": "PUE",
    "energy_price": "price of energy",
    "maintenance_percent": "maintenance",
    "maintenance_per_node": "maintenance",
    "licence_per_process": "licence a process",
    "licence_per_core": "licence a core",
    "CO2_kg_per_kWh": "CO₂ of a kilowatt hour",
    NODE_PRICE: "price of a node",
    RUNS: "measured times",
}
_UNITS = {
    NODE_PRICE: "{}",
    "node_idle_watts": "W",
    "node_loaded_watts": "W",
    "idle_watts": "W",
    "loaded_watts": "W",
    "energy_price": "{}/kWh",
    "maintenance_percent": "% a year",
    "maintenance_per_node": "{} a year",
    "licence_per_process": "{} a year",
    "licence_per_core": "{} a year",
    "CO2_kg_per_kWh": "kg",
}
"""With the currency in the place of braces."""
_OF_AN_INTERCONNECT = {
    "price": "price of {}",
    "idle_watts": "power of an idle port of {}",
    "loaded_watts": "power of a loaded port of {}",
}


def input_name(name: str, labels: Labels) -> str:
    """Name an input as readers see it."""
    interconnect, _, way = name.rpartition(": ")
    return (
        _OF_AN_INTERCONNECT[way].format(labels.interconnect(interconnect)) if interconnect else _NAMES[name]
    )


def input_value(name: str, one: Assumed, currency: str) -> str:
    """Write an input with its range and its unit."""
    unit = _UNITS.get(name.rpartition(": ")[2], "").format(currency)
    text = formats.exact(one.value)
    if one.range is not None:
        text += f" [{', '.join(map(formats.exact, one.range))}]"
    return f"{text}{formats.SPACE}{unit}" if unit else text


def assumed_rows(lifetime: Lifetime, node: NodePrice, labels: Labels) -> Iterator[tuple[str, str, str, str]]:
    """Name, value, year and source of each input but the prices of interconnects."""
    for name, one in ((NODE_PRICE, node.assumed), *lifetime.assumed()):
        year = "" if one.year is None else str(one.year)
        value = input_value(name, one, node.currency)
        said = input_name(name, labels)
        yield said[0].upper() + said[1:], value, year, one.source or "not said"


def counted_sentence(lifetime: Lifetime) -> str:
    """Say what the whole cost is made of, and what is in no price."""
    parts = {
        "energy": bool(lifetime.energy_price),
        "maintenance": bool(lifetime.maintenance_percent or lifetime.maintenance_per_node),
        "licences": lifetime.licensed,
    }
    inside = ["the purchase", *(name for name, there in parts.items() if there)]
    outside = [name for name, there in parts.items() if not there]
    text = f"The whole cost is that of {listed(inside)}"
    text += (
        f"; {listed([*outside, 'space', 'staff'])} are not in it" if outside else "; space and staff are not"
    )
    if lifetime.energy_price and not lifetime.ports:
        text += ". Energy is that of nodes alone, as no power of ports is given"
    return f"{text}."


PARTS = ("purchase", "energy", "maintenance", "licences")


def whole_cost_sentences(cost: pd.DataFrame, labels: Labels) -> list[str]:
    """Say what a cluster costs over the years with each interconnect that has a price, and what it is for.

    Takes the rows of one number of nodes.
    """
    known = cost[cost["lifetime_cost"].notna()].sort_values("lifetime_cost", kind="stable")
    costs = [
        f"{amount(row, 'lifetime_cost')} with {labels.interconnect(row['interconnect'])} ({_made_of(row)})"
        for row in known.to_dict("records")
    ]
    if not costs:
        return []
    first = cost.iloc[0]
    years = "year" if first["lifetime_years"] == 1 else "years"
    span = f"{formats.exact(first['lifetime_years'])}{formats.SPACE}{years}"
    ranges = " and with the range of all inputs together" if known["lifetime_cost_low"].notna().any() else ""
    size = nodes(first["nodes"])
    return [f"Over {span} a cluster of {size} costs, in {first['currency']}{ranges}: {'; '.join(costs)}."]


def _made_of(row: Line) -> str:
    parts = [
        f"{formats.percent(row[f'{part}_percent'])} {part}" for part in PARTS if row[f"{part}_percent"] > 0
    ]
    if not is_missing(row["kilowatts"]):
        parts.append(f"{formats.number(row['kilowatts'])}{formats.THIN}kW when all compute")
    if not is_missing(row["lifetime_CO2_kg"]):
        parts.append(f"{formats.number(row['lifetime_CO2_kg'] / 1000)}{formats.THIN}t of CO₂")
    return listed(parts)


def saving_sentences(highest: pd.DataFrame, means: pd.DataFrame, labels: Labels) -> list[str]:
    """Say what each interconnect saves over the years, where it pays, and which input decides.

    Parameters
    ----------
    highest : DataFrame
        Rows of ``break_even`` that `analysis.topics.money.sentences.at_highest_target` gives, of all cases.
    means : DataFrame
        As `analysis.topics.money.lifetime_pairs.mean_tornado` gives it; may have no rows.
    """
    said = []
    ordered = labels.in_order(highest, "interconnect")
    keys = [*AGAINST, "interconnect"]
    for (baseline, kind, placement, interconnect), rows in ordered.groupby(keys, sort=False, dropna=False):
        percents = rows["lifetime_saving_percent"].dropna()
        name = labels.placed(interconnect, side(kind, 1), placement)
        text = f"{name} instead of {labels.placed(baseline, side(kind, 0), placement)}, at equal speed"
        if len(percents):
            saved, mean = mean_saving(percents), f" in the geometric mean of {counted(len(percents), 'case')}"
            more = "" if saved > 0 else " more"
            text += f", {'costs' if more else 'saves'} {formats.percent(abs(saved))}{more}"
            text += mean if len(rows) > 1 else ""
        of_pair = means[(means[PAIR] == [baseline, kind, interconnect]).all(axis=1)]
        said.append(f"{text}: it {_verdicts(rows['lifetime_verdict'])}.{_decision(of_pair, labels)}")
    return said


def _verdicts(verdicts: pd.Series) -> str:
    words = verdicts.fillna("cannot be judged").replace("undecided", "is undecided")
    counts = words.value_counts(sort=False)
    if len(verdicts) == 1:
        return str(words.iloc[0])
    return listed(f"{word} in {counted(count, 'case')}" for word, count in counts.items())


def _decision(means: pd.DataFrame, labels: Labels) -> str:
    """Say which input moves the saving of a pair most, and which turn its sign; nothing without inputs."""
    if means.empty:
        return ""
    most = means.iloc[0]
    low, high = (formats.percent(most[f"percent_at_{end}"], signed=True) for end in ("low", "high"))
    turning = [input_name(str(name), labels) for name in means.loc[means["decides"], "input"]]
    alone = f"alone, {listed(turning, 'or')} turns its sign" if turning else "no input alone turns its sign"
    name = input_name(str(most["input"]), labels)
    ends = f"{low} to {high}" if most["input"] == RUNS else f"{low} at its least, {high} at its most"
    return f" It depends most on the {name} ({ends}); {alone}."
