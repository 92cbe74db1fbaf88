"""Is a node slower than the others?"""

from __future__ import annotations

from analysis.presentation.drawing import Drawing
from analysis.topics.nodes.figures import node_figures
from analysis.topics.nodes.section import nodes
from analysis.topics.nodes.tables import NODES, make_nodes
from analysis.topics.topic import Topic, View


def draw_nodes(view: View) -> list[Drawing]:
    """Draw the speed of each node."""
    return node_figures(view.tables["nodes"], view.labels) if "nodes" in view.tables else []


TOPIC = Topic(
    name="nodes",
    schemas=NODES,
    make=lambda context: make_nodes(context.runs, context.settings),
    by_site=True,
    draw=draw_nodes,
    section=nodes,
    in_appendix=True,
)
