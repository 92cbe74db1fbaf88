"""Tests of whether two interconnects can be told apart, exact for small samples, corrected within a table."""

from __future__ import annotations

from functools import cache
from itertools import count
from math import comb, erfc, sqrt

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.runs.groups import Floats

DISTINGUISHABLE = 0.05
"""Holm-adjusted p-value up to which two things count as told apart."""
EXACT = 2**16
"""Patterns up to which a test enumerates all; beyond, it draws `SAMPLED` of them."""
SAMPLED = 9_999
COUNTED = 6 * 10**7
"""Additions up to which every way to divide two samples is counted: of 50 times and 50, or of 2 and 290."""
_CLOSE = 1e-9  # sums that differ by rounding alone are equal


def sign_flip_p(differences: Floats, seed: int = 0) -> Floats:
    """Two-sided p-value of paired differences being symmetric about 0.

    Every difference may as well have had the other sign: the p-value is the share of the 2^n sign
    patterns whose mean is at least as far from 0 as the observed one (Fisher, The Design of
    Experiments, 1935, section 21). At best 2 / 2^n. Above `EXACT` patterns: (k + 1) / (N + 1) over
    N random ones (Phipson and Smyth 2010).

    Parameters
    ----------
    differences : array (..., blocks)
        Log ratios of paired times; leading axes are tests of their own.

    Returns
    -------
    array (...)
    """
    differences = np.asarray(differences, float)
    blocks = differences.shape[-1]
    observed = differences.sum(axis=-1)[..., None]
    if 2 ** (blocks - 1) <= EXACT:  # a pattern and its opposite are equally far: the first sign stays
        return _as_far(differences @ _signs(blocks).T, observed).mean(axis=-1)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(SAMPLED, blocks))
    return (_as_far(differences @ signs.T, observed).sum(axis=-1) + 1) / (SAMPLED + 1)


def permutation_p(first: Floats, second: Floats) -> float:
    """Two-sided p-value of two independent samples being exchangeable.

    The share of the ways to divide all values into two samples of these sizes whose rank sum is at
    least as far from its mean as the observed one (Wilcoxon 1945; Mann and Whitney 1947), ties having
    their mean rank. Ranks, because unpaired samples come from different moments: one disturbed
    repetition would drown a difference of means. By the normal distribution where counting takes above
    `COUNTED` additions.

    Parameters
    ----------
    first, second : arrays (blocks,)
        Times, or any increasing function of them.
    """
    _, position, ties = np.unique(np.concatenate([first, second]), return_inverse=True, return_counts=True)
    doubled_ranks = (2 * np.cumsum(ties) - ties + 1)[position]  # whole numbers, ties or not
    every, chosen = len(doubled_ranks), min(len(first), len(second))
    of_smaller = doubled_ranks[:chosen] if len(first) == chosen else doubled_ranks[-chosen:]
    observed = abs(int(of_smaller.sum()) - chosen * (every + 1))
    if chosen * every**3 > COUNTED:
        variance = chosen * (every - chosen) / (every - 1) * doubled_ranks.var()
        return erfc(observed / sqrt(2 * variance)) if observed else 1.0
    ways = _ways(doubled_ranks, chosen)
    far = np.abs(np.arange(len(ways)) - chosen * (every + 1)) >= observed
    return float(ways[far].sum() / ways.sum())


def _ways(numbers: NDArray[np.int64], chosen: int) -> Floats:
    """In how many ways so many of the numbers have each sum, from 0 on."""
    ways = np.zeros((chosen + 1, numbers.sum() + 1))
    ways[0, 0] = 1
    for number in numbers:
        ways[1:, number:] += ways[:-1, :-number]
    return ways[chosen]


def _as_far(sums: Floats, observed: Floats | float) -> NDArray[np.bool_]:
    return np.abs(sums) >= abs(observed) * (1 - _CLOSE)


@cache
def _signs(blocks: int) -> Floats:
    patterns = np.arange(2 ** (blocks - 1))[:, None] >> np.arange(blocks) & 1
    return 1.0 - 2.0 * patterns


def holm(p_values: Floats) -> Floats:
    """Holm-adjusted p-values of one family (Holm, Scandinavian Journal of Statistics 6, 1979).

    NaN is no test: it stays NaN and does not count.
    """
    p_values = np.asarray(p_values, float)
    adjusted = np.full(p_values.shape, np.nan)
    tests = np.flatnonzero(~np.isnan(p_values))
    order = tests[np.argsort(p_values[tests], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.maximum.accumulate(p_values[order] * factors).clip(max=1)
    return adjusted


def blocks_needed(tests: int, paired: bool) -> int:
    """Blocks at which the smallest p-value of a family of tests can fall to `DISTINGUISHABLE` at all.

    The smallest n with ``tests`` times the smallest possible p-value up to it: 2 / 2^n paired, 2 / C(2n, n)
    unpaired. For a single paired test six, for sixteen ten.
    """
    return next(
        blocks
        for blocks in count(2)
        if 2 * tests / (2**blocks if paired else comb(2 * blocks, blocks)) <= DISTINGUISHABLE
    )


def corrected(table: pd.DataFrame) -> pd.DataFrame:
    """Correct the p-values of a table, and count the blocks that the best of them would need.

    Parameters
    ----------
    table : DataFrame
        With ``p_value``, empty where there is no test, and ``paired``; without that column none is paired.

    Returns
    -------
    DataFrame
        `table` with ``p_adjusted``, ``distinguishable`` and ``blocks_needed``.
    """
    if table.empty:
        return table
    adjusted = pd.Series(holm(table["p_value"].to_numpy(float)), table.index)
    tested = adjusted.notna()
    paired = table["paired"] if "paired" in table else pd.Series(False, table.index)
    needed = {pairing: blocks_needed(max(tested.sum(), 1), pairing) for pairing in (False, True)}
    return table.assign(
        p_adjusted=adjusted,
        distinguishable=adjusted <= DISTINGUISHABLE,
        blocks_needed=paired.map(needed).where(tested),
    )
