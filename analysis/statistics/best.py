"""Choice between options: multiple comparisons with the best, and the Pareto set.

Each option is compared with each other option by a one-sided t test of how far it is behind. It is ruled out
if one t exceeds its quantile at alpha / (K - 1). The best of K options is then ruled out in at most alpha of
all studies (Hsu, Multiple Comparisons, 1996, chapter 4). Bonferroni's inequality stands in for the joint
distribution, since the options may have unequal spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from analysis.statistics import Flags, Floats, Integers
from analysis.statistics.shift import EQUAL

ALPHA = 0.05
"""Probability with which the best option may be ruled out."""
FEWEST = 5
"""Fewest blocks of an option."""


class Differences(NamedTuple):
    """Differences between each option (…, options, 1) and each other option (…, 1, options).

    Attributes
    ----------
    mean, variance : array (…, options, options)
        Mean difference, the smallest that the rounding of the times allows, and its variance. The variance
        is NaN if no spread is known.
    freedom : array (…, options, options)
        Degrees of freedom, 1 or more.
    """

    mean: Floats
    variance: Floats
    freedom: Floats


def pairwise_differences(values: Floats, rounding: Floats | None = None) -> Differences:
    """Compare options whose smallest value is the best.

    Two options are compared over their common blocks if these are at least half of the shorter one's blocks,
    else by Welch's t. An option of one block takes the spread of the other option.

    Parameters
    ----------
    values : array (…, options, blocks)
        Logs; NaN if an option lacks a block.
    rounding : array (…, options), optional
        Half the step of the rounding as a share of each option's value.
    """
    present = ~np.isnan(values)
    weight = present.astype(float)
    blocks = weight.sum(axis=-1)
    middle = np.where(present, values, 0).sum(axis=-1) / np.maximum(blocks, 1)
    residual = np.where(present, values - middle[..., None], 0)
    common = weight @ _transposed(weight)
    excess = residual @ _transposed(weight)
    excess = excess - _transposed(excess)
    squares = residual**2 @ _transposed(weight)
    squares = squares + _transposed(squares) - 2 * residual @ _transposed(residual)
    paired = (2 * common >= np.minimum(blocks[..., None], blocks[..., None, :])) & (common > 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        paired_variance = (squares - excess**2 / common) / (common - 1) / common
        spread = np.broadcast_to(((residual**2).sum(axis=-1) / (blocks - 1))[..., None], common.shape)
        error = np.where(np.isnan(spread), _transposed(spread), spread) / blocks[..., None]
        unpaired_variance = error + _transposed(error)
        share = error**2 / (blocks[..., None] - 1)
        freedom = unpaired_variance**2 / (share + _transposed(share))
        freedom = np.where(blocks[..., None] > 1, freedom, blocks[..., None, :] - 1)
        freedom = np.where(blocks[..., None, :] > 1, freedom, blocks[..., None] - 1)
        mean = middle[..., None] - middle[..., None, :] + np.where(paired, excess / common, 0)
    variance = np.where(paired, paired_variance, unpaired_variance)
    if rounding is not None and rounding.any():
        mean = mean + np.log1p(-rounding)[..., :, None] - np.log1p(rounding)[..., None, :]
    return Differences(
        np.where(np.abs(mean) > EQUAL, mean, 0),
        np.where(variance <= EQUAL**2, 0, variance),
        np.where(paired, common - 1, freedom),
    )


def _transposed(values: Floats) -> Floats:
    return np.swapaxes(values, -1, -2)


def with_offsets(differences: Differences, offsets: Floats) -> Differences:
    """Subtract constants (…, options) from the values that were compared."""
    mean = differences.mean - offsets[..., :, None] + offsets[..., None, :]
    return differences._replace(mean=np.where(np.abs(mean) > EQUAL, mean, 0))


def weighted(parts: Sequence[Differences], weights: Sequence[float]) -> Differences:
    """Compute the differences of weighted sums of independent values.

    The degrees of freedom are those of Satterthwaite (Biometrics 2, 1946).
    """
    variances = [weight**2 * part.variance for part, weight in zip(parts, weights, strict=True)]
    variance = np.sum(variances, axis=0)
    mean = np.sum([weight * part.mean for part, weight in zip(parts, weights, strict=True)], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = [share**2 / part.freedom for share, part in zip(variances, parts, strict=True)]
        freedom = variance**2 / np.sum(shares, axis=0)
    return Differences(mean, variance, freedom)


def may_be_best(
    differences: Differences, best: Integers | int, alpha: float, among: Flags | None = None
) -> Flags:
    """Return which options (…, options) may be the best.

    Parameters
    ----------
    differences : Differences
        As `pairwise_differences` returns them. An option without spread is ruled out by any difference.
    best : array (…,) or int
        Position of the option that always may be the best.
    alpha : float
        Probability with which the best option may be ruled out.
    among : array (…, options), optional
        Options that count; all by default.
    """
    options = np.arange(differences.mean.shape[-1])
    rivals = np.ones(differences.mean.shape[:-1], bool) if among is None else among
    freedom = np.nan_to_num(differences.freedom, nan=1, posinf=1).clip(min=1).astype(int)
    others = np.maximum(rivals.sum(axis=-1) - 1, 1)[..., None, None]
    quantiles = stats.t.isf(alpha / others, freedom)
    with np.errstate(invalid="ignore"):
        beaten = (differences.mean > quantiles * np.sqrt(differences.variance)) & rivals[..., None, :]
    return np.asarray(rivals & ((options == np.asarray(best)[..., None]) | ~beaten.any(axis=-1)))


def within_bands(low: Floats, high: Floats) -> Flags:
    """Return which options (…, options) are the smallest somewhere in their bands; none if an end is NaN."""
    return np.asarray(low <= high.min(axis=-1, keepdims=True))


def nondominated(cost: ArrayLike, gain: ArrayLike) -> Flags:
    """Return which options belong to the Pareto set.

    An option is outside the set if another option costs no more and gains no less, and is better in at least
    one of the two.

    Parameters
    ----------
    cost : array (options,) or of the shape of `gain`
        Cost of each option, without missing values.
    gain : array (options, ...)
        Gain of each option, without missing values. Trailing axes are separate problems, such as bootstrap
        draws.

    Returns
    -------
    array of the shape of `gain`
    """
    costs, gains = np.asarray(cost, np.float64), np.asarray(gain, np.float64)
    if costs.ndim < gains.ndim:
        costs = np.broadcast_to(costs.reshape(-1, *[1] * (gains.ndim - 1)), gains.shape)
    order = np.lexsort((-gains, costs), axis=0)
    costs, gains = np.take_along_axis(costs, order, axis=0), np.take_along_axis(gains, order, axis=0)
    highest = np.maximum.accumulate(gains, axis=0)
    positions = np.arange(len(gains)).reshape(-1, *[1] * (gains.ndim - 1))
    improves = np.ones(gains.shape, bool)
    improves[1:] = gains[1:] > highest[:-1]
    first = np.maximum.accumulate(np.where(improves, positions, 0), axis=0)  # the cheapest with this gain
    cheapest = np.take_along_axis(costs, first, axis=0)
    members = np.empty(gains.shape, bool)
    np.put_along_axis(members, order, (gains == highest) & (costs == cheapest), axis=0)
    return members
