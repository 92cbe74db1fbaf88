"""The section about improvements over the baselines."""

from __future__ import annotations

from analysis.presentation import result_tables as tables
from analysis.presentation.blocks import Section, bullets, paragraph, section
from analysis.presentation.content import Content
from analysis.topics.improvement.sentences import not_compared


def comparison(content: Content) -> Section | None:
    """Improvement over the baselines, case by case."""
    improvement = content.tables["improvement"]
    printed = tables.improvement_table(improvement, content.labels)
    refused = [f"{text}." for text in not_compared(improvement, content.labels)]
    if not printed["groups"]:
        if content.facts.study.unfinished:
            return None
        why = "No two interconnects of kinds that may be compared were run at a common count."
        text = f"There is no comparison: {why}"
        return section("improvement", "Improvement over the baseline", [paragraph(" ".join(refused) or text)])
    blocks = [*content.figures("improvement"), printed]
    blocks += [bullets(refused)] if refused else []
    if "improvement_mean" in content.tables:
        blocks.append(tables.improvement_mean_table(content.tables["improvement_mean"], content.labels))
    return section("improvement", "Improvement over the baseline", blocks)
