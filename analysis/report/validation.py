"""The section on predictions that can be held against measurements."""

from __future__ import annotations

import pandas as pd

from analysis.report.blocks import Row, Section, bullets, left, paragraph, right, row, section, table
from analysis.report.content import Content
from analysis.tables.missing import as_float
from analysis.text import formats
from analysis.text.formats import THIN, counted
from analysis.text.labels import Labels

HOW = (
    "Each of these points was run, and predicted from a trace on a model of the same interconnect. Errors "
    "are those of the prediction, in percent of the median that was measured. This is the only comparison of "
    "simulated with other times that needs no word of the study, and it enters no estimate."
)


def validation(content: Content) -> Section | None:
    """Predicted against measured times of a study that has both."""
    if "validation" not in content.tables:
        return None
    rows, labels = content.tables["validation"], content.labels
    blocks = [paragraph(HOW), bullets(error_sentences(rows, labels)), _table(rows, labels)]
    return section("validation", "Predicted against measured", blocks)


def error_sentences(rows: pd.DataFrame, labels: Labels) -> list[str]:
    """Say how large the errors are, over all points and by interconnect, and how noisy the measurements were.

    Parameters
    ----------
    rows : DataFrame
        Table ``validation``.
    labels : Labels
    """
    said = [f"All: {_spread(rows['error_percent'])}."]
    order = labels.sorted_interconnects(rows["interconnect"])
    for name in order if len(order) > 1 else ():
        own = rows[rows["interconnect"] == name]
        title = labels.interconnect(name, own["kind"].iloc[0])
        said.append(f"{title}: {_spread(own['error_percent'])}.")
    if rows["noise"].notna().any():
        noise = 100 * rows["noise"]
        said.append(
            f"CPU pressure while it was measured: {formats.percent(noise.median())} of the time in the "
            f"median point, {formats.percent(noise.max())} at most."
        )
    return said


def _spread(errors: pd.Series) -> str:
    low, high = (formats.percent(errors.agg(end), signed=True) for end in ("min", "max"))
    return (
        f"{counted(len(errors), 'point')}, median error {formats.percent(errors.abs().median())} (signs left "
        f"aside), from {low} to {high}"
    )


def _table(rows: pd.DataFrame, labels: Labels) -> dict:
    groups: dict[str, list[Row]] = {}
    for case, own in labels.by_case(labels.in_order(rows, "interconnect", "processes")):
        groups[labels.case(case)] = [
            row(
                [
                    labels.interconnect(line["interconnect"], line["kind"]),
                    formats.whole(line["processes"]),
                    *(_time(line, whose) for whose in ("predicted", "measured")),
                    formats.fixed(line["error_percent"], 1, signed=True),
                    formats.whole(line["n"]),
                    formats.fixed(100 * as_float(line["noise"]), 1),
                ],
                case,
                line["interconnect"],
            )
            for line in own.to_dict("records")
        ]
    columns = [
        *left("Interconnect"),
        *right("Processes", "Predicted (s)", "Measured (s)", f"Error{THIN}%", "Runs", "CPU pressure (%)"),
    ]
    caption = (
        "Predicted and measured times. Brackets of predictions hold the band of the simulation, which has no "
        "width where nothing was repeated or corrected; those of measurements hold their interval."
    )
    return table(caption, columns, groups)


def _time(line: dict, whose: str) -> str:
    """Time with its bracket; a band without width has none."""
    low, high = (line[f"{whose}_{end}"] for end in ("low", "high"))
    wide = (low, high) if low != high else (None, None)
    return formats.bracketed(line[f"{whose}_seconds"], *wide)
