"""How much time do fewer processes per node save?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from analysis.curves.curve_comparison import gain_columns
from analysis.curves.curves import Curve
from analysis.curves.outcomes import OUTCOMES, outcome
from analysis.curves.point_comparison import share_blocks
from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import counted, listed
from analysis.presentation.rows import GAIN, line_table, numbers, texts, with_levels
from analysis.presentation.sentences import blocks_sentences
from analysis.runs.columns import (
    COUNT,
    CURVE_COLUMNS,
    GAIN_COLUMNS,
    POSITIVE,
    described,
    table_schema,
    table_schemas,
    with_descriptions,
)
from analysis.runs.frames import Tables, stacked
from analysis.runs.settings import Settings
from analysis.topics.topic import Context, Topic

MOST_ROWS = 120
"""Rows of the table in the report; a longer table shows only the largest process count of each case."""

PLACEMENT = table_schemas(
    table_schema(
        "placement",
        "One row per placement, compared with the placement with the most processes per node.",
        **CURVE_COLUMNS,
        processes=COUNT,
        cores=COUNT,
        processes_per_node_of_baseline=described(
            POSITIVE, "Processes per node of the most packed placement."
        ),
        processes_per_node=POSITIVE,
        nodes_of_baseline=described(COUNT, "Nodes of that placement."),
        nodes=COUNT,
        **with_descriptions(
            GAIN_COLUMNS,
            seconds_of_baseline="Median time of that placement.",
            seconds="Median time of this placement.",
            gain_percent="100 × (time of the most packed placement / time − 1), block by block.",
        ),
    ),
)


def make_placement(context: Context) -> Tables:
    """Make the table ``placement`` from the curves of all cases."""
    rows = [row for curves in context.curves.cases for row in placement_rows(curves, context.settings)]
    return {"placement": stacked(rows)}


def placement_rows(curves: Sequence[Curve], settings: Settings) -> Iterator[dict[str, object]]:
    """Compare the placements of a case with the most packed placement, as rows of the table ``placement``.

    The most packed placement has the most processes per node. Points are compared at equal process counts,
    interconnects, oversubscription and threads. The test is paired if both points share blocks.
    """
    points_by_key: dict[tuple[object, ...], list[tuple[Curve, int]]] = {}
    most_packed_first = sorted(
        (curve for curve in curves if curve.processes_per_node),
        key=lambda curve: curve.processes_per_node or 0,
        reverse=True,
    )
    for curve in most_packed_first:
        for position in np.flatnonzero(~curve.is_serial).tolist():
            processes = curve.processes[position]
            key = (curve.kind, curve.interconnect, curve.oversubscription, curve.threads, processes)
            points_by_key.setdefault(key, []).append((curve, position))
    for _, points in sorted(points_by_key.items(), key=lambda item: item[0]):
        (packed, packed_position), *others = points
        packed_sample = packed.samples[packed_position]
        for spread, position in others:
            paired = spread.kind != "simulated" and share_blocks(packed_sample, spread.samples[position])
            yield {
                **gain_columns(packed, packed_position, spread, position, paired, settings),
                "processes_per_node_of_baseline": packed.processes_per_node,
                "nodes_of_baseline": packed.table["nodes"][packed_position],
                "seconds_of_baseline": packed.table["seconds"][packed_position],
                "paired": paired,
            }


def placement(content: Content) -> Section | None:
    """Write the section that compares packed with spread processes."""
    gains = content.tables["placement"]
    if gains.empty:
        return None
    outcomes = gains["verdict"].map(outcome).tolist()
    counts = listed(f"{outcomes.count(word)} {word}" for word in OUTCOMES if word in outcomes)
    summary = (
        "Each comparison has one interconnect and one process count. The baseline has the most processes per "
        "node. The other runs have fewer processes per node. Results of "
        f"{counted(len(gains), 'comparison')}: {counts}. Processes on one node communicate through the "
        "memory of the node. Runs on a single node do not use the interconnect."
    )
    sentences = [summary, *blocks_sentences(gains, "placements")]
    return section("placement", "Packed or spread", [*map(paragraph, sentences), _gains_table(content)])


def _gains_table(content: Content) -> Block:
    """Tabulate the gain of each placement over the most packed placement."""
    labels, rows = content.labels, content.tables["placement"]
    caption = (
        "Gain in speed from fewer processes per node, compared with the most processes per node. The process "
        "counts are equal."
    )
    if len(rows) > MOST_ROWS:
        rows = rows[rows["processes"] == rows.groupby("case")["processes"].transform("max")]
        caption += (
            " The table shows the largest process count. File tables/placement.csv has all process counts."
        )

    def against(placement: float, baseline: float) -> str:
        return f"{formats.plain(placement)} against {formats.plain(baseline)}"

    fields = [
        texts(labels.interconnect_head, labels.interconnect, "interconnect", "kind"),
        numbers("Processes", formats.whole, "processes"),
        numbers("Per node", against, "processes_per_node", "processes_per_node_of_baseline"),
        numbers("Time (s)", formats.number, "seconds"),
        numbers("Time at most per node (s)", formats.number, "seconds_of_baseline"),
        *GAIN,
    ]
    lines = labels.lines(rows, "case", "oversubscription", "processes", "interconnect")
    return line_table(caption, fields, lines, with_levels(rows, lambda line: labels.case(line["case"])))


TOPIC = Topic(
    name="placement",
    schemas=PLACEMENT,
    make=make_placement,
    by_site=True,
    always=("placement",),
    tested=("placement",),
    directions=("placement",),
    section=placement,
)
