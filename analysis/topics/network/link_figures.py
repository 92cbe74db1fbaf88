"""Published bandwidth and latency of links by rate, medium, path and interface, as bars."""

from __future__ import annotations

import pandas as pd

from analysis.presentation import style
from analysis.presentation.axes import log_axis, name_rows
from analysis.presentation.drawing import Drawing, new_drawing
from analysis.presentation.formats import exact
from analysis.topics.network.link_words import link_name

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
    height = BAR_INCHES * len(links) + 0.6
    with new_drawing("network_links", "network_links", height, caption) as drawing:
        grid = drawing.panels(2, 2, sharey=True)
        for axes, (column, title) in zip(grid, FIELDS.items(), strict=True):
            values = links[column].astype(float)
            if column == "latency_us":
                log_axis(axes, list(values), horizontal=True)
            bars = axes.barh(range(len(links)), values, color=colours, height=0.7)
            numbers = ["" if pd.isna(value) else exact(value) for value in values]
            axes.bar_label(bars, numbers, padding=2, fontsize=7)
            for bar, number, name in zip(bars, numbers, names, strict=True):
                if number:
                    drawing.mark(bar, text=f"{name} (published)\n{title}: {number}")
            name_rows(axes, names)
            axes.set_xlabel(title)
            axes.margins(x=0.12)
        lowest, highest = (float(end) for end in links["latency_us"].agg(["min", "max"]))
        grid[1].set_xlim(lowest / 2, 2 * highest)
    return [drawing]
