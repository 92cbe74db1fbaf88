"""What changed between two sites, or two states of a cluster?"""

from __future__ import annotations

from dataclasses import replace

from analysis.presentation.drawing import Drawing
from analysis.presentation.style import Look
from analysis.topics.changes.figures import changes_figures
from analysis.topics.changes.section import changes_section
from analysis.topics.changes.tables import CHANGES, make_changes
from analysis.topics.topic import Topic, View


def draw_changes(view: View) -> list[Drawing]:
    """Draw the figures of the table ``changes``; an interconnect has the colour of its first site."""
    looks: dict[str, Look] = {}
    for name, look in view.labels.looks.items():
        looks.setdefault(name.partition("@")[0], look)
    return changes_figures(view.tables.get("changes"), replace(view.labels, looks=looks))


TOPIC = Topic(
    name="changes",
    schemas=CHANGES,
    make=lambda context: make_changes(context.runs, context.settings),
    directions=("changes", "changes_summary"),
    draw=draw_changes,
    section=changes_section,
)
