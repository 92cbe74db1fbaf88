"""Which interconnect is the fastest at each count?"""

from __future__ import annotations

from analysis.runs.frames import Tables, stacked
from analysis.topics.fastest.rows import FASTEST, fastest_rows
from analysis.topics.fastest.section import fastest
from analysis.topics.topic import Context, Topic


def make_fastest(context: Context) -> Tables:
    """Make the table ``fastest``: a row for each point that competes."""
    rows = [row for curves in context.curves.cases for row in fastest_rows(curves, context.settings)]
    return {"fastest": stacked(rows)}


TOPIC = Topic(
    name="fastest",
    schemas=FASTEST,
    make=make_fastest,
    by_site=True,
    directions=("fastest",),
    section=fastest,
    in_appendix=True,
    on_screen={"list", "table"},
)
