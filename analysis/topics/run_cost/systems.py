"""Systems with a price per node hour, and the nodes with which they meet a deadline or a budget.

The rate 1/T is linear between measured numbers of nodes, as for node equivalents. A crossing is the first
along the nodes, nothing is extrapolated, and a purchase is a whole number of nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from analysis.curves.curves import Curve
from analysis.curves.equivalence import equivalent_counts
from analysis.curves.sites import at_site
from analysis.runs.settings import SystemPrice
from analysis.statistics import Flags, Floats
from analysis.topics.money.market import nodes_of

HOUR = 3600.0
ROUNDING = 1e-9
"""Relative tolerance with which a number of nodes is whole, and a cost is within a budget."""


@dataclass(frozen=True, eq=False)
class System:
    """Points of a curve on known numbers of nodes, with the price of a node hour.

    Attributes
    ----------
    curve : Curve
        Its points with a known number of nodes, without the serial run, which belongs to no system.
    site : str
        Empty in a study of one site.
    price : SystemPrice
    all_nodes : array (counts,)
        Number of nodes of each point of the curve.
    """

    curve: Curve
    site: str
    price: SystemPrice
    all_nodes: Floats

    @cached_property
    def _fastest_points(self) -> list[int]:
        """Positions of the fastest point on each number of nodes, by increasing nodes."""
        seconds = self.curve.table["seconds"]
        slowest_first = np.argsort(-seconds, kind="stable")
        fastest = {float(self.all_nodes[position]): int(position) for position in slowest_first}
        return [fastest[count] for count in sorted(fastest)]

    @cached_property
    def nodes(self) -> Floats:
        """Numbers of nodes, increasing, array (sizes,)."""
        return self.all_nodes[self._fastest_points]

    @cached_property
    def rate(self) -> Floats:
        """Highest rate 1/T on each number of nodes, array (sizes,), in runs per second."""
        rates: Floats = 1 / self.curve.table["seconds"][self._fastest_points]
        return rates

    @cached_property
    def rate_draws(self) -> Floats:
        """Bootstrap draws of `rate`, array (sizes, scenarios, B)."""
        return 1 / self.curve.draws[self._fastest_points]

    @cached_property
    def costs(self) -> Floats:
        """Cost of a run on each number of nodes, array (sizes,)."""
        return cost(self.nodes, self.rate, self.price.price)

    @property
    def name(self) -> str:
        """Interconnect and site, as figures and the report name them."""
        return at_site(self.curve.interconnect, self.site)


def system_of(curve: Curve, price: SystemPrice, site: str, cores_per_node: int | None) -> System | None:
    """Make the system of a curve; None if no point has a known number of nodes."""
    nodes = nodes_of(curve, cores_per_node)
    positions = np.flatnonzero(~curve.is_serial & ~np.isnan(nodes)).tolist()
    return System(curve.at(positions), site, price, nodes[positions]) if positions else None


def cost(nodes: Floats | float, rate: Floats, price: float) -> Floats:
    """Compute the cost of a run, nodes x hours x price per node hour."""
    costs: Floats = nodes * price / (HOUR * rate)
    return costs


def rate_at(nodes: Floats, rate: Floats, wanted: Floats) -> Floats:
    """Interpolate the rate linearly between measured numbers of nodes.

    Parameters
    ----------
    nodes : array (sizes,)
    rate : array (sizes, ...)
    wanted : array (choices, ...)
        Numbers of nodes. Numbers outside the measured ones, and infinity, have no rate.

    Returns
    -------
    array (choices, ...)
    """
    wanted = np.broadcast_to(wanted, (len(wanted), *rate.shape[1:]))
    inside = (wanted >= nodes[0]) & (wanted <= nodes[-1])
    above = np.searchsorted(nodes, np.where(inside, wanted, nodes[0])).clip(max=len(nodes) - 1)
    below = np.where(nodes[above] == wanted, above, np.maximum(above - 1, 0))
    width = np.where(above > below, nodes[above] - nodes[below], 1)
    low, high = (np.take_along_axis(rate, at, axis=0) for at in (below, above))
    share = np.where(above > below, (wanted - nodes[below]) / width, 0)
    # A missing rate at an end without a share does not make the interpolated rate unknown.
    return np.where(inside, np.where(share == 0, low, low + share * (high - low)), np.nan)


class Choice(NamedTuple):
    """Nodes that answer a question, for the estimate or for each draw.

    Attributes
    ----------
    nodes : array (...)
        Whole nodes to use; infinity if no measured number answers the question, NaN if an input is NaN.
    crossing : array (...)
        Number of nodes, not rounded, at the first crossing; infinite if there is none.
    """

    nodes: Floats
    crossing: Floats


def nodes_in_time(nodes: Floats, rate: Floats, target: Floats) -> Choice:
    """Find the nodes that reach a rate at the lowest cost.

    They are the first crossing, rounded up, or a measured number of nodes that reaches the rate for less. If
    the smallest measured number is already faster, they are that number.

    Parameters
    ----------
    nodes : array (sizes,)
    rate : array (sizes, ...)
    target : array (...)
        Rate to reach, 1/deadline; its axes broadcast with those of `rate`.
    """
    shape = np.broadcast_shapes(rate.shape[1:], target.shape)
    rate, target = np.broadcast_to(rate, (len(nodes), *shape)), np.broadcast_to(target, shape)
    crossing = equivalent_counts(nodes, rate, target[None])[0]
    first = np.where(np.isneginf(crossing), nodes[0], np.ceil(crossing * (1 - ROUNDING)))
    return _best(nodes, rate, crossing, first, rate >= target, lambda count, speed: count / speed)


def nodes_in_budget(nodes: Floats, rate: Floats, price: float, budget: Floats) -> Choice:
    """Find the nodes with the highest rate within a budget for a run.

    They are the last whole number before the cost first reaches the budget, or a faster measured number
    within the budget.

    Parameters
    ----------
    nodes : array (sizes,)
    rate : array (sizes, ...)
    price : float
        Price per node hour.
    budget : array (...)
        Highest cost of a run.
    """
    paid = (nodes * price / HOUR).reshape(-1, *[1] * (rate.ndim - 1))
    excess = paid - budget * rate  # linear in the nodes, as the rate is; 0 where the cost equals the budget
    crossing = equivalent_counts(nodes, excess, np.zeros_like(excess[:1]))[0]
    last = np.floor(np.where(np.isfinite(crossing), crossing, np.nan) * (1 + ROUNDING))
    return _best(nodes, rate, crossing, last, excess <= ROUNDING * paid, lambda _, speed: 1 / speed)


def _best(
    nodes: Floats,
    rate: Floats,
    crossing: Floats,
    at_crossing: Floats,
    allowed: Flags,
    loss: Callable[[Floats, Floats], Floats],
) -> Choice:
    """Choose between the whole number at a crossing and the allowed measured numbers of nodes."""
    measured = np.broadcast_to(nodes.reshape(-1, *[1] * (rate.ndim - 1)), rate.shape)
    counts = np.concatenate([at_crossing[None], np.where(allowed, measured, np.nan)])
    losses = loss(counts, rate_at(nodes, rate, counts))
    losses = np.where(np.isnan(losses), np.inf, losses)
    chosen = np.take_along_axis(counts, losses.argmin(axis=0)[None], axis=0)[0]
    chosen = np.where(np.isinf(losses.min(axis=0)), np.inf, chosen)
    return Choice(np.where(np.isnan(crossing), np.nan, chosen), crossing)
