"""What do more processes per core bring?"""

from __future__ import annotations

from analysis.topics.oversubscription.figures import oversubscription_figures
from analysis.topics.oversubscription.section import oversubscription
from analysis.topics.oversubscription.tables import OVERSUBSCRIPTION, make_oversubscription
from analysis.topics.topic import Topic

TOPIC = Topic(
    name="oversubscription",
    schemas=OVERSUBSCRIPTION,
    make=make_oversubscription,
    by_site=True,
    always=("oversubscription",),
    tested=("oversubscription",),
    directions=("oversubscription",),
    draw=lambda view: oversubscription_figures(
        view.tables["oversubscription"], view.tables["scaling"], view.labels
    ),
    section=oversubscription,
    on_screen={"figure"},
)
