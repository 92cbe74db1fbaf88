"""How good are the measurements?"""

from __future__ import annotations

from analysis.presentation.drawing import Drawing
from analysis.runs.frames import Tables
from analysis.topics.quality.figures import population_figure, spread_figure
from analysis.topics.quality.populations import POPULATIONS, make_populations, population_note
from analysis.topics.quality.section import quality
from analysis.topics.quality.tables import QUALITY, make_quality_tables
from analysis.topics.topic import Context, Headline, Page, Topic, View


def make_tables(context: Context) -> Tables:
    """Make the tables of `QUALITY`, and ``populations``."""
    tables = make_quality_tables(context.runs, context.curves.ranked, context.settings)
    return tables | {"populations": make_populations(context.runs)}


def draw_quality(view: View) -> list[Drawing]:
    """Draw the spread of all points, and the times of points with two populations."""
    drawings = spread_figure(view.tables["variability"], view.labels) if "variability" in view.tables else []
    if "populations" in view.tables:
        drawings += population_figure(view.runs, view.tables["populations"], view.labels)
    return drawings


def quality_headline(page: Page) -> Headline | None:
    """Name the points with two populations at the end of page one."""
    content = page.content
    if "populations" not in content.tables:
        return None
    target = content.facts.settings.target_percent
    return Headline(cautions=[population_note(content.tables["populations"], content.labels, target)])


TOPIC = Topic(
    name="quality",
    schemas=QUALITY | POPULATIONS,
    make=make_tables,
    by_site=True,
    tested=("variability", "drift"),
    directions=("drift",),
    draw=draw_quality,
    section=quality,
    headline=quality_headline,
    in_appendix=True,
    on_screen={"figure"},
)
