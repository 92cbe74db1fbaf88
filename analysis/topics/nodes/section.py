"""Whether a node of the cluster is slow, and which."""

from __future__ import annotations

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Section, bullets, section
from analysis.presentation.content import Content
from analysis.presentation.formats import counted, listed
from analysis.presentation.labels import level_of
from analysis.presentation.result_tables import p_value
from analysis.presentation.rows import in_percent, line_table, numbers, texts
from analysis.runs.frames import percent_interval
from analysis.topics.nodes.tables import NAMES, of_stopped_points
from analysis.topics.quality.tables import POINT


def nodes(content: Content) -> Section | None:
    """Name a node to report to the operators, and show the effect of each."""
    if "nodes" not in content.tables:
        return None
    table = content.tables["nodes"].sort_values("slow", ascending=False, kind="stable")
    fields = [
        texts("Node", str, "node"),
        *([texts("Site", str, "site")] if table["site"].notna().any() else []),
        numbers("Runs", formats.whole, "runs"),
        numbers("Blocks", formats.whole, "blocks"),
        numbers("Slower by (%)", in_percent("slower")),
        numbers("p", p_value, "p_value"),
    ]
    caption = "How much longer runs take on each node than runs of the same points without it."
    printed = line_table(caption, fields, table.to_dict("records"), of_cases=False)
    said = node_sentences(table, level_of(content.facts)) + stopped_sentences(content.runs)
    return section("nodes", "Nodes", [bullets(said), *content.figures("nodes"), printed])


def node_sentences(table: pd.DataFrame, level: str) -> list[str]:
    """Name each slow node of the table ``nodes``, with figure and uncertainty; else say what is excluded."""
    known = table[table["slower_percent"].notna()]
    of_all = f"of {counted(len(known), 'node')}"
    at_once = f"{level} interval and p-value hold for all {of_all} at once"
    slow = [
        f"Node {row['node']} is slow: runs on it take "
        f"{formats.percent_with_interval(*percent_interval(row, 'slower'))} longer than runs of the same "
        f"points on other nodes ({formats.p_value(row['p_value'])}; {at_once}). Report it to the operators."
        for row in known[known["slow"]].to_dict("records")
    ]
    if not slow:
        ends = known["slower_high"].dropna()
        most = f", and none is slower by more than {formats.percent(ends.max())}" if len(ends) else ""
        slow = [f"None {of_all} can be told to be slow{most}."]
    missing = table.loc[table["slower_percent"].isna(), "node"]
    return slow + [f"Nothing can be said of {listed(missing)}."] * (len(missing) > 0)


def stopped_sentences(runs: pd.DataFrame) -> list[str]:
    """Say how many points on known nodes are left out, since runs were stopped at their time limit."""
    left_out = runs[of_stopped_points(runs) & runs[NAMES].notna()].drop_duplicates(["site", *POINT])
    if left_out.empty:
        return []
    verb = "is" if len(left_out) == 1 else "are"
    return [
        f"{counted(len(left_out), 'point')} {verb} left out, with all runs, since some of these were stopped "
        "at their time limit: by how much their nodes are slower is not known."
    ]
