"""Figure of the prices of interconnects against nodes, per node and in total."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import cycle

import pandas as pd
from matplotlib.axes import Axes

from analysis.presentation import formats, style
from analysis.presentation.axes import count_axis, log_axis
from analysis.presentation.drawing import Drawing, new_drawing, shortened
from analysis.presentation.marks import Point, draw_points
from analysis.presentation.style import FigureLabels
from analysis.runs.frames import Line, as_float
from analysis.topics.money.sentences import amount, money
from analysis.topics.prices.tables import OFFER, offer_name

COLUMNS = 2
HEIGHT = 2.1
LINE_HEIGHT = 0.14
PANELS = {"price_per_node": "Price per node", "list_price": "Total price"}
LineStyle = str | tuple[int, tuple[float, ...]]
LINES: tuple[LineStyle, ...] = ("-", (0, (4, 1.6)), (0, (1, 1.4)), (0, (5, 1.4, 1, 1.4)))
"""Line styles of an interconnect's offers, in the order of the offers."""


def price_figures(prices: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the table ``prices``, one figure per currency that has a price at a known size."""
    sized = prices.groupby("currency")["nodes"].transform("count") > 0
    return [_figure(str(currency), rows, labels) for currency, rows in prices[sized].groupby("currency")]


def _figure(currency: str, rows: pd.DataFrame, labels: FigureLabels) -> Drawing:
    """Draw the offers of a currency, with a panel for each of `PANELS`."""
    offers = list(labels.in_order(rows, "interconnect").groupby(OFFER, dropna=False, sort=False))
    caption = (
        f"Price of an interconnect in {currency} against the number of nodes. The price includes adapters, "
        f"switches and cables.{_marks_in_words(offer for _, offer in offers)}"
    )
    inches = HEIGHT + LINE_HEIGHT * math.ceil(len(offers) / COLUMNS)
    alt = f"Price per node and total price in {currency} against nodes, by interconnect."
    with new_drawing(f"prices-{currency}", "prices", inches, caption, alt) as drawing:
        grid = drawing.panels(len(PANELS), len(PANELS), ("Nodes", ""))
        for axes, (column, title) in zip(grid, PANELS.items(), strict=True):
            ends = [rows[name] for name in (column, f"{column}_low", f"{column}_high") if name in rows]
            log_axis(axes, [float(value) for value in pd.concat(ends).dropna()])
            count_axis(axes, _ticks(rows), style.WIDTH / 2.5)
            axes.set_ylabel(f"{title} ({currency})")
        next_lines = {name: cycle(LINES) for name in rows["interconnect"].unique()}
        for _, offer in offers:
            line = next(next_lines[offer["interconnect"].iat[0]])
            for axes, column in zip(grid, PANELS, strict=True):
                _draw(axes, offer, column, line, drawing, labels)
        entries = grid[0].get_legend_handles_labels()
        legend = drawing.figure.legend(*entries, loc="outside lower center", ncols=COLUMNS)
        for (_, offer), text in zip(offers, legend.get_texts(), strict=True):
            drawing.mark(text, offer["interconnect"].iat[0])
    return drawing


def _marks_in_words(offers: Iterable[pd.DataFrame]) -> str:
    """Explain the bars, bands and lines without marks that a figure of offers has."""
    sentences = {}
    for offer in offers:
        if (offer["basis"] != "published").all():
            sentences["lines"] = (
                " Lines without marks are computed prices: Nodeworth adds the prices of all adapters, "
                "switches and cables of a tree of switches."
            )
        if offer["nodes"].isna().all():
            sentences["bands"] = " A band is a published price range whose source states no number of nodes."
        elif offer["price_per_node_low"].notna().any():
            sentences["bars"] = " A bar is the published price range at its number of nodes."
    return "".join(sentences.values())


def _ticks(rows: pd.DataFrame) -> list[int]:
    """Return the powers of four from the last one below all sizes to the first one above all sizes."""
    smallest, largest = int(rows["nodes"].min()), int(rows["nodes"].max())
    powers = [4**exponent for exponent in range(16)]
    first = max(power for power in powers if power <= smallest)
    last = min(power for power in powers if power >= largest)
    return [power for power in powers if first <= power <= last]


def _draw(
    axes: Axes, offer: pd.DataFrame, column: str, line: LineStyle, drawing: Drawing, labels: FigureLabels
) -> None:
    """Draw the prices of an offer; a price for every number of nodes is a band across the panel.

    Parameters
    ----------
    column : str
        One of `PANELS`.
    """
    interconnect = offer["interconnect"].iat[0]
    look, name = labels.look(interconnect), offer_name(offer.iloc[0].to_dict(), labels)
    computed = (offer["basis"] != "published").all()
    (drawn,) = axes.plot(
        offer["nodes"], offer[column], color=look.colour, linestyle=line,
        marker="" if computed else look.marker, markersize=3.2, label=shortened(name, 64, lines=1),
    )  # fmt: skip
    drawing.mark(drawn, interconnect)
    if offer["nodes"].isna().all() and column == "price_per_node":
        first = offer.iloc[0].to_dict()
        low, high = _range(first)
        band = axes.axhspan(low, high, color=look.colour, alpha=0.15, linewidth=0)
        drawing.mark(band, interconnect, f"{name}\nevery number of nodes: {amount(first, column)}")
        drawn.set(linewidth=6, alpha=0.3, marker="", linestyle="-")
    points = []
    for row in offer.dropna(subset="nodes").to_dict("records"):
        value = amount(row, column) if column == "price_per_node" else money(row[column])
        ends = _range(row) if column == "price_per_node" else (math.nan, math.nan)
        text = f"{name}\n{formats.whole(row['nodes'])} nodes: {value} {row['currency']}"
        points.append(Point(row["nodes"], row[column], look, interconnect, text, *ends))
    draw_points(drawing, axes, points, size=3.2, opacity=0 if computed else 1)


def _range(row: Line) -> tuple[float, float]:
    return as_float(row["price_per_node_low"]), as_float(row["price_per_node_high"])
