"""Comparison of two points: one functional of their log times, with its interval and its test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from analysis.curves.outcomes import (
    AT_LEAST,
    AT_MOST,
    DEPENDENT,
    EITHER,
    ORDER_AND_DRIFT,
    RUNS_DEPEND,
    STOPPED,
    WITHIN_ROUNDING,
)
from analysis.curves.points import Sample
from analysis.runs.settings import DISTINGUISHABLE
from analysis.statistics import Flags, Floats, Integers
from analysis.statistics.dependence import credible, effective_blocks, spread_about, widening
from analysis.statistics.shift import EQUAL, Shift, paired_shift, unpaired_shift


class Comparison(NamedTuple):
    """Result of a comparison of two points.

    Attributes
    ----------
    blocks : int
        Number of pairs. For unpaired points, the smaller number of blocks.
    shift : Shift
        Location of the first point's log times above the second point's.
    dependent : bool
        Whether blocks depend on the blocks before. Interval and test then use the effective number of blocks.
    note : str or None
        Meaning of the estimate if runs were stopped at their time limit.
    correlation, effective : float
        Lag-one correlation and effective number of the paired log ratios. For unpaired points, those of the
        point whose imported blocks depend most on earlier blocks. NaN otherwise.
    withheld : str or None
        Verdict that replaces a direction: see `analysis.curves.outcomes`.
    """

    blocks: int
    shift: Shift[float]
    dependent: bool = False
    note: str | None = None
    correlation: float = np.nan
    effective: float = np.nan
    withheld: str | None = None


ARITHMETIC = 1e-9
"""Share of a rounding step that arithmetic alone can add to a difference of rounded times."""

LEAST_DRIFT = 3
"""Fewest blocks that show a drift."""

Samples = tuple[Sample, Sample, bool]
"""Samples of two points, and whether they are paired."""


@dataclass(frozen=True, eq=False, slots=True)
class Contrast:
    """Samples that a row of a table compares, and the number of candidates for its process count."""

    samples: Samples
    candidates: int = 1


def compare_points(samples: Sequence[Samples], alphas: Sequence[float]) -> list[Comparison]:
    """Compare the two points of each element of `samples`.

    With fewer than two blocks (common blocks if the points are paired), the result is the ratio of the
    medians, without interval and test. No interval is narrower than the rounding of the times. If rounding
    alone could explain that a point is faster, the verdict names no faster point. The same holds for a drift,
    if imported runs of one point always started first in their blocks.

    Parameters
    ----------
    samples : sequence of Samples
        Two points each, and whether they are paired.
    alphas : sequence of float
        Probability with which the interval of each comparison may miss the true ratio.
    """
    exact = _compare_unrounded(samples, alphas)
    return [
        _rounded(_drifted(comparison, *pair), *pair[:2])
        for comparison, pair in zip(exact, samples, strict=True)
    ]


def _compare_unrounded(samples: Sequence[Samples], alphas: Sequence[float]) -> list[Comparison]:
    """Compare pairs of points as if their times were not rounded.

    Paired points with equally many blocks are compared together, as rows of one array.
    """
    comparisons: list[Comparison] = []
    paired_by_blocks: dict[int, list[tuple[int, Floats, Floats]]] = {}
    for number, ((first, second, paired), alpha) in enumerate(zip(samples, alphas, strict=True)):
        mine, theirs = _common_blocks(first, second) if paired else (first, second)
        blocks = min(len(mine.blocks), len(theirs.blocks))
        shift = estimate_only(np.nan)
        if blocks < 2:
            if len(first.seconds) and len(second.seconds):
                shift = estimate_only(np.log(np.median(first.seconds) / np.median(second.seconds)))
        elif first.stopped or second.stopped:
            comparisons.append(_bounds(mine, theirs, paired, alpha, blocks))
            continue
        elif paired:
            paired_by_blocks.setdefault(blocks, []).append((number, mine.seconds, theirs.seconds))
        else:
            comparisons.append(_unpaired(first, second, alpha, blocks))
            continue
        comparisons.append(Comparison(blocks, shift))
    for blocks, members in paired_by_blocks.items():
        numbers = [number for number, *_ in members]
        ratios = np.log(np.stack([mine for _, mine, _ in members]) / [theirs for *_, theirs in members])
        correlation, effective, dependent = effective_blocks(ratios)
        shifts = _paired(ratios, np.asarray(alphas)[numbers], effective, dependent)
        columns = (column.tolist() for column in (np.array(shifts).T, dependent, correlation, effective))
        for number, fields, depends, *dependence in zip(numbers, *columns, strict=True):
            comparisons[number] = Comparison(blocks, Shift._make(fields), depends, None, *dependence)
    return comparisons


def _paired(ratios: Floats, alphas: Floats, effective: Floats, dependent: Flags) -> Shift[Floats]:
    """Estimate the location of paired log ratios (rows, pairs), with dependent rows widened."""
    shifts = paired_shift(ratios, alphas)
    if dependent.any():
        pairs, own_alphas, centre = ratios.shape[1], alphas[dependent], shifts.estimate[dependent]

        def widened(level: Floats) -> Shift[Floats]:
            factor = widening(effective[dependent], pairs, level)
            return paired_shift(spread_about(ratios[dependent], centre, factor), own_alphas)

        wider = widened(own_alphas)
        # Student's t widens more at a smaller level, so the p-value is checked at its own level.
        at_own_level = widened(np.minimum(wider.p_value, own_alphas)).p_value
        wider = wider._replace(p_value=np.maximum(wider.p_value, at_own_level))
        for all_rows, dependent_rows in zip(shifts, wider, strict=True):
            all_rows[dependent] = dependent_rows
    return shifts


def _unpaired(first: Sample, second: Sample, alpha: float, blocks: int) -> Comparison:
    """Compare unpaired points, widened if imported times depend on earlier times.

    Dependent times are spread about their median, as paired ratios are about their estimate. A direction is
    withheld if either point has too few runs to show how much they depend on each other.
    """
    logs = np.log(first.seconds), np.log(second.seconds)
    shift = unpaired_shift(*logs, alpha)
    dependence = [_dependence(sample) for sample in (first, second)]
    if all(np.isnan(correlation) for correlation, _ in dependence):
        return Comparison(blocks, shift)

    def widened(level: float) -> Shift[float]:
        mine, theirs = (
            _spread(log, effective, level) for log, (_, effective) in zip(logs, dependence, strict=True)
        )
        moved = shift.estimate - unpaired_shift(mine, theirs, alpha).estimate
        return unpaired_shift(mine + moved, theirs, alpha)

    wider = widened(alpha)
    # Student's t widens more at a smaller level, so the p-value is checked at its own level.
    at_own_level = widened(min(wider.p_value, alpha)).p_value
    wider = wider._replace(estimate=shift.estimate, p_value=max(wider.p_value, at_own_level))
    correlation, effective = max(dependence, key=_by_correlation)
    if not depend_too_much(first, second, paired=False) or not (wider.low > 0 or wider.high < 0):
        return Comparison(blocks, wider, True, None, correlation, effective)
    return Comparison(blocks, wider._replace(p_value=1.0), True, None, correlation, effective, RUNS_DEPEND)


def depend_too_much(first: Sample, second: Sample, paired: bool) -> bool:
    """Return whether unpaired runs depend on each other, and are too few to show how much."""
    return not paired and (first.forbids_verdict or second.forbids_verdict)


def _dependence(sample: Sample) -> tuple[float, float]:
    """Return lag-one correlation and effective number of imported blocks in known order.

    The sample may have a pooled correlation instead of its own. Both are NaN if the correlation may be
    chance.
    """
    if sample.pooled:
        if sample.pooled.counts:
            return sample.pooled.correlation, sample.pooled.effective(len(sample.blocks))
    elif sample.order_from and sample.ordered:
        correlation, effective, counts = effective_blocks(np.log(sample.seconds))
        if counts:
            return float(correlation), float(effective)
    return np.nan, np.nan


def _by_correlation(dependence: tuple[float, ...]) -> float:
    """Sort key: the correlation, with NaN last."""
    return float(np.nan_to_num(dependence[0], nan=-1))


def _spread(logs: Floats, effective: float, alpha: float) -> Floats:
    """Spread log times (blocks,) about their median to the error of the effective number of blocks."""
    if np.isnan(effective):
        return logs
    factor = widening(np.array([effective]), len(logs), np.array([alpha]))
    return spread_about(logs[None], np.array([np.median(logs)]), factor)[0]


def _drifted(comparison: Comparison, first: Sample, second: Sample, paired: bool) -> Comparison:
    """Widen a comparison of imported blocks by the drift between its two points.

    If the runs of one point always started first, a drift makes the other point slower or faster. The drift
    between the points is the slope of the log times against their starts, times the median delay. A direction
    that the drift may explain is withheld.
    """
    shift = comparison.shift
    if not (paired and first.order_from and second.order_from) or np.isnan(shift.low + shift.high):
        return comparison
    first, second = _common_blocks(first, second)
    starts = [sample.starts.mean(axis=0) for sample in (first, second) if sample.starts is not None]
    if len(starts) < 2 or np.isnan(starts).any():
        return comparison
    delays = starts[1] - starts[0]
    if len(delays) < LEAST_DRIFT or abs(np.sign(delays).sum()) < len(delays):
        return comparison
    if not all(map(np.ptp, starts)):  # dates without times of day show no drift
        return comparison
    slopes = [
        stats.theilslopes(np.log(sample.seconds), start)[0]
        for sample, start in zip((first, second), starts, strict=True)
    ]
    drift = float(np.mean(slopes) * np.median(delays))
    wider = shift._replace(low=min(shift.low, shift.low + drift), high=max(shift.high, shift.high + drift))
    if not (shift.low > 0 or shift.high < 0) or wider.low * wider.high > 0:
        return comparison._replace(shift=wider)
    return comparison._replace(shift=wider._replace(p_value=1.0), withheld=ORDER_AND_DRIFT)


def _rounded(comparison: Comparison, first: Sample, second: Sample) -> Comparison:
    """Widen a comparison to the rounding of its times: half a step on either side of both medians.

    A direction within the rounding is withheld. A comparison without a direction keeps its own verdict.
    """
    shift = comparison.shift
    if not (first.half_step or second.half_step) or np.isnan(shift.estimate):
        return comparison
    low = shift.estimate + np.log1p(-first.rounding) - np.log1p(second.rounding)
    high = shift.estimate + np.log1p(first.rounding) - np.log1p(-second.rounding)
    low, high = (0.0 if abs(end) < EQUAL else end for end in (low, high))
    wider = shift._replace(low=np.minimum(shift.low, low), high=np.maximum(shift.high, high))
    difference = abs(np.median(first.seconds) - np.median(second.seconds))
    within = low * high <= 0 or difference <= (first.half_step + second.half_step) * (1 + ARITHMETIC)
    directed = shift.low > 0 or shift.high < 0 or (comparison.blocks < 2 and abs(shift.estimate) > EQUAL)
    if not (within and directed):
        return comparison._replace(shift=wider)
    p_value = shift.p_value if np.isnan(shift.p_value) else 1.0
    return comparison._replace(shift=wider._replace(p_value=p_value), withheld=WITHIN_ROUNDING)


def _bounds(first: Sample, second: Sample, paired: bool, alpha: float, blocks: int) -> Comparison:
    """Compare points with stopped runs, whose times lie between their limit and infinity.

    Estimate, ends and rank sums rise with each time of the first point and fall with each time of the second.
    So two extreme assignments of times enclose all others. The estimate is the extreme nearer to 0. The ends
    and the p-value are the weaker of the two. If the extremes differ in sign, there is no estimate and p is
    1. Paired ratios keep the signed ranks, since their asymmetry is unknown. If the smallest possible times
    credibly depend on the times before, the result is the estimate alone, since the needed widening is
    unknown.
    """
    extremes: list[Shift[float]] = []
    for mine, theirs in ((first.seconds, second.at_most), (first.at_most, second.seconds)):
        mine_log, theirs_log = np.log(mine), np.log(theirs)
        if paired:
            shifts = paired_shift((mine_log - theirs_log)[None], alpha, by_sign=np.zeros(1, bool))
            extremes.append(Shift(*(float(row[0]) for row in shifts)))
        else:
            extremes.append(unpaired_shift(mine_log, theirs_log, alpha))
    low, high = extremes
    estimate, p_value, note = np.nan, 1.0, EITHER
    if low.estimate > EQUAL or high.estimate < -EQUAL:
        estimate, note = (low.estimate, AT_LEAST) if low.estimate > 0 else (high.estimate, AT_MOST)
        note = STOPPED if high.estimate - low.estimate < EQUAL else note
        p_value = max(low.p_value, high.p_value)
    low_end, high_end = (end if np.isfinite(end) else np.nan for end in (low.low, high.high))
    shift = Shift(estimate, low_end, high_end, low.coverage, p_value, low.least_p)
    if paired:
        paired_correlation, paired_effective, _ = effective_blocks(np.log(first.seconds / second.seconds))
        correlation, effective, number = float(paired_correlation), float(paired_effective), blocks
    else:
        dependence = [(*_dependence(sample), len(sample.blocks)) for sample in (first, second)]
        correlation, effective, number = max(dependence, key=_by_correlation)
    dependent = bool(credible(correlation, number))
    if dependent:
        shift, note = estimate_only(estimate), f"{note}; {DEPENDENT}"
    return Comparison(blocks, shift, dependent, note, correlation, effective)


def estimate_only(log_ratio: float) -> Shift[float]:
    """Return an estimate without interval and test."""
    return Shift(log_ratio, *[np.nan] * (len(Shift._fields) - 1))


def bonferroni_coverage(coverage: float, candidates: int) -> float:
    """Return the coverage of an interval that was chosen from several candidates (Bonferroni)."""
    return float(np.maximum(1 - candidates * (1 - coverage), 0))


def same_machine(*kinds: str) -> bool:
    """Return whether results of one or two kinds may have been run side by side on one machine."""
    return len({*kinds}) == 1 or {*kinds} == {"measured", "emulated"}


def share_blocks(first: Sample, second: Sample) -> bool:
    """Return whether at least half of the smaller sample's blocks belong to both samples."""
    common, _ = _common_blocks(first, second)
    return 2 * len(common.blocks) >= min(len(first.blocks), len(second.blocks))


def took_turns(first: Sample, second: Sample, paired: bool) -> bool | None:
    """Return whether the runs of two points took turns; False if all runs of one point came first.

    Nodeworth runs interconnects in random order, so only imported runs are judged. The evidence is start
    times, else block numbers, else the rows of one file. Sorted rows are no evidence, since somebody may have
    sorted the file after the runs.

    Returns
    -------
    bool or None
        None if there is no evidence. True for points with fewer than two blocks, which no test compares.
    """
    origins = first.order_from, second.order_from
    if paired:
        first, second = _common_blocks(first, second)
    if not any(origins) or min(len(first.blocks), len(second.blocks)) < 2:
        return True
    mine, theirs = first.starts, second.starts
    if mine is not None and theirs is not None and not np.isnan(np.hstack([mine, theirs])).any():
        return _overlap(mine, theirs)
    basis = origins[0].split(" ")[0]
    if paired or basis not in ("block", "row") or origins[0] != origins[1]:
        return paired or None
    return _overlap(first.blocks, second.blocks) or (None if basis == "row" else False)


def _overlap(first: Floats | Integers, second: Floats | Integers) -> bool | None:
    """Return whether two ranges of values overlap; None if they only share an end."""
    gaps = second.min() - first.max(), first.min() - second.max()
    return False if max(gaps) > 0 else None if max(gaps) == 0 else True


def _common_blocks(first: Sample, second: Sample) -> tuple[Sample, Sample]:
    """Restrict both samples to their common blocks."""
    _, mine, theirs = np.intersect1d(first.blocks, second.blocks, return_indices=True)
    return first.at(mine), second.at(theirs)


def percent_columns(name: str, shift: Iterable[float]) -> dict[str, float]:
    """Return ``<name>_percent``, ``<name>_low`` and ``<name>_high`` of a change."""
    ends = dict(zip(("percent", "low", "high"), shift, strict=False))
    return {f"{name}_{end}": 100 * np.expm1(value) for end, value in ends.items()}


def simultaneous(table: pd.DataFrame, factors: Sequence[int] = ()) -> dict[str, Floats]:
    """Compute intervals that all hold at the same time: with m tests, each at 1 - alpha / m.

    An interval that excludes 0 belongs to a test that Holm's correction rejects. If the count was chosen from
    K counts, the interval is at 1 - alpha / (m K). Its test, which chooses again in every pattern, may still
    not reject; then the interval is extended to 0.

    Parameters
    ----------
    table : DataFrame
        With ``tested`` (a `Contrast`), ``p_value``, ``p_adjusted`` and ``least_p``.
    factors : sequence of int
        See `analysis.curves.outcomes.corrected`. Alpha is 0.05 divided by the factor of the row.

    Returns
    -------
    dict of arrays (rows,)
        ``simultaneous_low`` and ``simultaneous_high`` in percent; NaN for rows without a test.
    """
    low, high = np.full((2, len(table)), np.nan)
    tests = max(int(table["p_value"].notna().sum()), 1)
    alphas_of_rows = DISTINGUISHABLE / tests / np.asarray(factors or [1] * len(table))
    testable = (table["p_value"].notna() & (table["least_p"] <= alphas_of_rows)).to_numpy(bool)
    rows, contrasts = np.flatnonzero(testable), table["tested"][testable].tolist()
    alphas = [
        alpha / contrast.candidates for alpha, contrast in zip(alphas_of_rows[rows], contrasts, strict=True)
    ]
    comparisons = compare_points([contrast.samples for contrast in contrasts], alphas)
    for row, comparison in zip(rows, comparisons, strict=True):
        low[row] = 100 * np.expm1(comparison.shift.low)
        high[row] = 100 * np.expm1(comparison.shift.high)
    not_rejected = table["p_adjusted"].to_numpy(float) > DISTINGUISHABLE
    low[not_rejected] = np.minimum(low[not_rejected], 0)
    high[not_rejected] = np.maximum(high[not_rejected], 0)
    return {"simultaneous_low": low, "simultaneous_high": high}
