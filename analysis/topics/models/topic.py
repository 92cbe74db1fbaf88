"""Which model fits each curve?"""

from __future__ import annotations

from analysis.presentation.drawing import Drawing
from analysis.runs.frames import Tables, stacked
from analysis.topics.models.extrap import write_extrap
from analysis.topics.models.figures import model_figures
from analysis.topics.models.section import models
from analysis.topics.models.tables import MODEL_TABLES, model_pieces
from analysis.topics.topic import Context, Topic, View


def make_models(context: Context) -> Tables:
    """Make the tables ``models`` and ``model_curves``."""
    pieces = [model_pieces(curves, context.settings) for curves in context.curves.cases]
    return {name: stacked([row for piece in pieces for row in piece[name]]) for name in MODEL_TABLES}


def draw_models(view: View) -> list[Drawing]:
    """Draw the fitted models."""
    return model_figures(view.tables, view.labels) if "models" in view.tables else []


TOPIC = Topic(
    name="models",
    schemas=MODEL_TABLES,
    make=make_models,
    by_site=True,
    write=lambda context, folder: write_extrap(context.runs, folder / "extrap"),
    draw=draw_models,
    section=models,
    in_appendix=True,
)
