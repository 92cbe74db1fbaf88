"""What spreading the same processes over more nodes brings."""

from __future__ import annotations

from analysis.estimates.outcomes import OUTCOMES, outcome
from analysis.report.blocks import Block, Row, Section, left, paragraph, right, row, section, table
from analysis.report.content import Content
from analysis.tables.missing import is_missing, percent_interval
from analysis.text import formats
from analysis.text.formats import MISSING, counted, listed
from analysis.text.scaling import blocks_sentences

MOST_ROWS = 120


def placement(content: Content) -> Section | None:
    """Placements side by side: fewer processes a node against the most packed one."""
    gains = content.tables["placement"]
    if gains.empty:
        return None
    words = [outcome(line, "gain") for line in gains.to_dict("records")]
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
    several = rows["oversubscription"].nunique() > 1
    groups: dict[str, list[Row]] = {}
    for case, of_case in labels.by_case(
        labels.in_order(rows, "oversubscription", "processes", "interconnect")
    ):
        for line in of_case.to_dict("records"):
            level = f", oversubscription {line['oversubscription']}" if several else ""
            untested = is_missing(line["p_adjusted"])
            unpaired = "" if line["paired"] else ", unpaired"
            cells = [
                labels.interconnect(line["interconnect"], line["kind"]),
                formats.whole(line["processes"]),
                f"{formats.plain(line['processes_per_node'])} against "
                f"{formats.plain(line['processes_per_node_of_baseline'])}",
                formats.number(line["seconds"]),
                formats.number(line["seconds_of_baseline"]),
                formats.bracketed_percent(*percent_interval(line, "gain")),
                MISSING if untested else formats.p_value(line["p_adjusted"], symbol=False),
                f"{outcome(line, 'gain')}{unpaired}",
            ]
            groups.setdefault(f"{labels.case(case)}{level}", []).append(
                row(cells, case, line["interconnect"])
            )
    columns = [
        *left("Interconnect"),
        *right("Processes", "Per node", "Time (s)", "Time at most per node (s)", "Gain (%)", "p"),
        *left("Outcome"),
    ]
    return table(caption, columns, groups)
