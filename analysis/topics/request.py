"""The request of a study: its settings, rule and market, read from the study's facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from analysis.runs.facts import Facts
from analysis.runs.settings import Rule, Settings
from analysis.topics.money.market import Market, PricedItem
from analysis.topics.prices.books import BOOK
from analysis.topics.prices.parts import PART_LIST


@dataclass(frozen=True)
class Request:
    """The questions that a study asks of its runs.

    Attributes
    ----------
    settings : Settings
    rule : Rule or None
        There is no table ``proposal`` without a rule.
    market : Market or None
        There are no tables about money without a market.
    """

    settings: Settings
    rule: Rule | None = None
    market: Market | None = None

    @property
    def weights(self) -> Mapping[str, float]:
        """Weight of each case in the use of the cluster; empty if the study states none."""
        return self.market.mix.weights if self.market and self.market.mix else {}


def request_of(facts: Facts) -> Request:
    """Read a request from the facts of a study."""
    economics = facts.economics
    if economics is None:
        return Request(facts.all_settings(), facts.proposal)
    offers: dict[str, PricedItem] = {}
    for name, offer in economics.offers.items():
        schema = {"book": BOOK, "parts": PART_LIST}[offer.source]
        listing = schema.validate(pd.DataFrame(offer.rows, columns=list(schema.columns)))
        offers[name] = listing, offer.item
    market = Market(economics.node, offers, economics.mix, economics.lifetime)
    return Request(facts.all_settings(), facts.proposal, market)
