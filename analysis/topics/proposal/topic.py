"""Which node counts can a request for core-hours defend?"""

from __future__ import annotations

from analysis.runs.frames import Tables, stacked
from analysis.topics.proposal.tables import PROPOSAL, proposal_columns
from analysis.topics.topic import Context, Topic


def make_proposal(context: Context) -> Tables:
    """Make the table ``proposal`` if the study names a rule."""
    rule, market = context.request.rule, context.request.market
    if rule is None:
        return {}
    cores_per_node = market.node.cores if market else None
    rows = [
        proposal_columns(curve, rule, context.settings, cores_per_node)
        for curves in context.curves.cases
        for curve in curves
    ]
    return {"proposal": stacked(rows)}


TOPIC = Topic(name="proposal", schemas=PROPOSAL, make=make_proposal, by_site=True, directions=("proposal",))
