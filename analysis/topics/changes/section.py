"""What changed between two sites, or between an earlier and a later state of one."""

from __future__ import annotations

import pandas as pd

from analysis.curves.outcomes import outcome
from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, left, paragraph, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING, counted, listed
from analysis.presentation.labels import Labels
from analysis.presentation.rows import line_table, numbers, p_value, percent_cell, texts
from analysis.presentation.sentences import blocks_sentences
from analysis.runs.frames import Line, is_missing, percent_interval
from analysis.topics.changes.tables import ONLY, SUMMED
from analysis.topics.record import machine_items

MOST_ROWS = 120
_PAIR = ["site_before", "site_after"]


def changes(content: Content) -> Section | None:
    """What got faster, slower, or cannot be told apart; none where no sites are compared."""
    if "changes" not in content.tables:
        return None
    points, summary = content.tables["changes"], content.tables["changes_summary"]
    blocks: list[Block] = []
    for (before, after), own in points.groupby(_PAIR, sort=False):
        of_pair = summary[(summary["site_before"] == before) & (summary["site_after"] == after)]
        blocks.append(paragraph(_headline(own, before, after)))
        blocks.append(bullets(_by_case(of_pair, content.labels), "Geometric mean over the points"))
        blocks += [bullets(alone, "Not compared")] if (alone := _alone(own, content.labels)) else []
        blocks += _differences(content, before, after)
    blocks += [paragraph(text) for text in blocks_sentences(points, "changes")]
    blocks += content.figures("changes")
    blocks.append(_table(points, content.labels))
    return section("changes", "What changed", blocks)


def _headline(points: pd.DataFrame, before: str, after: str) -> str:
    shared = points[points["change_percent"].notna()]
    counts = []
    for word in SUMMED:
        own = shared[shared["verdict"].map(outcome) == word].sort_values("change_percent", kind="stable")
        if len(own):
            values = own["change_percent"]
            ends = (
                f"{formats.bracketed_percent(*percent_interval(line, 'change'))}{formats.THIN}%"
                for line in (own.iloc[0], own.iloc[-1])
            )
            counts.append(f"{formats.whole(len(values))} {word} ({formats.spanned(*ends)})")
    return (
        f"From {before} to {after}, of {counted(len(shared), 'point')} that both have, {listed(counts)}. "
        "The two were not run side by side: whatever else differed between them is part of the change."
    )


def _by_case(summary: pd.DataFrame, labels: Labels) -> list[str]:
    items = []
    several = summary["kind"].nunique() > 1
    rows = summary.assign(whole=summary["case"].isna()).sort_values("whole", kind="stable", ascending=False)
    for line in rows.to_dict("records"):
        name = "All cases, each counted alike" if line["whole"] else labels.case(line["case"])
        kind = f", {line['kind']}" if several else ""
        numbers = formats.bracketed_percent(*percent_interval(line, "change"))
        found = [(word, int(line[word.replace(" ", "_")])) for word in SUMMED]
        counts = ", ".join(f"{formats.whole(count)} {word}" for word, count in found if count)
        items.append(f"{name}{kind}: {numbers}{formats.THIN}% ({counts})")
    return items


def _alone(points: pd.DataFrame, labels: Labels) -> list[str]:
    """List points that only one of the sites has."""
    alone: dict[tuple[str, str], list[str]] = {}
    for line in points[points["change_percent"].isna()].to_dict("records"):
        alone.setdefault((line["verdict"], line["case"]), []).append(_point(line, labels))
    return [f"{labels.case(case)}, {verdict}: {'; '.join(names)}" for (verdict, case), names in alone.items()]


def _point(line: Line, labels: Labels) -> str:
    title = labels.curve(line)
    if is_missing(line["interconnect"]):
        return title
    count = counted(line["processes"], "process")
    level = f", oversubscription {line['oversubscription']}" if line["oversubscription"] > 1 else ""
    return f"{title}, {count}{level}"


def _differences(content: Content, before: str, after: str) -> list[Block]:
    """Tabulate in what the machines and versions of two sites differ, where both are known."""
    sites = content.facts.sites
    machines = [machine_items(sites[site].machine or {}) if site in sites else {} for site in (before, after)]
    if not all(machines):
        return []
    first, second = machines
    keys = [key for key in dict.fromkeys([*first, *second]) if first.get(key) != second.get(key)]
    if not keys:
        return [paragraph("Both say the same of their machine and of all versions.")]
    values = [[key, *(machine.get(key) for machine in machines)] for key in keys]
    rows = [row([MISSING if is_missing(value) else value for value in line]) for line in values]
    columns = left("Item", before, after)
    return [table("What the machines and versions differ in.", columns, {"": rows})]


def _table(points: pd.DataFrame, labels: Labels) -> Block:
    rows, caption = points[points["change_percent"].notna()], "Every point that both have. "
    if len(rows) > MOST_ROWS:
        rows = rows[rows["verdict"].isin(["faster", "slower"])].head(MOST_ROWS)
        caption = f"Points that changed distinguishably, up to {MOST_ROWS}; all are in tables/changes.csv. "
    several = len(points[_PAIR].drop_duplicates()) > 1

    def title(line: Line) -> str:
        pair = f"{line['site_before']} to {line['site_after']}: " if several else ""
        return f"{pair}{labels.case(line['case'])}"

    fields = [
        texts("Interconnect", labels.curve),
        numbers("Processes", formats.whole, "processes"),
        numbers("Per core", formats.whole, "oversubscription"),
        numbers("Time before (s)", formats.number, "seconds_before"),
        numbers("Time after (s)", formats.number, "seconds_after"),
        numbers("Change (%)", percent_cell("change")),
        numbers("p", p_value, "p_adjusted"),
        texts("Outcome", lambda verdict: verdict.removeprefix(ONLY), "verdict"),
    ]
    caption += (
        f"Change of speed: time before over time after, less 1, with {labels.confidence} intervals; p after "
        "Holm's correction, unpaired."
    )
    pairs = rows.groupby(_PAIR, sort=False).ngroup()
    lines = labels.lines(rows.assign(pair=pairs), "pair", "case", "interconnect")
    return line_table(caption, fields, lines, title)
