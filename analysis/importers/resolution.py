"""Rounding of imported times: to whole seconds, tenths and so on."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.runs.groups import Groups, coded
from analysis.runs.runs import timed_rows
from analysis.statistics import Floats

DIGITS = 12
"""Largest number of decimal places."""
FINEST = 1e-8
"""Smallest rounding step, as a share of the value; smaller steps are full precision."""
EXACT = 1e-12
"""Relative error by which arithmetic may move a value off its step."""
UNLIKELY = 4
"""Smallest number of trailing zeros, over all different times of a case, that shows a coarser rounding.

Chance explains so many zeros in 1 of 10^4 cases."""
_CASE = ("site", "case", "kind")


def decimal_steps(values: ArrayLike) -> Floats:
    """Return the coarsest step of 1, 0.1, 0.01, … that divides each value; 0 at full precision."""
    values = np.asarray(values, float)
    steps = np.zeros(values.shape)
    for digits in range(DIGITS, -1, -1):  # from the finest step to 1, so that the coarsest remains
        step, in_steps = 10.0**-digits, values * 10.0**digits
        is_multiple = np.abs(in_steps - np.rint(in_steps)) <= EXACT * in_steps
        steps[is_multiple & (step >= FINEST * values)] = step
    return steps


def with_resolution(runs: pd.DataFrame) -> pd.DataFrame:
    """Add the column `resolution_seconds`: the step to which the times of a file were rounded.

    The step is the coarsest step of which all times of the file are multiples. A case has a coarser step of
    its own if all times of the case are multiples of it, and chance cannot explain this (`UNLIKELY`). Rows
    that already have a value keep it.

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
    file_step, case_steps = steps.min(), np.minimum.reduceat(steps[cases.order], cases.first)
    different_times = Groups.of(cases.number, coded(timed["seconds"])[0])
    times_per_case = np.bincount(cases.number[different_times.rows])
    # If the step of a case is 10^k times the step of the file, each of its times ends in k zeros more.
    with np.errstate(divide="ignore", invalid="ignore"):
        trailing_zeros = times_per_case * np.log10(case_steps / file_step)
    step_of_row = np.where(trailing_zeros >= UNLIKELY - EXACT, case_steps, file_step)[cases.number]
    return runs.assign(resolution_seconds=pd.Series(step_of_row, timed.index).replace(0, np.nan))
