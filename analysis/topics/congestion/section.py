"""The section on route load: what topologies can accept of patterns of traffic, and where they collide."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, left, paragraph, right, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING, counted, exact, listed, number
from analysis.runs.frames import is_missing

HOW = (
    "Route load is arithmetic: the bytes that the routes of a topology bring to each link and switch, where "
    "every process offers what its link can carry. It knows no time, no buffers and no flow control. The "
    "bound is 1 / the highest load of a link: no more of the offered traffic can be accepted. Deterministic "
    "routing has one route to a destination; the bound in brackets is that of traffic divided evenly over "
    "all shortest routes, which adaptive routing reaches at best."
)
WAITS = (
    "Waiting times are calculated for trees: packets of one size leave at random moments, at 90 % of the "
    "pattern's bound, and each link sends one after the other. Buffers have no end, so they are what routes "
    "cost by themselves; flow control adds to it. A switch counts waits by the link by which packets came in."
)
PER_NODE = "MB/s per node"
"""Unit of published statements that stand beside a bound."""


def congestion(content: Content) -> Section | None:
    """Bounds of accepted traffic, conflicts of permutations and congestion matrices, where asked for."""
    if "congestion" not in content.tables:
        return None
    bounds = content.tables["congestion"]
    said = [
        sentence
        for title, rows in bounds.groupby("topology", sort=False)
        for sentence in _conflict_sentences(title, rows)
    ]
    matrix = content.tables.get("congestion_matrix")
    waits = [] if matrix is None else [paragraph(WAITS), bullets(_wait_sentences(matrix))]
    figures = content.figures("congestion")
    blocks = [paragraph(HOW), bullets(said), _bounds_table(bounds, content), *waits, *figures]
    return section("congestion", "Route load and congestion", blocks, not content.runs.empty)


def _conflict_sentences(title: str, rows: pd.DataFrame) -> list[str]:
    """Say which permutations are free of conflict, and what the worst one loads."""
    rows = rows[rows["permutation"]]
    if rows.empty:
        return []
    said = []
    topology = f"{title}, {counted(rows['nodes'].iloc[0], 'node')}"
    for routing, own in rows.groupby("routing", sort=False):
        words = "deterministic routing" if routing == "deterministic" else "traffic divided evenly"
        free, others = own[own["free_of_conflict"]], own[~own["free_of_conflict"]]
        if others.empty:
            said.append(f"{topology}, {words}: every permutation shown is free of conflict.")
            continue
        worst = others["highest_link_load"].max()
        most = others[others["highest_link_load"] > worst * (1 - 1e-9)]
        names = listed(map(_plain, free["pattern"])) or "no permutation shown"
        said.append(
            f"{topology}, {words}: free of conflict {'is' if len(free) < 2 else 'are'} {names}. "
            f"{listed(map(_plain, most['pattern'])).capitalize()} "
            f"{'loads' if len(most) == 1 else 'load'} a link {number(worst)} times, so that at most "
            f"{formats.percent(100 / worst)} can be accepted."
        )
    return said


def _wait_sentences(matrix: pd.DataFrame) -> list[str]:
    """Say where packets of each pattern wait most."""
    said = []
    for (title, pattern), rows in matrix.groupby(["topology", "pattern"], sort=False):
        links = rows[rows["side"] != "switch"]
        if not links["wait_share"].any():
            said.append(f"{title}, {_plain(pattern)}: no packet waits for another at a switch.")
            continue
        by_level = rows[rows["side"] == "switch"].groupby("level")["wait_packet_times"].mean()
        longest = links.loc[links["wait_packet_times"].idxmax()]
        level = int(longest["level"])
        said.append(
            f"{title}, {_plain(pattern)}: packets wait longest at level {level}, where they come from "
            f"{longest['side']}: {number(longest['wait_packet_times'])} packet times by the slowest link; "
            f"{number(by_level[level])} at the mean of that level's switches."
        )
    return said


def _bounds_table(bounds: pd.DataFrame, content: Content) -> Block:
    columns = [
        *left("Pattern"),
        *right("Most loaded link", "Bound"),
        *left("Free of conflict", "Accepted, measured", "Published (MB/s a node)"),
    ]
    groups = {}
    for (title, nodes), rows in bounds.groupby(["topology", "nodes"], sort=False):
        groups[f"{title}, {counted(nodes, 'node')}"] = [
            row(_cells(pattern, own.set_index("routing"), title, int(nodes), content))
            for pattern, own in rows.groupby("pattern", sort=False)
        ]
    caption = (
        "What can be accepted of the offered traffic, as a share; in brackets where all shortest routes "
        "share the traffic and the figure differs. Beside it, what was accepted at the highest load on as "
        "many processes, and what was published of the topology: links, buffers and hosts set limits of "
        "their own."
    )
    return table(caption, columns, groups)


def _cells(pattern: str, rows: pd.DataFrame, title: str, nodes: int, content: Content) -> list[str]:
    fixed, spread = rows.loc["deterministic"], rows.loc["spread"]
    free = ("yes" if routing["free_of_conflict"] else "no" for routing in (fixed, spread))
    return [
        _plain(pattern),
        *(_both(number(fixed[key]), number(spread[key])) for key in ("highest_link_load", "accepted_bound")),
        _both(*free) if fixed["permutation"] else MISSING,
        _measured(pattern, nodes, content),
        _published(pattern, title, nodes, content),
    ]


def _both(fixed: str, spread: str) -> str:
    """Write what holds for deterministic routing, in brackets what holds for spread traffic if it differs."""
    return fixed if fixed == spread else f"{fixed} ({spread})"


def _measured(pattern: str, nodes: int, content: Content) -> str:
    """Accepted load at the highest offered load on as many processes, by interconnect."""
    traffic = content.tables.get("traffic")
    if traffic is None:
        return ""
    name, *options = pattern.split(", ")
    rows = traffic[
        (traffic["pattern"] == name) & (traffic["processes"] == nodes) & traffic["beside_load"].isna()
    ]
    for option in options:
        rows = rows[
            (rows[["io_mapping", "application_mapping", "destinations"]] == option).any(axis="columns")
        ]
    rows = rows[rows["mean_bytes"].fillna(0) == rows["mean_bytes"].fillna(0).max()]
    rows = rows[rows["offered_load"] == rows["offered_load"].max()]
    best = rows.groupby(["interconnect", "kind"], sort=False)["accepted_load"].median()
    return listed(f"{number(load, 2)} {content.labels.interconnect(*pair)}" for pair, load in best.items())


def _published(pattern: str, title: str, nodes: int, content: Content) -> str:
    """Bandwidths of the pattern that were published of the topology, as they were stated."""
    statements = content.published.get("network_statements")
    if statements is None or content.facts.congestion.get("published") != title:
        return ""
    name = pattern.partition(",")[0]
    rows = statements[(statements["unit"] == PER_NODE)]
    values = [
        f"{exact(line['value'])}{_qualified(line['quantity'])}"
        for line in rows.to_dict("records")
        if name in _words(line) and _nodes(line) in (None, nodes)
    ]
    return listed(values, "to" if len(values) == 2 else "and")


def _words(statement: Mapping) -> set[str]:
    """What a statement is about: its experiment, and the words of its condition."""
    condition = "" if is_missing(statement["condition"]) else statement["condition"]
    return {word.strip().replace("-", "_") for word in [statement["experiment"], *condition.split(",")]}


def _nodes(statement: Mapping) -> int | None:
    found = re.search(r"(\d+) nodes", "" if is_missing(statement["condition"]) else statement["condition"])
    return int(found[1]) if found else None


def _qualified(quantity: str) -> str:
    """What a quantity says of its value: lowest, highest, less than."""
    found = re.search(r"(lowest|highest|less than|about)", quantity)
    return f" ({found[1]})" if found else ""


def _plain(pattern: str) -> str:
    return pattern.replace("_", " ")
