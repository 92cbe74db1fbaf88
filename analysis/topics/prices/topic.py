"""What do interconnects cost by size, in publications, price books and switch trees?"""

from __future__ import annotations

from analysis.presentation import formats
from analysis.presentation.blocks import Section, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.drawing import Drawing
from analysis.presentation.formats import MISSING
from analysis.presentation.rows import line_table, numbers, texts
from analysis.runs.frames import Tables, is_missing
from analysis.topics.money.sentences import amount, money
from analysis.topics.prices.figures import price_figures
from analysis.topics.prices.tables import (
    PRICES,
    list_price_sentences,
    lowest_price_title,
    make_prices,
    offer_name,
    price_key_figures,
)
from analysis.topics.topic import Context, Headline, Page, Topic, View

METHOD = (
    "Prices include adapters, switches and cables. Prices exclude nodes. All prices are list prices of the "
    "stated year, without adjustment for inflation. Purchase prices may differ."
)


def make(context: Context) -> Tables:
    """Make the table ``prices`` of published prices and of the study's offers."""
    market = context.request.market
    return {"prices": make_prices(context.published, market.offers if market else {})}


def draw_prices(view: View) -> list[Drawing]:
    """Draw the price of each interconnect against the number of nodes."""
    return price_figures(view.tables["prices"], view.labels) if "prices" in view.tables else []


def prices(content: Content) -> Section | None:
    """Tabulate prices of interconnects by size; None if the study has no prices."""
    if (table := content.tables.get("prices")) is None:
        return None
    labels = content.labels

    def text_or_empty(value: object) -> object:
        return "" if is_missing(value) else value

    fields = [
        numbers("Nodes", lambda nodes: "any" if is_missing(nodes) else formats.whole(nodes), "nodes"),
        numbers("Price per node", lambda line: amount(line, "price_per_node")),
        numbers(
            "Price of all nodes", lambda price: MISSING if is_missing(price) else money(price), "list_price"
        ),
        texts("Currency", str, "currency"),
        texts("Basis", str, "basis"),
        texts("Source", text_or_empty, "source"),
        texts("Note", text_or_empty, "note"),
    ]
    lines = labels.lines(table, "interconnect")
    caption = "Prices of interconnects by number of nodes."
    blocks = [
        paragraph(METHOD),
        *content.figures("prices"),
        line_table(caption, fields, lines, lambda line: offer_name(line, labels), of_cases=False),
    ]
    return section("prices", "Prices of interconnects by number of nodes", blocks)


def headline(page: Page) -> Headline | None:
    """Offer page one sentences about prices, if the study has no runs."""
    content = page.content
    if content.cases or "prices" not in content.tables:
        return None
    prices, labels = content.tables["prices"], content.labels
    return Headline(
        title=lowest_price_title(prices, labels),
        key_figures=price_key_figures(prices, labels),
        sentences=list_price_sentences(prices, labels),
        cautions=[
            "How sure: the prices are list prices, not purchase prices. Compare list prices only at equal "
            "numbers of nodes."
        ],
    )


TOPIC = Topic(
    name="prices",
    schemas=PRICES,
    make=make,
    draw=draw_prices,
    section=prices,
    headline=headline,
    in_appendix=True,
    needs_runs=False,
)
