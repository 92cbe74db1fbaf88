"""Part of the section about money: costs of clusters over their years, and the inputs that decide."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, bullets, left, row, table
from analysis.presentation.content import Content
from analysis.presentation.formats import counted, listed
from analysis.presentation.labels import Labels
from analysis.runs.facts import Economics
from analysis.runs.frames import BASELINE, Line, is_missing
from analysis.runs.lifetime import Assumed, Lifetime
from analysis.runs.settings import NodePrice
from analysis.topics.money.lifetime import NODE_PRICE
from analysis.topics.money.lifetime_pairs import PAIR, RUNS, mean_saving, mean_tornado
from analysis.topics.money.sentences import comparable_size, nodes, pair_names, priced

PARTS = ("purchase", "energy", "maintenance", "licences")
_NAMES = {
    "years": "years",
    "utilisation": "utilisation",
    "node_idle_watts": "power of an idle node",
    "node_loaded_watts": "power of a computing node",
    "pue": "PUE",
    "energy_price": "price of energy",
    "maintenance_percent": "maintenance",
    "maintenance_per_node": "maintenance",
    "licence_per_process": "licence per process",
    "licence_per_core": "licence per core",
    "CO2_kg_per_kWh": "CO₂ per kilowatt hour",
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
    "maintenance_percent": "% per year",
    "maintenance_per_node": "{} per year",
    "licence_per_process": "{} per year",
    "licence_per_core": "{} per year",
    "CO2_kg_per_kWh": "kg",
}
"""Units; the currency replaces the braces."""
_INTERCONNECT_NAMES = {
    "price": "price of {}",
    "idle_watts": "power of an idle port of {}",
    "loaded_watts": "power of a loaded port of {}",
}


def lifetime_blocks(content: Content, economics: Economics, highest: pd.DataFrame) -> list[Block]:
    """Make sentences, a figure and a table about lifetime costs; empty if the study states no lifetime.

    Parameters
    ----------
    highest : DataFrame
        Rows of ``break_even`` at the baselines' highest speedups.
    """
    lifetime = economics.lifetime
    if lifetime is None:
        return []
    labels, cost = content.labels, content.tables["cost"]
    same_size = cost[cost["nodes"] == comparable_size(cost)]
    has_tornado = "tornado" in content.tables
    means = mean_tornado(content.tables["tornado"]) if has_tornado else pd.DataFrame(columns=PAIR)
    sentences = [
        scope_sentence(lifetime),
        *cost_sentences(same_size, labels),
        *saving_sentences(highest, means, labels),
    ]
    columns = left("Input", "Value [range]", "Year", "Source")
    inputs = [row(cells, "", None) for cells in input_rows(lifetime, economics.node, labels)]
    caption = "Assumptions about nodes and their years, with their sources."
    return [
        bullets(sentences, "Over the years"),
        *content.figures("tornado"),
        table(caption, columns, {"": inputs}),
    ]


def input_name(name: str, labels: Labels) -> str:
    """Return the name of an input for readers."""
    interconnect, _, quantity = name.rpartition(": ")
    if interconnect:
        return _INTERCONNECT_NAMES[quantity].format(labels.interconnect(interconnect))
    return _NAMES[name]


def input_value(name: str, assumed: Assumed, currency: str) -> str:
    """Write an input with its range and its unit."""
    unit = _UNITS.get(name.rpartition(": ")[2], "").format(currency)
    text = formats.exact(assumed.value)
    if assumed.range is not None:
        text += f" [{', '.join(map(formats.exact, assumed.range))}]"
    return f"{text}{formats.SPACE}{unit}" if unit else text


def input_rows(lifetime: Lifetime, node: NodePrice, labels: Labels) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, value, year and source of each input, except prices of interconnects."""
    for name, assumed in ((NODE_PRICE, node.assumed), *lifetime.assumed()):
        title = input_name(name, labels)
        year = "" if assumed.year is None else str(assumed.year)
        value = input_value(name, assumed, node.currency)
        yield title[0].upper() + title[1:], value, year, assumed.source or "not stated"


def scope_sentence(lifetime: Lifetime) -> str:
    """List the costs that the lifetime cost includes, and the costs that it excludes."""
    optional = {
        "energy": bool(lifetime.energy_price),
        "maintenance": bool(lifetime.maintenance_percent or lifetime.maintenance_per_node),
        "licences": lifetime.licensed,
    }
    included = ["the purchase", *(name for name, given in optional.items() if given)]
    excluded = [*(name for name, given in optional.items() if not given), "space", "staff"]
    text = f"Costs include {listed(included)}, but not {listed(excluded)}."
    if lifetime.energy_price and not lifetime.ports:
        text += " The energy excludes ports, because the study does not state their power."
    return text


def cost_sentences(cost: pd.DataFrame, labels: Labels) -> list[str]:
    """State the lifetime cost with each interconnect that has a price, and its parts.

    Parameters
    ----------
    cost : DataFrame
        Rows of table ``cost`` for one number of nodes.
    """
    rows = cost[cost["lifetime_cost"].notna()].sort_values("lifetime_cost", kind="stable")
    if rows.empty:
        return []
    first = cost.iloc[0]
    years = "year" if first["lifetime_years"] == 1 else "years"
    period = f"{formats.exact(first['lifetime_years'])}{formats.SPACE}{years}"
    verb = "costs" if first["nodes"] == 1 else "cost"
    costs = [
        f"{nodes(first['nodes'])} with {labels.interconnect(line['interconnect'])} {verb} "
        f"{priced(line, 'lifetime_cost')} over {period}: {_parts(line)}."
        for line in rows.to_dict("records")
    ]
    has_ranges = rows["lifetime_cost_low"].notna().any()
    brackets = ["Brackets contain the range of all inputs together."] if has_ranges else []
    return [" ".join([*costs, *brackets])]


def _parts(line: Line) -> str:
    """Write the parts of a lifetime cost in percent, then the power and the CO₂ if they are known."""
    parts = [
        f"{formats.percent(line[f'{part}_percent'])} {part}" for part in PARTS if line[f"{part}_percent"] > 0
    ]
    if not is_missing(line["kilowatts"]):
        parts.append(f"{formats.number(line['kilowatts'])}{formats.THIN}kW under load")
    if not is_missing(line["lifetime_CO2_kg"]):
        parts.append(f"{formats.number(line['lifetime_CO2_kg'] / 1000)}{formats.THIN}t of CO₂")
    return listed(parts)


def saving_sentences(highest: pd.DataFrame, means: pd.DataFrame, labels: Labels) -> list[str]:
    """State the saving of each interconnect over the years, where it pays, and which input decides.

    Parameters
    ----------
    highest : DataFrame
        Rows of ``break_even`` of all cases that `analysis.topics.money.sentences.at_highest_target` selects.
    means : DataFrame
        As `analysis.topics.money.lifetime_pairs.mean_tornado` returns it; may have no rows.
    """
    sentences = []
    ordered = labels.in_order(highest, "interconnect")
    for _, rows in ordered.groupby([*BASELINE, "interconnect"], sort=False, dropna=False):
        first = rows.iloc[0].to_dict()
        name, baseline = pair_names(first, labels)
        text, verdicts = f"{name} instead of {baseline}", _verdicts(rows["lifetime_verdict"])
        percents = rows["lifetime_saving_percent"].dropna()
        if len(percents):
            saving = mean_saving(percents)
            size = formats.percent(abs(saving))
            text += f" saves {size} at equal speed" if saving > 0 else f" costs {size} more at equal speed"
            if len(rows) > 1:
                text += f" (geometric mean of {counted(len(percents), 'case')})"
            text += f". {name} {verdicts}"
        else:
            text += f" {verdicts} at equal speed"
        pair_means = means[(means[PAIR] == [first[key] for key in PAIR]).all(axis=1)]
        sentences.append(f"{text}.{_decision(pair_means, labels)}")
    return sentences


def _verdicts(verdicts: pd.Series) -> str:
    """Write the verdict of the only case, or count the cases of each verdict."""
    words = verdicts.fillna("cannot be judged").replace("undecided", "is undecided")
    if len(words) == 1:
        return str(words.iloc[0])
    counts = words.value_counts(sort=False)
    return listed(f"{word} in {counted(count, 'case')}" for word, count in counts.items())


def _decision(means: pd.DataFrame, labels: Labels) -> str:
    """Name the input with the largest effect on a saving, and the inputs that change its sign.

    Empty if no input has a range.
    """
    if means.empty:
        return ""
    largest = means.iloc[0]
    low, high = (formats.percent(largest[f"percent_at_{end}"], signed=True) for end in ("low", "high"))
    name = input_name(str(largest["input"]), labels)
    ends = f"{low} to {high}" if largest["input"] == RUNS else f"{low} at its minimum, {high} at its maximum"
    deciding = [input_name(str(decisive), labels) for decisive in means.loc[means["decides"], "input"]]
    text = (
        f"The sign of the saving changes with {listed(deciding, 'or')} alone"
        if deciding
        else "No single input changes the sign of the saving"
    )
    return f" The saving depends most on the {name}: {ends}. {text}."
