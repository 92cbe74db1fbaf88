"""What a study wants of its runs, as its facts state it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from analysis.runs.facts import Facts
from analysis.runs.settings import Queue, Rule, Settings
from analysis.topics.money.market import Market
from analysis.topics.prices.books import BOOK
from analysis.topics.prices.parts import PART_LIST


@dataclass(frozen=True)
class Request:
    """What is wanted of a study's runs.

    Attributes
    ----------
    rule : Rule or None
        Without one there is no table ``proposal``.
    market : Market or None
        Without one there is no table about money.
    """

    settings: Settings
    queue: Queue = field(default_factory=Queue)
    rule: Rule | None = None
    market: Market | None = None

    @property
    def weights(self) -> Mapping[str, float]:
        """How much each case counts in what the cluster is for; nothing where that is not told."""
        return self.market.mix.weights if self.market and self.market.mix else {}


def request_of(facts: Facts) -> Request:
    """Read a request from the facts of a study."""
    economics = facts.economics
    market = None
    if economics:
        offers = {}
        for name, offer in economics.offers.items():
            schema = {"book": BOOK, "parts": PART_LIST}[offer.source]
            listing = schema.validate(pd.DataFrame(offer.rows, columns=list(schema.columns)))
            offers[name] = listing, offer.item
        market = Market(economics.node, offers, economics.mix, economics.lifetime)
    return Request(facts.all_settings(), facts.queue, facts.proposal, market)
