"""Traffic patterns: accepted against offered load, bandwidth of each process, slowdown of the other job."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.figures import style
from analysis.figures.drawing import Drawing, canvas, dot, shortened
from analysis.figures.legend import add_legend
from analysis.figures.style import FigureLabels
from analysis.text.formats import counted, number
from analysis.text.traffic import with_titles

COLUMNS = 4
ROW_HEIGHT = 1.35
TITLE_LETTERS = 24

Draw = Callable[[Axes, pd.DataFrame, Drawing], None]


def traffic_figures(tables: Mapping[str, pd.DataFrame], labels: FigureLabels) -> list[Drawing]:
    """Draw every figure of traffic patterns that the tables carry.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        Those of `analysis.networks.traffic.TRAFFIC_TABLES` that the study has.

    Returns
    -------
    list of Drawing
        Their topic is ``traffic``: loads at every process count; the processes and the slowdown at the
        largest.
    """
    if "traffic" not in tables:
        return []
    traffic, clients = (
        with_titles(labels.in_order(tables[name], "case")) for name in ("traffic", "traffic_processes")
    )
    alone = traffic[traffic["pattern"] != "combined"]
    drawings = [_load_figure(int(count), rows, labels) for count, rows in alone.groupby("processes")]
    clients = clients[
        (clients["pattern"] != "combined") & (clients["processes"] == clients["processes"].max())
    ]
    beside = traffic[traffic["slowdown"].notna() & (traffic["processes"] == traffic["processes"].max())]
    drawings += [_process_figure(clients, labels)] if len(clients) else []
    return drawings + ([_slowdown_figure(beside, labels)] if len(beside) else [])


def _panels(
    name: str,
    caption: str,
    rows: pd.DataFrame,
    draw: Draw,
    axis_titles: tuple[str, str],
    labels: FigureLabels,
    share: bool = True,
) -> Drawing:
    """A panel a pattern, its interconnects in each."""
    titles = list(dict.fromkeys(rows["title"]))
    columns = min(COLUMNS, len(titles))
    lines = -(-len(titles) // columns)
    with mpl.rc_context(style.RC):
        figure = canvas(ROW_HEIGHT * lines + 0.15, max(style.WIDTH * columns / COLUMNS, 0.6 * style.WIDTH))
        drawing = Drawing(name, "traffic", figure, caption, caption)
        grid = figure.subplots(lines, columns, sharex=True, sharey=share, squeeze=False)
        for axes, title in zip(grid.flat, titles, strict=False):
            draw(axes, rows[rows["title"] == title], drawing)
            axes.set_title(shortened(title, TITLE_LETTERS, lines=4))
        for axes in grid.flat[len(titles) :]:
            axes.set_axis_off()
        for index, axes in enumerate(grid.flat[: len(titles)]):
            if index + columns >= len(titles):
                axes.set_xlabel(axis_titles[0])
                axes.tick_params(labelbottom=True)
            if index % columns == 0:
                axes.set_ylabel(axis_titles[1])
        add_legend(drawing, rows, labels, ideal=False)
    return drawing


def _load_figure(count: int, rows: pd.DataFrame, labels: FigureLabels) -> Drawing:
    caption = (
        f"Accepted against offered load on {counted(count, 'process')}, pattern by pattern: "
        "bytes a second of a process over those of its link. The grey line is all that is offered."
    )
    if (rows["runs"] > 1).any():
        caption += " Bands reach from the lowest to the highest run."

    def draw(axes: Axes, own: pd.DataFrame, drawing: Drawing) -> None:
        highest = float(rows["offered_load"].max())
        axes.plot([0, highest], [0, highest], color=style.IDEAL, linewidth=0.8)
        for (name, _), curve in own.groupby(["interconnect", "kind"], sort=False):
            _draw(axes, curve, ("offered_load", "accepted_load"), drawing, labels)
            ends = (curve[f"accepted_load_{end}_run"].astype(float) for end in ("lowest", "highest"))
            band = axes.fill_between(
                curve["offered_load"], *ends, color=labels.look(name).colour, alpha=0.18, linewidth=0
            )
            drawing.mark(band, name)
        axes.set_xlim(0, 1.05 * highest)
        axes.set_ylim(0, 1.05 * max(highest, float(rows["accepted_load"].max())))

    titles = ("Offered load", "Accepted load")
    return _panels(f"traffic-load-{count}", caption, rows, draw, titles, labels)


def _draw(
    axes: Axes, rows: pd.DataFrame, columns: tuple[str, str], drawing: Drawing, labels: FigureLabels
) -> None:
    """Draw a curve with its points, whose values are shown on hover."""
    name, kind = rows[["interconnect", "kind"]].iloc[0]
    look, (along, up) = labels.look(name), columns
    (line,) = axes.plot(
        rows[along], rows[up].astype(float), color=look.colour, linestyle=style.line_of(kind), linewidth=1.0
    )
    drawing.mark(line, name)
    for row in rows.to_dict("records"):
        if pd.isna(row[up]):
            continue
        point = dot(axes, row[along], row[up], look, markersize=3.2)
        value = f"{along.replace('_', ' ')} {number(row[along])}: {up.replace('_', ' ')} {number(row[up])}"
        drawing.mark(point, name, f"{labels.interconnect(name, kind)}\n{row['title']}\n{value}")


def _process_figure(rows: pd.DataFrame, labels: FigureLabels) -> Drawing:
    """Bandwidth of every process at the highest offered load of its pattern."""
    highest = rows.groupby("title")["offered_load"].transform("max")
    rows = rows[rows["offered_load"] == highest]
    count = int(rows["processes"].iloc[0])
    caption = (
        f"Bandwidth that was accepted of each of {counted(count, 'process')} at the highest "
        "offered load. A level line is fair; a process without a point sends nothing in the pattern."
    )

    def draw(axes: Axes, own: pd.DataFrame, drawing: Drawing) -> None:
        for (name, _), clients in own.groupby(["interconnect", "kind"], sort=False):
            ranks, rates = clients["process"].astype(int), clients["accepted_MBps"]
            drawing.mark(dot(axes, ranks, rates, labels.look(name), markersize=2.2), name)
        axes.set_ylim(0, 1.1 * max(float(own["accepted_MBps"].max()), 1e-9))
        axes.set_xlim(-1, count)
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))

    titles = ("Process", "Accepted (MB/s)")
    return _panels("traffic-processes", caption, rows, draw, titles, labels, share=False)


def _slowdown_figure(rows: pd.DataFrame, labels: FigureLabels) -> Drawing:
    """Slowdown of the compute job beside the I/O job, at the compute job's highest load."""
    rows = rows[rows["offered_load"] == rows["offered_load"].max()]
    count = int(rows["processes"].iloc[0])
    caption = (
        f"Slowdown of a compute job beside an I/O job on {counted(count, 'process')} together: "
        "its accepted bandwidth alone over that beside the I/O job (1: none), against the I/O job's offered "
        "load, by the placement of the I/O nodes."
    )

    def draw(axes: Axes, own: pd.DataFrame, drawing: Drawing) -> None:
        axes.axhline(1, color=style.IDEAL, linewidth=0.8)
        for _, curve in own.groupby(["interconnect", "kind"], sort=False):
            _draw(axes, curve, ("beside_load", "slowdown"), drawing, labels)
        axes.set_ylim(0, 1.1 * max(1.0, float(rows["slowdown"].max())))
        axes.set_xlim(0, 1.1 * float(rows["beside_load"].max()))

    titles = ("Load of the I/O job", "Slowdown")
    return _panels("traffic-slowdown", caption, rows, draw, titles, labels)
