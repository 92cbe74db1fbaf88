"""How much traffic does an interconnect accept?"""

from __future__ import annotations

from analysis.topics.topic import Topic
from analysis.topics.traffic.figures import traffic_figures
from analysis.topics.traffic.section import traffic
from analysis.topics.traffic.tables import TRAFFIC_TABLES, make_traffic_tables

TOPIC = Topic(
    name="traffic",
    schemas=TRAFFIC_TABLES,
    make=lambda context: make_traffic_tables(context.runs, context.side_tables),
    draw=lambda view: traffic_figures(view.tables, view.labels),
    section=traffic,
    needs_runs=False,
)
