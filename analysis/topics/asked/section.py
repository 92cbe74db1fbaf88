"""What was asked, of which cases and interconnects, and how much was run for an answer."""

from __future__ import annotations

from analysis.presentation import formats
from analysis.presentation import sentences as sentences
from analysis.presentation.blocks import Row, Section, left, paragraph, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.formats import counted, listed
from analysis.presentation.labels import Labels
from analysis.runs.facts import AboutCase
from analysis.topics.asked.factors import factor_blocks


def asked(content: Content) -> Section | None:
    """What was asked, and what was run for an answer."""
    facts, labels = content.facts, content.labels
    blocks = [paragraph(_extent(content))]
    ran = labels.sorted_cases(content.runs["case"])
    if not ran:
        return section("asked", "What was asked", blocks)
    cases = {"": [_case_row(case, facts.case(case), labels) for case in ran]}
    columns = left("Case", "Application", "Size", "Stands for")
    blocks.append(table("Cases.", columns, cases))
    present = labels.sorted_interconnects(content.runs["interconnect"].dropna())
    rows = [
        row(
            [
                labels.interconnect(name),
                labels.full_name(name),
                _kinds(content, name),
                facts.interconnect(name).description or "",
            ],
            "",
            name,
        )
        for name in present
    ]
    columns = left("Called", "Interconnect", "Kind", "Description")
    blocks += [table("Interconnects.", columns, {"": rows})] if rows else []
    blocks += factor_blocks(content)
    return section("asked", "What was asked", blocks)


def _extent(content: Content) -> str:
    runs = content.runs
    if runs.empty:
        return "No run is part of this study: it holds published figures without times alone."
    keys = ("processes", "oversubscription", "threads")
    counts, levels, threads = (sorted(set(runs[key].map(int))) for key in keys)
    names, sites = runs["interconnect"].dropna().str.split("@").str[0].nunique(), runs["site"].nunique()
    text = counted(runs["case"].nunique(), "case")
    text += f" over {counted(names, 'interconnect')}" if names else ", run serially"
    text += f" at {counted(sites, 'site')}" if sites > 1 else ""
    text += f" on {sentences.processes(*counts)}"
    if threads != [1]:
        text += f" of {listed(map(str, threads))} threads"
    if levels != [1]:
        text += f", at oversubscription {listed(map(str, levels))} (processes per core)"
    simulated = int((runs["kind"] == "simulated").sum())
    recorded, invalid = len(runs) - simulated, int((~runs["valid"]).sum())
    points = counted(simulated, "simulated point")
    if not recorded:
        return f"{text}: {points}."
    text += f": {counted(recorded, 'repetition')}"
    planned = content.facts.runs.planned
    if planned is not None and planned - simulated != recorded:
        text += f" of {formats.whole(planned - simulated)} planned"
    text += f", {formats.whole(invalid) if invalid else 'none'} of them invalid"
    return f"{text}; and {points}." if simulated else f"{text}."


def _case_row(case: str, about: AboutCase, labels: Labels) -> Row:
    known = (about.application, about.size, about.stands_for)
    return row([labels.case(case), *(text or formats.MISSING for text in known)], case)


def _kinds(content: Content, name: str) -> str:
    kinds = content.runs.loc[content.runs["interconnect"] == name, "kind"]
    return listed(dict.fromkeys(kinds))
