"""Which interconnect is the fastest at each count?"""

from __future__ import annotations

from analysis.topics.fastest.section import fastest_section
from analysis.topics.fastest.tables import FASTEST, make_fastest
from analysis.topics.topic import Topic

TOPIC = Topic(
    name="fastest",
    schemas=FASTEST,
    make=make_fastest,
    by_site=True,
    directions=("fastest",),
    section=fastest_section,
    in_appendix=True,
    on_screen={"list", "table"},
)
