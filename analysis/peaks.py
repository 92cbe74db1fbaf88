"""Where a curve peaks, and which counts cannot be told from the peak."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.bootstrap import Floats, percentile_interval


class Peak(NamedTuple):
    """The highest point of a curve.

    Attributes
    ----------
    index : int
        Position of the count of the highest speedup; of equals, the smallest.
    members : array (counts,) of bool
        Counts that may be the peak; none where there are no draws.
    reached : bool
        Whether the curve goes down after the peak: false where the last count may be the peak.
    """

    index: int
    members: NDArray[np.bool_]
    reached: bool


def find_peak(speedup: Floats, draws: Floats, level: float = 0.95) -> Peak:
    """Find the peak of one curve.

    A count p belongs to the set unless the joint interval of log S(p) - max over the others of log S
    lies below 0. The set may have gaps.

    Parameters
    ----------
    speedup : array (counts,)
        In increasing order of the counts.
    draws : array (counts, scenarios, B)
        Bootstrap draws of the speedup, NaN throughout a count that has one block only. Then there is
        no set, and `reached` goes by the point estimate.
    """
    index = int(np.argmax(speedup))
    if np.isnan(draws[:, 0, 0]).any():
        return Peak(index, np.zeros(len(speedup), bool), index < len(speedup) - 1)
    _, high = percentile_interval(lead_over_others(draws), level)
    members = high >= 0
    return Peak(index, members, not members[-1])


def lead_over_others(speedup: Floats) -> Floats:
    """Log S(p) - max over the others of log S, for arrays (counts, ...); infinite for a single count."""
    logs = np.log(speedup)
    best = logs.argmax(axis=0, keepdims=True)
    highest = np.take_along_axis(logs, best, axis=0)
    others = logs.copy()
    np.put_along_axis(others, best, -np.inf, axis=0)
    lead = logs - highest
    np.put_along_axis(lead, best, highest - others.max(axis=0, keepdims=True), axis=0)
    return lead
