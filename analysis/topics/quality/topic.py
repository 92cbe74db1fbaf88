"""How good are the measurements?"""

from __future__ import annotations

from analysis.presentation.drawing import Drawing
from analysis.topics.quality.figures import spread_figure
from analysis.topics.quality.section import quality
from analysis.topics.quality.tables import QUALITY, make_quality_tables
from analysis.topics.topic import Topic, View


def draw_quality(view: View) -> list[Drawing]:
    """Draw the spread of all points."""
    return spread_figure(view.tables["variability"], view.labels) if "variability" in view.tables else []


TOPIC = Topic(
    name="quality",
    schemas=QUALITY,
    make=lambda context: make_quality_tables(context.runs, context.curves.ranked, context.settings),
    by_site=True,
    tested=("variability", "drift"),
    directions=("drift",),
    draw=draw_quality,
    section=quality,
    in_appendix=True,
    on_screen={"table", "figure"},
)
