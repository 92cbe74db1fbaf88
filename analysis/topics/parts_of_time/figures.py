"""Figures of the parts of the main loop, at the smallest and the largest process count of each case."""

from __future__ import annotations

import pandas as pd

from analysis.presentation import formats, style
from analysis.presentation.axes import name_rows
from analysis.presentation.drawing import Drawing, file_stem, new_drawing, point_text, shortened
from analysis.presentation.labels import Labels
from analysis.presentation.style import FigureLabels
from analysis.runs.frames import Line, is_missing
from analysis.topics.parts_of_time.tables import MAIN_LOOP, at_extremes

ROW_HEIGHT = 0.24
"""Height of a bar with its margin, in inches."""
MOST = 6
"""Largest number of colours; if there are more parts, the smallest ones are added up."""
REMAINING = "remaining"
"""Name of the sum of the smallest parts."""


def parts_figures(parts: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the parts of the main loop, with one figure for each case whose program prints them.

    Parameters
    ----------
    parts : DataFrame
        Table ``parts``.
    labels : FigureLabels
    """
    loop = at_extremes(parts[parts["stage"] == MAIN_LOOP])
    return [_draw(case, rows, labels) for case, rows in labels.by_case(loop)]


def _draw(case: str, rows: pd.DataFrame, labels: FigureLabels) -> Drawing:
    """Draw a bar for each point of a case, with a colour for each of its largest parts."""
    point = ["processes", "interconnect", "kind", "nodes"]
    rows, shown = labels.in_order(rows, *point), _largest(rows)
    rows["bar"] = rows.groupby(point, sort=False, dropna=False).ngroup()
    rows["part"] = rows["part"].where(rows["part"].isin(shown), REMAINING)
    sums = rows.pivot_table(["seconds", "share"], "bar", "part", aggfunc="sum")
    bars = rows.drop_duplicates("bar").to_dict("records")
    caption = (
        f"{labels.case(case)}: median seconds of the parts of the main loop, at the smallest and the largest "
        "process count."
    )
    alt = "Stacked bars: seconds of each part of the main loop, by interconnect."
    inches = ROW_HEIGHT * len(bars) + 0.95
    with new_drawing(file_stem("parts", case), "parts", inches, caption, alt, case) as drawing:
        axes = drawing.figure.subplots()
        sums["seconds"][shown].plot.barh(
            stacked=True, width=0.7, color=list(style.COLOURS), linewidth=0.4, legend=False, ax=axes
        )
        for part, patches in zip(shown, axes.containers, strict=True):
            columns = bars, patches, sums["seconds"][part], sums["share"][part]
            for bar, patch, seconds, share in zip(*columns, strict=True):
                if not is_missing(seconds):
                    loop = f"{formats.percent(100 * share)} of the main loop"
                    name = labels.interconnect(bar["interconnect"], bar["kind"])
                    text = point_text(labels, bar, name, f"{part}: {formats.seconds(seconds)}, {loop}")
                    drawing.mark(patch, bar["interconnect"], text)
        name_rows(axes, [_title(bar, labels) for bar in bars])
        axes.set(xlabel="Main loop (s)", ylabel="")
        axes.set_xlim(left=0)
        drawing.figure.legend(
            axes.containers,  # type: ignore[call-overload]  # Matplotlib's stubs omit that bars are handles
            shown,
            loc="outside lower center",
            ncols=len(shown),
            handlelength=1.2,
        )
    return drawing


def _largest(rows: pd.DataFrame) -> list[str]:
    """Return the parts that have a colour: the largest first, and `REMAINING` if there are more parts."""
    shares = rows.groupby("part")["share"].mean().sort_values(ascending=False, kind="stable")
    names = list(shares.index)
    return names if len(names) <= MOST else [*names[: MOST - 1], REMAINING]


def _title(bar: Line, labels: Labels) -> str:
    name = labels.interconnect(bar["interconnect"], bar["kind"])
    return name if is_missing(bar["interconnect"]) else f"{shortened(name, 34, lines=1)}, {bar['processes']}"
