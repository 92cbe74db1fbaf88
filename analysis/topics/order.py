"""Do the times drift? Every repetition in the order of execution, with outliers and noise."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd
from matplotlib.axes import Axes

from analysis.presentation import formats, style
from analysis.presentation.blocks import Section, section
from analysis.presentation.content import Content
from analysis.presentation.drawing import Drawing, new_drawing, point_text, shortened
from analysis.presentation.labels import Labels
from analysis.presentation.legend import add_legend
from analysis.presentation.marks import Point, draw_points
from analysis.presentation.style import FigureLabels
from analysis.runs.errors import one_line
from analysis.runs.frames import Line, as_lines
from analysis.runs.runs import OUTDATED
from analysis.topics.quality.tables import (
    OUTLIER_RULE,
    flag_outliers,
    is_without_block,
    points_of,
    run_names,
)
from analysis.topics.topic import Topic

PANEL_HEIGHT = 0.95
ALL_PANELS_HEIGHT = 6.4
NOISE_HEIGHT = 0.75
MOST_HOVER_MARKERS = 3000
"""Largest number of repetitions whose markers show values on hover; more markers become an image."""
MOST_SHADES = 200
"""Largest number of blocks that are shaded."""


def ordered_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Select the repetitions with a start time, without simulated points, and sort them by start time.

    Returns
    -------
    DataFrame
        `runs` with further columns:

        - ``start_time``, ``name`` from `run_names`, and ``order`` from 1;
        - ``outlier`` and ``relative_seconds`` from `analysis.topics.quality.tables.flag_outliers`;
        - ``deviation_percent``: increase of the time over the median of the valid repetitions of the point;
          empty if the repetition has no time, or the point no valid repetition.
    """
    started = pd.to_datetime(runs["started"], utc=True, errors="coerce", format="ISO8601")
    timed = runs.assign(start_time=started.where(runs["kind"] != "simulated")).dropna(subset="start_time")
    ordered = timed.sort_values("start_time", kind="stable")
    ordered = ordered.assign(
        name=run_names(ordered), order=range(1, len(ordered) + 1), seconds=ordered["seconds"].astype(float)
    )
    flagged = flag_outliers(ordered, points_of(ordered))
    return flagged.assign(deviation_percent=100 * (flagged["relative_seconds"] - 1))


def order_figure(runs: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the deviation of each repetition from the median of its point, in the order of execution.

    The list is empty if no run has a start time, or if no time differs from the median of its point.
    """
    ordered = ordered_runs(runs)
    if not (ordered["deviation_percent"].abs() > 0).any():
        return []
    cases = labels.sorted_cases(ordered["case"])
    has_noise = bool(ordered["noise"].notna().any())
    timed = runs["valid"] & (runs["kind"] != "simulated") & runs["seconds"].notna()
    lacking = int(timed.sum() - (timed & runs.index.isin(ordered.index)).sum())
    names = formats.listed([labels.case(case) for case in cases])
    case_heights = [min(PANEL_HEIGHT, ALL_PANELS_HEIGHT / len(cases))] * len(cases)
    heights = [*case_heights, NOISE_HEIGHT] if has_noise else case_heights
    alt = f"Deviation of each run of {names} from the median of its point, in order of execution."
    with new_drawing(
        "order", "order", sum(heights) + 0.3, _caption(ordered, has_noise, lacking), alt
    ) as drawing:
        titles = ("Runs in order of execution", "")
        grid = drawing.panels(len(heights), 1, titles, sharex=True, height_ratios=heights)
        limit = shown_limit(ordered)
        lowest = min(limit, max(-ordered["deviation_percent"].min(), limit / 4))
        for axes, case in zip(grid, cases, strict=False):
            runs_of_case = ordered[ordered["case"] == case]
            axes.axhline(0, color=style.IDEAL, linewidth=0.8, zorder=1)
            drawing.mark(axes, case=case)
            _draw_case(axes, runs_of_case, limit, drawing, labels)
            if _has_blocks(ordered):
                _draw_drift(axes, runs_of_case, limit)
            axes.set_ylim(-1.08 * lowest, 1.08 * limit)
            axes.set_title(shortened(labels.case(case), 90))
        title = "Deviation\nfrom the\nmedian (%)"
        side_title = drawing.figure.supylabel(title, multialignment="center")
        if has_noise:
            _draw_noise(grid[-1], ordered)
        for axes in grid:
            axes.set_rasterization_zorder(10 if len(ordered) > MOST_HOVER_MARKERS else None)
            if _has_blocks(ordered):
                _shade_blocks(axes, ordered)
            axes.set_xlim(0, len(ordered) + 1)
            axes.grid(False, axis="x")
        serial = bool(ordered["interconnect"].isna().any())
        add_legend(drawing, ordered, labels, serial, curves=False)
        # The title of the vertical axes is in the middle of the panels of cases.
        side_title.set_y(1 - sum(case_heights) / 2 / drawing.figure.get_figheight())
    return [drawing]


def _has_blocks(ordered: pd.DataFrame) -> bool:
    return not is_without_block(ordered).any()


def shown_limit(ordered: pd.DataFrame) -> float:
    """Choose the largest deviation in percent that is drawn to scale.

    It is the largest deviation, but at most three times the 95th percentile of the valid repetitions.
    """
    sizes = ordered["deviation_percent"].abs().dropna()
    usual = sizes[ordered["valid"]].quantile(0.95) if ordered["valid"].any() else sizes.max()
    return float(max(min(sizes.max(), 3 * usual), 0.5))


def _draw_case(axes: Axes, rows: pd.DataFrame, limit: float, drawing: Drawing, labels: FigureLabels) -> None:
    """Draw the repetitions of a case; rings mark outliers, and crosses invalid repetitions."""
    shown = rows[rows["deviation_percent"].notna()]
    shown = shown.assign(height=shown["deviation_percent"].clip(-limit, limit))
    outliers = shown[shown["outlier"]]
    axes.plot(
        outliers["order"], outliers["height"], "o", color=style.INK, markersize=7, markerfacecolor="none",
        markeredgewidth=0.6, zorder=2.8,
    )  # fmt: skip
    for valid, rows_by_validity in shown.groupby("valid"):
        points = []
        for row in as_lines(rows_by_validity):
            look = labels.look(row["interconnect"])
            look = look if valid else style.Look(look.colour, "x")
            text = _hover_text(row, labels)
            points.append(Point(row["order"], row["height"], look, row["interconnect"], text))
        draw_points(drawing, axes, points, size=3.2, opacity=0.9)


def _hover_text(row: Line, labels: Labels) -> str:
    """Write time, deviation and validity of a repetition."""
    deviation = formats.percent(row["deviation_percent"], signed=True)
    value = f"{row['name']}: {formats.seconds(row['seconds'])} ({deviation})"
    reason = one_line(row["reason"])
    word = "" if reason.startswith(OUTDATED) else "invalid: "  # the reason of an outdated run states that
    invalid = "" if row["valid"] else f", {word}{reason}"
    invalid += ", outlier" if row["outlier"] else ""
    name = labels.interconnect(row["interconnect"], row["kind"])
    return point_text(labels, row, name, value + invalid)


def _draw_drift(axes: Axes, rows: pd.DataFrame, limit: float) -> None:
    """Connect the medians of the blocks, each in the middle of the block's repetitions."""
    valid = rows[rows["valid"]]
    blocks = valid.groupby("block")[["order", "deviation_percent"]].median().sort_values("order")
    heights = blocks["deviation_percent"].clip(-limit, limit)
    axes.plot(blocks["order"], heights, color=style.INK, linewidth=0.8, zorder=2.6)


def _draw_noise(axes: Axes, ordered: pd.DataFrame) -> None:
    noise = ordered.dropna(subset="noise")
    axes.vlines(noise["order"], 0, 100 * noise["noise"].astype(float), color=style.INK, linewidth=0.7)
    axes.set_ylim(bottom=0)
    axes.set_title("Noise: share of the run in which a process waited (%)")


def _shade_blocks(axes: Axes, ordered: pd.DataFrame) -> None:
    """Shade every second sequence of repetitions of the same block."""
    block = ordered["block"].to_numpy()
    changes = [index for index in range(1, len(block)) if block[index] != block[index - 1]]
    borders = [0, *changes, len(block)]
    if len(borders) > MOST_SHADES:
        return
    for first, last in list(pairwise(borders))[1::2]:
        axes.axvspan(first + 0.5, last + 0.5, color=style.SHADE, zorder=0, linewidth=0)


def _caption(ordered: pd.DataFrame, noisy: bool, lacking: int) -> str:
    """Explain the shades, rings, crosses and noise of the figure; `lacking` valid runs have no start time."""
    limit = shown_limit(ordered)
    beyond_limit = int((ordered["deviation_percent"].abs() > limit).sum())
    sentences = [
        "The figure shows how far the time of each run deviates from the median of its point, in order of "
        "execution."
    ]
    if lacking:
        sentences.append(f"It omits {formats.counted(lacking, 'valid run')} without a start time.")
    if _has_blocks(ordered):
        sentences.append("Shaded areas separate the blocks. The line connects the medians of the blocks.")
    if ordered["outlier"].any():
        sentences.append(f"Rings are outliers by {OUTLIER_RULE}.")
    if beyond_limit:
        number, verb = formats.counted(beyond_limit, "run"), "is" if beyond_limit == 1 else "are"
        sentences.append(f"{number} beyond ±{formats.percent(limit)} {verb} drawn at the edge.")
    if (~ordered["valid"] & ordered["deviation_percent"].notna()).any():
        sentences.append("Crosses are invalid or outdated runs.")
    if noisy:
        sentences.append(
            "The bottom panel shows noise: the share of the wall time of a run in which at least one process "
            "waited for a core."
        )
    return " ".join(sentences)


def order(content: Content) -> Section | None:
    """Write the section with the figure of all repetitions in the order of execution."""
    return section("order", "Order of execution", content.figures("order"))


TOPIC = Topic(
    name="order",
    draw=lambda view: order_figure(view.runs, view.labels),
    section=order,
    in_appendix=True,
    needs_runs=False,
    on_screen={"figure"},
)
