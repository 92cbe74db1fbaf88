"""To what step imported times were rounded: whole seconds, tenths and so on."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.runs.groups import Floats, Groups, coded
from analysis.runs.runs import timed_rows

DIGITS = 12
"""Decimal places that are looked at."""
FINEST = 1e-8
"""Share of a value below which a step is no rounding: the value has its full precision."""
EXACT = 1e-12
"""Share of a value by which arithmetic may have moved it off its step."""
UNLIKELY = 4
"""Digits that end in 0 in the times of a curve, from which on that is no chance (one of 10^4)."""
_CURVE = ("site", "case", "interconnect", "kind", "oversubscription", "threads")


def decimal_steps(values: ArrayLike) -> Floats:
    """Find the coarsest of 1, 0.1, 0.01, … that each value is a multiple of; 0 at full precision."""
    values = np.asarray(values, float)
    steps = np.zeros(values.shape)
    for digits in range(DIGITS, -1, -1):
        scaled, step = values * 10.0**digits, 10.0**-digits
        multiple = np.abs(scaled - np.rint(scaled)) <= EXACT * scaled
        steps[multiple & (step >= FINEST * values)] = step
    return steps


def with_resolution(runs: pd.DataFrame) -> pd.DataFrame:
    """Add the column `resolution_seconds`: the step that all times of a file are multiples of.

    A curve has a coarser step than its file where the times of the curve all are multiples of that step, and
    so many are unlikely to be by chance. Rows that have a value bring it as their step.

    Parameters
    ----------
    runs : DataFrame
        A complete runs table of one file.
    """
    timed = timed_rows(runs)
    if timed.empty:
        return runs
    seconds = timed["seconds"].to_numpy(float)
    steps = decimal_steps(seconds)
    if "resolution_seconds" in runs:
        given = timed["resolution_seconds"].to_numpy(float)
        steps = np.where(np.isnan(given), steps, given)
    curves = Groups.of(*(coded(timed[name])[0] for name in _CURVE))
    of_file, of_curve = steps.min(), np.minimum.reduceat(steps[curves.order], curves.first)
    times = Groups.of(curves.number, coded(timed["seconds"])[0])
    different = np.bincount(curves.number[times.rows])
    with np.errstate(divide="ignore", invalid="ignore"):
        zeros = different * np.log10(of_curve / of_file)
    finest = np.where(zeros >= UNLIKELY - EXACT, of_curve, of_file)[curves.number]
    return runs.assign(resolution_seconds=pd.Series(finest, timed.index).replace(0, np.nan))
