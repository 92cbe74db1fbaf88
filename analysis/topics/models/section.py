"""The section on scaling models: the best model of each curve and its predictions."""

from __future__ import annotations

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING
from analysis.presentation.labels import Labels
from analysis.presentation.rows import line_table, numbers, texts
from analysis.runs.frames import CURVE, Line, as_lines, rows_like
from analysis.topics.models.sentences import (
    compared_models,
    model_title,
    omitted_sentences,
    peak_text,
    with_interval,
)
from analysis.topics.models.tables import AVERAGE

READING = (
    "A curve contains the median times of a case over an interconnect. Nodeworth fits several scaling "
    "models to each curve. To check a model, Nodeworth omits each process count in turn. Nodeworth predicts "
    "the time at the omitted count from the other counts. The held-out error of a model is the mean relative "
    "error at the omitted counts. The best model has the smallest held-out error. A predicted time is a "
    "weighted average of the times of all models. The smaller the held-out error of a model, the larger is "
    "its weight. Brackets contain the interval or band of a prediction. The more the models disagree, the "
    "wider are the brackets. Above the largest count of the curve, larger held-out errors also widen the "
    "brackets. Predictions above twice this count have no brackets. Nodeworth tested these brackets on "
    "artificial data that follow such models."
)
READING_WEAK = (
    " The models are Gustafson's law and the communication model. In the communication model, the time on p "
    "processes is b + c log2 p + d p. The fit determines b, c and d."
)
READING_STRONG = (
    " The models are Amdahl's law, USL (Gunther's Universal Scalability Law) and the communication model. In "
    "the communication model, the time on p processes is a/p + b + c log2 p + d p. The fit determines a, b, "
    "c and d. Column “Limit of speedup” shows the speedup that the formula of the model cannot exceed. This "
    "limit is not a prediction. Column “Peak” shows the process count at which the model has its highest "
    "speedup. ∞ means that the model has no peak up to the largest predicted count."
)


def models_section(content: Content) -> Section | None:
    """Write the section on scaling models: the best model of every curve, and the predictions."""
    fitted = content.tables.get("models")
    if fitted is None or fitted.empty:
        return None
    labels, best_models = content.labels, compared_models(fitted)
    omitted = omitted_sentences(fitted, labels)
    if best_models.empty:
        return section("models", "Scaling models", [paragraph(omitted)])
    reading = READING + (READING_WEAK if labels.weak else READING_STRONG)
    if (content.tables["peaks"]["unit"] == "nodes").any():
        reading += " Models count processes, also where this report compares systems by nodes."
    blocks = [paragraph(f"{reading} {omitted}")]
    for case in labels.sorted_cases(best_models["case"]):
        blocks += content.figures("models", case)
    blocks.append(_model_table(best_models, content.tables["model_curves"], labels))
    return section("models", "Predictions of the models", blocks)


def _model_table(best_models: pd.DataFrame, model_curves: pd.DataFrame, labels: Labels) -> Block:
    """Make the table of the best model of each curve, with the speedup at the largest predicted count."""

    def predicted_speedup(line: Line) -> str:
        last = {**line, "model": AVERAGE, "processes": int(line["predicted_to"])}
        (point,) = as_lines(rows_like(model_curves, last, [*CURVE, "model", "processes"]))
        return with_interval(point, "speedup")

    several_levels = best_models["oversubscription"].nunique() > 1
    bounds = [
        numbers("Peak (processes)", peak_text),
        numbers("Limit of speedup", formats.number, "limit_speedup"),
    ]
    fields = [
        texts(labels.interconnect_head, lambda line: labels.curve(line, several_levels)),
        texts("Best model", model_title, "model"),
        numbers("Held-out error (%)", lambda error: formats.fixed(error, 1), "held_out_percent"),
        numbers("Next best (%)", lambda error: formats.fixed(error, 1), "next_percent"),
        numbers("Serial fraction", lambda line: with_interval(line, "serial_fraction")),
        *([] if labels.weak else bounds),
        numbers("Predicted to (processes)", formats.whole, "predicted_to"),
        numbers(f"{labels.speedup.capitalize()} there", predicted_speedup),
    ]
    has_intervals = best_models[["serial_fraction_low", "peak_low"]].notna().any(axis=None)
    brackets = f" Brackets contain {labels.intervals(best_models)}." if has_intervals else ""
    quantities = ["serial_fraction", *([] if labels.weak else ["peak_processes", "limit_speedup"])]
    is_known = best_models[quantities].notna()
    has_dashes = (is_known.any() & ~is_known.all()).any()  # a column without values is omitted
    dashes = f" A dash ({MISSING}) means that the model does not define the quantity of the column."
    caption = (
        f"The best model of each curve.{brackets}{dashes if has_dashes else ''} Column "
        "“Next best (%)” shows the held-out error of the second-best model. Column "
        f"“{labels.speedup.capitalize()} there” shows the predicted {labels.speedup} at the process count in "
        "column “Predicted to”. File tables/models.csv has all models."
    )
    lines = labels.lines(best_models, "case", "interconnect")
    return line_table(caption, fields, lines, lambda line: labels.case(line["case"]))
