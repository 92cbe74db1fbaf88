"""Arrange page one and the sections of all topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import pandas as pd

from analysis.curves.sites import with_distinct_interconnects
from analysis.presentation import sentences
from analysis.presentation.blocks import Block, Section, lines_of
from analysis.presentation.content import Content
from analysis.presentation.style import looks
from analysis.report.explore import explore
from analysis.report.page_one import page_one
from analysis.runs.errors import one_line
from analysis.runs.facts import Facts
from analysis.topics.network.curves import interconnects_of, without_benchmarks
from analysis.topics.registry import TOPICS
from analysis.topics.topic import Topic

LONGEST = 22
"""Rows of the longest table that the appendix prints."""


def make_report(
    runs: pd.DataFrame,
    tables: Mapping[str, pd.DataFrame],
    facts: Facts,
    entries: Sequence[Mapping[str, Any]],
    published: Mapping[str, pd.DataFrame] | None = None,
) -> dict[str, Any]:
    """Put a report together.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        As `analysis.pipeline.make_all_tables` gives them.
    entries : sequence of mapping
        One for each figure, as `analysis.presentation.drawing.Drawing.entry` gives it.
    published : mapping of str to DataFrame, optional
        Published figures, as `analysis.importers.read_published` gives them.

    Returns
    -------
    dict
        ``title, subtitle, study, unfinished, cases, interconnects, sections, explore``; texts, lists and
        numbers only, so that it can be written as JSON. The shape of a section is that of
        `analysis.presentation.blocks.Section`.
    """
    runs, tables, facts = with_distinct_interconnects(runs, without_benchmarks(tables), facts)
    content = Content(runs, tables, facts, entries, published or {})
    labels = content.labels
    present = labels.sorted_interconnects(interconnects_of(runs, tables))
    appearance = looks(facts.interconnects, present)
    first = _arranged(page_one(content), frozenset(), False)
    sections = [first, *filter(None, (_without_repeated_figures(part, first) for part in _sections(content)))]
    return {
        "title": labels.title,
        "subtitle": labels.subtitle,
        "study": facts.study.name or "",
        "unfinished": " ".join(sentences.look_sentences(facts.study)) if facts.study.unfinished else "",
        "cases": [{"name": case, "title": labels.case(case)} for case in labels.sorted_cases(runs["case"])],
        "interconnects": [
            {"name": one_line(name), "title": labels.interconnect(name), "colour": appearance[name].colour}
            for name in present
        ],
        "sections": sections,
        "explore": explore(content, appearance) if content.cases and not facts.study.unfinished else None,
    }


def _sections(content: Content) -> Iterator[Section]:
    """Sections of all topics: the body, then the appendix."""
    for in_appendix in (False, True):
        for topic in TOPICS:
            if topic.section and _is_in_appendix(topic, content) == in_appendix:
                yield from _sections_of(topic, content, in_appendix)


def _is_in_appendix(topic: Topic, content: Content) -> bool:
    """Whether a topic is in the appendix; prices are the subject of a study without runs."""
    return topic.in_appendix and not (topic.name == "prices" and not content.cases)


def _sections_of(topic: Topic, content: Content, in_appendix: bool) -> Iterator[Section]:
    if topic.section is None or (topic.needs_runs and not content.cases):
        return
    made = topic.section(content)
    for part in made if isinstance(made, list) else [made] if made else []:
        yield _arranged(part, topic.on_screen, in_appendix)


def _arranged(part: Section, on_screen: Set[str], in_appendix: bool) -> Section:
    """Decide where a section stands, and which of its blocks are printed."""

    def is_printed(block: Block) -> bool:
        is_long = in_appendix and lines_of(block) > LONGEST
        return block.get("printed", True) and block["type"] not in on_screen and not is_long

    blocks: list[Block] = [{**block, "printed": is_printed(block)} for block in part["blocks"]]
    return {**part, "appendix": in_appendix, "blocks": blocks}


def _without_repeated_figures(part: Section, first: Section) -> Section | None:
    """Remove the figures that page one shows; None if nothing is left."""
    shown = {block["name"] for block in first["blocks"] if block["type"] == "figure"}
    blocks = [block for block in part["blocks"] if block.get("name") not in shown]
    return {**part, "blocks": blocks} if blocks else None
