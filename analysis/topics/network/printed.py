"""Network curves in the text that OSU, the Intel MPI Benchmarks and NetPIPE print, for tools that read it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from analysis.topics.network.curves import network_parts

OSU = {
    "pingpong": "Latency",
    "allreduce": "Allreduce Latency",
    "alltoall": "All-to-All Personalized Exchange Latency",
    "bcast": "Broadcast Latency",
    "gatherv": "Gatherv Latency",
    "barrier": "Barrier Latency",
}
"""Our benchmarks that OSU has too, with the title that its own has."""

IMB = {
    "pingpong": "PingPong",
    "sendrecv": "Sendrecv",
    "allreduce": "Allreduce",
    "alltoall": "Alltoall",
    "bcast": "Bcast",
    "gatherv": "Gatherv",
    "barrier": "Barrier",
}
"""The same for the Intel MPI Benchmarks."""

NETPIPE = {"pingpong": 1, "sendrecv": 2}
"""The same for NetPIPE, with the messages that its bytes count: in bidirectional mode both directions'."""


def osu_text(curve: pd.DataFrame) -> str:
    """Write a curve as OSU 7.4 with option ``-f`` does."""
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
    """Write a curve as IMB-MPI1 2021 does; its bandwidth goes with the slowest process."""
    first = curve.iloc[0]
    names = ["#bytes"] if curve["bytes"].notna().all() else []
    one_clock = first["benchmark"] == "pingpong"  # one process takes the time
    names += ["#repetitions"] + (["t[usec]"] if one_clock else ["t_min[usec]", "t_max[usec]", "t_avg[usec]"])
    names += ["Mbytes/sec"] if curve["bandwidth_MBps"].notna().any() else []
    lines = [
        f"# Written by Nodeworth from its benchmark {first['benchmark']}, in the format of:",
        "#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part",
        f"# Benchmarking {IMB[first['benchmark']]} ",
        f"# #processes = {first['processes']} ",
        "".join(f"{name:>14s}" for name in names),
    ]
    for row in curve.to_dict("records"):
        slowest = row["latency_us"] if one_clock else row["latency_us_highest_rank"]
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
    """Write a curve as NetPIPE 5 does: bytes, Gbps (average, slowest, fastest trial), microseconds.

    Trials are batches here: the slowest and the fastest are the 95th and the 5th percentile. NetPIPE has no
    message of 0 bytes.
    """
    messages = NETPIPE[curve["benchmark"].iat[0]]
    lines = []
    for row in curve[curve["bytes"] > 0].to_dict("records"):
        times = [row["latency_us"], row["latency_us_p95"], row["latency_us_p5"]]
        rates = "".join(f"{8e-3 * messages * row['bytes'] / time:14.8f}" for time in times)
        lines.append(f"{messages * row['bytes']:9d}{rates}{row['latency_us']:16.4f}")
    return "\n".join(lines) + "\n"


FORMATS: dict[str, tuple[Callable[[pd.DataFrame], str], dict]] = {
    "osu": (osu_text, OSU),
    "imb": (imb_text, IMB),
    "netpipe": (netpipe_text, NETPIPE),
}
"""Writer of each format, which takes the rows of one curve, and the benchmarks of the format."""


def write_texts(network: pd.DataFrame, folder: Path) -> list[Path]:
    """Write every curve of the table ``network`` in each format that has its benchmark, a file a curve.

    ``<case>-<interconnect>-<processes>-<oversubscription>.<format>``; the folder is made where there is one.
    """
    written = []
    for curve in network_parts(network):
        first = curve.iloc[0]
        name = f"{first['case']}-{first['interconnect']}-{first['processes']}-{first['oversubscription']}"
        for suffix, (text, benchmarks) in FORMATS.items():
            if first["benchmark"] in benchmarks:
                folder.mkdir(parents=True, exist_ok=True)
                written.append(folder / f"{name}.{suffix}")
                written[-1].write_text(text(curve), encoding="utf-8")
    return written
