"""What remains of a difference when the speed of the machine is accounted for?"""

from __future__ import annotations

from analysis.topics.adjusted.section import adjusted
from analysis.topics.adjusted.tables import ADJUSTED, make_adjusted
from analysis.topics.topic import Topic

TOPIC = Topic(
    name="adjusted",
    schemas=ADJUSTED,
    make=lambda context: make_adjusted(context.runs, context.tables["improvement"]),
    by_site=True,
    needs=("improvement",),
    directions=("adjusted",),
    section=adjusted,
    in_appendix=True,
)
