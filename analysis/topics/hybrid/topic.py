"""What do more threads per process bring?"""

from __future__ import annotations

from analysis.topics.hybrid.section import hybrid
from analysis.topics.hybrid.tables import HYBRID, make_hybrid
from analysis.topics.topic import Topic

TOPIC = Topic(
    name="hybrid",
    schemas=HYBRID,
    make=make_hybrid,
    by_site=True,
    tested=("hybrid",),
    directions=("hybrid",),
    section=hybrid,
)
