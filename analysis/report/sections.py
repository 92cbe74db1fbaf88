"""Assembly of a report from page one and the sections of all topics."""

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
"""Rows of the longest table in the printed appendix."""


def make_report(
    runs: pd.DataFrame,
    tables: Mapping[str, pd.DataFrame],
    facts: Facts,
    entries: Sequence[Mapping[str, Any]],
    published: Mapping[str, pd.DataFrame] | None = None,
) -> dict[str, Any]:
    """Make the report of a study.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        See `analysis.pipeline.make_all_tables`.
    entries : sequence of mapping
        The `analysis.presentation.drawing.Drawing.entry` of each figure.
    published : mapping of str to DataFrame, optional
        Published figures; see `analysis.importers.read_published`.

    Returns
    -------
    dict
        ``title, result, subtitle, study, unfinished, cases, interconnects, sections, explore``, as data that
        can be written as JSON. ``result`` is the title of page one. ``sections`` are a list
        of `analysis.presentation.blocks.Section`.
    """
    runs, tables, facts = with_distinct_interconnects(runs, without_benchmarks(tables), facts)
    content = Content(runs, tables, facts, entries, published or {})
    labels = content.labels
    present = labels.sorted_interconnects(interconnects_of(runs, tables))
    looks_by_name = looks(facts.interconnects, present)
    result, opening = page_one(content)
    first, *words = [_arrange(section, frozenset(), False) for section in opening]
    sections = [_without_figures_of(first, section) for section in _make_sections(content)]
    return {
        "title": labels.title,
        "result": result,
        "subtitle": labels.subtitle,
        "study": facts.study.name or "",
        "unfinished": sentences.progress_sentence(facts.study) if facts.study.unfinished else "",
        "cases": [{"name": case, "title": labels.case(case)} for case in labels.sorted_cases(runs["case"])],
        "interconnects": [
            {"name": one_line(name), "title": labels.interconnect(name), "colour": looks_by_name[name].colour}
            for name in present
        ],
        "sections": [first, *words, *filter(None, sections)],
        "explore": explore(content, looks_by_name) if content.cases and not facts.study.unfinished else None,
    }


def _make_sections(content: Content) -> Iterator[Section]:
    """Make the sections of all topics: the body, then the appendix."""
    for in_appendix in (False, True):
        for topic in TOPICS:
            if _is_in_appendix(topic, content) == in_appendix:
                yield from _sections_of(topic, content, in_appendix)


def _is_in_appendix(topic: Topic, content: Content) -> bool:
    """Return whether a topic belongs to the appendix.

    Without runs, topics that page one may quote (such as prices) belong to the body.
    """
    return topic.in_appendix and (bool(content.cases) or topic.headline is None)


def _sections_of(topic: Topic, content: Content, in_appendix: bool) -> Iterator[Section]:
    """Yield the sections of a topic; none if the topic has no section for this study."""
    if topic.section is None or (topic.needs_runs and not content.cases):
        return
    sections = topic.section(content) or []
    for section in sections if isinstance(sections, list) else [sections]:
        yield _arrange(section, topic.on_screen, in_appendix)


def _arrange(section: Section, on_screen: Set[str], in_appendix: bool) -> Section:
    """Place a section in the body or the appendix, and decide which of its blocks are printed."""

    def is_printed(block: Block) -> bool:
        is_long = in_appendix and lines_of(block) > LONGEST
        return block.get("printed", True) and block["type"] not in on_screen and not is_long

    blocks: list[Block] = [{**block, "printed": is_printed(block)} for block in section["blocks"]]
    return {**section, "appendix": in_appendix, "blocks": blocks}


def _without_figures_of(first: Section, section: Section) -> Section | None:
    """Remove the figures of the `first` section from another section; None if nothing is left."""
    shown = {block["name"] for block in first["blocks"] if block["type"] == "figure"}
    blocks = [block for block in section["blocks"] if block.get("name") not in shown]
    return {**section, "blocks": blocks} if blocks else None
