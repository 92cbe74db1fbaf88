"""When a purchase pays: the savings of an interconnect against its extra price."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.statistics import Flags, Floats

UNTESTED = ("would pay (untested)", "would not pay (untested)")
"""Verdicts from estimates without an interval."""

Texts = NDArray[np.object_]
"""Texts; None for a missing text."""


class Exchange(NamedTuple):
    """The effect of buying an interconnect instead of the baseline, at equal speed.

    Attributes
    ----------
    saved : array (...)
        The saved quantity: nodes, n_b - n_e; over a lifetime, kilowatt hours or money per year.
    extra : array (...)
        The extra price of the interconnect: n_e c_e - n_b c_b over the whole cluster.
    """

    saved: Floats
    extra: Floats


def exchange(
    baseline_nodes: ArrayLike, baseline_price: ArrayLike, nodes: ArrayLike, price: ArrayLike
) -> Exchange:
    """Compute the nodes that an interconnect saves, and its extra price, at equal speed.

    Parameters
    ----------
    baseline_nodes, baseline_price, nodes, price : arrays (...)
        n_b, c_b, n_e and c_e: nodes, and the interconnect's price per node. Nodes are infinite if no size is
        as fast, minus infinite if the smallest measured size is faster already.

    Returns
    -------
    Exchange
        If the interconnect is not fast enough, `saved` is minus infinity and `extra` is infinity. If only the
        baseline is not fast enough, the signs are reversed. NaN if the nodes or prices are unknown.
    """
    n_b, c_b, n_e, c_e = (
        np.asarray(value, float) for value in (baseline_nodes, baseline_price, nodes, price)
    )
    worse = np.isposinf(n_e) | (np.isneginf(n_b) & ~np.isneginf(n_e))
    better = ~worse & (np.isposinf(n_b) | (np.isneginf(n_e) & ~np.isneginf(n_b)))
    with np.errstate(invalid="ignore"):
        saved, extra = n_b - n_e, n_e * c_e - n_b * c_b
    signs = np.where(better, np.inf, -np.inf)
    decided = worse | better
    return Exchange(np.where(decided, signs, saved), np.where(decided, -signs, extra))


def break_even_price(trade: Exchange) -> Floats:
    """Compute the price of a node at which two clusters of equal speed cost the same.

    The baseline needs n_b nodes, the other interconnect n_e. Their prices per node are c_b and c_e, and P is
    the price of a node without interconnect. The other interconnect pays if
    n_e (P + c_e) < n_b (P + c_b). Both sides are equal at P = (n_e c_e - n_b c_b) / (n_b - n_e).

    Returns
    -------
    array (...)
        If 0 or infinitely many nodes are saved, P does not matter: minus infinity if the other interconnect
        pays at any P, infinity if it pays at no P.
    """
    saved, extra = trade
    with np.errstate(divide="ignore", invalid="ignore"):
        even = extra / saved
    does_not_matter = ((saved == 0) | np.isinf(saved)) & ~np.isnan(extra)
    return np.where(does_not_matter, np.where(extra < 0, -np.inf, np.inf), even)


def threshold_of(trade: Exchange, below: Flags) -> Floats:
    """Compute the price, 0 or more, from which a trade pays, or up to which it pays where `below` is true."""
    even = break_even_price(trade)
    from_price = np.where(trade.saved < 0, np.inf, even)
    up_to_price = np.where(trade.saved < 0, even, np.where(trade.extra < 0, np.inf, 0.0))
    prices = np.maximum(np.where(below, up_to_price, from_price), 0.0)
    return np.where(np.isnan(even), np.nan, prices)


def saving_at(trade: Exchange, price: float) -> Floats:
    """Compute the money that a trade saves at a price P per unit of the saved quantity.

    If the saved quantity is nodes, the saving is n_b (P + c_b) - n_e (P + c_e).
    """
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(trade.saved), trade.saved, trade.saved * price - trade.extra)


def direction_of(trade: Exchange) -> Texts:
    """Return whether each trade pays ``above`` or ``below`` its break-even value, ``always`` or ``never``."""
    cheaper = trade.extra < 0
    cases = [(trade.saved >= 0) & cheaper, trade.saved > 0, cheaper]
    return np.select(cases, ["always", "above", "below"], "never").astype(object)


def verdict_on(saving: Floats, low: Floats, high: Floats) -> Texts:
    """Return the verdict on each saving: ``pays``, ``does not pay`` or ``undecided``, by its interval.

    Without an interval, the verdict is one of `UNTESTED`, by the point estimate.
    """
    untested = np.isnan(low) | np.isnan(high)
    return np.select(
        [untested & (saving > 0), untested, low > 0, high <= 0],
        [*UNTESTED, "pays", "does not pay"],
        "undecided",
    ).astype(object)


def texts_where(condition: Flags, texts: Texts) -> Texts:
    """Return `texts` with None where the condition does not hold."""
    chosen = texts.copy()
    chosen[~condition] = None
    return chosen
