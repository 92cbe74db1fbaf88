"""What the curves of network benchmarks say, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from analysis.networks.curves import spreads
from analysis.runs.kinds import ORDER
from analysis.text import formats
from analysis.text.formats import THIN, counted, listed, number
from analysis.text.labels import Labels
from analysis.text.network_words import benchmark, ordered, size_text

CALM_PERCENT = 10
"""Runs whose times differ by less are called alike."""
MOST_CROSSINGS = 6
"""Pairs of interconnects for which a sentence says where the second is overtaken."""
SLOW = 1.5
"""A pair is called slow where its time is more than so many times the median over the pairs."""
BUSY = 0.2
"""Cores kept busy by other programs from which on a sentence says so."""


def headline_sentences(headlines: pd.DataFrame, labels: Labels) -> list[str]:
    """Say which interconnect has the lowest latency and the highest bandwidth, kind by kind.

    Takes the table ``network_headlines``.
    """
    said = []
    for name in ordered(set(headlines["benchmark"])):
        own = headlines[headlines["benchmark"] == name]
        for kind in (kind for kind in ORDER if (own["kind"] == kind).any()):
            rows = own[own["kind"] == kind]
            best = [*_lowest(rows, labels), _highest(rows, labels)]
            said.append(f"{benchmark(name)}, {kind}: {'; '.join(best)}.")
    return said


def _lowest(rows: pd.DataFrame, labels: Labels) -> list[str]:
    known = rows.dropna(subset="latency_us")
    if known.empty:
        return []
    row = known.loc[known["latency_us"].idxmin()]
    title = labels.interconnect(row["interconnect"], row["kind"])
    return [f"lowest latency at 0 bytes {number(row['latency_us'])}{THIN}µs, {title}"]


def _highest(rows: pd.DataFrame, labels: Labels) -> str:
    row = rows.loc[rows["peak_MBps"].idxmax()]
    title = labels.interconnect(row["interconnect"], row["kind"])
    link = row["percent_of_link"]
    share = "" if pd.isna(link) else f", {formats.percent(link)} of its link"
    rate = f"{number(row['peak_MBps'])}{THIN}MB/s"
    return f"highest bandwidth {rate}, {title} at {size_text(row['peak_bytes'])}{share}"


def loss_sentences(headlines: pd.DataFrame, labels: Labels) -> list[str]:
    """Say from which sizes on the ping-pong of which interconnect falls below its peak."""
    rows = headlines[(headlines["benchmark"] == "pingpong") & headlines["loses_from_bytes"].notna()]
    if rows.empty:
        return []
    losing = [
        f"{labels.interconnect(row['interconnect'], row['kind'])} from {size_text(row['loses_from_bytes'])}"
        for row in rows.to_dict("records")
    ]
    return [f"Large messages of a ping-pong are 5{THIN}% or more slower than the best: {listed(losing)} on."]


def protocol_sentences(headlines: pd.DataFrame, labels: Labels) -> list[str]:
    """List where the ping-pong of which interconnect goes over to another protocol, slower or quicker."""
    rows = headlines[headlines["benchmark"] == "pingpong"]
    said = []
    for column, what in (("switches", "takes longer"), ("drops", "is quicker")):
        known = rows[rows[column].notna()]
        changes = [
            f"{labels.interconnect(row['interconnect'], row['kind'])} at "
            f"{listed(size_text(int(size)) for size in str(row[column]).split())}"
            for row in known.to_dict("records")
        ]
        if changes:
            said.append(
                f"Changes of protocol after which a message of a ping-pong {what}: {listed(changes)}."
            )
    return said


def bus_sentences(headlines: pd.DataFrame, labels: Labels) -> list[str]:
    """Say whose adapter sits on a bus that carries less than its link, and how near to that it came."""
    return [
        f"{benchmark(row['benchmark'])}, {labels.interconnect(row['interconnect'], row['kind'])}: its "
        f"bus, {row['host_bus']}, carries {number(row['host_bus_MBps'], 4)}{THIN}MB/s, less than the link's "
        f"{number(row['link_MBps'], 4)}; {formats.percent(row['percent_of_host_bus'])} of it is reached."
        for row in headlines[headlines["host_bus_MBps"] < headlines["link_MBps"]].to_dict("records")
    ]


def crossing_sentences(crossings: pd.DataFrame, labels: Labels) -> list[str]:
    """Say from which sizes on an interconnect overtakes another in a ping-pong."""
    rows = crossings[crossings["benchmark"] == "pingpong"]
    said: list[str] = []
    pairs = rows.groupby(["interconnect", "other_interconnect", "kind"], sort=False)
    for (name, other, kind), found in pairs:
        if len(said) == MOST_CROSSINGS:
            said.append(f"{len(pairs) - MOST_CROSSINGS} more pairs of interconnects are in the table below.")
            break
        sizes = listed(size_text(size) for size in found["from_bytes"])
        said.append(
            f"In a ping-pong, {labels.interconnect(name, kind)} overtakes {labels.interconnect(other, kind)} "
            f"at {sizes}."
        )
    return said


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


def availability_sentences(table: pd.DataFrame, labels: Labels) -> list[str]:
    """Say how much of the processor an exchange of the largest message leaves to an application."""
    said = []
    for (name, kind), own in table.groupby(["interconnect", "kind"], sort=False):
        row = own.loc[own["bytes"].idxmax()]
        share = min(max(row["availability"], 0.0), 1.0)
        said.append(
            f"{labels.interconnect(name, kind)}: an exchange of {size_text(row['bytes'])} leaves "
            f"{formats.percent(100 * share, places=0)} of the processor's time to other work."
        )
    return said


def collective_sentences(rows: pd.DataFrame, labels: Labels) -> list[str]:
    """Say over which interconnect collectives on most processes are fastest, small and large messages.

    Takes rows of collectives, as `analysis.networks.curves.NETWORK`.
    """
    rows = rows[rows["latency_us"].notna()]
    most = rows[rows["processes"].isna() | (rows["processes"] == rows["processes"].max())]
    said = []
    for name in ordered(set(most["benchmark"])):
        own = most[most["benchmark"] == name]
        for (kind, count), same in own.groupby(["kind", "processes"], dropna=False, sort=False):
            on = "" if pd.isna(count) else f" on {counted(int(count), 'process')}"
            said.append(f"{benchmark(name)}{on}, {kind}: {_fastest(same, labels)}.")
    return said


def _fastest(rows: pd.DataFrame, labels: Labels) -> str:
    sizes = [None] if rows["bytes"].isna().all() else sorted({rows["bytes"].min(), rows["bytes"].max()})
    times = []
    for size in sizes:
        of_size = rows if size is None else rows[rows["bytes"] == size]
        best = of_size.loc[of_size["latency_us"].idxmin()]
        of = "" if size is None else f" with {size_text(size)}"
        title = labels.interconnect(best["interconnect"], best["kind"])
        times.append(f"{number(best['latency_us'])}{THIN}µs{of} over {title}")
    return f"at best {listed(times)}"
