"""What interconnects cost by size: price of a node, and of the whole, against ports."""

from __future__ import annotations

from itertools import cycle

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes

from analysis.figures import style
from analysis.figures.axes import count_axis, log_axis
from analysis.figures.drawing import Drawing, canvas, shortened
from analysis.figures.style import FigureLabels
from analysis.tables.missing import Line, as_float, is_missing
from analysis.text import formats
from analysis.text.money import OFFER, amount, money, offer_name

COLUMNS = 2
HEIGHT = 2.1
LINE_HEIGHT = 0.14
PANELS = {"price_per_node": "Price a node", "list_price": "Price of the whole"}
LINES = ("-", (0, (4, 1.6)), (0, (1, 1.4)), (0, (5, 1.4, 1, 1.4)))
"""Of the offers of one interconnect, in their order."""


def price_figures(prices: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the table ``prices``, a figure for each currency; nothing without a price at a known size."""
    sized = prices.groupby("currency")["nodes"].transform("count") > 0
    return [_figure(currency, rows, labels) for currency, rows in prices[sized].groupby("currency")]


def _figure(currency: str, rows: pd.DataFrame, labels: FigureLabels) -> Drawing:
    offers = list(labels.in_order(rows, "interconnect").groupby(OFFER, dropna=False, sort=False))
    caption = (
        f"What an interconnect costs in {currency} by its number of nodes: adapters, switches and cables, "
        "without nodes. Bars are published ranges, and bands those for any number of nodes; computed prices "
        "follow from a switch tree."
    )
    with mpl.rc_context(style.RC):
        figure = canvas(HEIGHT + LINE_HEIGHT * -(-len(offers) // COLUMNS))
        alt = f"Price a node and price of the whole in {currency} against nodes, by interconnect."
        drawing = Drawing(f"prices-{currency}", "prices", figure, caption, alt)
        grid = figure.subplots(1, len(PANELS))
        for axes, (column, title) in zip(grid, PANELS.items(), strict=True):
            ends = [rows[name] for name in (column, f"{column}_low", f"{column}_high") if name in rows]
            log_axis(axes, [float(value) for value in pd.concat(ends).dropna()])
            count_axis(axes, _ticks(rows), style.WIDTH / 2.5)
            axes.set_xlabel("Nodes")
            axes.set_ylabel(f"{title} ({currency})")
        lines = {name: cycle(LINES) for name in rows["interconnect"].unique()}
        for _, offer in offers:
            line = next(lines[offer["interconnect"].iat[0]])
            for axes, column in zip(grid, PANELS, strict=True):
                _draw(axes, offer, column, line, drawing, labels)
        legend = figure.legend(
            *grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=COLUMNS
        )
        for (_, offer), text in zip(offers, legend.get_texts(), strict=True):
            drawing.mark(text, offer["interconnect"].iat[0])
    return drawing


def _ticks(rows: pd.DataFrame) -> list[int]:
    """Powers of four from the smallest to the largest size."""
    low, high = (int(end) for end in (rows["nodes"].min(), rows["nodes"].max()))
    powers = [4**power for power in range(0, 16)]
    below, above = max(p for p in powers if p <= low), min(p for p in powers if p >= high)
    return [power for power in powers if below <= power <= above]


def _draw(
    axes: Axes, offer: pd.DataFrame, column: str, line: object, drawing: Drawing, labels: FigureLabels
) -> None:
    owner = offer["interconnect"].iat[0]
    look, name = labels.look(owner), offer_name(offer.iloc[0], labels)
    computed = (offer["basis"] != "published").all()
    style_of = {"color": look.colour, "linestyle": line, "markersize": 0 if computed else 3.2}
    (drawn,) = axes.plot(
        offer["nodes"], offer[column], marker=look.marker, label=shortened(name, 64, lines=1), **style_of
    )
    drawing.mark(drawn, owner)
    if offer["nodes"].isna().all() and column == "price_per_node":
        band = axes.axhspan(*_range(offer.iloc[0]), color=look.colour, alpha=0.15, linewidth=0)
        drawing.mark(band, owner, f"{name}\nany number of nodes: {amount(offer.iloc[0], column)}")
        drawn.set(linewidth=6, alpha=0.3, marker="", linestyle="-")
    for row in offer.dropna(subset="nodes").to_dict("records"):
        value = amount(row, column) if column == "price_per_node" else money(row[column])
        if column == "price_per_node" and not is_missing(row["price_per_node_high"]):
            (bar,) = axes.plot([row["nodes"]] * 2, _range(row), color=look.colour, linewidth=0.9)
            drawing.mark(bar, owner)
        text = f"{name}\n{formats.whole(row['nodes'])} nodes: {value} {row['currency']}"
        (dot,) = axes.plot(row["nodes"], row[column], marker="o", markersize=5, alpha=0, color=look.colour)
        drawing.mark(dot, owner, text)


def _range(row: Line) -> list[float]:
    return [as_float(row[f"price_per_node_{end}"]) for end in ("low", "high")]
