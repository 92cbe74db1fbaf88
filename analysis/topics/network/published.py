"""The section on published figures of networks: links, summaries, peaks and statements, without curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, section
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING
from analysis.presentation.labels import Labels
from analysis.presentation.rows import line_table, numbers, texts
from analysis.runs.frames import is_missing
from analysis.topics.network.links import link_sentences


def published_networks(content: Content) -> Section | None:
    """Report published figures of networks, except curves; None if the study imports no such figures."""
    blocks: list[Block] = []
    if "network_links" in content.tables:
        sentences = link_sentences(content.tables["network_links"])
        blocks += [bullets(sentences), *content.figures("network_links")]
    for name, make_table in _TABLES.items():
        if name in content.published:
            blocks.append(make_table(content.published[name], content.labels))
    return section("network-published", "Published figures of networks", blocks) if blocks else None


def _summary_table(rows: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate published latencies and peaks by interconnect and interface."""

    def latency(low: float, high: float) -> str:
        text = MISSING if is_missing(low) else formats.exact(low)
        return text if is_missing(high) else f"{text}–{formats.exact(high)}"

    def megabytes(peak: float) -> str:
        return MISSING if is_missing(peak) else formats.exact(peak / 8)

    fields = [
        texts("Interconnect", lambda name: labels.interconnect(name, "published"), "interconnect"),
        texts("Interface", str, "api"),
        numbers("Latency (µs)", latency, "latency_us", "latency_us_high"),
        numbers("Peak (MB/s)", megabytes, "peak_Mbps"),
        texts("Note", _text, "note"),
    ]
    return line_table(
        f"Latency and peak bandwidth by interface. {_origin(rows)}",
        fields,
        rows.to_dict("records"),
        of_cases=False,
    )


def _peaks_table(rows: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate published bandwidths and peaks of links."""
    fields = [
        texts("Interconnect", lambda name: labels.interconnect(name, "published"), "interconnect"),
        numbers("Link (MB/s)", formats.exact, "link_peak_unidirectional_MBps"),
        numbers("One direction (MB/s)", formats.exact, "max_unidirectional_MBps"),
        numbers("% of link", formats.exact, "unidirectional_percent_of_peak"),
        numbers("Both directions (MB/s)", formats.exact, "max_bidirectional_MBps"),
        numbers("% of both", formats.exact, "bidirectional_percent_of_peak"),
    ]
    return line_table(
        f"Peak bandwidth of links. {_origin(rows)}", fields, rows.to_dict("records"), of_cases=False
    )


def _statements_table(rows: pd.DataFrame, _: Labels) -> Block:
    """Tabulate statements with their conditions, in the words of the source."""
    columns = ("experiment", "rate", "condition", "medium", "path", "quantity")
    fields = [
        *(texts(key.capitalize(), _text, key) for key in columns if key in rows),
        numbers("Value", formats.exact, "value"),
        texts("Unit", lambda unit: "µs" if unit == "us" else _text(unit), "unit"),
    ]
    return line_table(
        f"Statements in the words of the source. {_origin(rows)}",
        fields,
        rows.to_dict("records"),
        of_cases=False,
    )


def _text(value: object) -> object:
    return "" if is_missing(value) else value


def _origin(rows: pd.DataFrame) -> str:
    return f"Published in {formats.listed(dict.fromkeys(rows['source']))}."


_TABLES: Mapping[str, Callable[[pd.DataFrame, Labels], Block]] = {
    "network_summary": _summary_table,
    "network_peaks": _peaks_table,
    "link_statements": _statements_table,
    "network_statements": _statements_table,
}
