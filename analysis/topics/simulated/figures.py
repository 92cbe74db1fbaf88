"""Figures of the parts of simulated time, of the bytes between ranks of a trace, and of a model's fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.patches import Patch

from analysis.presentation import style
from analysis.presentation.axes import log_axis
from analysis.presentation.drawing import Drawing, file_stem, new_drawing, point_text, shortened
from analysis.presentation.formats import counted, listed, number, percent, seconds
from analysis.presentation.heat_maps import add_colour_bar, draw_matrix
from analysis.presentation.labels import Labels
from analysis.presentation.size_axes import positions, size_axis
from analysis.runs.side_tables import USES, with_fewest_threads

SECONDS = [f"{part}_seconds" for part in USES]
COLOURS = style.COLOURS[0], style.COLOURS[4], style.COLOURS[1]
AMOUNTS = sns.blend_palette(["#dbe8f4", style.COLOURS[0]], as_cmap=True)
TITLES = {"compute": "Computing", "waiting": "Waiting for others", "transfer": "Added by the interconnect"}
MOST_COLUMNS = 5
"""Largest number of interconnects in a row."""
ROW_INCHES = 1.45
"""Height of a row of panels."""
MOST_MATRICES = 4
"""Largest number of process counts whose pairs are drawn."""
FEWEST_RANKS = 3
"""Smallest number of ranks whose pairs are drawn."""
MOST_SEPARATE_BARS = 16
"""Largest number of ranks with gaps between their bars."""
MATRIX_INCHES = 1.75
"""Height of a matrix of pairs."""


def simulated_figures(tables: Mapping[str, pd.DataFrame], labels: Labels) -> list[Drawing]:
    """Draw the parts of the time, and the bytes between ranks, with one figure of each per traced case.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        The tables of the study.
    labels : Labels

    Returns
    -------
    list of Drawing
        Figures of the topics ``simulated_times`` and ``trace_pairs``.
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
    """Draw the parts of the time of a case, with two panels per interconnect, one above the other."""
    interconnects = labels.sorted_interconnects(rows["interconnect"])
    columns = min(MOST_COLUMNS, len(interconnects))
    rows_of_pairs = math.ceil(len(interconnects) / columns)
    most = int(rows["processes"].max())
    caption = (
        f"{labels.case(case)}: bars divide the simulated time into computing, waiting for others, and time "
        "that the interconnect adds. Upper panels show the mean over the ranks at each process count. Lower "
        f"panels show each rank of the run on {counted(most, 'process')}."
    )
    alt = "Stacked bars: time computing, waiting for others and added by the interconnect."
    stem, inches = file_stem("simulated_times", case), 2 * ROW_INCHES * rows_of_pairs + 0.4
    with new_drawing(stem, "simulated_times", inches, caption, alt, case) as drawing:
        grid = drawing.figure.subplots(2 * rows_of_pairs, columns, squeeze=False, sharey="row")
        for index, name in enumerate(interconnects):
            times = rows[rows["interconnect"] == name]
            pair_row, column = divmod(index, columns)
            above, below = grid[2 * pair_row][column], grid[2 * pair_row + 1][column]
            _by_count(drawing, above, times, labels)
            _by_rank(below, times[times["processes"] == most])
            above.set_title(shortened(labels.interconnect(name, "simulated"), 24))
            drawing.mark(above, name)
            drawing.mark(below, name)
        for axes in grid.flat:
            if not axes.has_data():
                axes.set_axis_off()
        for above, below in zip(grid[::2, 0], grid[1::2, 0], strict=True):
            above.set_ylabel("Share of the time (%)")
            below.set_ylabel("Time of a rank (s)")
        handles = [
            Patch(color=colour, label=TITLES[part]) for part, colour in zip(USES, COLOURS, strict=True)
        ]
        drawing.figure.legend(handles=handles, loc="outside lower center", ncols=len(USES), handlelength=1.2)
    return drawing


def _by_count(drawing: Drawing, axes: Axes, rows: pd.DataFrame, labels: Labels) -> None:
    """Draw the mean parts over the ranks of each process count, in percent of the time."""
    means = rows.groupby("processes")[SECONDS].mean()
    shares = 100 * means.div(means.sum(axis=1), axis=0)
    _stack(axes, shares, 0.8)
    first = rows.iloc[0].to_dict() | {"oversubscription": 1}
    name = labels.interconnect(first["interconnect"], first["kind"])
    for part, column, bars in zip(USES, SECONDS, axes.containers, strict=True):
        for bar, count, share, mean in zip(bars, means.index, shares[column], means[column], strict=True):
            value = f"{TITLES[part]}: {percent(share)}, {seconds(mean)} on average"
            text = point_text(labels, first | {"processes": count}, name, value)
            drawing.mark(bar, first["interconnect"], text)
    axes.set_ylim(0, 100)
    axes.set_xlabel("Processes")


def _by_rank(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw the parts of each rank in seconds, with at most eight labelled ranks."""
    width = 0.8 if len(rows) <= MOST_SEPARATE_BARS else 1.0
    _stack(axes, rows.set_index("rank")[SECONDS].sort_index(), width)
    ticks = list(range(0, len(rows), math.ceil(len(rows) / 8)))
    axes.set_xticks(ticks, list(map(str, ticks)))
    axes.set_xlabel("Rank")


def _stack(axes: Axes, table: pd.DataFrame, width: float) -> None:
    """Draw a stack of bars for each row of a table, with a colour for each column."""
    table.plot.bar(stacked=True, width=width, color=list(COLOURS), linewidth=0, legend=False, rot=0, ax=axes)
    axes.grid(False, axis="x")


def _pairs_figure(case: str, rows: pd.DataFrame, labels: Labels) -> Drawing:
    """Draw a matrix of the bytes between ranks for each of the largest process counts of a case."""
    counts = sorted(rows["processes"].unique())[-MOST_MATRICES:]
    rows = rows[rows["processes"].isin(counts)]
    caption = (
        f"{labels.case(case)}: bytes from each rank to each other rank in one step, on "
        f"{listed(map(str, counts))} processes. The bytes exclude collective calls. White cells have no "
        "bytes."
    )
    smallest, largest = rows["bytes"].min() / 1000, rows["bytes"].max() / 1000
    smallest = smallest if smallest < largest else largest / 10
    norm = LogNorm(smallest, largest)
    stem, width = file_stem("trace_pairs", case), min(style.WIDTH, 1.7 * len(counts) + 0.8)
    height = MATRIX_INCHES + 0.75
    with new_drawing(stem, "trace_pairs", height, caption, case=case, width=width) as drawing:
        grid = drawing.panels(len(counts), len(counts))
        for axes, count in zip(grid, counts, strict=True):
            pairs = rows[rows["processes"] == count]
            kilobytes = np.full((count, count), np.nan)
            kilobytes[pairs["source"].astype(int), pairs["target"].astype(int)] = pairs["bytes"] / 1000
            draw_matrix(axes, kilobytes, AMOUNTS, norm)
            axes.set_title(counted(count, "process"))
            axes.set_xlabel("To rank")
        grid[0].set_ylabel("From rank")
        ticks = smallest, math.sqrt(smallest * largest), largest
        texts = {tick: number(tick, 2) for tick in ticks}
        add_colour_bar(drawing, grid, AMOUNTS, norm, "kB in a step", texts)
    return drawing


FIT_INCHES = 2.7
LEAST_ERROR_PERCENT = 0.1
"""Smallest error that is drawn at its value; smaller errors are drawn here."""


def draw_model_fit(fit: pd.DataFrame, name: str, title: str, changes: Sequence[int]) -> Drawing:
    """Draw the fit of a model: given times, times of the model, and its errors against the message size.

    Parameters
    ----------
    fit : DataFrame
        ``bytes, given_us, simulated_us, error_percent, left_out_percent``, by increasing size.
    name, title : str
        Name of the model for files, and its title.
    changes : sequence of int
        Largest size before each change of protocol, in bytes. A line marks each change.
    """
    caption = (
        f"{title}. Left: one-way time of a message, as given and from the model. Right: errors of the model."
    )
    with new_drawing(file_stem("model", name), "model", FIT_INCHES, caption) as drawing:
        times, errors = drawing.panels(2, 2, ("Message size", ""), sharex=True)
        x = positions(fit["bytes"])
        given, modelled, left_out = style.COLOURS[:3]
        times.plot(x, fit["given_us"], "o", color=given, markersize=3.5)
        times.plot(x, fit["simulated_us"], color=modelled, linewidth=1)
        log_axis(times, [*fit["given_us"], *fit["simulated_us"]])
        times.set_ylabel("One-way time (µs)")
        shown = fit[["error_percent", "left_out_percent"]].abs().clip(lower=LEAST_ERROR_PERCENT)
        for column, colour, marker in zip(shown, (modelled, left_out), "s^", strict=True):
            errors.plot(x, shown[column], marker, color=colour, markersize=3.5)
        log_axis(errors, [LEAST_ERROR_PERCENT, 10, *shown.max().dropna()])
        errors.set_ylabel("Error (%)")
        handles = [*times.get_lines(), *errors.get_lines()]
        for size in changes:
            between_sizes = size * math.sqrt(2)  # in the middle of this power of two and the next
            for axes in (times, errors):
                line = axes.axvline(
                    between_sizes, color=style.IDEAL, linewidth=0.7, linestyle=(0, (3, 2)), zorder=1
                )
        size_axis(times, fit["bytes"])
        if changes:
            handles.append(line)
        texts = ["Given", "Model", "Its error", "Its error at a point left out", "Change of protocol"]
        drawing.figure.legend(handles, texts[: len(handles)], loc="outside lower center", ncols=5)
    return drawing
