"""Predict osu_allreduce on many nodes from point-to-point curves.

``python -m workflows.simulation.collectives --help`` lists the options.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.runs.errors import TableError
from workflows.errors import InputError, one_line_errors
from workflows.simulation.allreduce import Cluster, hierarchical, openmpi_choice, predicted_us
from workflows.simulation.curve import read_curves

INSIDE_US, INSIDE_MBPS, NODE_MBPS = 0.5, 8000.0, 40000.0
"""Assumed messages inside a node: latency, bandwidth of a pair, and bandwidth that all pairs share."""

BAND = 2.0
"""Factor by which each of the three assumptions may be too high or too low."""

BENCHMARKS = {"osu_latency": "osu_latency", "osu_bw": "osu_bw", "osu_bandwidth": "osu_bw"}
"""Names of the two benchmarks in published tables and in files that `read_curves` read."""

TIMES = ("predicted_us", "low_us", "high_us")

EQUAL = 1.1
"""Factor by which equal ping-pongs may differ."""

LIBRARIES = ("openmpi", "hpcx")

SYSTEMS = ("environment", "processes_per_node", "library", "port_MBps")
"""Columns of a file of systems."""


class System(NamedTuple):
    """Properties of an environment that its point-to-point curves do not show.

    Attributes
    ----------
    library : str
        One of `LIBRARIES`.
    port_rate : float or None
        Bandwidth of a node's port, in 10^6 bytes/s. None: the highest bandwidth of osu_bw.
    """

    environment: str
    processes_per_node: int
    library: str
    port_rate: float | None


def read_point_to_point(files: Sequence[Path]) -> pd.DataFrame:
    """Read curves of both benchmarks from published tables or from the output of OSU.

    Parameters
    ----------
    files : sequence of Path
        CSV with ``environment, nodes, benchmark, size_bytes, median, variant``, without rows that have a
        variant; or files that `workflows.simulation.curve.read_curves` reads.

    Returns
    -------
    DataFrame
        ``environment, nodes, benchmark, size_bytes, median``. The last is microseconds of osu_latency, or
        10^6 bytes/s of osu_bw.
    """
    tables = []
    for file in files:
        if file.suffix == ".csv" and "size_bytes" in pd.read_csv(file, nrows=0):
            table = _read_table(file, ("environment", "nodes", "benchmark", "median", "variant"))
            tables.append(table[table["variant"].isna()])
            continue
        try:
            curves = read_curves(file, "here").curves
        except TableError as error:
            raise InputError(str(error)) from None
        tables.append(
            pd.DataFrame(
                {
                    "environment": curves["interconnect"],
                    "nodes": 2,
                    "benchmark": curves["benchmark"],
                    "size_bytes": curves["bytes"].astype(int),
                    "median": curves["latency_us"].fillna(curves["bandwidth_MBps"]).astype(float),
                }
            )
        )
    table = pd.concat(tables)
    table = table.assign(benchmark=table["benchmark"].map(BENCHMARKS)).dropna(subset="benchmark")
    return table[["environment", "nodes", "benchmark", "size_bytes", "median"]]


def cluster_of(curves: pd.DataFrame, system: System) -> Cluster:
    """Derive the costs of messages from both curves of one environment and node count.

    Parameters
    ----------
    curves : DataFrame
        As `read_point_to_point` returns them.
    """
    by_benchmark = {
        name: group.sort_values("size_bytes")
        for name, group in curves[curves["median"] > 0].groupby("benchmark")
    }
    if missing := {"osu_latency", "osu_bw"} - by_benchmark.keys():
        raise InputError(
            f"{system.environment}: no rows of {', '.join(sorted(missing))}; both benchmarks are necessary"
        )
    latency, bandwidth = by_benchmark["osu_latency"], by_benchmark["osu_bw"]
    return Cluster(
        sizes=latency["size_bytes"].to_numpy(float),
        times_us=latency["median"].to_numpy(float),
        interval_us=float((bandwidth["size_bytes"] / bandwidth["median"]).min()),
        port_rate=float(system.port_rate or bandwidth["median"].max()),
        inside_us=INSIDE_US,
        inside_rate=INSIDE_MBPS,
        node_rate=NODE_MBPS,
        processes_per_node=system.processes_per_node,
    )


def ends_of_band(cluster: Cluster) -> tuple[Cluster, Cluster]:
    """Return the fastest and the slowest cluster that the assumptions about nodes allow.

    The fastest cluster also has no interval between messages.
    """

    def faster(factor: float) -> Cluster:
        return replace(
            cluster,
            inside_us=cluster.inside_us / factor,
            inside_rate=cluster.inside_rate * factor,
            node_rate=cluster.node_rate * factor,
        )

    return replace(faster(BAND), interval_us=0.0), faster(1 / BAND)


def predict(
    point_to_point: pd.DataFrame, systems: Sequence[System], nodes: Sequence[int], sizes: Sequence[int]
) -> pd.DataFrame:
    """Predict osu_allreduce of each system, for each number of nodes and message size.

    The prediction uses the point-to-point curves of the same number of nodes, else of the nearest number.

    Returns
    -------
    DataFrame
        ``environment, nodes, processes, size_bytes, algorithm, predicted_us, low_us, high_us, curve_nodes``.
    """
    rows = []
    for system in systems:
        curves = point_to_point[point_to_point["environment"] == system.environment]
        if curves.empty:
            raise InputError(f"{system.environment}: no rows without a variant in the point-to-point files")
        measured_on = curves["nodes"].unique()
        for count in nodes:
            nearest = int(measured_on[np.abs(measured_on - count).argmin()])
            cluster = cluster_of(curves[curves["nodes"] == nearest], system)
            if max(sizes) > cluster.sizes[-1]:
                raise InputError(f"{system.environment}: osu_latency has no time for {max(sizes)} bytes")
            ranks = count * system.processes_per_node
            rows += [
                (
                    system.environment,
                    count,
                    ranks,
                    size,
                    *_times(cluster, count, size, system.library),
                    nearest,
                )
                for size in sizes
            ]
    columns = ["environment", "nodes", "processes", "size_bytes", "algorithm", *TIMES, "curve_nodes"]
    return pd.DataFrame(rows, columns=columns)


def _times(cluster: Cluster, nodes: int, size: int, library: str) -> tuple[str | float, ...]:
    """Return the name of the algorithm, then the predicted time and the ends of its band, to four digits."""
    ranks = nodes * cluster.processes_per_node
    if library == "hpcx":
        name, steps = "hierarchical", list(hierarchical(nodes, cluster.processes_per_node, size))
    else:
        algorithm = openmpi_choice(ranks, size)
        name, steps = algorithm.__name__, list(algorithm(ranks, size))
    clusters = (cluster, *ends_of_band(cluster))
    return name, *(float(f"{predicted_us(each, nodes, steps):.4g}") for each in clusters)


def compare(predicted: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Return the predictions that have measured times, with the median time of the iterations and the ratio.

    Parameters
    ----------
    measured : DataFrame
        ``environment, nodes, size_bytes, avg_us, variant``; rows with a variant are left out.
    """
    keys = ["environment", "nodes", "size_bytes"]
    medians = measured[measured["variant"].isna()].groupby(keys)["avg_us"].median().rename("measured_us")
    both = predicted.merge(medians.reset_index(), on=keys)
    return both.assign(ratio=(both["predicted_us"] / both["measured_us"]).round(2))


def equal_curves(compared: pd.DataFrame, point_to_point: pd.DataFrame) -> pd.DataFrame:
    """Compare measured times of environments with equal ping-pongs, which no prediction can separate.

    Ping-pongs are equal if all sizes differ by less than `EQUAL`.

    Parameters
    ----------
    compared : DataFrame
        As `compare` returns it.

    Returns
    -------
    DataFrame
        ``nodes, size_bytes, environment, other, factor`` between the two measured times, at least 1.
    """
    latency = point_to_point[point_to_point["benchmark"] == "osu_latency"]
    curves = latency.pivot_table(index=["environment", "nodes"], columns="size_bytes", values="median")
    pairs = compared.merge(compared, on=["nodes", "size_bytes"], suffixes=("", "_other"))
    pairs = pairs[pairs["environment"] < pairs["environment_other"]]
    first, second = (
        curves.loc[pd.MultiIndex.from_frame(pairs[[f"environment{end}", f"curve_nodes{end}"]])].to_numpy()
        for end in ("", "_other")
    )
    pairs = pairs[np.abs(np.log(first / second)).max(axis=1, initial=0) < np.log(EQUAL)]
    factor = np.exp(np.abs(np.log(pairs["measured_us"] / pairs["measured_us_other"]))).round(2)
    pairs = pairs.assign(factor=factor).rename(columns={"environment_other": "other"})
    return pairs[["nodes", "size_bytes", "environment", "other", "factor"]]


def summary(compared: pd.DataFrame, equal: pd.DataFrame) -> list[str]:
    """Return the error of the predictions, and the error that no prediction from curves can avoid."""
    factors = np.exp(np.abs(np.log(compared["ratio"])))
    is_inside = compared["measured_us"].between(compared["low_us"], compared["high_us"])
    lines = [
        f"median error: a factor of {factors.median():.2f} over {len(compared)} points; "
        f"{is_inside.sum()} measured times lie in their band"
    ]
    lines += [
        f"{environment}: {group.median():.2f}, at most {group.max():.2f}"
        for environment, group in factors.groupby(compared["environment"])
    ]
    if len(equal):
        median, largest = equal["factor"].median(), equal["factor"].max()
        lines += [
            f"equal curves: {len(equal)} pairs of environments, measured times differ by a factor of "
            f"{median:.2f} (median), at most {largest:.2f}",
            "the best single prediction of both members of a pair has the square root as its error: "
            f"{np.sqrt(median):.2f}, at most {np.sqrt(largest):.2f}",
        ]
    return lines


def _counts(text: str) -> list[int]:
    """Return the numbers of a list with commas, for example ``32,64``."""
    if not all(part.isdecimal() and int(part) > 0 for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"{text!r}: only whole numbers above 0, with commas between them")
    return [int(part) for part in text.split(",")]


def _count(text: str) -> int:
    """Return a number above 0."""
    (number,) = _counts(text.replace(",", "."))  # a list is refused
    return number


def main(arguments: Sequence[str] | None = None) -> None:
    """Predict osu_allreduce on many nodes from osu_latency and osu_bw of two nodes; print CSV."""
    parser = argparse.ArgumentParser(
        prog="python -m workflows.simulation.collectives", description=main.__doc__
    )
    parser.add_argument("files", nargs="+", type=Path, help="output of both benchmarks, or a published table")
    parser.add_argument("--nodes", type=_counts, default=[32, 64, 128, 256], help="32,64,128,256")
    parser.add_argument("--bytes", type=_counts, default=[8, 65536, 1048576], help="8,65536,1048576")
    parser.add_argument("--processes-per-node", type=_count, help="of all environments of the files")
    parser.add_argument("--library", choices=LIBRARIES, default="openmpi")
    parser.add_argument("--port-MBps", type=float, help="bandwidth of a port, by default osu_bw's highest")
    parser.add_argument("--systems", type=Path, help=f"CSV instead of the three options: {','.join(SYSTEMS)}")
    parser.add_argument("--measured", type=Path, help="CSV of osu_allreduce, to compare with")
    options = parser.parse_args(arguments)
    point_to_point = read_point_to_point(options.files)
    if options.systems:
        systems = read_systems(options.systems)
    elif options.processes_per_node:
        systems = [
            System(environment, options.processes_per_node, options.library, options.port_MBps)
            for environment in point_to_point["environment"].unique()
        ]
    else:
        raise InputError("--processes-per-node or --systems is necessary")
    predicted = predict(point_to_point, systems, options.nodes, options.bytes)
    if options.measured:
        measured = _read_table(options.measured, ("environment", "nodes", "size_bytes", "avg_us", "variant"))
        predicted = compare(predicted, measured)
        if predicted.empty:
            raise InputError(
                f"{options.measured}: no row has an environment, nodes and bytes of the predictions"
            )
        print(*summary(predicted, equal_curves(predicted, point_to_point)), sep="\n", file=sys.stderr)
    print(predicted.to_csv(index=False), end="")


def _read_table(file: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Read a CSV file that has `columns`."""
    table = pd.read_csv(file)
    if missing := set(columns) - set(table):
        raise InputError(f"{file}: no column {', '.join(sorted(missing))}")
    return table


def read_systems(file: Path) -> list[System]:
    """Read a CSV file with the columns `SYSTEMS`.

    Raises
    ------
    InputError
        A column is missing, or a library is unknown.
    """
    table = _read_table(file, SYSTEMS)
    if unknown := set(table["library"]) - set(LIBRARIES):
        raise InputError(f"{file}: library {unknown.pop()!r} is unknown (known: {', '.join(LIBRARIES)})")
    ports = table["port_MBps"].astype(float)
    return [
        System(str(environment), int(processes), str(library), None if np.isnan(port) else port)
        for environment, processes, library, port in zip(
            table["environment"], table["processes_per_node"], table["library"], ports, strict=True
        )
    ]


if __name__ == "__main__":
    with one_line_errors():
        main()
