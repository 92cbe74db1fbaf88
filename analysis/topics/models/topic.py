"""Which model fits each curve, and what does it predict?"""

from __future__ import annotations

from analysis.presentation.drawing import Drawing
from analysis.topics.models.extrap import write_extrap
from analysis.topics.models.figures import model_figures
from analysis.topics.models.section import models_section
from analysis.topics.models.tables import MODEL_TABLES, make_models
from analysis.topics.topic import Topic, View


def draw_models(view: View) -> list[Drawing]:
    """Draw the speedups that the models of each curve predict."""
    return model_figures(view.tables, view.labels) if "models" in view.tables else []


TOPIC = Topic(
    name="models",
    schemas=MODEL_TABLES,
    make=make_models,
    by_site=True,
    write=lambda context, folder: write_extrap(context.runs, folder / "extrap"),
    draw=draw_models,
    section=models_section,
    in_appendix=True,
)
