"""The section on the quality of the measurements: disturbances, outliers, drift, spread and precision."""

from __future__ import annotations

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, on_screen, section
from analysis.presentation.content import Content
from analysis.presentation.labels import Labels
from analysis.presentation.rows import line_table, numbers, texts, with_levels
from analysis.runs.frames import Line
from analysis.runs.kinds import side
from analysis.topics.quality.populations import population_sentences
from analysis.topics.quality.sentences import (
    dependence_sentences,
    disturbed_sentences,
    drift_sentences,
    order_sentences,
    outlier_sentences,
    precision_sentences,
    printed_time_sentences,
    rounding_sentences,
    short_sentences,
    spread_sentences,
    stopped_sentences,
    unpaired_dependence_sentences,
    with_interval,
    world_sentences,
)
from analysis.topics.quality.tables import SPREAD_RULE

MOST_ROWS = 30
"""Largest number of improvements in the table of the report."""


def quality(content: Content) -> Section | None:
    """Write the section on the quality of the measurements."""
    tables, labels = content.tables, content.labels
    sentences = [
        *disturbed_sentences(content.runs),
        *short_sentences(content.runs),
        *world_sentences(content.runs),
        *printed_time_sentences(content.runs),
    ]
    if "populations" in tables:
        sentences += population_sentences(tables["populations"], labels)
    blocks: list[Block] = []
    if "repetitions" in tables:
        sentences += outlier_sentences(tables["repetitions"], content.runs, labels)
    if "drift" in tables:
        sentences += drift_sentences(tables["drift"], labels)
    sentences += order_sentences(content.runs) + rounding_sentences(content.runs)
    if "variability" in tables:
        blocks += _spread_table(tables["variability"], labels)
        if not content.facts.study.unfinished:
            sentences += spread_sentences(tables["variability"], labels)
        sentences += stopped_sentences(tables["variability"])
        sentences += dependence_sentences(tables["variability"], labels)
    sentences += unpaired_dependence_sentences(tables["improvement"])
    if "precision" in tables:
        sentences += precision_sentences(tables["precision"], _has_measured(content.runs))
        blocks += _wide_table(tables["precision"], labels)
    if not sentences:
        return None
    heading = "How good the measurements are"
    return section("quality", heading, [bullets(sentences), *content.figures("quality"), *blocks])


def _has_measured(runs: pd.DataFrame) -> bool:
    """Whether Nodeworth made runs of the study."""
    return "origin" not in runs or bool(runs["origin"].eq("run").any())


def _spread_table(variability: pd.DataFrame, labels: Labels) -> list[Block]:
    """Tabulate the median and the largest spread of the points of each interconnect."""
    with_spread = variability[variability["spread_percent"].notna()]
    if with_spread.empty:
        return []
    by_interconnect = with_spread.groupby(["interconnect", "kind"], dropna=False)["spread_percent"]
    spreads = by_interconnect.agg(["median", "max"]).reset_index()

    def percent(spread: float) -> str:
        return formats.fixed(spread, 1)

    fields = [
        texts(labels.interconnect_head, labels.interconnect, "interconnect", "kind"),
        numbers("Median spread (%)", percent, "median"),
        numbers("Largest spread (%)", percent, "max"),
    ]
    caption = (
        f"Median and largest run-to-run spread of the points of each {labels.noun}. {SPREAD_RULE} For "
        "normally distributed log times, spread estimates exp(s) − 1 with their standard deviation s."
    )
    if len(spreads) < len(variability.drop_duplicates(["interconnect", "kind"])):
        caption += " The other interconnects have no point with two complete blocks."
    return [line_table(caption, fields, labels.lines(spreads, "interconnect", "kind"), of_cases=False)]


def _wide_table(precision: pd.DataFrame, labels: Labels) -> list[Block]:
    """Tabulate the improvements whose interval is too wide."""
    compared = with_interval(precision)
    wide = compared[~compared["reached"]]
    if wide.empty:
        return []
    shown = wide.sort_values("blocks_wanted", ascending=False, kind="stable").head(MOST_ROWS)

    def name(line: Line) -> str:
        return labels.interconnect(line["interconnect"], side(line["kind"], 1))

    fields = [
        texts("Case", labels.case, "case"),
        texts(labels.interconnect_head, name),
        numbers("Processes", formats.whole, "at_processes"),
        numbers("Half-width (points)", lambda width: f"±{formats.fixed(width, 1)}", "half_width_percent"),
        numbers("Blocks", formats.whole, "blocks"),
        numbers("Blocks needed", formats.whole, "blocks_wanted"),
    ]
    target = formats.number(wide["target_percent"].iloc[0], 2)
    caption = f"Improvements whose intervals are wider than ±{target} percentage points, widest first."
    if len(wide) > len(shown):
        caption += (
            f" The table shows {len(shown)} of {len(wide)} improvements. File tables/precision.csv has all "
            "improvements."
        )

    def baseline(line: Line) -> str:
        return f"Over {labels.interconnect(line['baseline_interconnect'], side(line['kind'], 0))}"

    return [on_screen(line_table(caption, fields, shown.to_dict("records"), with_levels(wide, baseline)))]
