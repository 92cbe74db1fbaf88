"""Processes or threads: what more threads a process bring at equal cores."""

from __future__ import annotations

from analysis.presentation import formats
from analysis.presentation.blocks import Section, bullets, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.result_tables import GAIN
from analysis.presentation.rows import line_table, numbers, texts, with_levels
from analysis.presentation.sentences import blocks_sentences
from analysis.topics.hybrid.sentences import hybrid_sentence, ways

MOST_ROWS = 120


def hybrid(content: Content) -> Section | None:
    """Compare processes of several threads with as many cores of processes alone."""
    gains, labels = content.tables.get("hybrid"), content.labels
    if gains is None:
        return None
    said = (
        "Each row holds a number of processes × threads against the one with the fewest threads on the same "
        "cores and interconnect. The gain is how much longer the latter takes, block by block."
    )
    lines = labels.lines(gains, "case", "interconnect", "cores", "threads")
    caption = "Gain of more threads per process at equal cores."
    if len(lines) > MOST_ROWS:
        caption += f" The first {MOST_ROWS}; the others are in tables/hybrid.csv."
    fields = [
        texts("Interconnect", labels.interconnect, "interconnect", "kind"),
        numbers("Cores", formats.whole, "cores"),
        numbers("Processes × threads", ways),
        numbers("Time (s)", formats.number, "seconds"),
        numbers("Time with fewest threads (s)", formats.number, "seconds_of_baseline"),
        *GAIN,
    ]
    title = with_levels(gains, lambda line: labels.case(line["case"]))
    told = [paragraph(text) for text in (said, *blocks_sentences(gains, "numbers of threads"))]
    sentences = [f"{hybrid_sentence(line, labels)}." for line in lines[:MOST_ROWS]]
    table = line_table(caption, fields, lines[:MOST_ROWS], title)
    return section("hybrid", "Processes or threads", [*told, bullets(sentences), table])
