"""Published bandwidth and latency of links, by rate, medium, path and interface."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pandas as pd

from analysis.presentation import style
from analysis.presentation.axes import log_axis, name_rows
from analysis.presentation.drawing import Drawing, new_drawing
from analysis.presentation.formats import THIN, exact, number
from analysis.runs.columns import NOTE, POSITIVE, TEXT, described, table_schema, validated
from analysis.runs.frames import Line, Tables, is_missing

LINKS = table_schema(
    "network_links",
    "One row per published link.",
    rate=described(TEXT, "Data rate, such as SDR."),
    medium=described(NOTE, "Copper or fiber."),
    path=described(NOTE, "Switched or back to back; verbs or ipoib."),
    bidirectional_Gbps=described(POSITIVE, "Highest bandwidth of both directions together, 10⁹ bit/s."),
    latency_us=described(POSITIVE, "Lowest latency."),
    source=described(NOTE, "File with the published values."),
)
"""One row per rate, medium and path or interface, as published."""
QUANTITIES = {"max bidirectional bandwidth": "bidirectional_Gbps", "min latency": "latency_us"}
"""Column of each published quantity that can be compared."""
ALTERNATIVES = (
    ("rate", ()),
    ("medium", ()),
    ("path", ("switched", "back to back")),
    ("path", ("verbs", "ipoib")),
)
"""Comparisons of links: a column, and the two compared values. An empty pair stands for any values."""
BAR_INCHES = 0.24
TITLES = {
    "bidirectional_Gbps": "Highest bandwidth, both directions (Gbit/s)",
    "latency_us": "Lowest latency (µs)",
}
_KEYS = ["rate", "medium", "path"]


def make_links(published: Tables) -> pd.DataFrame:
    """Gather published statements about links into one row per link.

    Parameters
    ----------
    published : mapping of str to DataFrame
        As `analysis.importers.read_published` returns it; it may hold ``link_statements``.

    Returns
    -------
    DataFrame
        Columns of `LINKS`, in the order of the statements; without rows if there are none.
    """
    statements = published.get("link_statements")
    if statements is None:
        return validated(LINKS, pd.DataFrame())
    rows = statements[statements["quantity"].isin(QUANTITIES)]
    if rows.empty:
        return validated(LINKS, pd.DataFrame())
    rows = rows.assign(column=rows["quantity"].map(QUANTITIES))
    grouped = rows.groupby([*_KEYS, "source", "column"], dropna=False, sort=False)
    return validated(LINKS, grouped["value"].first().unstack("column").reset_index())


def link_name(row: Line) -> str:
    """Name a link by its rate, medium and path: ``QDR, fiber, IPoIB``."""
    values = [row[key] for key in _KEYS if not is_missing(row[key])]
    return ", ".join("IPoIB" if value == "ipoib" else value for value in values)


def link_sentences(links: pd.DataFrame) -> list[str]:
    """Compare links of the table `LINKS` that differ only in rate, medium, path or interface."""
    return list(dict.fromkeys(_comparisons(links)))


def _comparisons(links: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence for each pair of links and each of `ALTERNATIVES` that the pair differs in."""
    rows = links.fillna(dict.fromkeys(_KEYS, "")).to_dict("records")
    for column, compared_values in ALTERNATIVES:
        other_keys = [key for key in _KEYS if key != column]
        for link, other in combinations(rows, 2):
            is_equal_otherwise = all(link[key] == other[key] for key in other_keys)
            values = {link[column], other[column]} - {""}
            if is_equal_otherwise and len(values) == 2 and values == set(compared_values or values):
                first, second = sorted((link, other), key=lambda row: -row["bidirectional_Gbps"])
                yield (
                    f"{link_name(first)} against {link_name(second)}: the bandwidth in both directions is "
                    f"{_ratio(first, second, 'bidirectional_Gbps', 'Gbit/s')}. The latency is "
                    f"{_ratio(first, second, 'latency_us', 'µs')}."
                )


def _ratio(first: Line, second: Line, column: str, unit: str) -> str:
    """Write two figures and their ratio: ``55 against 32 Gbit/s (factor 1.7)``."""
    low, high = sorted((first[column], second[column]))
    return (
        f"{exact(first[column])} against {exact(second[column])}{THIN}{unit}, a factor of "
        f"{number(high / low, 2)}"
    )


def link_figures(links: pd.DataFrame) -> list[Drawing]:
    """Draw bandwidth and latency of every link of the table ``network_links``; empty without rows."""
    if links.empty:
        return []
    names = [link_name(row) for row in links.to_dict("records")]
    rates = list(dict.fromkeys(links["rate"]))
    colours = [style.COLOURS[rates.index(rate) % len(style.COLOURS)] for rate in links["rate"]]
    caption = (
        "Published links by rate, medium, and path or interface. Left: highest bandwidth of both directions "
        "together. Right: lowest latency. Each rate has a colour."
    )
    height = BAR_INCHES * len(links) + 0.6
    with new_drawing("network_links", "network_links", height, caption) as drawing:
        grid = drawing.panels(2, 2, sharey=True)
        for axes, (column, title) in zip(grid, TITLES.items(), strict=True):
            values = links[column].astype(float)
            if column == "latency_us":
                log_axis(axes, list(values), horizontal=True)
            bars = axes.barh(range(len(links)), values, color=colours, height=0.7)
            numbers = ["" if pd.isna(value) else exact(value) for value in values]
            axes.bar_label(bars, numbers, padding=2, fontsize=7)
            for bar, text, name in zip(bars, numbers, names, strict=True):
                if text:
                    drawing.mark(bar, text=f"{name} (published)\n{title}: {text}")
            name_rows(axes, names)
            axes.set_xlabel(title)
            axes.margins(x=0.12)
        lowest, highest = (float(end) for end in links["latency_us"].agg(["min", "max"]))
        grid[1].set_xlim(lowest / 2, 2 * highest)
    return [drawing]
