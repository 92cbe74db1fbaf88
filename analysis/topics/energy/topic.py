"""How much energy do runs take?"""

from __future__ import annotations

from analysis.runs.frames import Tables, stacked
from analysis.topics.energy.section import energy
from analysis.topics.energy.tables import ENERGY, counted_energy, energy_pieces
from analysis.topics.topic import Context, Topic


def make_energy(context: Context) -> Tables:
    """Make the table ``energy`` from counted energy, else from the study's model of a node."""
    counted = counted_energy(context.runs, context.curves.ranked, context.settings)
    rows = [
        row
        for curves in context.curves.cases
        for row in energy_pieces(curves, counted, context.request.market, context.settings)
    ]
    return {"energy": stacked(rows)}


TOPIC = Topic(name="energy", schemas=ENERGY, make=make_energy, by_site=True, section=energy)
