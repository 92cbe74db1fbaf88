"""The section on traffic patterns: accepted load, fairness, and the slowdown of simultaneous jobs."""

from __future__ import annotations

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, left, paragraph, right, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING, counted, number
from analysis.presentation.labels import Labels
from analysis.runs.frames import Line, as_float, as_lines
from analysis.topics.traffic.published import compare_with_published
from analysis.topics.traffic.tables import with_titles

HOW = (
    "Every process sends messages at random times. A schedule states the sizes, times and targets of the "
    "messages. The schedule is the same for every interconnect. A load of 1 is the bandwidth of a process in "
    "a pairwise exchange between the first and the second half of the processes. Every run measures this "
    "bandwidth with messages of the same size. Fairness is Jain's index of the shares that clients received "
    "of the scheduled load. Fairness is 1 if all shares are equal. Fairness is 1/n if one of n clients "
    "received everything."
)


def traffic(content: Content) -> Section | None:
    """Write the section on traffic patterns."""
    if "traffic" not in content.tables:
        return None
    labels = content.labels
    rows = with_titles(labels.in_order(content.tables["traffic"], "case"))
    alone, combined = rows[rows["pattern"] != "combined"], rows[rows["slowdown"].notna()]
    sentences = [
        *_shared_cores(rows),
        *accepted_sentences(alone, labels),
        *slowdown_sentences(combined, labels),
    ]
    blocks: list[Block] = [paragraph(HOW), bullets(sentences), *content.figures("traffic")]
    if len(alone):
        blocks.append(_accepted_table(alone, labels))
    if len(combined):
        blocks.append(_slowdown_table(combined, labels))
    if "network_statements" in content.published:
        blocks += _published_table(content)
    return section("traffic", "Traffic patterns", blocks, True)


def _shared_cores(rows: pd.DataFrame) -> list[str]:
    """Warn if several processes share a core."""
    level = int(rows["oversubscription"].max())
    if level == 1:
        return []
    return [
        f"Up to {level} processes share a core. The accepted load then depends on the cores more than on the "
        "interconnect."
    ]


def accepted_sentences(rows: pd.DataFrame, labels: Labels) -> list[str]:
    """Name three patterns for every interconnect: highest and lowest accepted load, and least fair.

    Parameters
    ----------
    rows : DataFrame
        Table ``traffic`` with titles, without combined jobs. The sentences are about the highest offered
        load of each pattern on the largest process count.
    labels : Labels
    """
    if rows.empty:
        return []
    rows = _at_highest_load(rows[rows["processes"] == rows["processes"].max()])
    sentences = []
    for _, group in rows.groupby(["interconnect", "kind", "processes"], sort=False):
        highest = group.nlargest(1, "accepted_load").iloc[0]
        lowest = group.nsmallest(1, "accepted_load").iloc[0]
        name = labels.interconnect(highest["interconnect"], highest["kind"])
        text = (
            f"{name}, {counted(highest['processes'], 'process')}: the accepted load is highest with "
            f"{highest['title']}: {_accepted(highest)} of an offered load of "
            f"{number(highest['offered_load'], 2)}"
        )
        if highest["title"] != lowest["title"]:
            text += f". The accepted load is lowest with {lowest['title']}: {_accepted(lowest)}"
        if group["fairness"].notna().any():
            unfair = group.nsmallest(1, "fairness").iloc[0]
            text += f". Fairness is lowest with {unfair['title']}: {number(unfair['fairness'], 2)}"
        sentences.append(f"{text}.")
    return sentences


def slowdown_sentences(rows: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the I/O job that slows the compute job most, and the I/O nodes that slow it least."""
    if rows.empty:
        return []
    rows = rows[rows["processes"] == rows["processes"].max()]
    sentences = []
    for _, group in rows.groupby(["interconnect", "kind"], sort=False):
        worst = group.nlargest(1, "slowdown").iloc[0]
        medians = group.groupby("title")["slowdown"].median()
        name = labels.interconnect(worst["interconnect"], worst["kind"])
        text = (
            f"{name}: the slowdown of the compute job is largest with {_nodes(worst['title'])} at an I/O "
            f"load of {number(worst['beside_load'])}: {_times(worst['slowdown'])}, the median of "
            f"{counted(worst['runs'], 'run')}"
        )
        if len(medians) > 1:
            least = f"{_nodes(str(medians.idxmin()))}: {_times(medians.min())}"
            text += f". The median slowdown over all I/O loads is smallest with {least}"
        sentences.append(f"{text}.")
    return sentences


def _accepted(line: pd.Series) -> str:
    """Write an accepted load, with its range over runs if there are several runs."""
    value, *ends = (number(line[f"accepted_load{end}"], 2) for end in ("", "_lowest_run", "_highest_run"))
    return value if line["runs"] < 2 else f"{value} ({formats.spanned(*ends)} from run to run)"


def _nodes(title: str) -> str:
    """Name the position of the I/O nodes of combined jobs."""
    return f"I/O nodes {title.removeprefix('combined, ')}"


def _times(factor: float) -> str:
    return f"{number(factor)} times"


def _at_highest_load(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows at the highest offered load of each pattern."""
    return rows[rows["offered_load"] == rows.groupby("title")["offered_load"].transform("max")]


def _accepted_table(rows: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate the accepted load of each pattern at its highest offered load."""
    rows = _at_highest_load(rows)
    titles = _titles(rows, labels)
    columns = [*left("Pattern"), *right("Offered", *titles.values())]
    groups = {}
    for _, rows_of_point in rows.groupby(["processes", "oversubscription"]):
        lines = []
        for title, group in rows_of_point.groupby("title", sort=False):
            indexed = group.set_index(["interconnect", "kind"])
            cells = [_load_cell(indexed.loc[[pair]]) if pair in indexed.index else MISSING for pair in titles]
            lines.append(row([str(title), number(group["offered_load"].iloc[0], 2), *cells]))
        groups[_point(rows_of_point)] = lines
    caption = (
        "Accepted load at the highest offered load. Brackets contain the fairness. File tables/traffic.csv "
        "has bandwidths, delays and withheld messages. File tables/traffic_processes.csv has each process."
    )
    return table(caption, columns, groups)


def _load_cell(rows: pd.DataFrame) -> str:
    load, fair = rows["accepted_load"].median(), rows["fairness"].median()
    return number(load, 2) if pd.isna(fair) else f"{number(load, 2)} ({formats.fixed(fair, 2)})"


def _slowdown_table(rows: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate the slowdown of the compute job by the I/O job."""
    rows = rows[rows["offered_load"] == rows["offered_load"].max()]
    titles = _titles(rows, labels)
    columns = [*left("I/O nodes"), *right("I/O load", *titles.values())]
    groups = {}
    for _, rows_of_load in rows.groupby(["processes", "oversubscription", "offered_load"]):
        lines = []
        for _, group in rows_of_load.groupby(["title", "beside_load"], sort=False):
            first = group.iloc[0]
            slowdowns = group.groupby(["interconnect", "kind"])["slowdown"].median()
            cells = [number(as_float(slowdowns.get(pair))) for pair in titles]
            io_nodes = first["title"].removeprefix("combined, ")
            lines.append(row([io_nodes, number(first["beside_load"]), *cells]))
        load = number(rows_of_load["offered_load"].iloc[0])
        groups[f"{_point(rows_of_load)}, compute job's load {load}"] = lines
    caption = (
        "Slowdown of the compute job by the I/O job, at the highest load of the compute job. Slowdown is the "
        "accepted bandwidth of the compute job alone / its accepted bandwidth together with the I/O job. "
        "File tables/traffic.csv has other loads."
    )
    return table(caption, columns, groups)


def _published_table(content: Content) -> list[Block]:
    """Make the table of published statements with the study's results, or no block without a result."""
    comparison = compare_with_published(content.tables, content.published["network_statements"])
    if comparison.empty:
        return []
    titles = _titles(comparison, content.labels)
    columns = [*left("Published of"), *right("Value"), *left("Unit")]
    columns += right(*titles.values())
    lines = []
    keys = ["experiment", "condition", "quantity"]
    for (experiment, condition, quantity), group in comparison.groupby(keys, sort=False):
        first = group.iloc[0]
        results = {(line["interconnect"], line["kind"]): line for line in as_lines(group)}
        cells = [_result_cell(results[pair]) if pair in results else MISSING for pair in titles]
        unit = "" if pd.isna(first["unit"]) else first["unit"]
        statement = f"{experiment}, {condition}: {quantity}"
        lines.append(row([statement, formats.exact(first["published"]), unit, *cells]))
    caption = (
        "Published values of these patterns, and the results of this study at the highest load. Brackets "
        "contain the difference in percent of the published value."
    )
    return [table(caption, columns, {"": lines})]


def _result_cell(result: Line) -> str:
    value, error = number(result["result"]), result["error_percent"]
    return value if pd.isna(error) else f"{value} ({formats.percent(error, signed=True, places=0)})"


def _titles(rows: pd.DataFrame, labels: Labels) -> dict[tuple[str, str], str]:
    """Return the titles of interconnects by name and kind, in the study's order."""
    pairs = labels.in_order(rows[["interconnect", "kind"]].drop_duplicates(), "interconnect")
    return {pair: labels.interconnect(*pair) for pair in pairs.itertuples(index=False, name=None)}


def _point(rows: pd.DataFrame) -> str:
    """Name the process count of rows, and the processes per core if several processes share a core."""
    level = int(rows["oversubscription"].iloc[0])
    text = counted(int(rows["processes"].iloc[0]), "process")
    return f"{text}, {level} per core" if level > 1 else text
