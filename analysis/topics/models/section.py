"""The section on scaling models: what fits best, what it predicts and up to which count."""

from __future__ import annotations

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING
from analysis.presentation.labels import Labels
from analysis.presentation.rows import line_table, numbers, texts
from analysis.runs.frames import CURVE, Line, rows_like
from analysis.topics.models.sentences import (
    bracketed,
    compared_models,
    model_title,
    peak_text,
    too_few_sentence,
)
from analysis.topics.models.tables import AVERAGE

READING = (
    "A model is fitted to the median times of a curve and judged by its held-out error: the mean relative "
    "error at each count of a fit to all the others; the best has the least. The communication model has "
    "costs that are constant, grow with log2 of the processes, and with the processes. Predictions are the "
    "average of the models, weighed by their held-out errors; their brackets also hold how far the models "
    "lie apart, and beyond what was run the held-out error. None reaches beyond twice "
    "the largest count that was run."
)
READING_STRONG = (
    " USL is Gunther's Universal Scalability Law. The limit is the formula's own bound, not a prediction; ∞ "
    "is beyond what a model is told."
)


def models(content: Content) -> Section | None:
    """What the best scaling model of every curve predicts."""
    fitted = content.tables.get("models")
    if fitted is None or fitted.empty:
        return None
    labels, best = content.labels, compared_models(fitted)
    few = too_few_sentence(fitted, best, labels)
    if best.empty:
        return section("models", "Scaling models", [paragraph(few)])
    reading = READING if labels.weak else READING + READING_STRONG
    blocks = [paragraph(f"{reading} {few}")]
    for case in labels.sorted_cases(best["case"]):
        blocks += content.figures("models", case)
    blocks.append(_model_table(best, content.tables["model_curves"], labels))
    return section("models", "What the models say", blocks)


def _model_table(best: pd.DataFrame, curves: pd.DataFrame, labels: Labels) -> Block:
    def predicted(line: Line) -> str:
        last = {**line, "model": AVERAGE, "processes": int(line["told_to"])}
        return bracketed(rows_like(curves, last, [*CURVE, "model", "processes"]).iloc[0], "speedup")

    several = best["oversubscription"].nunique() > 1
    bounds = [
        numbers("Peak (processes)", peak_text),
        numbers("Limit of speedup", formats.number, "limit_speedup"),
    ]
    fields = [
        texts("Interconnect", lambda line: labels.curve(line, several)),
        texts("Best model", model_title, "model"),
        numbers("Held-out error (%)", lambda error: formats.fixed(error, 1), "held_out_percent"),
        numbers("Next best (%)", lambda error: formats.fixed(error, 1), "next_percent"),
        numbers("Serial fraction", lambda line: bracketed(line, "serial_fraction")),
        *([] if labels.weak else bounds),
        numbers("Told to (processes)", formats.whole, "told_to"),
        numbers(f"{labels.speedup.capitalize()} there", predicted),
    ]
    known = best[["serial_fraction_low", "peak_low"]].notna().any(axis=None)
    brackets = f", with {labels.intervals(best)} in brackets" if known else ""
    caption = (
        f"The best model of each curve{brackets}; {MISSING} where it has no such coefficient; the speedup is "
        "that of the average. All models are in tables/models.csv."
    )
    lines = labels.lines(best, "case", "interconnect")
    return line_table(caption, fields, lines, lambda line: labels.case(line["case"]))
