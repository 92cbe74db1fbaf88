"""Tables of headline numbers: of each ping-pong and exchange, and where an interconnect overtakes another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import permutations
from types import MappingProxyType

import pandas as pd

from analysis.runs.buses import bus_peak
from analysis.runs.columns import COUNT, NOTE, NUMBER, POSITIVE, TEXT, table_schemas, validated
from analysis.runs.facts import Facts
from analysis.runs.side_tables import WHOLE
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
from analysis.topics.network.headlines import faster_from, headlines
from analysis.topics.network.links import LINKS

_POINT = {"case": TEXT, "interconnect": NOTE, "kind": TEXT, "processes": COUNT, "oversubscription": COUNT}
_MADE = table_schemas(
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
PAIRS = _MADE["network_pairs"]
NETWORK_TABLES = {"network": NETWORK, **_MADE, "network_links": LINKS}
"""Schema of each table of a study that measures or imports network curves, by its name.

Headlines have one row a curve. Crossings are sizes from which `interconnect` is faster than
`other_interconnect` while it was not at the size before. Pairs exchange messages at once. columns.yaml says
what the columns mean."""


def link_rates(facts: Facts, published: Mapping[str, pd.DataFrame]) -> dict[str, float]:
    """Find the peak of one direction of each interconnect's link, MB/s, where it is known.

    Parameters
    ----------
    facts : Facts
        Of a study; its ``interconnects`` have ``link_mbps``, in 10^6 bits per second.
    published : mapping of str to DataFrame
        Published figures; ``network_peaks`` has the links of published interconnects.
    """
    peaks = published.get("network_peaks", pd.DataFrame(columns=["interconnect", _LINK_PEAK]))
    links = dict(zip(peaks["interconnect"], peaks[_LINK_PEAK].astype(float), strict=True))
    return links | {name: info.link_mbps / 8 for name, info in facts.interconnects.items() if info.link_mbps}


_LINK_PEAK = "link_peak_unidirectional_MBps"


def host_buses(facts: Facts, published: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """Find the bus of each interconnect's adapter where it is known, as `analysis.runs.buses` writes it.

    Parameters are those of `link_rates`; published figures have ``host_buses``.
    """
    told = published.get("host_buses", pd.DataFrame(columns=["interconnect", "host_bus"]))
    buses = dict(zip(told["interconnect"], told["host_bus"], strict=True))
    return buses | {name: info.host_bus for name, info in facts.interconnects.items() if info.host_bus}


def make_network_tables(
    network: pd.DataFrame, links: Mapping[str, float], buses: Mapping[str, str] = MappingProxyType({})
) -> dict[str, pd.DataFrame]:
    """Make the tables of headline numbers from the curves.

    Parameters
    ----------
    network : DataFrame
        As `analysis.topics.network.curves.network_table` gives it. Protocols, peaks and crossings are
        searched among powers of two; sizes just beside them are left to the curve.
    links : mapping of str to float
        Peak of one direction of the link by interconnect, 10^6 bytes per second, where it is known.
    buses : mapping of str to str
        As `host_buses` gives it.

    Returns
    -------
    dict of DataFrame
        Those of `NETWORK_TABLES` that have rows, but published links: see `analysis.topics.network.links`.
    """
    kept = powers_only(network)
    made = {
        "network_headlines": pd.DataFrame(_headline_rows(kept, links, buses)),
        "network_crossings": pd.DataFrame(_crossing_rows(kept)),
        "network_availability": availability(network),
        "network_after_work": after_work(network),
        "network_pairs": _pairs_at_once(network),
    }
    tables = {"network": network} | {name: validated(_MADE[name], table) for name, table in made.items()}
    return {name: table for name, table in tables.items() if len(table)}


def _pairs_at_once(network: pd.DataFrame) -> pd.DataFrame:
    """Rows of benchmark ``simultaneous_pairs``, each beside the pair that was alone."""
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
        name, directions = curve["interconnect"].iat[0], DIRECTIONS[curve["benchmark"].iat[0]]
        link, bus = directions * links.get(name, float("nan")), buses.get(name)
        carried = float("nan") if bus is None else bus_peak(bus)[directions - 1]
        columns = (curve[name].to_numpy(float) for name in ("bytes", "latency_us", "bandwidth_MBps"))
        found = headlines(*columns, link)
        yield {
            **curve.iloc[0][["site", "benchmark", "case", "interconnect", "kind", "processes"]],
            "oversubscription": curve["oversubscription"].iat[0],
            **asdict(found),
            "peak_MBps": found.peak_bandwidth,
            "link_MBps": link,
            "switches": " ".join(map(str, found.switches)) or None,
            "imported_from": curve["imported_from"].iat[0],
            "drops": " ".join(map(str, found.drops)) or None,
            "host_bus": bus,
            "host_bus_MBps": carried,
            "percent_of_host_bus": 100 * found.peak_bandwidth / carried,
        }


def _crossing_rows(network: pd.DataFrame) -> Iterator[dict[str, object]]:
    keys = ["site", "benchmark", "case", "kind", "processes", "oversubscription"]
    timed = sized(network).dropna(subset="latency_us")
    for values, group in timed.groupby(keys, dropna=False, sort=False):
        curves = dict(list(group.groupby("interconnect", sort=False)))
        for name, other in permutations(curves, 2):
            columns = [curves[title][column] for title in (name, other) for column in ("bytes", "latency_us")]
            for size in faster_from(*(column.to_numpy(float) for column in columns)):
                yield {
                    **dict(zip(keys, values, strict=True)),
                    "interconnect": name,
                    "other_interconnect": other,
                    "from_bytes": size,
                }
