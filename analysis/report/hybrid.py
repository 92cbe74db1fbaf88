"""Processes or threads: what more threads a process bring at equal cores."""

from __future__ import annotations

from analysis.report.blocks import Section, bullets, paragraph, section
from analysis.report.content import Content
from analysis.report.lines import in_percent, line_table, numbers, texts
from analysis.tables.missing import Line, percent_interval
from analysis.text import formats
from analysis.text.labels import Labels
from analysis.text.scaling import blocks_sentences

MOST_ROWS = 120


def hybrid(content: Content) -> Section | None:
    """Compare processes of several threads with as many cores of processes alone."""
    gains, labels = content.tables.get("hybrid"), content.labels
    if gains is None:
        return None
    said = (
        "Each number of processes × threads, against that with the fewest threads on the same cores over the "
        "same interconnect: how much longer that takes, block by block."
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
        numbers("Gain (%)", in_percent("gain")),
        numbers("p", lambda p_value: formats.p_value(p_value, symbol=False), "p_adjusted"),
        texts("Outcome", lambda verdict, paired: verdict + ", unpaired" * (not paired), "verdict", "paired"),
    ]
    several = gains["oversubscription"].nunique() > 1

    def title(line: Line) -> str:
        return labels.case(line["case"]) + f", oversubscription {line['oversubscription']}" * several

    told = [paragraph(text) for text in (said, *blocks_sentences(gains, "numbers of threads"))]
    sentences = [hybrid_sentence(line, labels) for line in lines[:MOST_ROWS]]
    table = line_table(caption, fields, lines[:MOST_ROWS], title)
    return section("hybrid", "Processes or threads", [*told, bullets(sentences), table])


def ways(line: Line) -> str:
    """Write what is compared: ``4 × 2 against 8 × 1``."""
    return f"{_way(line)} against {_way(line, '_of_baseline')}"


def hybrid_sentence(line: Line, labels: Labels) -> str:
    """Say what a row of the table ``hybrid`` comes to: ``4 × 2 beats 8 × 1 by 12 % [8, 15]``."""
    gain, low, high = percent_interval(line, "gain")
    if line["verdict"] == "faster":
        by = formats.percent_with_interval(gain, low, high)
        said = f"{_way(line)} beats {_way(line, '_of_baseline')} by {by}"
    elif line["verdict"] == "slower":
        by = formats.percent_with_interval(-gain, -high, -low)
        said = f"{_way(line)} loses {by} to {_way(line, '_of_baseline')}"
    else:
        said = (
            f"{ways(line)}: {formats.percent_with_interval(gain, low, high, signed=True)}, {line['verdict']}"
        )
    where = f"{labels.case(line['case'])}, {labels.interconnect(line['interconnect'], line['kind'])}"
    return f"{where}, {formats.whole(line['cores'])} cores: {said}."


def _way(line: Line, of: str = "") -> str:
    return f"{formats.whole(line[f'processes{of}'])} × {formats.whole(line[f'threads{of}'])}"
