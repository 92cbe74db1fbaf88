"""The section on traffic patterns: what was accepted of what was offered, how fairly, and at whose cost."""

from __future__ import annotations

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, left, paragraph, right, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING, counted, number
from analysis.presentation.labels import Labels
from analysis.topics.traffic.published import beside_published
from analysis.topics.traffic.sentences import with_titles

HOW = (
    "Every process sends messages at random times; their sizes, times and targets are those of a seeded "
    "schedule, the same for every interconnect. A load of 1 is what a process sends while each of the first "
    "half exchanges messages of that size with one of the second half, measured in every run. Fairness is "
    "Jain's index: 1 where all clients had the same share of what was due, 1/n where one of n had everything."
)


def traffic(content: Content) -> Section | None:
    """What traffic patterns came to, of a study that ran any."""
    if "traffic" not in content.tables:
        return None
    labels = content.labels
    rows = with_titles(labels.in_order(content.tables["traffic"], "case"))
    alone, beside = rows[rows["pattern"] != "combined"], rows[rows["slowdown"].notna()]
    said = [*_shared_cores(rows), *accepted_sentences(alone, labels), *slowdown_sentences(beside, labels)]
    blocks: list[Block] = [paragraph(HOW), bullets(said), *content.figures("traffic")]
    if len(alone):
        blocks.append(_accepted_table(alone, labels))
    if len(beside):
        blocks.append(_slowdown_table(beside, labels))
    if "network_statements" in content.published:
        blocks += _published_table(content)
    return section("traffic", "Traffic patterns", blocks, True)


def _shared_cores(rows: pd.DataFrame) -> list[str]:
    level = int(rows["oversubscription"].max())
    if level == 1:
        return []
    return [
        f"Up to {level} processes share a core: what is accepted is then what the cores can move, and tells "
        "little of the interconnect."
    ]


def accepted_sentences(rows: pd.DataFrame, labels: Labels) -> list[str]:
    """Say of every interconnect which pattern is accepted best and least, and which is the least fair.

    Takes the table ``traffic`` with titles, without combined jobs. The sentences are about the highest
    offered load of each pattern on most processes.
    """
    rows = _highest(rows[rows["processes"] == rows["processes"].max()]) if len(rows) else rows
    said = []
    for (name, kind, count), own in rows.groupby(["interconnect", "kind", "processes"], sort=False):
        best, least = (own.loc[getattr(own["accepted_load"], end)()] for end in ("idxmax", "idxmin"))
        text = (
            f"{labels.interconnect(name, kind)}, {counted(count, 'process')}: most is accepted "
            f"of {best['title']}, {_accepted(best)} of an offered load of {number(best['offered_load'], 2)}"
        )
        if best["title"] != least["title"]:
            text += f"; least of {least['title']}, {_accepted(least)}"
        if own["fairness"].notna().any():
            unfair = own.loc[own["fairness"].idxmin()]
            text += f"; least fair is {unfair['title']}, {number(unfair['fairness'], 2)}"
        said.append(f"{text}.")
    return said


def slowdown_sentences(rows: pd.DataFrame, labels: Labels) -> list[str]:
    """Say beside which I/O job the compute job loses most, and where the I/O nodes cost it least."""
    if rows.empty:
        return []
    rows = rows[rows["processes"] == rows["processes"].max()]
    said = []
    for (name, kind), own in rows.groupby(["interconnect", "kind"], sort=False):
        worst = own.loc[own["slowdown"].idxmax()]
        medians = own.groupby("title")["slowdown"].median()
        text = (
            f"{labels.interconnect(name, kind)}: the compute job is slowed down most "
            f"{_times(worst['slowdown'])}, the median of {counted(worst['runs'], 'run')} "
            f"({_nodes(worst['title'])}, I/O load {number(worst['beside_load'])})"
        )
        if len(medians) > 1:
            least = f"{_nodes(medians.idxmin())}, {_times(medians.min())}"
            text += f"; least, at the median over loads, with {least}"
        said.append(f"{text}.")
    return said


def _accepted(line: pd.Series) -> str:
    """Write an accepted load with how far it differs from run to run, where there are several."""
    value, *ends = (number(line[f"accepted_load{end}"], 2) for end in ("", "_lowest_run", "_highest_run"))
    return value if line["runs"] < 2 else f"{value} ({formats.spanned(*ends)} from run to run)"


def _nodes(title: str) -> str:
    """Where the I/O nodes of combined jobs are."""
    return f"{title.removeprefix('combined, ')} I/O nodes"


def _times(factor: float) -> str:
    return f"{number(factor)} times"


def _highest(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of the highest offered load of each pattern."""
    return rows[rows["offered_load"] == rows.groupby("title")["offered_load"].transform("max")]


def _accepted_table(rows: pd.DataFrame, labels: Labels) -> Block:
    rows = _highest(rows)
    owners = _owners(rows, labels)
    columns = [*left("Pattern"), *right("Offered", *owners.values())]
    groups = {}
    for (count, level), of_point in rows.groupby(["processes", "oversubscription"]):
        lines = []
        for title, own in of_point.groupby("title", sort=False):
            found = own.set_index(["interconnect", "kind"])
            cells = [_load_cell(found.loc[[owner]]) if owner in found.index else MISSING for owner in owners]
            lines.append(row([title, number(own["offered_load"].iloc[0], 2), *cells]))
        groups[_point(int(count), int(level))] = lines
    caption = (
        "Accepted load at the highest offered load, in brackets its fairness. Bandwidths, delays and "
        "messages that were withheld are in tables/traffic.csv, each process in tables/traffic_processes.csv."
    )
    return table(caption, columns, groups)


def _load_cell(rows: pd.DataFrame) -> str:
    load, fair = rows["accepted_load"].median(), rows["fairness"].median()
    return number(load, 2) if pd.isna(fair) else f"{number(load, 2)} ({formats.fixed(fair, 2)})"


def _slowdown_table(rows: pd.DataFrame, labels: Labels) -> Block:
    rows = rows[rows["offered_load"] == rows["offered_load"].max()]
    owners = _owners(rows, labels)
    columns = [*left("I/O nodes"), *right("I/O load", *owners.values())]
    groups = {}
    for (count, level, load), of_load in rows.groupby(["processes", "oversubscription", "offered_load"]):
        lines = []
        for (title, beside), own in of_load.groupby(["title", "beside_load"], sort=False):
            times = own.groupby(["interconnect", "kind"])["slowdown"].median()
            cells = [number(times.get(owner)) for owner in owners]
            lines.append(row([title.removeprefix("combined, "), number(beside), *cells]))
        groups[f"{_point(int(count), int(level))}, compute job's load {number(load)}"] = lines
    caption = (
        "Slowdown of the compute job beside the I/O job, at the highest load of the compute job: its "
        "accepted bandwidth alone over that beside it. Other loads are in tables/traffic.csv."
    )
    return table(caption, columns, groups)


def _published_table(content: Content) -> list[Block]:
    """Published figures of these patterns beside the results here; nothing where no two belong together."""
    found = beside_published(content.tables, content.published["network_statements"])
    if found.empty:
        return []
    owners = _owners(found, content.labels)
    columns = [*left("Published of"), *right("Value"), *left("Unit")]
    columns += right(*owners.values())
    lines = []
    for (experiment, condition, quantity), own in found.groupby(
        ["experiment", "condition", "quantity"], sort=False
    ):
        first = own.iloc[0]
        by_owner = own.set_index(["interconnect", "kind"])
        cells = [
            _beside_cell(by_owner.loc[owner]) if owner in by_owner.index else MISSING for owner in owners
        ]
        unit = "" if pd.isna(first["unit"]) else first["unit"]
        what = f"{experiment}, {condition}: {quantity}"
        lines.append(row([what, formats.exact(first["published"]), unit, *cells]))
    caption = (
        "Published figures of these patterns beside what they came to here at the highest load, in brackets "
        "the difference in percent of the published figure."
    )
    return [table(caption, columns, {"": lines})]


def _beside_cell(found: pd.Series) -> str:
    value, error = number(found["found"]), found["error_percent"]
    return value if pd.isna(error) else f"{value} ({formats.percent(error, signed=True, places=0)})"


def _owners(rows: pd.DataFrame, labels: Labels) -> dict[tuple[str, str], str]:
    """Titles of the interconnects, in the study's order."""
    owners = labels.in_order(rows[["interconnect", "kind"]].drop_duplicates(), "interconnect")
    return {pair: labels.interconnect(*pair) for pair in owners.itertuples(index=False, name=None)}


def _point(count: int, level: int) -> str:
    text = counted(count, "process")
    return f"{text}, {level} a core" if level > 1 else text
