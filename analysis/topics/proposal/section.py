"""The page of a proposal: one curve per case, and a note about curves and counts that are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.presentation.blocks import right
from analysis.presentation.formats import counted, listed
from analysis.presentation.labels import Labels
from analysis.runs.frames import CURVE, rows_like
from analysis.runs.kinds import ORDER
from analysis.runs.settings import Rule
from analysis.topics.proposal.sheets import Sheet, rule_text, sheets

MOST_COUNTS = 12
"""Largest number of process counts per curve, spread evenly from the smallest to the largest."""
MOST_NAMED = 4
LONGEST = 240
"""Largest number of characters that the page shows of a text from the study or the rule."""


@dataclass(frozen=True)
class Choice:
    """The curves of a page.

    Attributes
    ----------
    sheets, cases : tuple
        One sheet per case in the order of the page, and the titles of the cases.
    curves : int
        Number of curves in the table ``proposal``.
    thinned : bool
        Whether the page leaves out process counts of a curve.
    introduction : str
        Sentences that state the rule, and by which criteria the curves were chosen.
    """

    sheets: tuple[Sheet, ...]
    cases: tuple[str, ...]
    curves: int
    thinned: bool
    introduction: str


def choose(table: pd.DataFrame, rule: Rule | None, labels: Labels, interconnect: str | None = None) -> Choice:
    """Choose one curve per case for the page.

    Only curves at the lowest oversubscription and of one kind are considered: the first kind of the case in
    the order `analysis.runs.kinds.ORDER`. Among them, the curve of the study's interconnect is chosen. If
    there is no such curve, the curve with the highest speedup is chosen.

    Parameters
    ----------
    table : DataFrame
        Table ``proposal``, judged by `rule`.
    interconnect : str, optional
        Interconnect that the study names for its proposal.
    """
    if rule is None or table.empty:
        introduction = f"{_cut(rule_text(rule))} " if rule else ""
        return Choice((), (), 0, False, f"{introduction}There is no run to judge.")
    chosen = pd.concat([_chosen_curve(rows, interconnect) for _, rows in labels.by_case(table)])
    all_sheets = sheets(chosen, rule, labels)
    kinds = [kind for kind in ORDER if kind in set(table["kind"])]
    choice = "the curve with the highest speedup"
    if len(kinds) > 1:
        choice += f" of its {', else '.join(kinds)} runs"
    if interconnect is not None:
        choice = f"the curve of {labels.interconnect(interconnect)}. Cases without this curve show {choice}"
    return Choice(
        sheets=tuple(_thinned(sheet) for sheet in all_sheets),
        cases=tuple(map(labels.case, labels.sorted_cases(table["case"]))),
        curves=table.groupby(CURVE, dropna=False).ngroups,
        thinned=any(len(sheet.rows) > MOST_COUNTS for sheet in all_sheets),
        introduction=(
            f"{_cut(rule_text(rule))} The tables show one curve per case at the lowest oversubscription that "
            f"was run: {choice}."
        ),
    )


def _chosen_curve(rows: pd.DataFrame, interconnect: str | None) -> pd.DataFrame:
    """Return the rows of the curve that `choose` chooses from the rows of a case."""
    first_kind = min(rows["kind"], key=ORDER.index)
    rows = rows[rows["kind"] == first_kind]
    rows = rows[rows["oversubscription"] == rows["oversubscription"].min()]
    of_interconnect = rows[rows["interconnect"] == interconnect]
    candidates = rows if of_interconnect.empty else of_interconnect
    fastest = candidates.nlargest(1, "speedup").iloc[0].to_dict()
    return rows_like(candidates, fastest)


def _thinned(sheet: Sheet) -> Sheet:
    """Keep at most `MOST_COUNTS` rows of a sheet, spread evenly, and cut its texts."""
    last = len(sheet.rows) - 1
    kept = np.unique(np.linspace(0, last, min(MOST_COUNTS, last + 1)).round().astype(int))
    return replace(
        sheet,
        title=_cut(sheet.title),
        reading=_cut(sheet.reading),
        rows=tuple(sheet.rows[index] for index in kept),
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def page(
    choice: Choice, number: int, labels: Labels, figures: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Make a page of the first `number` curves of a choice, as plain data.

    Parameters
    ----------
    figures : sequence of mapping
        Entries of the report's figures; the page shows the first figure of all cases side by side.

    Returns
    -------
    dict
        ``title, subtitle, paragraphs, figure, sheets``. A sheet is a mapping of the attributes of
        `analysis.topics.proposal.sheets.Sheet`, with each title of the header as a list of lines. The figure
        is an entry or None.
    """
    shown = choice.sheets[:number]
    return {
        "title": _cut(labels.title),
        "subtitle": _cut(f"Scaling table for a proposal · {labels.subtitle}"),
        "paragraphs": [choice.introduction, *_left_out(choice, number)],
        "figure": next((entry for entry in figures if entry["topic"] == "overview"), None),
        "sheets": [
            asdict(sheet) | {"header": [head["title"] for head in right(*sheet.header)]} for sheet in shown
        ],
    }


def _left_out(choice: Choice, number: int) -> list[str]:
    """List the curves, cases and counts that the page does not show, and the files that have them."""
    omitted = []
    if other_curves := choice.curves - len(choice.sheets):
        omitted.append(counted(other_curves, "other curve"))
    if cases := [_cut(title) for title in choice.cases[number:]]:
        names = cases[:MOST_NAMED]
        if len(cases) > MOST_NAMED:
            names.append(counted(len(cases) - MOST_NAMED, "more", "more"))
        omitted.append(f"{counted(len(cases), 'case')} without space ({listed(names)})")
    if choice.thinned:
        omitted.append(f"process counts beyond {MOST_COUNTS} per curve")
    if not omitted:
        return []
    files = "tables/proposal.csv, proposal.tex and proposal.docx"
    text = f"This page leaves out {listed(omitted)}. The whole table is in {files}."
    if choice.thinned:
        text += " Incremental efficiency refers to the next smaller count that was run."
    return [text]
