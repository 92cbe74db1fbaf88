"""The section on simulated interconnects: their models, the models' errors, and the speed of the cores."""

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
"""Application whose messages are simulated from a schedule; other applications are replayed from traces."""

MEAN_ALLOWED_PERCENT = 3.0
"""Largest mean error of a model that needs no warning."""

ACCURACY = "File docs/validation.md compares simulated with measured times and states the errors."

HOW = (
    "Simulated times are predictions. Nodeworth recorded the messages of a real run at each process count. "
    "Nodeworth then replayed the messages on a model of each interconnect. Brackets are uncertainty bands of "
    "the simulation and not confidence intervals."
)

HOW_TRAFFIC = (
    "Traffic on simulated interconnects is a prediction. Nodeworth simulated the messages of each pattern on "
    "a model of each interconnect. The simulation has the schedule and the rules of the measuring program. "
    "The simulation contains no computing."
)

HOW_SERVERS = (
    "Nodeworth simulated the tasks and the data servers of a distributed array on a model of each "
    "interconnect. Ranks on the same core take turns. Nodeworth measured the computing time of a task in "
    "serial runs. Brackets cover all measured computing times and random orders of the tasks."
)


def simulated(content: Content) -> Section | None:
    """Write the section on the models of simulated interconnects."""
    models = models_of(content)
    if not models:
        return None
    runs = content.runs[content.runs["kind"] == "simulated"]
    blocks: list[Block] = []
    patterns = set(content.tables["traffic"]["case"]) if "traffic" in content.tables else set()
    scheduled = runs[runs["application"] == TRAFFIC]
    has_replays = len(scheduled) < len(runs)
    has_array = len(scheduled) > 0 and not set(scheduled["case"]) <= patterns
    if has_replays:
        blocks.append(paragraph(HOW))
    if has_array:
        blocks.append(paragraph(HOW_SERVERS))
    if patterns:
        blocks.append(paragraph(HOW_TRAFFIC))
    blocks.append(paragraph(ACCURACY))
    host = next(iter(models.values())).host
    if (has_replays or has_array) and host.host_speed is not None:
        blocks.append(paragraph(_host_sentences(host, host.host_speed, content.tables.get("traces"))))
    blocks.append(_models_table(models, content.labels))
    blocks.append(bullets(_sources(models, content.labels), "Sources of the models"))
    blocks += [paragraph(text) for text in _warnings(models, content.labels)]
    curves = [name for name, model in models.items() if not model.two_points]
    blocks += _points_tables(content.tables.get("model_fit"), curves, content.labels)
    return section("simulated", "Simulated interconnects", blocks)


def models_of(content: Content) -> dict[str, AboutModel]:
    """Return the models of the simulated interconnects that have runs, by name."""
    runs = content.runs[content.runs["kind"] == "simulated"]
    names = set(map(without_threads, runs["interconnect"].dropna()))
    interconnects = content.facts.interconnects
    return {name: about.model for name, about in interconnects.items() if name in names and about.model}


def _host_sentences(host: Host, speed: float, traces: pd.DataFrame | None) -> str:
    """State the speed of the simulated cores relative to the traced cores, and the source of this figure."""
    cpus = [] if traces is None else traces["cpu"].dropna().unique().tolist()
    processor = host.processor
    format_speed = formats.number if processor else formats.exact
    ends = " to ".join(map(format_speed, host.host_speed_range or ()))
    is_equal = speed == 1 and not ends
    relation = "are as fast as" if is_equal else f"have {format_speed(speed)} times the speed of"
    sentences = [f"Simulated cores {relation} the cores that recorded the traces."]
    if ends:
        sentences.append(
            f"The range of this ratio is {ends}. The brackets of simulated times account for this range."
        )
    if cpus:
        sentences.append(f"The traces were recorded on {listed(cpus)}.")
    stated_cpu = (processor.traced_on if processor else host.relative_to) or ""
    if other_cpus := [cpu for cpu in cpus if stated_cpu not in cpu]:
        sentences.append(
            f"The source states this ratio for {stated_cpu}. The ratio is a guess for {listed(other_cpus)}."
        )
    sentences += _benchmark_sentences(processor) if processor else []
    if speed != 1 or ends:
        sentences.append(
            f"Source: {host.source.rstrip('.')}."
            if host.source
            else "The study states no source of this ratio."
        )
    if host.corun_percent is not None:
        percent = f"{formats.exact(host.corun_percent)}{THIN}%"
        sentences.append(f"The study assumes that each other rank on a node slows a rank by {percent}.")
    return " ".join(sentences)


def _benchmark_sentences(processor: AboutProcessor) -> list[str]:
    """Quote the benchmarks from which the speed follows, and explain why all computing has the same speed."""
    results = {name: tuple(map(formats.whole, pair)) for name, pair in processor.benchmarks.items()}
    linpack, triad = results["linpack_100_Mflops"], results["stream_triad_MBps"]
    traced = processor.traced_on or "the traced processor"
    return [
        f"LINPACK of order 100 reaches {linpack[0]} Mflop/s on {processor.name} and {linpack[1]} Mflop/s on "
        f"{traced}.",
        f"STREAM triad reaches {triad[0]} MB/s on {processor.name} and {triad[1]} MB/s on {traced}.",
        "A trace does not show which computing waits for memory. All simulated computing therefore has one "
        "speed, between the ratios of the two benchmarks.",
    ]


def _models_table(models: Mapping[str, AboutModel], labels: Labels) -> Block:
    """Tabulate the errors of each model at its points, and at points left out of its fit."""
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
        row([labels.interconnect(name, "simulated"), *_fit_cells(model.fit)], "", name)
        for name, model in models.items()
    ]
    caption = (
        "Errors of each model. Nodeworth fitted the model to the times of a ping-pong, simulated the same "
        "ping-pong and compared the times. Column “Points” shows the number of message sizes. Columns “Left "
        "out” show errors of another check. Nodeworth leaves out each message size in turn and predicts its "
        "time from the two neighbouring sizes. These columns omit sizes below 2 KiB, which are too close to "
        "changes of the MPI protocol. They also omit the first and the last size of each protocol, because a "
        "neighbour is missing. A model with 2 in column “Points” knows only latency and peak bandwidth. "
        "Errors of such a model at other message sizes are unknown."
    )
    return table(caption, columns, {"": rows})


def _fit_cells(fit: AboutFit | None) -> list[str]:
    """Write the numbers of points and the errors of a model."""
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
    """Name the models with a mean error above `MEAN_ALLOWED_PERCENT`."""
    allowed, sentences = formats.exact(MEAN_ALLOWED_PERCENT), []
    for key, where in (
        ("mean_percent", "at fitted message sizes"),
        ("left_out_mean_percent", "at message sizes left out"),
    ):
        inaccurate = [
            labels.interconnect(name, "simulated")
            for name, model in models.items()
            if model.fit and (getattr(model.fit, key) or 0.0) > MEAN_ALLOWED_PERCENT
        ]
        if inaccurate:
            names = listed(inaccurate)
            sentences.append(f"Warning: the mean error of {names} {where} is above {allowed}{THIN}%.")
    return sentences


def _points_tables(fit: pd.DataFrame | None, curves: Sequence[str], labels: Labels) -> list[Block]:
    """Tabulate the given and the replayed times of models that were fitted to a whole curve."""
    points_of_curves = [] if fit is None else [fit[fit["interconnect"] == name] for name in curves]
    lines = [line for points in points_of_curves for line in points.to_dict("records")]
    if not lines:
        return []
    caption = (
        "Nodeworth fitted the model to the times of a ping-pong. Each row shows the one-way times of a "
        "message size. “Given” times come from the ping-pong. “Replayed” times come from the model. For "
        "column “Error if left out”, Nodeworth predicts the given time of a row from the rows of the two "
        "neighbouring sizes. The first and the last size of each MPI protocol "
        f"have a dash ({MISSING}), because a neighbour is missing."
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
