"""Whether a study that goes on until a target has reached it, by its records."""

from __future__ import annotations

from workflows.plan.plan import Plan
from workflows.plan.stopping import Stopping


def stopping_by_records(plan: Plan) -> Stopping:
    """Apply the stopping rule of a study with a target to what is recorded of it."""
    from workflows.results.collect import runs_table  # here: a job that measures loads no analysis
    from workflows.results.facts import stopping

    return stopping(plan, *runs_table(plan))
