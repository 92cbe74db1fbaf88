"""Do more processes per core pay?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from analysis.curves.curve_comparison import gain_columns
from analysis.curves.curves import Curve
from analysis.presentation import formats, style
from analysis.presentation.axes import name_rows
from analysis.presentation.blocks import Block, Section, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.contests import direction, has_single_value
from analysis.presentation.drawing import Drawing, file_stem, new_drawing, point_text, shortened
from analysis.presentation.formats import counted, listed, percents
from analysis.presentation.labels import Labels
from analysis.presentation.rows import MOST_ROWS, line_table, numbers, p_value, percent_cell, texts, verdict
from analysis.presentation.sentences import too_few
from analysis.presentation.style import FigureLabels
from analysis.runs.columns import (
    COUNT,
    CURVE_COLUMNS,
    MARK,
    POSITIVE,
    SHARE,
    SIMULTANEOUS_INTERVAL,
    TEST_COLUMNS,
    VERDICT_COLUMNS,
    described,
    in_percent,
    table_schema,
    table_schemas,
    with_descriptions,
)
from analysis.runs.frames import Line, Tables, as_lines, interval, is_missing, percent_interval, stacked
from analysis.runs.kinds import comparable_sets
from analysis.runs.settings import Settings
from analysis.topics.topic import Context, Topic

OVERSUBSCRIPTION = table_schemas(
    table_schema(
        "oversubscription",
        "One row per level above 1, compared with level 1 on the same cores. The test is unpaired.",
        **CURVE_COLUMNS,
        cores=COUNT,
        nodes=COUNT,
        processes=COUNT,
        processes_of_one=described(COUNT, "Processes on the same cores at level 1."),
        seconds=described(POSITIVE, "Median time at this level."),
        seconds_of_one=described(POSITIVE, "Median time at level 1."),
        **with_descriptions(
            in_percent("gain"), gain_percent="100 × (time at level 1 / time − 1), from all pairs of blocks."
        ),
        p_value=SHARE,
        distinguishable=MARK,
        processes_per_node=POSITIVE,
        **TEST_COLUMNS,
        **VERDICT_COLUMNS,
        **SIMULTANEOUS_INTERVAL,
    ),
)

COLUMNS = 3
"""Largest number of core counts in a figure; the largest counts are shown."""
BAR_HEIGHT = 0.135
"""Height of a bar, in inches."""
GAP = 0.5
"""Distance between two interconnects, in bars."""


def make_oversubscription(context: Context) -> Tables:
    """Make the table ``oversubscription`` from the curves of all cases."""
    rows = [row for curves in context.curves.cases for row in oversubscription_rows(curves, context.settings)]
    return {"oversubscription": stacked(rows)}


def oversubscription_rows(curves: Sequence[Curve], settings: Settings) -> Iterator[dict[str, object]]:
    """Compare each level of oversubscription of a case with level 1 on the same number of cores.

    Levels differ in their process counts, so that no block has both levels. The test is therefore unpaired.
    """
    oversubscribed = [curve for curve in curves if curve.oversubscription > 1]
    for curve, baseline in product(oversubscribed, curves):
        if not _is_level_one_of(baseline, curve):
            continue
        for position in np.flatnonzero(~curve.is_serial).tolist():
            has_equal_cores = baseline.table["cores"] == curve.table["cores"][position]
            if has_equal_cores.any():
                baseline_position = int(np.flatnonzero(has_equal_cores)[-1])
                yield {
                    **gain_columns(baseline, baseline_position, curve, position, False, settings),
                    "processes_of_one": baseline.processes[baseline_position],
                    "seconds_of_one": baseline.table["seconds"][baseline_position],
                }


def _is_level_one_of(baseline: Curve, curve: Curve) -> bool:
    """Return whether `baseline` is level 1 of `curve`, with equal cores per node if placement varies."""
    if baseline.oversubscription != 1:
        return False
    if (baseline.kind, baseline.interconnect, baseline.threads) != (
        curve.kind,
        curve.interconnect,
        curve.threads,
    ):
        return False
    if baseline.processes_per_node is None or curve.processes_per_node is None:
        return True
    return baseline.processes_per_node * curve.oversubscription == curve.processes_per_node


def oversubscription(content: Content) -> Section | None:
    """Write the section that compares levels of oversubscription."""
    gains, labels = content.tables["oversubscription"], content.labels
    if len(gains):
        blocks = [*content.figures("oversubscription"), oversubscription_table(gains, labels)]
        return section("oversubscription", "Oversubscription side by side", blocks)
    levels = sorted({int(level) for level in content.tables["scaling"]["oversubscription"]})
    if content.facts.study.unfinished or len(levels) < 2:
        return None
    text = f"Oversubscription levels {listed(map(str, levels))} have no core count in common."
    return section("oversubscription", "Oversubscription", [paragraph(text)])


def oversubscription_table(oversubscription: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate the gain of every level over level 1 at equal cores."""
    rows = oversubscription
    caption = (
        "Gain in speed from several processes per core, compared with one process per core on the same cores."
    )
    if len(rows) > MOST_ROWS:
        rows = rows[rows["cores"] == rows.groupby("case")["cores"].transform("max")]
        caption += (
            " The table shows the largest core count. File tables/oversubscription.csv has all core counts."
        )
    fields = [
        texts(labels.interconnect_head, labels.curve),
        numbers("Cores", formats.whole, "cores"),
        numbers("Processes", formats.whole, "processes"),
        numbers("Time at one per core (s)", formats.number, "seconds_of_one"),
        numbers("Time (s)", formats.number, "seconds"),
        numbers("Gain (%)", percent_cell("gain")),
        numbers("p", p_value, "p_adjusted"),
        texts("Outcome", verdict),
    ]
    lines = labels.lines(rows, "case", "cores", "oversubscription", "interconnect")
    return line_table(caption, fields, lines, lambda line: labels.case(line["case"]))


def whether_levels_pay(gains: pd.DataFrame) -> list[str]:
    """State for each oversubscription level whether it pays at the largest core count of each case."""
    clauses = []
    most_cores = gains.groupby(["case", "oversubscription"])["cores"].transform("max")
    for level, rows in gains[gains["cores"] == most_cores].groupby("oversubscription"):
        lines = rows.to_dict("records")
        gains_by_direction: dict[str, list[float]] = {}
        for word in ("faster", "slower"):
            values = [line["gain_percent"] for line in lines if direction(line) == word]
            if values:
                gains_by_direction[word] = values
        if not gains_by_direction:
            clauses.append(f"it is undecided whether {level} processes per core pay")
            continue
        single = all(has_single_value(line) for line in lines if direction(line))
        basis = ", from a single run" if single else ""
        comparisons = counted(len(lines), "comparison")
        for word, values in gains_by_direction.items():
            which = f"{len(values)} of {comparisons}"
            if len(values) == len(lines):
                which = "the only comparison" if len(lines) == 1 else f"all {comparisons}"
            clauses.append(
                f"{level} processes per core are {percents(values)} {word} at equal cores in {which}{basis}"
            )
    return clauses


@dataclass(frozen=True)
class Bar:
    """A bar of the figure: the time of an interconnect at a level of oversubscription and a core count.

    Attributes
    ----------
    name : str
        Name of the interconnect, as its row of bars shows it.
    level : int
        Processes per core.
    row : mapping
        Row of the table ``scaling``.
    gain : mapping, optional
        Row of the table ``oversubscription``; None at level 1.
    """

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
        One figure for each case with a level above 1, in the study's order. A figure shows the largest
        `COLUMNS` core counts.
    """
    return [
        _figure(case, rows, scaling[scaling["case"] == case], labels)
        for case, rows in labels.by_case(oversubscription)
    ]


def _figure(case: str, rows: pd.DataFrame, scaling: pd.DataFrame, labels: FigureLabels) -> Drawing:
    """Draw the bars of a case: a row of panels per set of comparable kinds, a column per core count."""
    all_cores = sorted(int(cores) for cores in rows["cores"].unique())
    cores = all_cores[-COLUMNS:]
    rows = rows[rows["cores"].isin(cores)]
    rows = rows.assign(name=[_name(row, labels) for row in as_lines(rows)])
    interconnects = dict(zip(rows["name"], rows["interconnect"], strict=True))
    sets = comparable_sets(rows["kind"], labels.declared)
    levels = [1, *sorted(int(level) for level in rows["oversubscription"].unique())]
    groups = [rows[rows["kind"].isin(kinds)] for kinds in sets]
    names_of_groups = [_names(group, labels) for group in groups]
    heights = [BAR_HEIGHT * (len(levels) + GAP) * len(names) + 0.1 for names in names_of_groups]
    per_core = formats.listed(map(str, levels))
    alt = f"Time of {labels.case(case)} at equal cores with {per_core} processes per core."
    inches = sum(heights) + 0.85 + 0.2 * (len(sets) - 1)
    caption = _caption(case, cores, all_cores, rows, labels)
    stem = file_stem("oversubscription", case)
    with new_drawing(stem, "oversubscription", inches, caption, alt, case) as drawing:
        figure = drawing.figure
        grid = figure.subplots(
            len(sets), len(cores), squeeze=False, sharey="row", sharex=True, height_ratios=heights
        )
        for panels, group, names in zip(grid, groups, names_of_groups, strict=True):
            for axes, count in zip(panels, cores, strict=True):
                gains = group[group["cores"] == count].groupby("name")
                bars = [bar for _, gains_of_name in gains for bar in _bars(gains_of_name, scaling)]
                _draw_bars(axes, bars, names, levels, drawing, labels)
                name_rows(axes, [shortened(name, 26) for name in names])
            for name, label in zip(names, panels[0].get_yticklabels(), strict=True):
                drawing.mark(label, interconnects[name])
        for axes, count in zip(grid[0], cores, strict=True):
            axes.set_title(formats.counted(count, "core"), fontweight="bold")
        for axes in grid[-1]:
            axes.set_xlabel("Time per run (s)")
        highest = max(axes.dataLim.x1 for axes in grid.flat)
        grid[0][0].set_xlim(0, highest * (1.3 + 0.3 * len(cores)))
        grid[0][0].xaxis.set_major_locator(MaxNLocator(4))
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
    """Name the interconnect and its cores per node, which are the same at all levels."""
    name = labels.interconnect(row["interconnect"], row["kind"])
    if is_missing(row["processes_per_node"]):
        return name
    cores = row["processes_per_node"] / row["oversubscription"]
    return f"{name} with {formats.plain(cores)} {'core' if cores == 1 else 'cores'} per node"


def _names(rows: pd.DataFrame, labels: Labels) -> list[str]:
    return list(dict.fromkeys(labels.in_order(rows, "interconnect", "name")["name"]))


def _bars(gains: pd.DataFrame, scaling: pd.DataFrame) -> list[Bar]:
    """Make the bars of an interconnect at a core count: level 1, and every level compared with it.

    Parameters
    ----------
    gains : DataFrame
        Rows of the table ``oversubscription``, with column ``name``.
    scaling : DataFrame
        Rows of the table ``scaling`` of the case.
    """
    cores_per_node = scaling["processes_per_node"] / scaling["oversubscription"]
    bars: dict[int, Bar] = {}
    for gain in as_lines(gains):
        gain_cores_per_node = gain["processes_per_node"] / gain["oversubscription"]
        processes_by_level = {1: gain["processes_of_one"], gain["oversubscription"]: gain["processes"]}
        for level, processes in processes_by_level.items():
            rows = scaling[
                (scaling["interconnect"] == gain["interconnect"])
                & (scaling["kind"] == gain["kind"])
                & (scaling["oversubscription"] == level)
                & (scaling["processes"] == processes)
                & (cores_per_node.isna() | (cores_per_node == gain_cores_per_node))
            ]
            for row in as_lines(rows.head(1)):
                bars.setdefault(level, Bar(gain["name"], level, row, gain if level > 1 else None))
    return [bars[level] for level in sorted(bars)]


def _draw_bars(
    axes: Axes,
    bars: Sequence[Bar],
    names: Sequence[str],
    levels: Sequence[int],
    drawing: Drawing,
    labels: FigureLabels,
) -> None:
    """Draw the bars of a panel, with a row for each name and a bar for each level."""
    if not bars:
        return
    table = pd.DataFrame(
        {"name": bar.name, "level": bar.level, "seconds": bar.row["seconds"]} for bar in bars
    )
    sns.barplot(
        table, x="seconds", y="name", hue="level", order=names, hue_order=levels, palette="deep",
        errorbar=None, linewidth=0, legend=False, zorder=2, ax=axes,
    )  # fmt: skip
    axes.set(xlabel="", ylabel="")
    for level, patches in zip(levels, axes.containers, strict=True):
        bars_of_level = [bar for name in names for bar in bars if (bar.name, bar.level) == (name, level)]
        for bar, patch in zip(bars_of_level, patches, strict=True):
            look = labels.look(bar.row["interconnect"])
            patch.set(facecolor=look.colour, edgecolor=style.PAPER, hatch=_hatch(levels, level))
            _annotate(axes, bar, patch, drawing, labels)


def _annotate(axes: Axes, bar: Bar, patch: Rectangle, drawing: Drawing, labels: FigureLabels) -> None:
    """Add the whisker of a bar, its gain, and the text on hover."""
    interconnect, middle = bar.row["interconnect"], patch.get_y() + patch.get_height() / 2
    value, low, high = interval(bar.row, "seconds")
    hover = f"time per run {formats.bracketed(value, low, high)}{formats.THIN}s"
    gain = ""
    if bar.gain is not None:
        star = "*" if bar.gain["verdict"] in ("faster", "slower") else ""
        gain = f"{formats.bracketed_percent(*percent_interval(bar.gain, 'gain'))}{formats.THIN}%{star}"
        hover += f", gain {gain}"
    drawing.mark(patch, interconnect, point_text(labels, bar.row, bar.name, hover))
    if not is_missing(low):
        (whisker,) = axes.plot([low, high], [middle, middle], color=style.INK, linewidth=0.9, zorder=3)
        drawing.mark(whisker, interconnect)
    end = value if is_missing(high) else max(value, high)
    text = axes.annotate(
        gain, (end, middle), xytext=(3, 0), textcoords="offset points", va="center", fontsize=7
    )
    drawing.mark(text, interconnect)


def _caption(
    case: str, cores: Sequence[int], all_cores: Sequence[int], rows: pd.DataFrame, labels: Labels
) -> str:
    """Explain the bars, whiskers and stars of a figure."""
    sentences = [
        f"{labels.case(case)}: time per run on the same number of cores. The bars differ in the number of "
        "processes per core. Numbers right of the bars are the gain in speed, compared with one process per "
        "core."
    ]
    if len(cores) < len(all_cores):
        sentences.append(f"The figure shows the largest {len(cores)} of {len(all_cores)} core counts.")
    if len(comparable_sets(rows["kind"], labels.declared)) > 1:
        sentences.append("Results in the same panel may be compared with each other.")
    if rows["gain_low"].notna().any():
        tested = " A * marks a verdict of faster or slower." if rows["p_adjusted"].notna().any() else ""
        sentences.append(f"Whiskers and brackets are {labels.intervals(rows)}.{tested}")
    else:
        sentences.append(f"The times have no intervals, because {too_few(rows['blocks'])}.")
    return " ".join(sentences)


TOPIC = Topic(
    name="oversubscription",
    schemas=OVERSUBSCRIPTION,
    make=make_oversubscription,
    by_site=True,
    always=("oversubscription",),
    tested=("oversubscription",),
    directions=("oversubscription",),
    draw=lambda view: oversubscription_figures(
        view.tables["oversubscription"], view.tables["scaling"], view.labels
    ),
    section=oversubscription,
    on_screen={"figure"},
)
