"""How should a number of jobs run on a number of cores?"""

from __future__ import annotations

from analysis.presentation.drawing import Drawing
from analysis.runs.frames import Tables, stacked
from analysis.topics.topic import Context, Topic, View
from analysis.topics.turnaround import ways
from analysis.topics.turnaround.figures import turnaround_figures
from analysis.topics.turnaround.section import turnaround
from analysis.topics.turnaround.tables import TURNAROUND, packing_pieces


def make_turnaround(context: Context) -> Tables:
    """Make the tables ``packing`` and ``advice``."""
    pieces = [
        packing_pieces(curves, context.request.queue, context.settings, ways)
        for curves in context.curves.cases
    ]
    return {name: stacked([row for piece in pieces for row in piece[name]]) for name in TURNAROUND}


def draw_turnaround(view: View) -> list[Drawing]:
    """Draw time against throughput."""
    return turnaround_figures(view.tables["packing"], view.labels) if "packing" in view.tables else []


TOPIC = Topic(
    name="turnaround",
    schemas=TURNAROUND,
    make=make_turnaround,
    by_site=True,
    directions=("packing", "advice"),
    draw=draw_turnaround,
    section=turnaround,
    on_screen={"list", "figure"},
)
