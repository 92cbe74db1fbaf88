"""What interconnects cost by size: prices of publications, price books and switch trees."""

from __future__ import annotations

from analysis.presentation import formats
from analysis.presentation.blocks import Section, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING
from analysis.presentation.rows import line_table, numbers, texts
from analysis.runs.frames import Line, is_missing
from analysis.topics.money.sentences import amount, list_price_sentences, money, offer_name
from analysis.topics.topic import Headline, Page

HOW = (
    "Prices of interconnects alone, with adapters, switches and cables, of the year told, not "
    "adjusted. List prices are no purchase prices."
)


def prices(content: Content) -> Section | None:
    """What interconnects cost against their size, of a study that has or imports prices."""
    if (listed := content.tables.get("prices")) is None:
        return None
    labels = content.labels
    fields = [
        numbers("Nodes", lambda nodes: "any" if is_missing(nodes) else formats.whole(nodes), "nodes"),
        numbers("Price a node", lambda line: amount(line, "price_per_node")),
        numbers("Of all", lambda price: MISSING if is_missing(price) else money(price), "list_price"),
        texts("Currency", str, "currency"),
        texts("Basis", str, "basis"),
        texts("Source", _told, "source"),
        texts("Note", _told, "note"),
    ]

    def title(line: Line) -> str:
        return offer_name(line, labels)

    lines = labels.lines(listed, "interconnect")
    blocks = [
        paragraph(HOW),
        *content.figures("prices"),
        line_table("Prices of interconnects by size.", fields, lines, title, of_cases=False),
    ]
    return section("prices", "What interconnects cost by size", blocks)


def _told(value: object) -> object:
    return "" if is_missing(value) else value


def headline(page: Page) -> Headline | None:
    """Offer sentences about the prices of a study without runs."""
    content = page.content
    if content.cases or "prices" not in content.tables:
        return None
    return Headline(sentences=list_price_sentences(content.tables["prices"], content.labels))
