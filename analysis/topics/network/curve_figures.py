"""Latency and bandwidth of network benchmarks against the message size, and how they vary."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from analysis.presentation import formats, style
from analysis.presentation.axes import log_axis
from analysis.presentation.drawing import Drawing, file_stem, new_drawing
from analysis.presentation.labels import Labels
from analysis.presentation.legend import add_legend, legend_entries, line_notes
from analysis.presentation.marks import draw_lines
from analysis.presentation.network_words import COLLECTIVES, QUANTITIES, benchmark, ordered
from analysis.presentation.size_axes import draw_curve, positions, size_axis
from analysis.presentation.style import FigureLabels
from analysis.topics.network.curves import curves_by_point, sized, spreads

PANEL_HEIGHT = 2.3
SMALL_PANEL = 1.35
MOST_COLUMNS = 3
LEAST_PERCENT = 0.1
"""Smallest variability that is drawn; smaller values are drawn at this value."""


class PanelCounts(NamedTuple):
    """Processes and oversubscription of a panel; None for a panel of imported curves."""

    processes: int | None
    oversubscription: int | None

    @property
    def title(self) -> str:
        """Title of the panel: processes, and the oversubscription level if it is above 1."""
        if self.processes is None:
            return ""
        count = formats.counted(self.processes, "process")
        level = self.oversubscription
        return f"{count}, oversubscription {level}" if level and level > 1 else count


def panels(rows: pd.DataFrame, any_count: bool) -> dict[PanelCounts, pd.DataFrame]:
    """Divide the curves of a benchmark into panels, in ascending order.

    Measured curves share a panel if their processes and oversubscription are equal. An imported curve joins
    the panels with its process count. It joins all panels if its count is unknown, or if `any_count` is true.
    It has a panel of its own if there is no such panel.
    """
    is_imported = rows["imported_from"].notna()
    curves_of_panel: dict[PanelCounts, list[pd.DataFrame]] = {}
    for _, curves in rows[~is_imported].groupby(["processes", "oversubscription"]):
        first = curves.iloc[0]
        panel = PanelCounts(int(first["processes"]), int(first["oversubscription"]))
        curves_of_panel[panel] = [curves]
    measured_panels = list(curves_of_panel)
    for _, curves in rows[is_imported].groupby("processes", dropna=False):
        processes = curves["processes"].iloc[0]
        count = None if pd.isna(processes) else int(processes)
        matching = [panel for panel in measured_panels if any_count or count in (None, panel.processes)]
        for panel in matching or [PanelCounts(count, None)]:
            curves_of_panel.setdefault(panel, []).append(curves)
    ordered_panels = sorted(curves_of_panel, key=_ascending)
    return {panel: pd.concat(curves_of_panel[panel]) for panel in ordered_panels}


def _ascending(panel: PanelCounts) -> tuple[int, int]:
    return panel.processes or 0, panel.oversubscription or 0


def curve_figures(network: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw latency and bandwidth against the message size, one figure per benchmark except collectives.

    Parameters
    ----------
    network : DataFrame
        Table `analysis.topics.network.curves.NETWORK`.
    """
    rows = sized(network)
    names = [name for name in ordered(set(rows["benchmark"])) if name not in COLLECTIVES]
    return [_curve_figure(name, rows[rows["benchmark"] == name], labels) for name in names]


def _curve_figure(name: str, rows: pd.DataFrame, labels: FigureLabels) -> Drawing:
    """Draw the figure of a benchmark: a row of axes per panel, and a column per quantity."""
    rows_of_panel = panels(rows, any_count=True)
    shown = [quantity for quantity in QUANTITIES if rows[quantity].notna().any()]
    titles = {"latency_us": "latency", "bandwidth_MBps": "bandwidth"}
    quantities = formats.listed([titles[quantity] for quantity in shown])
    caption = f"{benchmark(name)}: {quantities} against the message size. {reading_notes(rows)}"
    alt = f"{benchmark(name)}: {quantities} of {_names(rows, labels)} against the message size."
    stem, height = file_stem("network", name), PANEL_HEIGHT * len(rows_of_panel)
    with new_drawing(stem, "network", height, caption, alt) as drawing:
        grid = drawing.figure.subplots(
            len(rows_of_panel), len(shown), sharex=True, sharey="col", squeeze=False
        )
        for axes_row, (panel, panel_rows) in zip(grid, rows_of_panel.items(), strict=True):
            for axes, quantity in zip(axes_row, shown, strict=True):
                for curve in curves_by_point(panel_rows):
                    draw_curve(axes, curve, quantity, drawing, labels)
                title, unit = QUANTITIES[quantity]
                axes.set_ylabel(f"{title} ({unit})")
            if len(rows_of_panel) > 1:
                axes_row[0].set_title(panel.title, fontweight="bold")
        for axes, quantity in zip(grid[0], shown, strict=True):
            log_axis(axes, list(rows[quantity].dropna()))
        for axes in grid[-1]:
            axes.set_xlabel("Message size")
        size_axis(grid[0][0], rows["bytes"])
        add_legend(drawing, rows, labels, ideal=False)
    return drawing


def collective_figures(network: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the time of collectives against the message size, with a panel per collective and process count.

    The list is empty if no collective has message sizes.
    """
    rows = sized(network)
    rows = rows[rows["benchmark"].isin(COLLECTIVES) & rows["latency_us"].notna()]
    if rows.empty:
        return []
    names = ordered(set(rows["benchmark"]))
    panels_of = {name: panels(rows[rows["benchmark"] == name], any_count=False) for name in names}
    columns = sorted(set().union(*panels_of.values()), key=_ascending)[:MOST_COLUMNS]
    caption = f"Time of collective operations against the message size. {reading_notes(rows)}"
    alt = f"Time of {formats.listed(map(benchmark, names))} over {_names(rows, labels)} against size."
    height, width = SMALL_PANEL * len(names), style.WIDTH * (1 if len(columns) > 1 else 0.6)
    with new_drawing("network-collectives", "network", height, caption, alt, width=width) as drawing:
        grid = drawing.figure.subplots(len(names), len(columns), sharex=True, sharey="row", squeeze=False)
        for axes_row, name in zip(grid, names, strict=True):
            for axes, panel in zip(axes_row, columns, strict=True):
                if panel not in panels_of[name]:
                    axes.set_axis_off()
                    continue
                for curve in curves_by_point(panels_of[name][panel]):
                    draw_curve(axes, curve, "latency_us", drawing, labels)
                axes.set_title(f"{benchmark(name)}, {panel.title}" if panel.title else benchmark(name))
            axes_row[0].set_ylabel("Time (µs)")
            log_axis(axes_row[0], list(rows.loc[rows["benchmark"] == name, "latency_us"]), most=5)
        for axes in grid[-1]:
            axes.set_xlabel("Message size")
        size_axis(grid[0][0], rows["bytes"], narrow=len(columns) > 2)
        add_legend(drawing, rows, labels, ideal=False)
    return [drawing]


def variability_figures(network: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the variability of ping-pongs and exchanges, within a run and from run to run.

    The list is empty if no ping-pong and no exchange was run more than once.
    """
    rows = spreads(network)
    if rows.empty:
        return []
    names = ordered(set(rows["benchmark"]))
    columns = {"between_percent": "Between runs (%)", "within_percent": "Within a run (%)"}
    caption = (
        "Variability of the time of a message. Left: difference between the medians of the slowest and the "
        "fastest run, in percent of the median over the runs. Right: difference between the 95th percentile "
        "and the median of the batches of a run, in percent. The right panels show the median over the runs. "
        f"Values below {formats.percent(LEAST_PERCENT)} are drawn at {formats.percent(LEAST_PERCENT)}."
    )
    if rows["within_percent"].isna().any():
        caption += " The right side lacks imported curves, whose outputs have no times of batches."
    with new_drawing("network-variability", "network", 1.7 * len(names), caption) as drawing:
        grid = drawing.figure.subplots(len(names), 2, sharex=True, squeeze=False)
        for pair_of_axes, name in zip(grid, names, strict=True):
            panel = rows[rows["benchmark"] == name]
            for axes, (column, title) in zip(pair_of_axes, columns.items(), strict=True):
                if panel[column].isna().all():
                    axes.set_axis_off()
                    continue
                shown = panel.assign(
                    position=positions(panel["bytes"]), spread=panel[column].clip(lower=LEAST_PERCENT)
                )
                for curve in curves_by_point(shown):
                    draw_lines(drawing, axes, curve, "position", "spread", labels, every=3)
                log_axis(axes, list(shown["spread"]), most=5)
                axes.set_title(benchmark(name))
                axes.set_ylabel(title)
        for axes in grid[-1]:
            axes.set_xlabel("Message size")
        size_axis(grid[0][0], rows["bytes"])
        add_legend(drawing, rows, labels, ideal=False)
    return [drawing]


def reading_notes(rows: pd.DataFrame) -> str:
    """Explain the bands, the line styles and the imported curves of a figure."""
    notes = []
    if (rows["runs"] > 1).any():
        notes.append("Lines are medians over runs. Bands reach from the fastest to the slowest run.")
    notes += line_notes(rows["kind"])
    if files := list(dict.fromkeys(rows["imported_from"].dropna())):
        notes.append(f"Imported curves are from {formats.listed(files)}.")
    return " ".join(notes)


def _names(rows: pd.DataFrame, labels: Labels) -> str:
    return formats.listed(entry.label for entry in legend_entries(rows, labels))
