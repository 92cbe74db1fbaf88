"""Conversion of imported network curves to the columns of measured curves."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from analysis.importers import read_foreign
from analysis.runs.columns import validated
from analysis.topics.network.curves import DIRECTIONS, NETWORK

FILE = "network_curves.csv"
"""File of the imported curves, in a study's folder of published figures."""

EQUIVALENT_BENCHMARKS = {
    "osu_latency": "pingpong",
    "imb_pingpong": "pingpong",
    "netpipe": "pingpong",
    "imb_sendrecv": "sendrecv",
    "osu_allreduce_latency": "allreduce",
    "imb_allreduce": "allreduce",
    "osu_all_to_all_personalized_exchange_latency": "alltoall",
    "imb_alltoall": "alltoall",
    "osu_broadcast_latency": "bcast",
    "imb_bcast": "bcast",
    "osu_gatherv_latency": "gatherv",
    "imb_gatherv": "gatherv",
    "osu_barrier_latency": "barrier",
    "imb_barrier": "barrier",
}
"""Imported benchmarks, and the benchmark of Nodeworth that times the same operation.

Other imported benchmarks keep their names."""


def read_imported(folder: str | Path) -> pd.DataFrame:
    """Read the network curves that a study imported, from its folder of published figures.

    Returns
    -------
    DataFrame
        Columns of `analysis.topics.network.curves.NETWORK`; without rows if the study imports no curve.

    Raises
    ------
    TableError
        If the file is damaged.
    """
    file = Path(folder) / FILE
    return imported_network(read_foreign(file).curves if file.is_file() else pd.DataFrame())


def imported_network(curves: pd.DataFrame) -> pd.DataFrame:
    """Convert imported curves to the columns of measured curves.

    A ping-pong or an exchange has two processes. If a source has only its time or only its bandwidth, the
    missing quantity is computed: bandwidth = bytes / time.

    Parameters
    ----------
    curves : DataFrame
        Columns of `analysis.importers.CURVES`.

    Returns
    -------
    DataFrame
        Columns of `analysis.topics.network.curves.NETWORK`, with rising sizes within a curve. `case` is the
        name of the benchmark, `imported_from` the file. The extremes over processes are in
        `latency_us_lowest_rank` and `latency_us_highest_rank`, those over several runs of a file in
        `latency_us_lowest_run` and `latency_us_highest_run`. Values that the source lacks are empty.
    """
    if curves.empty:
        return validated(NETWORK, pd.DataFrame())
    benchmark = curves["benchmark"].map(EQUIVALENT_BENCHMARKS).fillna(curves["benchmark"])
    messages = benchmark.map(DIRECTIONS)
    moved = (messages * curves["bytes"].astype(float)).where(curves["bytes"] > 0)
    is_one_run = curves["runs"].isna()
    table = pd.DataFrame(
        {
            "site": curves["site"],
            "interconnect": curves["interconnect"],
            "kind": curves["kind"],
            "benchmark": benchmark,
            "case": benchmark,
            "processes": curves["processes"].fillna(messages.where(messages.isna(), 2).astype("Int64")),
            "bytes": curves["bytes"],
            "latency_us": curves["latency_us"].fillna(moved / curves["bandwidth_MBps"]),
            "bandwidth_MBps": curves["bandwidth_MBps"].fillna(moved / curves["latency_us"]),
            "latency_us_lowest_rank": curves["latency_us_low"].where(is_one_run),
            "latency_us_highest_rank": curves["latency_us_high"].where(is_one_run),
            "latency_us_lowest_run": curves["latency_us_low"].mask(is_one_run),
            "latency_us_highest_run": curves["latency_us_high"].mask(is_one_run),
            "runs": curves["runs"],
            "n": curves["samples"],
            "imported_from": curves["record"].str.partition(":")[0],
        }
    )
    order = ["benchmark", "site", "interconnect", "kind", "processes", "imported_from", "bytes"]
    return validated(NETWORK, table.sort_values(order, kind="stable", ignore_index=True))
