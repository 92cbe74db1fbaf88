"""Tables of network curves: headline numbers, crossings, availability, and pairs at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import permutations
from math import nan
from types import MappingProxyType

import pandas as pd

from analysis.runs.buses import bus_peak
from analysis.runs.columns import (
    COUNT,
    NOTE,
    NUMBER,
    POSITIVE,
    TEXT,
    described,
    table_schema,
    table_schemas,
    validated,
)
from analysis.runs.facts import Facts
from analysis.runs.frames import Tables
from analysis.runs.side_tables import WHOLE
from analysis.topics.network.curve_numbers import curve_numbers, faster_from
from analysis.topics.network.curves import (
    DIRECTIONS,
    NETWORK,
    POINT,
    after_work,
    availability,
    curves_by_point,
    powers_only,
    sized,
)
from analysis.topics.network.links import LINKS

_POINT = {"case": TEXT, "interconnect": NOTE, "kind": TEXT, "processes": COUNT, "oversubscription": COUNT}
_DERIVED = table_schemas(
    table_schema(
        "network_headlines",
        "One row per ping-pong or exchange.",
        benchmark=described(TEXT, "Name of the benchmark."),
        **_POINT,
        latency_us=described(POSITIVE, "Time of an empty message."),
        peak_MBps=described(POSITIVE, "Highest bandwidth."),
        peak_bytes=described(COUNT, "Message size with the highest bandwidth."),
        link_MBps=described(
            POSITIVE, "Peak of the link, in both directions for an exchange; empty if unknown."
        ),
        percent_of_link=described(POSITIVE, "Highest bandwidth, in percent of that peak."),
        half_peak_bytes=described(
            POSITIVE, "N/2, the first size that reaches half of the highest bandwidth."
        ),
        switches=described(NOTE, "Sizes at which the protocol changes, separated by blanks."),
        loses_from_bytes=described(
            COUNT, "Size from which on the bandwidth stays 5 % or more below the peak."
        ),
        imported_from=NOTE,
        drops=described(
            NOTE,
            "Sizes whose time is at least 10 % below the time of the previous size, separated by blanks.",
        ),
        host_bus=described(NOTE, "Bus of the adapter, if known."),
        host_bus_MBps=described(POSITIVE, "Bandwidth of the bus, in both directions for an exchange."),
        percent_of_host_bus=described(POSITIVE, "Highest bandwidth, in percent of that of the bus."),
    ),
    table_schema(
        "network_crossings",
        "One row per size from which on one interconnect is faster than another of its kind.",
        benchmark=described(TEXT, "Name of the benchmark."),
        case=TEXT,
        kind=TEXT,
        processes=COUNT,
        oversubscription=COUNT,
        interconnect=TEXT,
        other_interconnect=described(TEXT, "Interconnect that is faster below that size."),
        from_bytes=described(COUNT, "The size."),
    ),
    table_schema(
        "network_availability",
        "One row per point and size, with the share of the processor that an exchange leaves to other work.",
        **_POINT,
        bytes=described(WHOLE, "Size of a message."),
        exchange_us=described(POSITIVE, "Time of the exchange alone."),
        overhead_us=described(NUMBER, "Time that the exchange adds to simultaneous work."),
        availability=described(
            NUMBER,
            "1 − overhead / exchange. Values below 0 or above 1 reflect the spread of the measurement.",
        ),
    ),
    table_schema(
        "network_after_work",
        "One row per point and length of work, with the delay of an exchange after that work.",
        **_POINT,
        work_us=described(POSITIVE, "Approximate time of the work."),
        exchange_us=described(POSITIVE, "Time of an exchange of empty messages after the work."),
        longer_us=described(NUMBER, "Difference to the time of exchanges in immediate succession."),
    ),
    table_schema(
        "network_pairs",
        "One row per number of pairs and size.",
        **_POINT,
        nodes=COUNT,
        bytes=described(WHOLE, "Size of a message."),
        pairs=described(COUNT, "Pairs that exchange at once."),
        latency_us=described(POSITIVE, "Time of an exchange, mean over the pairs."),
        bandwidth_MBps=described(POSITIVE, "Bandwidth of all pairs together, both directions."),
        pair_MBps=described(POSITIVE, "Bandwidth of a pair."),
        share_of_alone=described(
            POSITIVE,
            "Bandwidth of a pair / bandwidth of a pair alone. 1 is no contention; 1 / `pairs` means "
            "that all pairs share the bandwidth of one.",
        ),
    ),
)
PAIRS = _DERIVED["network_pairs"]
NETWORK_TABLES = {"network": NETWORK, **_DERIVED, "network_links": LINKS}
"""Schemas by table name."""
_LINK_PEAK = "link_peak_unidirectional_MBps"


def link_rates(facts: Facts, published: Tables) -> dict[str, float]:
    """Return the peak of one direction of each interconnect's link in MB/s, if known.

    Parameters
    ----------
    facts : Facts
        Facts of a study; its ``interconnects`` have ``link_mbps``, in 10^6 bits per second.
    published : mapping of str to DataFrame
        Published figures; ``network_peaks`` holds the links of published interconnects.
    """
    peaks = published.get("network_peaks", pd.DataFrame(columns=["interconnect", _LINK_PEAK]))
    links = dict(zip(peaks["interconnect"], peaks[_LINK_PEAK].astype(float), strict=True))
    return links | {name: info.link_mbps / 8 for name, info in facts.interconnects.items() if info.link_mbps}


def host_buses(facts: Facts, published: Tables) -> dict[str, str]:
    """Return the bus of each interconnect's adapter, if known, as `analysis.runs.buses` writes it.

    Parameters are as in `link_rates`; the published table is ``host_buses``.
    """
    rows = published.get("host_buses", pd.DataFrame(columns=["interconnect", "host_bus"]))
    buses = dict(zip(rows["interconnect"], rows["host_bus"], strict=True))
    return buses | {name: info.host_bus for name, info in facts.interconnects.items() if info.host_bus}


def make_network_tables(
    network: pd.DataFrame, links: Mapping[str, float], buses: Mapping[str, str] = MappingProxyType({})
) -> Tables:
    """Make the tables of network curves, except published links.

    Parameters
    ----------
    network : DataFrame
        As `analysis.topics.network.curves.network_table` returns it. Only 0 bytes and powers of two count for
        protocols, peaks and crossings.
    links : mapping of str to float
        As `link_rates` returns it.
    buses : mapping of str to str
        As `host_buses` returns it.

    Returns
    -------
    dict of DataFrame
        The tables of `NETWORK_TABLES` that have rows.
    """
    powers = powers_only(network)
    derived = {
        "network_headlines": pd.DataFrame(list(_headline_rows(powers, links, buses))),
        "network_crossings": pd.DataFrame(list(_crossing_rows(powers))),
        "network_availability": availability(network),
        "network_after_work": after_work(network),
        "network_pairs": _pairs_at_once(network),
    }
    tables = {"network": network} | {
        name: validated(_DERIVED[name], table) for name, table in derived.items()
    }
    return {name: table for name, table in tables.items() if len(table)}


def _pairs_at_once(network: pd.DataFrame) -> pd.DataFrame:
    """Compute the bandwidth of each pair that exchanges with others at once, relative to a single pair."""
    rows = network[network["pairs"].notna()]
    rows = rows.assign(pair_MBps=rows["bandwidth_MBps"] / rows["pairs"].astype(float))
    key = [*POINT, "bytes"]
    alone = rows.loc[rows["pairs"] == 1, [*key, "pair_MBps"]].rename(columns={"pair_MBps": "alone"})
    rows = rows.merge(alone, on=key, how="left")
    return rows.assign(share_of_alone=rows["pair_MBps"] / rows["alone"])


def _headline_rows(
    network: pd.DataFrame, links: Mapping[str, float], buses: Mapping[str, str]
) -> Iterator[dict[str, object]]:
    """Yield a row of ``network_headlines`` for each ping-pong and exchange with a bandwidth."""
    timed = network[network["benchmark"].isin(DIRECTIONS) & network["latency_us"].notna()]
    for curve in curves_by_point(timed):
        curve = curve.drop_duplicates("bytes")  # an imported table may have two benchmarks of one name
        if curve["bandwidth_MBps"].isna().all():
            continue
        first = curve.iloc[0]
        name, directions = str(first["interconnect"]), DIRECTIONS[first["benchmark"]]
        link, bus = directions * links.get(name, nan), buses.get(name)
        bus_peak_rate = nan if bus is None else bus_peak(bus)[directions - 1]
        numbers = curve_numbers(
            curve["bytes"].to_numpy(float),
            curve["latency_us"].to_numpy(float),
            curve["bandwidth_MBps"].to_numpy(float),
            link,
        )
        yield {
            **{column: first[column] for column in ("site", "benchmark", *_POINT)},
            **asdict(numbers),
            "peak_MBps": numbers.peak_bandwidth,
            "link_MBps": link,
            "switches": " ".join(map(str, numbers.switches)) or None,
            "imported_from": first["imported_from"],
            "drops": " ".join(map(str, numbers.drops)) or None,
            "host_bus": bus,
            "host_bus_MBps": bus_peak_rate,
            "percent_of_host_bus": 100 * numbers.peak_bandwidth / bus_peak_rate,
        }


def _crossing_rows(network: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield a row of ``network_crossings`` for each size at which an interconnect overtakes another."""
    keys = ["site", "benchmark", "case", "kind", "processes", "oversubscription"]
    timed = sized(network).dropna(subset="latency_us")
    for values, group in timed.groupby(keys, dropna=False, sort=False):
        curves = {
            name: (curve["bytes"].to_numpy(float), curve["latency_us"].to_numpy(float))
            for name, curve in group.groupby("interconnect", sort=False)
        }
        for name, other in permutations(curves, 2):
            for size in faster_from(*curves[name], *curves[other]):
                yield {
                    **dict(zip(keys, values, strict=True)),
                    "interconnect": name,
                    "other_interconnect": other,
                    "from_bytes": size,
                }
