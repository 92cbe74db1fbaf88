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
