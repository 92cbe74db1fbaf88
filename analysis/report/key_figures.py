"""The key figures of page one: saving, speed at the peak, and where the curves stop scaling."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd

from analysis.curves.outcomes import DEPENDS_ON_COUNT, UNKNOWN_TURNS
from analysis.presentation import formats
from analysis.presentation.blocks import KeyFigure, key_figure
from analysis.presentation.contests import Contest, end_of, is_best_at_largest, whole_count
from analysis.presentation.labels import Labels
from analysis.report.contrast import Contrast, why_undecided
from analysis.report.in_words import reference_run
from analysis.runs.frames import Line, as_float, as_lines, interval, is_missing, percent_interval, rows_like
from analysis.runs.kinds import side
from analysis.runs.settings import PROCESSES
from analysis.topics.equivalents import equivalent_count
from analysis.topics.improvement.sentences import disturbance

MOST_FIGURES = 4
CURVE = ["interconnect", "kind", "processes_per_node", "threads"]


USUAL_COVERAGE, COVERAGE_MARGIN = 0.95, 0.005
"""Usual confidence of an interval. A confidence that is lower by more than the margin is stated."""


def make_key_figures(
    contest: Contest,
    contrast: Contrast | None,
    labels: Labels,
    has_baseline: bool = True,
    others: Sequence[KeyFigure] = (),
    runs: pd.DataFrame | None = None,
) -> list[KeyFigure]:
    """Make the key figures of the headline contest, at most `MOST_FIGURES`.

    Parameters
    ----------
    others : sequence of KeyFigure
        Key figures that topics offer. They leave out the end of the curve that is faster at its peak.
    runs : DataFrame, optional
        The runs table. Each key figure then states whether other programs disturbed most of its runs.
    """

    def remarked(figure: KeyFigure, line: Line) -> KeyFigure:
        names = {line["interconnect"], line.get("baseline_interconnect")}
        remark = "" if runs is None else disturbance(contest, runs, names)
        return {**figure, "note": f"{figure['note']}; {remark}"} if remark else figure

    if contrast:
        figures = [
            _saved(contrast, contest, labels, has_baseline),
            remarked(_improvement(contrast, contest, labels), contrast.comparison),
        ]
    else:
        curves = as_lines(contest.peaks)
        is_single = len(curves) == 1 and end_of(curves[0], contest.scaling) != "one count"
        figures = [remarked(_at_largest(curves[0], contest, labels), curves[0])] if is_single else []
    peaks = sorted(_peaks_to_show(contest, contrast), key=lambda peak: as_float(peak["peak_speedup"]))
    ends = [remarked(_scaling(peak, contest, labels), peak) for peak in peaks]
    others = others[: MOST_FIGURES - len(figures) - 1]
    return [*figures, *ends[: MOST_FIGURES - len(figures) - len(others)], *others]


def _saved(contrast: Contrast, contest: Contest, labels: Labels, has_baseline: bool) -> KeyFigure:
    """Make the key figure of the processes or nodes that the faster interconnect saves."""
    label = f"{contest.unit.capitalize()} saved"
    saving = contrast.equivalent
    if saving is None:
        if not has_baseline:
            return _fastest(contest, labels)
        if contrast.direction:
            best = f"the slower {labels.noun}'s highest {labels.speedup}"
            if contrast.comparison["baseline_peak_processes"] == 1:
                return key_figure(label, "unknown", "by median times, the baseline is fastest on one process")
            note = f"no smaller count that was run reaches {best}"
            return key_figure(label, "none", note)
        return key_figure(label, "undecided", f"no {labels.noun} is shown to be faster")
    count, needed = int(saving["baseline_processes"]), whole_count(saving["equivalent_processes"])
    if contrast.on_one_node:
        why = f"{contest.counted(needed)} would do, but on one node, where no message uses the interconnect"
        return key_figure(label, "unknown", why, kind=_kind_of(saving, contrast))
    ends = [as_float(saving[f"equivalent_{end}"]) for end in ("high", "low")]
    saved_ends = ""
    if all(map(math.isfinite, ends)):
        low, high = (formats.whole(count - whole_count(end)) for end in ends)
        saved_ends = f"[{low}, {high}]"
    note = f"{formats.whole(needed)} with {labels.compared(saving)} instead of {count} with "
    note += labels.baseline(saving)
    if not contest.has_run(saving["interconnect"], needed):
        note += f"; {formats.whole(needed)} is {equivalent_count(saving)}, interpolated and rounded up"
    return key_figure(label, formats.whole(count - needed), note, saved_ends, _kind_of(saving, contrast))


def _fastest(contest: Contest, labels: Labels) -> KeyFigure:
    """Name the interconnect, or the serial run, with the shortest time, which the data choose."""
    best = as_lines(contest.scaling.nsmallest(1, "seconds"))[0]
    value, low, high = interval(best, "seconds")
    times = formats.ends(low, high, formats.decimals(value)).strip()
    run = "serial" if best["serial"] else f"{labels.curve(best)}, {contest.counted(best[contest.unit])}"
    note = f"{run}, an estimate"
    return key_figure("Shortest time", formats.seconds(value), note, times, str(best["kind"]))


def _improvement(contrast: Contrast, contest: Contest, labels: Labels) -> KeyFigure:
    """Make the key figure of the difference in speed at the baseline's peak."""
    line = contrast.comparison
    at_peak = line["at_processes"] == line["baseline_peak_processes"]
    at_peak = at_peak and not _peaks_beyond(line, contest)
    label = f"Speed at {'the peak, ' if at_peak else ''}{contest.counted(line['at_processes'])}"
    value, low, high = percent_interval(line, "improvement")
    places = formats.percent_places(value)
    word, coverage = contrast.direction, as_float(line["coverage"])
    if DEPENDS_ON_COUNT in str(line.get("note")) and not is_missing(line["best_percent"]):
        label, (value, low, high) = "Each at its best count", percent_interval(line, "best")
        places, coverage = formats.percent_places(value), math.nan
        word = line["best_verdict"] if line["best_verdict"] in ("faster", "slower") else None
    relation = f"{word} than" if word else "against"
    note = f"{labels.compared(line)} {relation} {labels.baseline(line)}"
    if not word:
        reason = why_undecided(line)
        note += f", undecided: {reason}" if reason else ", undecided"
    elif UNKNOWN_TURNS in str(line.get("note")):
        note += "; order of the runs unknown"
    percent_ends = formats.ends(low, high, places, signed=True).strip()
    if percent_ends and coverage < USUAL_COVERAGE - COVERAGE_MARGIN:
        note += f"; confidence {formats.percent(100 * coverage, places=1)}"
    return key_figure(
        label,
        formats.percent(value, signed=True, places=places),
        note,
        percent_ends,
        _kind_of(line, contrast),
    )


def _peaks_beyond(line: Line, contest: Contest) -> bool:
    """Return whether the baseline of a comparison still gains at its largest count, or has only one count."""
    peak, *_ = [*_peaks_of(line, contest), None]
    return peak is not None and end_of(peak, contest.scaling) in ("rises", "one count")


def _peaks_to_show(contest: Contest, contrast: Contrast | None) -> Sequence[Line]:
    """Return the rows of ``peaks`` of the two compared curves, or of the fastest curves."""
    if contrast is None:
        ranked = contest.peaks.sort_values("peak_speedup", ascending=False, kind="stable")
        return as_lines(ranked.head(2))
    return list(_peaks_of(contrast.comparison, contest))


def _peaks_of(line: Line, contest: Contest) -> Iterator[Line]:
    for place, name in enumerate(("baseline_interconnect", "interconnect")):
        curve = {**line, "interconnect": line[name], "kind": side(str(line["kind"]), place)}
        yield from as_lines(rows_like(contest.peaks, curve, CURVE).head(1))


def _at_largest(peak: Line, contest: Contest, labels: Labels) -> KeyFigure:
    """Make the key figure of the speedup of a curve at its largest count."""
    last = as_lines(rows_like(contest.scaling, peak).nlargest(1, contest.unit))[0]
    value, low, high = interval(last, "speedup")
    label = f"{labels.speedup.capitalize()} on {contest.counted(last[contest.unit])}"
    ends = formats.ends(low, high, formats.decimals(value)).strip()
    return key_figure(label, formats.number(value), labels.curve(peak), ends, str(peak["kind"]))


def _scaling(peak: Line, contest: Contest, labels: Labels) -> KeyFigure:
    """Make the key figure of the count at which a curve stops scaling."""
    count, end = int(peak["peak_processes"]), end_of(peak, contest.scaling)
    name = labels.curve(peak)
    if end == "one count":
        return key_figure("Only count", contest.counted(count), name, kind=str(peak["kind"]))
    may_peak = [] if is_missing(peak["peak_set"]) else str(peak["peak_set"]).split()
    counts = f"[{may_peak[0]} to {may_peak[-1]}]" if len(may_peak) > 1 else ""
    speedup = f"{labels.speedup} {formats.number(peak['peak_speedup'])}"
    curve = as_lines(rows_like(contest.scaling, peak))[0]
    reference = curve["reference_interconnect"]
    if not is_missing(reference) and reference != peak["interconnect"]:
        speedup += f" relative to {reference_run(curve, labels)}"
    if end == "stops":
        label = "Stops scaling at"
    elif end == "rises":
        label = f"Highest {labels.speedup} at"
        speedup += f"; {contest.largest_of(f'this {labels.noun}')}"
    elif is_best_at_largest(peak, contest.scaling):
        label = f"Highest {labels.speedup} may be at"
        speedup += f"; {contest.largest_of(f'this {labels.noun}')}"
    else:
        label = "May stop scaling at"
    if count == 1 and contest.unit == PROCESSES:
        speedup = "no median time below the serial time"
    return key_figure(label, contest.counted(count), f"{name}: {speedup}", counts, str(peak["kind"]))


def _kind_of(line: Line, contrast: Contrast) -> str:
    """Name the kinds of a comparison, and add that it rests on a single run."""
    kinds = dict.fromkeys(str(line["kind"]).split("/"))
    text = " and ".join(kinds)
    return f"{text}, {contrast.remark}" if contrast.remark not in ("", "simulated") else text
