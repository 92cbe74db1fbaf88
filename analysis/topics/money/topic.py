"""Does a faster interconnect pay?"""

from __future__ import annotations

from analysis.presentation.drawing import Drawing
from analysis.topics.money.headline import headline
from analysis.topics.money.schemas import MONEY_TABLES
from analysis.topics.money.section import pays
from analysis.topics.money.tables import make_money
from analysis.topics.money.tornado_figures import tornado_figures
from analysis.topics.topic import Topic, View
from analysis.topics.turnaround.figures import pareto_figures


def draw_money(view: View) -> list[Drawing]:
    """Draw price against speedup, and what decides over a saving."""
    drawings = pareto_figures(view.tables["value"], view.labels) if "value" in view.tables else []
    return drawings + (
        tornado_figures(view.tables["tornado"], view.labels) if "tornado" in view.tables else []
    )


TOPIC = Topic(
    name="money",
    schemas=MONEY_TABLES,
    make=make_money,
    by_site=True,
    always=("cost", "value", "break_even"),
    directions=("value", "break_even", "tornado", "purchase"),
    draw=draw_money,
    section=pays,
    headline=headline,
)
