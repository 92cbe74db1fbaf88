"""The section on predictions that can be held against measurements."""

from __future__ import annotations

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import THIN, counted
from analysis.presentation.labels import Labels
from analysis.presentation.rows import line_table, numbers, texts
from analysis.runs.frames import as_float

HOW = (
    "Each of these points was run, and predicted from a trace on a model of the same interconnect. Errors "
    "are those of the prediction, in percent of the median that was measured. Those of speedups lack what "
    "the machine's speed did between traces and runs. This is the only comparison of simulated with other "
    "times that needs no word of the study, and it enters no estimate."
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

    Takes the table ``validation``.
    """
    said = [f"All: {_spread(rows['error_percent'])}."]
    order = labels.sorted_interconnects(rows["interconnect"])
    for name in order if len(order) > 1 else ():
        own = rows[rows["interconnect"] == name]
        title = labels.interconnect(name, own["kind"].iloc[0])
        said.append(f"{title}: {_spread(own['error_percent'])}.")
    if len(speedups := rows["speedup_error_percent"].dropna()):
        said.append(f"Speedups: {_spread(speedups)}.")
    said += _meeting(rows, "Bands of times", "")
    said += _meeting(rows, "Those of speedups", "_speedup")
    if rows["noise"].notna().any():
        noise = 100 * rows["noise"]
        said.append(
            f"CPU pressure while it was measured: {formats.percent(noise.median())} of the time in the "
            f"median point, {formats.percent(noise.max())} at most."
        )
    if unlike := int(rows["unlike"].sum()):
        said.append(
            f"In {counted(unlike, 'run')} the ping-pong that attests the interconnect took over 10 % longer "
            "or shorter than when its model's curve was measured. They are not compared, unless all of a "
            "point are such."
        )
    return said


def _spread(errors: pd.Series) -> str:
    low, high = (formats.percent(errors.agg(end), signed=True) for end in ("min", "max"))
    return (
        f"{counted(len(errors), 'point')}, median error {formats.percent(errors.abs().median())} (signs left "
        f"aside), from {low} to {high}"
    )


def _meeting(rows: pd.DataFrame, whose: str, what: str) -> list[str]:
    """In how many points the band of the prediction meets the interval of what was measured."""
    ends = [f"{told}{what}_{end}" for told in ("predicted", "measured") for end in ("low", "high")]
    rows = rows.dropna(subset=ends)
    below = rows[f"predicted{what}_low"] <= rows[f"measured{what}_high"]
    meet = below & (rows[f"measured{what}_low"] <= rows[f"predicted{what}_high"])
    met = f"{meet.sum()} of {counted(len(rows), 'point')}"
    return [f"{whose} meet the interval of what was measured in {met}."] if len(rows) else []


def _table(rows: pd.DataFrame, labels: Labels) -> Block:
    fields = [
        texts("Interconnect", labels.interconnect, "interconnect", "kind"),
        numbers("Processes", formats.whole, "processes"),
        numbers("Predicted (s)", _time, "predicted_seconds", "predicted_low", "predicted_high"),
        numbers("Measured (s)", _time, "measured_seconds", "measured_low", "measured_high"),
        numbers(f"Error{THIN}%", _signed, "error_percent"),
        numbers(f"Of speedup{THIN}%", _signed, "speedup_error_percent"),
        numbers("Runs", formats.whole, "n"),
        numbers("CPU pressure (%)", lambda share: formats.fixed(100 * as_float(share), 1), "noise"),
    ]
    caption = (
        "Predicted and measured times. Brackets of predictions hold the band of the simulation, which has no "
        "width where nothing was repeated or corrected; those of measurements hold their interval."
    )
    lines = labels.lines(rows, "case", "interconnect", "processes")
    return line_table(caption, fields, lines, lambda line: labels.case(line["case"]))


def _signed(error: float) -> str:
    return formats.fixed(error, 1, signed=True)


def _time(seconds: float, low: float, high: float) -> str:
    """Time with its bracket; a band without width has none."""
    return formats.bracketed(seconds, *((low, high) if low != high else (None, None)))
