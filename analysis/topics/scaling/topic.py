"""How does each case scale over each interconnect?"""

from analysis.topics.scaling.figures import scaling_figures
from analysis.topics.scaling.section import case_sections
from analysis.topics.scaling.tables import SCALING, make_scaling
from analysis.topics.topic import Topic

TOPIC = Topic(
    name="scaling",
    schemas=SCALING,
    make=make_scaling,
    by_site=True,
    always=("scaling",),
    draw=lambda view: scaling_figures(view.tables["scaling"], view.labels),
    section=case_sections,
)
