"""What an interconnect brings over a baseline, and whether the two can be told apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from analysis.curves.compared import (
    Compared,
    Contrast,
    Samples,
    alone,
    compare_points,
    one_of_several,
    percent_columns,
    same_machine,
    share_blocks,
    took_turns,
)
from analysis.curves.curves import Curve, may_peak
from analysis.curves.outcomes import INSEPARABLE, MEDIANS_DISAGREE, ONE_NODE, UNKNOWN_TURNS
from analysis.curves.points import Sample
from analysis.runs.runs import ENDS_OF_COMPUTING, UNKNOWN_ORDER
from analysis.runs.settings import Settings
from analysis.statistics import Floats
from analysis.statistics.multiple_tests import SWEEPS, chosen_p
from analysis.statistics.shift import EQUAL, Shift, plainly_asymmetric

NEAR = 1.1
"""Ratio up to which two process counts are compared where the baseline's peak is no common one."""
Positions = tuple[int, int]
"""Of a count in the baseline's curve and in the other's."""

Pair = tuple[Curve, Curve, str]
"""Two curves to compare: baseline, other, and what `kind` reads."""

_placed = attrgetter("oversubscription", "processes_per_node", "threads")


def pairs(curves: Sequence[Curve], ranked: dict[str, list[str]], settings: Settings) -> Iterator[Pair]:
    """Pairs of curves of one case to compare.

    Within a kind, every baseline with every other interconnect at the same oversubscription, placement and
    threads. Between two kinds only where the settings name the pair: the baselines of either kind
    with all interconnects of the other; without any, the default baseline of the kind named first. If time
    and interconnect cannot be separated at a count, the other curve has no draws, so that nothing that
    follows from both curves has an interval.
    """
    for kind, other_kind, baselines in _wanted(curves, ranked, settings):
        compared_kind = kind if kind == other_kind else f"{kind}/{other_kind}"
        for baseline in (curve for curve in curves if curve.kind == kind and curve.interconnect in baselines):
            for other in curves:
                if other.kind == other_kind and other is not baseline and _placed(other) == _placed(baseline):
                    counts = _common(baseline, other)
                    apart = any(_turns(baseline, other, compared_kind, at) is False for at in counts)
                    yield baseline, other.without_draws() if apart else other, compared_kind


def _common(baseline: Curve, other: Curve) -> list[Positions]:
    """Positions of the common counts above one process."""
    theirs = {count: position for position, count in enumerate(other.processes.tolist())}
    return [
        (position, theirs[count])
        for position, count in enumerate(baseline.processes.tolist())
        if count > 1 and count in theirs
    ]


def _samples(baseline: Curve, other: Curve, kind: str, at: Positions) -> Samples:
    """Samples of a point of either curve, paired where both may have been run side by side and were."""
    first, second = baseline.samples[at[0]], other.samples[at[1]]
    return first, second, same_machine(*kind.split("/")) and share_blocks(first, second)


def _turns(baseline: Curve, other: Curve, kind: str, at: Positions) -> bool | None:
    """Say whether the runs of two points took turns (`took_turns`); True if no test compares the points."""
    imported = baseline.samples[at[0]].order_from or other.samples[at[1]].order_from
    if not imported or "simulated" in kind or not same_machine(*kind.split("/")):
        return True
    return took_turns(*_samples(baseline, other, kind, at))


def _wanted(
    curves: Sequence[Curve], ranked: dict[str, list[str]], settings: Settings
) -> Iterator[tuple[str, str, list[str]]]:
    """Kind of the baselines, kind of the curves compared with them, and the baselines."""
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
    """Columns that name a baseline and what is compared with it."""
    others = {"baseline_interconnect": baseline.interconnect, "interconnect": other.interconnect}
    return baseline.names | others | {"kind": kind}


class _Place(NamedTuple):
    """Where a curve is compared with a baseline.

    Attributes
    ----------
    at : Positions
    up_to : list of Positions
        Common counts above one process up to it, over which the average goes.
    of_other : bool
        Whether it is where the other curve peaks, instead of the baseline.
    among : list of Positions
        All common counts above one process, if it is the best of these; else none.
    note : str or None
    """

    at: Positions
    up_to: list[Positions]
    of_other: bool
    among: list[Positions]
    note: str | None


def _place(baseline: Curve, other: Curve) -> _Place | str:
    """Where to compare two curves, or why they cannot be.

    See `_best_place`. Points are not compared where one of them does not use its interconnect.
    """
    place = _best_place(baseline, other)
    if isinstance(place, str):
        return place
    points = zip((baseline, other), place.at, strict=True)
    if unused := [(curve, at) for curve, at in points if not curve.uses[at]]:
        curve, at = unused[0]
        over = f" over {curve.interconnect}" if len(unused) == 1 else ""
        return f"{curve.processes[at]} processes{over} {ONE_NODE}"
    return place


def _best_place(baseline: Curve, other: Curve) -> _Place | str:
    """Where the baseline is best, or why there is no such place.

    At the baseline's peak. Where that is one process, at the best common count of the other on several. Where
    it is no common count, at the nearest pair of counts within `NEAR`; else at the nearest common one below.
    """
    common = _common(baseline, other)
    peak = int(baseline.processes[baseline.peak])
    if peak == 1:
        if not common:
            return "the baseline is fastest on one process, and no other count is common"
        at = max(common, key=lambda pair: other.speedup[pair[1]])
        up_to = [pair for pair in common if pair[0] <= at[0]]
        return _Place(at, up_to, True, common, "the baseline is fastest on one process")
    up_to = [pair for pair in common if pair[0] <= baseline.peak]
    if up_to and up_to[-1][0] == baseline.peak:
        return _Place(up_to[-1], up_to, False, common, None)
    note = f"the baseline's peak, {peak}, is no common count"
    nearest = int(np.argmin(np.where(other.processes > 1, np.abs(np.log(other.processes / peak)), np.inf)))
    near = int(other.processes[nearest])
    if near > 1 and max(near, peak) <= NEAR * min(near, peak):
        return _Place((baseline.peak, nearest), up_to, False, [], f"{note}: compared with {near}")
    if not up_to:
        return "no common process count up to the baseline's peak"
    return _Place(up_to[-1], up_to, False, [], note)


@dataclass(frozen=True, eq=False)
class _Placed:
    """Two curves, and where they are compared."""

    baseline: Curve
    other: Curve
    kind: str
    place: _Place

    @property
    def counts(self) -> tuple[int, int]:
        """Processes of the baseline and of the other."""
        mine, theirs = self.place.at
        return int(self.baseline.processes[mine]), int(self.other.processes[theirs])

    @property
    def chooser(self) -> Curve:
        """The curve whose peak it is."""
        return self.other if self.place.of_other else self.baseline

    @cached_property
    def samples(self) -> Samples:
        """Of both points."""
        return _samples(self.baseline, self.other, self.kind, self.place.at)

    def turns(self, counts: Sequence[Positions]) -> bool | None:
        """Say whether the two took turns at all of some counts: False if they did not at one count."""
        found = {_turns(self.baseline, self.other, self.kind, at) for at in counts}
        return False if False in found else None if None in found else True

    @cached_property
    def stopped(self) -> bool:
        """Whether a run of either curve was stopped at its time limit."""
        return any(sample.stopped for curve in (self.baseline, self.other) for sample in curve.samples)

    def averages(self) -> Samples:
        """Geometric means over the counts of the average, by sweep."""
        mine, theirs = ([pair[side] for pair in self.place.up_to] for side in (0, 1))
        return _means(self.baseline, mine), _means(self.other, theirs), self.samples[2]

    def of_medians(self, counts: Sequence[Positions], *ends: str) -> float:
        """Mean log ratio of the times at some counts, or of given ends of them."""
        first, second = ends or ("", "")
        logs = [
            _log(self.baseline, mine, first) - _log(self.other, theirs, second) for mine, theirs in counts
        ]
        return float(np.mean(logs)) if logs else np.nan


def _log(curve: Curve, position: int, end: str) -> float:
    """Log time at a count, or an end of its band; of a measured time without an interval, the time itself."""
    seconds = curve.table[f"seconds{end}"][position]
    if np.isnan(seconds) and curve.kind != "simulated":
        seconds = curve.table["seconds"][position]
    return float(np.log(seconds))


def _means(curve: Curve, positions: Sequence[int]) -> Sample:
    """Geometric mean of a curve's times at some counts, in the sweeps that have them all."""
    blocks, logs = curve.sweeps
    means = logs[positions].mean(axis=0) if positions else np.full(len(blocks), np.nan)
    there = ~np.isnan(means)
    samples = [curve.samples[position] for position in positions]
    origins = {sample.order_from for sample in samples} or {""}
    order_from = origins.pop() if len(origins) == 1 else UNKNOWN_ORDER
    found = Sample(blocks[there], np.exp(means[there]), order_from=order_from)
    if there.any() and any(sample.half_step for sample in samples):
        lower = np.exp(np.mean([np.log1p(-sample.rounding) for sample in samples]))
        found = found._replace(half_step=float(np.median(found.seconds) * (1 - lower)))
    stopped = [sample.blocks[np.isinf(sample.at_most)] for sample in samples if sample.stopped]
    if not stopped or not (beyond := np.isin(found.blocks, np.concatenate(stopped))).any():
        return found
    return found._replace(longest=np.where(beyond, np.inf, found.seconds))


def compare(compared: Sequence[Pair], settings: Settings) -> list[dict[str, object]]:
    """Rows of the improvement table, one a pair of curves.

    The headline is at one count, see `_place`; the average over the common counts above one process up to
    there is the location of each sweep's mean log ratio, which is a geometric mean. What needs the whole
    table (Holm's correction) is left out.
    """
    places = [_place(baseline, other) for baseline, other, _ in compared]
    found = [
        _Placed(*pair, place) for pair, place in zip(compared, places, strict=True) if type(place) is _Place
    ]
    columns = iter(_compared(found, 1 - settings.level))
    tests, rows = ("blocks", "p_value", "least_p", "coverage", "tested"), []
    for pair, place in zip(compared, places, strict=True):
        baseline = pair[0]
        row = names_of_pair(*pair) | {"baseline_peak_processes": int(baseline.processes[baseline.peak])}
        row["paired"] = False
        nothing = percent_columns("improvement", alone(np.nan)) | dict.fromkeys(tests, np.nan)
        rows.append(row | nothing | ({"note": place} if isinstance(place, str) else next(columns)))
    return rows


def _compared(found: Sequence[_Placed], alpha: float) -> list[dict[str, object]]:
    """Columns of the rows of pairs of curves that are compared somewhere."""
    candidates = _candidates(found)
    at = compare_points([one.samples for one in found], [alpha / several for several in candidates])
    averages = compare_points([one.averages() for one in found], [alpha] * len(found))
    at = [_of_turns(here, one.turns([one.place.at])) for here, one in zip(at, found, strict=True)]
    averages = [
        _of_turns(mean, one.turns(one.place.up_to)) for mean, one in zip(averages, found, strict=True)
    ]
    p_values = _p_values(found, at, candidates)
    rows = []
    for one, here, average, tests, several in zip(found, at, averages, p_values, candidates, strict=True):
        shift, notes = here.shift, list(filter(None, [one.place.note, here.note, here.withheld]))
        if here.blocks > 1 and one.turns([one.place.at]) is None:
            notes.append(UNKNOWN_TURNS)
        mean = average.shift if average.blocks > 1 else alone(one.of_medians(one.place.up_to))
        here_by_medians = one.of_medians([one.place.at])
        of_band: dict[str, float] = {}
        if "simulated" in one.kind:
            shift, mean = (_band(one, counts) for counts in ([one.place.at], one.place.up_to))
            of_band = _same_computing("improvement", one, [one.place.at])
            of_band |= _same_computing("average", one, one.place.up_to)
            tests = {}
        elif here.blocks < 2:
            shift = alone(here_by_medians)
        elif shift.estimate * here_by_medians < -(EQUAL**2):
            notes.append(MEDIANS_DISAGREE)
        columns = {"paired": one.samples[2], "blocks": here.blocks} | tests
        columns |= {"coverage": one_of_several(shift.coverage, several), "candidates": several}
        columns |= {"lag_one_correlation": here.correlation, "effective_blocks": here.effective}
        columns |= {"tested": Contrast(one.samples, several), "withheld": here.withheld}
        rows.append(
            dict(zip(("at_processes", "at_processes_other"), one.counts, strict=True))
            | percent_columns("improvement", shift)
            | percent_columns("average", mean)
            | (of_band or columns)
            | {"note": "; ".join(notes) or None}
        )
    return rows


def _of_turns(found: Compared, turns: bool | None) -> Compared:
    """Drop the interval and the test of a comparison if all runs of one interconnect came first."""
    if turns is not False:
        return found
    return found._replace(shift=alone(found.shift.estimate), withheld=INSEPARABLE)


def _band(one: _Placed, counts: Sequence[Positions]) -> Shift:
    """From the least mean log ratio that the bands of simulated times hold to the largest."""
    ends = [one.of_medians(counts, *pair) for pair in (("", ""), ("_low", "_high"), ("_high", "_low"))]
    return Shift(*ends, *[np.nan] * (len(Shift._fields) - len(ends)))


def _same_computing(name: str, one: _Placed, counts: Sequence[Positions]) -> dict[str, float]:
    """Columns of what the bands hold where computing takes as long over both: they are replays of one trace.

    At each count all computing is at one end of its range, or as corrected, and each interconnect at either
    end of its model. Empty where the counts differ or an end is not known.
    """
    low, high = np.nan, np.nan
    if counts and all(one.baseline.processes[i] == one.other.processes[j] for i, j in counts):
        least_low, least_high, most_low, most_high = ENDS_OF_COMPUTING
        least, most = (least_low, least_high), (most_low, most_high)
        ends = ("seconds", "seconds"), least, least[::-1], most, most[::-1]
        mine, theirs = map(list, zip(*counts, strict=True))
        times, others = one.baseline.table, one.other.table
        logs = np.log([times[end][mine] / others[of_other][theirs] for end, of_other in ends])
        low, high = logs.min(axis=0).mean(), logs.max(axis=0).mean()
    return {
        f"{name}_same_computing_{end}": 100 * np.expm1(log) for end, log in (("low", low), ("high", high))
    }


def _candidates(found: Sequence[_Placed]) -> list[int]:
    """From how many counts each one's count was chosen: those that may be where the chooser peaks.

    All common ones, where that is not known, as where a run was stopped.
    """
    baselines = {id(one.baseline): one.baseline for one in found if not one.place.of_other}
    peaks = {number: int(may_peak(curve).sum()) for number, curve in baselines.items()}
    several = []
    for one in found:
        common = [pair[one.place.of_other] for pair in one.place.among or one.place.up_to]
        if one.stopped:
            number = 0
        elif one.place.of_other:
            number = int(may_peak(one.other.at(common)).sum())
        else:
            number = peaks[id(one.baseline)]
        several.append(number or max(len(common), 1))
    return several


def _p_values(
    found: Sequence[_Placed], compared: Sequence[Compared], candidates: Sequence[int]
) -> list[dict[str, float]]:
    """p-value of each row, and the least that its blocks can give; none between two counts.

    Paired, over `SWEEPS` sweeps at most, the count is chosen anew in every pattern of signs; else, and where
    the blocks of some candidate depend on the ones before, the p-value at the given count counts once for
    every candidate.
    """
    rows: list[dict[str, float]] = []
    for one, here, several in zip(found, compared, candidates, strict=True):
        shift = here.shift
        if one.counts[0] != one.counts[1]:
            shift = alone(shift.estimate)
        row = {name: float(np.minimum(several * getattr(shift, name), 1)) for name in ("p_value", "least_p")}
        plain = several > 1 and not (
            here.dependent or one.stopped or here.withheld or np.isnan(shift.p_value)
        )
        if plain and (times := _chosen_from(one)) is not None:
            chooser, other, position = times
            ratios = (other - chooser)[position]
            by_sign = bool(plainly_asymmetric(ratios[None, ~np.isnan(ratios)])[0])
            p_value = chosen_p(chooser, other, by_sign)
            if not np.isnan(p_value):
                row = {"p_value": p_value, "least_p": shift.least_p}
        rows.append(row)
    return rows


def _chosen_from(one: _Placed) -> tuple[Floats, Floats, int] | None:
    """Log times (counts, sweeps) of chooser and other at the counts to choose from, and which it was.

    None where it was not chosen from common counts alone, or a count was not run side by side throughout.
    """
    if not one.samples[2] or not one.place.among:
        return None
    (blocks, baseline), (others, other) = one.baseline.sweeps, one.other.sweeps
    mine, theirs = ([pair[side] for pair in one.place.among] for side in (0, 1))
    if not np.array_equal(blocks, others):
        return None
    baseline, other = baseline[mine], other[theirs]
    there = ~np.isnan(baseline).all(axis=0)
    if there.sum() > SWEEPS or (np.isnan(baseline) != np.isnan(other)).any():
        return None
    chosen = theirs if one.place.of_other else mine
    offset = np.log(one.chooser.speedup * one.chooser.table["seconds"])[chosen][
        :, None
    ]  # work of weak scaling
    sides = (other, baseline) if one.place.of_other else (baseline, other)
    first, second = (side[:, there] - offset for side in sides)
    return first, second, one.place.among.index(one.place.at)


def gain_columns(
    baseline: Curve, i: int, curve: Curve, j: int, paired: bool, settings: Settings
) -> dict[str, object]:
    """What a point of a curve brings over a point of another; no test of simulated times."""
    pair = _Placed(baseline, curve, curve.kind, _Place((i, j), [], False, [], None))
    blocks, shift, withheld = None, _band(pair, [(i, j)]), None
    samples = baseline.samples[i], curve.samples[j], paired
    if curve.kind != "simulated":
        found = compare_points([samples], [1 - settings.level])[0]
        blocks, shift, withheld = found.blocks, found.shift, found.withheld
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
