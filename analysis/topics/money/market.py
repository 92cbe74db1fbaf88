"""What a study says can be bought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.runs.lifetime import Lifetime
from analysis.runs.settings import Mix, NodePrice
from analysis.topics.money.economics import PricedItem


@dataclass(frozen=True)
class Market:
    """What can be bought.

    Attributes
    ----------
    offers : mapping of interconnect to PricedItem
        Interconnects without one have no price.
    mix : Mix or None
        What for and at which budget; without it there is no table ``purchase``.
    lifetime : Lifetime or None
        What happens after that; without it nothing is said of it.
    """

    node: NodePrice
    offers: Mapping[str, PricedItem]
    mix: Mix | None = None
    lifetime: Lifetime | None = None
