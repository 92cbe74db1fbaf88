"""Does it pay? What interconnects cost, what their speed costs, and which to buy."""

from __future__ import annotations

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
from analysis.runs.frames import Line, as_float, interval, is_missing
from analysis.runs.kinds import side
from analysis.topics.money import sentences as money_sentences
from analysis.topics.money.lifetime_blocks import lifetime_blocks
from analysis.topics.money.sentences import CHOICE, amount, at_highest_target, limits, money, node_price
from analysis.topics.prices.books import INTERPOLATED

MOST_SIZES = 6
MOST_ROWS = 120


def pays(content: Content) -> Section | None:
    """What is paid for speed, and whether that pays; none without prices."""
    cost = content.tables.get("cost")
    if cost is None:
        return None
    labels, value, even = content.labels, content.tables["value"], content.tables["break_even"]
    highest = at_highest_target(even)
    blocks = [
        bullets(
            [
                *money_sentences.unpriced_sentences(cost, labels),
                *money_sentences.price_sentences(cost, labels),
                *_node_source(content),
            ],
            "What a cluster costs",
        )
    ]
    if "purchase" in content.tables:
        said = money_sentences.purchase_sentences(content.tables["purchase"], labels)
        blocks += [bullets(said, f"What to buy for {_mix(content)}")] if said else []
    elif content.facts.economics.mix and not content.facts.study.unfinished:
        unknown = "no interconnect with a price has valid runs of all of it"
        blocks.append(paragraph(f"What to buy for {_mix(content)} cannot be told: {unknown}."))
    if len(content.cases) > 1 and len(highest):
        title = f"At {node_price(cost.iloc[0])} a node, over all cases, at the baseline's highest speedup"
        blocks.append(on_screen(bullets(money_sentences.verdict_sentences(highest, labels), title)))
    blocks += content.figures("pareto")
    blocks += lifetime_blocks(content, highest)
    blocks.append(_cost_table(cost, labels))
    blocks += _value_table(value, labels)
    blocks += _break_even_table(highest, labels)
    if "purchase" in content.tables:
        blocks += _purchase_table(content.tables["purchase"], labels)
    more = "Power, space, staff and licences are in no price."
    if content.facts.economics.lifetime:
        more = (
            "What a job costs, its energy and CO₂ are in tables/value.csv; at how many nodes, after how many "
            "years and at which price of energy an interconnect pays is in break_even.csv."
        )
    blocks.append(paragraph(f"{more} All rows: tables/cost.csv, value.csv and break_even.csv."))
    return section("money", "Does it pay?", blocks)


def _node_source(content: Content) -> list[str]:
    """Where the price of a node is from; with a lifetime it is among the inputs of that."""
    economics = content.facts.economics
    told = economics.node.source and not economics.lifetime
    return [f"Price of a node: {economics.node.source}."] if told else []


def _mix(content: Content) -> str:
    """Cases of the mix with their weights, as the study gives them."""
    weights = content.facts.economics.mix.weights
    if len(weights) == 1:
        return content.labels.case(next(iter(weights)))
    if len(set(weights.values())) == 1:
        return f"a mix of {formats.counted(len(weights), 'case')} of equal weight"
    cases = [f"{content.labels.case(case)} ({formats.exact(weight)})" for case, weight in weights.items()]
    return f"the mix of {formats.listed(cases)}"


def _cost_table(cost: pd.DataFrame, labels: Labels) -> Block:
    """Prices of clusters by size, with the interconnect's share."""
    sizes = sorted({int(size) for size in cost["nodes"] if size > 1}) or [1]
    shown = sizes if len(sizes) <= MOST_SIZES else sizes[:: -(-len(sizes) // MOST_SIZES)]
    rows = []
    for name in labels.sorted_interconnects(cost["interconnect"]):
        found = cost[cost["interconnect"] == name].set_index("nodes")
        cells = [_cost(found.loc[size]) if size in found.index else MISSING for size in shown]
        rows.append(row([labels.interconnect(name), *cells], "", name))
    columns = [*left("Nodes"), *right(*map(formats.whole, shown))]
    caption = (
        f"Price of a cluster in {cost['currency'].iloc[0]} at {node_price(cost.iloc[0])} a node, and the "
        "interconnect's share of it; ≈ where its price is interpolated between published sizes."
    )
    return table(caption, columns, {"": rows})


def _cost(line: pd.Series) -> str:
    if is_missing(line["cluster_price"]):
        return MISSING
    about = "≈" if line["basis"] == INTERPOLATED else ""
    return f"{about}{money(line['cluster_price'])} ({formats.percent(line['interconnect_percent'])})"


def _value_table(value: pd.DataFrame, labels: Labels) -> list[Block]:
    """Tabulate the points of the Pareto sets."""
    found = value[value["pareto"].fillna(False).astype(bool)]
    again = found["serial"].astype(bool) & found.duplicated(["case", "compared_kinds", "serial"])
    found = found[~again]
    caption = "The Pareto sets of price and speed: no other point of the case is as cheap and as fast."
    if len(found) > MOST_ROWS:
        keys = ["case", "compared_kinds"]
        ends = [found.groupby(keys)[name].idxmin() for name in ("cluster_price", "price_per_speedup")]
        ends.append(found.groupby(keys)["speedup"].idxmax())
        found = found.loc[sorted(set().union(*ends))]
        caption += " Shown are the cheapest, the one of the lowest price per unit, and the fastest of each."
    sampled = bool(found["pareto_share"].notna().any())
    several = value["compared_kinds"].nunique() > 1
    if found.empty:
        return []

    def curve(line: Line) -> str:
        if line["serial"]:
            return labels.interconnect(None, line["kind"])
        return labels.curve(line, line["oversubscription"] > 1)

    def title(line: Line) -> str:
        kinds = f" ({line['compared_kinds'].replace('/', ' and ')})" if several else ""
        return f"{labels.case(line['case'])}{kinds}"

    def share(of_draws: float) -> str:
        return formats.percent(100 * as_float(of_draws), places=0)

    fields = [
        texts("Interconnect", curve),
        numbers("Nodes", formats.whole, "nodes"),
        numbers("Processes", formats.whole, "processes"),
        numbers(f"Price ({found['currency'].iloc[0]})", lambda line: amount(line, "cluster_price")),
        numbers(labels.speedup.capitalize(), lambda line: formats.bracketed(*interval(line, "speedup"))),
        numbers(f"Price per unit of {labels.speedup}", lambda line: amount(line, "price_per_speedup")),
        *[numbers("Share of draws in the set", share, "pareto_share")] * sampled,
    ]
    owned = found.assign(interconnect=found["interconnect"].mask(found["serial"].astype(bool)))
    lines = labels.lines(owned, "case", "compared_kinds", "cluster_price")
    return [line_table(caption, fields, lines, title)]


def _break_even_table(highest: pd.DataFrame, labels: Labels) -> list[Block]:
    """Tabulate where each interconnect pays, at the baseline's highest speedup."""
    if highest.empty:
        return []

    def title(line: Line) -> str:
        return f"Instead of {labels.interconnect(line['baseline_interconnect'], side(line['kind'], 0))}"

    fields = [
        texts("Case", labels.case, "case"),
        texts("Interconnect", labels.compared),
        numbers("Nodes of the baseline", formats.whole, "baseline_nodes"),
        numbers("Equivalent nodes", formats.whole, "equivalent_nodes"),
        numbers("Pays at a price of a node", _break_even),
        numbers("Saving", lambda line: amount(line, "saving")),
        texts("Verdict", lambda verdict: MISSING if is_missing(verdict) else verdict, "verdict"),
    ]
    caption = (
        "Whole nodes with which each interconnect reaches the baseline's highest speedup, the price of a "
        "node from or up to which it pays, and what it saves at "
        f"{node_price(highest.iloc[0])} a node."
    )
    return [line_table(caption, fields, labels.lines(highest, "case", "interconnect"), title)]


def _break_even(line: Line) -> str:
    even = amount(line, "break_even_node_price")
    prices = {"above": f"from {even}", "below": f"up to {even}", "always": "any", "never": "none"}
    return prices.get(line["pays"], MISSING)


def _purchase_table(purchase: pd.DataFrame, labels: Labels) -> list[Block]:
    """Tabulate the most that each budget buys of every interconnect."""
    affordable = purchase[purchase["affordable"].fillna(False)]
    keys = [*CHOICE, "kind", "interconnect"]
    rows = affordable.loc[sorted(affordable.groupby(keys, dropna=False)["mean_speedup"].idxmax())]
    several = rows["compared_kinds"].nunique() > 1
    groups: dict[str, list[Row]] = {}
    for (kinds, _, site), of_budget in rows.groupby(CHOICE, sort=False, dropna=False):
        title = limits(of_budget.iloc[0])
        title += f", {formats.listed(str(kinds).split('/'))}" * several
        title += "" if is_missing(site) else f", {site}"
        for line in of_budget.sort_values("mean_speedup", ascending=False).to_dict("records"):
            alike = not is_missing(line["may_be_best"]) and line["may_be_best"]
            cells = [
                labels.interconnect(line["interconnect"], line["kind"]),
                formats.whole(line["nodes"]),
                amount(line, "cluster_price"),
                formats.bracketed(*interval(line, "mean_speedup")),
                "buy" if line["best"] else "may be as fast" if alike else "",
            ]
            groups.setdefault(title, []).append(row(cells, "", line["interconnect"]))
    if not groups:
        return []
    columns = [*left("Interconnect"), *right("Nodes", "Price", f"Mean {labels.speedup}"), *left("")]
    caption = (
        "The fastest that each budget buys of every interconnect that all cases of the mix were run over."
    )
    return [table(caption, columns, groups)]
