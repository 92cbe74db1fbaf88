"""The section on transports below MPI: reliable beside unreliable, IP beside verbs, TCP beside MPI."""

from __future__ import annotations

import pandas as pd

from analysis.presentation.blocks import Block, Section, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING, number
from analysis.presentation.network_words import size_text
from analysis.presentation.rows import line_table, numbers, texts
from analysis.runs.frames import is_missing
from analysis.topics.transports.tables import best_of_transports
from analysis.topics.transports.words import NAMES, loss_text

HOW = (
    "Below MPI are the transports that carry it. A reliable one repeats what is lost; an unreliable one "
    "sends on, so what was sent and what was received are told apart, over the time of sending. TCP and UDP "
    "were measured by a program of ours between two processes; what others are was printed by programs "
    "named in the table, or published. Busy are the cores that a program itself took. MPI's ping-pong "
    "stands beside."
)


def transports(content: Content) -> Section | None:
    """Transports below MPI, of a study that measures or imports any."""
    if "network_transports" not in content.tables:
        return None
    table = content.tables["network_transports"]
    best = content.labels.in_order(best_of_transports(table), "interconnect")
    blocks: list[Block] = [paragraph(HOW)]
    return section(
        "network-transports",
        "Transports below MPI",
        [*blocks, *content.figures("network_transports"), _table(best, content)],
    )


def _table(best: pd.DataFrame, content: Content) -> Block:
    def rate(value: object) -> str:
        return MISSING if is_missing(value) else number(value)

    def size(value: object) -> str:
        return MISSING if is_missing(value) else size_text(value)

    fields = [
        texts("Interconnect", content.labels.interconnect, "interconnect", "kind"),
        texts("Transport", lambda name: NAMES.get(name, name), "transport"),
        numbers("Latency (µs)", rate, "latency_us"),
        numbers("Sent (MB/s)", rate, "sent_MBps"),
        numbers("Received", rate, "received_MBps"),
        numbers("Lost", loss_text, "lost_percent"),
        numbers("at", size, "bytes"),
        numbers("Both ways (MB/s)", rate, "received_both_ways_MBps"),
        numbers("Busy, sender", rate, "sender_busy"),
        numbers("receiver", rate, "receiver_busy"),
        texts("From", lambda file: "" if is_missing(file) else file, "imported_from"),
    ]
    caption = (
        "Transports: lowest latency, half a round trip; the stream that brings most, with what was lost of "
        "it and the cores that it kept busy; both directions at once. All sizes and rates are in "
        "tables/network_transports.csv."
    )
    return line_table(caption, fields, best.to_dict("records"), of_cases=False)
