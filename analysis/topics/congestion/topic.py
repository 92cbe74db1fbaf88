"""How does a topology spread the load of a pattern of traffic?"""

from __future__ import annotations

from analysis.topics.congestion.figures import matrix_figures
from analysis.topics.congestion.section import congestion_section
from analysis.topics.congestion.tables import CONGESTION_TABLES, make_congestion
from analysis.topics.topic import Topic

TOPIC = Topic(
    name="congestion",
    schemas=CONGESTION_TABLES,
    make=make_congestion,
    draw=lambda view: matrix_figures(view.tables, view.facts.study_keys.get("congestion", {})),
    section=congestion_section,
    needs_runs=False,
)
