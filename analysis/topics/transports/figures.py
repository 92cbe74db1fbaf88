"""Transports below MPI: latency, streams sent and received, and losses at rising rates."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pandas as pd
from matplotlib.axes import Axes

from analysis.presentation import style
from analysis.presentation.axes import log_axis
from analysis.presentation.drawing import Drawing, new_drawing, shortened
from analysis.presentation.formats import number
from analysis.presentation.legend import add_look_legend
from analysis.presentation.marks import Point, draw_curve
from analysis.presentation.network_words import size_text
from analysis.presentation.size_axes import positions, size_axis
from analysis.presentation.style import FigureLabels, Look
from analysis.topics.transports.words import NAMES

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
    pairs = zip(table["interconnect"], table["kind"], strict=True)
    table = table.assign(
        panel=[labels.interconnect(*pair) for pair in pairs],
        transport=[NAMES.get(name, name) for name in table["transport"]],
    )
    looks = _looks(table["transport"])
    sized = table[table["bytes"].notna()]
    trips = sized[(sized["test"] == "pingpong") & sized["latency_us"].notna()]
    streams = sized[(sized["test"] == "stream") & sized["offered_MBps"].isna()]
    paced = sized[(sized["test"] == "stream") & sized["offered_MBps"].notna()]
    drawings = []
    for draw, rows in ((_latency, _curves(trips)), (_streams, _curves(streams))):
        if len(rows):
            present = dict.fromkeys(rows["transport"])
            drawings.append(draw(rows, {name: looks[name] for name in present}))
    if len(paced):
        drawings.append(_loss(paced, _looks(map(size_text, sorted(paced["bytes"].unique())))))
    return drawings


def _looks(names: Iterable[str]) -> dict[str, Look]:
    return {
        name: Look(style.COLOURS[i % len(style.COLOURS)], style.MARKERS[i % len(style.MARKERS)])
        for i, name in enumerate(dict.fromkeys(names))
    }


def _curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Select the panels that have several message sizes."""
    return rows[rows.groupby("panel")["bytes"].transform("nunique") > 1]


def _latency(rows: pd.DataFrame, looks: dict[str, Look]) -> Drawing:
    caption = (
        "Latency below MPI and of MPI: half a round trip against the message size, median over the round "
        "trips of a run and over runs."
    )

    def draw(axes: Axes, panel: pd.DataFrame, drawing: Drawing) -> None:
        for name, curve in panel.groupby("transport", sort=False):
            _draw(axes, curve, "latency_us", looks[name], drawing, f"{name}: {{}} µs")
        size_axis(axes, rows["bytes"], narrow=True)
        log_axis(axes, list(rows["latency_us"]))

    return _figure("transports-latency", caption, rows, looks, ("Message", "Latency (µs)"), draw)


def _streams(rows: pd.DataFrame, looks: dict[str, Look]) -> Drawing:
    caption = (
        "Streams below MPI in one direction, at full speed, against the message size: sent (hollow) and "
        "received (filled). Messages were lost where the two differ."
    )

    def draw(axes: Axes, panel: pd.DataFrame, drawing: Drawing) -> None:
        for name, curve in panel.groupby("transport", sort=False):
            _draw(axes, curve, "received_MBps", looks[name], drawing, f"{name}: {{}} MB/s received")
            if (curve["sent_MBps"] != curve["received_MBps"]).any():
                _draw(axes, curve, "sent_MBps", looks[name], drawing, f"{name}: {{}} MB/s sent", hollow=True)
        size_axis(axes, rows["bytes"], narrow=True)
        log_axis(axes, [*rows["sent_MBps"].dropna(), *rows["received_MBps"].dropna()])

    return _figure("transports-streams", caption, rows, looks, ("Message", "MB/s"), draw)


def _loss(rows: pd.DataFrame, looks: dict[str, Look]) -> Drawing:
    caption = "Lost datagrams in percent against the rate of sending, by size of the datagrams."

    def draw(axes: Axes, panel: pd.DataFrame, drawing: Drawing) -> None:
        for size, curve in panel.sort_values("sent_MBps").groupby("bytes"):
            points = []
            for sent, lost in zip(curve["sent_MBps"], curve["lost_percent"], strict=True):
                text = f"{size_text(size)}: {number(sent)} MB/s sent, {number(lost)} % lost"
                points.append(Point(sent, lost, looks[size_text(size)], None, text))
            draw_curve(drawing, axes, points, "-", size=3.2)
        log_axis(axes, list(panel["sent_MBps"]), horizontal=True)
        axes.set_ylim(-3, max(10.0, 1.05 * float(rows["lost_percent"].max())))

    return _figure("transports-loss", caption, rows, looks, ("Sent (MB/s)", "Lost (%)"), draw)


def _draw(
    axes: Axes,
    curve: pd.DataFrame,
    column: str,
    look: Look,
    drawing: Drawing,
    text: str,
    hollow: bool = False,
) -> None:
    curve = curve[curve[column].notna() & (curve[column] > 0)].sort_values("bytes")
    points, columns = [], (positions(curve["bytes"]), curve["bytes"], curve[column])
    for place, size, value in zip(*columns, strict=True):
        points.append(Point(place, value, look, None, f"{size_text(size)}, {text.format(number(value))}"))
    draw_curve(drawing, axes, points, style.line_of(curve["kind"].max()), hollow=hollow, size=3.4)


def _figure(
    name: str,
    caption: str,
    rows: pd.DataFrame,
    looks: dict[str, Look],
    axis_titles: tuple[str, str],
    draw: Callable[[Axes, pd.DataFrame, Drawing], None],
) -> Drawing:
    panels = dict(list(rows.groupby("panel", sort=False)))
    columns = min(COLUMNS, len(panels))
    height, width = HEIGHT * -(-len(panels) // columns), style.WIDTH * (1 if columns > 1 else 0.6)
    with new_drawing(name, "network_transports", height, caption, width=width) as drawing:
        grid = drawing.panels(len(panels), columns, axis_titles)
        for axes, (title, panel) in zip(grid, panels.items(), strict=True):
            draw(axes, panel, drawing)
            axes.set_title(shortened(title, 40))
        kinds = set(rows["kind"])
        line = style.line_of(kinds.pop()) if len(kinds) == 1 else "-"
        add_look_legend(drawing, looks, line, min(6, len(looks)))
    return drawing
