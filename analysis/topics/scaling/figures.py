"""Figures of speedup, efficiency and time: one per case, and an overview of all cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import pandas as pd

from analysis.presentation import formats, style
from analysis.presentation.curve_panels import (
    EFFICIENCY,
    TIME,
    Panel,
    counts_of,
    draw_panel,
    finish_axis,
    label_ends,
    panels_of,
    speedup_of,
)
from analysis.presentation.drawing import Drawing, file_stem, new_drawing, shortened
from analysis.presentation.labels import Labels
from analysis.presentation.legend import add_legend, legend_entries, reading_notes
from analysis.presentation.style import FigureLabels
from analysis.runs.kinds import ORDER

PANEL_HEIGHT = 1.85
"""Height of a row of panels, in inches."""
LEAST_PANELS, ALL_PANELS = 2.3, 4.6
"""Smallest and largest height of all rows of a case."""
OVERVIEW_COLUMNS = 4
OVERVIEW_HEIGHT = 1.45
"""Height of a row of the overview, in inches."""
MOST_NAMED = 5
"""Largest number of curves in a panel with names at their ends."""
MOST_ROWS = 5
"""Largest number of rows on a page of the overview."""


def scaling_figures(scaling: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw speedup, efficiency and time of every case, with a row of panels per oversubscription level.

    Kinds that may not be compared have separate rows.

    Returns
    -------
    list of Drawing
        One figure per case with a parallel run, in the study's order.
    """
    drawings = []
    for case, rows in labels.by_case(scaling):
        if panels := panels_of(rows, labels.declared):
            absent = sorted(set(rows["oversubscription"]) - {panel.level for panel in panels})
            drawings.append(_scaling_figure(case, panels, absent, labels))
    return drawings


def _scaling_figure(
    case: str, panels: Sequence[Panel], absent: Sequence[int], labels: FigureLabels
) -> Drawing:
    """Draw the panels of a case; `absent` levels have too few points for a curve."""
    rows = pd.concat([panel.rows for panel in panels])
    quantities = (speedup_of(labels), EFFICIENCY, TIME)
    named = max(len(legend_entries(panel.rows, labels)) for panel in panels) <= MOST_NAMED
    caption, alt = _scaling_caption(case, panels, absent, rows, labels), _alt(case, rows, labels)
    inches = min(max(PANEL_HEIGHT * len(panels), LEAST_PANELS), ALL_PANELS) + 0.15
    with new_drawing(file_stem("scaling", case), "scaling", inches, caption, alt, case) as drawing:
        grid = drawing.figure.subplots(len(panels), 3, squeeze=False)
        for panel, axes in zip(panels, grid, strict=True):
            for axis, quantity in zip(axes, quantities, strict=True):
                draw_panel(axis, panel, quantity, drawing, labels)
                axis.set_ylabel(quantity.title)
                finish_axis(axis, panel.rows, quantity, inches=1.4 if named else 1.7)
            axes[0].set_title(_panel_title(panel, panels), fontweight="bold")
            if named:
                height = inches / len(panels) - 0.5
                label_ends(axes[0], panel, quantities[0], height, drawing, labels, width=18, lines=2)
        for axis in grid[-1]:
            axis.set_xlabel(_capital(counts_of(rows)))
        add_legend(drawing, rows, labels, bool(rows["serial"].any()), named=named)
    return drawing


def overview_figure(scaling: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the speedup of all cases, with one panel per case, kinds and oversubscription level.

    Returns
    -------
    list of Drawing
        One figure per page; none if the study has only serial runs.
    """
    by_case = ((case, panels_of(rows, labels.declared)) for case, rows in labels.by_case(scaling))
    panels = {case: panels_of_case for case, panels_of_case in by_case if panels_of_case}
    if not panels:
        return []
    rows = pd.concat([panel.rows for panels_of_case in panels.values() for panel in panels_of_case])
    pages = _pages(_overview_rows(panels, labels))
    shown = f"{speedup_of(labels).title} of each case against the number of {counts_of(rows)}."
    caption = " ".join([shown, *reading_notes(rows, labels, times=False)])
    stems = ["overview"] if len(pages) == 1 else [f"overview-{page}" for page in range(1, len(pages) + 1)]
    return [
        _overview_page(stem, page, caption, rows, labels) for stem, page in zip(stems, pages, strict=True)
    ]


@dataclass(frozen=True)
class _OverviewRow:
    """A row of panels.

    Attributes
    ----------
    words : sequence of str
        Lines that all panels of the row share, such as kinds and level.
    cells : sequence of (str, Panel)
        Cases with their panels.
    titles : sequence of str
        Titles of the panels.
    """

    words: Sequence[str]
    cells: Sequence[tuple[str, Panel]]
    titles: Sequence[str]


def _overview_page(
    name: str, page: Sequence[_OverviewRow], caption: str, rows: pd.DataFrame, labels: FigureLabels
) -> Drawing:
    """Draw one page. The legend names the curves of `rows`, which are on all pages. A row shares its axes."""
    speedup, columns = speedup_of(labels), max(len(row.cells) for row in page)
    cases = dict.fromkeys(case for row in page for case, _ in row.cells)
    case_names = formats.listed([labels.case(case) for case in cases])
    alt = f"{speedup.title} of {case_names} against {counts_of(rows)}."
    with new_drawing(name, "overview", len(page) * OVERVIEW_HEIGHT + 0.2, caption, alt) as drawing:
        grid = drawing.figure.subplots(len(page), columns, sharex="row", sharey="row", squeeze=False)
        for axis_row, row in zip(grid, page, strict=True):
            axis_row[0].set_ylabel("\n".join(map(_capital, [speedup.title, *row.words])))
            for axis, cell, title in zip_longest(axis_row, row.cells, row.titles):
                if cell is None:
                    axis.set_axis_off()
                    continue
                case, panel = cell
                drawing.mark(axis, case=case)
                draw_panel(axis, panel, speedup, drawing, labels)
                axis.set_title(shortened(title, width=24 if columns > 3 else 34))
                axis.tick_params(labelbottom=True, labelleft=True)
            rows_of_row = pd.concat([panel.rows for _, panel in row.cells])
            finish_axis(axis_row[0], rows_of_row, speedup, inches=style.WIDTH / columns - 0.4)
        for axis in grid[-1]:
            axis.set_xlabel(_capital(counts_of(rows)))
        add_legend(drawing, rows, labels, bool(rows["serial"].any()))
    return drawing


def _overview_rows(panels: Mapping[str, Sequence[Panel]], labels: Labels) -> list[list[_OverviewRow]]:
    """Arrange panels with cases along rows, and kinds and levels along columns.

    The panels of a single case are along rows. Rows of the same cases make a group. A case without a panel
    leaves no gap.
    """
    if len(panels) == 1:
        ((case, only_panels),) = panels.items()
        return [
            [
                _OverviewRow(
                    [], [(case, panel) for panel in row], [_panel_title(panel, only_panels) for panel in row]
                )
            ]
            for row in _rows_of(only_panels)
        ]
    all_panels = [panel for panels_of_case in panels.values() for panel in panels_of_case]
    groups = []
    for cases in _rows_of(list(panels)):
        group: list[_OverviewRow] = []
        above: dict[int, str] = {}
        for kinds, level in _kinds_and_levels([panel for case in cases for panel in panels[case]]):
            cells = list(filter(None, (_cell(case, panels.get(case, ()), kinds, level) for case in cases)))
            current = {column: case for column, (case, _) in enumerate(cells)}
            titles = [
                labels.case(case) if above.get(column) != case else "" for column, case in current.items()
            ]
            above = current
            group.append(_OverviewRow(_row_title(kinds, level, all_panels), cells, titles))
        groups.append(group)
    return groups


def _kinds_and_levels(panels: Sequence[Panel]) -> list[tuple[tuple[str, ...], int]]:
    """Return the kinds and levels of panels, without kinds that a wider set at the same level includes."""
    keys = {(panel.kinds, panel.level) for panel in panels}
    widest = [
        (kinds, level)
        for kinds, level in keys
        if not any(set(kinds) < set(others) for others, other_level in keys if other_level == level)
    ]
    return sorted(widest, key=lambda key: ([ORDER.index(kind) for kind in key[0]], key[1]))


def _cell(case: str, panels: Sequence[Panel], kinds: tuple[str, ...], level: int) -> tuple[str, Panel] | None:
    fitting = (panel for panel in panels if panel.level == level and set(panel.kinds) <= set(kinds))
    return next(((case, panel) for panel in fitting), None)


def _pages(groups: Sequence[Sequence[_OverviewRow]]) -> list[list[_OverviewRow]]:
    """Distribute groups of rows over pages of at most `MOST_ROWS` rows, without splitting a group."""
    pages: list[list[_OverviewRow]] = []
    for group in groups:
        if pages and len(pages[-1]) + len(group) <= MOST_ROWS:
            pages[-1] += group
        else:
            pages.append(list(group))
    return pages


def _rows_of(cells: Sequence[Any]) -> list[Sequence[Any]]:
    """Break cells into rows of nearly equal length."""
    rows = -(-len(cells) // OVERVIEW_COLUMNS)
    columns = -(-len(cells) // rows)
    return [cells[start : start + columns] for start in range(0, len(cells), columns)]


def _panel_title(panel: Panel, panels: Sequence[Panel]) -> str:
    return _capital(", ".join(_row_title(panel.kinds, panel.level, panels)))


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _row_title(kinds: tuple[str, ...], level: int, panels: Sequence[Panel]) -> list[str]:
    """Return kinds and level, if the panels differ in them."""
    words = []
    if len({panel.kinds for panel in panels}) > 1:
        words.append(formats.listed(kinds))
    if len({panel.level for panel in panels}) > 1:
        words.append(f"oversubscription {level}")
    return words


def _scaling_caption(
    case: str, panels: Sequence[Panel], absent: Sequence[int], rows: pd.DataFrame, labels: Labels
) -> str:
    shown = f"{labels.case(case)}: {labels.speedup}, efficiency and time per run"
    sentences = [f"{shown} against the number of {counts_of(rows)}."]
    sentences += reading_notes(rows, labels, times=True)
    if len({panel.level for panel in panels}) > 1:
        sentences.append(
            "Each row of panels shows one number of processes per core. All rows have the same reference. "
            "The ideal line depends on the number of cores."
        )
    if len({panel.kinds for panel in panels}) > 1:
        sentences.append("Results in the same row of panels may be compared with each other.")
    if absent:
        levels = formats.listed(map(str, absent))
        sentences.append(f"Oversubscription {levels} has no curve, because it has only one count.")
    return " ".join(sentences)


def _alt(case: str, rows: pd.DataFrame, labels: Labels) -> str:
    names = formats.listed(entry.label for entry in legend_entries(rows, labels))
    counts = sorted({int(count) for count in rows[counts_of(rows)]})
    return (
        f"{labels.speedup.capitalize()}, efficiency and time per run of {labels.case(case)} against "
        f"{counts[0]} to {counts[-1]} {counts_of(rows)} over {names}."
    )
