"""How much time do more threads per process save at equal cores?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

import numpy as np
import pandas as pd

from analysis.curves.curve_comparison import gain_columns
from analysis.curves.curves import Curve
from analysis.curves.point_comparison import share_blocks
from analysis.presentation import formats
from analysis.presentation.blocks import Section, bullets, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import MOST
from analysis.presentation.labels import Labels
from analysis.presentation.rows import GAIN, line_table, numbers, texts, with_levels
from analysis.presentation.sentences import blocks_sentences
from analysis.runs.columns import (
    COUNT,
    CURVE_COLUMNS,
    GAIN_COLUMNS,
    described,
    table_schema,
    table_schemas,
    with_descriptions,
)
from analysis.runs.frames import Line, Tables, lowest_level, percent_interval, stacked
from analysis.runs.settings import Settings
from analysis.topics.topic import Context, Topic

MOST_ROWS = 120

HYBRID = table_schemas(
    table_schema(
        "hybrid",
        "One row per number of threads, compared with the fewest threads on the same cores and "
        "nodes; only if threads vary.",
        **CURVE_COLUMNS,
        cores=COUNT,
        nodes=COUNT,
        processes_of_baseline=described(COUNT, "Processes of the point with the fewest threads."),
        threads_of_baseline=described(COUNT, "Threads per process of that point."),
        processes=COUNT,
        **with_descriptions(
            GAIN_COLUMNS,
            seconds_of_baseline="Median time of that point.",
            seconds="Median time with this number of processes and threads.",
            gain_percent="100 × (time with the fewest threads / time − 1), block by block.",
        ),
    ),
)

READING = (
    "Each row compares two numbers of processes × threads on the same cores and interconnect. The baseline "
    "has the fewest threads per process. The gain shows how much longer the baseline takes."
)


def make_hybrid(context: Context) -> Tables:
    """Make the table ``hybrid``: gains of more threads per process."""
    rows = [row for curves in context.curves.cases for row in hybrid_rows(curves, context.settings)]
    return {"hybrid": stacked(rows)}


def hybrid_rows(curves: Sequence[Curve], settings: Settings) -> Iterator[dict[str, object]]:
    """Compute the gains of more threads per process for a case, as rows of the table ``hybrid``.

    Points with the same interconnect, oversubscription, cores and nodes are compared. The point with the
    fewest threads per process is the baseline. The test is paired if the two points share their blocks.
    """
    points_by_cores: dict[tuple[object, ...], list[tuple[Curve, int]]] = {}
    for curve in sorted(curves, key=attrgetter("threads")):
        for position in np.flatnonzero(~curve.is_serial).tolist():
            size = curve.oversubscription, curve.table["cores"][position], curve.table["nodes"][position]
            key = (curve.kind, curve.interconnect, *size)
            points_by_cores.setdefault(key, []).append((curve, position))
    for _, points in sorted(points_by_cores.items(), key=lambda item: item[0]):
        (baseline, baseline_position), *others = points
        baseline_sample = baseline.samples[baseline_position]
        for curve, position in others:
            if curve.threads == baseline.threads:
                continue
            paired = curve.kind != "simulated" and share_blocks(baseline_sample, curve.samples[position])
            yield {
                **gain_columns(baseline, baseline_position, curve, position, paired, settings),
                "processes_of_baseline": baseline.processes[baseline_position],
                "threads_of_baseline": baseline.threads,
                "seconds_of_baseline": baseline.table["seconds"][baseline_position],
                "paired": paired,
            }


def hybrid_section(content: Content) -> Section | None:
    """Write the section that compares more threads with more processes at equal cores."""
    gains, labels = content.tables.get("hybrid"), content.labels
    if gains is None:
        return None
    lines = labels.lines(gains, "case", "interconnect", "cores", "threads")
    caption = "Gain in speed from more threads per process on the same cores."
    if len(lines) > MOST_ROWS:
        caption += f" The table shows the first {MOST_ROWS} rows. File tables/hybrid.csv has all rows."
    fields = [
        texts(labels.interconnect_head, labels.interconnect, "interconnect", "kind"),
        numbers("Cores", formats.whole, "cores"),
        numbers("Processes × threads", _both_sizes),
        numbers("Time (s)", formats.number, "seconds"),
        numbers("Time with fewest threads (s)", formats.number, "seconds_of_baseline"),
        *GAIN,
    ]
    title = with_levels(gains, lambda line: labels.case(line["case"]))
    paragraphs = [paragraph(text) for text in (READING, *blocks_sentences(gains, "numbers of threads"))]
    sentences = bullets(f"{hybrid_sentence(line, labels)}." for line in lines[:MOST_ROWS])
    table = line_table(caption, fields, lines[:MOST_ROWS], title)
    return section("hybrid", "Processes or threads", [*paragraphs, sentences, table])


def hybrid_sentence(line: Line, labels: Labels) -> str:
    """Summarise a row of the table ``hybrid``: ``..., 8 cores: 4 × 2 is 12 % [8, 15] faster than 8 × 1``."""
    gain, low, high = percent_interval(line, "gain")
    if line["verdict"] == "faster":
        percent = formats.percent_with_interval(gain, low, high)
        result = f"{_size(line)} is {percent} faster than {_size(line, '_of_baseline')}"
    elif line["verdict"] == "slower":
        percent = formats.percent_with_interval(-gain, -high, -low)
        result = f"{_size(line)} is {percent} slower than {_size(line, '_of_baseline')}"
    else:
        percent = formats.percent_with_interval(gain, low, high, signed=True)
        result = f"{_both_sizes(line)}: {percent}, {line['verdict']}"
    interconnect = labels.interconnect(line["interconnect"], line["kind"])
    return f"{labels.case(line['case'])}, {interconnect}, {formats.whole(line['cores'])} cores: {result}"


def most_threads(gains: pd.DataFrame, labels: Labels) -> list[str]:
    """Summarise, for the first `MOST` cases, the comparison with the most cores and then the most threads.

    Only the lowest oversubscription counts.
    """
    gains = lowest_level(gains)
    last = gains.sort_values(["cores", "threads"]).groupby("case", sort=False).tail(1)
    return [hybrid_sentence(line, labels) for line in labels.lines(last, "case", "interconnect")[:MOST]]


def _both_sizes(line: Line) -> str:
    """Write both sides of a comparison: ``4 × 2 against 8 × 1``."""
    return f"{_size(line)} against {_size(line, '_of_baseline')}"


def _size(line: Line, suffix: str = "") -> str:
    return f"{formats.whole(line[f'processes{suffix}'])} × {formats.whole(line[f'threads{suffix}'])}"


TOPIC = Topic(
    name="hybrid",
    schemas=HYBRID,
    make=make_hybrid,
    by_site=True,
    tested=("hybrid",),
    directions=("hybrid",),
    section=hybrid_section,
)
