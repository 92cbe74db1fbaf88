"""What the page of a proposal shows: one curve a case, and what it leaves out."""

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
"""Process counts of a curve, evenly taken from the smallest to the largest."""
MOST_NAMED = 4
LONGEST = 240
"""Letters of a text that a study or rule gives."""


@dataclass(frozen=True)
class Choice:
    """The curves of a page, in its order, and how many there were to choose from.

    Attributes
    ----------
    sheets, cases : tuple
        One sheet a case, and the titles of the cases.
    curves : int
        Of the whole table.
    thinned : bool
        Whether a curve has more counts than are shown.
    introduction : str
        The rule, and how the curves were chosen.
    """

    sheets: tuple[Sheet, ...]
    cases: tuple[str, ...]
    curves: int
    thinned: bool
    introduction: str


def choose(table: pd.DataFrame, rule: Rule | None, labels: Labels, interconnect: str | None = None) -> Choice:
    """Choose one curve a case.

    It is the curve of the study's interconnect or, where the case did not run over it or the study names
    none, the curve with the highest speedup; at the lowest oversubscription level, and of the first kind of
    `analysis.runs.kinds.ORDER` that the case has, since kinds are not compared.

    Parameters
    ----------
    table : DataFrame
        Table ``proposal``, judged by `rule`.
    """
    if rule is None or table.empty:
        return Choice((), (), 0, False, f"{_cut(rule_text(rule))} There is no run to judge.")
    chosen = pd.concat([_curve(rows, interconnect) for _, rows in labels.by_case(table)])
    found = sheets(chosen, rule, labels)
    kinds = [kind for kind in ORDER if kind in set(table["kind"])]
    how = "with the highest speedup" + f" of its {', else '.join(kinds)} runs" * (len(kinds) > 1)
    if interconnect is not None:
        how = f"of {labels.interconnect(interconnect)}, or where it was not run the one {how}"
    return Choice(
        sheets=tuple(_thinned(sheet) for sheet in found),
        cases=tuple(map(labels.case, labels.sorted_cases(table["case"]))),
        curves=table.groupby(CURVE, dropna=False).ngroups,
        thinned=any(len(sheet.rows) > MOST_COUNTS for sheet in found),
        introduction=f"{_cut(rule_text(rule))} Tabulated is one curve a case: the one {how}, at the lowest "
        "oversubscription that was run.",
    )


def _curve(rows: pd.DataFrame, interconnect: str | None) -> pd.DataFrame:
    first_kind = min(rows["kind"], key=ORDER.index)
    rows = rows[rows["kind"] == first_kind]
    rows = rows[rows["oversubscription"] == rows["oversubscription"].min()]
    named = rows[rows["interconnect"] == interconnect]
    rows = rows if named.empty else named
    return rows_like(rows, rows.loc[rows["speedup"].idxmax()])


def _thinned(sheet: Sheet) -> Sheet:
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
    """Put together a page of the first `number` curves of a choice, as plain data.

    Parameters
    ----------
    figures : sequence of mapping
        Entries of the report's figures, of which the page shows the first of all cases side by side.

    Returns
    -------
    dict
        ``title, subtitle, paragraphs, figure, sheets``, the sheets as mappings of the attributes of
        `analysis.topics.proposal.sheets.Sheet`, each title of the header as a list of lines; the figure is an
        entry, or None.
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
    """Say what is not shown, and where it is."""
    said = []
    if others := choice.curves - len(choice.sheets):
        said.append(counted(others, "other curve"))
    if missing := [_cut(title) for title in choice.cases[number:]]:
        named = missing[:MOST_NAMED]
        more = [counted(len(missing) - len(named), "more", "more")] if len(missing) > len(named) else []
        said.append(f"for want of room {counted(len(missing), 'case')} ({listed([*named, *more])})")
    if choice.thinned:
        said.append(f"process counts where a curve has more than {MOST_COUNTS}")
    if not said:
        return []
    steps = " Incremental efficiency is that over the next smaller count that was run." * choice.thinned
    files = "tables/proposal.csv, proposal.tex and proposal.docx"
    return [f"Left out: {listed(said)}; all is in {files}.{steps}"]
