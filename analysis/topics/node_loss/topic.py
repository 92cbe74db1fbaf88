"""How much time does a further process on a node cost?"""

from __future__ import annotations

from analysis.runs.frames import Tables
from analysis.topics.node_loss.section import node_loss
from analysis.topics.node_loss.tables import NODE_LOSS, make_node_loss
from analysis.topics.topic import Context, Topic


def make(context: Context) -> Tables:
    """Make the table of losses for strong scaling."""
    if context.settings.scaling != "strong":
        return {}
    return make_node_loss(context.tables["scaling"], context.tables, context.side_tables["bandwidth"])


TOPIC = Topic(
    name="node_loss",
    schemas=NODE_LOSS,
    make=make,
    needs=("scaling", "traces"),
    section=node_loss,
    in_appendix=True,
    on_screen={"list"},
)
