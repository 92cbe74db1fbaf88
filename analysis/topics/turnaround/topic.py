"""How should a number of jobs run on a number of cores?"""

from __future__ import annotations

from collections.abc import Sequence

from analysis.curves.curves import Curve
from analysis.presentation.drawing import Drawing
from analysis.runs.frames import Pieces, Tables, stacked
from analysis.runs.settings import Settings
from analysis.topics.topic import Context, Topic, View
from analysis.topics.turnaround.advice import ADVICE, advice_rows
from analysis.topics.turnaround.figures import turnaround_figures
from analysis.topics.turnaround.packing import PACKING, Queue, packing_columns, ways_of
from analysis.topics.turnaround.section import turnaround


def make_turnaround(context: Context) -> Tables:
    """Make the tables ``packing`` and ``advice`` from the curves of all cases."""
    queue = context.facts.study_section("queue", Queue)
    pieces: Pieces = {name: [] for name in TOPIC.schemas}
    for curves in context.curves.cases:
        for name, case_pieces in turnaround_pieces(curves, queue, context.settings).items():
            pieces[name] += case_pieces
    return {name: stacked(table_pieces) for name, table_pieces in pieces.items()}


def turnaround_pieces(curves: Sequence[Curve], queue: Queue, settings: Settings) -> Pieces:
    """Make the rows of the tables ``packing`` and ``advice`` for a case, from all its curves."""
    pieces: Pieces = {"packing": [], "advice": []}
    for ways in ways_of(curves, queue, settings):
        packing = packing_columns(ways, queue, settings)
        pieces["packing"].append(packing)
        if len(ways.samples) > 1:  # a single way is no choice
            pieces["advice"] += advice_rows(ways, packing, queue, settings)
    return pieces


def draw_turnaround(view: View) -> list[Drawing]:
    """Draw jobs per day against time per job."""
    return turnaround_figures(view.tables["packing"], view.labels) if "packing" in view.tables else []


TOPIC = Topic(
    name="turnaround",
    schemas=PACKING | ADVICE,
    make=make_turnaround,
    by_site=True,
    directions=("packing", "advice"),
    draw=draw_turnaround,
    section=turnaround,
    on_screen={"list", "figure"},
)
