"""What simulated interconnects are: their models, how well these repeat their ping-pongs, and the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.curves.sites import without_threads
from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, left, paragraph, right, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING, THIN, listed
from analysis.presentation.labels import Labels
from analysis.presentation.network_words import size_text
from analysis.presentation.rows import line_table, numbers, texts
from analysis.runs.facts import AboutFit, AboutModel, AboutProcessor, Host

TRAFFIC = "mpi4py"
"""Application of the cases whose schedules are carried out; others are replayed."""

MEAN_ALLOWED_PERCENT = 3.0
"""Above this mean error the report warns of a model."""

HOW = (
    "Simulated times were not measured. The messages of a real run were recorded at each process count and "
    "replayed on a model of each interconnect, on cores of the stated speed. Their brackets are bands of the "
    "simulation, no confidence intervals."
)

HOW_TRAFFIC = (
    "Traffic on simulated interconnects was not measured. The messages of each pattern's schedule were "
    "carried out on a model of each interconnect, by the rules of the program that is measured elsewhere; "
    "nothing was computed."
)

HOW_SERVERS = (
    "Tasks on a distributed array were carried out on a model of each interconnect, data servers included, "
    "on cores that give each rank its turns. What a task computes was timed in serial runs; brackets hold "
    "the shortest and the longest of these, and how tasks happen to fall."
)


def simulated(content: Content) -> Section | None:
    """Models of the simulated interconnects of a study that ran on them."""
    models = models_of(content)
    if not models:
        return None
    runs = content.runs[content.runs["kind"] == "simulated"]
    blocks: list[Block] = []
    patterns = set(content.tables["traffic"]["case"]) if "traffic" in content.tables else set()
    carried = runs[runs["application"] == TRAFFIC]
    replays = len(carried) < len(runs)
    has_array = len(carried) > 0 and not set(carried["case"]) <= patterns
    ways = ((HOW, replays), (HOW_SERVERS, has_array), (HOW_TRAFFIC, bool(patterns)))
    blocks += [paragraph(text) for text, holds in ways if holds]
    if replays or has_array:
        blocks.append(paragraph(_host(next(iter(models.values())).host, content.tables.get("traces"))))
    blocks.append(_models_table(models, content.labels))
    blocks.append(bullets(_sources(models, content.labels), "Where their figures are from"))
    blocks += [paragraph(text) for text in _warnings(models, content.labels)]
    curves = [name for name, model in models.items() if not model.two_points]
    blocks += _points_tables(content.tables.get("model_fit"), curves, content.labels)
    return section("simulated", "Simulated interconnects", blocks)


def models_of(content: Content) -> dict[str, AboutModel]:
    """Models of the simulated interconnects that runs were replayed on, by name."""
    runs = content.runs[content.runs["kind"] == "simulated"]
    ran = set(map(without_threads, runs["interconnect"].dropna()))
    known = content.facts.interconnects
    return {name: about.model for name, about in known.items() if name in ran and about.model}


def _host(host: Host, made: pd.DataFrame | None) -> str:
    """How fast the cores are, beside which, and whether the number was meant for these."""
    cpus = [] if made is None else made["cpu"].dropna().unique().tolist()
    where = f"those on which the traces were made{f' ({listed(cpus)})' if cpus else ''}"
    processor = host.processor
    written = formats.number if processor else formats.exact
    ends = " to ".join(map(written, host.host_speed_range or ()))
    share = written(host.host_speed) + (f" ({ends})" if ends else "")
    speed = "are as fast as" if host.host_speed == 1 and not ends else f"have {share} of the speed of"
    told = [f"Cores {speed} {where}."]
    meant = (processor.traced_on if processor else host.relative_to) or ""
    if others := [cpu for cpu in cpus if meant not in cpu]:
        told.append(f"It is meant relative to {meant}, not {listed(others)}: here it is a guess.")
    told += _derived(processor) if processor else []
    if host.host_speed != 1 or ends:
        told.append(f"Source: {host.source.rstrip('.')}." if host.source else "No source is given for that.")
    if ends:
        told.append("Brackets reach from the fastest of such cores to the slowest.")
    if host.corun_percent is not None:
        percent = f"{formats.exact(host.corun_percent)}{THIN}%"
        told.append(
            f"Each other rank that computes on a node slows a rank down by {percent}, as the study says."
        )
    return " ".join(told)


def _derived(processor: AboutProcessor) -> list[str]:
    """From which benchmarks the speed follows, and why it is one for all computing."""
    figures = {name: tuple(map(formats.whole, pair)) for name, pair in processor.benchmarks.items()}
    linpack, triad = figures["linpack_100_Mflops"], figures["stream_triad_MBps"]
    return [
        f"That is {processor.name} beside {processor.traced_on or 'the one that traced'}:",
        f"{linpack[0]} against {linpack[1]} Mflop/s in LINPACK of order 100,",
        f"{triad[0]} against {triad[1]} MB/s in STREAM's triad.",
        "A trace does not say which computing waits for memory. So all of it gets one speed, between these.",
    ]


def _models_table(models: Mapping[str, AboutModel], labels: Labels) -> Block:
    columns = [
        *left("Interconnect"),
        *right(
            "Points",
            "Mean error %",
            "Largest error %",
            "Left out: points",
            "Left out: mean error %",
            "Left out: largest error %",
        ),
    ]
    rows = [
        row([labels.interconnect(name, "simulated"), *_figures(model.fit)], "", name)
        for name, model in models.items()
    ]
    caption = (
        "How well each model repeats the ping-pong that it was fitted to, replayed. Left out: points of "
        "2 KiB and more, each predicted without itself; the ends of a protocol cannot be left out. A model "
        "of two points has latency and peak bandwidth alone, and says nothing of what is between."
    )
    return table(caption, columns, {"": rows})


def _figures(fit: AboutFit | None) -> list[str]:
    if fit is None:
        return [MISSING] * 6
    left_out = fit.left_out_mean_percent, fit.left_out_largest_percent
    return [
        str(fit.points),
        *map(_percent, (fit.mean_percent, fit.largest_percent)),
        str(fit.left_out_points or MISSING),
        *map(_percent, left_out),
    ]


def _percent(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"


def _sources(models: Mapping[str, AboutModel], labels: Labels) -> list[str]:
    return [f"{labels.interconnect(name, 'simulated')}: {model.source}" for name, model in models.items()]


def _warnings(models: Mapping[str, AboutModel], labels: Labels) -> list[str]:
    allowed, said = formats.exact(MEAN_ALLOWED_PERCENT), []
    for key, where in (("mean_percent", "at its points"), ("left_out_mean_percent", "at points left out")):
        bad = [
            labels.interconnect(name, "simulated")
            for name, model in models.items()
            if model.fit and (getattr(model.fit, key) or 0.0) > MEAN_ALLOWED_PERCENT
        ]
        if bad:
            said.append(f"Warning: the mean error {where} is above {allowed}{THIN}% for {listed(bad)}.")
    return said


def _points_tables(fit: pd.DataFrame | None, curves: Sequence[str], labels: Labels) -> list[Block]:
    """Every point of the models that are made from a whole curve."""
    of_curves = [] if fit is None else [fit[fit["interconnect"] == name] for name in curves]
    lines = [line for points in of_curves for line in points.to_dict("records")]
    if not lines:
        return []
    caption = (
        "Every point of the curves that models were fitted to: the one-way time given, and replayed on the "
        "model. Without an error if left out: the ends of a protocol, which only bound it."
    )
    fields = [
        texts("Message size", size_text, "bytes"),
        numbers("Given (µs)", lambda time: formats.number(time, 4), "given_us"),
        numbers("Replayed (µs)", lambda time: formats.number(time, 4), "simulated_us"),
        numbers("Error %", lambda error: formats.fixed(error, 2, signed=True), "error_percent"),
        numbers(
            "Error if left out %", lambda error: formats.fixed(error, 2, signed=True), "left_out_percent"
        ),
    ]
    titles = {name: labels.interconnect(name, "simulated") for name in curves}
    return [line_table(caption, fields, lines, lambda line: titles[line["interconnect"]], of_cases=False)]
