"""The section on route load: accepted traffic of each pattern in each topology, and its conflicts."""

from __future__ import annotations

import re

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import (
    Block,
    Row,
    Section,
    bullets,
    left,
    paragraph,
    right,
    row,
    section,
    table,
)
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING, counted, exact, listed, number
from analysis.runs.frames import Line, as_lines, is_missing

HOW = (
    "Route load is calculated, not measured. Route load is the number of bytes on each link and switch if "
    "every process offers the bandwidth of its link. Route load ignores time, buffers and flow control. The "
    "bound is 1 / the highest load of a link. The network cannot accept a larger share of the offered "
    "traffic. Deterministic routing has one route per destination. Values in brackets are for the best case "
    "of adaptive routing: traffic divided evenly over all shortest routes."
)
WAITS = (
    "Waiting times are calculated for trees. Packets have one size and leave at random times. The load is 90 "
    "% of the bound of the pattern. Each link sends one packet after another. Buffers are infinite, so "
    "waiting times show only the cost of the routes. Flow control would add to this cost. A switch counts "
    "waiting times by incoming link."
)
PER_NODE = "MB/s per node"
"""Unit of published statements that are shown next to a bound."""


def congestion_section(content: Content) -> Section | None:
    """Write the section on route load: bounds of accepted traffic, conflicts, and congestion matrices."""
    if "congestion" not in content.tables:
        return None
    bounds = content.tables["congestion"]
    blocks = [paragraph(HOW), bullets(_conflict_sentences(bounds)), _bounds_table(bounds, content)]
    if "congestion_matrix" in content.tables:
        blocks += [paragraph(WAITS), bullets(_wait_sentences(content.tables["congestion_matrix"]))]
    blocks += content.figures("congestion")
    return section("congestion", "Route load and congestion", blocks, not content.runs.empty)


def _conflict_sentences(bounds: pd.DataFrame) -> list[str]:
    """List the permutations that are free of conflict in each topology, and name the worst permutation."""
    sentences = []
    for _, rows in bounds[bounds["permutation"]].groupby(["topology", "routing"], sort=False):
        first = rows.iloc[0]
        routing = "deterministic routing" if first["routing"] == "deterministic" else "traffic divided evenly"
        subject = f"{first['topology']}, {counted(first['nodes'], 'node')}, {routing}"
        free, conflicting = rows[rows["free_of_conflict"]], rows[~rows["free_of_conflict"]]
        if conflicting.empty:
            sentences.append(f"{subject}: every permutation shown is free of conflict.")
            continue
        highest = conflicting["highest_link_load"].max()
        worst = conflicting[conflicting["highest_link_load"] > highest * (1 - 1e-9)]
        free_names = listed(map(_plain, free["pattern"])) or "no permutation shown"
        worst_names = listed(map(_plain, worst["pattern"])).capitalize()
        sentences.append(
            f"{subject}: {free_names} {'is' if len(free) < 2 else 'are'} free of conflict. {worst_names} "
            f"{'loads' if len(worst) == 1 else 'load'} a link with {number(highest)} times its bandwidth. "
            f"The network can therefore accept at most {formats.percent(100 / highest)} of the traffic."
        )
    return sentences


def _wait_sentences(matrix: pd.DataFrame) -> list[str]:
    """Name the level and the side at which packets of each pattern wait longest."""
    sentences = []
    for _, rows in matrix.groupby(["topology", "pattern"], sort=False):
        subject = f"{rows['topology'].iloc[0]}, {_plain(rows['pattern'].iloc[0])}"
        links = rows[rows["side"] != "switch"]
        if not links["wait_share"].any():
            sentences.append(f"{subject}: no packet waits for another at a switch.")
            continue
        longest = as_lines(links.nlargest(1, "wait_packet_times"))[0]
        level = rows[(rows["side"] == "switch") & (rows["level"] == longest["level"])]
        sentences.append(
            f"{subject}: packets wait longest at level {longest['level']} if the packets come from "
            f"{longest['side']}. Packets on the slowest link wait {number(longest['wait_packet_times'])} "
            "packet times. The mean over the switches of this level is "
            f"{number(level['wait_packet_times'].mean())} packet times."
        )
    return sentences


def _bounds_table(bounds: pd.DataFrame, content: Content) -> Block:
    """Tabulate the bound of each pattern in each topology, with measured and published bandwidths."""
    columns = [
        *left("Pattern"),
        *right("Most loaded link", "Bound"),
        *left("Free of conflict", "Accepted, measured", "Published (MB/s a node)"),
    ]
    groups: dict[str, list[Row]] = {}
    for _, routings in bounds.groupby(["topology", "pattern"], sort=False):
        lines = {line["routing"]: line for line in as_lines(routings)}
        deterministic, spread = lines["deterministic"], lines["spread"]
        title, pattern = deterministic["topology"], deterministic["pattern"]
        nodes = int(deterministic["nodes"])
        is_free = ("yes" if line["free_of_conflict"] else "no" for line in (deterministic, spread))
        cells = [
            _plain(pattern),
            _both(number(deterministic["highest_link_load"]), number(spread["highest_link_load"])),
            _both(number(deterministic["accepted_bound"]), number(spread["accepted_bound"])),
            _both(*is_free) if deterministic["permutation"] else MISSING,
            _measured(pattern, nodes, content),
            _published(pattern, title, nodes, content),
        ]
        groups.setdefault(f"{title}, {counted(nodes, 'node')}", []).append(row(cells))
    caption = (
        "The bound is the largest share of the offered traffic that the network can accept. Brackets show "
        "different values for traffic divided over all shortest routes. The measured load is the accepted "
        "load at the highest offered load on the same number of processes. Published values are for the same "
        "topology. Links, buffers and hosts set further limits."
    )
    return table(caption, columns, groups)


def _both(deterministic: str, spread: str) -> str:
    """Write the value for deterministic routing, then a different value for spread traffic in brackets."""
    return deterministic if deterministic == spread else f"{deterministic} ({spread})"


def _measured(pattern: str, nodes: int, content: Content) -> str:
    """Write the accepted load of each interconnect for a pattern on `nodes` processes.

    Only the largest messages at the highest offered load count.

    Parameters
    ----------
    pattern : str
        Name of the pattern and its options, joined by ``, ``.
    """
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
    """Write the published bandwidths of the pattern in the topology."""
    statements = content.published.get("network_statements")
    if statements is None or content.facts.study_keys.get("congestion", {}).get("published") != title:
        return ""
    name = pattern.partition(",")[0]
    values = [
        f"{exact(line['value'])}{_qualifier(line['quantity'])}"
        for line in as_lines(statements[statements["unit"] == PER_NODE])
        if name in _subjects(line) and _nodes(line) in (None, nodes)
    ]
    return listed(values, "to" if len(values) == 2 else "and")


def _subjects(statement: Line) -> set[str]:
    """Return the experiment of a statement and the phrases of its condition."""
    return {
        phrase.strip().replace("-", "_")
        for phrase in [statement["experiment"], *_condition(statement).split(",")]
    }


def _nodes(statement: Line) -> int | None:
    """Return the number of nodes in the condition of a statement, if it has one."""
    match = re.search(r"(\d+) nodes", _condition(statement))
    return int(match[1]) if match else None


def _condition(statement: Line) -> str:
    return "" if is_missing(statement["condition"]) else str(statement["condition"])


def _qualifier(quantity: str) -> str:
    """Write the qualifier in the name of a quantity, such as lowest or less than."""
    match = re.search(r"(lowest|highest|less than|about)", quantity)
    return f" ({match[1]})" if match else ""


def _plain(pattern: str) -> str:
    return pattern.replace("_", " ")
