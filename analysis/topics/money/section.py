"""Does it pay? The prices of interconnects and of their speed, and which interconnect to buy."""

from __future__ import annotations

import math

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import (
    Block,
    Row,
    Section,
    bullets,
    left,
    on_screen,
    paragraph,
    right,
    row,
    section,
    table,
)
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING
from analysis.presentation.labels import Labels
from analysis.presentation.rows import line_table, numbers, texts
from analysis.runs.facts import Economics
from analysis.runs.frames import Line, as_float, interval, is_missing
from analysis.runs.kinds import side
from analysis.runs.settings import Mix
from analysis.topics.money import sentences
from analysis.topics.money.lifetime_section import lifetime_blocks
from analysis.topics.money.sentences import CHOICE, amount, at_highest_target, limits, money, node_price
from analysis.topics.prices.books import INTERPOLATED

MOST_SIZES = 6
MOST_ROWS = 120


def pays(content: Content) -> Section | None:
    """Report the price of speed, and whether it pays; None without prices."""
    cost, economics = content.tables.get("cost"), content.facts.economics
    if cost is None or economics is None:
        return None
    labels = content.labels
    highest = at_highest_target(content.tables["break_even"])
    price_sentences = [
        *sentences.unpriced_sentences(cost, labels),
        *sentences.price_sentences(cost, labels),
        *_node_source(economics),
    ]
    blocks = [bullets(price_sentences, "Cost of a cluster")]
    blocks += _purchase_blocks(content, economics)
    if len(content.cases) > 1 and len(highest):
        price = node_price(cost.iloc[0].to_dict())
        title = f"At {price} per node, over all cases, at the baseline's highest speedup"
        blocks.append(on_screen(bullets(sentences.verdict_sentences(highest, labels), title)))
    blocks += content.figures("pareto")
    blocks += lifetime_blocks(content, economics, highest)
    blocks.append(_cost_table(cost, labels))
    blocks += _value_table(content.tables["value"], labels)
    blocks += _break_even_table(highest, labels)
    if "purchase" in content.tables:
        blocks += _purchase_table(content.tables["purchase"], labels)
    scope = "Prices exclude power, space, staff and licences."
    if economics.lifetime:
        scope = (
            "tables/value.csv has cost, energy and CO₂ per job. tables/break_even.csv has the number of "
            "nodes, the number of years and the price of energy from which an interconnect pays."
        )
    rows = "Files tables/cost.csv, tables/value.csv and tables/break_even.csv have all rows."
    blocks.append(paragraph(f"{scope} {rows}"))
    return section("money", "Does it pay?", blocks)


def _node_source(economics: Economics) -> list[str]:
    """State the source of the node's price, unless the table of inputs shows it."""
    source = economics.node.source
    return [f"Source of the price of a node: {source}."] if source and not economics.lifetime else []


def _purchase_blocks(content: Content, economics: Economics) -> list[Block]:
    """Recommend a purchase, or state the reason why there is no recommendation."""
    if "purchase" in content.tables:
        advice = sentences.purchase_sentences(content.tables["purchase"], content.labels)
        title = f"Clusters to buy for {_mix_name(economics.mix, content.labels)}" if economics.mix else ""
        return [bullets(advice, title)] if advice else []
    if economics.mix and not content.facts.study.unfinished:
        reason = "no interconnect with a price has valid runs of all its cases"
        mix = _mix_name(economics.mix, content.labels)
        return [paragraph(f"Nodeworth recommends no cluster for {mix}, because {reason}.")]
    return []


def _mix_name(mix: Mix, labels: Labels) -> str:
    """Name the cases of the mix with their weights."""
    weights = mix.weights
    if len(weights) == 1:
        return labels.case(next(iter(weights)))
    if len(set(weights.values())) == 1:
        return f"a mix of {formats.counted(len(weights), 'case')} of equal weight"
    cases = [f"{labels.case(case)} ({formats.exact(weight)})" for case, weight in weights.items()]
    return f"the mix of {formats.listed(cases)}"


def _cost_table(cost: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate prices of clusters by size, with the interconnect's share."""
    sizes = sorted({int(size) for size in cost["nodes"] if size > 1}) or [1]
    step = math.ceil(len(sizes) / MOST_SIZES)
    shown = sizes[::step]
    rows = []
    for name in labels.sorted_interconnects(cost["interconnect"]):
        lines = cost[cost["interconnect"] == name].set_index("nodes").to_dict("index")
        cells = [_cost_cell(lines[size]) if size in lines else MISSING for size in shown]
        rows.append(row([labels.interconnect(name), *cells], "", name))
    columns = [*left("Nodes"), *right(*map(formats.whole, shown))]
    caption = (
        f"Price of a cluster in {cost['currency'].iloc[0]}, and the interconnect's share of this price, at "
        f"{node_price(cost.iloc[0].to_dict())} per node."
    )
    if any("≈" in cell for line in rows for cell in line["cells"]):
        caption += " A ≈ marks a price that is interpolated between cluster sizes with published prices."
    return table(caption, columns, {"": rows})


def _cost_cell(line: Line) -> str:
    if is_missing(line["cluster_price"]):
        return MISSING
    about = "≈" if line["basis"] == INTERPOLATED else ""
    return f"{about}{money(line['cluster_price'])} ({formats.percent(line['interconnect_percent'])})"


def _value_table(value: pd.DataFrame, labels: Labels) -> list[Block]:
    """Tabulate the points of the Pareto sets; a long table shows only three points of each set."""
    members = value[value["pareto"].fillna(False).astype(bool)]
    is_repeated_serial_run = members["serial"].astype(bool) & members.duplicated(
        ["case", "compared_kinds", "serial"]
    )
    members = members[~is_repeated_serial_run]
    if members.empty:
        return []
    caption = (
        f"The Pareto set of each case. For each point of the set, all points with more {labels.speedup} have "
        "a higher price."
    )
    if len(members) > MOST_ROWS:
        groups = members.groupby(["case", "compared_kinds"])
        extremes = [groups[name].idxmin() for name in ("cluster_price", "price_per_speedup")]
        extremes.append(groups["speedup"].idxmax())
        members = members.loc[sorted(set().union(*extremes))]
        caption += (
            " Each set is reduced to three points: the cheapest, the lowest price per unit of "
            f"{labels.speedup}, and the fastest."
        )
    has_shares = bool(members["pareto_share"].notna().any())
    several_kinds = value["compared_kinds"].nunique() > 1

    def curve(line: Line) -> str:
        if line["serial"]:
            return labels.interconnect(None, line["kind"])
        return labels.curve(line, line["oversubscription"] > 1)

    def title(line: Line) -> str:
        kinds = f" ({line['compared_kinds'].replace('/', ' and ')})" if several_kinds else ""
        return f"{labels.case(line['case'])}{kinds}"

    def share(of_draws: float) -> str:
        return formats.percent(100 * as_float(of_draws), places=0)

    fields = [
        texts(labels.interconnect_head, curve),
        numbers("Nodes", formats.whole, "nodes"),
        numbers("Processes", formats.whole, "processes"),
        numbers(f"Price ({members['currency'].iloc[0]})", lambda line: amount(line, "cluster_price")),
        numbers(labels.speedup.capitalize(), lambda line: formats.bracketed(*interval(line, "speedup"))),
        numbers(f"Price per unit of {labels.speedup}", lambda line: amount(line, "price_per_speedup")),
    ]
    if has_shares:
        fields.append(numbers("Share of draws in the set", share, "pareto_share"))
    # A serial run has no interconnect.
    members = members.assign(interconnect=members["interconnect"].mask(members["serial"].astype(bool)))
    lines = labels.lines(members, "case", "compared_kinds", "cluster_price")
    return [line_table(caption, fields, lines, title)]


def _break_even_table(highest: pd.DataFrame, labels: Labels) -> list[Block]:
    """Tabulate nodes, break-even price and saving of each interconnect, at the baseline's highest speedup."""
    if highest.empty:
        return []

    def title(line: Line) -> str:
        return f"Instead of {labels.interconnect(line['baseline_interconnect'], side(line['kind'], 0))}"

    fields = [
        texts("Case", labels.case, "case"),
        texts(labels.interconnect_head, labels.compared),
        numbers("Nodes of the baseline", formats.whole, "baseline_nodes"),
        numbers("Equivalent nodes", formats.whole, "equivalent_nodes"),
        numbers("Pays at a node price", _break_even),
        numbers("Saving", lambda line: amount(line, "saving")),
        texts("Verdict", lambda verdict: MISSING if is_missing(verdict) else verdict, "verdict"),
    ]
    caption = (
        "Column “Equivalent nodes” shows the number of nodes with which an interconnect reaches the highest "
        f"{labels.speedup} of its baseline, rounded up. Column “Saving” shows the saved money at "
        f"{node_price(highest.iloc[0].to_dict())} per node."
    )
    if (highest["saving"] < 0).any():
        caption += " A negative saving means that the interconnect costs more."
    return [line_table(caption, fields, labels.lines(highest, "case", "interconnect"), title)]


def _break_even(line: Line) -> str:
    even = amount(line, "break_even_node_price")
    prices = {"above": f"from {even}", "below": f"up to {even}", "always": "any", "never": "none"}
    return prices.get(line["pays"], MISSING)


def _purchase_table(purchase: pd.DataFrame, labels: Labels) -> list[Block]:
    """Tabulate the fastest cluster of each interconnect within each budget."""
    affordable = purchase[purchase["affordable"].fillna(False)]
    keys = [*CHOICE, "kind", "interconnect"]
    rows = affordable.loc[sorted(affordable.groupby(keys, dropna=False)["mean_speedup"].idxmax())]
    several_kinds = rows["compared_kinds"].nunique() > 1
    groups: dict[str, list[Row]] = {}
    for _, choice in rows.groupby(CHOICE, sort=False, dropna=False):
        first = choice.iloc[0].to_dict()
        title = limits(first)
        title += f", {formats.listed(first['compared_kinds'].split('/'))}" if several_kinds else ""
        title += "" if is_missing(first["site"]) else f", {first['site']}"
        for line in choice.sort_values("mean_speedup", ascending=False).to_dict("records"):
            rival = not is_missing(line["may_be_best"]) and line["may_be_best"]
            cells = [
                labels.interconnect(line["interconnect"], line["kind"]),
                formats.whole(line["nodes"]),
                amount(line, "cluster_price"),
                formats.bracketed(*interval(line, "mean_speedup")),
                "buy" if line["best"] else "may be as fast" if rival else "",
            ]
            groups.setdefault(title, []).append(row(cells, "", line["interconnect"]))
    if not groups:
        return []
    columns = [*left(labels.interconnect_head), *right("Nodes", "Price", f"Mean {labels.speedup}"), *left("")]
    caption = (
        "The fastest cluster that each budget buys, for every interconnect with runs of all cases of the mix."
    )
    return [table(caption, columns, groups)]
