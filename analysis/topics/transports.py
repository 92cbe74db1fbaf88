"""How fast are the transports of an interconnect below MPI, and how many messages do they lose?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import cycle

import pandas as pd
from matplotlib.axes import Axes

from analysis.presentation import formats, style
from analysis.presentation.axes import log_axis
from analysis.presentation.blocks import Block, Section, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.drawing import Drawing, new_drawing, shortened
from analysis.presentation.formats import MISSING, number
from analysis.presentation.legend import add_look_legend
from analysis.presentation.marks import Point, draw_curve
from analysis.presentation.network_words import size_text
from analysis.presentation.rows import line_table, numbers, texts
from analysis.presentation.size_axes import positions, size_axis
from analysis.presentation.style import FigureLabels, Look
from analysis.runs.columns import (
    COUNT,
    NOTE,
    POSITIVE,
    TEXT,
    described,
    table_schema,
    validated,
    with_descriptions,
)
from analysis.runs.frames import Tables, is_missing
from analysis.runs.side_tables import RATE, RUN, WHOLE
from analysis.topics.network.curves import NETWORK, powers_only
from analysis.topics.topic import Context, Topic, View

NAMES = {
    "tcp": "TCP",
    "udp": "UDP",
    "mpi": "MPI",
    "rc": "reliable connection",
    "uc": "unreliable connection",
    "ud": "unreliable datagrams",
    "xrc": "extended reliable connection",
    "ipoib": "IP over InfiniBand",
    "verbs": "verbs",
}
"""Names of transports in the report."""

POINT = ("site", "case", "interconnect", "kind", "oversubscription", "nodes", "processes")
TEST = ("transport", "test", "bytes")
_RATES = ("offered_MBps", "sent_MBps", "received_MBps", "lost_percent")
_LATENCIES = ("latency_us", "latency_us_p5", "latency_us_p95")
_BUSY = ("sender_busy", "receiver_busy")

TRANSPORT_TABLE = table_schema(
    "network_transports",
    "One row per transport, test and message size: TCP and UDP of case `sockets`, imported "
    "results of other programs, published values, and for comparison the ping-pong of MPI.",
    interconnect=NOTE,
    kind=TEXT,
    transport=described(
        TEXT,
        "`tcp`, `udp`, `mpi`; for InfiniBand `rc`, `uc` (reliable and unreliable connection), "
        "`ud` (datagrams), `verbs`, `ipoib`.",
    ),
    test=described(TEXT, "`pingpong`; `stream` in one direction; `both_ways` at once."),
    bytes=described(WHOLE, "Bytes per message; empty if the source does not state it."),
    **with_descriptions(
        dict.fromkeys(_RATES, RATE),
        offered_MBps="Requested rate of datagrams; empty at full speed.",
        sent_MBps="Rate at the sender, 10⁶ bytes/s.",
        received_MBps="Rate at the receiver, 10⁶ bytes/s.",
        lost_percent="Messages that were not received, in percent of those sent.",
    ),
    **with_descriptions(
        dict.fromkeys(_LATENCIES, POSITIVE),
        latency_us="Half a round trip, median over runs.",
        latency_us_p5="5th percentile over the round trips of a run.",
        latency_us_p95="95th percentile.",
    ),
    **with_descriptions(
        dict.fromkeys(_BUSY, RATE),
        sender_busy="Cores that the sending program kept busy.",
        receiver_busy="Cores that the receiving program kept busy.",
    ),
    program=described(NOTE, "Program that measured the transport."),
    n=described(COUNT, "Messages sent, or round trips, over all runs."),
    runs=described(COUNT, "Runs."),
    processes=COUNT,
    oversubscription=COUNT,
    nodes=COUNT,
    case=NOTE,
    imported_from=NOTE,
)
"""Schema of the table with a row per transport, test and message size."""

PUBLISHED_VALUES = {
    ("UD sent", "bandwidth"): ("ud", "stream", "sent_MBps"),
    ("UD received", "bandwidth"): ("ud", "stream", "received_MBps"),
    ("reliable", "bandwidth"): ("rc", "stream", "received_MBps"),
    **{
        (path, quantity): (path, test, column)
        for path in ("ipoib", "verbs")
        for quantity, test, column in (
            ("max bidirectional bandwidth", "both_ways", "received_MBps"),
            ("min latency", "pingpong", "latency_us"),
        )
    },
}
"""Transport, test and column of a published statement about a link, by its path and quantity."""
_UNITS = {"Gbit/s": 125.0, "us": 1.0}
"""Factors from published units to MB/s and µs."""

HEIGHT = 2.0
"""Height of a row of panels, in inches."""
COLUMNS = 2

HOW = (
    "MPI uses one of these transports. A reliable transport repeats lost messages. An unreliable transport "
    "does not repeat lost messages, so sent and received rates may differ. Both rates are bytes / the time "
    "of sending. Nodeworth measures TCP and UDP between two processes. Results of other transports are "
    "imported or published. “Busy” is the number of cores that the program itself used. The table also shows "
    "the ping-pong of MPI."
)


def make_transports(context: Context) -> Tables:
    """Make the table ``network_transports`` from measured, imported and published results."""
    network = context.tables.get("network", context.network_imports)
    rows = context.side_tables["transports"]
    return {"network_transports": make_transport_table(context.runs, rows, context.published, network)}


def make_transport_table(
    runs: pd.DataFrame,
    details: pd.DataFrame,
    published: Mapping[str, pd.DataFrame],
    network: pd.DataFrame,
) -> pd.DataFrame:
    """Join measured, imported and published results of transports, and the ping-pongs of MPI.

    Parameters
    ----------
    runs : DataFrame
        With the columns of `RUN` and `POINT`.
    details : DataFrame
        Side table ``transports``, with a row per run, transport, test and message size.
    published : mapping of str to DataFrame
        The function reads ``transports``, the results of other programs, and ``link_statements``.
    network : DataFrame
        Columns of `analysis.topics.network.curves.NETWORK`.

    Returns
    -------
    DataFrame
        Columns of `TRANSPORT_TABLE`; no rows if no transport was measured, imported or published.
    """
    imported = published.get("transports", pd.DataFrame()).rename(columns={"source": "imported_from"})
    statements = published.get("link_statements", pd.DataFrame())
    sources = (_measured(runs, details), imported, _from_statements(statements))
    tables = [table for table in sources if len(table)]
    if not tables:
        return validated(TRANSPORT_TABLE, pd.DataFrame())
    names = {name for table in tables for name in table["interconnect"]}
    tables.append(_mpi_pingpongs(network[network["interconnect"].isin(names)]))
    return validated(TRANSPORT_TABLE, pd.concat(tables, ignore_index=True))


def _measured(runs: pd.DataFrame, details: pd.DataFrame) -> pd.DataFrame:
    """Summarise the measured tests of each point: medians over runs."""
    frame = runs.reindex(columns=[*RUN, *POINT]).merge(details, on=list(RUN))
    if frame.empty:
        return frame
    # Offered rates are shares of TCP's rate in the same run, so they differ from run to run. The lowest rate
    # of a run is matched with the lowest rate of the other runs, and so on.
    rank = frame.groupby([*RUN, *TEST], dropna=False)["offered_MBps"].rank()
    frame = frame.rename(columns={"latency_us_p50": "latency_us"}).assign(rank=rank.fillna(0))
    groups = frame.groupby([*POINT, *TEST, "rank"], dropna=False, sort=False)
    table = groups.agg(
        **{name: (name, "median") for name in (*_RATES, *_LATENCIES, *_BUSY)},
        n=("n", "sum"),
        runs=("n", "size"),
    )
    return table.reset_index().assign(program="sockets")


def _from_statements(statements: pd.DataFrame) -> pd.DataFrame:
    """Return the published statements about links that name a transport, one row per transport and test."""
    rows: dict[tuple[str, str, str], dict[str, object]] = {}
    for statement in statements.to_dict("records"):
        if (statement["path"], statement["quantity"]) not in PUBLISHED_VALUES:
            continue
        transport, test, column = PUBLISHED_VALUES[statement["path"], statement["quantity"]]
        name = f"infiniband_{str(statement['rate']).lower()}"
        row = rows.setdefault(
            (name, transport, test),
            {"interconnect": name, "kind": "published", "transport": transport, "test": test},
        )
        row[column] = statement["value"] * _UNITS[statement["unit"]]
        row["imported_from"] = statement["source"]
    table = pd.DataFrame(list(rows.values()))
    if {"sent_MBps", "received_MBps"} <= set(table):
        table["lost_percent"] = 100 * (1 - table["received_MBps"] / table["sent_MBps"])
    return table


def _mpi_pingpongs(network: pd.DataFrame) -> pd.DataFrame:
    rows = powers_only(network[network["benchmark"] == "pingpong"])
    rows = rows.reindex(columns=[name for name in NETWORK.columns if name in TRANSPORT_TABLE.columns])
    return rows.assign(transport="mpi", test="pingpong", program="pingpong")


def best_of_transports(table: pd.DataFrame) -> pd.DataFrame:
    """Summarise each transport of an interconnect.

    Parameters
    ----------
    table : DataFrame
        Table ``network_transports``.

    Returns
    -------
    DataFrame
        One row per interconnect, kind, transport, oversubscription and file. ``latency_us`` is the lowest
        latency. ``bytes``, the rates, ``lost_percent`` and the busy columns belong to the fastest stream in
        one direction. ``received_both_ways_MBps`` is the highest rate in both directions.
    """
    rows = []
    key = ["interconnect", "kind", "transport", "oversubscription", "imported_from"]
    for values, group in table.groupby(key, dropna=False, sort=False):
        streams = group[group["test"] == "stream"]
        rates = streams["received_MBps"].fillna(streams["sent_MBps"])
        fastest = streams.iloc[rates.argmax()] if rates.notna().any() else pd.Series()
        rows.append(
            {
                **dict(zip(key, values, strict=True)),
                "latency_us": group.loc[group["test"] == "pingpong", "latency_us"].min(),
                **{name: fastest.get(name) for name in ("bytes", *_RATES[1:], *_BUSY)},
                "received_both_ways_MBps": group.loc[group["test"] == "both_ways", "received_MBps"].max(),
            }
        )
    return pd.DataFrame(rows)


def transport_figures(table: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the table ``network_transports``, with one panel per interconnect and one colour per transport.

    Returns
    -------
    list of Drawing
        Latency by message size, streams by message size, and loss by rate.
    """
    table = labels.in_order(table, "interconnect")
    pairs = zip(table["interconnect"], table["kind"], strict=True)
    table = table.assign(
        panel=[labels.interconnect(*pair) for pair in pairs],
        transport=[NAMES.get(name, name) for name in table["transport"]],
    )
    looks = _looks(table["transport"])
    with_size = table[table["bytes"].notna()]
    pingpongs = with_size[(with_size["test"] == "pingpong") & with_size["latency_us"].notna()]
    streams = with_size[with_size["test"] == "stream"]
    has_offered_rate = streams["offered_MBps"].notna()
    at_full_speed, at_offered_rates = streams[~has_offered_rate], streams[has_offered_rate]
    drawings = []
    for draw, rows in ((_latency, _with_curves(pingpongs)), (_streams, _with_curves(at_full_speed))):
        if len(rows):
            present = dict.fromkeys(rows["transport"])
            drawings.append(draw(rows, {name: looks[name] for name in present}))
    if len(at_offered_rates):
        sizes = sorted(at_offered_rates["bytes"].unique())
        drawings.append(_loss(at_offered_rates, _looks(map(size_text, sizes))))
    return drawings


def _looks(names: Iterable[str]) -> dict[str, Look]:
    """Choose a colour and a marker for each name, in the order of the names."""
    return {
        name: Look(colour, marker)
        for name, colour, marker in zip(dict.fromkeys(names), cycle(style.COLOURS), cycle(style.MARKERS))
    }


def _with_curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Select the rows of panels with several message sizes, which a curve can join."""
    return rows[rows.groupby("panel")["bytes"].transform("nunique") > 1]


def _latency(rows: pd.DataFrame, looks: dict[str, Look]) -> Drawing:
    """Draw the latency of each transport against the message size."""
    caption = (
        "Latency below MPI and of MPI against the message size. The latency is half a round trip. Nodeworth "
        "takes the median over the round trips of a run, and then over runs."
    )

    def draw(axes: Axes, panel: pd.DataFrame, drawing: Drawing) -> None:
        for transport, curve in panel.groupby("transport", sort=False):
            name = str(transport)
            _draw(axes, curve, "latency_us", looks[name], drawing, f"{name}: {{}} µs")
        size_axis(axes, rows["bytes"], narrow=True)
        log_axis(axes, list(rows["latency_us"]))

    return _figure("transports-latency", caption, rows, looks, ("Message", "Latency (µs)"), draw)


def _streams(rows: pd.DataFrame, looks: dict[str, Look]) -> Drawing:
    """Draw sent and received rates of each transport at full speed against the message size."""
    caption = (
        "Rate of streams below MPI in one direction at full speed, against the message size. Hollow points "
        "are sent rates. Filled points are received rates. Messages were lost where sent and received rates "
        "differ."
    )

    def draw(axes: Axes, panel: pd.DataFrame, drawing: Drawing) -> None:
        for transport, curve in panel.groupby("transport", sort=False):
            name = str(transport)
            _draw(axes, curve, "received_MBps", looks[name], drawing, f"{name}: {{}} MB/s received")
            if (curve["sent_MBps"] != curve["received_MBps"]).any():
                _draw(
                    axes,
                    curve,
                    "sent_MBps",
                    looks[name],
                    drawing,
                    f"{name}: {{}} MB/s sent",
                    hollow=True,
                )
        size_axis(axes, rows["bytes"], narrow=True)
        log_axis(axes, [*rows["sent_MBps"].dropna(), *rows["received_MBps"].dropna()])

    return _figure("transports-streams", caption, rows, looks, ("Message", "MB/s"), draw)


def _loss(rows: pd.DataFrame, looks: dict[str, Look]) -> Drawing:
    """Draw the lost messages against the rate of sending, by message size."""
    caption = "Lost datagrams in percent against the rate of sending, by size of the datagrams."

    def draw(axes: Axes, panel: pd.DataFrame, drawing: Drawing) -> None:
        for _, curve in panel.sort_values("sent_MBps").groupby("bytes"):
            points, size = [], size_text(curve["bytes"].iloc[0])
            for sent, lost in zip(curve["sent_MBps"], curve["lost_percent"], strict=True):
                text = f"{size}: {number(sent)} MB/s sent, {number(lost)} % lost"
                points.append(Point(sent, lost, looks[size], None, text))
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
    """Draw a column of a curve against the message size; `text` has braces for the value on hover."""
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
    """Make a figure with a panel per value of column ``panel``; `draw` draws a panel from its rows."""
    panels = dict(list(rows.groupby("panel", sort=False)))
    columns = min(COLUMNS, len(panels))
    height, width = HEIGHT * math.ceil(len(panels) / columns), style.WIDTH * (1 if columns > 1 else 0.6)
    with new_drawing(name, "network_transports", height, caption, width=width) as drawing:
        grid = drawing.panels(len(panels), columns, axis_titles)
        for axes, (title, panel) in zip(grid, panels.items(), strict=True):
            draw(axes, panel, drawing)
            axes.set_title(shortened(str(title), 40))
        kinds = set(rows["kind"])
        line = style.line_of(kinds.pop()) if len(kinds) == 1 else "-"
        add_look_legend(drawing, looks, line, min(6, len(looks)))
    return drawing


def transports(content: Content) -> Section | None:
    """Write the section on transports below MPI."""
    if "network_transports" not in content.tables:
        return None
    table = content.tables["network_transports"]
    best = content.labels.in_order(best_of_transports(table), "interconnect")
    blocks = [paragraph(HOW), *content.figures("network_transports"), _table(best, content)]
    return section("network-transports", "Transports below MPI", blocks)


def _table(best: pd.DataFrame, content: Content) -> Block:
    """Tabulate the best results of each transport: see `best_of_transports`."""

    def rate(value: float) -> str:
        return MISSING if is_missing(value) else number(value)

    def size(value: float) -> str:
        return MISSING if is_missing(value) else size_text(value)

    fields = [
        texts("Interconnect", content.labels.interconnect, "interconnect", "kind"),
        texts("Transport", lambda name: NAMES.get(name, name), "transport"),
        numbers("Latency (µs)", rate, "latency_us"),
        numbers("Sent (MB/s)", rate, "sent_MBps"),
        numbers("Received", rate, "received_MBps"),
        numbers("Lost", loss_text, "lost_percent"),
        numbers("at", size, "bytes"),
        numbers("Both ways (MB/s)", rate, "received_both_ways_MBps"),
        numbers("Busy, sender", rate, "sender_busy"),
        numbers("receiver", rate, "receiver_busy"),
        texts("From", lambda file: "" if is_missing(file) else file, "imported_from"),
    ]
    caption = (
        "The best results of each transport. Latency is the lowest half round trip. Columns “Sent”, "
        "“Received”, “Lost” and “Busy” describe the fastest stream in one direction. File "
        "tables/network_transports.csv has all sizes and rates."
    )
    return line_table(caption, fields, best.to_dict("records"), of_cases=False)


def loss_text(percent: float | None) -> str:
    """Write a share of lost messages in percent, with one decimal below 10 %."""
    if percent is None or is_missing(percent):
        return MISSING
    return formats.percent(percent, places=1 if 0 < percent < 10 else 0)


def draw_transports(view: View) -> list[Drawing]:
    """Draw latency, rate and loss of each transport."""
    if "network_transports" not in view.tables:
        return []
    return transport_figures(view.tables["network_transports"], view.labels)


TOPIC = Topic(
    name="transports",
    schemas={"network_transports": TRANSPORT_TABLE},
    make=make_transports,
    needs=("network",),
    draw=draw_transports,
    section=transports,
    needs_runs=False,
)
