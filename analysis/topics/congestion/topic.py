"""How does a topology spread the load of a pattern of traffic?"""

from __future__ import annotations

from analysis.runs.frames import Tables
from analysis.topics.congestion.figures import matrix_figures
from analysis.topics.congestion.section import congestion
from analysis.topics.congestion.tables import CONGESTION_TABLES, make_congestion_tables, topology_of
from analysis.topics.topic import Context, Topic


def make_congestion(context: Context) -> Tables:
    """Make the tables of route load if the study asks for them."""
    requested = context.facts.congestion
    flows = context.side_tables["congestion_flows"]
    if not requested or flows.empty:
        return {}
    topologies = {title: topology_of(given) for title, given in requested["topologies"].items()}
    by_topology = {
        title: {
            pattern: rows[["source", "destination", "load"]].reset_index(drop=True)
            for pattern, rows in of_topology.groupby("pattern", sort=False)
        }
        for title, of_topology in flows.groupby("topology", sort=False)
    }
    return make_congestion_tables(topologies, by_topology, requested["matrices"])


TOPIC = Topic(
    name="congestion",
    schemas=CONGESTION_TABLES,
    make=make_congestion,
    draw=lambda view: matrix_figures(view.tables, view.facts.congestion),
    section=congestion,
    needs_runs=False,
)
