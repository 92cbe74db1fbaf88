"""Sentences about the curves of network benchmarks."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import KeyFigure, key_figure
from analysis.presentation.formats import THIN, counted, number
from analysis.presentation.labels import Labels
from analysis.presentation.network_words import benchmark, ordered, size_text
from analysis.runs.facts import AboutStudy
from analysis.runs.frames import Line, rows_like
from analysis.runs.kinds import ORDER
from analysis.topics.network.curves import spreads

_QUANTITIES = {"latency_us": "µs", "peak_MBps": "MB/s"}
CALM_PERCENT = 10
"""Difference between runs, in percent, below which a sentence states only this limit."""
SLOW = 1.5
"""Multiple of the median time over the pairs above which a pair is slow."""
BUSY = 0.2
"""Number of cores kept busy by other programs from which a sentence warns of them."""
A_CASE, BLOCKS = "cavity", 10
"""The case and the blocks that a study of benchmarks is advised to run, as in the default study."""


def headline_sentences(headlines: pd.DataFrame, network: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the interconnects with the lowest latency and the highest bandwidth, kind by kind.

    Parameters
    ----------
    headlines : DataFrame
        Table ``network_headlines``.
    network : DataFrame
        Table ``network``, which has the lowest and the highest run.
    """
    sentences = []
    for name in ordered(set(headlines["benchmark"])):
        benchmark_rows = headlines[headlines["benchmark"] == name]
        for kind in ORDER:
            rows = benchmark_rows[benchmark_rows["kind"] == kind]
            if len(rows):
                best = [*_lowest_latency(rows, network, labels), _highest_bandwidth(rows, network, labels)]
                sentences.append(f"{benchmark(name)}, {kind}: {'. '.join(best)}.")
    return sentences


def network_figures(headlines: pd.DataFrame, network: pd.DataFrame, labels: Labels) -> list[KeyFigure]:
    """Make the key figures of interconnects: latency and bandwidth, with the range over their runs.

    Two interconnects have two figures each. More have one figure each, by kind, the lowest latency first.

    Parameters
    ----------
    headlines : DataFrame
        Rows of ``network_headlines`` of one benchmark.
    network : DataFrame
        Table ``network``.
    """
    rows = headlines.sort_values("latency_us").sort_values("kind", key=_places_of_kinds, kind="stable")
    rows = rows.drop_duplicates(["interconnect", "kind"])
    figures = []
    for row in rows.to_dict("records"):
        name, of_runs = labels.interconnect(row["interconnect"], row["kind"]), "lowest to highest run"
        low, high = (end * row["latency_us"] for end in _ends_over_runs(row, 0, network))
        at_peak = _ends_over_runs(row, row["peak_bytes"], network)
        slow, fast = (row["peak_MBps"] / end for end in reversed(at_peak))
        latency, rate = (f"{number(row[key])}{THIN}{unit}" for key, unit in _QUANTITIES.items())
        latency_ends, rate_ends = (
            "" if pd.isna(least) else f"[{number(least)}, {number(most)}]"
            for least, most in ((low, high), (slow, fast))
        )
        size, kind = size_text(row["peak_bytes"]), str(row["kind"])
        notes = [name, *([of_runs] if latency_ends or rate_ends else [])]
        if len(rows) > 2:
            notes.insert(1, " ".join(filter(None, (rate, rate_ends, f"at {size}"))))
        if not pd.isna(row["latency_us"]):
            figures.append(key_figure("Latency at 0 bytes", latency, ", ".join(notes), latency_ends, kind))
        if len(rows) <= 2:
            figures.append(key_figure(f"Bandwidth at {size}", rate, ", ".join(notes), rate_ends, kind))
    return figures


def _places_of_kinds(kinds: pd.Series) -> pd.Series:
    return kinds.map({kind: place for place, kind in enumerate(ORDER)})


def network_title(headlines: pd.DataFrame, labels: Labels) -> str:
    """Name the interconnects with the lowest latency and the highest bandwidth of one benchmark.

    Empty for one interconnect, and for several kinds, which are not compared.
    """
    if headlines["kind"].nunique() > 1 or headlines["interconnect"].nunique() < 2:
        return ""
    first = headlines.nsmallest(1, "latency_us")
    widest = headlines.nlargest(1, "peak_MBps").iloc[0]
    names = [labels.interconnect(row["interconnect"], row["kind"]) for _, row in first.iterrows()]
    most = labels.interconnect(widest["interconnect"], widest["kind"])
    if not names:
        return f"{most} has the highest bandwidth"
    if names == [most]:
        return f"{most} has the lowest latency and the highest bandwidth"
    return f"{names[0]} has the lowest latency, {most} the highest bandwidth"


def worth_sentence(runs: pd.DataFrame, study: AboutStudy) -> str:
    """State that benchmarks do not show the gain of an application, and name a command that measures it.

    Parameters
    ----------
    runs : DataFrame
        Runs of the study of benchmarks.
    """
    text = (
        "These benchmarks do not show what an application gains. Run a case over these interconnects to "
        "measure the gain in processes, nodes or money"
    )
    if runs.empty or study.file is None:
        return f"{text}."
    counts = sorted({1, *map(int, runs["processes"])})
    return (
        f"{text} (./run-study {study.file} --config name={study.name}_{A_CASE} 'cases=[{A_CASE}]' "
        f"'processes={counts}' 'exclude=[]' blocks={BLOCKS})."
    )


def _lowest_latency(rows: pd.DataFrame, network: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the interconnect with the lowest latency; empty if no curve has a time at 0 bytes."""
    timed = rows.dropna(subset="latency_us")
    if timed.empty:
        return []
    row = timed.nsmallest(1, "latency_us").iloc[0].to_dict()
    low, high = _ends_over_runs(row, 0, network)
    latency = f"{number(row['latency_us'])}{THIN}µs"
    latency += _range_over_runs(low * row["latency_us"], high * row["latency_us"])
    name = labels.interconnect(row["interconnect"], row["kind"])
    return [f"{name} has the lowest latency at 0 bytes: {latency}"]


def _highest_bandwidth(rows: pd.DataFrame, network: pd.DataFrame, labels: Labels) -> str:
    """Name the interconnect with the highest bandwidth, and its share of the link's peak."""
    row = rows.nlargest(1, "peak_MBps").iloc[0].to_dict()
    title = labels.interconnect(row["interconnect"], row["kind"])
    percent = row["percent_of_link"]
    share = "" if pd.isna(percent) else f", {formats.percent(percent)} of its link"
    low, high = _ends_over_runs(row, row["peak_bytes"], network)
    rate = f"{number(row['peak_MBps'])}{THIN}MB/s"
    rate += _range_over_runs(row["peak_MBps"] / high, row["peak_MBps"] / low)
    return f"{title} has the highest bandwidth: {rate} at {size_text(row['peak_bytes'])}{share}"


def _ends_over_runs(row: Line, size: float, network: pd.DataFrame) -> tuple[float, float]:
    """Return the shortest and the longest time of a run at a message size, divided by the median over runs.

    Both are NaN if there is a single run.
    """
    rows = rows_like(network, row, ["interconnect", "kind", "benchmark"])
    rows = rows[(rows["bytes"] == size) & (rows["runs"] > 1)]
    low, high = (rows[f"latency_us_{end}_run"] / rows["latency_us"] for end in ("lowest", "highest"))
    return float(low.min()), float(high.max())


def _range_over_runs(low: float, high: float) -> str:
    return "" if pd.isna(low) else f" ({formats.spanned(number(low), number(high))} from run to run)"


def bus_sentences(headlines: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the adapters whose bus is slower than their link, with the share of the bus that they reach."""
    return [
        f"{benchmark(row['benchmark'])}, {labels.interconnect(row['interconnect'], row['kind'])}: the host "
        f"bus {row['host_bus']} carries only {number(row['host_bus_MBps'], 4)}{THIN}MB/s. The link carries "
        f"{number(row['link_MBps'], 4)}{THIN}MB/s. The peak is {formats.percent(row['percent_of_host_bus'])} "
        "of the host bus."
        for row in headlines[headlines["host_bus_MBps"] < headlines["link_MBps"]].to_dict("records")
    ]


def variability_sentences(network: pd.DataFrame, labels: Labels) -> list[str]:
    """State the differences between the runs of a ping-pong."""
    rows = spreads(network)
    rows = rows[rows["benchmark"] == "pingpong"]
    sentences = []
    for _, curve in rows.groupby(["interconnect", "kind"], sort=False):
        worst = curve.nlargest(1, "between_percent").iloc[0].to_dict()
        difference = (
            f"{formats.percent(curve['between_percent'].median())} at the median size, and by "
            f"{formats.percent(worst['between_percent'])} at {size_text(worst['bytes'])}"
        )
        if worst["between_percent"] < CALM_PERCENT:
            difference = f"less than {CALM_PERCENT}{THIN}% at any size"
        title = labels.interconnect(worst["interconnect"], worst["kind"])
        sentences.append(f"{title}: runs of a ping-pong differ by {difference}.")
    return sentences


def pressure_sentences(runs: pd.DataFrame) -> list[str]:
    """Warn if other programs kept cores busy during the runs of network benchmarks."""
    busy = runs["foreign_cores"].dropna() if "foreign_cores" in runs else pd.Series(dtype=float)
    if busy.empty or busy.median() < BUSY:
        return []
    return [
        f"Other programs kept {number(busy.median(), 2)} cores busy during the median run. Single values may "
        "therefore be many times too slow. The bands are wide."
    ]


def slow_pair_sentences(network: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the pairs whose small message takes much longer than the median over the pairs."""
    rows = network[network["source"].notna() & (network["source"] != network["target"])]
    sentences = []
    for title, pairs in _by_point(rows, labels):
        small = pairs[pairs["bytes"] == pairs["bytes"].min()]
        if len(small) > 1:
            sentences.append(f"{title}: {_slow_pairs(small)}")
    return sentences


def _by_point(rows: pd.DataFrame, labels: Labels) -> Iterator[tuple[str, pd.DataFrame]]:
    """Split rows by interconnect, process count and level, each with a title."""
    keys = ["interconnect", "kind", "processes", "oversubscription"]
    for _, point in rows.groupby(keys, sort=False):
        first = point.iloc[0].to_dict()
        title = labels.interconnect(first["interconnect"], first["kind"])
        title += f", {counted(first['processes'], 'process')}"
        if first["oversubscription"] > 1:
            title += f" at oversubscription {first['oversubscription']}"
        yield title, point


def _slow_pairs(pairs: pd.DataFrame) -> str:
    """Count the pairs above `SLOW` times the median time, and name the slowest pair."""
    middle = pairs["latency_us"].median()
    slow = pairs[pairs["latency_us"] > SLOW * middle]
    limit = f"more than {SLOW:g} times the median of {number(middle)}{THIN}µs"
    if slow.empty:
        return f"no pair of {len(pairs)} takes {limit}."
    worst = slow.nlargest(1, "latency_us").iloc[0]
    return (
        f"{len(slow)} of {len(pairs)} pairs take {limit}. "
        f"The slowest pair, {worst['source']} and {worst['target']}, takes "
        f"{number(worst['latency_us'])}{THIN}µs."
    )


def contention_sentences(pairs: pd.DataFrame, labels: Labels) -> list[str]:
    """Compare the total bandwidth of the most pairs at once with the bandwidth of a single pair."""
    sentences = []
    for title, point in _by_point(pairs, labels):
        rates = point[point["bytes"] == point["bytes"].max()].set_index("pairs")["bandwidth_MBps"]
        most = int(rates.index.max())
        if most < 2 or 1 not in rates.index:
            continue
        sentences.append(
            f"{title}: {most} pairs at once have {number(rates[most] / rates[1])} times the bandwidth of a "
            f"single pair: {number(rates[most])} against {number(rates[1])}{THIN}MB/s."
        )
    return sentences
