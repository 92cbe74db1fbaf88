"""The section on changes between two sites, or two states of a site."""

from __future__ import annotations

import pandas as pd

from analysis.curves.outcomes import outcome
from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, left, paragraph, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING, counted, listed
from analysis.presentation.labels import Labels, correction_of
from analysis.presentation.rows import line_table, numbers, p_value, percent_cell, texts
from analysis.presentation.sentences import blocks_sentences
from analysis.runs.frames import Line, as_lines, is_missing, percent_interval
from analysis.topics.changes.tables import ONLY, SUMMED
from analysis.topics.record import machine_items

MOST_ROWS = 120
_SITES = ["site_before", "site_after"]


def changes_section(content: Content) -> Section | None:
    """Report the points that became faster or slower, and the differences between the sites' machines."""
    if "changes" not in content.tables:
        return None
    changes, summary, labels = content.tables["changes"], content.tables["changes_summary"], content.labels
    blocks: list[Block] = []
    for _, rows in changes.groupby(_SITES, sort=False):
        before, after = rows[_SITES].iloc[0]
        means = summary[(summary["site_before"] == before) & (summary["site_after"] == after)]
        blocks.append(paragraph(_headline(rows, before, after)))
        blocks.append(bullets(_means(means, labels), "Geometric mean over the points"))
        unmatched = _not_compared(rows, labels)
        blocks += [bullets(unmatched, "Not compared")] if unmatched else []
        blocks += _differences(content, before, after)
    blocks += [paragraph(text) for text in blocks_sentences(changes, "changes")]
    blocks += content.figures("changes")
    blocks.append(_table(changes, labels))
    return section("changes", "What changed", blocks)


def _headline(changes: pd.DataFrame, before: str, after: str) -> str:
    """Count the points of each outcome, with the smallest and the largest change."""
    shared = changes[changes["change_percent"].notna()]
    counts = []
    for word in SUMMED:
        rows = shared[shared["verdict"].map(outcome) == word].sort_values("change_percent", kind="stable")
        if len(rows):
            lines = as_lines(rows)
            ends = [f"{_bracketed(line)}{formats.THIN}%" for line in (lines[0], lines[-1])]
            counts.append(f"{formats.whole(len(lines))} {word} ({formats.spanned(*ends)})")
    return (
        f"{before} and {after} have {counted(len(shared), 'common point')}. Changes from {before} to "
        f"{after}: {listed(counts)}. The runs were not side by side. A change therefore includes all other "
        "differences."
    )


def _means(summary: pd.DataFrame, labels: Labels) -> list[str]:
    """List the mean changes over all cases, then of each case, with the number of points per outcome."""
    items = []
    several_kinds = summary["kind"].nunique() > 1
    is_whole = summary["case"].isna()
    for line in as_lines(pd.concat([summary[is_whole], summary[~is_whole]])):
        is_mean_over_cases = is_missing(line["case"])
        name = "All cases, weighted equally" if is_mean_over_cases else labels.case(line["case"])
        kind = f", {line['kind']}" if several_kinds else ""
        numbers = [(int(line[word.replace(" ", "_")]), word) for word in SUMMED]
        counts = ", ".join(f"{formats.whole(number)} {word}" for number, word in numbers if number)
        items.append(f"{name}{kind}: {_bracketed(line)}{formats.THIN}% ({counts})")
    return items


def _bracketed(line: Line) -> str:
    return formats.bracketed_percent(*percent_interval(line, "change"))


def _not_compared(changes: pd.DataFrame, labels: Labels) -> list[str]:
    """List the points that only one of the sites has, by case."""
    names: dict[tuple[str, str], list[str]] = {}
    for line in as_lines(changes[changes["change_percent"].isna()]):
        name = labels.curve(line)
        if not is_missing(line["interconnect"]):
            name += f", {counted(line['processes'], 'process')}"
            name += f", oversubscription {line['oversubscription']}" if line["oversubscription"] > 1 else ""
        names.setdefault((line["verdict"], line["case"]), []).append(name)
    return [
        f"{labels.case(case)}, {verdict}: {'; '.join(points)}" for (verdict, case), points in names.items()
    ]


def _differences(content: Content, before: str, after: str) -> list[Block]:
    """Tabulate the differences between the machines and versions of two sites, if both are known."""
    sites = content.facts.sites
    machines = [machine_items(sites[site].machine or {}) if site in sites else {} for site in (before, after)]
    if not all(machines):
        return []
    first, second = machines
    all_items = dict.fromkeys([*first, *second])
    different = [item for item in all_items if first.get(item) != second.get(item)]
    if not different:
        return [paragraph("Both sites state the same machine and the same versions.")]
    rows = []
    for item in different:
        values = [machine.get(item) for machine in machines]
        rows.append(row([item, *(MISSING if is_missing(value) else value for value in values)]))
    columns = left("Item", before, after)
    return [table("Differences between the machines and versions.", columns, {"": rows})]


def _table(changes: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate the points that both sites have; a long table shows only points that changed."""
    rows, caption = changes[changes["change_percent"].notna()], "The table shows all common points. "
    if len(rows) > MOST_ROWS:
        rows = rows[rows["verdict"].isin(["faster", "slower"])].head(MOST_ROWS)
        caption = (
            f"The table shows up to {MOST_ROWS} points with a significant change. File tables/changes.csv "
            "has all points. "
        )
    several_pairs = len(changes[_SITES].drop_duplicates()) > 1

    def title(line: Line) -> str:
        pair = f"{line['site_before']} to {line['site_after']}: " if several_pairs else ""
        return f"{pair}{labels.case(line['case'])}"

    fields = [
        texts(labels.interconnect_head, labels.curve),
        numbers("Processes", formats.whole, "processes"),
        numbers("Per core", formats.whole, "oversubscription"),
        numbers("Time before (s)", formats.number, "seconds_before"),
        numbers("Time after (s)", formats.number, "seconds_after"),
        numbers("Change (%)", percent_cell("change")),
        numbers("p", p_value, "p_adjusted"),
        texts("Outcome", lambda verdict: verdict.removeprefix(ONLY), "verdict"),
    ]
    caption += (
        f"The change of speed is time before / time after − 1. Brackets contain {labels.confidence} "
        f"intervals. p is the p-value of an unpaired test after {correction_of(labels.facts)}."
    )
    pairs = rows.groupby(_SITES, sort=False).ngroup()
    lines = labels.lines(rows.assign(pair=pairs), "pair", "case", "interconnect")
    return line_table(caption, fields, lines, title)
