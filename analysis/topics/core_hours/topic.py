"""Where did the core-hours go?"""

from __future__ import annotations

from analysis.topics.core_hours.section import core_hours
from analysis.topics.core_hours.tables import CORE_HOURS, make_core_hours
from analysis.topics.topic import Topic

TOPIC = Topic(
    name="core_hours",
    schemas=CORE_HOURS,
    make=lambda context: make_core_hours(context.runs, context.side_tables["jobs"]),
    section=core_hours,
    in_appendix=True,
    needs_runs=False,
    on_screen={"table"},
)
