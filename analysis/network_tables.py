"""Tables of headline numbers: of each ping-pong and exchange, and where an interconnect overtakes another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any

import pandas as pd

from analysis.network_curves import NETWORK, network_parts, powers_only
from analysis.network_headlines import faster_from, headlines
from analysis.schemas import COUNT, NOTE, POSITIVE, TEXT, table_schema, validated

DIRECTIONS = {"pingpong": 1, "sendrecv": 2}
"""Benchmarks that have headline numbers, and the directions of a link that they use at once."""

HEADLINES = table_schema(
    "network_headlines",
    benchmark=TEXT,
    case=TEXT,
    interconnect=NOTE,
    kind=TEXT,
    processes=COUNT,
    oversubscription=COUNT,
    latency_us=POSITIVE,
    peak_MBps=POSITIVE,
    peak_bytes=COUNT,
    link_MBps=POSITIVE,
    percent_of_link=POSITIVE,
    half_peak_bytes=POSITIVE,
    switches=NOTE,
    loses_from_bytes=COUNT,
)
"""One row a curve: latency at 0 bytes, peak bandwidth and where, percent of the link's peak (`link_MBps`, of
both directions for an exchange; empty where the interconnect's file tells no rate), the size of half the
peak, sizes at which a protocol takes over (separated by blanks), and the size from which large messages
lose."""

CROSSINGS = table_schema(
    "network_crossings",
    benchmark=TEXT,
    case=TEXT,
    kind=TEXT,
    processes=COUNT,
    oversubscription=COUNT,
    interconnect=TEXT,
    other_interconnect=TEXT,
    from_bytes=COUNT,
)
"""Sizes from which `interconnect` is faster than `other_interconnect` while it was not at the size before."""

NETWORK_TABLES = {
    "network": NETWORK,
    "network_headlines": HEADLINES,
    "network_crossings": CROSSINGS,
}


def link_rates(facts: Mapping[str, Any]) -> dict[str, float]:
    """Find in a study's facts the peak of one direction of each interconnect's link, MB/s."""
    rates = {name: one.get("link_mbps") for name, one in facts["interconnects"].items()}
    return {name: rate / 8 for name, rate in rates.items() if rate}


def make_network_tables(network: pd.DataFrame, links: Mapping[str, float]) -> dict[str, pd.DataFrame]:
    """Make the tables of headline numbers from the curves.

    Parameters
    ----------
    network : DataFrame
        As `analysis.network_curves.network_table` gives it. Protocols, peaks and crossings are looked for
        among powers of two; sizes just beside them are left to the curve.
    links : mapping of str to float
        Peak of one direction of the link by interconnect, 10^6 bytes per second, where it is known.

    Returns
    -------
    dict of DataFrame
        Those of `NETWORK_TABLES` that have rows.
    """
    kept = powers_only(network)
    tables = {
        "network": network,
        "network_headlines": validated(
            HEADLINES, pd.DataFrame(_headline_rows(kept, links), columns=list(HEADLINES.columns))
        ),
        "network_crossings": validated(
            CROSSINGS, pd.DataFrame(_crossing_rows(kept), columns=list(CROSSINGS.columns))
        ),
    }
    return {name: table for name, table in tables.items() if len(table)}


def _headline_rows(network: pd.DataFrame, links: Mapping[str, float]) -> Iterator[dict[str, object]]:
    for one in network_parts(network[network["benchmark"].isin(DIRECTIONS)]):
        link = DIRECTIONS[one["benchmark"].iat[0]] * links.get(one["interconnect"].iat[0], float("nan"))
        found = headlines(
            one["bytes"].to_numpy(float), one["latency_us"].to_numpy(), one["bandwidth_MBps"].to_numpy(), link
        )
        yield {
            **one.iloc[0][["site", "benchmark", "case", "interconnect", "kind", "processes"]],
            "oversubscription": one["oversubscription"].iat[0],
            "latency_us": found.latency_us,
            "peak_MBps": found.peak_bandwidth,
            "peak_bytes": found.peak_bytes,
            "percent_of_link": found.percent_of_link,
            "half_peak_bytes": found.half_peak_bytes,
            "loses_from_bytes": found.loses_from_bytes,
            "link_MBps": link,
            "switches": " ".join(map(str, found.switches)) or None,
        }


def _crossing_rows(network: pd.DataFrame) -> Iterator[dict[str, object]]:
    place = ["site", "benchmark", "case", "kind", "processes", "oversubscription"]
    sized = network[
        network["bytes"].notna() & network[["pairs", "source", "part"]].isna().all(axis="columns")
    ]
    for values, group in sized.groupby(place, dropna=False, sort=False):
        curves = dict(list(group.groupby("interconnect", sort=False)))
        for name, other in permutations(curves, 2):
            own, others = (
                (curves[one]["bytes"].to_numpy(float), curves[one]["latency_us"].to_numpy())
                for one in (name, other)
            )
            for size in faster_from(*own, *others):
                yield {
                    **dict(zip(place, values, strict=True)),
                    "interconnect": name,
                    "other_interconnect": other,
                    "from_bytes": size,
                }
