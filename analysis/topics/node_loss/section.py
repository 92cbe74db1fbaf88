"""Memory or network? What the efficiency of a node's runs is lost to."""

from __future__ import annotations

from collections.abc import Callable

from analysis.presentation import formats
from analysis.presentation.blocks import Section, bullets, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import listed
from analysis.presentation.labels import Labels
from analysis.presentation.rows import line_table, numbers, texts
from analysis.presentation.sentences import processes
from analysis.runs.frames import Line, interval, is_missing
from analysis.topics.node_loss.tables import PARTS

_NAMES = {
    "memory": "caches and memory that ranks share",
    "communication": "communication and what the trace does not tell",
    "waiting": "waiting for each other",
    "work": "computing that grows with the ranks",
}


def node_loss(content: Content) -> Section | None:
    """Say where the efficiency of runs on one node goes; none where none of them was traced alone."""
    rows = content.tables.get("node_loss")
    if rows is None or rows.empty:
        return None
    labels = content.labels
    lines = labels.lines(rows, "case", "processes", "interconnect")
    heads = {part: f"{part.capitalize()} (% of the loss)" for part in PARTS}

    def share(part: str) -> Callable[[Line], str]:
        return lambda line: formats.bracketed(*interval(line, f"{part}_percent"))

    fields = [
        texts("Interconnect", labels.interconnect, "interconnect", "kind"),
        numbers("Processes", formats.whole, "processes"),
        numbers("Efficiency", lambda line: formats.bracketed(*interval(line, "efficiency"))),
        *(numbers(head, share(part)) for part, head in heads.items()),
        numbers("Bandwidth at most (%)", share("bandwidth")),
    ]
    how = (
        "Runs on one node beside their traces, whose ranks ran again alone and several at once. Memory: how "
        "much longer a rank computes while others of its node do. Waiting: of the trace if messages cost "
        "nothing. Work: CPU time of all ranks alone over the serial run's. Communication is the rest. "
        "Bandwidth at most: what cores that share a memory would lose if all computing waited for it, by "
        "STREAM's triad on one and several cores; it is no part of the sum, but bounds memory's share. In "
        "brackets is what the interval of the efficiency and the bands of the traces allow. Factors are in "
        "tables/node_loss.csv."
    )
    caption = "Shares of the efficiency that is lost inside a node (of logarithms)."
    blocks = [
        bullets([_sentence(line, labels) for line in lines]),
        line_table(caption, fields, lines, lambda line: labels.case(line["case"])),
        paragraph(how),
    ]
    return section("node_loss", "Is it the memory or the network?", blocks)


def _sentence(line: Line, labels: Labels) -> str:
    where = f"{labels.case(line['case'])} on {processes(line['processes'])} of a node, "
    where += labels.interconnect(line["interconnect"], line["kind"])
    efficiency = formats.bracketed(*interval(line, "efficiency"))
    if is_missing(line["memory_percent"]):
        return f"{where}: the efficiency is {efficiency}, so there may be no loss to divide."
    parts = sorted(PARTS, key=lambda part: -line[f"{part}_percent"])
    told = (
        f"{formats.percent_with_interval(*interval(line, f'{part}_percent'))} is {_NAMES[part]}"
        for part in parts
    )
    return f"{where}: the efficiency is {efficiency}. Of the loss, {listed(told)}.{_of_bandwidth(line)}"


def _of_bandwidth(line: Line) -> str:
    """What the bandwidth of memory allows, beside what the re-runs say; empty where it was not measured."""
    most = interval(line, "bandwidth_percent")
    if is_missing(most[0]):
        return ""
    told = f" Sharing the bandwidth of memory explains at most {formats.percent_with_interval(*most)}"
    if line["memory_percent_low"] <= line["bandwidth_percent_high"]:
        return f"{told} of it, and the re-runs' share of memory agrees with that."
    by_runs = formats.percent_with_interval(*interval(line, "memory_percent"))
    return (
        f"{told} of it, but re-runs of several ranks at once say {by_runs}: the two disagree, so ranks share "
        "more than bandwidth, as caches, or the clock of busy cores."
    )
