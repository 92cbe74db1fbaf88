"""The sections on what the interconnects can do: curves, pairs, processor, collectives."""

from __future__ import annotations

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
from analysis.topics.network.tables import PAIRS
from analysis.topics.topic import MOST_ROWS, MOST_SENTENCES, Headline, Page

HOW = (
    "Latency is half a round trip of a ping-pong, the time of an exchange in both directions, or that of a "
    "collective operation; bandwidth counts the bytes of all messages under way. Curves are medians over the "
    "batches of a run and over runs. N/2 is the size that reaches half of the peak. Measured, emulated, "
    "simulated and published curves are told apart and never compared with each other."
)


_POINT = ["benchmark", "processes", "oversubscription"]


def network(content: Content) -> list[Section]:
    """What the interconnects can do, of a study that measures or imports network curves."""
    if "network" not in content.tables:
        return []
    made = [_point_to_point(content), _pairs(content), _processor(content), _collectives(content)]
    return list(filter(None, made))


def headline(page: Page) -> Headline | None:
    """Offer the best latency and bandwidth of a study without runs, and a table of them."""
    content = page.content
    heads = content.tables.get("network_headlines")
    if content.cases or heads is None:
        return None
    best = network_sentences.headline_sentences(heads, content.tables["network"], content.labels)
    worth = network_sentences.worth_sentence(content.runs, content.facts.study)
    ping_pongs_first = heads.sort_values("benchmark", key=lambda names: names != "pingpong", kind="stable")
    notes = [content.labels.explain(heads), *network_sentences.pressure_sentences(content.runs)]
    return Headline(
        sentences=[*best[: MOST_SENTENCES - 1], worth],
        table=headline_table(ping_pongs_first.head(MOST_ROWS), content),
        notes=[" ".join(filter(None, notes))],
    )


def _figures(content: Content, *names: str) -> list[Block]:
    return [figure for figure in content.figures("network") if figure["name"].startswith(names)]


def _of(content: Content, name: str) -> pd.DataFrame:
    return content.tables.get(name, pd.DataFrame())


def _point_to_point(content: Content) -> Section | None:
    curves, labels = content.tables["network"], content.labels
    heads, crossings = _of(content, "network_headlines"), _of(content, "network_crossings")
    own = content.runs[content.runs["case"].isin(curves["case"])]
    said = _not_here(content) + network_sentences.pressure_sentences(own)
    if len(heads):
        said += network_sentences.bus_sentences(heads, labels)
    names = [name for name in ordered(set(curves["benchmark"])) if name not in COLLECTIVES]
    blocks: list[Block] = [bullets(said)] if said else []
    blocks += _figures(content, *(f"network-{name}" for name in names if name in _single(curves)))
    if len(heads):
        blocks.append(headline_table(heads, content))
    if len(crossings):
        blocks.append(_crossing_table(crossings, content))
    if varying := _figures(content, "network-variability"):
        blocks.append(bullets(network_sentences.variability_sentences(curves, labels), "From run to run"))
        blocks += varying
    if not blocks:
        return None
    return section("network", "What the interconnects can do", [paragraph(HOW), *blocks])


def _not_here(content: Content) -> list[str]:
    """Say in one line which interconnects of the study could not be used, and why."""
    reasons: dict[str, list[str]] = {}
    for left_out in content.facts.left_out:
        what, _, name = left_out.what.partition(" ")
        if what == "interconnect" and name in content.facts.interconnects:
            reasons.setdefault(left_out.reason, []).append(content.labels.interconnect(name))
    return [f"Not here, so not measured: {formats.listed(names)} ({why})." for why, names in reasons.items()]


def _single(curves: pd.DataFrame) -> set[str]:
    """Benchmarks that are a curve against the message size: one for each pair or part are none."""
    plain = curves[["pairs", "source", "part"]].isna().all(axis="columns")
    return set(curves.loc[plain, "benchmark"])


def headline_table(heads: pd.DataFrame, content: Content) -> Block:
    """Tabulate latency, peak and protocols of each curve."""

    def sizes(switches: object) -> str:
        known = "" if is_missing(switches) else switches
        return ", ".join(size_text(int(size)) for size in known.split()) or MISSING

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
        "Headline numbers, among 0 bytes and the powers of two. N/2: half of the peak is reached; loses "
        "from: it stays 5 % or more below it. Another protocol: the time is 25 % or more above what the "
        "sizes before let expect; quicker again: 10 % or more below the size before."
    )
    if ((heads["kind"] == "emulated") & (heads["percent_of_link"] > 100)).any():
        caption += (
            " An emulated link lets the first packets of a burst pass undelayed: hence more than 100 % at "
            "some KiB."
        )
    return line_table(caption, fields, heads.to_dict("records"), _title, of_cases=False)


def _title(line: Line) -> str:
    return _group(*(line[name] for name in _POINT))


def _group(name: str, count: float, level: float) -> str:
    """Title of the rows of a benchmark at a point; imported curves have no oversubscription level."""
    text = benchmark(name)
    if not is_missing(count):
        text += f", {formats.counted(int(count), 'process')}"
    if is_missing(level):
        return f"{text}, imported"
    return f"{text}, oversubscription {int(level)}" if level > 1 else text


def _crossing_table(crossings: pd.DataFrame, content: Content) -> Block:
    labels = content.labels
    groups: dict[str, list[Row]] = {}
    order = ordered(set(crossings["benchmark"]))
    crossings = crossings.sort_values("benchmark", key=lambda names: names.map(order.index), kind="stable")
    for point, rows in crossings.groupby(_POINT, dropna=False, sort=False):
        pairs = rows.groupby(["interconnect", "other_interconnect", "kind"], sort=False)["from_bytes"]
        for (name, other, kind), found in pairs:
            names = (labels.interconnect(one, kind) for one in (name, other))
            line = row([*names, formats.listed(map(size_text, found))], "", name)
            groups.setdefault(_group(*point), []).append(line)
    caption = "Sizes at which an interconnect overtakes another of the same kind."
    return table(caption, left("Faster", "than", "from"), groups)


def _pairs(content: Content) -> Section | None:
    curves, labels = content.tables["network"], content.labels
    at_once = content.tables.get("network_pairs", pd.DataFrame(columns=list(PAIRS.columns)))
    lists = {
        "One pair after the other": (network_sentences.slow_pair_sentences(curves, labels), "network-pairs"),
        "Several pairs at once": (network_sentences.contention_sentences(at_once, labels), "network-at_once"),
    }
    blocks: list[Block] = []
    for title, (said, figures) in lists.items():
        blocks += [bullets(said, title)] if said else []
        blocks += _figures(content, figures)
    return section("network-pairs", "Every pair, and pairs at once", blocks)


def _processor(content: Content) -> Section | None:
    blocks = [*_availability(content), *_after_work(content)]
    return section("network-processor", "What communication takes of the processor", blocks)


def _after_work(content: Content) -> list[Block]:
    rows = _of(content, "network_after_work")
    if rows.empty:
        return []
    fields = [
        numbers("Work (µs)", formats.whole, "work_us"),
        numbers("Exchange after it (µs)", number, "exchange_us"),
        numbers("Longer than at once (µs)", number, "longer_us"),
    ]
    title = "How long an exchange of empty messages takes after work, and how much longer than at once."
    return [line_table(title, fields, rows.to_dict("records"), content.labels.curve, of_cases=False)]


def _availability(content: Content) -> list[Block]:
    rows = _of(content, "network_availability")
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
        for _, own in rows.groupby(["interconnect", "kind"], sort=False)
        for line in own[own["bytes"].isin(_few(own["bytes"]))].to_dict("records")
    ]
    title = "What an exchange leaves of the processor."
    if not rows["availability"].between(0, 1).all():
        title += " Less than 0 or more than 100: other work took more of the processor than the exchange."
    shown = line_table(title, fields, lines, content.labels.curve, of_cases=False)
    return [*_figures(content, "network-availability"), shown]


def _share_text(share: float) -> str:
    """Write a share in percent; one that cannot be says only on which side it lies."""
    if 0 <= share <= 1:
        return formats.whole(100 * share)
    return "< 0" if share < 0 else "> 100"


def _few(sizes: pd.Series) -> list[int]:
    """A handful of sizes from the smallest to the largest."""
    known = sorted(set(sizes))
    step = max(1, (len(known) - 1) // 5)
    return [*known[:-1:step], known[-1]]


def _collectives(content: Content) -> Section | None:
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
    """Times of collectives at a handful of sizes."""
    few = sorted(_few(rows["bytes"]))
    columns = [*left("Interconnect"), *right(*map(size_text, few))]
    groups = {}
    for name in ordered(set(rows["benchmark"])):
        own = rows[rows["benchmark"] == name]
        for (count, level), of_point in own.groupby(["processes", "oversubscription"], dropna=False):
            lines = []
            for (interconnect, kind), curve in of_point.groupby(["interconnect", "kind"], sort=False):
                times = curve.groupby("bytes")["latency_us"].first()
                cells = [number(times.get(size)) for size in few]
                lines.append(row([content.labels.interconnect(interconnect, kind), *cells], "", interconnect))
            groups[_group(name, count, level)] = lines
    return table("Times of collective operations in µs, by the message size.", columns, groups)


def _barrier_table(rows: pd.DataFrame, content: Content) -> Block:
    fields = [
        texts("Interconnect", content.labels.interconnect, "interconnect", "kind"),
        numbers("Time (µs)", number, "latency_us"),
        numbers("Fastest run", number, "latency_us_lowest_run"),
        numbers("Slowest run", number, "latency_us_highest_run"),
    ]
    lines = rows.to_dict("records")
    return line_table("Operations without a message size.", fields, lines, _title, of_cases=False)
