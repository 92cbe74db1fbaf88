"""The sections of a report, in their order: each a function of the study's data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.estimates.sites import told_apart
from analysis.figures.style import looks
from analysis.networks.curves import benchmarks, interconnects_of, without_benchmarks
from analysis.report import record, tables
from analysis.report.adjusted import adjusted
from analysis.report.asked import asked
from analysis.report.blocks import Block, Section, bullets, paragraph, section
from analysis.report.changes import changes
from analysis.report.congestion import congestion
from analysis.report.content import Content
from analysis.report.data_servers import data_servers
from analysis.report.explore import explore
from analysis.report.models import models
from analysis.report.money import pays
from analysis.report.network import network
from analysis.report.network_published import published_networks
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
from analysis.tables.selection import CURVE, alike, lowest_level
from analysis.text import formats
from analysis.text import scaling as sentences
from analysis.text.formats import listed

TEXT_WIDTH = 110
TEXT_INCHES = 0.18
ROW_INCHES = 0.136
PAGE_INCHES = 8.4
"""Letters on a line, heights of a line, of a table's row, and of a page without headings and captions."""


def answer(content: Content) -> Section | None:
    """The answer in plain sentences with its numbers."""
    labels = content.labels
    blocks: list[Block] = []
    if len(content.cases) > 1:
        blocks += _over_all_cases(content)
    blocks += [paragraph(text) for text in _limits(content)]
    blocks += tables.peak_tables(content.tables["peaks"], labels)
    blocks += content.figures("overview") if len(content.cases) > 1 else []
    blocks += [bullets(_case_answer(content, case), labels.case(case), case) for case in content.cases]
    return section("answer", "The answer", blocks)


def no_answer(content: Content) -> Section | None:
    """Why there is no answer, of a study without estimates."""
    if content.runs.empty or benchmarks(content.tables):
        return None
    valid = content.runs["valid"].any()
    why = "Serial runs alone count: nothing scales" if valid else "No repetition is valid"
    return section("answer", "The answer", [paragraph(f"{why}, so there is no estimate.")])


def _over_all_cases(content: Content) -> list[Block]:
    labels, improvement = content.labels, content.tables["improvement"]
    blocks: list[Block] = []
    if headline := sentences.headline_sentences(lowest_level(improvement), labels):
        level = f", oversubscription {_lowest(improvement)}" if _lowest(improvement) != 1 else ""
        blocks.append(bullets(headline, f"Improvement over the baseline at its peak, over all cases{level}"))
    if gains := sentences.gain_sentences(content.tables["oversubscription"], labels):
        blocks.append(bullets(gains, "Oversubscription at equal cores, over all cases"))
    return blocks


def _case_answer(content: Content, case: str) -> list[str]:
    """Answer for one case; comparisons with the baseline at the lowest oversubscription level alone."""
    labels, scaling = content.labels, content.rows("scaling", case)
    improvement, equivalent = (
        lowest_level(content.rows(name, case)) for name in ("improvement", "node_equivalent")
    )
    pair = [*CURVE, "baseline_interconnect"]
    for row in sentences.disagreeing(improvement).to_dict("records"):
        equivalent = equivalent.drop(alike(equivalent, row, pair).index)
    several = scaling["oversubscription"].nunique() > 1
    return [
        *sentences.peak_sentences(content.rows("peaks", case), scaling, labels),
        *_fastest(content, case),
        *network_answer(content, case),
        *_improvement(improvement, content, several),
        *sentences.disagreement_sentences(improvement, labels),
        *sentences.equivalent_sentences(equivalent, labels, say_level=several),
        *sentences.oversubscription_sentences(content.rows("oversubscription", case), labels),
    ]


def _fastest(content: Content, case: str) -> list[str]:
    """Say which interconnect is fastest where; nothing where none competes."""
    if "fastest" not in content.tables:
        return []
    return sentences.fastest_sentences(content.rows("fastest", case), content.labels)


def _improvement(improvement: pd.DataFrame, content: Content, say_level: bool = False) -> list[str]:
    """Say what is compared; of an unfinished study, nothing where there is no comparison yet."""
    if improvement.empty and content.facts.study.unfinished:
        return []
    return sentences.improvement_sentences(improvement, content.labels, say_level)


def _lowest(rows: pd.DataFrame) -> int:
    return int(rows["oversubscription"].min())


def _limits(content: Content) -> list[str]:
    """Say how far the sentences and numbers can be trusted."""
    scaling, labels, study = content.tables["scaling"], content.labels, content.facts.study
    said = sentences.look_sentences(study)
    simulated = scaling["kind"] == "simulated"
    if simulated.any():
        said.append("Brackets of simulated times hold the band of the simulation, which is no interval.")
    scaling = scaling[~simulated]
    if scaling["speedup_low"].notna().any() and study.unfinished:
        said.append(f"Brackets hold {labels.confidence} intervals.")
    elif scaling["speedup_low"].notna().any():
        said.append(
            f"Brackets hold {labels.confidence} intervals; p-values are after Holm's correction. Faster or "
            f"slower is said where p is at most {formats.exact(content.facts.all_settings().alpha)}, and the "
            "interval does not hold 0."
        )
    elif scaling["n"].gt(1).any():
        said.append("The reference has one block alone, so that speedups have no interval.")
    elif len(scaling):
        said.append("Everything is within one block only: there are no intervals and no tests.")
    if across := sorted({kind for kind in content.tables["improvement"]["kind"] if "/" in kind}):
        pairs = listed(kind.replace("/", " with ") for kind in across)
        said.append(f"Comparisons of {pairs} interconnects are made because the study declares them.")
    said += sentences.blocks_sentences(content.tables["improvement"], "improvements")
    said += sentences.blocks_sentences(content.tables["oversubscription"], "oversubscription")
    return [" ".join(said)]


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
        made.append(section(f"case-{len(made) + 1}", labels.case(case), blocks, several, case))
    return list(filter(None, made))


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
    if not printed["groups"]:
        said = _improvement(improvement, content)
        blocks = [paragraph(" ".join(said))] if said else []
        return section("improvement", "Improvement over the baseline", blocks)
    blocks = [*content.figures("improvement"), printed]
    if "improvement_mean" in content.tables:
        blocks.append(tables.improvement_mean_table(content.tables["improvement_mean"], content.labels))
    return section("improvement", "Improvement over the baseline", blocks, len(content.cases) > 1)


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
    return section("machine", "Machine and versions", record.machine_blocks(content), new_page=True)


SECTIONS: Sequence[Callable[[Content], Section | list[Section] | None]] = (
    asked,
    changes,
    answer,
    method,
    case_sections,
    fastest,
    comparison,
    adjusted,
    equivalents,
    oversubscription,
    placement,
    pays,
    prices,
    what_else,
    turnaround,
    network,
    data_servers,
    traffic,
    congestion,
    transports,
    published_networks,
    published_figures,
    validation,
    simulated,
    traces,
    models,
    parts_of_time,
    quality,
    order,
    left_out,
    machine,
)


WITHOUT_ESTIMATES: Sequence[Callable[[Content], Section | list[Section] | None]] = (
    asked,
    no_answer,
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
    machine,
)
"""Sections of a study that has no run to estimate anything from."""


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
    runs : DataFrame
        As `analysis.runs.runs.read_runs` gives it.
    tables : mapping of str to DataFrame
        As `analysis.estimates.scaling.make_tables` gives it.
    facts : Facts
        What is known of the study besides.
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
    made: list[Section] = []
    for make in SECTIONS if content.cases else WITHOUT_ESTIMATES:
        several = make(content)
        made += several if isinstance(several, list) else [several] if several else []
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
