"""What do interconnects cost?"""

from __future__ import annotations

from analysis.presentation.drawing import Drawing
from analysis.runs.frames import Tables
from analysis.topics.prices.figures import price_figures
from analysis.topics.prices.section import headline, prices
from analysis.topics.prices.tables import PRICES, make_prices
from analysis.topics.topic import Context, Topic, View


def make(context: Context) -> Tables:
    """Make the table ``prices`` of published prices and of the study's offers."""
    market = context.request.market
    return {"prices": make_prices(context.published, market.offers if market else {})}


def draw_prices(view: View) -> list[Drawing]:
    """Draw the price of each interconnect per node."""
    return price_figures(view.tables["prices"], view.labels) if "prices" in view.tables else []


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
