"""When it pays to buy something else: what is saved, against what it costs more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analysis.statistics import Floats

UNTESTED = ("would pay (untested)", "would not pay (untested)")
"""Verdicts from estimates without an interval."""


class Exchange(NamedTuple):
    """What it means to buy another interconnect instead of the baseline, at equal speed.

    Attributes
    ----------
    saved : array (...)
        What is saved: nodes, n_b - n_e; over a lifetime, kilowatt hours or money a year.
    extra : array (...)
        What the interconnect costs more besides: n_e c_e - n_b c_b over the whole cluster.
    """

    saved: Floats
    extra: Floats


def exchange(
    baseline_nodes: ArrayLike, baseline_price: ArrayLike, nodes: ArrayLike, price: ArrayLike
) -> Exchange:
    """Nodes saved and money spent.

    Parameters
    ----------
    baseline_nodes, baseline_price, nodes, price : arrays (...)
        n_b, c_b, n_e and c_e: nodes, and the interconnect's price per node. Nodes are infinite where no
        size is as fast, minus infinite where the smallest one measured is faster already.

    Returns
    -------
    Exchange
        Minus infinity nodes saved, for infinite money, where the interconnect is not fast enough; the
        reverse where only the baseline is not. NaN where neither can be known.
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


def break_even_price(traded: Exchange) -> Floats:
    """Price of a node at which two clusters of equal speed cost the same.

    With n_b nodes over the baseline and n_e over the other interconnect, whose prices per node are c_b
    and c_e, and P the price of a node without interconnect, the other pays if
    n_e (P + c_e) < n_b (P + c_b). Both sides are equal at P = (n_e c_e - n_b c_b) / (n_b - n_e).

    Returns
    -------
    array (...)
        Minus infinity where the other pays at any P although no finite number of nodes is saved,
        infinity where it pays at none.
    """
    saved, extra = traded
    with np.errstate(divide="ignore", invalid="ignore"):
        even = extra / saved
    at_once = np.where(extra < 0, -np.inf, np.inf)
    return np.where(((saved == 0) | np.isinf(saved)) & ~np.isnan(extra), at_once, even)


def threshold_of(traded: Exchange, below: Floats) -> Floats:
    """Price of a node (of what is saved) from which on it pays, or up to which where `below`; 0 or more."""
    even = break_even_price(traded)
    from_price = np.where(traded.saved < 0, np.inf, even)
    up_to_price = np.where(traded.saved < 0, even, np.where(traded.extra < 0, np.inf, 0.0))
    prices = np.maximum(np.where(below, up_to_price, from_price), 0.0)
    return np.where(np.isnan(even), np.nan, prices)


def saving_at(traded: Exchange, price: float) -> Floats:
    """What the interconnect saves at a price P of what is saved: of a node, n_b (P + c_b) - n_e (P + c_e)."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(traded.saved), traded.saved, traded.saved * price - traded.extra)


def direction_of(traded: Exchange) -> np.ndarray:
    """At which prices of what is saved the interconnect pays."""
    cheaper = traded.extra < 0
    cases = [(traded.saved >= 0) & cheaper, traded.saved > 0, cheaper]
    return np.select(cases, ["always", "above", "below"], "never")


def verdict_on(saving: Floats, low: Floats, high: Floats) -> np.ndarray:
    """Whether it pays; where there is no interval, whether it would by the point estimate."""
    untested = np.isnan(low) | np.isnan(high)
    return np.select(
        [untested & (saving > 0), untested, low > 0, high <= 0],
        [*UNTESTED, "pays", "does not pay"],
        "undecided",
    )
