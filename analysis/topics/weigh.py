"""Which facts about the interconnects, besides numbers, matter for a choice?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.presentation.blocks import Section, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import exact, listed
from analysis.presentation.rows import line_table, numbers, texts
from analysis.runs.frames import Line, is_missing
from analysis.topics.topic import Topic

HOW = (
    "The notes state facts about interconnects that may matter for a choice, such as cabling or maturity. "
    "The notes do not affect the results in this report."
)
FURTHER_CRITERIA = "Further criteria"
"""Title of the section with the notes."""
DIFFERENCE = "contrast"
"""Topic of notes on the differences between two interconnects."""
GENERAL = "All of them"
"""Subject of notes on all interconnects."""
COLUMNS = ("topic", "note", "year", "source")
"""Columns that identify a note."""


def notes_section(content: Content) -> Section | None:
    """Write the section with notes from interconnect files, price books and publications.

    A note on several interconnects appears once.
    """
    subjects_of_note: dict[tuple[Any, ...], dict[str, None]] = {}
    for subject, note in _notes(content):
        key = tuple(note[column] for column in COLUMNS)
        subjects_of_note.setdefault(key, {})[subject] = None
    if not subjects_of_note:
        return None
    notes: list[Line] = [
        {"subject": listed(subjects), **dict(zip(COLUMNS, key, strict=True))}
        for key, subjects in subjects_of_note.items()
    ]
    fields = [
        texts("About", str, "topic"),
        texts("Note", str, "note"),
        numbers("Year", lambda year: "" if is_missing(year) else exact(year), "year"),
        numbers("Source", lambda source: f"[{sources.index(source) + 1}]", "source"),
    ]
    sources = list(dict.fromkeys(note["source"] for note in notes))
    numbered_sources = "; ".join(
        f"[{number}] {'file ' if source.endswith('.csv') else ''}{source}"
        for number, source in enumerate(sources, 1)
    )
    order = list(dict.fromkeys(note["subject"] for note in notes))
    lines = sorted(
        notes,
        key=lambda note: (note["subject"] != GENERAL, order.index(note["subject"]), note["topic"]),
    )
    caption = f"Notes on interconnects. Sources: {numbered_sources}."
    notes_table = line_table(caption, fields, lines, lambda note: note["subject"], of_cases=False)
    return section("weigh", FURTHER_CRITERIA, [paragraph(HOW), notes_table])


def pointer_to_differences(content: Content) -> str:
    """Refer to the notes on differences between the interconnects; empty without such notes."""
    if all(note["topic"] != DIFFERENCE for _, note in _notes(content)):
        return ""
    return f"Section “{FURTHER_CRITERIA}” has notes on known differences."


def _notes(content: Content) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """Yield each note with its subject, the title of an interconnect or `GENERAL`."""
    labels = content.labels
    interconnects = labels.sorted_interconnects(_interconnects(content))
    for name in interconnects:
        for note in content.facts.interconnect(name).notes:
            yield labels.interconnect(name, "measured"), note
    published = content.published.get("notes")
    for row in () if published is None else published.to_dict("records"):
        family = row["interconnect"]  # name of an interconnect, or the beginning of several names
        if is_missing(family):
            yield GENERAL, row
        elif any(name == family or name.startswith(f"{family}_") for name in interconnects):
            yield labels.interconnect(family, "measured"), row
    if (prices := content.tables.get("prices")) is not None:
        with_notes = prices[(prices["basis"] == "published") & prices["note"].notna()]
        for row in with_notes.to_dict("records"):
            yield labels.interconnect(row["interconnect"], "measured"), {**row, "topic": "price"}


def _interconnects(content: Content) -> list[str]:
    """List the interconnects that the study, its tables and its published figures name."""
    published = (table for name, table in content.published.items() if name != "notes")
    tables = [content.runs, *content.tables.values(), *published]
    names = (name for table in tables if "interconnect" in table for name in table["interconnect"].dropna())
    return [*dict.fromkeys([*content.facts.interconnects, *names])]


TOPIC = Topic(name="weigh", section=notes_section, in_appendix=True, needs_runs=False)
