"""What a study wants of its runs, as its facts state it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from analysis.decisions.economics import Offer
from analysis.decisions.money import Market
from analysis.decisions.parts import PARTS
from analysis.decisions.prices import BOOK
from analysis.runs import facts as told
from analysis.runs.settings import Queue, Rule, Settings


@dataclass(frozen=True)
class Request:
    """What is wanted of a study's runs.

    Attributes
    ----------
    settings : Settings
    queue : Queue
    rule : Rule or None
        Without one there is no table ``proposal``.
    market : Market or None
        Without one there is no table about money.
    """

    settings: Settings
    queue: Queue = field(default_factory=Queue)
    rule: Rule | None = None
    market: Market | None = None


def request_of(facts: told.Facts) -> Request:
    """Read a request from the facts of a study."""
    economics = facts.economics
    market = None
    if economics:
        offers = {name: _offer(offer) for name, offer in economics.offers.items()}
        market = Market(economics.node, offers, economics.mix)
    return Request(facts.all_settings(), facts.queue, facts.proposal, market)


def _offer(offer: told.Offer) -> Offer:
    schema = {"book": BOOK, "parts": PARTS}[offer.source]
    return schema.validate(pd.DataFrame(offer.rows, columns=list(schema.columns))), offer.item
