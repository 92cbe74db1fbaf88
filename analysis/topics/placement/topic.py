"""What do fewer processes per node bring?"""

from __future__ import annotations

from analysis.topics.placement.section import placement
from analysis.topics.placement.tables import PLACEMENT, make_placement
from analysis.topics.topic import Topic

TOPIC = Topic(
    name="placement",
    schemas=PLACEMENT,
    make=make_placement,
    by_site=True,
    always=("placement",),
    tested=("placement",),
    directions=("placement",),
    section=placement,
)
