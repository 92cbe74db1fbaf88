"""Options that no other option beats in cost and in gain at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def nondominated(cost: ArrayLike, gain: ArrayLike) -> NDArray[np.bool_]:
    """Which options belong to the Pareto set.

    An option belongs to it unless another one costs no more and gains no less, and is better in one of
    the two.

    Parameters
    ----------
    cost : array (options,) or of `gain`'s shape
    gain : array (options, ...)
        Both without missing values. Trailing axes are separate problems, as bootstrap draws are.

    Returns
    -------
    array of `gain`'s shape
    """
    cost, gain = np.asarray(cost, float), np.asarray(gain, float)
    if cost.ndim < gain.ndim:
        cost = np.broadcast_to(cost.reshape(-1, *[1] * (gain.ndim - 1)), gain.shape)
    order = np.lexsort((-gain, cost), axis=0)
    cost, gain = np.take_along_axis(cost, order, axis=0), np.take_along_axis(gain, order, axis=0)
    highest = np.maximum.accumulate(gain, axis=0)
    positions = np.arange(len(gain)).reshape(-1, *[1] * (gain.ndim - 1))
    fresh = np.ones(gain.shape, bool)
    fresh[1:] = gain[1:] > highest[:-1]
    first = np.maximum.accumulate(np.where(fresh, positions, 0), axis=0)  # the cheapest that gains so much
    cheapest = np.take_along_axis(cost, first, axis=0)
    members = np.empty(gain.shape, bool)
    np.put_along_axis(members, order, (gain == highest) & (cost == cheapest), axis=0)
    return members


def unbeaten(seconds: NDArray[np.float64], jobs_at_once: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which ways belong to the Pareto set of time per job against jobs a day.

    A way belongs to it unless another takes no longer, finishes no fewer jobs a day, and is better in one
    of the two. One with more jobs at once beats it by taking no longer, one with fewer by finishing no
    fewer a day, one with as many by taking less time. `nondominated` gives the same and takes three times as
    long, since it sorts.

    Parameters
    ----------
    seconds : array (ways, ...)
        Trailing axes are problems of their own, as bootstrap draws are.
    jobs_at_once : array (ways,)

    Returns
    -------
    array (ways, ...)
    """
    jobs = np.unique(jobs_at_once)
    ways = [np.flatnonzero(jobs_at_once == count) for count in jobs]
    ways = [own[0] if len(own) == 1 else own for own in ways]  # a number gives a view, several a copy
    least = [seconds[own] if np.ndim(own) == 0 else seconds[own].min(axis=0) for own in ways]
    best = np.ones(seconds.shape, bool)
    shortest = least[-1]
    for own, time in list(zip(ways, least, strict=True))[-2::-1]:
        best[own] = time < shortest
        shortest = np.minimum(shortest, time)
    highest = jobs[0] / least[0]
    for count, own, time in list(zip(jobs, ways, least, strict=True))[1:]:
        rate = count / time
        best[own] &= rate > highest
        highest = np.maximum(highest, rate)
    for own, time in zip(ways, least, strict=True):
        if np.ndim(own):
            best[own] &= seconds[own] == time
    return best
