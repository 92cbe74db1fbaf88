"""The section on scaling models: what fits best, what it predicts and up to which count."""

from __future__ import annotations

import pandas as pd

from analysis.report.blocks import Block, Row, Section, bullets, left, paragraph, right, row, section, table
from analysis.report.content import Content
from analysis.text import formats
from analysis.text.formats import MISSING
from analysis.text.labels import Labels
from analysis.text.models import (
    bracketed,
    compared_models,
    model_sentences,
    model_title,
    peak_text,
    too_few_sentence,
)

READING = (
    "A model is fitted to the median times of a curve and judged by its held-out error: the mean relative "
    "error at each count of a fit to all the others; the best has the least. The communication model has "
    "costs that are constant, grow with log2 of the processes, and with the processes."
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
    blocks: list[Block] = [paragraph(f"{reading} {few}")]
    for case, rows in labels.by_case(best):
        said = model_sentences(rows, content.rows("model_curves", case), labels)
        blocks.append(bullets(said, labels.case(case), case))
        blocks += content.figures("models", case)
    blocks.append(_model_table(best, labels))
    return section("models", "What the models say", blocks, new_page=True)


def _model_table(best: pd.DataFrame, labels: Labels) -> Block:
    several = best["oversubscription"].nunique() > 1
    groups: dict[str, list[Row]] = {}
    for line in labels.in_order(best, "case", "interconnect").to_dict("records"):
        cells = [
            labels.curve(line, several),
            model_title(line["model"]),
            formats.fixed(line["held_out_percent"], 1),
            formats.fixed(line["next_percent"], 1),
            bracketed(line, "serial_fraction"),
            *([] if labels.weak else [peak_text(line), bracketed(line, "limit", "limit_speedup")]),
            formats.whole(line["told_to"]),
        ]
        own = groups.setdefault(labels.case(line["case"]), [])
        own.append(row(cells, line["case"], line["interconnect"]))
    columns = [
        *left("Interconnect", "Best model"),
        *right("Held-out error (%)", "Next best (%)", "Serial fraction"),
        *([] if labels.weak else right("Peak (processes)", "Limit of speedup")),
        *right("Told to (processes)"),
    ]
    caption = (
        f"The best model of each curve, with {labels.intervals(best)} in brackets; {MISSING} where it has "
        "no such coefficient. All fitted models are in tables/models.csv."
    )
    return table(caption, columns, groups)
