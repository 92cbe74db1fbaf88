"""What does a run cost?"""

from __future__ import annotations

from analysis.topics.run_cost.figures import draw_run_costs
from analysis.topics.run_cost.section import headline, run_cost_section
from analysis.topics.run_cost.tables import RUN_COST_TABLES, make_run_costs
from analysis.topics.topic import Topic

TOPIC = Topic(
    name="run_cost",
    schemas=RUN_COST_TABLES,
    make=make_run_costs,
    directions=("run_costs", "run_choices"),
    draw=draw_run_costs,
    section=run_cost_section,
    headline=headline,
)
