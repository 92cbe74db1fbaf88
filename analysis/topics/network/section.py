"""The sections about the interconnects: curves, pairs, load of the processor, collective operations."""

from __future__ import annotations

from dataclasses import replace

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
from analysis.presentation.formats import MISSING, number
from analysis.presentation.network_words import COLLECTIVES, benchmark, ordered, size_text
from analysis.presentation.rows import line_table, numbers, texts
from analysis.runs.frames import Line, is_missing
from analysis.topics.network import sentences as network_sentences
from analysis.topics.network.curve_numbers import BEND, MARGIN
from analysis.topics.network.tables import PAIRS
from analysis.topics.topic import MOST_ROWS, MOST_SENTENCES, Headline, Page

METHOD = (
    "The latency of a ping-pong is half a round trip. The latency of an exchange or of a collective "
    "operation is the time of the complete operation. Bandwidth counts the bytes per second of all messages "
    "that processes send at the same time."
)
OWN_CURVES = (
    "Nodeworth times each message size in several batches per run. The value of a run is the median over "
    "these batches. A curve shows the medians over the runs."
)
IMPORTED_CURVES = (
    "The values of imported curves come from their files, which may define latency and bandwidth differently."
)
SAME_KIND = "Nodeworth compares only curves of the same kind: measured, emulated, simulated or published."
COLUMNS = {
    "loses_from_bytes": (
        "Column “Loses from” shows the size from which the bandwidth stays more than 5 % below the peak."
    ),
    "switches": (
        "Column “Another protocol from” shows the sizes at which another protocol probably starts. At these "
        "sizes, a message takes over 25 % more time than expected. The expected time lies on the straight "
        "line through the times of the two next smaller sizes. The column omits sizes whose time exceeds "
        f"the straight line between both neighbouring sizes by at most {100 * BEND:g} %."
    ),
    "drops": (
        "Column “Quicker again from” shows the sizes at which a message takes over 10 % less time than a "
        "message of the next smaller size."
    ),
}
"""Explanation of columns of the key numbers, which are printed if they have a value."""
_POINT = ["benchmark", "processes", "oversubscription"]


def network(content: Content) -> list[Section]:
    """Write the sections on the interconnects of a study that measures or imports network curves."""
    if "network" not in content.tables:
        return []
    sections = [_point_to_point(content), _pairs(content), _processor(content), _collectives(content)]
    return [section for section in sections if section is not None]


def headline(page: Page) -> Headline | None:
    """Offer page one the best latency and bandwidth, with a table, if the study runs no application."""
    content = page.content
    heads = content.tables.get("network_headlines")
    if content.cases or heads is None:
        return None
    best = network_sentences.headline_sentences(heads, content.tables["network"], content.labels)
    worth = network_sentences.worth_sentence(content.runs, content.facts.study)
    ping_pongs_first = heads.sort_values("benchmark", key=lambda names: names != "pingpong", kind="stable")
    notes = [content.labels.explain(heads), *network_sentences.pressure_sentences(content.runs)]
    first = ping_pongs_first[ping_pongs_first["benchmark"] == ping_pongs_first["benchmark"].iloc[0]]
    labels = replace(content.labels, given="without kind")
    return Headline(
        title=network_sentences.network_title(first, labels),
        key_figures=network_sentences.network_figures(first, content.tables["network"], labels),
        sentences=[*best[: MOST_SENTENCES - 1], worth],
        table=headline_table(ping_pongs_first.head(MOST_ROWS), content),
        notes=[" ".join(filter(None, notes))],
    )


def _figures(content: Content, *names: str) -> list[Block]:
    return [figure for figure in content.figures("network") if figure["name"].startswith(names)]


def _table_or_empty(content: Content, name: str) -> pd.DataFrame:
    return content.tables.get(name, pd.DataFrame())


def _point_to_point(content: Content) -> Section | None:
    """Report the curves of two processes: figures, headline numbers, crossings and variability."""
    curves, labels = content.tables["network"], content.labels
    heads = _table_or_empty(content, "network_headlines")
    crossings = _table_or_empty(content, "network_crossings")
    runs = content.runs[content.runs["case"].isin(curves["case"])]
    warnings = _unavailable(content) + network_sentences.pressure_sentences(runs)
    if len(heads):
        warnings += network_sentences.bus_sentences(heads, labels)
    names = [name for name in ordered(set(curves["benchmark"])) if name not in COLLECTIVES]
    blocks: list[Block] = [bullets(warnings)] if warnings else []
    blocks += _figures(content, *(f"network-{name}" for name in names if name in _curve_benchmarks(curves)))
    if len(heads):
        blocks.append(headline_table(heads, content))
    if len(crossings):
        blocks.append(_crossing_table(crossings, content))
    if varying := _figures(content, "network-variability"):
        blocks.append(bullets(network_sentences.variability_sentences(curves, labels), "From run to run"))
        blocks += varying
    if not blocks:
        return None
    return section(
        "network", "Latency and bandwidth of the interconnects", [paragraph(_method(curves)), *blocks]
    )


def _method(curves: pd.DataFrame) -> str:
    """Define latency and bandwidth, and state where the values of the curves come from."""
    is_imported = curves["imported_from"].notna()
    sentences = [METHOD]
    sentences += [OWN_CURVES] if (~is_imported & (curves["kind"] != "simulated")).any() else []
    sentences += [IMPORTED_CURVES] if is_imported.any() else []
    return " ".join([*sentences, SAME_KIND])


def _unavailable(content: Content) -> list[str]:
    """Name the interconnects of the study that could not be used, one sentence per reason."""
    reasons: dict[str, list[str]] = {}
    for left_out in content.facts.left_out:
        item, _, name = left_out.what.partition(" ")
        if item == "interconnect" and name in content.facts.interconnects:
            reasons.setdefault(left_out.reason, []).append(content.labels.interconnect(name))
    return [
        f"{formats.listed(names)} {'was' if len(names) == 1 else 'were'} not available: {reason}."
        for reason, names in reasons.items()
    ]


def _curve_benchmarks(curves: pd.DataFrame) -> set[str]:
    """Return the benchmarks whose points have a single curve over the message size."""
    plain = curves[["pairs", "source", "part"]].isna().all(axis="columns")
    return set(curves.loc[plain, "benchmark"])


def headline_table(heads: pd.DataFrame, content: Content) -> Block:
    """Tabulate latency, peak and protocols of each curve."""

    def sizes(switches: object) -> str:
        if is_missing(switches):
            return MISSING
        return ", ".join(size_text(int(size)) for size in str(switches).split())

    def rounded(size: float) -> str:
        return MISSING if is_missing(size) else size_text(round(size))

    fields = [
        texts("Interconnect", content.labels.interconnect, "interconnect", "kind"),
        numbers("Latency (µs)", number, "latency_us"),
        numbers("Peak (MB/s)", number, "peak_MBps"),
        numbers("at", size_text, "peak_bytes"),
        numbers("% of link", formats.whole, "percent_of_link"),
        numbers("% of host bus", formats.whole, "percent_of_host_bus"),
        numbers("N/2", rounded, "half_peak_bytes"),
        numbers("Loses from", size_text, "loses_from_bytes"),
        texts("Another protocol from", sizes, "switches"),
        texts("Quicker again from", sizes, "drops"),
    ]
    caption = (
        "Key numbers of each latency curve. They use only message sizes of 0 bytes and powers of two. N/2 is "
        "the size at which the bandwidth reaches half of the peak."
    )
    for column, sentences in COLUMNS.items():
        caption += f" {sentences}" if heads[column].notna().any() else ""
    if ((heads["kind"] == "emulated") & (heads["percent_of_link"] > 100)).any():
        caption += (
            " An emulated link does not delay the first packets of a burst. Messages of some KiB may "
            "therefore exceed 100 % of the link."
        )
    return line_table(caption, fields, heads.to_dict("records"), _title, of_cases=False)


def _title(line: Line) -> str:
    """Name the benchmark and the point of a row; imported curves have no oversubscription level."""
    text, count, level = benchmark(line["benchmark"]), line["processes"], line["oversubscription"]
    if not is_missing(count):
        text += f", {formats.counted(int(count), 'process')}"
    if is_missing(level):
        return f"{text}, imported"
    return f"{text}, oversubscription {int(level)}" if level > 1 else text


def _crossing_table(crossings: pd.DataFrame, content: Content) -> Block:
    """Tabulate the message sizes at which an interconnect overtakes another interconnect."""
    labels = content.labels
    groups: dict[str, list[Row]] = {}
    order = ordered(set(crossings["benchmark"]))
    crossings = crossings.sort_values("benchmark", key=lambda names: names.map(order.index), kind="stable")
    pair = ["interconnect", "other_interconnect", "kind"]
    for _, rows in crossings.groupby([*_POINT, *pair], dropna=False, sort=False):
        first = rows.iloc[0].to_dict()
        names = [labels.interconnect(first[name], first["kind"]) for name in pair[:2]]
        sizes = formats.listed(map(size_text, rows["from_bytes"]))
        groups.setdefault(_title(first), []).append(row([*names, sizes], "", first["interconnect"]))
    caption = (
        "The interconnect in column “Faster” overtakes the interconnect in column “than” at the message "
        "sizes in column “from”. At larger sizes, the order may change again. The table ignores sizes whose "
        f"times differ by less than {formats.percent(100 * MARGIN)}."
    )
    return table(caption, left("Faster", "than", "from"), groups)


def _pairs(content: Content) -> Section | None:
    """Report the pairs of processes: one pair after the other, and several pairs at once."""
    curves, labels = content.tables["network"], content.labels
    at_once = content.tables.get("network_pairs", pd.DataFrame(columns=list(PAIRS.columns)))
    lists = {
        "One pair after the other": (network_sentences.slow_pair_sentences(curves, labels), "network-pairs"),
        "Several pairs at once": (network_sentences.contention_sentences(at_once, labels), "network-at_once"),
    }
    blocks: list[Block] = []
    for title, (sentences, figures) in lists.items():
        blocks += [bullets(sentences, title)] if sentences else []
        blocks += _figures(content, figures)
    return section("network-pairs", "Every pair, and pairs at once", blocks)


def _processor(content: Content) -> Section | None:
    blocks = [*_availability(content), *_after_work(content)]
    return section("network-processor", "How much communication loads the processor", blocks)


def _after_work(content: Content) -> list[Block]:
    """Tabulate the time of an exchange after work, if the study measured it."""
    rows = _table_or_empty(content, "network_after_work")
    if rows.empty:
        return []
    fields = [
        numbers("Work (µs)", formats.whole, "work_us"),
        numbers("Exchange after it (µs)", number, "exchange_us"),
        numbers("Longer than directly (µs)", number, "longer_us"),
    ]
    caption = (
        "Time of an exchange of empty messages after work. The last column is the additional time, compared "
        "with an exchange directly after another exchange."
    )
    return [line_table(caption, fields, rows.to_dict("records"), content.labels.curve, of_cases=False)]


def _availability(content: Content) -> list[Block]:
    """Show the share of the processor that an exchange leaves to other work, if it was measured."""
    rows = _table_or_empty(content, "network_availability")
    if rows.empty:
        return []
    fields = [
        texts("Message", size_text, "bytes"),
        numbers("Exchange (µs)", number, "exchange_us"),
        numbers("Overhead (µs)", number, "overhead_us"),
        numbers("Availability (%)", _share_text, "availability"),
    ]
    lines = [
        line
        for _, curve in rows.groupby(["interconnect", "kind"], sort=False)
        for line in curve[curve["bytes"].isin(_few_sizes(curve["bytes"]))].to_dict("records")
    ]
    caption = "Share of the processor that an exchange leaves to other work."
    if not rows["availability"].between(0, 1).all():
        caption += (
            " A share is below 0 or above 100 if other programs took more of the processor than the exchange."
        )
    shown = line_table(caption, fields, lines, content.labels.curve, of_cases=False)
    return [*_figures(content, "network-availability"), shown]


def _share_text(share: float) -> str:
    """Write a share in percent; a share outside 0 to 1 is written as ``< 0`` or ``> 100``."""
    if 0 <= share <= 1:
        return formats.whole(100 * share)
    return "< 0" if share < 0 else "> 100"


def _few_sizes(sizes: pd.Series) -> list[int]:
    """Choose about six sizes, among them the smallest and the largest."""
    distinct = sorted(set(sizes))
    step = max(1, (len(distinct) - 1) // 5)
    return [*distinct[:-1:step], distinct[-1]]


def _collectives(content: Content) -> Section | None:
    """Report the times of collective operations."""
    rows = content.tables["network"]
    rows = rows[rows["benchmark"].isin(COLLECTIVES)]
    if rows.empty:
        return None
    blocks = _figures(content, "network-collectives")
    if len(sized := rows[rows["bytes"].notna()]):
        blocks.append(_collective_table(sized, content))
    if len(barriers := rows[rows["bytes"].isna()]):
        blocks.append(_barrier_table(barriers, content))
    return section("network-collectives", "Collective operations", blocks)


def _collective_table(rows: pd.DataFrame, content: Content) -> Block:
    """Tabulate the times of collectives at the sizes that `_few_sizes` chooses."""
    sizes = _few_sizes(rows["bytes"])
    columns = [*left("Interconnect"), *right(*map(size_text, sizes))]
    groups: dict[str, list[Row]] = {}
    for name in ordered(set(rows["benchmark"])):
        benchmark_rows = rows[rows["benchmark"] == name]
        for _, point in benchmark_rows.groupby(["processes", "oversubscription"], dropna=False):
            lines = groups.setdefault(_title(point.iloc[0].to_dict()), [])
            from_files = point["imported_from"].fillna("")
            curves = point.groupby(["interconnect", "kind", from_files], sort=False)
            for _, curve in curves:
                first = curve.iloc[0].to_dict()
                times = curve.groupby("bytes")["latency_us"].first().reindex(sizes)
                cells = [number(time) for time in times]
                title = content.labels.interconnect(first["interconnect"], first["kind"])
                lines.append(row([title, *cells], "", first["interconnect"]))
    return table("Times of collective operations in µs, by the message size.", columns, groups)


def _barrier_table(rows: pd.DataFrame, content: Content) -> Block:
    """Tabulate the times of operations without a message size."""
    fields = [
        texts("Interconnect", content.labels.interconnect, "interconnect", "kind"),
        numbers("Time (µs)", number, "latency_us"),
        numbers("Fastest run", number, "latency_us_lowest_run"),
        numbers("Slowest run", number, "latency_us_highest_run"),
    ]
    lines = rows.to_dict("records")
    return line_table("Operations without a message size.", fields, lines, _title, of_cases=False)
