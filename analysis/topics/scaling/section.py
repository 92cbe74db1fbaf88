"""The sections on the scaling of each case: its description, its curves and its numbers."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import listed
from analysis.presentation.sentences import disagreement_sentences, reference_sentences
from analysis.runs.facts import AboutCase
from analysis.runs.frames import lowest_level
from analysis.topics.fastest.section import network_answer
from analysis.topics.quality.tables import is_without_block, repeated_points
from analysis.topics.scaling.case_tables import scaling_tables

TEXT_WIDTH = 110
"""Letters on a line of text."""
TEXT_INCHES = 0.18
"""Height of a line of text."""
ROW_INCHES = 0.136
"""Height of a table row."""
PAGE_INCHES = 8.4
"""Height of a page without headings and captions."""


def case_sections(content: Content) -> list[Section]:
    """Write a section for each case, which starts a page."""
    sections: list[Section] = []
    several_cases = len(content.cases) > 1
    for case in content.cases:
        scaling, labels = content.rows("scaling", case), content.labels
        blocks = [paragraph(text, case) for text in _description(content.facts.case(case))]
        references, site_references = reference_sentences(scaling, labels)
        blocks.append(paragraph(" ".join(references), case))
        if site_references:
            blocks.append(bullets(site_references, "Reference run of each site", case))
        blocks += content.figures("scaling", case)
        runs = content.runs[content.runs["case"] == case]
        has_blocks = not (repeated_points(runs[runs["valid"]]).any() or is_without_block(runs).any())
        blocks += scaling_tables(case, scaling, labels, _room(blocks), has_blocks)
        if notes := _notes(content, case):
            blocks.append(bullets(notes, "", case))
        name = f"case-{len(sections) + 1}"
        if made := section(name, labels.case(case), blocks, several_cases, case):
            sections.append(made)
    return sections


def _notes(content: Content, case: str) -> list[str]:
    """Return sentences on facts that no table of a case shows."""
    disagreeing = disagreement_sentences(lowest_level(content.rows("improvement", case)), content.labels)
    return [*network_answer(content, case), *disagreeing]


def _room(blocks: Sequence[Block]) -> int:
    """Estimate how many table rows fit on an A4 page below paragraphs and figures."""
    texts = sum(-(-len(block["text"]) // TEXT_WIDTH) for block in blocks if block["type"] == "paragraph")
    texts += sum(1 + len(block["items"]) for block in blocks if block["type"] == "list")
    figures = sum(block["height_inches"] for block in blocks if block["type"] == "figure")
    return int((PAGE_INCHES - texts * TEXT_INCHES - figures) / ROW_INCHES)


def _description(about: AboutCase) -> list[str]:
    """Return one paragraph with the description of a case and its check, or none."""
    sentences = [about.description] if about.description else []
    if check := about.answer:
        unit = f" {check.unit}" if check.unit else ""
        expected = check.references or ({} if check.reference is None else {"": check.reference})
        values = listed(
            f"{formats.exact(value)}{unit}{f' ({size})' if size else ''}" for size, value in expected.items()
        )
        sentences.append(
            f"A run counts only if its {check.quantity.replace('_', ' ')} equals {values} within a relative "
            f"tolerance of {formats.exact(check.tolerance)}."
        )
    return [" ".join(sentences)] if sentences else []
