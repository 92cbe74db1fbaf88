"""What else to weigh: what is known of the interconnects, of their makers and buyers, and is no number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.presentation.blocks import Section, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import exact, listed
from analysis.presentation.rows import line_table, numbers, texts
from analysis.runs.frames import is_missing
from analysis.topics.topic import Topic

HOW = (
    "Prices and times do not tell all. Each note held in its year, and its source said so; no figure has it."
)
GENERAL = "All of them"
KEPT = ("topic", "note", "year", "source")


def what_else(content: Content) -> Section | None:
    """Notes on the interconnects of a study: of their files, of price books, and published ones.

    A note on several of them stands once.
    """
    owners: dict[tuple[Any, ...], dict[str, None]] = {}
    for owner, note in _notes(content):
        owners.setdefault(tuple(note[key] for key in KEPT), {})[owner] = None
    if not owners:
        return None
    notes = [{"owner": listed(own), **dict(zip(KEPT, note, strict=True))} for note, own in owners.items()]
    fields = [
        texts("About", str, "topic"),
        texts("What is to be known", str, "note"),
        numbers("Year", lambda year: "" if is_missing(year) else exact(year), "year"),
        numbers("Source", lambda source: str(sources.index(source) + 1), "source"),
    ]
    sources = list(dict.fromkeys(note["source"] for note in notes))
    told = "; ".join(f"{number} {source}" for number, source in enumerate(sources, 1))
    order = {name: place for place, name in enumerate(dict.fromkeys(note["owner"] for note in notes))}
    lines = sorted(notes, key=lambda note: (note["owner"] != GENERAL, order[note["owner"]], note["topic"]))
    caption = f"What else to weigh. Sources: {told}."
    made = line_table(caption, fields, lines, lambda note: note["owner"], of_cases=False)
    return section("weigh", "What else to weigh", [paragraph(HOW), made])


def _notes(content: Content) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Notes, each with what it is about."""
    labels = content.labels
    compared = labels.sorted_interconnects(_names(content))
    for name in compared:
        for note in content.facts.interconnect(name).notes:
            yield labels.interconnect(name, "measured"), note
    published = content.published.get("notes")
    for note in () if published is None else published.to_dict("records"):
        if is_missing(note["interconnect"]):
            yield GENERAL, note
        elif any(
            name == note["interconnect"] or name.startswith(f"{note['interconnect']}_") for name in compared
        ):
            yield labels.interconnect(note["interconnect"], "measured"), note
    if (prices := content.tables.get("prices")) is not None:
        booked = prices[(prices["basis"] == "published") & prices["note"].notna()]
        for note in booked.to_dict("records"):
            yield labels.interconnect(note["interconnect"], "measured"), {**note, "topic": "price"}


def _names(content: Content) -> list[str]:
    """Interconnects of the study, of its curves and of its published figures."""
    figures = (table for name, table in content.published.items() if name != "notes")
    tables = [content.runs, *content.tables.values(), *figures]
    names = (name for one in tables if "interconnect" in one for name in one["interconnect"].dropna())
    return [*dict.fromkeys([*content.facts.interconnects, *names])]


TOPIC = Topic(name="weigh", section=what_else, in_appendix=True, needs_runs=False)
