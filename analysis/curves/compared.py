"""How the times of two points compare: one functional of their log times, with its interval and its test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.curves.outcomes import AT_LEAST, AT_MOST, DEPENDENT, EITHER, STOPPED, WITHIN_ROUNDING
from analysis.curves.points import Sample
from analysis.statistics import Floats
from analysis.statistics.dependence import credible, effective_blocks, spread_about, widening
from analysis.statistics.shift import EQUAL, Shift, paired_shift, unpaired_shift


class Compared(NamedTuple):
    """How two points compare.

    Attributes
    ----------
    blocks : int
        Pairs; of unpaired points, blocks of the one that has fewer.
    shift : Shift
        Of the log times of the first above those of the second.
    dependent : bool
        Whether pairs depend on the ones before them; interval and test are of as many independent ones as
        they are worth.
    note : str or None
        What the estimate is where runs were stopped at their time limit.
    correlation, effective : float
        Lag-one correlation of paired log ratios, and the independent pairs that they are worth; else NaN.
        Of unpaired points: of the point whose imported blocks depend most on earlier blocks, if any do.
    withheld : str or None
        Verdict that stands in the place of a direction: see `analysis.curves.outcomes`.
    """

    blocks: int
    shift: Shift
    dependent: bool = False
    note: str | None = None
    correlation: float = np.nan
    effective: float = np.nan
    withheld: str | None = None


SAME = 1e-9
"""Share of a step by which differences of rounded times differ by arithmetic alone."""

Samples = tuple[Sample, Sample, bool]
"""Of two points, and whether they are paired."""


@dataclass(frozen=True, eq=False, slots=True)
class Contrast:
    """What a row of a table compares, and from how many process counts its own was chosen."""

    samples: Samples
    candidates: int = 1


def compare_points(samples: Sequence[Samples], alphas: Sequence[float]) -> list[Compared]:
    """Compare pairs of points, with intervals that may miss in so much.

    Of fewer than two pairs, or two blocks of either, there is the ratio of the medians alone. No interval is
    narrower than the rounding of the times, and no direction within the rounding is told.
    """
    found = _of_printed_times(samples, alphas)
    return [_rounded(one, *pair[:2]) for one, pair in zip(found, samples, strict=True)]


def _of_printed_times(samples: Sequence[Samples], alphas: Sequence[float]) -> list[Compared]:
    """Compare pairs of points as if their times were not rounded."""
    found: list[Compared] = []
    together: dict[int, list[tuple[int, Floats, Floats]]] = {}
    nothing = alone(np.nan)
    for number, ((first, second, paired), alpha) in enumerate(zip(samples, alphas, strict=True)):
        mine, theirs = _in_common(first, second) if paired else (first, second)
        blocks = min(len(mine.blocks), len(theirs.blocks))
        shift = nothing
        if blocks < 2:
            if len(first.seconds) and len(second.seconds):
                shift = alone(np.log(np.median(first.seconds) / np.median(second.seconds)))
        elif first.stopped or second.stopped:
            found.append(_between(mine, theirs, paired, alpha, blocks))
            continue
        elif paired:
            together.setdefault(blocks, []).append((number, mine.seconds, theirs.seconds))
        else:
            found.append(_unpaired(first, second, alpha, blocks))
            continue
        found.append(Compared(blocks, shift))
    for blocks, some in together.items():
        numbers, *times = zip(*some, strict=True)
        mine, theirs = (np.concatenate(seconds).reshape(-1, blocks) for seconds in times)
        ratios = np.log(mine / theirs)
        correlation, effective, dependent = effective_blocks(ratios)
        shifts = _in_their_order(ratios, np.asarray(alphas)[list(numbers)], effective, dependent)
        columns = (column.tolist() for column in (np.array(shifts).T, dependent, correlation, effective))
        for number, shift, depends, *worth in zip(numbers, *columns, strict=True):
            found[number] = Compared(blocks, Shift._make(shift), depends, None, *worth)
    return found


def _in_their_order(ratios: Floats, alphas: Floats, effective: Floats, dependent: NDArray[np.bool_]) -> Shift:
    """Location of paired log ratios (rows, pairs), widened where dependence on the pair before counts."""
    shifts = paired_shift(ratios, alphas)
    if dependent.any():
        pairs, own, centre = ratios.shape[1], alphas[dependent], shifts.estimate[dependent]

        def widened(level: Floats) -> Shift:
            factor = widening(effective[dependent], pairs, level)
            return paired_shift(spread_about(ratios[dependent], centre, factor), own)

        wider = widened(own)
        at_its_level = widened(np.minimum(wider.p_value, own)).p_value  # far out, Student's t is wider still
        wider = wider._replace(p_value=np.maximum(wider.p_value, at_its_level))
        for all_rows, some in zip(shifts, wider, strict=True):
            all_rows[dependent] = some
    return shifts


def _unpaired(first: Sample, second: Sample, alpha: float, blocks: int) -> Compared:
    """Compare unpaired points, widened if imported times depend on earlier times.

    Dependent times are spread about their median, as paired ratios are about their estimate.
    """
    logs = [np.log(sample.seconds) for sample in (first, second)]
    shift = unpaired_shift(*logs, alpha)
    dependence = [_dependence(sample) for sample in (first, second)]
    if all(np.isnan(correlation) for correlation, _ in dependence):
        return Compared(blocks, shift)

    def widened(level: float) -> Shift:
        wider = [_spread(own, effective, level) for own, (_, effective) in zip(logs, dependence, strict=True)]
        moved = shift.estimate - unpaired_shift(*wider, alpha).estimate
        return unpaired_shift(wider[0] + moved, wider[1], alpha)

    wider = widened(alpha)
    at_its_level = widened(min(wider.p_value, alpha)).p_value  # far out, Student's t is wider still
    wider = wider._replace(estimate=shift.estimate, p_value=max(wider.p_value, at_its_level))
    correlation, effective = max(dependence, key=lambda of_point: np.nan_to_num(of_point[0], nan=-1))
    return Compared(blocks, wider, True, None, correlation, effective)


def _dependence(sample: Sample) -> tuple[float, float]:
    """Lag-one correlation and effective number of imported blocks in known order; NaN if it may be chance."""
    if sample.order_from and sample.ordered:
        correlation, effective, counts = effective_blocks(np.log(sample.seconds))
        if counts:
            return float(correlation), float(effective)
    return np.nan, np.nan


def _spread(logs: Floats, effective: float, alpha: float) -> Floats:
    """Spread log times (blocks,) about their median to the error of so many independent blocks."""
    if np.isnan(effective):
        return logs
    factor = widening(np.array([effective]), len(logs), np.array([alpha]))
    return spread_about(logs[None], np.median(logs)[None], factor)[0]


def _rounded(found: Compared, first: Sample, second: Sample) -> Compared:
    """Widen a comparison to the rounding of its times: half a step on either side of both medians.

    A direction within the rounding is withheld. A comparison without a direction keeps its own verdict.
    """
    if not (first.half_step or second.half_step) or np.isnan(found.shift.estimate):
        return found
    shift, one, other = found.shift, first.rounding, second.rounding
    low = shift.estimate + np.log1p(-one) - np.log1p(other)
    high = shift.estimate + np.log1p(one) - np.log1p(-other)
    low, high = (0.0 if abs(end) < EQUAL else end for end in (low, high))
    wider = shift._replace(low=np.minimum(shift.low, low), high=np.maximum(shift.high, high))
    apart = abs(np.median(first.seconds) - np.median(second.seconds))
    within = low * high <= 0 or apart <= (first.half_step + second.half_step) * (1 + SAME)
    directed = shift.low > 0 or shift.high < 0 or (found.blocks < 2 and abs(shift.estimate) > EQUAL)
    if not (within and directed):
        return found._replace(shift=wider)
    p_value = shift.p_value if np.isnan(shift.p_value) else 1.0
    return found._replace(shift=wider._replace(p_value=p_value), withheld=WITHIN_ROUNDING)


def _between(first: Sample, second: Sample, paired: bool, alpha: float, blocks: int) -> Compared:
    """Bounds of a comparison in which runs were stopped, which took from their limit to infinity.

    Estimate, ends and rank sums rise with each time of the first and fall with each of the second, so that
    the two extremes hold all that there can be: the estimate is the one nearer to 0, ends and p-value are the
    less telling ones. Where the extremes differ in sign there is no estimate, and p is 1. Paired ratios keep
    the signed ranks, since their asymmetry is not known. Where those of the times at least credibly depend on
    the ones before there is the estimate alone: by how much bounds would be wider is not known.
    """
    extremes = []
    for mine, theirs in ((first.seconds, second.at_most), (first.at_most, second.seconds)):
        one, other = np.log(mine), np.log(theirs)
        if paired:
            shifts = paired_shift((one - other)[None], alpha, by_sign=np.zeros(1, bool))
            extremes.append(Shift(*(float(row[0]) for row in shifts)))
        else:
            extremes.append(unpaired_shift(one, other, alpha))
    low, high = extremes
    estimate, p_value, note = np.nan, 1.0, EITHER
    if low.estimate > EQUAL or high.estimate < -EQUAL:
        estimate, note = (low.estimate, AT_LEAST) if low.estimate > 0 else (high.estimate, AT_MOST)
        note = STOPPED if high.estimate - low.estimate < EQUAL else note
        p_value = max(low.p_value, high.p_value)
    ends = (end if np.isfinite(end) else np.nan for end in (low.low, high.high))
    shift = Shift(estimate, *ends, low.coverage, p_value, low.least_p)
    if paired:
        correlation, effective, _ = effective_blocks(np.log(first.seconds / second.seconds))
        dependent = bool(credible(correlation, blocks))
    else:
        found = [(*_dependence(sample), len(sample.blocks)) for sample in (first, second)]
        correlation, effective, number = max(found, key=lambda of_point: np.nan_to_num(of_point[0], nan=-1))
        dependent = bool(credible(correlation, number))
    if dependent:
        shift, note = alone(estimate), f"{note}; {DEPENDENT}"
    return Compared(blocks, shift, dependent, note, float(correlation), float(effective))


def alone(log_ratio: float) -> Shift:
    """An estimate without interval and test."""
    return Shift(log_ratio, *[np.nan] * (len(Shift._fields) - 1))


def one_of_several(coverage: Floats | float, several: Floats | int) -> Floats | float:
    """What an interval covers at least, chosen from several of which each covers so often (Bonferroni)."""
    return 1 - several * (1 - coverage)


def same_machine(*kinds: str) -> bool:
    """Whether results of one or two kinds may have been made side by side."""
    return len({*kinds}) == 1 or {*kinds} == {"measured", "emulated"}


def share_blocks(first: Sample, second: Sample) -> bool:
    """Whether at least half of the smaller sample's blocks are the other's too."""
    common, _ = _in_common(first, second)
    return 2 * len(common.blocks) >= min(len(first.blocks), len(second.blocks))


def took_turns(first: Sample, second: Sample, paired: bool) -> bool | None:
    """Say whether the runs of two points took turns; False if all runs of one point came first.

    Nodeworth runs interconnects in random order, so only imported runs are judged: by their start times, else
    by block numbers, else by the rows of one file. Sorted rows show nothing: somebody may have sorted the
    file after the runs.

    Returns
    -------
    bool or None
        None if nothing shows it. True for points of one run, which no test compares.
    """
    origins = first.order_from, second.order_from
    if paired:
        first, second = _in_common(first, second)
    if not any(origins) or min(len(first.blocks), len(second.blocks)) < 2:
        return True
    if not (np.isnan(first.starts).any() or np.isnan(second.starts).any()):
        return _overlap(first.starts, second.starts)
    basis = origins[0].split(" ")[0]
    if paired or basis not in ("block", "row") or origins[0] != origins[1]:
        return paired or None
    return _overlap(first.blocks, second.blocks) or (None if basis == "row" else False)


def _overlap(first: NDArray, second: NDArray) -> bool | None:
    """Say whether two ranges of values overlap; None if they only share an end."""
    gaps = second.min() - first.max(), first.min() - second.max()
    return False if max(gaps) > 0 else None if max(gaps) == 0 else True


def _in_common(first: Sample, second: Sample) -> tuple[Sample, Sample]:
    """Both samples in their common blocks."""
    _, mine, theirs = np.intersect1d(first.blocks, second.blocks, return_indices=True)
    return first.at(mine), second.at(theirs)


def percent_columns(name: str, shift: Iterable[float]) -> dict[str, float]:
    """Columns of a change in percent, with the ends of its interval."""
    ends = dict(zip(("percent", "low", "high"), shift, strict=False))
    return {f"{name}_{end}": 100 * np.expm1(value) for end, value in ends.items()}


def simultaneous(table: pd.DataFrame, alpha: float) -> dict[str, Floats]:
    """Columns of the same exact intervals, all of which hold at once: m tests, each at 1 - alpha / m.

    One that leaves out 0 is of a test that Holm's correction rejects. A count that was chosen from K counts
    has its interval at 1 - alpha / (m K), of which its test, that chooses anew, knows nothing: where that
    does not reject, the interval is made to hold 0.

    Parameters
    ----------
    table : DataFrame
        With ``tested`` (of `Contrast`), ``p_value``, ``p_adjusted`` and ``least_p``.
    """
    low, high = np.full((2, len(table)), np.nan)
    tests = max(int(table["p_value"].notna().sum()), 1)
    rows = np.flatnonzero((table["p_value"].notna() & (table["least_p"] * tests <= alpha)).to_numpy(bool))
    compared = [table["tested"].iat[row] for row in rows]
    shares = [alpha / tests / one.candidates for one in compared]
    for row, one in zip(rows, compare_points([one.samples for one in compared], shares), strict=True):
        low[row], high[row] = 100 * np.expm1(one.shift.low), 100 * np.expm1(one.shift.high)
    held = table["p_adjusted"].to_numpy(float) > alpha
    low[held], high[held] = np.minimum(low[held], 0), np.maximum(high[held], 0)
    return {"simultaneous_low": low, "simultaneous_high": high}
