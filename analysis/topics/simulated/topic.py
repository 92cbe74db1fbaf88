"""How were simulated times made?"""

from __future__ import annotations

from analysis.topics.simulated.figures import simulated_figures
from analysis.topics.simulated.section import simulated
from analysis.topics.simulated.tables import SIMULATED_TABLES, make_simulated_tables
from analysis.topics.simulated.traces_section import traces, traces_headline
from analysis.topics.topic import Topic

TOPIC = Topic(
    name="simulated",
    schemas=SIMULATED_TABLES,
    make=lambda context: make_simulated_tables(context.runs, context.side_tables),
    draw=lambda view: simulated_figures(view.tables, view.labels),
    section=simulated,
    in_appendix=True,
    on_screen={"list"},
)
TRACES = Topic(
    name="traces", section=traces, headline=traces_headline, in_appendix=True, on_screen={"figure", "table"}
)
