"""What simulated interconnects are: their models, how well these repeat their ping-pongs, and the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis import formats
from analysis.formats import MISSING, listed
from analysis.labels import Labels
from analysis.report.blocks import Block, Section, bullets, column, paragraph, row, section, table
from analysis.report.content import Content

MEAN_ALLOWED_PERCENT = 3.0
"""Above this mean error the report warns of a model."""

HOW = (
    "Simulated times were not measured. The messages of a real run were recorded at each process count and "
    "replayed on a model of each interconnect, on cores of the stated speed. Their brackets are no "
    "intervals: they span from the computing times as the tracing machine took them to those from which the "
    "time was taken off that many processes on few cores add."
)


def simulated(content: Content) -> Section | None:
    """Models of the simulated interconnects of a study that ran on them."""
    known = content.facts.get("interconnects", {})
    ran = set(content.runs.loc[content.runs["kind"] == "simulated", "interconnect"].dropna())
    models = {name: known[name]["model"] for name in known if name in ran and "model" in known[name]}
    if not models:
        return None
    blocks: list[Block] = [paragraph(HOW), paragraph(_host(next(iter(models.values()))["host"]))]
    blocks.append(_models_table(models, content.labels))
    blocks.append(bullets(_sources(models, content.labels), "Where their figures are from"))
    blocks += [paragraph(text) for text in _warnings(models, content.labels)]
    return section("simulated", "Simulated interconnects", blocks)


def _host(host: Mapping[str, Any]) -> str:
    speed = float(host["host_speed"])
    if speed == 1:
        return "Cores are as fast as those on which the traces were made."
    source = f" {host['source']}" if host.get("source") else " No source is given for that."
    return f"Cores have {formats.exact(speed)} of the speed of those on which the traces were made.{source}"


def _models_table(models: Mapping[str, Any], labels: Labels) -> Block:
    columns = [
        column("Interconnect", "left"),
        column("Points", "right"),
        column("Mean error %", "right"),
        column("Largest error %", "right"),
        column("Left out: points", "right"),
        column("Left out: mean error %", "right"),
        column("Left out: largest error %", "right"),
    ]
    rows = [
        row([labels.interconnect(name, "simulated"), *_figures(model["fit"])], "", name)
        for name, model in models.items()
    ]
    caption = (
        "How well each model repeats the ping-pong that it was fitted to, replayed. Left out: points of "
        "2 KiB and more, each predicted without itself; the ends of a protocol cannot be left out. A model "
        "of two points has latency and peak bandwidth alone, and says nothing of what is between."
    )
    return table(caption, columns, {"": rows})


def _figures(fit: Mapping[str, Any] | None) -> list[str]:
    if fit is None:
        return [MISSING] * 6
    errors = ("mean_percent", "largest_percent", "left_out_mean_percent", "left_out_largest_percent")
    mean, largest, left_mean, left_largest = (_percent(fit[key]) for key in errors)
    left_points = str(fit["left_out_points"] or MISSING)
    return [str(fit["points"]), mean, largest, left_points, left_mean, left_largest]


def _percent(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"


def _sources(models: Mapping[str, Any], labels: Labels) -> list[str]:
    return [f"{labels.interconnect(name, 'simulated')}: {model['source']}" for name, model in models.items()]


def _warnings(models: Mapping[str, Any], labels: Labels) -> list[str]:
    bad = [
        labels.interconnect(name, "simulated")
        for name, model in models.items()
        if model["fit"] and model["fit"]["mean_percent"] > MEAN_ALLOWED_PERCENT
    ]
    allowed = formats.exact(MEAN_ALLOWED_PERCENT)
    return [f"The mean error is above {allowed} % for {listed(bad)}."] if bad else []
