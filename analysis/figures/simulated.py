"""Where the time of simulated ranks goes, and which ranks of a trace send to which."""

from __future__ import annotations

import math
from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm
from matplotlib.patches import Patch

from analysis.figures import style
from analysis.figures.axes import fixed_ticks, rank_axes
from analysis.figures.drawing import Drawing, canvas, file_stem, point_text, shortened
from analysis.tables.details import USES, with_fewest_threads
from analysis.text.formats import counted, listed, number, percent, seconds
from analysis.text.labels import Labels

COLOURS = dict(zip(USES, (style.COLOURS[0], style.COLOURS[4], style.COLOURS[1]), strict=True))
TITLES = {"compute": "Computing", "waiting": "Waiting for others", "transfer": "Added by the interconnect"}
MOST_COLUMNS = 5
"""Interconnects side by side."""
ROW_INCHES = 1.45
MOST_MATRICES = 4
"""Process counts, the largest of a case, whose pairs are drawn."""
FEWEST_RANKS = 3
"""The pairs of fewer ranks show nothing."""
APART = 16
"""Ranks up to which there is room between their bars."""
MATRIX_INCHES = 1.75


def simulated_figures(tables: Mapping[str, pd.DataFrame], labels: Labels) -> list[Drawing]:
    """Draw where the time goes, and the pairs of ranks, a figure of each for every traced case.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        Those of `analysis.networks.replays.SIMULATED_TABLES` that the study has.

    Returns
    -------
    list of Drawing
        Topics ``simulated_times`` and ``trace_pairs``.
    """
    drawings = []
    if "simulated_times" in tables:
        times = labels.by_case(tables["simulated_times"])
        drawings += [_times_figure(case, rows, labels) for case, rows in times]
    if "trace_pairs" in tables:
        table = with_fewest_threads(tables["trace_pairs"])
        pairs = labels.by_case(table[(table["processes"] >= FEWEST_RANKS) & (table["bytes"] > 0)])
        drawings += [_pairs_figure(case, rows, labels) for case, rows in pairs]
    return drawings


def _times_figure(case: str, rows: pd.DataFrame, labels: Labels) -> Drawing:
    order = labels.sorted_interconnects(rows["interconnect"])
    columns = min(MOST_COLUMNS, len(order))
    bands = -(-len(order) // columns)
    most = int(rows["processes"].max())
    caption = (
        f"{labels.case(case)}, simulated: where the time of the ranks goes. Above, mean over the ranks by "
        f"process count; below, each rank of {counted(most, 'process')}."
    )
    with mpl.rc_context(style.RC):
        figure = canvas(2 * ROW_INCHES * bands + 0.4)
        alt = "Stacked bars: time computing, waiting for others and added by the interconnect."
        stem = file_stem("simulated_times", case)
        drawing = Drawing(stem, "simulated_times", figure, caption, alt, case)
        grid = figure.subplots(2 * bands, columns, squeeze=False, sharey="row")
        for index, name in enumerate(order):
            own = rows[rows["interconnect"] == name]
            above, below = (grid[2 * (index // columns) + down][index % columns] for down in (0, 1))
            _by_count(drawing, above, own, labels)
            _by_rank(below, own[own["processes"] == most])
            above.set_title(shortened(labels.interconnect(name, "simulated"), 24))
            drawing.mark(above, name)
            drawing.mark(below, name)
        for axes in grid.flat:
            if not axes.has_data():
                axes.set_axis_off()
        for above, below in zip(grid[::2, 0], grid[1::2, 0], strict=True):
            above.set_ylabel("Share of the time (%)")
            below.set_ylabel("Time of a rank (s)")
        handles = [Patch(color=COLOURS[part], label=TITLES[part]) for part in USES]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(USES), handlelength=1.2)
    return drawing


def _by_count(drawing: Drawing, axes: Axes, rows: pd.DataFrame, labels: Labels) -> None:
    columns = [f"{part}_seconds" for part in USES]
    means = rows.groupby("processes")[columns].mean()
    shares = 100 * means.div(means.sum(axis=1), axis=0)
    firsts = {row["processes"]: row for row in rows.drop_duplicates("processes").to_dict("records")}
    bottom = np.zeros(len(shares))
    for part, column in zip(USES, columns, strict=True):
        bars = axes.bar(range(len(shares)), shares[column], bottom=bottom, width=0.8, color=COLOURS[part])
        bottom += shares[column].to_numpy()
        for bar, (count, share) in zip(bars, shares[column].items(), strict=True):
            first = firsts[count] | {"oversubscription": 1}
            value = f"{TITLES[part]}: {percent(share)}, {seconds(means.loc[count, column])} on average"
            name = labels.interconnect(first["interconnect"], first["kind"])
            drawing.mark(bar, first["interconnect"], point_text(labels, first, name, value))
    axes.set_xticks(range(len(shares)), [str(count) for count in shares.index])
    axes.set_ylim(0, 100)
    axes.grid(False, axis="x")
    axes.set_xlabel("Processes")


def _by_rank(axes: Axes, rows: pd.DataFrame) -> None:
    rows = rows.sort_values("rank")
    ranks, bottom = rows["rank"].to_numpy(float), np.zeros(len(rows))
    left, right = (ranks + side * (0.4 if len(rows) <= APART else 0.5) for side in (-1, 1))
    for part in USES:
        top = bottom + rows[f"{part}_seconds"].to_numpy()
        corners = [left, bottom], [left, top], [right, top], [right, bottom]
        bars = np.moveaxis(np.array(corners), 2, 0)
        axes.add_collection(PolyCollection(bars, facecolors=COLOURS[part], linewidths=0))
        bottom = top
    axes.autoscale_view()
    axes.set_ylim(bottom=0)
    axes.set_xlim(-0.5, len(rows) - 0.5)
    axes.set_xticks(range(0, len(rows), -(-len(rows) // 8)))
    axes.grid(False, axis="x")
    axes.set_xlabel("Rank")


def _pairs_figure(case: str, rows: pd.DataFrame, labels: Labels) -> Drawing:
    counts = sorted(rows["processes"].unique())[-MOST_MATRICES:]
    rows = rows[rows["processes"].isin(counts)]
    caption = (
        f"{labels.case(case)}: what each rank sends to each other in one step, on "
        f"{listed(map(str, counts))} processes. White: nothing. Collective calls are not in it."
    )
    smallest, largest = rows["bytes"].min() / 1000, rows["bytes"].max() / 1000
    with mpl.rc_context(style.RC):
        figure = canvas(MATRIX_INCHES + 0.75, min(style.WIDTH, 1.7 * len(counts) + 0.8))
        stem = file_stem("trace_pairs", case)
        drawing = Drawing(stem, "trace_pairs", figure, caption, caption, case)
        grid = figure.subplots(1, len(counts), squeeze=False)[0]
        norm = LogNorm(smallest if smallest < largest else largest / 10, largest)
        for axes, count in zip(grid, counts, strict=True):
            _draw_pairs(axes, rows[rows["processes"] == count], int(count), norm)
        grid[0].set_ylabel("From rank")
        bar = figure.colorbar(
            mpl.cm.ScalarMappable(norm, _AMOUNTS), ax=list(grid), location="bottom", aspect=50, shrink=0.7
        )
        bar.set_label("kB in a step")
        ticks = norm.vmin, math.sqrt(norm.vmin * norm.vmax), norm.vmax
        fixed_ticks(bar.ax.xaxis, ticks, [number(tick, 2) for tick in ticks])
        bar.outline.set_linewidth(style.RC["axes.linewidth"])
    return drawing


_AMOUNTS = mpl.colors.LinearSegmentedColormap.from_list("amounts", ["#dbe8f4", style.COLOURS[0]])


def _draw_pairs(axes: Axes, rows: pd.DataFrame, count: int, norm: LogNorm) -> None:
    matrix = np.full((count, count), np.nan)
    matrix[rows["source"].astype(int), rows["target"].astype(int)] = rows["bytes"] / 1000
    axes.imshow(matrix, cmap=_AMOUNTS, norm=norm, interpolation="none")
    rank_axes(axes, count, "To rank", "")
    axes.set_title(counted(count, "process"))
