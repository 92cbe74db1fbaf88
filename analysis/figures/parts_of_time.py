"""Parts of the main loop, stacked, at the smallest and the largest process count of each case."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from analysis.estimates.time_parts import MAIN_LOOP, at_extremes
from analysis.figures import style
from analysis.figures.drawing import Drawing, canvas, file_stem, point_text, shortened
from analysis.figures.style import FigureLabels
from analysis.tables.missing import is_missing
from analysis.text import formats
from analysis.text.labels import Labels

ROW_HEIGHT = 0.24
MOST = 6
"""Parts that have a colour of their own; the others are put together."""
REMAINING = "remaining"


def parts_figures(parts: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the parts of the main loop, one figure for each case whose program prints them.

    Takes the table ``parts``, as `analysis.estimates.time_parts.make_part_tables` gives it.
    """
    loop = at_extremes(parts[parts["stage"] == MAIN_LOOP])
    return [_draw(case, rows, labels) for case, rows in labels.by_case(loop)]


def _draw(case: str, rows: pd.DataFrame, labels: FigureLabels) -> Drawing:
    point = ["processes", "interconnect", "kind", "nodes"]
    groups = labels.in_order(rows, *point).groupby(point, sort=False, dropna=False)
    bars = [bar for _, bar in groups]
    shown = _largest(rows)
    with mpl.rc_context(style.RC):
        figure = canvas(ROW_HEIGHT * len(bars) + 0.95)
        ends = "medians, at the smallest and the largest process count"
        caption = f"{labels.case(case)}: parts of the main loop, {ends}."
        alt = "Stacked bars: seconds of each part of the main loop, by interconnect."
        drawing = Drawing(file_stem("parts", case), "parts", figure, caption, alt, case)
        axes = figure.subplots()
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
        for height, bar in enumerate(bars):
            _draw_bar(drawing, axes, height, bar, shown, labels)
        axes.set_yticks(range(len(bars)), [_title(bar, labels) for bar in bars])
        axes.set_ylim(len(bars) - 0.5, -0.5)
        axes.set_xlabel("Main loop (s)")
        axes.set_xlim(left=0)
        handles = [Patch(color=colour) for colour in style.COLOURS[: len(shown)]]
        figure.legend(handles, shown, loc="outside lower center", ncols=len(shown), handlelength=1.2)
    return drawing


def _largest(rows: pd.DataFrame) -> list[str]:
    """Parts that have a colour of their own, the largest first, then the one that sums up all others."""
    found = rows.groupby("part")["share"].mean().sort_values(ascending=False, kind="stable")
    names = list(found.index)
    return names if len(names) <= MOST else [*names[: MOST - 1], REMAINING]


def _draw_bar(
    drawing: Drawing, axes: Axes, height: int, bar: pd.DataFrame, shown: Sequence[str], labels: Labels
) -> None:
    owner, left = bar["interconnect"].iloc[0], 0.0
    named = bar.assign(part=bar["part"].where(bar["part"].isin(shown), REMAINING))
    found = named.groupby("part")[["seconds", "share"]].sum()
    for part, colour in zip(shown, style.COLOURS, strict=False):
        if part not in found.index:
            continue
        seconds, share = found.loc[part]
        (drawn,) = axes.barh(
            height, seconds, left=left, height=0.7, color=colour, edgecolor=style.PAPER, linewidth=0.4
        )
        left += seconds
        value = f"{part}: {formats.seconds(seconds)}, {formats.percent(100 * share)} of the main loop"
        row = bar.iloc[0].to_dict()
        drawing.mark(drawn, owner, point_text(labels, row, labels.interconnect(owner, row["kind"]), value))


def _title(bar: pd.DataFrame, labels: Labels) -> str:
    owner, kind, count = bar[["interconnect", "kind", "processes"]].iloc[0]
    name = labels.interconnect(owner, kind)
    return name if is_missing(owner) else f"{shortened(name, 34, lines=1)}, {count}"
