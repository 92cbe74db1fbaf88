"""Which of several options may be the best: multiple comparisons with the best.

For each option there is a one-sided t for how far it is behind each other one; it is left out where one of
them exceeds its quantile at 5 % / (K - 1). The best of K is then left out in 5 % of studies at most (Hsu,
Multiple Comparisons, 1996, chapter 4; by Bonferroni's inequality, as the options' spreads need not be alike).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from analysis.statistics import Floats
from analysis.statistics.shift import EQUAL

ALPHA = 0.05
"""How often the best may be left out."""
FEWEST = 5
"""Blocks that an option needs."""


class Behind(NamedTuple):
    """How far each option (…, options, 1) lies above each other one (…, 1, options).

    Attributes
    ----------
    mean, variance : array (…, options, options)
        Of the mean difference, the mean at its least within the rounding of the times. NaN where no spread is
        known.
    freedom : array (…, options, options)
        Degrees of freedom, 1 or more.
    """

    mean: Floats
    variance: Floats
    freedom: Floats


def behind(values: Floats, rounding: Floats | None = None) -> Behind:
    """Compare options (…, options, blocks), whose least is best, NaN where one has no such block.

    Over the common blocks where they are half of the fewer ones at least; else by Welch's t. An option of one
    block takes the other's spread. With `roundings` (…, options), the mean is the least that they leave.
    """
    there = ~np.isnan(values)
    weight = there.astype(float)
    own = weight.sum(axis=-1)
    middle = np.where(there, values, 0).sum(axis=-1) / np.maximum(own, 1)
    residual = np.where(there, values - middle[..., None], 0)
    common = weight @ _turned(weight)
    excess = residual @ _turned(weight)
    excess = excess - _turned(excess)
    squares = residual**2 @ _turned(weight)
    squares = squares + _turned(squares) - 2 * residual @ _turned(residual)
    paired = (2 * common >= np.minimum(own[..., None], own[..., None, :])) & (common > 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_pairs = (squares - excess**2 / common) / (common - 1) / common
        spread = np.broadcast_to(((residual**2).sum(axis=-1) / (own - 1))[..., None], common.shape)
        mine = np.where(np.isnan(spread), _turned(spread), spread) / own[..., None]
        both = mine + _turned(mine)
        share = mine**2 / (own[..., None] - 1)
        freedom = both**2 / (share + _turned(share))
        freedom = np.where(own[..., None] > 1, freedom, own[..., None, :] - 1)
        freedom = np.where(own[..., None, :] > 1, freedom, own[..., None] - 1)
        mean = middle[..., None] - middle[..., None, :] + np.where(paired, excess / common, 0)
    variance = np.where(paired, of_pairs, both)
    if rounding is not None and rounding.any():
        mean = mean + np.log1p(-rounding)[..., :, None] - np.log1p(rounding)[..., None, :]
    return Behind(
        np.where(np.abs(mean) > EQUAL, mean, 0),
        np.where(variance <= EQUAL**2, 0, variance),
        np.where(paired, common - 1, freedom),
    )


def _turned(values: Floats) -> Floats:
    return np.swapaxes(values, -1, -2)


def with_offsets(found: Behind, offsets: Floats) -> Behind:
    """The same of values from which something known (…, options) has been taken."""
    mean = found.mean - offsets[..., :, None] + offsets[..., None, :]
    return found._replace(mean=np.where(np.abs(mean) > EQUAL, mean, 0))


def weighted(parts: Sequence[Behind], weights: Sequence[float]) -> Behind:
    """Weighted sums of independent values; degrees of freedom by Satterthwaite (Biometrics 2, 1946)."""
    variances = [weight**2 * part.variance for part, weight in zip(parts, weights, strict=True)]
    variance = np.sum(variances, axis=0)
    mean = np.sum([weight * part.mean for part, weight in zip(parts, weights, strict=True)], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = [part**2 / one.freedom for part, one in zip(variances, parts, strict=True)]
        freedom = variance**2 / np.sum(shares, axis=0)
    return Behind(mean, variance, freedom)


def may_be_best(
    found: Behind, best: NDArray[np.int64], alpha: float, among: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Which options (…, options) may be the best; the one at position `best` (…,) is.

    Options of no spread are left out by any difference. With `among` (…, options), only these count.
    """
    options = np.arange(found.mean.shape[-1])
    rivals = np.ones(found.mean.shape[:-1], bool) if among is None else among
    freedom = np.nan_to_num(found.freedom, nan=1, posinf=1).clip(min=1).astype(int)
    others = np.maximum(rivals.sum(axis=-1) - 1, 1)[..., None, None]
    quantiles = stats.t.isf(alpha / others, freedom)
    with np.errstate(invalid="ignore"):
        beaten = (found.mean > quantiles * np.sqrt(found.variance)) & rivals[..., None, :]
    return rivals & ((options == np.asarray(best)[..., None]) | ~beaten.any(axis=-1))


def within_bands(low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Which options (…, options) are the least somewhere in their bands; none where an end is missing."""
    return low <= high.min(axis=-1, keepdims=True)


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
