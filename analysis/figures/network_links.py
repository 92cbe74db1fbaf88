"""Published bandwidth and latency of links by rate, medium, path and interface, as bars."""

from __future__ import annotations

import matplotlib as mpl
import pandas as pd

from analysis.figures import style
from analysis.figures.axes import log_axis
from analysis.figures.drawing import Drawing, canvas
from analysis.text.formats import exact
from analysis.text.links import link_name

BAR_INCHES = 0.24
FIELDS = {
    "bidirectional_Gbps": "Highest bandwidth, both directions (Gbit/s)",
    "latency_us": "Lowest latency (µs)",
}


def link_figures(links: pd.DataFrame) -> list[Drawing]:
    """Draw bandwidth and latency of every link of the table ``network_links``; nothing without rows."""
    if links.empty:
        return []
    names = [link_name(row) for row in links.to_dict("records")]
    rates = list(dict.fromkeys(links["rate"]))
    colours = [style.COLOURS[rates.index(rate) % len(style.COLOURS)] for rate in links["rate"]]
    caption = (
        "Published: highest bandwidth of both directions together, and lowest latency, by rate (a colour "
        "each), medium, and path or interface."
    )
    with mpl.rc_context(style.RC):
        figure = canvas(BAR_INCHES * len(links) + 0.6)
        drawing = Drawing("network_links", "network_links", figure, caption, caption)
        grid = figure.subplots(1, 2, sharey=True)
        for axes, (column, title) in zip(grid, FIELDS.items(), strict=True):
            values = links[column].astype(float)
            if column == "latency_us":
                log_axis(axes, list(values), horizontal=True)
            bars = axes.barh(range(len(links)), values.fillna(0), color=colours, height=0.7)
            for bar, value, name in zip(bars, values, names, strict=True):
                if pd.isna(value):
                    continue
                drawing.mark(bar, text=f"{name} (published)\n{title}: {exact(value)}")
                end = (value, bar.get_y() + bar.get_height() / 2)
                axes.annotate(
                    exact(value), end, xytext=(2, 0), textcoords="offset points", va="center", fontsize=7
                )
            axes.set_xlabel(title)
            axes.grid(False, axis="y")
            axes.margins(x=0.12)
        grid[1].set_xlim(
            left=float(links["latency_us"].min()) / 2, right=2 * float(links["latency_us"].max())
        )
        grid[0].set_yticks(range(len(links)), names)
        grid[0].set_ylim(len(links) - 0.5, -0.5)
        for axes in grid:
            axes.tick_params(axis="y", length=0)
    return [drawing]
