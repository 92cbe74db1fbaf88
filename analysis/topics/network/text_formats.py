"""Network curves as text in the formats of OSU, the Intel MPI Benchmarks and NetPIPE, for other tools."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import pandas as pd

from analysis.topics.network.curves import curves_by_point

OSU = {
    "pingpong": "Latency",
    "allreduce": "Allreduce Latency",
    "alltoall": "All-to-All Personalized Exchange Latency",
    "bcast": "Broadcast Latency",
    "gatherv": "Gatherv Latency",
    "barrier": "Barrier Latency",
}
"""Benchmarks that OSU also has, with OSU's titles."""

IMB = {
    "pingpong": "PingPong",
    "sendrecv": "Sendrecv",
    "allreduce": "Allreduce",
    "alltoall": "Alltoall",
    "bcast": "Bcast",
    "gatherv": "Gatherv",
    "barrier": "Barrier",
}
"""Benchmarks that the Intel MPI Benchmarks also have, with their titles."""

NETPIPE = {"pingpong": 1, "sendrecv": 2}
"""Benchmarks that NetPIPE also has, with the number of messages that NetPIPE's bytes count."""


def osu_text(curve: pd.DataFrame) -> str:
    """Write a curve as OSU 7.4 prints it with the option ``-f``."""
    first = curve.iloc[0]
    heading = ["Avg Latency(us)", "Min Latency(us)", "Max Latency(us)", "Iterations"]
    sized = curve["bytes"].notna().all()
    lines = [
        f"# Written by Nodeworth from its benchmark {first['benchmark']}, in the format of:",
        f"# OSU MPI {OSU[first['benchmark']]} Test v7.4",
        "# " + "".join(f"{name:<18s}" for name in (["Size"] if sized else []) + heading).rstrip(),
    ]
    for row in curve.to_dict("records"):
        times = [row["latency_us"], row["latency_us_lowest_rank"], row["latency_us_highest_rank"]]
        cells = [*([str(row["bytes"])] if sized else []), *(f"{time:.4f}" for time in times), str(row["n"])]
        lines.append("".join(f"{cell:<18s}" for cell in cells).rstrip())
    return "\n".join(lines) + "\n"


def imb_text(curve: pd.DataFrame) -> str:
    """Write a curve as IMB-MPI1 2021 prints it, with the bandwidth of the slowest process."""
    first = curve.iloc[0]
    names = ["#bytes"] if curve["bytes"].notna().all() else []
    timed_once = first["benchmark"] == "pingpong"  # only one process times a ping-pong
    names += ["#repetitions"] + (["t[usec]"] if timed_once else ["t_min[usec]", "t_max[usec]", "t_avg[usec]"])
    names += ["Mbytes/sec"] if curve["bandwidth_MBps"].notna().any() else []
    lines = [
        f"# Written by Nodeworth from its benchmark {first['benchmark']}, in the format of:",
        "#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part",
        f"# Benchmarking {IMB[first['benchmark']]} ",
        f"# #processes = {first['processes']} ",
        "".join(f"{name:>14s}" for name in names),
    ]
    for row in curve.to_dict("records"):
        slowest = row["latency_us"] if timed_once else row["latency_us_highest_rank"]
        rate = 0.0 if pd.isna(row["bandwidth_MBps"]) else row["bandwidth_MBps"] * row["latency_us"] / slowest
        cells = {
            "#bytes": row["bytes"],
            "#repetitions": row["n"],
            "t[usec]": f"{slowest:.4f}",
            "t_min[usec]": f"{row['latency_us_lowest_rank']:.4f}",
            "t_max[usec]": f"{slowest:.4f}",
            "t_avg[usec]": f"{row['latency_us']:.4f}",
            "Mbytes/sec": f"{rate:.4f}",
        }
        lines.append("".join(f"{cells[name]!s:>14s}" for name in names))
    return "\n".join([*lines, "", "# All processes entering MPI_Finalize", ""])


def netpipe_text(curve: pd.DataFrame) -> str:
    """Write a curve as NetPIPE 5 prints it: bytes, Gbps (average, slowest, fastest trial), microseconds.

    Batches stand for trials: the slowest is the 95th percentile, the fastest the 5th. NetPIPE has no message
    of 0 bytes.
    """
    messages = NETPIPE[str(curve["benchmark"].iat[0])]
    lines = []
    for row in curve[curve["bytes"] > 0].to_dict("records"):
        times = [row["latency_us"], row["latency_us_p95"], row["latency_us_p5"]]
        rates = "".join(f"{8e-3 * messages * row['bytes'] / time:14.8f}" for time in times)
        lines.append(f"{messages * row['bytes']:9d}{rates}{row['latency_us']:16.4f}")
    return "\n".join(lines) + "\n"


FORMATS: dict[str, tuple[Callable[[pd.DataFrame], str], Collection[str]]] = {
    "osu": (osu_text, OSU),
    "imb": (imb_text, IMB),
    "netpipe": (netpipe_text, NETPIPE),
}
"""Function that writes the rows of a curve in each format, and the benchmarks that the format has."""


def write_texts(network: pd.DataFrame, folder: Path) -> list[Path]:
    """Write the curves of the table ``network`` as files, one per curve and format that has its benchmark.

    Files are named ``<case>-<interconnect>-<processes>-<oversubscription>.<format>``. The function makes the
    folder if there is a curve, and returns the paths.
    """
    paths = []
    for curve in curves_by_point(network):
        first = curve.iloc[0]
        name = f"{first['case']}-{first['interconnect']}-{first['processes']}-{first['oversubscription']}"
        for suffix, (write, benchmarks) in FORMATS.items():
            if first["benchmark"] in benchmarks:
                folder.mkdir(parents=True, exist_ok=True)
                path = folder / f"{name}.{suffix}"
                path.write_text(write(curve), encoding="utf-8")
                paths.append(path)
    return paths
