"""How fast are the interconnects, by message size, pair and collective operation?"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from analysis.presentation.drawing import Drawing
from analysis.runs.frames import Tables
from analysis.topics.network.curve_figures import collective_figures, curve_figures, variability_figures
from analysis.topics.network.curves import network_table
from analysis.topics.network.links import link_figures, make_links
from analysis.topics.network.pair_figures import availability_figures, matrix_figures, pairs_figures
from analysis.topics.network.published import published_networks
from analysis.topics.network.section import headline, network
from analysis.topics.network.tables import NETWORK_TABLES, host_buses, link_rates, make_network_tables
from analysis.topics.network.text_formats import write_texts
from analysis.topics.topic import Context, Topic, View


def make_network(context: Context) -> Tables:
    """Make the tables of measured, simulated and imported network curves, and of published links."""
    curves = network_table(context.runs, context.side_tables["benchmarks"])
    curves = pd.concat([curves, context.network_imports], ignore_index=True)
    rates = link_rates(context.facts, context.published)
    buses = host_buses(context.facts, context.published)
    tables = make_network_tables(curves, rates, buses)
    return {"network_links": make_links(context.published), **tables}


def write_curves(context: Context, folder: Path) -> None:
    """Write each measured curve in the formats of the usual network benchmarks."""
    write_texts(network_table(context.runs, context.side_tables["benchmarks"]), folder / "curves")


def draw_network(view: View) -> list[Drawing]:
    """Draw curves, pairs, availability, collective operations, variability and links."""
    tables, labels = view.tables, view.labels
    drawings: list[Drawing] = []
    if "network" in tables:
        drawings += curve_figures(tables["network"], labels) + matrix_figures(tables["network"], labels)
    if "network_pairs" in tables:
        drawings += pairs_figures(tables["network_pairs"], labels)
    if "network_availability" in tables:
        drawings += availability_figures(tables["network_availability"], labels)
    if "network" in tables:
        drawings += collective_figures(tables["network"], labels)
        drawings += variability_figures(tables["network"], labels)
    if "network_links" in tables:
        drawings += link_figures(tables["network_links"])
    return drawings


TOPIC = Topic(
    name="network",
    schemas=NETWORK_TABLES,
    make=make_network,
    write=write_curves,
    draw=draw_network,
    section=network,
    headline=headline,
    needs_runs=False,
)
PUBLISHED = Topic(name="published_networks", section=published_networks, needs_runs=False)
