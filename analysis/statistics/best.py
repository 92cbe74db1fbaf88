"""Choice between options: multiple comparisons with the best, and the Pareto set.

A one-sided t test compares each option with each other option. An option is ruled out if one of its K - 1
tests finds it worse at level alpha / (K - 1). The best of K options is then ruled out in at most alpha of all
studies (Hsu, Multiple Comparisons, 1996, chapter 4). The level follows from Bonferroni's inequality, since
the joint distribution is unknown for options of unequal spread.
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
    """Differences between pairs of options: the option of the row minus the option of the column.

    Attributes
    ----------
    mean : array (…, options, options)
        Mean difference. If times were rounded, the smallest mean difference that the rounding allows.
    variance : array (…, options, options)
        Variance of the mean difference; NaN if no spread is known.
    freedom : array (…, options, options)
        Degrees of freedom, 1 or more.
    """

    mean: Floats
    variance: Floats
    freedom: Floats


def pairwise_differences(values: Floats, rounding: Floats | None = None) -> Differences:
    """Compute the differences between all pairs of options, of which the smallest value is the best.

    A pair is compared over its common blocks, by a paired t, if these blocks are at least half of the blocks
    of the option that has fewer. Otherwise the pair is compared by Welch's t.

    Parameters
    ----------
    values : array (…, options, blocks)
        Log times; NaN if an option lacks a block.
    rounding : array (…, options), optional
        Half the step of the rounding as a share of each option's value.
    """
    present = ~np.isnan(values)
    carried = present.astype(float)
    blocks = carried.sum(axis=-1)
    means = np.where(present, values, 0).sum(axis=-1) / np.maximum(blocks, 1)
    residuals = np.where(present, values - means[..., None], 0)
    common = carried @ _transposed(carried)
    paired = (2 * common >= np.minimum(blocks[..., None], blocks[..., None, :])) & (common > 1)
    correction, paired_variance = _over_common_blocks(residuals, carried, common)
    unpaired_variance, freedom = _welch(residuals, blocks)
    mean = means[..., None] - means[..., None, :] + np.where(paired, correction, 0)
    variance = np.where(paired, paired_variance, unpaired_variance)
    if rounding is not None and rounding.any():
        mean = mean + np.log1p(-rounding)[..., :, None] - np.log1p(rounding)[..., None, :]
    return Differences(
        np.where(np.abs(mean) > EQUAL, mean, 0),
        np.where(variance <= EQUAL**2, 0, variance),
        np.where(paired, common - 1, freedom),
    )


def _over_common_blocks(residuals: Floats, carried: Floats, common: Floats) -> tuple[Floats, Floats]:
    """Compute mean and variance of the differences of residuals over the common blocks of each pair.

    Parameters
    ----------
    residuals : array (…, options, blocks)
        Values minus the mean of their option; 0 if an option lacks a block.
    carried : array (…, options, blocks)
        1 for a block that the option has, else 0.
    common : array (…, options, options)
        Number of common blocks.

    Returns
    -------
    mean, variance : arrays (…, options, options)
        The difference of two options' means plus `mean` is their mean difference over the common blocks.
    """
    # Sums over the common blocks of d and d^2, with the difference d of the residuals of two options.
    sums = residuals @ _transposed(carried)
    sums = sums - _transposed(sums)
    squares = residuals**2 @ _transposed(carried)
    squares = squares + _transposed(squares) - 2 * residuals @ _transposed(residuals)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (squares - sums**2 / common) / (common - 1) / common
        return sums / common, variance


def _welch(residuals: Floats, blocks: Floats) -> tuple[Floats, Floats]:
    """Compute variance and degrees of freedom of the differences of means by Welch's t.

    An option of one block takes the spread of the other option.

    Parameters
    ----------
    residuals : array (…, options, blocks)
        Values minus the mean of their option; 0 if an option lacks a block.
    blocks : array (…, options)
        Number of blocks of each option.

    Returns
    -------
    variance, freedom : arrays (…, options, options)
    """
    of_row, of_column = blocks[..., :, None], blocks[..., None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (residuals**2).sum(axis=-1) / (blocks - 1)
        spread = np.broadcast_to(spread[..., None], (*blocks.shape, blocks.shape[-1]))
        spread = np.where(np.isnan(spread), _transposed(spread), spread)
        error = spread / of_row
        variance = error + _transposed(error)
        share = error**2 / (of_row - 1)
        freedom = variance**2 / (share + _transposed(share))
    freedom = np.where(of_row > 1, freedom, of_column - 1)
    return variance, np.where(of_column > 1, freedom, of_row - 1)


def _transposed(values: Floats) -> Floats:
    return np.swapaxes(values, -1, -2)


def with_offsets(differences: Differences, offsets: Floats) -> Differences:
    """Compute the differences after `offsets` (…, options) are subtracted from the values of the options."""
    mean = differences.mean - offsets[..., :, None] + offsets[..., None, :]
    return differences._replace(mean=np.where(np.abs(mean) > EQUAL, mean, 0))


def weighted(parts: Sequence[Differences], weights: Sequence[float]) -> Differences:
    """Compute the differences between options whose values are weighted sums over independent parts.

    The degrees of freedom are approximate (Satterthwaite, Biometrics 2, 1946).

    Parameters
    ----------
    parts : sequence of Differences
        Differences of each part, for example of each case, between the same options.
    weights : sequence of float
        Weight of each part.
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
    counted = np.ones(differences.mean.shape[:-1], bool) if among is None else among
    freedom = np.nan_to_num(differences.freedom, nan=1, posinf=1).clip(min=1).astype(int)
    tests_per_option = np.maximum(counted.sum(axis=-1) - 1, 1)[..., None, None]
    quantiles = stats.t.isf(alpha / tests_per_option, freedom)
    with np.errstate(invalid="ignore"):
        is_worse = (differences.mean > quantiles * np.sqrt(differences.variance)) & counted[..., None, :]
    is_stated_best = options == np.asarray(best)[..., None]
    return np.asarray(counted & (is_stated_best | ~is_worse.any(axis=-1)))


def within_bands(low: Floats, high: Floats) -> Flags:
    """Return which options (…, options) may be the smallest, given the ends of their bands.

    No option may be the smallest if an end of any band is NaN.
    """
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
    order = np.lexsort((-gains, costs), axis=0)  # rising costs; the highest gain first among equal costs
    costs, gains = np.take_along_axis(costs, order, axis=0), np.take_along_axis(gains, order, axis=0)
    highest = np.maximum.accumulate(gains, axis=0)  # highest gain of all options that cost no more
    positions = np.arange(len(gains)).reshape(-1, *[1] * (gains.ndim - 1))
    exceeds_cheaper = np.ones(gains.shape, bool)
    exceeds_cheaper[1:] = gains[1:] > highest[:-1]
    first_with_highest = np.maximum.accumulate(np.where(exceeds_cheaper, positions, 0), axis=0)
    least_cost = np.take_along_axis(costs, first_with_highest, axis=0)  # of the highest gain
    members = np.empty(gains.shape, bool)
    np.put_along_axis(members, order, (gains == highest) & (costs == least_cost), axis=0)
    return members
