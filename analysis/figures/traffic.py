"""Traffic patterns: accepted load, bandwidth by message size, nodes and process, jobs side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from analysis.figures import style
from analysis.figures.axes import count_axis
from analysis.figures.congestion import SHADES
from analysis.figures.drawing import Drawing, file_stem, new_drawing, shortened
from analysis.figures.legend import add_legend
from analysis.figures.points import Point, draw_points
from analysis.figures.sizes import positions, size_axis
from analysis.figures.style import FigureLabels
from analysis.networks.traffic import cases_that_vary
from analysis.text.formats import counted, number
from analysis.text.network_words import size_text
from analysis.text.traffic import distribution_words, nodes_words, with_titles

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
        Their topic is ``traffic``: loads at every process count; all else at the largest, but what is drawn
        against the processes.
    """
    if "traffic" not in tables:
        return []
    traffic, clients = (labels.in_order(tables[name], "case") for name in ("traffic", "traffic_processes"))
    spread, sized = (
        cases_that_vary(traffic, choices) for choices in (["sizes", "intervals"], ["mean_bytes"])
    )
    one_job = traffic[traffic["pattern"] != "combined"]
    alone = with_titles(one_job[~one_job["case"].isin(spread | sized)])
    most = traffic[traffic["processes"] == traffic["processes"].max()]
    clients = clients[
        clients["case"].isin(alone["case"]) & (clients["processes"] == clients["processes"].max())
    ]
    compute = most[(most["pattern"] == "combined") & (most["job"] == "compute")]
    parts: list[tuple[pd.DataFrame, Callable[[pd.DataFrame, FigureLabels], list[Drawing]]]] = [
        (alone, _node_figures),
        (most[most["case"].isin(sized) & (most["pattern"] != "combined")], _size_figures),
        (most[most["case"].isin(spread)], _distribution_figures),
        (with_titles(clients), _process_figures),
        (compute, _combined_figures),
        (with_titles(compute[compute["slowdown"].notna()]), _slowdown_figures),
        (compute[compute["slowdown"].notna()], _map_figures),
    ]
    drawings = [_load_figure(int(count), rows, labels) for count, rows in alone.groupby("processes")]
    return drawings + [drawing for rows, draw in parts if len(rows) for drawing in draw(rows, labels)]


def _panels(
    name: str,
    caption: str,
    rows: pd.DataFrame,
    draw: Draw,
    axis_titles: tuple[str, str],
    labels: FigureLabels,
    share: bool = True,
    legend: Callable[[Drawing], None] | None = None,
) -> Drawing:
    """Draw one panel per title, with a legend of the interconnects or another `legend`."""
    titles = list(dict.fromkeys(rows["title"]))
    columns = min(COLUMNS, len(titles))
    height, width = ROW_HEIGHT * -(-len(titles) // columns) + 0.15, style.WIDTH * columns / COLUMNS
    with new_drawing(name, "traffic", height, caption, width=max(width, 0.6 * style.WIDTH)) as drawing:
        grid = drawing.panels(len(titles), COLUMNS, axis_titles, sharex=True, sharey=share)
        for axes, title in zip(grid, titles, strict=True):
            draw(axes, rows[rows["title"] == title], drawing)
            axes.set_title(shortened(title, TITLE_LETTERS, lines=4))
        if legend is None:
            add_legend(drawing, rows, labels, ideal=False)
        else:
            legend(drawing)
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


def _node_figures(rows: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Highest bandwidth against the processes, where there are several counts."""
    counts = sorted(rows["processes"].unique())
    if len(counts) < 2:
        return []
    key = ["title", "interconnect", "kind", "processes"]
    best = _bandwidth(rows).groupby(key, sort=False, as_index=False)["MBps"].max()
    caption = (
        "Highest accepted bandwidth over all offered loads against the number of processes: of a process, "
        "or of an I/O node where the pattern has such. A level line is a network that grows with its nodes."
    )

    def draw(axes: Axes, own: pd.DataFrame, drawing: Drawing) -> None:
        for _, curve in own.groupby(["interconnect", "kind"], sort=False):
            _draw(axes, curve, ("processes", "MBps"), drawing, labels)
        count_axis(axes, counts, style.WIDTH / COLUMNS)
        axes.set_ylim(0, 1.1 * max(float(own["MBps"].max()), 1e-9))

    titles = ("Processes", "Highest (MB/s)")
    return [_panels("traffic-nodes", caption, best, draw, titles, labels, share=False)]


def _size_figures(rows: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Bandwidth against the mean size of messages, at the highest offered load."""
    rows = _bandwidth(with_titles(rows, unnamed=["mean_bytes"]))
    highest = rows.groupby(["title", "mean_bytes"])["offered_load"].transform("max")
    rows = rows[rows["offered_load"] == highest].sort_values("mean_bytes", kind="stable")
    rows = rows.assign(place=positions(rows["mean_bytes"]))
    count = int(rows["processes"].iloc[0])
    caption = (
        f"Accepted bandwidth on {counted(count, 'process')} at the highest offered load against the mean "
        "size of messages: of a process, or of an I/O node where the pattern has such. A load of 1 is what "
        "a link carries of messages of that size."
    )

    def draw(axes: Axes, own: pd.DataFrame, drawing: Drawing) -> None:
        for _, curve in own.groupby(["interconnect", "kind"], sort=False):
            _draw(axes, curve, ("place", "MBps"), drawing, labels, curve["mean_bytes"].map(size_text))
        size_axis(axes, rows["mean_bytes"], narrow=True)
        axes.set_ylim(0, 1.1 * max(float(own["MBps"].max()), 1e-9))

    titles = ("Mean message", "Accepted (MB/s)")
    return [_panels("traffic-sizes", caption, rows, draw, titles, labels, share=False)]


def _bandwidth(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the bandwidth that a pattern is judged by: of an I/O node where it has such, else of a process."""
    return rows.assign(MBps=rows["accepted_MBps"].where(rows["job"] == "compute", rows["target_MBps"]))


def _distribution_figures(rows: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Accepted against offered load by the distributions of sizes and intervals."""
    rows = with_titles(rows, unnamed=["sizes", "intervals"]).assign(curve=distribution_words)
    count = int(rows["processes"].iloc[0])
    drawings = []
    for (name, kind), own in rows.groupby(["interconnect", "kind"], sort=False):
        caption = (
            f"Accepted against offered load on {counted(count, 'process')} over "
            f"{labels.interconnect(name, kind)}, by the distributions of message sizes (S) and of the times "
            "between messages (T)."
        )
        stem, columns = file_stem("traffic", "distributions", name), ("offered_load", "accepted_load")
        drawings.append(_curves(stem, caption, own, columns, ("Offered load", "Accepted load"), labels))
    return drawings


def _combined_figures(rows: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Load of the compute job, alone and beside the I/O job: accepted against offered, by interconnect."""
    if rows["offered_load"].nunique() < 2:
        return []
    alone, beside = rows[rows["beside_load"].isna()], rows[rows["beside_load"].notna()]
    shown = []
    for (load, mapping), own in beside.groupby(["beside_load", "application_mapping"]):
        title = f"{mapping} I/O nodes, I/O load {number(load)}"
        best = alone[alone["application_mapping"] == mapping]
        best = best.groupby(["interconnect", "kind", "offered_load"], as_index=False)[
            "accepted_MBps"
        ].median()
        shown += [best.assign(title=title, curve="no I/O job"), own.assign(title=title, curve=nodes_words)]
    count = int(rows["processes"].iloc[0])
    drawings = []
    for (name, kind), own in pd.concat(shown, ignore_index=True).groupby(
        ["interconnect", "kind"], sort=False
    ):
        caption = (
            f"Bandwidth that was accepted of a process of the compute job on {counted(count, 'process')} of "
            f"both jobs, over {labels.interconnect(name, kind)}, against what it offered: alone, and beside "
            "an I/O job, by where the I/O nodes are. Shared: they compute too; dedicated: they do not."
        )
        stem, columns = file_stem("traffic", "combined", name), ("offered_load", "accepted_MBps")
        drawings.append(_curves(stem, caption, own, columns, ("Offered load", "Accepted (MB/s)"), labels))
    return drawings


def _curves(
    name: str,
    caption: str,
    rows: pd.DataFrame,
    columns: tuple[str, str],
    axis_titles: tuple[str, str],
    labels: FigureLabels,
) -> Drawing:
    """A panel a title; curves of one interconnect, of what ``curve`` names."""
    names = list(dict.fromkeys(rows["curve"]))
    chosen = {curve: style.Look(style.COLOURS[i], style.MARKERS[i]) for i, curve in enumerate(names)}
    kind = rows["kind"].iloc[0]
    along, up = columns

    def draw(axes: Axes, own: pd.DataFrame, drawing: Drawing) -> None:
        for curve, of_curve in own.groupby("curve", sort=False):
            _draw(
                axes, of_curve.sort_values(along), columns, drawing, labels, look=chosen[curve], words=curve
            )
        axes.set_xlim(0, 1.05 * float(rows[along].max()))
        axes.set_ylim(0, 1.1 * max(float(rows[up].max()), 1e-9))

    def legend(drawing: Drawing) -> None:
        handles = [
            Line2D([], [], color=look.colour, marker=look.marker, linestyle=style.line_of(kind))
            for look in chosen.values()
        ]
        drawing.figure.legend(handles, names, loc="outside lower center", ncols=2)
        width, height = drawing.figure.get_size_inches()
        drawing.figure.set_size_inches(width, height + 0.14 * -(-len(names) // 2) + 0.12)

    return _panels(name, caption, rows, draw, axis_titles, labels, legend=legend)


def _draw(
    axes: Axes,
    rows: pd.DataFrame,
    columns: tuple[str, str],
    drawing: Drawing,
    labels: FigureLabels,
    texts: pd.Series | None = None,
    look: style.Look | None = None,
    words: str = "",
) -> None:
    """Draw a curve with its points, whose values are shown on hover.

    Parameters
    ----------
    texts : Series of str, optional
        What the place of a point along the axis is called, by the index of `rows`; by default its value.
    look, words : optional
        Of a curve that is one of several of an interconnect.
    """
    name, kind = rows[["interconnect", "kind"]].iloc[0]
    look, (along, up) = look or labels.look(name), columns
    called = rows[along].map(number) if texts is None else texts
    (line,) = axes.plot(
        rows[along], rows[up].astype(float), color=look.colour, linestyle=style.line_of(kind), linewidth=1.0
    )
    drawing.mark(line, name)
    points = []
    for text, row in zip(called, rows.to_dict("records"), strict=True):
        if not pd.isna(row[up]):
            value = f"{_AXES.get(along, along)} {text}: {_AXES.get(up, up)} {number(row[up])}"
            title = f"{row['title']}, {words}" if words else row["title"]
            text = f"{labels.interconnect(name, kind)}\n{title}\n{value}"
            points.append(Point(row[along], row[up], look, name, text))
    draw_points(drawing, axes, points, size=3.2)


_AXES = {
    "offered_load": "offered load",
    "accepted_load": "accepted load",
    "accepted_MBps": "accepted MB/s",
    "MBps": "MB/s",
    "place": "mean message",
    "beside_load": "I/O load",
}
"""Columns as hovering text names them."""


def _process_figures(rows: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
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
            places, look = zip(clients["process"], clients["accepted_MBps"], strict=True), labels.look(name)
            draw_points(drawing, axes, [Point(*place, look, name) for place in places], size=2.2)
        axes.set_ylim(0, 1.1 * max(float(own["accepted_MBps"].max()), 1e-9))
        axes.set_xlim(-1, count)
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))

    titles = ("Process", "Accepted (MB/s)")
    return [_panels("traffic-processes", caption, rows, draw, titles, labels, share=False)]


def _slowdown_figures(rows: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
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
    return [_panels("traffic-slowdown", caption, rows, draw, titles, labels)]


def _map_figures(rows: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """What the compute job loses, by the places of the I/O nodes and the I/O job's load."""
    rows = rows[rows["offered_load"] == rows["offered_load"].max()]
    rows = rows.assign(
        title=[labels.interconnect(*pair) for pair in zip(rows["interconnect"], rows["kind"], strict=True)],
        lost=100 * (1 - 1 / rows["slowdown"]),
        placement=rows["application_mapping"].fillna("") + ", " + nodes_words(rows).fillna(""),
    )
    count = int(rows["processes"].iloc[0])
    loads, placements = sorted(rows["beside_load"].unique()), list(dict.fromkeys(rows["placement"]))
    titles = list(dict.fromkeys(rows["title"]))
    caption = (
        f"Bandwidth that the compute job loses beside the I/O job on {counted(count, 'process')} of both, "
        "in percent of what it has alone at its highest load: down, the places of the I/O nodes, which "
        "compute too (shared) or do not (dedicated); along, the load of the I/O job. Below 0 it gained."
    )
    height = (0.2 * len(placements) + 0.55) * -(-len(titles) // 2) + 0.1
    with new_drawing("traffic-map", "traffic", height, caption) as drawing:
        grid = drawing.panels(len(titles), 2, sharex=True, sharey=True)
        for axes, title in zip(grid, titles, strict=True):
            cells = rows[rows["title"] == title].pivot_table(
                index="placement", columns="beside_load", values="lost", aggfunc="median", sort=False
            )
            cells = cells.reindex(index=placements, columns=loads).rename(columns=number)
            sns.heatmap(
                cells, cmap=SHADES, vmin=0, vmax=100, annot=True, fmt=".0f", annot_kws={"fontsize": 7},
                cbar=False, rasterized=True, ax=axes,
            )  # fmt: skip
            axes.set_title(shortened(title))
            axes.set(xlabel="", ylabel="")
            axes.tick_params(length=0, labelrotation=0)
            axes.grid(False)
        drawing.figure.supxlabel("Load of the I/O job")
    return [drawing]
