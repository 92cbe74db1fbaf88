"""How much faster is an interconnect than its baseline?"""

from analysis.topics.improvement.figures import improvement_figures
from analysis.topics.improvement.section import comparison
from analysis.topics.improvement.sentences import headline
from analysis.topics.improvement.tables import (
    IMPROVEMENT,
    IMPROVEMENT_MEAN,
    make_improvement,
    make_improvement_mean,
)
from analysis.topics.network.curves import without_benchmarks
from analysis.topics.topic import Topic

TOPIC = Topic(
    name="improvement",
    schemas=IMPROVEMENT,
    make=make_improvement,
    by_site=True,
    always=("improvement",),
    tested=("improvement",),
    directions=("improvement",),
    draw=lambda view: improvement_figures(view.tables["improvement"], view.labels),
    section=comparison,
    headline=headline,
    on_screen={"figure"},
)
MEAN = Topic(
    name="improvement_mean",
    schemas=IMPROVEMENT_MEAN,
    needs=("improvement", "network", "traffic"),
    make=lambda context: make_improvement_mean(
        without_benchmarks(context.tables)["improvement"], context.request.weights, context.settings.level
    ),
)
