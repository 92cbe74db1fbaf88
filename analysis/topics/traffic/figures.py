"""Figures of traffic patterns: accepted load, bandwidth and simultaneous jobs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.presentation import style
from analysis.presentation.axes import count_axis
from analysis.presentation.drawing import Drawing, file_stem, new_drawing, shortened
from analysis.presentation.formats import counted, number
from analysis.presentation.legend import add_legend, add_look_legend
from analysis.presentation.marks import Point, draw_curve
from analysis.presentation.network_words import size_text
from analysis.presentation.size_axes import positions, size_axis
from analysis.presentation.style import FigureLabels
from analysis.topics.traffic.tables import cases_that_vary, distribution_words, nodes_words, with_titles

COLUMNS = 4
"""Largest number of panels in a row."""
ROW_HEIGHT = 1.35
"""Height of a row of panels, in inches."""
TITLE_LETTERS = 24
"""Most characters on a line of the title of a panel."""
SHADES = sns.blend_palette([style.PAPER, style.BLUE], as_cmap=True)

Finish = Callable[[Axes, pd.DataFrame, Drawing], None]
"""Function that completes a panel, from its axes, its rows and the drawing."""


def traffic_figures(tables: Mapping[str, pd.DataFrame], labels: FigureLabels) -> list[Drawing]:
    """Draw the figures of traffic patterns for which the tables have rows.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        Tables of the study; the tables of `analysis.topics.traffic.tables.TRAFFIC_TABLES` are drawn.
    labels : FigureLabels

    Returns
    -------
    list of Drawing
        Accepted load at every process count, bandwidth against the process count, and all other figures at
        the largest process count.
    """
    if "traffic" not in tables:
        return []
    traffic, clients = (labels.in_order(tables[name], "case") for name in ("traffic", "traffic_processes"))
    varies_distribution = cases_that_vary(traffic, ["sizes", "intervals"])
    varies_size = cases_that_vary(traffic, ["mean_bytes"])
    single_jobs = traffic[traffic["pattern"] != "combined"]
    plain_patterns = with_titles(single_jobs[~single_jobs["case"].isin(varies_distribution | varies_size)])
    at_most_processes = traffic[traffic["processes"] == traffic["processes"].max()]
    clients = clients[
        clients["case"].isin(plain_patterns["case"]) & (clients["processes"] == clients["processes"].max())
    ]
    is_combined = at_most_processes["pattern"] == "combined"
    of_sizes = at_most_processes[at_most_processes["case"].isin(varies_size) & ~is_combined]
    of_distributions = at_most_processes[at_most_processes["case"].isin(varies_distribution)]
    compute_job = at_most_processes[is_combined & (at_most_processes["job"] == "compute")]
    slowed = compute_job[compute_job["slowdown"].notna()]
    drawn_rows: list[tuple[pd.DataFrame, Callable[[pd.DataFrame, FigureLabels], list[Drawing]]]] = [
        (plain_patterns, _node_figures),
        (of_sizes, _size_figures),
        (of_distributions, _distribution_figures),
        (with_titles(clients), _process_figures),
        (compute_job, _combined_figures),
        (with_titles(slowed), _slowdown_figures),
        (slowed, _map_figures),
    ]
    drawings = [_load_figure(rows, labels) for _, rows in plain_patterns.groupby("processes")]
    for rows, draw in drawn_rows:
        if len(rows):
            drawings += draw(rows, labels)
    return drawings


def _figure(
    name: str,
    caption: str,
    rows: pd.DataFrame,
    columns: tuple[str, str],
    axis_titles: tuple[str, str],
    labels: FigureLabels,
    finish: Finish | None = None,
    share: bool = True,
    joined: bool = True,
) -> Drawing:
    """Draw one panel per title, with a curve per interconnect or per value of the column ``curve``.

    Parameters
    ----------
    columns : pair of str
        Columns of the horizontal and the vertical axis; both axes begin at 0.
    finish : callable, optional
        Function that completes a panel.
    share : bool
        Whether the panels share the vertical axis.
    joined : bool
        Whether lines join the points, with values on hover; else the points are small dots.
    """
    x, y = columns
    panels = dict(list(rows.groupby("title", sort=False)))
    curve_names = list(dict.fromkeys(rows.get("curve", ())))
    looks = {
        curve_name: style.Look(colour, marker)
        for curve_name, colour, marker in zip(curve_names, style.COLOURS, style.MARKERS, strict=False)
    }
    keys = ["interconnect", "kind", *(["curve"] if curve_names else [])]
    panels_across = min(COLUMNS, len(panels))
    height = ROW_HEIGHT * math.ceil(len(panels) / panels_across) + 0.15
    width = max(style.WIDTH * panels_across / COLUMNS, 0.6 * style.WIDTH)
    with new_drawing(name, "traffic", height, caption, width=width) as drawing:
        grid = drawing.panels(len(panels), COLUMNS, axis_titles, sharex=True, sharey=share)
        grid[0].set_xlim(0, 1.05 * float(rows[x].max()))  # of all panels, which share the axis
        for axes, (title, panel) in zip(grid, panels.items(), strict=True):
            for _, curve in panel.groupby(keys, sort=False):
                interconnect = curve["interconnect"].iloc[0]
                look = looks[curve["curve"].iloc[0]] if curve_names else labels.look(interconnect)
                if joined:
                    points = _points(curve, x, y, look, labels)
                    draw_curve(drawing, axes, points, style.line_of(curve["kind"].iloc[0]), size=3.2)
                else:
                    (dots,) = axes.plot(
                        curve[x], curve[y], linestyle="none", color=look.colour, marker=look.marker,
                        markersize=2.2,
                    )  # fmt: skip
                    drawing.mark(dots, interconnect)
            axes.set_ylim(0, 1.1 * max(float((rows if share else panel)[y].max()), 1e-9))
            if finish:
                finish(axes, panel, drawing)
            axes.set_title(shortened(str(title), TITLE_LETTERS, lines=4))
        if curve_names:
            add_look_legend(drawing, looks, style.line_of(rows["kind"].iloc[0]), 2)
        else:
            add_legend(drawing, rows, labels, ideal=False)
    return drawing


def _points(rows: pd.DataFrame, x: str, y: str, look: style.Look, labels: FigureLabels) -> list[Point]:
    """Return the points of a curve from the columns `x` and `y`, with hover texts.

    If the rows have a column ``x_text``, the hover texts show it in place of the value of `x`.
    """
    points = []
    for row in rows.to_dict("records"):
        name, x_text = row["interconnect"], row.get("x_text", number(row[x]))
        value = f"{_AXES.get(x, x)} {x_text}: {_AXES.get(y, y)} {number(row[y])}"
        title = ", ".join(filter(None, (row["title"], row.get("curve"))))
        text = f"{labels.interconnect(name, row['kind'])}\n{title}\n{value}"
        points.append(Point(row[x], row[y], look, name, text))
    return points


_AXES = {
    "offered_load": "offered load",
    "accepted_load": "accepted load",
    "accepted_MBps": "accepted MB/s",
    "MBps": "MB/s",
    "place": "mean message",
    "beside_load": "I/O load",
}
"""Names of columns on hover."""


def _load_figure(rows: pd.DataFrame, labels: FigureLabels) -> Drawing:
    """Draw accepted against offered load at one process count, with a panel per pattern."""
    caption = (
        f"Accepted against offered load on {_count(rows)}, by pattern. A load is the bytes per second of a "
        "process / the bandwidth of its link. On the grey line the network accepts the whole load."
    )
    if (rows["runs"] > 1).any():
        caption += " Bands reach from the lowest to the highest run."

    def finish(axes: Axes, panel: pd.DataFrame, drawing: Drawing) -> None:
        axes.axline((0, 0), slope=1, color=style.IDEAL, linewidth=0.8)
        for _, curve in panel.groupby(["interconnect", "kind"], sort=False):
            name = curve["interconnect"].iloc[0]
            lowest = curve["accepted_load_lowest_run"].astype(float)
            highest = curve["accepted_load_highest_run"].astype(float)
            colour = labels.look(name).colour
            band = axes.fill_between(
                curve["offered_load"], lowest, highest, color=colour, alpha=0.18, linewidth=0
            )
            drawing.mark(band, name)
        axes.set_ylim(0, 1.05 * float(rows[["offered_load", "accepted_load"]].max().max()))

    columns, titles = ("offered_load", "accepted_load"), ("Offered load", "Accepted load")
    stem = f"traffic-load-{int(rows['processes'].iloc[0])}"
    return _figure(stem, caption, rows, columns, titles, labels, finish)


def _node_figures(rows: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the highest accepted bandwidth against the process count, if the study has several counts."""
    counts = sorted(rows["processes"].unique())
    if len(counts) < 2:
        return []
    key = ["title", "interconnect", "kind", "processes"]
    best = _bandwidth(rows).groupby(key, sort=False)["MBps"].max().reset_index()
    caption = (
        "Highest accepted bandwidth over all offered loads against the number of processes. The bandwidth is "
        "per process, or per I/O node for patterns with I/O nodes. The total bandwidth grows with the "
        "processes where a line is horizontal."
    )

    def finish(axes: Axes, panel: pd.DataFrame, drawing: Drawing) -> None:
        count_axis(axes, counts, style.WIDTH / COLUMNS)

    columns, titles = ("processes", "MBps"), ("Processes", "Highest (MB/s)")
    return [_figure("traffic-nodes", caption, best, columns, titles, labels, finish, share=False)]


def _size_figures(rows: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the bandwidth against the mean size of messages, at the highest offered load."""
    rows = _bandwidth(with_titles(rows, unnamed=["mean_bytes"]))
    highest = rows.groupby(["title", "mean_bytes"])["offered_load"].transform("max")
    rows = rows[rows["offered_load"] == highest].sort_values("mean_bytes", kind="stable")
    rows = rows.assign(place=positions(rows["mean_bytes"]), x_text=rows["mean_bytes"].map(size_text))
    caption = (
        f"Accepted bandwidth on {_count(rows)} at the highest offered load against the mean size of "
        "messages. The bandwidth is per process, or per I/O node for patterns with I/O nodes. At a load of "
        "1, a link carries messages of this size without a pause."
    )

    def finish(axes: Axes, panel: pd.DataFrame, drawing: Drawing) -> None:
        size_axis(axes, rows["mean_bytes"], narrow=True)

    columns, titles = ("place", "MBps"), ("Mean message", "Accepted (MB/s)")
    return [_figure("traffic-sizes", caption, rows, columns, titles, labels, finish, share=False)]


def _bandwidth(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the column ``MBps``: bandwidth per I/O node if the pattern has I/O nodes, else per process."""
    return rows.assign(MBps=rows["accepted_MBps"].where(rows["job"] == "compute", rows["target_MBps"]))


def _count(rows: pd.DataFrame) -> str:
    return counted(int(rows["processes"].iloc[0]), "process")


def _distribution_figures(rows: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw accepted against offered load, by the distributions of sizes and intervals."""
    rows = with_titles(rows, unnamed=["sizes", "intervals"]).assign(curve=distribution_words)
    caption = (
        f"Accepted against offered load on {_count(rows)} over {{}}, by the distributions of message sizes "
        "(S) and of the times between messages (T)."
    )
    columns, titles = ("offered_load", "accepted_load"), ("Offered load", "Accepted load")
    return _figures_by_interconnect("distributions", caption, rows, columns, titles, labels)


def _combined_figures(rows: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw accepted bandwidth against offered load of the compute job, with and without the I/O job."""
    if rows["offered_load"].nunique() < 2:
        return []
    alone, combined = rows[rows["beside_load"].isna()], rows[rows["beside_load"].notna()]
    keys = ["interconnect", "kind", "offered_load"]
    tables = []
    for (_, mapping), with_io_job in combined.groupby(["beside_load", "application_mapping"]):
        title = f"{mapping} I/O nodes, I/O load {number(with_io_job['beside_load'].iloc[0])}"
        same_nodes = alone[alone["application_mapping"] == mapping]
        medians = same_nodes.groupby(keys)["accepted_MBps"].median().reset_index()
        tables += [
            medians.assign(title=title, curve="no I/O job"),
            with_io_job.assign(title=title, curve=nodes_words),
        ]
    caption = (
        f"Accepted bandwidth of a process of the compute job over {{}} against the offered load, on "
        f"{_count(rows)} of both jobs. The curves show the compute job alone and together with an I/O job. "
        "Curves with an I/O job differ in the position of the I/O nodes. Shared I/O nodes also compute. "
        "Dedicated I/O nodes do not compute."
    )
    columns, titles = ("offered_load", "accepted_MBps"), ("Offered load", "Accepted (MB/s)")
    shown = pd.concat(tables, ignore_index=True).sort_values("offered_load", kind="stable")
    return _figures_by_interconnect("combined", caption, shown, columns, titles, labels)


def _figures_by_interconnect(
    stem: str,
    caption: str,
    rows: pd.DataFrame,
    columns: tuple[str, str],
    titles: tuple[str, str],
    labels: FigureLabels,
) -> list[Drawing]:
    """Draw one figure per interconnect, with a curve per value of the column ``curve``.

    `caption` has braces in place of the title of the interconnect.
    """
    drawings = []
    for _, group in rows.groupby(["interconnect", "kind"], sort=False):
        first = group.iloc[0]
        title = labels.interconnect(first["interconnect"], first["kind"])
        name = file_stem("traffic", stem, first["interconnect"])
        drawings.append(_figure(name, caption.format(title), group, columns, titles, labels))
    return drawings


def _process_figures(rows: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the bandwidth of every process at the highest offered load of each panel."""
    highest = rows.groupby("title")["offered_load"].transform("max")
    rows = rows[rows["offered_load"] == highest]
    count = int(rows["processes"].iloc[0])
    caption = (
        f"Accepted bandwidth of each of {counted(count, 'process')} at the highest offered load. If all "
        "points have the same height, the network is fair. A process without a point sends nothing in the "
        "pattern."
    )

    def finish(axes: Axes, panel: pd.DataFrame, drawing: Drawing) -> None:
        axes.set_xlim(-1, count)
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))

    columns, titles = ("process", "accepted_MBps"), ("Process", "Accepted (MB/s)")
    return [
        _figure(
            "traffic-processes", caption, rows, columns, titles, labels, finish, share=False, joined=False
        )
    ]


def _slowdown_figures(rows: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the slowdown of the compute job by the I/O job, at the compute job's highest load."""
    rows = rows[rows["offered_load"] == rows["offered_load"].max()]
    caption = (
        "Slowdown of a compute job against the offered load of an I/O job, by the placement of the I/O "
        f"nodes. Both jobs together have {_count(rows)}. Slowdown is the accepted bandwidth of the compute "
        "job alone / its accepted bandwidth together with the I/O job. 1 is no slowdown."
    )

    def finish(axes: Axes, panel: pd.DataFrame, drawing: Drawing) -> None:
        axes.axhline(1, color=style.IDEAL, linewidth=0.8)
        axes.set_ylim(0, 1.1 * max(1.0, float(rows["slowdown"].max())))

    columns, titles = ("beside_load", "slowdown"), ("Load of the I/O job", "Slowdown")
    return [_figure("traffic-slowdown", caption, rows, columns, titles, labels, finish)]


def _map_figures(rows: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the compute job's loss of bandwidth, by the position of the I/O nodes and the I/O job's load."""
    rows = rows[rows["offered_load"] == rows["offered_load"].max()]
    rows = rows.assign(
        title=[labels.interconnect(*pair) for pair in zip(rows["interconnect"], rows["kind"], strict=True)],
        lost=100 * (1 - 1 / rows["slowdown"]),
        placement=rows["application_mapping"].fillna("") + ", " + nodes_words(rows).fillna(""),
    )
    loads, placements = sorted(rows["beside_load"].unique()), list(dict.fromkeys(rows["placement"]))
    panels = dict(list(rows.groupby("title", sort=False)))
    caption = (
        "Bandwidth that the compute job loses to the I/O job, in percent of the bandwidth of the compute job "
        f"alone. Both jobs together have {_count(rows)}. The compute job has its highest load. Rows are "
        "positions of the I/O nodes. Columns are loads of the I/O job. Shared I/O nodes also compute. "
        "Dedicated I/O nodes do not compute. The compute job gains where a value is below 0."
    )
    height = (0.2 * len(placements) + 0.55) * math.ceil(len(panels) / 2) + 0.1
    with new_drawing("traffic-map", "traffic", height, caption) as drawing:
        grid = drawing.panels(len(panels), 2, sharex=True, sharey=True)
        for axes, (title, panel) in zip(grid, panels.items(), strict=True):
            cells = panel.pivot_table("lost", "placement", "beside_load", aggfunc="median", sort=False)
            cells = cells.reindex(index=placements, columns=loads).rename(columns=number)
            sns.heatmap(
                cells, cmap=SHADES, vmin=0, vmax=100, annot=True, fmt=".0f", cbar=False,
                annot_kws={"fontsize": 7, "color": style.INK}, rasterized=True, ax=axes,
            )  # fmt: skip
            axes.set(title=shortened(str(title)), xlabel="", ylabel="")
            axes.tick_params(length=0, labelrotation=0)
            axes.grid(False)
        drawing.figure.supxlabel("Load of the I/O job")
    return [drawing]
