"""Transports below MPI: latency, streams sent and received, and what is lost at rising rates."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.figures import style
from analysis.figures.axes import log_axis
from analysis.figures.drawing import Drawing, canvas, dot, shortened
from analysis.figures.sizes import positions, size_axis
from analysis.figures.style import FigureLabels, Look
from analysis.text.formats import number
from analysis.text.network_words import size_text
from analysis.text.transports import NAMES

HEIGHT = 2.0
COLUMNS = 2


def transport_figures(table: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw what the table ``network_transports`` carries: a panel an interconnect, a colour a transport.

    Returns
    -------
    list of Drawing
        Their topic is ``network_transports``: latency by message size; streams by message size; loss by rate.
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
        "Streams below MPI in one direction, as fast as can be, against the message size: hollow what was "
        "sent, filled what was received. Where the two part, messages were lost."
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
    caption = "Datagrams that were lost, in percent, against the rate at which they were sent, by their size."

    def draw(axes: Axes, own: pd.DataFrame, drawing: Drawing) -> None:
        for size, curve in own.groupby("bytes"):
            look, curve = chosen[size_text(size)], curve.sort_values("sent_MBps")
            axes.plot(curve["sent_MBps"], curve["lost_percent"], color=look.colour, linewidth=1.0)
            for sent, lost in zip(curve["sent_MBps"], curve["lost_percent"], strict=True):
                text = f"{size_text(size)}: {number(sent)} MB/s sent, {number(lost)} % lost"
                drawing.mark(dot(axes, sent, lost, look, markersize=3.2), text=text)
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
    for place, size, value in zip(places, curve["bytes"], curve[column], strict=True):
        point = dot(axes, place, value, look, hollow, markersize=3.4)
        drawing.mark(point, text=f"{size_text(size)}, {text.format(number(value))}")


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
    with mpl.rc_context(style.RC):
        figure = canvas(HEIGHT * lines + 0.35, style.WIDTH if columns > 1 else 0.6 * style.WIDTH)
        drawing = Drawing(name, "network_transports", figure, caption, caption)
        grid = figure.subplots(lines, columns, squeeze=False)
        for axes, title in zip(grid.flat, titles, strict=False):
            draw(axes, rows[rows["panel"] == title], drawing)
            axes.set_title(shortened(title, 40))
            axes.set_xlabel(axis_titles[0])
            axes.set_ylabel(axis_titles[1])
        for axes in grid.flat[len(titles) :]:
            axes.set_axis_off()
        figure.legend(*legend, loc="outside lower center", ncols=min(6, len(legend[1])))
    return drawing
