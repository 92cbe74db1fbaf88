"""Comparison of two curves: the improvement of an interconnect over a baseline, with its test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from analysis.curves.best_comparison import compare_best
from analysis.curves.curves import Curve, may_peak
from analysis.curves.outcomes import (
    DEPENDS_ON_COUNT,
    FASTEST_ALONE,
    INSEPARABLE,
    MEDIANS_DISAGREE,
    ONE_NODE,
    UNKNOWN_TURNS,
)
from analysis.curves.point_comparison import (
    Comparison,
    Contrast,
    Samples,
    bonferroni_coverage,
    compare_points,
    estimate_only,
    percent_columns,
    same_machine,
    share_blocks,
    took_turns,
)
from analysis.curves.points import Sample
from analysis.runs.runs import ENDS_OF_COMPUTING, UNKNOWN_ORDER
from analysis.runs.settings import NODES, Settings
from analysis.statistics import Floats, Integers
from analysis.statistics.multiple_tests import SWEEPS, chosen_p
from analysis.statistics.shift import EQUAL, Shift, plainly_asymmetric

NEAR = 1.1
"""Largest ratio of two process counts that are compared if the baseline's peak is not a common count."""
Positions = tuple[int, int]
"""Position of a count in the baseline's curve and in the other curve."""

Pair = tuple[Curve, Curve, str]
"""Baseline, other curve, and the value of column ``kind``."""


def _layout(curve: Curve) -> tuple[int, float | None, int | None]:
    """Return what two curves of a comparison have in common; by nodes their layouts may differ."""
    threads = None if curve.unit == NODES else curve.threads
    return curve.oversubscription, curve.processes_per_node, threads


def pairs(curves: Sequence[Curve], ranked: dict[str, list[str]], settings: Settings) -> Iterator[Pair]:
    """Yield the pairs of curves of one case to compare.

    Within a kind, every baseline is compared with every other interconnect at the same oversubscription,
    placement and threads; by nodes, in the layout of each interconnect. Two kinds are compared only if the
    settings name the pair. Then the baselines of either kind are compared with all interconnects of the
    other kind; without named baselines, the default baseline of the kind named first. If time and
    interconnect cannot be separated at a count, the other curve has no draws, so that quantities derived from
    both curves have no interval.

    Parameters
    ----------
    curves : sequence of Curve
        Curves of one case.
    ranked : dict
        As `analysis.curves.curves.ranking` returns it.
    settings : Settings
    """
    for kind, other_kind, baselines in _kinds_and_baselines(curves, ranked, settings):
        compared_kind = kind if kind == other_kind else f"{kind}/{other_kind}"
        for baseline in (curve for curve in curves if curve.kind == kind and curve.interconnect in baselines):
            for other in curves if baseline.is_compared else ():
                if other.kind == other_kind and other is not baseline and _layout(other) == _layout(baseline):
                    counts = _common_counts(baseline, other)
                    inseparable = any(
                        _turns(baseline, other, compared_kind, positions) is False for positions in counts
                    )
                    yield baseline, other.without_draws() if inseparable else other, compared_kind


def _common_counts(baseline: Curve, other: Curve) -> list[Positions]:
    """Return the positions of the common counts, without one process."""
    theirs = {count: position for position, count in enumerate(other.counts.tolist())}
    return [
        (position, theirs[count])
        for position, count in enumerate(baseline.counts.tolist())
        if baseline.processes[position] > 1 and count in theirs
    ]


def _samples(baseline: Curve, other: Curve, kind: str, positions: Positions) -> Samples:
    """Return the samples of two points; they are paired if they were run side by side."""
    first, second = baseline.samples[positions[0]], other.samples[positions[1]]
    return first, second, same_machine(*kind.split("/")) and share_blocks(first, second)


def _turns(baseline: Curve, other: Curve, kind: str, positions: Positions) -> bool | None:
    """Return whether the runs of two points took turns; True if no test compares them (`took_turns`)."""
    imported = baseline.samples[positions[0]].order_from or other.samples[positions[1]].order_from
    if not imported or "simulated" in kind or not same_machine(*kind.split("/")):
        return True
    return took_turns(*_samples(baseline, other, kind, positions))


def _kinds_and_baselines(
    curves: Sequence[Curve], ranked: dict[str, list[str]], settings: Settings
) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the kind of the baselines, the kind of the other curves, and the baselines."""
    drawn = {(curve.kind, curve.interconnect) for curve in curves}
    present = {kind: [name for name in names if (kind, name) in drawn] for kind, names in ranked.items()}
    baselines = {kind: settings.baselines_among(names) for kind, names in present.items() if names}
    named = {
        kind: [name for name in names if name in settings.baselines] for kind, names in baselines.items()
    }
    for kind, names in baselines.items():
        yield kind, kind, names
    for first, second in settings.compare_kinds:
        if first in baselines and second in baselines and first != second:
            yield first, second, named[first] if named[second] else baselines[first]
            yield second, first, named[second]


def names_of_pair(baseline: Curve, other: Curve, kind: str) -> dict[str, object]:
    """Return the columns that name a baseline and the curve compared with it."""
    others = {"baseline_interconnect": baseline.interconnect, "interconnect": other.interconnect}
    return baseline.names | others | {"kind": kind}


class _Place(NamedTuple):
    """Counts at which a curve is compared with a baseline.

    Attributes
    ----------
    positions : Positions
        Count of the headline.
    up_to : list of Positions
        Common counts above one process up to this count, for the average.
    is_other_peak : bool
        Whether the other curve peaks at this count, instead of the baseline.
    candidates : list of Positions
        All common counts above one process if the count was chosen from them, else empty.
    note : str or None
    """

    positions: Positions
    up_to: list[Positions]
    is_other_peak: bool
    candidates: list[Positions]
    note: str | None


def _place(baseline: Curve, other: Curve) -> _Place | str:
    """Return where to compare two curves, or why they cannot be compared.

    See `_best_place`. Points are not compared if all processes of one of them share a node, so that no
    message crosses its interconnect.
    """
    place = _best_place(baseline, other)
    if isinstance(place, str):
        return place
    points = zip((baseline, other), place.positions, strict=True)
    if unused := [(curve, position) for curve, position in points if not curve.uses[position]]:
        curve, position = unused[0]
        over = f" over {curve.interconnect}" if len(unused) == 1 else ""
        return f"{curve.processes[position]} processes{over} {ONE_NODE}"
    return place


def _best_place(baseline: Curve, other: Curve) -> _Place | str:
    """Return where the baseline is best, or why there is no such place.

    It is the baseline's peak. If the peak is one process, it is the other curve's best common count. If the
    peak is not a common count, it is the nearest pair of counts within `NEAR`, else the nearest common count
    below.
    """
    common = _common_counts(baseline, other)
    peak = int(baseline.counts[baseline.peak])
    if baseline.processes[baseline.peak] == 1:
        if not common:
            return f"{FASTEST_ALONE}, and no other count is common"
        best = max(common, key=lambda positions: other.speedup[positions[1]])
        up_to = [positions for positions in common if positions[0] <= best[0]]
        return _Place(best, up_to, True, common, FASTEST_ALONE)
    up_to = [positions for positions in common if positions[0] <= baseline.peak]
    if up_to and up_to[-1][0] == baseline.peak:
        return _Place(up_to[-1], up_to, False, common, None)
    note = f"the baseline's peak, {peak}, is no common count"
    nearest = int(np.argmin(np.where(other.processes > 1, np.abs(np.log(other.counts / peak)), np.inf)))
    near = int(other.counts[nearest])
    if other.processes[nearest] > 1 and max(near, peak) <= NEAR * min(near, peak):
        return _Place((baseline.peak, nearest), up_to, False, [], f"{note}: compared with {near}")
    if not up_to:
        noun = "node" if baseline.unit == NODES else "process"
        return f"no common {noun} count up to the baseline's peak"
    return _Place(up_to[-1], up_to, False, [], note)


@dataclass(frozen=True, eq=False)
class _PlacedPair:
    """Two curves, and the counts at which they are compared."""

    baseline: Curve
    other: Curve
    kind: str
    place: _Place

    @property
    def counts(self) -> tuple[int, int]:
        """Counts of the baseline and of the other curve."""
        mine, theirs = self.place.positions
        return int(self.baseline.counts[mine]), int(self.other.counts[theirs])

    @property
    def chooser(self) -> Curve:
        """The curve that peaks at the count of the headline."""
        return self.other if self.place.is_other_peak else self.baseline

    @cached_property
    def samples(self) -> Samples:
        """Samples of both points."""
        return _samples(self.baseline, self.other, self.kind, self.place.positions)

    def turns(self, counts: Sequence[Positions]) -> bool | None:
        """Return whether the curves took turns at all given counts; False if they did not at one count."""
        turns = {_turns(self.baseline, self.other, self.kind, positions) for positions in counts}
        return False if False in turns else None if None in turns else True

    @cached_property
    def stopped(self) -> bool:
        """Whether a run of either curve was stopped at its time limit."""
        return any(sample.stopped for curve in (self.baseline, self.other) for sample in curve.samples)

    def best(self, alpha: float) -> dict[str, object]:
        """Make the columns of the comparison in which each curve has its own best count."""
        if self.stopped:
            return {}
        return compare_best(
            self.baseline,
            self.other,
            lambda positions: _samples(self.baseline, self.other, self.kind, positions),
            lambda positions: _turns(self.baseline, self.other, self.kind, positions),
            alpha,
        )

    def averages(self) -> Samples:
        """Return the geometric means over the counts of the average, by sweep."""
        mine, theirs = ([positions[side] for positions in self.place.up_to] for side in (0, 1))
        return _means(self.baseline, mine), _means(self.other, theirs), self.samples[2]

    def mean_log_ratio(self, counts: Sequence[Positions], *ends: str) -> float:
        """Return the mean log ratio of the median times, or of ends of their bands, at some counts."""
        first, second = ends or ("", "")
        logs = [
            _log(self.baseline, mine, first) - _log(self.other, theirs, second) for mine, theirs in counts
        ]
        return float(np.mean(logs)) if logs else np.nan


def _log(curve: Curve, position: int, end: str) -> float:
    """Return the log time at a count, or an end of its band; a measured time may have no band."""
    seconds = curve.table[f"seconds{end}"][position]
    if np.isnan(seconds) and curve.kind != "simulated":
        seconds = curve.table["seconds"][position]
    return float(np.log(seconds))


def _means(curve: Curve, positions: Sequence[int]) -> Sample:
    """Compute the geometric mean of a curve's times at some counts, in the sweeps that have all of them."""
    blocks, logs = curve.sweeps
    means = logs[positions].mean(axis=0) if positions else np.full(len(blocks), np.nan)
    present = ~np.isnan(means)
    samples = [curve.samples[position] for position in positions]
    origins = {sample.order_from for sample in samples} or {""}
    order_from = origins.pop() if len(origins) == 1 else UNKNOWN_ORDER
    pooled = samples[0].pooled if samples else None
    starts = _mean_starts(samples, blocks[present])
    mean = Sample(
        blocks[present], np.exp(means[present]), starts=starts, order_from=order_from, pooled=pooled
    )
    if present.any() and any(sample.half_step for sample in samples):
        lower = np.exp(np.mean([np.log1p(-sample.rounding) for sample in samples]))
        mean = mean._replace(half_step=float(np.median(mean.seconds) * (1 - lower)))
    stopped = [sample.blocks[np.isinf(sample.at_most)] for sample in samples if sample.stopped]
    if not stopped or not (unbounded := np.isin(mean.blocks, np.concatenate(stopped))).any():
        return mean
    return mean._replace(longest=np.where(unbounded, np.inf, mean.seconds))


def _mean_starts(samples: Sequence[Sample], blocks: Integers) -> Floats | None:
    """Return the mean starts (2, blocks) of several points; None if starts are unknown."""
    starts = [
        sample.starts[:, np.searchsorted(sample.blocks, blocks)]
        for sample in samples
        if sample.starts is not None
    ]
    return np.mean(starts, axis=0) if starts and len(starts) == len(samples) else None


def compare(compared: Sequence[Pair], settings: Settings) -> list[dict[str, object]]:
    """Make the rows of the table ``improvement``, one per pair of curves.

    The headline is at one count: see `_best_place`. The average covers the common counts above one process up
    to this count. It is the location of each sweep's mean log ratio, which is a geometric mean. Holm's
    correction, which needs the whole table, follows later.
    """
    places = [_place(baseline, other) for baseline, other, _ in compared]
    placed_pairs = [
        _PlacedPair(*pair, place)
        for pair, place in zip(compared, places, strict=True)
        if not isinstance(place, str)
    ]
    columns = iter(_compared(placed_pairs, 1 - settings.level))
    rows = []
    for pair, place in zip(compared, places, strict=True):
        baseline = pair[0]
        row = names_of_pair(*pair) | {"unit": baseline.unit}
        row |= {"baseline_peak_processes": int(baseline.counts[baseline.peak])}
        row["paired"] = False
        row |= percent_columns("improvement", estimate_only(np.nan))
        row |= dict.fromkeys(("blocks", "p_value", "least_p", "coverage", "tested"), np.nan)
        rows.append(row | ({"note": place} if isinstance(place, str) else next(columns)))
    return rows


def _compared(placed_pairs: Sequence[_PlacedPair], alpha: float) -> list[dict[str, object]]:
    """Make the columns of pairs of curves that are compared at some count."""
    candidates = _candidates(placed_pairs)
    headlines = compare_points(
        [pair.samples for pair in placed_pairs], [alpha / number for number in candidates]
    )
    averages = compare_points([pair.averages() for pair in placed_pairs], [alpha] * len(placed_pairs))
    headlines = [
        _without_test_unless(pair.turns([pair.place.positions]), headline)
        for pair, headline in zip(placed_pairs, headlines, strict=True)
    ]
    averages = [
        _without_test_unless(pair.turns(pair.place.up_to), average)
        for pair, average in zip(placed_pairs, averages, strict=True)
    ]
    p_values = _p_values(placed_pairs, headlines, candidates)
    parts = zip(placed_pairs, headlines, averages, p_values, candidates, strict=True)
    return [_columns(*part, alpha) for part in parts]


def _columns(
    pair: _PlacedPair,
    headline: Comparison,
    average: Comparison,
    tests: dict[str, float],
    candidates: int,
    alpha: float,
) -> dict[str, object]:
    """Make the columns of one pair of curves."""
    at, up_to = [pair.place.positions], pair.place.up_to
    shift, notes = headline.shift, list(filter(None, [pair.place.note, headline.note, headline.withheld]))
    if headline.blocks > 1 and pair.turns(at) is None:
        notes.append(UNKNOWN_TURNS)
    mean = average.shift if average.blocks > 1 else estimate_only(pair.mean_log_ratio(up_to))
    columns: dict[str, object] = {}
    if "simulated" in pair.kind:
        shift, mean = _band(pair, at), _band(pair, up_to)
        columns |= _same_computing("improvement", pair, at) | _same_computing("average", pair, up_to)
    else:
        ratio_of_medians = pair.mean_log_ratio(at)
        if headline.blocks < 2:
            shift = estimate_only(ratio_of_medians)
        elif shift.estimate * ratio_of_medians < -(EQUAL**2):
            notes.append(MEDIANS_DISAGREE)
        columns |= {"paired": pair.samples[2], "blocks": headline.blocks, **tests}
        columns |= {"coverage": bonferroni_coverage(shift.coverage, candidates), "candidates": candidates}
        columns |= {"lag_one_correlation": headline.correlation, "effective_blocks": headline.effective}
        columns |= {"tested": Contrast(pair.samples, candidates), "withheld": headline.withheld}
        notes += _directions_by_count(pair)
        columns |= pair.best(alpha)
    return (
        dict(zip(("at_processes", "at_processes_other"), pair.counts, strict=True))
        | percent_columns("improvement", shift)
        | percent_columns("average", mean)
        | columns
        | {"note": "; ".join(notes) or None}
    )


def _directions_by_count(pair: _PlacedPair) -> list[str]:
    """Return a note if the sign differs among the counts at which the chooser of the count may be best."""
    may_be_best = may_peak(pair.chooser)
    counts: dict[str, list[str]] = {"faster": [], "slower": []}
    for positions in pair.place.candidates:
        ratio = pair.mean_log_ratio([positions])
        if may_be_best[positions[pair.place.is_other_peak]] and abs(ratio) > EQUAL:
            counts["faster" if ratio > 0 else "slower"].append(str(pair.baseline.counts[positions[0]]))
    if not all(counts.values()):
        return []
    clauses = [f"{word} at {', '.join(at)}" for word, at in counts.items()]
    return [f"{DEPENDS_ON_COUNT}: {', '.join(clauses)}"]


def _without_test_unless(turns: bool | None, comparison: Comparison) -> Comparison:
    """Remove interval and test of a comparison if all runs of one interconnect came first."""
    if turns is not False:
        return comparison
    return comparison._replace(shift=estimate_only(comparison.shift.estimate), withheld=INSEPARABLE)


def _band(pair: _PlacedPair, counts: Sequence[Positions]) -> Shift[float]:
    """Return the mean log ratio at some counts, and its range over the bands of simulated times."""
    estimate, low, high = (
        pair.mean_log_ratio(counts, *ends) for ends in (("", ""), ("_low", "_high"), ("_high", "_low"))
    )
    return estimate_only(estimate)._replace(low=low, high=high)


def _same_computing(name: str, pair: _PlacedPair, counts: Sequence[Positions]) -> dict[str, float]:
    """Return the range of a change if computing takes equally long over both interconnects.

    Both curves are replays of one trace. At each count, all computing is at one end of its range, or as
    corrected, and each interconnect is at either end of its model. The ends are NaN if the counts of the two
    curves differ, or if an end is unknown.
    """
    low, high = np.nan, np.nan
    if counts and all(pair.baseline.counts[i] == pair.other.counts[j] for i, j in counts):
        least_low, least_high, most_low, most_high = ENDS_OF_COMPUTING
        least, most = (least_low, least_high), (most_low, most_high)
        ends = ("seconds", "seconds"), least, least[::-1], most, most[::-1]
        mine, theirs = map(list, zip(*counts, strict=True))
        times, other_times = pair.baseline.table, pair.other.table
        logs = np.log([times[end][mine] / other_times[other_end][theirs] for end, other_end in ends])
        low, high = logs.min(axis=0).mean(), logs.max(axis=0).mean()
    return {
        f"{name}_same_computing_{end}": 100 * np.expm1(log) for end, log in (("low", low), ("high", high))
    }


def _candidates(placed_pairs: Sequence[_PlacedPair]) -> list[int]:
    """Count the candidates for each pair's count: the counts at which the chooser may peak.

    If the baseline may peak at one process, the candidates include the counts at which the other curve may
    peak, since these curves would be compared there. All common counts are candidates if the peak is
    uncertain, for example if a run was stopped.
    """
    baselines = {id(pair.baseline): pair.baseline for pair in placed_pairs if not pair.place.is_other_peak}
    baseline_candidates = {number: np.flatnonzero(may_peak(curve)) for number, curve in baselines.items()}
    candidates = []
    for pair in placed_pairs:
        place = pair.place
        common = [positions[place.is_other_peak] for positions in place.candidates or place.up_to]
        if pair.stopped:
            number = 0
        elif place.is_other_peak:
            number = int(may_peak(pair.other.at(common)).sum())
        else:
            peaks = baseline_candidates[id(pair.baseline)]
            parallel = set(peaks[pair.baseline.processes[peaks] > 1].tolist())
            if len(parallel) < len(peaks) and place.candidates:
                others = may_peak(pair.other.at([positions[1] for positions in place.candidates]))
                parallel |= {mine for (mine, _), may in zip(place.candidates, others, strict=True) if may}
            number = len(parallel)
        candidates.append(number or max(len(common), 1))
    return candidates


def _p_values(
    placed_pairs: Sequence[_PlacedPair], headlines: Sequence[Comparison], candidates: Sequence[int]
) -> list[dict[str, float]]:
    """Return the p-value of each pair and the smallest possible p-value; NaN between two different counts.

    For paired curves of at most `SWEEPS` sweeps, every pattern of signs chooses the count again. Otherwise,
    and if the blocks of a candidate depend on earlier blocks, the p-value at the given count is multiplied by
    the number of candidates.
    """
    rows: list[dict[str, float]] = []
    for pair, headline, number in zip(placed_pairs, headlines, candidates, strict=True):
        shift = headline.shift
        if pair.counts[0] != pair.counts[1]:
            shift = estimate_only(shift.estimate)
        row = {name: float(np.minimum(number * getattr(shift, name), 1)) for name in ("p_value", "least_p")}
        may_choose = number > 1 and not (
            headline.dependent or pair.stopped or headline.withheld or np.isnan(shift.p_value)
        )
        if may_choose and (times := _times_to_choose_from(pair)) is not None:
            chooser, other, position = times
            ratios = (other - chooser)[position]
            by_sign = bool(plainly_asymmetric(ratios[None, ~np.isnan(ratios)])[0])
            p_value = chosen_p(chooser, other, by_sign)
            if not np.isnan(p_value):
                row = {"p_value": p_value, "least_p": shift.least_p}
        rows.append(row)
    return rows


def _times_to_choose_from(pair: _PlacedPair) -> tuple[Floats, Floats, int] | None:
    """Return log times (counts, sweeps) of chooser and other curve at the candidates, and the chosen row.

    None if the count was not chosen from common counts, or the curves were not run side by side at each.
    """
    place = pair.place
    if not pair.samples[2] or not place.candidates:
        return None
    (blocks, baseline), (other_blocks, other) = pair.baseline.sweeps, pair.other.sweeps
    mine, theirs = ([positions[side] for positions in place.candidates] for side in (0, 1))
    if not np.array_equal(blocks, other_blocks):
        return None
    baseline, other = baseline[mine], other[theirs]
    present = ~np.isnan(baseline).all(axis=0)
    if present.sum() > SWEEPS or (np.isnan(baseline) != np.isnan(other)).any():
        return None
    chosen = theirs if place.is_other_peak else mine
    work = np.log(pair.chooser.speedup * pair.chooser.table["seconds"])[chosen][:, None]  # in weak scaling
    curves = (other, baseline) if place.is_other_peak else (baseline, other)
    first, second = (logs[:, present] - work for logs in curves)
    return first, second, place.candidates.index(place.positions)


def gain_columns(
    baseline: Curve, i: int, curve: Curve, j: int, paired: bool, settings: Settings
) -> dict[str, object]:
    """Make the columns of the gain of a curve's point j over a baseline's point i.

    Simulated times have no test.
    """
    samples = baseline.samples[i], curve.samples[j], paired
    if curve.kind == "simulated":
        pair = _PlacedPair(baseline, curve, curve.kind, _Place((i, j), [], False, [], None))
        blocks, shift, withheld = None, _band(pair, [(i, j)]), None
    else:
        comparison = compare_points([samples], [1 - settings.level])[0]
        blocks, shift, withheld = comparison.blocks, comparison.shift, comparison.withheld
    return {
        "tested": Contrast(samples),
        "withheld": withheld,
        **curve.names,
        "processes": curve.processes[j],
        "cores": curve.table["cores"][j],
        "nodes": curve.table["nodes"][j] or np.nan,
        "seconds": curve.table["seconds"][j],
        **percent_columns("gain", shift),
        "blocks": blocks,
        "p_value": shift.p_value,
        "least_p": shift.least_p,
        "coverage": shift.coverage,
    }
