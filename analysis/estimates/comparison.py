"""What an interconnect brings over a baseline, and whether the two can be told apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, product
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from analysis.estimates.bootstrap import interval_columns
from analysis.estimates.curves import Curve
from analysis.estimates.metrics import improvement_percent
from analysis.estimates.points import Sample
from analysis.estimates.significance import permutation_p, sign_flip_p
from analysis.runs.settings import Settings

Pair = tuple[Curve, Curve, str]
"""Two curves to compare: baseline, other, and what `kind` reads."""

_placed = attrgetter("oversubscription", "processes_per_node")


def pairs(curves: Sequence[Curve], ranked: dict[str, list[str]], settings: Settings) -> Iterator[Pair]:
    """Pairs of curves of one case to compare.

    Within a kind, every baseline with every other interconnect at the same oversubscription and
    placement. Between two kinds only where the settings name the pair: the baselines of either kind
    with all interconnects of the other; without any, the default baseline of the kind named first.
    """
    for kind, other_kind, baselines in _wanted(curves, ranked, settings):
        compared_kind = kind if kind == other_kind else f"{kind}/{other_kind}"
        for baseline in (curve for curve in curves if curve.kind == kind and curve.interconnect in baselines):
            for other in curves:
                if other.kind == other_kind and other is not baseline and _placed(other) == _placed(baseline):
                    yield baseline, other, compared_kind


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


def of_one_baseline(compared: Iterable[Pair]) -> Iterator[tuple[Curve, tuple[Curve, ...], str]]:
    """Neighbours with one baseline and kind whose others are of the same counts and may be stacked."""

    def key(pair: Pair) -> tuple:
        baseline, other, kind = pair
        return id(baseline), kind, other.processes.tobytes(), other.own.tobytes(), other.draws.shape

    for _, group in groupby(compared, key):
        baselines, others, (kind, *_) = zip(*group, strict=True)
        yield baselines[0], others, kind


def compare(compared: Iterable[Pair], settings: Settings) -> list[dict[str, object]]:
    """Rows of the improvement table, one a pair of curves.

    The headline is at the baseline's peak, or at the nearest common count below; the average over
    the common counts above one process up to that peak. The serial run, which both curves share, is
    no common count unless it is the peak. What needs the whole table (Holm's correction) is left out.
    """
    return [
        row
        for baseline, others, kind in of_one_baseline(compared)
        for row in _compare_alike(baseline, others, kind, settings)
    ]


def _compare_alike(
    baseline: Curve, others: Sequence[Curve], kind: str, settings: Settings
) -> list[dict[str, object]]:
    """Rows of one baseline and others of the same process counts."""
    other = others[0]
    peak = int(baseline.processes[np.argmax(baseline.speedup)])
    common, mine, theirs = np.intersect1d(baseline.processes, other.processes, return_indices=True)
    counts = (common <= peak) & (baseline.own[mine] | other.own[theirs] | (peak == 1))
    common, mine, theirs = common[counts], mine[counts], theirs[counts]
    rows: list[dict[str, object]] = [
        {
            **names_of_pair(baseline, other, kind),
            "baseline_peak_processes": peak,
            "paired": False,
            "p_value": np.nan,
        }
        for other in others
    ]
    if not len(common):
        return [row | {"note": "no common process count up to the baseline's peak"} for row in rows]
    seconds = np.stack([other.table["seconds"][theirs] for other in others])
    percent = improvement_percent(seconds, baseline.table["seconds"][mine])
    draws = np.stack([other.draws[theirs] for other in others], axis=1)
    draws = improvement_percent(draws, baseline.draws[mine][:, None])
    columns = {"improvement_percent": percent[:, -1]} | interval_columns(
        "improvement", draws[-1], settings.level
    )
    parallel = common > 1
    if parallel.any():
        columns["average_percent"] = np.ascontiguousarray(percent[:, parallel]).mean(axis=1)
        columns |= interval_columns("average", draws[parallel].mean(axis=0), settings.level)
    samples = [other.samples[theirs[-1]] for other in others]
    tests = _tests(baseline.samples[mine[-1]], samples, kind, settings)
    shared = not (baseline.own[mine[-1]] or other.own[theirs[-1]])
    for number, (row, test) in enumerate(zip(rows, tests, strict=True)):
        row |= {"at_processes": int(common[-1])} | test
        row |= {name: values[number] for name, values in columns.items()}
        if common[-1] < peak:
            row["note"] = f"the baseline's peak, {peak}, is no common count"
        elif shared:
            row |= {"p_value": np.nan, "note": "the baseline's peak is the serial run, which both share"}
        elif np.isnan(row["p_value"]):
            simulated = "simulated" in kind
            row["note"] = "no test: simulated" if simulated else "no test: within one block only"
    return rows


def _tests(
    first: Sample, others: Sequence[Sample], kind: str, settings: Settings
) -> Iterator[dict[str, object]]:
    """Columns about the tests of a point against others; others of the same blocks are tested at once."""
    if "simulated" in kind:
        yield from ({} for _ in others)
        return
    same = [np.array_equal(first.blocks, other.blocks) for other in others]
    at_once = _same_machine(kind) and len(first.blocks) > 1 and any(same)
    ratios = [first.seconds / other.seconds for other, fits in zip(others, same, strict=True) if fits]
    p_values = iter(sign_flip_p(np.log(ratios), settings.seed) if at_once else ())
    for other, fits in zip(others, same, strict=True):
        paired = _same_machine(kind) and (fits or share_blocks(first, other))
        if fits and at_once:
            blocks, p_value = len(first.blocks), next(p_values)
        else:
            blocks, p_value = tell_apart(first, other, paired, settings.seed)
        yield {"paired": paired, "blocks": blocks, "p_value": p_value}


def _same_machine(kind: str) -> bool:
    return "/" not in kind or set(kind.split("/")) == {"measured", "emulated"}


def share_blocks(first: Sample, second: Sample) -> bool:
    """Whether at least half of the smaller sample's blocks are the other's too."""
    common, _ = _common(first, second)
    return 2 * len(common) >= min(len(first.blocks), len(second.blocks))


def _common(first: Sample, second: Sample) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the common blocks in either sample."""
    if np.array_equal(first.blocks, second.blocks):  # as a rule, and far faster
        return np.arange(len(first.blocks)), np.arange(len(first.blocks))
    return np.intersect1d(first.blocks, second.blocks, return_indices=True)[1:]


def tell_apart(first: Sample, second: Sample, paired: bool, seed: int) -> tuple[int, float]:
    """Test whether the times of two points can be told apart.

    Paired: sign-flip test on the log ratios over the common blocks. Unpaired: permutation test on
    the log times of all blocks.

    Returns
    -------
    blocks : int
        Pairs, or blocks of the smaller sample.
    p_value : float
        NaN with fewer than two of these.
    """
    mine, theirs = _common(first, second)
    blocks = len(mine) if paired else min(len(first.blocks), len(second.blocks))
    if blocks < 2:
        return blocks, np.nan
    if paired:
        return blocks, sign_flip_p(np.log(first.seconds[mine] / second.seconds[theirs]), seed)
    return blocks, permutation_p(np.log(first.seconds), np.log(second.seconds))


def oversubscription_rows(curves: Sequence[Curve], settings: Settings) -> Iterator[dict[str, object]]:
    """Rows of the oversubscription table of one case: what level L brings over level 1 at equal cores.

    Levels differ in their process counts, so no block holds both: the test is unpaired.
    """
    crowded = [curve for curve in curves if curve.oversubscription > 1]
    for curve, plain in product(crowded, curves):
        for j in np.flatnonzero(curve.own) if _one_process_a_core(plain, curve) else ():
            equal = np.flatnonzero(plain.table["cores"] == curve.table["cores"][j])
            if len(equal):
                yield {
                    **_gain(plain, equal[-1], curve, j, False, settings),
                    "processes_of_one": plain.processes[equal[-1]],
                    "seconds_of_one": plain.table["seconds"][equal[-1]],
                }


def _one_process_a_core(plain: Curve, curve: Curve) -> bool:
    same = (plain.kind, plain.interconnect, plain.oversubscription) == (curve.kind, curve.interconnect, 1)
    if not same or plain.processes_per_node is None or curve.processes_per_node is None:
        return same
    return plain.processes_per_node * curve.oversubscription == curve.processes_per_node


def _gain(
    baseline: Curve, i: int, curve: Curve, j: int, paired: bool, settings: Settings
) -> dict[str, object]:
    """What a point of a curve brings over a point of another; no test of simulated times."""
    seconds = curve.table["seconds"][j]
    draws = improvement_percent(curve.draws[j], baseline.draws[i])
    blocks, p_value = None, np.nan
    if curve.kind != "simulated":
        blocks, p_value = tell_apart(baseline.samples[i], curve.samples[j], paired, settings.seed)
    return {
        **curve.names,
        "processes": curve.processes[j],
        "cores": curve.table["cores"][j],
        "nodes": curve.table["nodes"][j] or np.nan,
        "seconds": seconds,
        "gain_percent": improvement_percent(seconds, baseline.table["seconds"][i]),
        **interval_columns("gain", draws, settings.level),
        "blocks": blocks,
        "p_value": p_value,
    }


def placement_rows(curves: Sequence[Curve], settings: Settings) -> Iterator[dict[str, object]]:
    """Rows of the placement table of one case: what fewer processes a node bring over the most packed.

    At each count of an interconnect and level, the baseline is the placement with the most processes a
    node. Placements of one count are of the same blocks: the test is paired where they share them.
    """
    placed = [(curve, j) for curve in curves if curve.processes_per_node for j in np.flatnonzero(curve.own)]
    points: dict[tuple, list[tuple[Curve, int]]] = {}
    for curve, j in sorted(placed, key=lambda point: -point[0].processes_per_node):
        key = (curve.kind, curve.interconnect, curve.oversubscription, curve.processes[j])
        points.setdefault(key, []).append((curve, j))
    for _, ((packed, i), *others) in sorted(points.items(), key=lambda item: item[0]):
        for spread, j in others:
            paired = spread.kind != "simulated" and share_blocks(packed.samples[i], spread.samples[j])
            yield {
                **_gain(packed, i, spread, j, paired, settings),
                "processes_per_node_of_baseline": packed.processes_per_node,
                "nodes_of_baseline": packed.table["nodes"][i],
                "seconds_of_baseline": packed.table["seconds"][i],
                "paired": paired,
            }
