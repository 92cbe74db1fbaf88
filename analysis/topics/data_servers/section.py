"""The section on data servers: how long a get takes, and how busy processes and servers are."""

from __future__ import annotations

from analysis.presentation import formats
from analysis.presentation.blocks import Section, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import number
from analysis.presentation.rows import line_table, numbers, texts

HOW = (
    "The times are those of operations that leave their process, medians over the runs of a point. Busy is "
    "the share of a core that processes, or servers, keep: a rank that polls keeps its core while it waits. "
    "A server that polls leaves a process on the same core at most half of it."
)


def data_servers(content: Content) -> Section | None:
    """What ways to wait cost, side by side, of a study of cases with a distributed array."""
    if "data_servers" not in content.tables:
        return None
    labels = content.labels
    rows = content.tables["data_servers"]
    gets = rows[rows["operation"] == "get"]
    order = ["oversubscription", "processes", "interconnect", "kind", "case"]
    fields = [
        texts("Case", labels.case, "case"),
        numbers("Processes", formats.whole, "processes"),
        numbers("Servers", formats.whole, "servers"),
        numbers("On a core", formats.whole, "oversubscription"),
        numbers("Seconds", number, "seconds"),
        numbers("A get (µs)", number, "latency_us"),
        numbers("95 % of gets (µs)", number, "latency_us_p95"),
        numbers("Processes busy (%)", _percent, "busy_processes"),
        numbers("Servers busy (%)", _percent, "busy_servers"),
    ]
    caption = "Data servers by the way they wait; the other operations are in tables/data_servers.csv."
    shown = line_table(caption, fields, labels.in_order(gets, *order).to_dict("records"), labels.curve)
    return section("data-servers", "Data servers", [paragraph(HOW), shown])


def _percent(share: float) -> str:
    return formats.whole(100 * share)
