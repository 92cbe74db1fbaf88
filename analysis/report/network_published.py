"""The section on published figures of networks that are no curve: links, summaries, peaks and statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from analysis.report.blocks import Block, Section, bullets, left, right, row, section, table
from analysis.report.content import Content
from analysis.tables.missing import is_missing
from analysis.text import formats
from analysis.text.formats import MISSING
from analysis.text.links import link_sentences


def published_networks(content: Content) -> Section | None:
    """Published figures of networks that are no curve: summaries, peaks and statements."""
    blocks: list[Block] = []
    if "network_links" in content.tables:
        said = link_sentences(content.tables["network_links"])
        blocks += [bullets(said), *content.figures("network_links")]
    for name, make in _PUBLISHED.items():
        if name in content.published:
            blocks.append(make(content.published[name], content))
    return section("network-published", "Published figures of networks", blocks) if blocks else None


def _summary_table(rows: pd.DataFrame, content: Content) -> Block:
    columns = [*left("Interconnect", "Interface"), *right("Latency (µs)", "Peak (MB/s)"), *left("Note")]
    lines = []
    for line in rows.to_dict("records"):
        high = line["latency_us_high"]
        latency = MISSING if is_missing(line["latency_us"]) else formats.exact(line["latency_us"])
        cells = [
            content.labels.interconnect(line["interconnect"], "published"),
            line["api"],
            latency if is_missing(high) else f"{latency}–{formats.exact(high)}",
            MISSING if is_missing(line["peak_Mbps"]) else formats.exact(line["peak_Mbps"] / 8),
            "" if is_missing(line["note"]) else line["note"],
        ]
        lines.append(row(cells, "", line["interconnect"]))
    return table(f"Summaries. {_from(rows)}", columns, {"": lines})


def _peaks_table(rows: pd.DataFrame, content: Content) -> Block:
    columns = [
        *left("Interconnect"),
        *right("Link (MB/s)", "One direction (MB/s)", "% of link", "Both directions (MB/s)", "% of both"),
    ]
    keys = ("link_peak_unidirectional_MBps", "max_unidirectional_MBps", "unidirectional_percent_of_peak",
            "max_bidirectional_MBps", "bidirectional_percent_of_peak")  # fmt: skip
    lines = [
        row(
            [
                content.labels.interconnect(line["interconnect"], "published"),
                *(formats.exact(line[key]) for key in keys),
            ],
            "",
            line["interconnect"],
        )
        for line in rows.to_dict("records")
    ]
    return table(f"Peaks. {_from(rows)}", columns, {"": lines})


def _statements(rows: pd.DataFrame, content: Content) -> Block:
    """What was published under which condition, in the words of the source."""
    del content
    conditions = [key for key in ("experiment", "rate", "condition", "medium", "path") if key in rows]
    columns = left(*map(str.capitalize, conditions), "Quantity")
    columns += [*right("Value"), *left("Unit")]
    lines = [
        row(
            [
                *("" if is_missing(line[key]) else line[key] for key in (*conditions, "quantity")),
                formats.exact(line["value"]),
                "" if is_missing(line["unit"]) else _UNITS.get(line["unit"], line["unit"]),
            ]
        )
        for line in rows.to_dict("records")
    ]
    return table(f"Statements. {_from(rows)}", columns, {"": lines})


_UNITS = {"us": "µs"}
"""Units that are printed otherwise than they are written in files."""


def _from(rows: pd.DataFrame) -> str:
    return f"Published, from {formats.listed(dict.fromkeys(rows['source']))}."


_PUBLISHED: Mapping[str, Callable[[pd.DataFrame, Content], Block]] = {
    "network_summary": _summary_table,
    "network_peaks": _peaks_table,
    "link_statements": _statements,
    "network_statements": _statements,
}
