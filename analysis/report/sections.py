"""The sections of a report, in their order: each a function of the study's data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any

import pandas as pd

from analysis.estimates.sites import told_apart
from analysis.figures.style import looks
from analysis.networks.curves import interconnects_of, without_benchmarks
from analysis.report import record, tables
from analysis.report.adjusted import adjusted
from analysis.report.answer import answer
from analysis.report.asked import asked
from analysis.report.blocks import Block, Section, bullets, lines_of, paragraph, section
from analysis.report.changes import changes
from analysis.report.congestion import congestion
from analysis.report.content import Content
from analysis.report.core_hours import core_hours
from analysis.report.data_servers import data_servers
from analysis.report.energy import energy
from analysis.report.explore import explore
from analysis.report.hybrid import hybrid
from analysis.report.models import models
from analysis.report.money import pays
from analysis.report.network import network
from analysis.report.network_published import published_networks
from analysis.report.node_loss import node_loss
from analysis.report.nodes import nodes
from analysis.report.parts_of_time import parts_of_time
from analysis.report.placement import placement
from analysis.report.prices import prices
from analysis.report.published import published_figures
from analysis.report.quality import quality
from analysis.report.simulated import simulated
from analysis.report.traces import traces
from analysis.report.traffic import traffic
from analysis.report.transports import transports
from analysis.report.turnaround import turnaround
from analysis.report.validation import validation
from analysis.report.weigh import what_else
from analysis.report.winners import fastest, network_answer
from analysis.runs.errors import one_line
from analysis.runs.facts import AboutCase, Facts
from analysis.tables.selection import lowest_level
from analysis.text import formats
from analysis.text import scaling as sentences
from analysis.text.faster import not_compared
from analysis.text.formats import listed

TEXT_WIDTH = 110
TEXT_INCHES = 0.18
ROW_INCHES = 0.136
PAGE_INCHES = 8.4
"""Letters on a line, heights of a line, of a table's row, and of a page without headings and captions."""


def every_case(content: Content) -> Section | None:
    """Where each interconnect is fastest, all cases side by side."""
    labels, improvement = content.labels, content.tables["improvement"]
    said = sentences.blocks_sentences(improvement, "improvements")
    said += sentences.blocks_sentences(content.tables["oversubscription"], "oversubscription")
    if across := sorted({kind for kind in improvement["kind"] if "/" in kind}):
        pairs = listed(kind.replace("/", " with ") for kind in across)
        said.append(f"Comparisons of {pairs} interconnects are made because the study declares them.")
    blocks = tables.peak_tables(content.tables["peaks"], labels)
    blocks += content.figures("overview") if len(content.cases) > 1 else []
    blocks += [paragraph(" ".join(said))] if said else []
    return section("peaks", "All cases side by side", blocks)


def method(content: Content) -> Section | None:
    """How times were taken and what was made of them."""
    return section(
        "method",
        "Method in brief",
        [
            *map(paragraph, record.method_paragraphs(content)),
            tables.reference_table(content.tables["scaling"], content.labels),
        ],
    )


def case_sections(content: Content) -> list[Section]:
    """One page a case: what it is, its curves and its numbers."""
    made = []
    several = len(content.cases) > 1
    for case in content.cases:
        scaling, labels = content.rows("scaling", case), content.labels
        blocks = [paragraph(text, case) for text in _description(content.facts.case(case))]
        blocks.append(paragraph(" ".join(sentences.reference_sentences(scaling, labels)), case))
        blocks += content.figures("scaling", case)
        blocks += tables.scaling_tables(case, scaling, labels, _room(blocks))
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


def equivalents(content: Content) -> Section | None:
    """How many processes of one interconnect are worth those of another."""
    equivalent, labels = content.tables["node_equivalent"], content.labels
    if equivalent.empty:
        return None
    return section("equivalents", "Node equivalents", [tables.equivalent_table(equivalent, labels)])


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


def order(content: Content) -> Section | None:
    """Every repetition in the order of execution."""
    return section("order", "Order of execution", content.figures("order"))


def left_out(content: Content) -> Section | None:
    """What is invalid, missing or was left out, and why."""
    return section("invalid", "What does not count, and why", record.invalid_blocks(content))


def machine(content: Content) -> Section | None:
    """The machine, the versions and where the data are."""
    return section("machine", "Machine and versions", record.machine_blocks(content))


Maker = Callable[[Content], Section | list[Section] | None]

BODY: Sequence[Maker] = (
    answer,
    changes,
    case_sections,
    every_case,
    comparison,
    equivalents,
    oversubscription,
    hybrid,
    placement,
    pays,
    turnaround,
    energy,
    network,
    data_servers,
    traffic,
    congestion,
    transports,
    published_networks,
    published_figures,
    validation,
)
APPENDIX: Sequence[Maker] = (
    asked,
    method,
    what_else,
    node_loss,
    prices,
    simulated,
    traces,
    models,
    parts_of_time,
    fastest,
    quality,
    adjusted,
    nodes,
    order,
    left_out,
    core_hours,
    machine,
)
"""For the specialist; in print it has contents of its own."""

OF_ANY_STUDY = {
    answer,
    asked,
    network,
    traffic,
    congestion,
    transports,
    published_networks,
    published_figures,
    prices,
    what_else,
    order,
    left_out,
    core_hours,
    machine,
}
"""What needs no run to estimate anything from."""

ON_SCREEN: Mapping[str, Set[str]] = {
    "peaks": {"figure", "table", "paragraph"},
    "method": {"table"},
    "node_loss": {"list"},
    "improvement": {"figure"},
    "oversubscription": {"figure"},
    "turnaround": {"list", "figure"},
    "asked": {"list"},
    "parts": {"list", "figure", "table"},
    "quality": {"table", "figure"},
    "simulated": {"list"},
    "traces": {"figure", "table"},
    "fastest": {"list", "table"},
    "order": {"figure"},
    "core_hours": {"table"},
}
"""Types of blocks, by section, that are not printed, as what is printed says it in short."""
LONGEST = 22
"""Rows of a table that the appendix has printed."""


def _made(makers: Sequence[Maker], content: Content, appendix: bool) -> Iterator[Section]:
    for make in makers:
        if not content.cases and make not in OF_ANY_STUDY:
            continue
        made = make(content)
        for one in made if isinstance(made, list) else [made] if made else []:
            hidden = ON_SCREEN.get(one["id"], set())
            blocks: list[Block] = [
                {
                    **block,
                    "printed": block.get("printed", True)
                    and block["type"] not in hidden
                    and not (appendix and lines_of(block) > LONGEST),
                }
                for block in one["blocks"]
            ]
            yield {**one, "appendix": appendix, "blocks": blocks}


def _without(one: Section, first: Section) -> Section | None:
    """Give a section without the figures that page one shows; none where nothing is left."""
    shown = {block["name"] for block in first["blocks"] if block["type"] == "figure"}
    blocks = [block for block in one["blocks"] if block.get("name") not in shown]
    return {**one, "blocks": blocks} if blocks else None


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
        One for each figure, as `analysis.figures.drawing.Drawing.entry` gives it.
    published : mapping of str to DataFrame, optional
        Published figures, as `analysis.importers.read_published` gives them.

    Returns
    -------
    dict
        ``title, subtitle, study, unfinished, cases, interconnects, sections, explore``; texts, lists and
        numbers only, so that it can be written as JSON. The shape of a section is that of
        `analysis.report.blocks.Section`.
    """
    runs, tables, facts = told_apart(runs, without_benchmarks(tables), facts)
    content = Content(runs, tables, facts, entries, published or {})
    labels = content.labels
    present = labels.sorted_interconnects(interconnects_of(runs, tables))
    appearance = looks(facts.interconnects, present)
    body, appendix = BODY, APPENDIX
    if not content.cases:  # prices are what such a study is about
        body, appendix = [*BODY, prices], [make for make in APPENDIX if make is not prices]
    first, *others = [*_made(body, content, False), *_made(appendix, content, True)]
    made = [first, *filter(None, (_without(one, first) for one in others))]
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
        "sections": made,
        "explore": explore(content, appearance) if content.cases and not facts.study.unfinished else None,
    }
