"""What a study wants of its runs, as its facts state it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from analysis.decisions.economics import Node, Offer
from analysis.decisions.money import Market
from analysis.decisions.parts import PARTS
from analysis.decisions.prices import BOOK
from analysis.decisions.purchase import Mix
from analysis.decisions.rules import Limit, Rule
from analysis.runs.settings import Queue, Settings


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


def request_of(facts: Mapping[str, Any]) -> Request:
    """Read a request from the facts of a study.

    Parameters
    ----------
    facts : mapping
        Plain data. ``study`` has ``name, seed, baselines, compare_kinds, compare_sites, scaling``;
        ``settings`` other attributes of `Settings`; ``queue`` those of `Queue`; ``proposal`` those of
        `Rule`; ``economics`` is None or has ``node``, ``mix`` (or None) and ``offers``, by interconnect
        ``source`` (book or parts), ``item`` and ``rows``.
    """
    limits = tuple(Limit(**limit) for limit in facts["proposal"]["limits"])
    return Request(
        settings=settings_of(facts["study"], facts["settings"]),
        queue=Queue(**facts["queue"]),
        rule=Rule(**facts["proposal"] | {"limits": limits}),
        market=_market(facts["economics"]) if facts["economics"] else None,
    )


def settings_of(study: Mapping[str, Any], others: Mapping[str, Any]) -> Settings:
    """Read the settings from the facts ``study`` and ``settings``: see `request_of`."""
    return Settings(
        study=study["name"],
        seed=study["seed"],
        scaling=study["scaling"],
        baselines=tuple(study["baselines"]),
        compare_kinds=_pairs(study["compare_kinds"]),
        compare_sites=_pairs(study["compare_sites"]),
        **others | {"target_speedups": tuple(others["target_speedups"])},
    )


def _pairs(given: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((first, second) for first, second in given)


def _market(economics: Mapping[str, Any]) -> Market:
    offers = {name: _offer(offer) for name, offer in economics["offers"].items()}
    mix = economics["mix"]
    wanted = Mix(mix["weights"], tuple(mix["budgets"])) if mix else None
    return Market(Node(**economics["node"]), offers, wanted)


def _offer(offer: Mapping[str, Any]) -> Offer:
    schema = {"book": BOOK, "parts": PARTS}[offer["source"]]
    return schema.validate(pd.DataFrame(offer["rows"], columns=list(schema.columns))), offer["item"]
