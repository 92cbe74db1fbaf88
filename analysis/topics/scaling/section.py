"""A page for each case: its description, its curves and its numbers."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.presentation import formats, sentences
from analysis.presentation.blocks import Block, Section, bullets, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import listed
from analysis.runs.facts import AboutCase
from analysis.runs.frames import lowest_level
from analysis.topics.fastest.section import network_answer
from analysis.topics.scaling.case_tables import scaling_tables

TEXT_WIDTH = 110
TEXT_INCHES = 0.18
ROW_INCHES = 0.136
PAGE_INCHES = 8.4
"""Letters on a line, heights of a line, of a table's row, and of a page without headings and captions."""


def case_sections(content: Content) -> list[Section]:
    """One page a case: what it is, its curves and its numbers."""
    made = []
    several = len(content.cases) > 1
    for case in content.cases:
        scaling, labels = content.rows("scaling", case), content.labels
        blocks = [paragraph(text, case) for text in _description(content.facts.case(case))]
        blocks.append(paragraph(" ".join(sentences.reference_sentences(scaling, labels)), case))
        blocks += content.figures("scaling", case)
        blocks += scaling_tables(case, scaling, labels, _room(blocks))
        blocks += [bullets(said, "", case)] if (said := _special(content, case)) else []
        made.append(section(f"case-{len(made) + 1}", labels.case(case), blocks, several, case))
    return list(filter(None, made))


def _special(content: Content, case: str) -> list[str]:
    """What no table of a case says."""
    disagreeing = sentences.disagreement_sentences(
        lowest_level(content.rows("improvement", case)), content.labels
    )
    return [*network_answer(content, case), *disagreeing]


def _room(blocks: Sequence[Block]) -> int:
    """Estimate how many lines of a table fit on an A4 page below paragraphs and figures."""
    texts = sum(-(-len(block["text"]) // TEXT_WIDTH) for block in blocks if block["type"] == "paragraph")
    figures = sum(block["height_inches"] for block in blocks if block["type"] == "figure")
    return int((PAGE_INCHES - texts * TEXT_INCHES - figures) / ROW_INCHES)


def _description(about: AboutCase) -> list[str]:
    said = [about.description] if about.description else []
    if check := about.answer:
        unit = f" {check.unit}" if check.unit else ""
        expected = check.references or {None: check.reference}
        values = listed(
            f"{formats.exact(value)}{unit}{f' ({size})' if size else ''}" for size, value in expected.items()
        )
        said.append(
            f"A run counts only if its {check.quantity.replace('_', ' ')} is within a relative "
            f"{formats.exact(check.tolerance)} of {values}."
        )
    return [" ".join(said)] if said else []
