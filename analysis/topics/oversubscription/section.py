"""The section about levels of oversubscription."""

from __future__ import annotations

from analysis.presentation import result_tables as tables
from analysis.presentation.blocks import Section, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import listed


def oversubscription(content: Content) -> Section | None:
    """Oversubscription levels side by side."""
    gains, labels = content.tables["oversubscription"], content.labels
    if gains.empty and content.facts.study.unfinished:
        return None
    if gains.empty:
        levels = sorted({int(level) for level in content.tables["scaling"]["oversubscription"]})
        text = f"Oversubscription {listed(map(str, levels))} have no core count in common."
        return section("oversubscription", "Oversubscription", [paragraph(text)] if len(levels) > 1 else [])
    figures = content.figures("oversubscription")
    blocks = [*figures, tables.oversubscription_table(gains, labels)]
    return section("oversubscription", "Oversubscription side by side", blocks)
