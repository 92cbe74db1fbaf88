"""How well do simulated times predict measured times?"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import THIN, counted
from analysis.presentation.labels import Labels
from analysis.presentation.rows import line_table, numbers, texts
from analysis.runs.columns import (
    COUNT,
    NUMBER,
    POSITIVE,
    SHARE,
    TEXT,
    described,
    table_schema,
    table_schemas,
    validated,
    with_descriptions,
    with_interval,
)
from analysis.runs.facts import Facts
from analysis.runs.frames import Line, as_float, as_lines
from analysis.runs.side_tables import WHOLE
from analysis.statistics.bootstrap import median_interval
from analysis.topics.topic import Topic

PROBE_TOLERANCE = 1.1
"""Largest ratio, in either direction, between the ping-pong probes of a run and of the model's curve.

A probe is the time of an empty message. The curve is the ping-pong that the model was fitted to."""

VALIDATION = table_schemas(
    table_schema(
        "validation",
        "One row per point that was both run and predicted.",
        case=TEXT,
        interconnect=TEXT,
        kind=TEXT,
        model=described(TEXT, "Simulated interconnect of the prediction."),
        processes=COUNT,
        n=described(COUNT, "Measured runs in the comparison."),
        predicted_seconds=described(POSITIVE, "Prediction with its band."),
        predicted_low=POSITIVE,
        predicted_high=POSITIVE,
        measured_seconds=described(POSITIVE, "Median over blocks."),
        measured_low=POSITIVE,
        measured_high=POSITIVE,
        error_percent=described(NUMBER, "100 × (predicted / measured − 1)."),
        **with_descriptions(
            with_interval("predicted_speedup", POSITIVE),
            predicted_speedup="Predicted speedup over the predicted reference, the serial run "
            "if there is one. "
            "Empty if the measured reference has another process count, or if the point is the "
            "reference.",
        ),
        **with_descriptions(
            with_interval("measured_speedup", POSITIVE),
            measured_speedup="Measured speedup over the measured reference; empty in the same cases.",
        ),
        speedup_error_percent=described(
            NUMBER,
            "100 × (predicted / measured − 1) of the speedups. It excludes changes of the machine's "
            "speed between traces and runs.",
        ),
        noise=described(SHARE, "Mean share of the runs' time under CPU pressure."),
        unlike=described(
            WHOLE,
            "Runs whose attesting ping-pong took over 10 % longer or shorter than when the model's "
            "curve was measured. They are not compared, unless this holds for all runs of a point.",
        ),
    )
)
"""Schema of the table of predicted and measured points."""

HOW = (
    "Nodeworth measured each of these points and also predicted its time. The prediction used a trace and a "
    "model of the same interconnect. Errors are in percent of the measured median. Errors of speedups "
    "exclude changes of the machine's speed between traces and runs. The comparison changes no estimate of "
    "this report."
)

_POINT = ["case", "processes", "site"]
_KEYS = [*_POINT, "interconnect"]
_ENDS = ("", "_low", "_high")
_VALUES = [f"{quantity}{end}" for quantity in ("seconds", "speedup") for end in _ENDS]
_COMPARED = [*_VALUES, "reference_processes"]


def make_validation(runs: pd.DataFrame, scaling: pd.DataFrame, facts: Facts) -> dict[str, pd.DataFrame]:
    """Make the table ``validation``: predicted and measured times of the same points.

    Only points with more than one process, one process per core and one thread per process are compared.

    Parameters
    ----------
    runs : DataFrame
        The runs table.
    scaling : DataFrame
        Table ``scaling``.
    facts : Facts
        The ``model`` of an interconnect names the interconnect that it ``predicts``.

    Returns
    -------
    dict of DataFrame
        Table ``validation``; empty if no point was both predicted and measured.
    """
    models = {name: about.model for name, about in facts.interconnects.items() if about.model}
    rows = scaling[
        (scaling["processes"] > 1)
        & (scaling["oversubscription"] == 1)
        & (scaling["threads"] == 1)
        & scaling["processes_per_node"].isna()
    ]
    table = _predicted(rows, {name: model.predicts for name, model in models.items()})
    table = table.merge(_measured(rows), on=_KEYS).fillna({"site": ""})
    if table.empty:
        return {}
    valid = runs[runs["valid"] & (runs["oversubscription"] == 1) & (runs["kind"] != "simulated")]
    valid = valid[valid["threads"] == 1]
    runs_by_point = dict(list(valid.fillna({"site": ""}).groupby(_KEYS)))
    no_runs = valid.head(0)  # of a point whose runs were all stopped at their time limit
    lines = []
    for row in as_lines(table):
        point_runs = runs_by_point.get(tuple(row[key] for key in _KEYS), no_runs)
        lines.append(_with_similar_runs(row, point_runs, models[row["model"]].probe_us))
    table = pd.DataFrame(lines)
    speedups = table.filter(like="speedup").columns
    reference = table["predicted_reference_processes"]
    has_same_reference = reference == table["measured_reference_processes"]
    is_reference = reference == table["processes"]
    table[speedups] = table[speedups].where(has_same_reference & ~is_reference)
    for error, quantity in (("error_percent", "seconds"), ("speedup_error_percent", "speedup")):
        table[error] = 100 * (table[f"predicted_{quantity}"] / table[f"measured_{quantity}"] - 1)
    table = table.sort_values(["case", "processes"], kind="stable")
    return {"validation": validated(VALIDATION["validation"], table.reset_index(drop=True))}


def _predicted(rows: pd.DataFrame, predicts: dict[str, str | None]) -> pd.DataFrame:
    """Return the simulated rows whose model predicts an interconnect.

    Column ``interconnect`` is the predicted interconnect, and ``model`` the simulated interconnect.

    Parameters
    ----------
    predicts : dict of str to str or None
        Interconnect that each model predicts.
    """
    predicted = rows.loc[rows["kind"] == "simulated", [*_KEYS, *_COMPARED]]
    predicted = predicted.rename(columns={"interconnect": "model"} | _prefixed("predicted"))
    return predicted.assign(interconnect=predicted["model"].map(predicts)).dropna(subset="interconnect")


def _measured(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of all other kinds, with the names of measured columns."""
    measured = rows.loc[rows["kind"] != "simulated", [*_KEYS, "kind", "n", *_COMPARED]]
    return measured.rename(columns=_prefixed("measured"))


def _prefixed(prefix: str) -> dict[str, str]:
    """Return new names of the compared columns: ``seconds_low`` becomes ``measured_low``."""
    return {name: f"{prefix}_{name.removeprefix('seconds_')}" for name in _COMPARED}


def _with_similar_runs(row: Line, runs: pd.DataFrame, probe_us: float | None) -> dict[Hashable, Any]:
    """Restrict the measured values of a row to runs with a probe similar to that of the model's curve.

    The row keeps its values if all runs of its point are similar, or if no run is.

    Parameters
    ----------
    runs : DataFrame
        Valid runs of the point.
    probe_us : float or None
        Probe of the model's curve.
    """
    probes = runs.get("probe_latency_us", pd.Series(math.nan, runs.index))
    ratios = probes / (probe_us or math.nan)
    is_unlike = ratios.notna() & ~ratios.between(1 / PROBE_TOLERANCE, PROBE_TOLERANCE)
    noise, unlike = runs["noise"].mean(), is_unlike.sum()
    if is_unlike.all() or not is_unlike.any():
        return {**row, "noise": noise, "unlike": unlike}
    similar = runs[~is_unlike]
    block_times = similar.groupby("block")["seconds"].median().to_numpy(float)
    (low,), (high,), _ = median_interval(block_times[None])
    median = float(np.median(block_times))
    speedup_factor = row["measured_seconds"] / median
    return {
        **row,
        "n": len(block_times),
        "noise": similar["noise"].mean(),
        "unlike": unlike,
        "measured_seconds": median,
        "measured_low": low,
        "measured_high": high,
        **{f"measured_speedup{end}": speedup_factor * row[f"measured_speedup{end}"] for end in _ENDS},
    }


def validation(content: Content) -> Section | None:
    """Write the section that compares predicted with measured times."""
    if "validation" not in content.tables:
        return None
    rows, labels = content.tables["validation"], content.labels
    blocks = [paragraph(HOW), bullets(error_sentences(rows, labels)), _table(rows, labels)]
    return section("validation", "Predicted against measured", blocks)


def error_sentences(rows: pd.DataFrame, labels: Labels) -> list[str]:
    """Summarise the errors of table ``validation`` over all points and by interconnect, and the noise."""
    sentences = [f"All interconnects: {_spread(rows['error_percent'])}."]
    interconnects = labels.sorted_interconnects(rows["interconnect"])
    for name in interconnects if len(interconnects) > 1 else ():
        rows_of_name = rows[rows["interconnect"] == name]
        title = labels.interconnect(name, rows_of_name["kind"].iloc[0])
        sentences.append(f"{title}: {_spread(rows_of_name['error_percent'])}.")
    if len(speedups := rows["speedup_error_percent"].dropna()):
        sentences.append(f"Speedups: {_spread(speedups)}.")
    sentences += _overlap_sentence(rows, "times", "")
    sentences += _overlap_sentence(rows, "speedups", "_speedup")
    if rows["noise"].notna().any():
        noise = 100 * rows["noise"]
        sentences.append(
            f"CPU pressure during the measurements was {formats.percent(noise.median())} of the time at the "
            f"median point. The highest CPU pressure was {formats.percent(noise.max())}."
        )
    if unlike := int(rows["unlike"].sum()):
        sentences.append(
            f"In {counted(unlike, 'run')}, the time of a ping-pong differs by more than 10 % from the curve "
            "of the model. Nodeworth compares such runs only if a point has no other runs."
        )
    return sentences


def _spread(errors: pd.Series) -> str:
    """Write the number of errors, their median absolute value, and their range."""
    low, high = (formats.percent(end, signed=True) for end in (errors.min(), errors.max()))
    return (
        f"the median absolute error of {counted(len(errors), 'point')} is "
        f"{formats.percent(errors.abs().median())}. The errors are {low} to {high}"
    )


def _overlap_sentence(rows: pd.DataFrame, subject: str, quantity: str) -> list[str]:
    """Count the points in which the band of the prediction overlaps the interval of the measurement."""
    names = [f"{side}{quantity}_{end}" for side in ("predicted", "measured") for end in ("low", "high")]
    rows = rows.dropna(subset=names)
    if rows.empty:
        return []
    predicted_low, predicted_high, measured_low, measured_high = (rows[name] for name in names)
    overlaps = (predicted_low <= measured_high) & (measured_low <= predicted_high)
    points = f"{overlaps.sum()} of {counted(len(rows), 'point')}"
    return [f"Predicted bands of {subject} overlap the measured interval in {points}."]


def _table(rows: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate predicted and measured times with their errors."""
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
        "Predicted and measured times. Brackets of predicted times are uncertainty bands of the simulation. "
        "A predicted time has no band if its trace was neither repeated nor corrected. Brackets of measured "
        "times are intervals."
    )
    lines = labels.lines(rows, "case", "interconnect", "processes")
    return line_table(caption, fields, lines, lambda line: labels.case(line["case"]))


def _signed(error: float) -> str:
    return formats.fixed(error, 1, signed=True)


def _time(seconds: float, low: float, high: float) -> str:
    """Write a time with its interval or band in brackets; a band without width is left out."""
    return formats.number(seconds) if low == high else formats.bracketed(seconds, low, high)


TOPIC = Topic(
    name="validation",
    schemas=VALIDATION,
    make=lambda context: make_validation(context.runs, context.tables["scaling"], context.facts),
    needs=("scaling",),
    section=validation,
)
