"""What do the transports of an interconnect do?"""

from __future__ import annotations

from analysis.presentation.drawing import Drawing
from analysis.runs.frames import Tables
from analysis.topics.topic import Context, Topic, View
from analysis.topics.transports.figures import transport_figures
from analysis.topics.transports.section import transports
from analysis.topics.transports.tables import TRANSPORT_TABLE, make_transport_table


def make_transports(context: Context) -> Tables:
    """Make the table ``network_transports``."""
    network = context.tables.get("network", context.network_imports)
    rows = context.side_tables["transports"]
    return {"network_transports": make_transport_table(context.runs, rows, context.published, network)}


def draw_transports(view: View) -> list[Drawing]:
    """Draw latency, rate and loss of each transport."""
    if "network_transports" not in view.tables:
        return []
    return transport_figures(view.tables["network_transports"], view.labels)


TOPIC = Topic(
    name="transports",
    schemas={"network_transports": TRANSPORT_TABLE},
    make=make_transports,
    needs=("network",),
    draw=draw_transports,
    section=transports,
    needs_runs=False,
)
