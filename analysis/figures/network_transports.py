"""Transports below MPI: latency, streams sent and received, and losses at rising rates."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.figures import style
from analysis.figures.axes import log_axis
from analysis.figures.drawing import Drawing, new_drawing, shortened
from analysis.figures.points import Point, draw_points
from analysis.figures.sizes import positions, size_axis
from analysis.figures.style import FigureLabels, Look
from analysis.text.formats import number
from analysis.text.network_words import size_text
from analysis.text.transports import NAMES

HEIGHT = 2.0
COLUMNS = 2


def transport_figures(table: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the table ``network_transports``: one panel per interconnect, one colour per transport.

    Returns
    -------
    list of Drawing
        Topic ``network_transports``: latency by message size; streams by message size; loss by rate.
    """
    table = labels.in_order(table, "interconnect")
    table = table.assign(
        panel=[labels.interconnect(*pair) for pair in zip(table["interconnect"], table["kind"], strict=True)]
    )
    names = list(dict.fromkeys(table["transport"]))
    chosen = {name: Look(style.COLOURS[i % 10], style.MARKERS[i % 11]) for i, name in enumerate(names)}
    sized = table[table["bytes"].notna()]
    trips = sized[(sized["test"] == "pingpong") & sized["latency_us"].notna()]
    streams = sized[(sized["test"] == "stream") & sized["offered_MBps"].isna()]
    paced = sized[(sized["test"] == "stream") & sized["offered_MBps"].notna()]
    drawings = []
    if len(_curves(trips)):
        drawings.append(_latency(_curves(trips), chosen))
    if len(_curves(streams)):
        drawings.append(_streams(_curves(streams), chosen))
    if len(paced):
        drawings.append(_loss(paced))
    return drawings


def _curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of panels that have several message sizes."""
    return rows[rows.groupby("panel")["bytes"].transform("nunique") > 1]


def _latency(rows: pd.DataFrame, chosen: dict[str, Look]) -> Drawing:
    caption = (
        "Latency below MPI and of MPI: half a round trip against the message size, median over the round "
        "trips of a run and over runs."
    )

    def draw(axes: Axes, own: pd.DataFrame, drawing: Drawing) -> None:
        for name, curve in own.groupby("transport", sort=False):
            _line(axes, curve, "latency_us", chosen[name], drawing, f"{NAMES.get(name, name)}: {{}} µs")
        size_axis(axes, rows["bytes"], narrow=True)
        log_axis(axes, list(rows["latency_us"]))

    present = {name: chosen[name] for name in dict.fromkeys(rows["transport"])}
    return _panels(
        "transports-latency", caption, rows, draw, ("Message", "Latency (µs)"), _legend(present, rows)
    )


def _streams(rows: pd.DataFrame, chosen: dict[str, Look]) -> Drawing:
    caption = (
        "Streams below MPI in one direction, at full speed, against the message size: sent (hollow) and received "
        "(filled). Messages were lost where the two differ."
    )

    def draw(axes: Axes, own: pd.DataFrame, drawing: Drawing) -> None:
        for name, curve in own.groupby("transport", sort=False):
            text = f"{NAMES.get(name, name)}: {{}} MB/s "
            _line(axes, curve, "received_MBps", chosen[name], drawing, f"{text}received")
            if (curve["sent_MBps"] != curve["received_MBps"]).any():
                _line(axes, curve, "sent_MBps", chosen[name], drawing, f"{text}sent", hollow=True)
        size_axis(axes, rows["bytes"], narrow=True)
        log_axis(axes, [*rows["sent_MBps"].dropna(), *rows["received_MBps"].dropna()])

    present = {name: chosen[name] for name in dict.fromkeys(rows["transport"])}
    return _panels("transports-streams", caption, rows, draw, ("Message", "MB/s"), _legend(present, rows))


def _loss(rows: pd.DataFrame) -> Drawing:
    sizes = sorted(rows["bytes"].unique())
    chosen = {
        size_text(size): Look(style.COLOURS[i % 10], style.MARKERS[i % 11]) for i, size in enumerate(sizes)
    }
    caption = "Lost datagrams in percent against the rate of sending, by size of the datagrams."

    def draw(axes: Axes, own: pd.DataFrame, drawing: Drawing) -> None:
        for size, curve in own.groupby("bytes"):
            look, curve = chosen[size_text(size)], curve.sort_values("sent_MBps")
            axes.plot(curve["sent_MBps"], curve["lost_percent"], color=look.colour, linewidth=1.0)
            points = []
            for sent, lost in zip(curve["sent_MBps"], curve["lost_percent"], strict=True):
                text = f"{size_text(size)}: {number(sent)} MB/s sent, {number(lost)} % lost"
                points.append(Point(sent, lost, look, text=text))
            draw_points(drawing, axes, points, size=3.2)
        log_axis(axes, list(own["sent_MBps"]), horizontal=True)
        axes.set_ylim(-3, max(10.0, 1.05 * float(rows["lost_percent"].max())))

    return _panels("transports-loss", caption, rows, draw, ("Sent (MB/s)", "Lost (%)"), _legend(chosen, rows))


def _line(
    axes: Axes,
    curve: pd.DataFrame,
    column: str,
    look: Look,
    drawing: Drawing,
    text: str,
    hollow: bool = False,
) -> None:
    curve = curve[curve[column].notna() & (curve[column] > 0)].sort_values("bytes")
    if curve.empty:
        return
    places, kind = positions(curve["bytes"]), curve["kind"].iloc[0]
    axes.plot(places, curve[column], color=look.colour, linestyle=style.line_of(kind), linewidth=1.0)
    points = []
    for place, size, value in zip(places, curve["bytes"], curve[column], strict=True):
        hover = f"{size_text(size)}, {text.format(number(value))}"
        points.append(Point(place, value, look, text=hover, hollow=hollow))
    draw_points(drawing, axes, points, size=3.4)


def _legend(chosen: dict[str, Look], rows: pd.DataFrame) -> tuple[list[Line2D], list[str]]:
    kinds = set(rows["kind"])
    line = style.line_of(next(iter(kinds))) if len(kinds) == 1 else "-"
    handles = [
        Line2D([], [], color=look.colour, marker=look.marker, linestyle=line) for look in chosen.values()
    ]
    return handles, [NAMES.get(name, name) for name in chosen]


def _panels(
    name: str,
    caption: str,
    rows: pd.DataFrame,
    draw: Callable[[Axes, pd.DataFrame, Drawing], None],
    axis_titles: tuple[str, str],
    legend: tuple[list[Line2D], list[str]],
) -> Drawing:
    titles = list(dict.fromkeys(rows["panel"]))
    columns = min(COLUMNS, len(titles))
    lines = -(-len(titles) // columns)
    height, width = HEIGHT * lines + 0.35, style.WIDTH if columns > 1 else 0.6 * style.WIDTH
    with new_drawing(name, "network_transports", height, caption, width=width) as drawing:
        for axes, title in zip(drawing.panels(len(titles), columns), titles, strict=True):
            draw(axes, rows[rows["panel"] == title], drawing)
            axes.set_title(shortened(title, 40))
            axes.set_xlabel(axis_titles[0])
            axes.set_ylabel(axis_titles[1])
        drawing.figure.legend(*legend, loc="outside lower center", ncols=min(6, len(legend[1])))
    return drawing
