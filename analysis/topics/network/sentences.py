"""What the curves of network benchmarks say, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.formats import THIN, counted, number
from analysis.presentation.labels import Labels
from analysis.presentation.network_words import benchmark, ordered, size_text
from analysis.runs.facts import AboutStudy
from analysis.runs.frames import rows_like
from analysis.runs.kinds import ORDER
from analysis.topics.network.curves import spreads

CALM_PERCENT = 10
"""Runs whose times differ by less are called alike."""
SLOW = 1.5
"""A pair is called slow where its time is more than so many times the median over the pairs."""
BUSY = 0.2
"""Cores kept busy by other programs from which on a sentence says so."""
A_CASE, BLOCKS = "cavity", 10
"""What a study of benchmarks is advised to run: the default study's flow, as often as there."""


def headline_sentences(headlines: pd.DataFrame, network: pd.DataFrame, labels: Labels) -> list[str]:
    """Say which interconnect has the lowest latency and the highest bandwidth, kind by kind.

    Takes the tables ``network_headlines`` and ``network``, which says how far runs differ.
    """
    said = []
    for name in ordered(set(headlines["benchmark"])):
        own = headlines[headlines["benchmark"] == name]
        for kind in (kind for kind in ORDER if (own["kind"] == kind).any()):
            rows = own[own["kind"] == kind]
            best = [*_lowest(rows, network, labels), _highest(rows, network, labels)]
            said.append(f"{benchmark(name)}, {kind}: {'; '.join(best)}.")
    return said


def worth_sentence(runs: pd.DataFrame, study: AboutStudy) -> str:
    """Say what benchmarks cannot tell, and the command that would, of the study that `runs` are of."""
    text = (
        "What it is worth to an application, in processes, nodes or money, these benchmarks cannot tell: a "
        "case that is run over these interconnects would"
    )
    if runs.empty or study.file is None:
        return f"{text}."
    counts = sorted({1, *map(int, runs["processes"])})
    return (
        f"{text} (./run-study {study.file} --config name={study.name}_{A_CASE} 'cases=[{A_CASE}]' "
        f"'processes={counts}' 'exclude=[]' blocks={BLOCKS})."
    )


def _lowest(rows: pd.DataFrame, network: pd.DataFrame, labels: Labels) -> list[str]:
    known = rows.dropna(subset="latency_us")
    if known.empty:
        return []
    row = known.loc[known["latency_us"].idxmin()]
    title = labels.interconnect(row["interconnect"], row["kind"])
    low, high = _from_run_to_run(row, 0, network)
    latency = f"{number(row['latency_us'])}{THIN}µs"
    latency += _spanned(low * row["latency_us"], high * row["latency_us"])
    return [f"lowest latency at 0 bytes {latency}, {title}"]


def _from_run_to_run(row: pd.Series, size: float, network: pd.DataFrame) -> tuple[float, float]:
    """Shortest and longest time of a run over the median, of a headline at a size; NaN of one run."""
    own = rows_like(network, row, ["interconnect", "kind", "benchmark"])
    own = own[(own["bytes"] == size) & (own["runs"] > 1)]
    low, high = (own[f"latency_us_{end}_run"] / own["latency_us"] for end in ("lowest", "highest"))
    return float(low.min()), float(high.max())


def _spanned(low: float, high: float) -> str:
    return "" if pd.isna(low) else f" ({formats.spanned(number(low), number(high))} from run to run)"


def _highest(rows: pd.DataFrame, network: pd.DataFrame, labels: Labels) -> str:
    row = rows.loc[rows["peak_MBps"].idxmax()]
    title = labels.interconnect(row["interconnect"], row["kind"])
    link = row["percent_of_link"]
    share = "" if pd.isna(link) else f", {formats.percent(link)} of its link"
    short, long = _from_run_to_run(row, row["peak_bytes"], network)
    rate = f"{number(row['peak_MBps'])}{THIN}MB/s" + _spanned(
        row["peak_MBps"] / long, row["peak_MBps"] / short
    )
    return f"highest bandwidth {rate}, {title} at {size_text(row['peak_bytes'])}{share}"


def bus_sentences(headlines: pd.DataFrame, labels: Labels) -> list[str]:
    """Say whose adapter sits on a bus that carries less than its link, and how near to that it came."""
    return [
        f"{benchmark(row['benchmark'])}, {labels.interconnect(row['interconnect'], row['kind'])}: its "
        f"bus, {row['host_bus']}, carries {number(row['host_bus_MBps'], 4)}{THIN}MB/s, less than the link's "
        f"{number(row['link_MBps'], 4)}; {formats.percent(row['percent_of_host_bus'])} of it is reached."
        for row in headlines[headlines["host_bus_MBps"] < headlines["link_MBps"]].to_dict("records")
    ]


def variability_sentences(network: pd.DataFrame, labels: Labels) -> list[str]:
    """Say how far the runs of a ping-pong differ."""
    rows = spreads(network)
    rows = rows[rows["benchmark"] == "pingpong"]
    said = []
    for (name, kind), own in rows.groupby(["interconnect", "kind"], sort=False):
        middle, worst = own["between_percent"].median(), own.loc[own["between_percent"].idxmax()]
        title = labels.interconnect(name, kind)
        how = (
            f"{formats.percent(middle)} at the median size, and by "
            f"{formats.percent(worst['between_percent'])} at {size_text(worst['bytes'])}"
        )
        if worst["between_percent"] < CALM_PERCENT:
            how = f"less than {CALM_PERCENT}{THIN}% at any size"
        said.append(f"{title}: runs of a ping-pong differ by {how}.")
    return said


def pressure_sentences(runs: pd.DataFrame) -> list[str]:
    """Say whether other programs kept cores busy during `runs` of network benchmarks, which feel it first."""
    busy = runs["foreign_cores"].dropna() if "foreign_cores" in runs else pd.Series(dtype=float)
    if busy.empty or busy.median() < BUSY:
        return []
    return [
        f"Other programs kept {number(busy.median(), 2)} cores busy during the median run: single figures "
        "may be many times too slow, and bands are wide."
    ]


def slow_pair_sentences(network: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the pairs whose small message takes much longer than the median pair's."""
    rows = network[network["source"].notna() & (network["source"] != network["target"])]
    said = []
    for title, own in _by_point(rows, labels):
        small = own[own["bytes"] == own["bytes"].min()]
        if len(small) < 2:
            continue
        middle = small["latency_us"].median()
        slow = small[small["latency_us"] > SLOW * middle]
        said.append(f"{title}: {_slow(slow, len(small), middle)}")
    return said


def _by_point(rows: pd.DataFrame, labels: Labels) -> Iterator[tuple[str, pd.DataFrame]]:
    """Split rows by interconnect, process count and level, with a title of each."""
    keys = ["interconnect", "kind", "processes", "oversubscription"]
    for (name, kind, count, level), own in rows.groupby(keys, sort=False):
        title = f"{labels.interconnect(name, kind)}, {counted(count, 'process')}"
        yield title + (f" at oversubscription {level}" if level > 1 else ""), own


def _slow(slow: pd.DataFrame, pairs: int, middle: float) -> str:
    if slow.empty:
        return f"no pair of {pairs} takes more than {SLOW:g} times the median of {number(middle)}{THIN}µs."
    worst = slow.loc[slow["latency_us"].idxmax()]
    return (
        f"{len(slow)} of {pairs} pairs take more than {SLOW:g} times the median of {number(middle)}{THIN}µs, "
        f"the slowest, {worst['source']} and {worst['target']}, {number(worst['latency_us'])}{THIN}µs."
    )


def contention_sentences(pairs: pd.DataFrame, labels: Labels) -> list[str]:
    """Say how much bandwidth most pairs at once have together, compared with one alone."""
    said = []
    for title, own in _by_point(pairs, labels):
        rates = own[own["bytes"] == own["bytes"].max()].set_index("pairs")["bandwidth_MBps"]
        most = int(rates.index.max())
        if most < 2 or 1 not in rates.index:
            continue
        said.append(
            f"{title}: {most} pairs at once move {number(rates[most] / rates[1])} times what one pair moves "
            f"alone ({number(rates[most])} against {number(rates[1])}{THIN}MB/s)."
        )
    return said
