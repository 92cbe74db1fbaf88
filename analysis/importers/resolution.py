"""To what step imported times were rounded: whole seconds, tenths and so on."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.runs.groups import Groups, coded
from analysis.runs.runs import timed_rows
from analysis.statistics import Floats

DIGITS = 12
"""Decimal places that are looked at."""
FINEST = 1e-8
"""Share of a value below which a step is no rounding: the value has its full precision."""
EXACT = 1e-12
"""Share of a value by which arithmetic may have moved it off its step."""
UNLIKELY = 4
"""Zeros at the end of a case's different times from which on they are no chance (1 in 10^4)."""
_CASE = ("site", "case", "kind")


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

    A case has a coarser step than its file if all times of the case are multiples of the coarser step, and
    chance is unlikely to give so many. Rows that have a value keep it as their step.

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
    cases = Groups.of(*(coded(timed[name])[0] for name in _CASE))
    of_file, of_case = steps.min(), np.minimum.reduceat(steps[cases.order], cases.first)
    times = Groups.of(cases.number, coded(timed["seconds"])[0])
    different = np.bincount(cases.number[times.rows])
    with np.errstate(divide="ignore", invalid="ignore"):
        zeros = different * np.log10(of_case / of_file)
    finest = np.where(zeros >= UNLIKELY - EXACT, of_case, of_file)[cases.number]
    return runs.assign(resolution_seconds=pd.Series(finest, timed.index).replace(0, np.nan))
