"""Tables of network curves: headline numbers, crossings, availability, and pairs at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import permutations
from math import nan
from types import MappingProxyType

import pandas as pd

from analysis.runs.buses import bus_peak
from analysis.runs.columns import COUNT, NOTE, NUMBER, POSITIVE, TEXT, table_schemas, validated
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
    network_parts,
    powers_only,
    sized,
)
from analysis.topics.network.links import LINKS

_POINT = {"case": TEXT, "interconnect": NOTE, "kind": TEXT, "processes": COUNT, "oversubscription": COUNT}
_DERIVED = table_schemas(
    network_headlines=dict(
        benchmark=TEXT,
        **_POINT,
        latency_us=POSITIVE,
        peak_MBps=POSITIVE,
        peak_bytes=COUNT,
        **dict.fromkeys(("link_MBps", "percent_of_link", "half_peak_bytes"), POSITIVE),
        switches=NOTE,
        loses_from_bytes=COUNT,
        imported_from=NOTE,
        drops=NOTE,
        host_bus=NOTE,
        **dict.fromkeys(("host_bus_MBps", "percent_of_host_bus"), POSITIVE),
    ),
    network_crossings=dict(
        **dict.fromkeys(("benchmark", "case", "kind"), TEXT),
        processes=COUNT,
        oversubscription=COUNT,
        interconnect=TEXT,
        other_interconnect=TEXT,
        from_bytes=COUNT,
    ),
    network_availability=dict(
        **_POINT, bytes=WHOLE, exchange_us=POSITIVE, overhead_us=NUMBER, availability=NUMBER
    ),
    network_after_work=dict(**_POINT, work_us=POSITIVE, exchange_us=POSITIVE, longer_us=NUMBER),
    network_pairs=dict(
        **_POINT,
        nodes=COUNT,
        bytes=WHOLE,
        pairs=COUNT,
        **dict.fromkeys(("latency_us", "bandwidth_MBps", "pair_MBps", "share_of_alone"), POSITIVE),
    ),
)
PAIRS = _DERIVED["network_pairs"]
NETWORK_TABLES = {"network": NETWORK, **_DERIVED, "network_links": LINKS}
"""Schemas by table name. ``columns.yaml`` describes the columns."""
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
        As `analysis.topics.network.curves.network_table` returns it. Protocols, peaks and crossings are found
        among 0 bytes and powers of two, without the sizes next to these.
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
    """Compare the bandwidth per pair of benchmark ``simultaneous_pairs`` with a single pair."""
    rows = network[network["pairs"].notna()]
    rows = rows.assign(pair_MBps=rows["bandwidth_MBps"] / rows["pairs"].astype(float))
    key = [*POINT, "bytes"]
    alone = rows.loc[rows["pairs"] == 1, [*key, "pair_MBps"]].rename(columns={"pair_MBps": "alone"})
    rows = rows.merge(alone, on=key, how="left")
    return rows.assign(share_of_alone=rows["pair_MBps"] / rows["alone"])


def _headline_rows(
    network: pd.DataFrame, links: Mapping[str, float], buses: Mapping[str, str]
) -> Iterator[dict[str, object]]:
    timed = network[network["benchmark"].isin(DIRECTIONS) & network["latency_us"].notna()]
    for curve in network_parts(timed):
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
    """Yield each size from which an interconnect is faster than another, and slower at the size before."""
    keys = ["site", "benchmark", "case", "kind", "processes", "oversubscription"]
    timed = sized(network).dropna(subset="latency_us")
    for values, group in timed.groupby(keys, dropna=False, sort=False):
        curves = dict(list(group.groupby("interconnect", sort=False)))
        for name, other in permutations(curves, 2):
            columns = [
                curves[interconnect][column].to_numpy(float)
                for interconnect in (name, other)
                for column in ("bytes", "latency_us")
            ]
            for size in faster_from(*columns):
                yield {
                    **dict(zip(keys, values, strict=True)),
                    "interconnect": name,
                    "other_interconnect": other,
                    "from_bytes": size,
                }
