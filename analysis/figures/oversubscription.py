"""Oversubscription levels side by side at equal cores: bars of time with the gain over level 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from analysis.figures import style
from analysis.figures.drawing import Drawing, canvas, file_stem, point_text, shortened
from analysis.figures.style import FigureLabels
from analysis.runs.kinds import comparable_sets
from analysis.tables.missing import Line, interval, is_missing, percent_interval
from analysis.tables.selection import as_lines
from analysis.text import formats
from analysis.text.derived_coverage import too_few
from analysis.text.labels import Labels

COLUMNS = 3
BAR_HEIGHT = 0.135
"""Of one bar, in inches."""
GAP = 0.5
"""Between two interconnects, in bars."""


@dataclass(frozen=True)
class Bar:
    """Time of one level: row of the scaling table, and of the oversubscription table for levels above 1."""

    name: str
    level: int
    row: Line
    gain: Line | None


def oversubscription_figures(
    oversubscription: pd.DataFrame, scaling: pd.DataFrame, labels: FigureLabels
) -> list[Drawing]:
    """Draw the time of all levels at equal cores, one figure per case.

    Returns
    -------
    list of Drawing
        In the study's order of cases, for those that have a level above 1; with more than three core
        counts, of the largest three.
    """
    return [
        _figure(case, rows, scaling[scaling["case"] == case], labels)
        for case, rows in labels.by_case(oversubscription)
    ]


def _figure(case: str, rows: pd.DataFrame, scaling: pd.DataFrame, labels: FigureLabels) -> Drawing:
    all_cores = sorted(int(cores) for cores in rows["cores"].unique())
    cores = all_cores[-COLUMNS:]
    rows = rows[rows["cores"].isin(cores)]
    rows = rows.assign(name=[_name(row, labels) for row in as_lines(rows)])
    owners = dict(zip(rows["name"], rows["interconnect"], strict=True))
    sets = comparable_sets(rows["kind"], labels.declared)
    levels = [1, *sorted(int(level) for level in rows["oversubscription"].unique())]
    groups = [rows[rows["kind"].isin(kinds)] for kinds in sets]
    sizes = [_names(group, labels) for group in groups]
    heights = [BAR_HEIGHT * (len(levels) + GAP) * len(names) + 0.1 for names in sizes]
    with mpl.rc_context(style.RC):
        figure = canvas(sum(heights) + 0.85 + 0.2 * (len(sets) - 1))
        caption = _caption(case, cores, all_cores, rows, labels)
        per_core = formats.listed(map(str, levels))
        alt = f"Time of {labels.case(case)} at equal cores with {per_core} processes per core."
        stem = file_stem("oversubscription", case)
        drawing = Drawing(stem, "oversubscription", figure, caption, alt, case)
        grid = figure.subplots(
            len(sets), len(cores), squeeze=False, sharey="row", sharex=True, height_ratios=heights
        )
        for line, (axis_row, group, names) in enumerate(zip(grid, groups, sizes, strict=True)):
            for axes, count in zip(axis_row, cores, strict=True):
                panel = group[group["cores"] == count]
                for name, gains in panel.groupby("name"):
                    first = names.index(name) * (len(levels) + GAP)
                    _draw_bars(axes, _bars(gains, scaling), levels, first, drawing, labels)
                axes.grid(False, axis="y")
                axes.tick_params(axis="y", length=0)
                if line == 0:
                    axes.set_title(formats.counted(count, "core"), fontweight="bold")
            middle = (len(levels) - 1) / 2
            axis_row[0].set_yticks(
                [index * (len(levels) + GAP) + middle for index in range(len(names))],
                [shortened(name, 26) for name in names],
            )
            for name, label in zip(names, axis_row[0].get_yticklabels(), strict=True):
                drawing.mark(label, owners[name])
            axis_row[0].set_ylim(len(names) * (len(levels) + GAP) - GAP - 0.3, -0.7)
        highest = max(axes.dataLim.x1 for axis_row in grid for axes in axis_row)
        grid[0][0].set_xlim(0, highest * (1.3 + 0.3 * len(cores)))
        grid[0][0].xaxis.set_major_locator(mpl.ticker.MaxNLocator(4))
        for axes in grid[-1]:
            axes.set_xlabel("Time per run (s)")
        figure.legend(
            [Patch(facecolor=style.IDEAL, hatch=_hatch(levels, level)) for level in levels],
            [formats.counted(level, "process per core", "processes per core") for level in levels],
            loc="outside lower center",
            ncols=len(levels),
        )
    return drawing


def _hatch(levels: Sequence[int], level: int) -> str:
    return style.HATCHES[levels.index(level) % len(style.HATCHES)]


def _name(row: Line, labels: Labels) -> str:
    """Name what is compared: at equal cores, levels share the nodes and differ in the processes per node."""
    name = labels.interconnect(row["interconnect"], row["kind"])
    if is_missing(row["processes_per_node"]):
        return name
    cores = row["processes_per_node"] / row["oversubscription"]
    return f"{name} with {formats.plain(cores)} {'core' if cores == 1 else 'cores'} per node"


def _names(rows: pd.DataFrame, labels: Labels) -> list[str]:
    return list(dict.fromkeys(labels.in_order(rows, "interconnect", "name")["name"]))


def _bars(gains: pd.DataFrame, scaling: pd.DataFrame) -> list[Bar]:
    """Bars of one interconnect at one core count: level 1, and every level that is compared with it."""
    bars: dict[int, Bar] = {}
    for gain in as_lines(gains):
        placement = scaling["processes_per_node"] / scaling["oversubscription"]
        cores_per_node = gain["processes_per_node"] / gain["oversubscription"]
        for level, processes in (
            (1, gain["processes_of_one"]),
            (gain["oversubscription"], gain["processes"]),
        ):
            found = scaling[
                (scaling["interconnect"] == gain["interconnect"])
                & (scaling["kind"] == gain["kind"])
                & (scaling["oversubscription"] == level)
                & (scaling["processes"] == processes)
                & (placement.isna() | (placement == cores_per_node))
            ]
            for row in as_lines(found.head(1)):
                bars.setdefault(level, Bar(gain["name"], level, row, gain if level > 1 else None))
    return [bars[level] for level in sorted(bars)]


def _draw_bars(
    axes: Axes,
    bars: Sequence[Bar],
    levels: Sequence[int],
    first: float,
    drawing: Drawing,
    labels: FigureLabels,
) -> None:
    for bar in bars:
        height, interconnect = first + levels.index(bar.level), bar.row["interconnect"]
        value, low, high = interval(bar.row, "seconds")
        hollow = is_missing(low)
        (patch,) = axes.barh(
            height,
            value,
            height=0.86,
            facecolor=labels.look(interconnect).colour,
            hatch=_hatch(levels, bar.level),
            edgecolor=style.PAPER,
            linewidth=0,
            zorder=2,
        )
        hover = f"time per run {formats.bracketed(value, low, high)}{formats.THIN}s"
        label = ""
        if bar.gain is not None:
            gain = formats.bracketed_percent(*percent_interval(bar.gain, "gain"))
            star = "*" if bar.gain["verdict"] in ("faster", "slower") else ""
            label = f"{gain}{formats.THIN}%{star}"
            hover += f", gain {label}"
        drawing.mark(patch, interconnect, point_text(labels, bar.row, bar.name, hover))
        if not hollow:
            (whisker,) = axes.plot([low, high], [height, height], color=style.INK, linewidth=0.9, zorder=3)
            drawing.mark(whisker, interconnect)
        text = axes.annotate(
            label, (value if hollow else max(value, high), height), xytext=(3, 0), textcoords="offset points",
            va="center", fontsize=7,
        )  # fmt: skip
        drawing.mark(text, interconnect)


def _caption(
    case: str, cores: Sequence[int], all_cores: Sequence[int], rows: pd.DataFrame, labels: Labels
) -> str:
    sentences = [
        f"{labels.case(case)}: time per run at equal cores, by oversubscription level (processes per core). "
        "Beside the bars: the gain over one process per core, in percent of speed."
    ]
    if len(cores) < len(all_cores):
        sentences.append(f"Shown are the largest {len(cores)} of {len(all_cores)} core counts.")
    if len(comparable_sets(rows["kind"], labels.declared)) > 1:
        sentences.append("Kinds that the study does not compare are apart.")
    if rows["gain_low"].notna().any():
        tested = "; * marks what is told as faster or slower" if rows["p_adjusted"].notna().any() else ""
        sentences.append(f"Whiskers and brackets are {labels.intervals(rows)}{tested}.")
    else:
        sentences.append(f"There are no intervals, since {too_few(rows['blocks'])}.")
    return " ".join(sentences)
