"""Comparisons without what the speed of the machine explains, beside the plain ones."""

from __future__ import annotations

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Section, bullets, section
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING, counted
from analysis.presentation.rows import in_percent, line_table, numbers, texts, with_levels
from analysis.runs.frames import Line, is_missing
from analysis.runs.kinds import side
from analysis.topics.adjusted.tables import EXPLAINS

ABOUT = (
    "A fixed piece of work of 0.1 s was timed on the cores of each long repetition, before and after it. "
    "Where it explains the times, comparisons are also given without its share. The plain ones stay the "
    "result, and their tests the only ones."
)


def adjusted(content: Content) -> Section | None:
    """Plain and adjusted comparisons side by side."""
    if "adjusted" not in content.tables:
        return None
    rows, labels = content.tables["adjusted"], content.labels
    said = [f"{labels.case(case)}: {_explained(some)}" for case, some in labels.by_case(rows)]

    def baseline(line: Line) -> str:
        return f"Over {labels.interconnect(line['baseline_interconnect'], side(str(line['kind']), 0))}"

    fields = [
        texts("Case", labels.case, "case"),
        texts("Interconnect", labels.compared),
        numbers("Processes", formats.whole, "at_processes"),
        numbers("Improvement (%)", in_percent("improvement")),
        numbers("Adjusted (%)", in_percent("adjusted")),
        numbers("Narrower by", formats.percent, "narrower_percent"),
        texts("Note", lambda note: MISSING if is_missing(note) else note, "note"),
    ]
    keys = ("baseline_interconnect", "oversubscription", "case", "interconnect")
    block = line_table(
        "Improvements as they are, and as they would be on a machine of steady speed.",
        fields,
        labels.lines(rows, *keys),
        with_levels(rows, baseline),
    )
    given = rows["adjusted_percent"].notna().any()
    return section(
        "adjusted", "The speed of the machine", [bullets([ABOUT, *said]), *([block] if given else [])]
    )


def _explained(rows: pd.DataFrame) -> str:
    """Say what the fixed work explains of a case, and what that makes of its intervals."""
    first, given = rows.iloc[0], rows[rows["adjusted_percent"].notna()]
    if is_missing(first["slope"]):
        return "nothing varies."
    test = f"over all orders of the blocks, {formats.p_value(first['probe_p_value'])}"
    if first["probe_p_value"] > EXPLAINS:
        return f"it does not explain the times ({test})."
    narrower = given["narrower_percent"]
    known = f"it explains {formats.percent(first['explained_percent'])} of their scatter ({test})"
    if narrower.dropna().empty:
        return f"{known}; no comparison is adjusted."
    middle, of = formats.percent(narrower.median()), counted(len(given), "comparison")
    return f"{known}; adjusted intervals are narrower by {middle}, at the median of {of}."
