"""What spreading the same processes over more nodes brings."""

from __future__ import annotations

from analysis.curves.outcomes import OUTCOMES, outcome
from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import counted, listed
from analysis.presentation.result_tables import GAIN
from analysis.presentation.rows import line_table, numbers, texts, with_levels
from analysis.presentation.sentences import blocks_sentences

MOST_ROWS = 120


def placement(content: Content) -> Section | None:
    """Placements side by side: fewer processes a node against the most packed one."""
    gains = content.tables["placement"]
    if gains.empty:
        return None
    words = gains["verdict"].map(outcome).tolist()
    counts = listed(f"{words.count(word)} {word}" for word in OUTCOMES if word in words)
    said = (
        "The same processes over the same interconnect with fewer on a node, against the placement with the "
        f"most processes per node: of {counted(len(gains), 'comparison')}, {counts}. Inside a node processes "
        "talk through its memory: packed on one node they do not use the interconnect."
    )
    texts = [said, *blocks_sentences(gains, "placements")]
    return section("placement", "Packed or spread", [*map(paragraph, texts), _gains_table(content)])


def _gains_table(content: Content) -> Block:
    labels, rows = content.labels, content.tables["placement"]
    caption = "Gain of fewer processes per node over the most, at equal processes."
    if len(rows) > MOST_ROWS:
        rows = rows[rows["processes"] == rows.groupby("case")["processes"].transform("max")]
        caption += " Shown is the largest process count; the others are in tables/placement.csv."

    def against(placement: float, baseline: float) -> str:
        return f"{formats.plain(placement)} against {formats.plain(baseline)}"

    fields = [
        texts("Interconnect", labels.interconnect, "interconnect", "kind"),
        numbers("Processes", formats.whole, "processes"),
        numbers("Per node", against, "processes_per_node", "processes_per_node_of_baseline"),
        numbers("Time (s)", formats.number, "seconds"),
        numbers("Time at most per node (s)", formats.number, "seconds_of_baseline"),
        *GAIN,
    ]
    lines = labels.lines(rows, "case", "oversubscription", "processes", "interconnect")
    return line_table(caption, fields, lines, with_levels(rows, lambda line: labels.case(line["case"])))
