"""The figure of page one: how far every interconnect scales, and its processes for the same speedup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.presentation import formats
from analysis.presentation.contests import (
    Contest,
    end_of,
    find_contests,
    fits_one_node,
    nodes_of,
    on_shared_cores,
    single_runs_remark,
    whole_count,
)
from analysis.presentation.curve_panels import (
    Panel,
    counts_of,
    curves_of,
    draw_panel,
    finish_axis,
    label_ends,
    speedup_of,
)
from analysis.presentation.drawing import Drawing, new_drawing, point_text, shortened
from analysis.presentation.formats import counted, named_or_counted
from analysis.presentation.labels import Labels
from analysis.presentation.style import FigureLabels
from analysis.report.contrast import page_labels
from analysis.runs.frames import Line, Tables, as_lines, interval, is_missing, rows_like
from analysis.runs.kinds import ran, side
from analysis.topics.equivalents import best_equivalent, share_needed

HEIGHT = 2.5
"""Height of the figure in inches."""
NAME_WIDTH = 34
"""Characters of a name, at most."""
BAND_OPACITY = 0.16
MOST_BARS = 9
NUMBER_SHARE = 0.5
"""Room right of the longest bar for its number, as a share of the bar."""


def page_one_figure(tables: Tables, labels: FigureLabels) -> list[Drawing]:
    """Draw the headline contest: its speedups, and the counts that reach the baseline's best.

    Returns
    -------
    list of Drawing
        One figure, or none if no curve has two points.
    """
    contests = find_contests(tables, labels.declared)
    if not contests or contests[0].scaling[counts_of(contests[0].scaling)].nunique() < 2:
        return []
    headline, labels = contests[0], replace(labels, given=page_labels(labels, contests).given)
    equivalents = _equivalents_to_draw(headline)
    title = figure_title(headline, labels)
    if labels.facts.study.unfinished and any(map(ran, headline.kinds)):
        title = f"{labels.speedup} up to {headline.counted(headline.scaling[headline.unit].max())}, so far"
    if title.startswith(labels.speedup):
        title = f"{title[:1].upper()}{title[1:]}"
    ideal = "the ideal speedup" if headline.level == 1 else "the ideal speedup of as many cores"
    unit = counts_of(headline.scaling)
    curves = f"{labels.speedup} of {labels.case(headline.case)} against the number of {unit}"
    caption = f"{f'left: {curves}' if equivalents else curves}. Grey lines show {ideal}."
    caption = f"{caption[:1].upper()}{caption[1:]}"
    if equivalents:
        caption += (
            f" Right: number of {headline.unit} that each {labels.noun} in this panel needs for the highest "
            f"{labels.speedup} of its baseline, {labels.baseline(equivalents[0])}. Nodeworth rounds each "
            f"number up to whole {headline.unit}."
        )
    with new_drawing("answer", "answer", HEIGHT, caption, f"{title}. {caption}") as drawing:
        figure = drawing.figure
        heading = f"{labels.speedup} against {unit}".capitalize()
        figure.suptitle(heading, fontsize=9, fontweight="bold", x=0.01, ha="left")
        panels = figure.subplots(1, 2, width_ratios=(4, 3)) if equivalents else [figure.subplots()]
        _draw_curves(panels[0], headline, drawing, labels)
        if equivalents:
            _draw_bars(panels[1], headline, equivalents, drawing, labels)
    return [drawing]


def figure_title(contest: Contest, labels: Labels) -> str:
    """State the result that the figure of a contest shows."""
    return f"{_result(contest, labels)}{on_shared_cores(contest)}"


def _result(contest: Contest, labels: Labels) -> str:
    """State which curve stops first; else the largest saving; else whether speedup rises."""
    ends = [(peak, end_of(peak, contest.scaling)) for peak in contest.compared_peaks()]
    stops = [peak for peak, end in ends if end == "stops"]
    if stops:
        count = min(peak["peak_processes"] for peak in stops)
        names = [labels.curve(peak) for peak in stops if peak["peak_processes"] == count]
        verb = "stops" if len(names) == 1 else "stop"
        first = contest.counted(count) + single_runs_remark(stops)
        return f"{named_or_counted(names)} {verb} scaling at {first}"
    best = best_equivalent(contest)
    if best is not None and share_needed(best) < 1 and not fits_one_node(best, contest):
        needed = contest.needed(best)
        count = contest.counted(best["baseline_processes"])
        return f"{labels.compared(best)} with {needed} matches {labels.baseline(best)} with {count}"
    counts = contest.scaling[contest.unit]
    if all(end == "one count" for _, end in ends):
        only = "each curve has only one count"
        if counts.nunique() == 1:
            only = f"the only count with results is {contest.counted(counts.max())}"
        return f"Scaling is unknown: {only}"
    most = contest.counted(counts.max())
    if not any(end == "rises" for _, end in ends):
        reached = f"{labels.speedup.capitalize()} up to {most}"
        if len(contest.peaks) == 1:
            last = contest.scaling.nlargest(1, contest.unit)["speedup"].iloc[0]
            reached = f"{labels.speedup.capitalize()} {formats.number(last)} on {most}"
        note, *others = {str(peak["note"]) for peak, _ in ends}
        because = f" ({note})" if note.startswith("fewer") and not others else ""
        return f"{reached}: the peak is undecided{because}"
    remark = single_runs_remark(peak for peak, _ in ends)
    return f"{labels.speedup.capitalize()} rises up to {most}, {contest.largest_count}{remark}"


def _draw_curves(axes: Axes, headline: Contest, drawing: Drawing, labels: FigureLabels) -> None:
    rows = headline.scaling if headline.level == 1 else headline.scaling[~headline.scaling["serial"]]
    panel, speedup = Panel(headline.kinds, headline.level, rows), speedup_of(labels)
    draw_panel(axes, panel, speedup, drawing, labels)
    finish_axis(axes, rows, speedup, inches=2.6)
    axes.set_xlabel(panel.counts.capitalize())
    axes.set_ylabel(speedup.title)
    curves = [curve for curve in curves_of(panel, labels) if curve.interconnect]
    for curve in curves:
        ends = [(row[panel.counts], *interval(row, "speedup")[1:]) for row in curve.rows]
        band = [point for point in ends if not any(map(is_missing, point))]
        if len(band) > 1:
            colour = labels.look(curve.interconnect, curve.placement).colour
            counts, low, high = zip(*band, strict=True)
            area = axes.fill_between(
                counts, low, high, color=colour, alpha=BAND_OPACITY, linewidth=0, zorder=1.5
            )
            drawing.mark(area, curve.interconnect)
    label_ends(axes, panel, speedup, HEIGHT - 0.8, drawing, labels)


def _equivalents_to_draw(headline: Contest) -> Sequence[Line]:
    """Return the rows of ``node_equivalent`` against the main baseline, the best last.

    The list is empty if all whole counts equal that of the baseline: bars would show no difference.
    """
    rows = headline.against_baseline(headline.equivalent)
    rows = rows[rows["attainable"] & rows["equivalent_processes"].notna()]
    counts = rows[["baseline_processes", "equivalent_processes"]].map(whole_count)
    if counts["baseline_processes"].eq(counts["equivalent_processes"]).all():
        return []
    return as_lines(rows.nsmallest(MOST_BARS - 1, "equivalent_processes")[::-1])


def _draw_bars(
    axes: Axes, headline: Contest, equivalents: Sequence[Line], drawing: Drawing, labels: FigureLabels
) -> None:
    """Draw the count of the baseline at its best and the equivalent counts."""
    first = equivalents[0]
    baseline = {
        **first,
        "interconnect": first["baseline_interconnect"],
        "kind": side(first["kind"], 0),
        headline.unit: whole_count(float(first["baseline_processes"])),
    }
    rows = [baseline]
    for line in equivalents:
        needed = whole_count(float(line["equivalent_processes"]))
        rows.append({**line, "kind": side(line["kind"], 1), headline.unit: needed})
    colours = [labels.look(row["interconnect"], row["processes_per_node"]).colour for row in rows]
    bars = axes.barh(range(len(rows)), [row[headline.unit] for row in rows], color=colours, height=0.46)
    values = [_count_and_nodes(row, headline) for row in rows]
    numbers = axes.bar_label(bars, values, padding=3, fontsize=7)
    for place, (row, bar, number, value) in enumerate(zip(rows, bars, numbers, values, strict=True)):
        name = labels.curve(row)
        title = axes.annotate(
            shortened(name, NAME_WIDTH, lines=1), (0, place - 0.26), xytext=(3, 0),
            textcoords="offset points", va="bottom", fontsize=7,
        )  # fmt: skip
        drawing.mark(bar, row["interconnect"], point_text(labels, row, name, value))
        for text in (number, title):
            drawing.mark(text, row["interconnect"])
    axes.set_yticks([])
    axes.set_ylim(len(rows) - 0.6, -0.75)
    axes.grid(False, axis="y")
    axes.margins(x=NUMBER_SHARE)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_xlabel(f"{headline.unit.capitalize()} for the same speedup")


def _count_and_nodes(row: Line, headline: Contest) -> str:
    """Write the count of a row, with the nodes of processes if the nodes are known."""
    curve = rows_like(headline.scaling, row, ["interconnect", "kind", "processes_per_node"])
    nodes = nodes_of(curve, row[headline.unit])
    return headline.counted(row[headline.unit]) + ("" if nodes is None else f", {counted(nodes, 'node')}")
