"""Page one of published improvements and of prices: a title with the result, key figures, and how sure."""

import pandas as pd
from report_parts import plain

from analysis.presentation.labels import Labels
from analysis.runs.facts import Facts
from analysis.topics.prices.tables import lowest_price_title, price_key_figures
from analysis.topics.published.sentences import improvement_figures, improvement_title

LABELS = Labels(Facts.of({}), given="without kind")


def test_the_largest_published_improvement_is_the_title():
    improvement = pd.DataFrame(
        [
            {
                "case": case,
                "baseline_interconnect": "slow",
                "interconnect": name,
                "improvement_percent": percent,
            }
            for name, percents in {"fast": (10.0, 30.0, 50.0), "middle": (-1.0, 4.0, 5.0)}.items()
            for case, percent in zip(("a", "b", "average"), (*percents[:2], percents[2]), strict=True)
        ]
    )
    published = {"improvement": improvement}
    assert plain(improvement_title(published, LABELS)) == "fast is faster than slow in 2 of 2 cases"
    fast, middle = improvement_figures(published, LABELS)
    assert plain(f"{fast['value']} {fast['interval']}") == "+20 % [+10 % to +30 %]"
    assert plain(f"{middle['value']} {middle['interval']}") == "+1.5 % [-1 % to +4 %]"


def test_prices_are_compared_at_a_size_of_the_cheapest_offer():
    offer = {
        "year": 2024,
        "basis": "published",
        "currency": "USD",
        "price_per_node_low": None,
        "price_per_node_high": None,
    }
    prices = pd.DataFrame(
        [
            {"interconnect": name, "offer": name, "nodes": nodes, "price_per_node": price, **offer}
            for name, nodes, price in (
                ("a", 24, 150.0),
                ("a", 64, 300.0),
                ("b", 64, 200.0),
                *(("b", n, 9e2) for n in (2, 2, 2)),
            )
        ]
    )
    assert plain(lowest_price_title(prices, LABELS)).endswith(
        "has the lowest price per node: 200 USD at 64 nodes"
    )
    assert [plain(figure["value"]) for figure in price_key_figures(prices, LABELS)] == ["200 USD", "300 USD"]
