"""The curve of a ping-pong: read, checked, interpolated between its points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.importers import Import, make_mapping, read_foreign
from analysis.runs.errors import TableError
from workflows.domain import InputError

NETWORK_COLUMNS = ("interconnect", "benchmark", "bytes", "latency_us")
"""What is read of ``tables/network.csv`` of a study that ran our own ping-pong."""

SMALL_BYTES = 64
"""Messages of so many bytes at most tell the latency, and how many can be sent in a second."""

ANY_COUNT = ("pingpong", "sendrecv", "availability", "flush", "after_work")
"""Benchmarks of Nodeworth in which only the first and the last process communicate, whatever their count."""

SEVERAL_PAIRS = ("osu_multiple_bandwidth_message_rate", "imb_uniband", "imb_biband", "imb_sendrecv")
"""Benchmarks whose pairs add up or share links: their rows need a count of processes to show a link."""


@dataclass(frozen=True)
class PingPongCurve:
    """One-way times of messages between two nodes.

    Attributes
    ----------
    bytes : tuple of int
        Message sizes, rising from 0.
    microseconds : tuple of float
        Half a round trip of each.
    switches : tuple of int
        Largest size before each change of protocol, rising; nothing is interpolated across a change.
    two_points : bool
        Made of a latency and a peak bandwidth alone; then a time is latency + bytes / bandwidth.
    bytes_per_us : float
        What the link carries, in 10^6 bytes/s: the slope between the two largest messages, or the highest
        bandwidth of a whole message where that is more, or what many messages together are known to reach.
    exchange : PingPongCurve or None
        Of messages that both nodes send at the same time, from their start until both are there; None where
        that was not measured.
    low, high : tuple of float
        Ends of what each took, over runs or processes; the microseconds where only these are known.
    """

    bytes: tuple[int, ...]
    microseconds: tuple[float, ...]
    switches: tuple[int, ...]
    two_points: bool
    bytes_per_us: float
    low: tuple[float, ...]
    high: tuple[float, ...]
    exchange: PingPongCurve | None = None

    def regions(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Sizes and times of the points between changes of protocol."""
        sizes, times = np.array(self.bytes), np.array(self.microseconds)
        region = np.searchsorted(self.switches, sizes)
        return [(sizes[region == number], times[region == number]) for number in np.unique(region)]

    def later(self, added_us: float) -> PingPongCurve:
        """The curve of messages that take so much longer, whatever their size; the link carries as much."""
        times = {
            name: tuple(taken + added_us for taken in getattr(self, name))
            for name in ("microseconds", "low", "high")
        }
        return replace(self, **times, exchange=self.exchange and self.exchange.later(added_us))

    def at(self, end: str) -> PingPongCurve:
        """The curve at an end of its band, ``low`` or ``high``, or as it is; the link carries as much."""
        if end not in ("low", "high"):
            return self
        return replace(
            self, microseconds=getattr(self, end), exchange=self.exchange and self.exchange.at(end)
        )

    def knots(self) -> tuple[np.ndarray, np.ndarray]:
        """Sizes and times between which time is linear: the points, and both sides of each switch.

        A side of a switch continues the line through the nearest two points of its region, rising no slower
        than nothing at all; where a region has one point only, at the link's bandwidth.
        """
        sizes, times = [], []
        inner = [0, *(switch + 1 for switch in self.switches)]
        outer = [*self.switches, self.bytes[-1]]
        regions = {int(np.searchsorted(self.switches, known[0])): (known, at) for known, at in self.regions()}
        for index, (first, last) in enumerate(zip(inner, outer, strict=True)):
            if index not in regions:
                continue
            known, at = regions[index]
            ends = np.array([end for end in (first, last) if end not in known], int)
            all_sizes = np.concatenate([known, ends])
            order = np.argsort(all_sizes)
            sizes.append(all_sizes[order])
            times.append(np.concatenate([at, self._continued(known, at, ends)])[order])
        return np.concatenate(sizes), np.concatenate(times)

    def _continued(self, known: np.ndarray, at: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Times outside the points of a region, in microseconds."""
        found = []
        for end in ends:
            near = slice(0, 2) if end < known[0] else slice(-2, None)
            slope = 1 / self.bytes_per_us
            if len(known) > 1:
                slope = max(0.0, float(np.diff(at[near])[0] / np.diff(known[near])[0]))
            edge = 0 if end < known[0] else -1
            found.append(max(at[edge] + slope * (end - known[edge]), end / self.bytes_per_us))
        return np.array(found)

    def left_out(self) -> pd.DataFrame:
        """Each point predicted from the others of its region.

        Returns
        -------
        DataFrame
            ``bytes, microseconds, left_out_percent``: how far the line through its two neighbours is from a
            point, in percent of it; empty for the first and the last point of a region, which only bound it.
        """
        rows = []
        for sizes, times in self.regions():
            for index, (size, time) in enumerate(zip(sizes, times, strict=True)):
                error = None
                if 0 < index < len(sizes) - 1:
                    others = [index - 1, index + 1]
                    error = 100 * (np.interp(size, sizes[others], times[others]) / time - 1)
                rows.append({"bytes": int(size), "microseconds": time, "left_out_percent": error})
        return pd.DataFrame(rows).astype({"left_out_percent": float})


def read_curve(simulate: Mapping[str, Any], root: Path, where: str) -> PingPongCurve:
    """Read the curve that the section ``simulate`` of an interconnect's file names.

    Parameters
    ----------
    simulate : mapping
        With ``curve`` (a file) or ``two_points`` (latency and peak), and ``eager_limit_bytes``.
    root : Path
        Folder that ``curve.file`` starts from.

    Raises
    ------
    InputError
        In one line: no such file or curve, two times for a size, none at 0 bytes, a time that is not above 0,
        a switch beyond the curve, a peak below the ping-pong's.
    """
    switches = tuple(sorted({simulate["eager_limit_bytes"], *simulate.get("switches_bytes", ())}))
    if two := simulate.get("two_points"):
        latency, peak = two["latency_us"], two["peak_MBps"]
        far = max(switches[-1] + 1, 1 << 20)
        times = (latency, latency + far / peak)
        return PingPongCurve((0, far), times, (), True, peak, times, times)
    given = simulate["curve"]
    file = root / given["file"]
    rows = _rows(file, given, "benchmark", f"{where}: simulate.curve")
    sizes, times, *ends = _points(rows, given, f"{where}: simulate.curve")
    if late := [switch for switch in switches if switch >= sizes[-1]]:
        raise InputError(
            f"{where}: simulate: no point of the curve is above the change of protocol at {late[0]} bytes"
        )
    rate = link_rate(sizes, times)
    peak = given.get("peak_MBps", rate)
    if peak < rate:
        raise InputError(
            f"{where}: simulate.curve.peak_MBps: {peak:g} is less than the ping-pong shows ({rate:.4g})"
        )
    exchange = _exchange(file, given, switches, peak, f"{where}: simulate.curve")
    return PingPongCurve(sizes, times, switches, False, peak, *ends, exchange)


def _exchange(
    file: Path, given: Mapping[str, Any], switches: tuple[int, ...], peak: float, where: str
) -> PingPongCurve | None:
    if "exchange" not in given:
        return None
    rows = _rows(file, given, "exchange", where)
    one_way = rows.assign(bandwidth_MBps=rows["bandwidth_MBps"] / 2)
    sizes, times, *ends = _points(one_way, given, where)
    if late := [switch for switch in switches if switch >= sizes[-1]]:
        raise InputError(f"{where}.exchange: no point is above the change of protocol at {late[0]} bytes")
    return PingPongCurve(sizes, times, switches, False, peak, *ends)


def _points(rows: pd.DataFrame, given: Mapping[str, Any], where: str) -> tuple[tuple, ...]:
    """Sizes, and what messages of each took: in the middle, at least, at most."""
    middle = rows["latency_us"]
    ends = [rows.get(f"latency_us_{end}", middle).fillna(middle) for end in ("low", "high")]
    found = [
        points_of(rows.assign(latency_us=times), given.get("empty_as_bytes"), where, given["file"])
        for times in (middle, *ends)
    ]
    return tuple(found[0][0]), *(tuple(times) for _, times in found)


def link_rate(sizes: Sequence[int], times: Sequence[float]) -> float:
    """Give what the link carries by a ping-pong, in 10^6 bytes/s: see `PingPongCurve.bytes_per_us`."""
    slope = (sizes[-1] - sizes[-2]) / (times[-1] - times[-2]) if times[-1] > times[-2] else 0.0
    return max(slope, *(size / time for size, time in zip(sizes, times, strict=True)))


def read_curves(file: Path, name: str, format: str | None = None) -> Import:
    """Read the curves of a file: network curves, a table of a study, or the output of a benchmark.

    Parameters
    ----------
    name : str
        Interconnect of a benchmark's output, which does not name its interconnect.
    format : str, optional
        Format of a benchmark's output, if its content does not show the format.

    Raises
    ------
    TableError
        See `analysis.importers.read_foreign`.
    """
    if file.suffix != ".csv":
        return read_foreign(file, format, make_mapping({"interconnect": {"value": name}}))
    try:
        of_a_study = {*NETWORK_COLUMNS, "runs"} <= set(pd.read_csv(file, nrows=0))
    except ValueError:  # empty, or no text: read_foreign says so
        of_a_study = False
    if not of_a_study:
        return read_foreign(file)
    ends = {"latency_us_lowest_run": "latency_us_low", "latency_us_highest_run": "latency_us_high"}
    return Import(curves=pd.read_csv(file).rename(columns=ends))


def between_two_processes(curves: pd.DataFrame) -> pd.Series:
    """Mark the rows in which only two processes communicate: others do not show what a link carries.

    Parameters
    ----------
    curves : DataFrame
        Columns of `analysis.importers.CURVES`, or of ``tables/network.csv`` of a study.

    Returns
    -------
    Series of bool
    """
    table = curves.reindex(columns=["benchmark", "processes", "imported_from"])
    benchmark, processes = table["benchmark"], table["processes"].astype(float)
    measured_here = benchmark.isin(ANY_COUNT) & table["imported_from"].isna()
    without_count = processes.isna() & ~benchmark.isin(SEVERAL_PAIRS)
    return measured_here | without_count | (processes == 2)


def _rows(file: Path, given: Mapping[str, Any], wanted: str, where: str) -> pd.DataFrame:
    """Rows of the interconnect, and of the benchmark that the key `wanted` names."""
    if not file.exists():
        raise InputError(f"{where}.file: {given['file']}: no such file")
    name = given["interconnect"]
    stated = "netpipe" if given["benchmark"] == "netpipe" else None  # its files do not show their format
    try:
        table = read_curves(file, name, stated).curves
    except TableError as error:
        raise InputError(f"{where}.file: {error}") from None
    for key, column in (("interconnect", "interconnect"), (wanted, "benchmark")):
        known, value = list(dict.fromkeys(table[column])), given[key]
        if value not in known:
            names = ", ".join(known) or "none"
            raise InputError(f"{where}.{key}: no {value!r} in {given['file']}; known: {names}")
        table = table[table[column] == value]
    table = table[between_two_processes(table)]
    if table.empty:
        raise InputError(
            f"{where}.{wanted}: {given[wanted]!r} has no row of two processes in {given['file']}; "
            "more do not show what a link carries"
        )
    return table


def points_of(
    rows: pd.DataFrame, empty_as: int | None, where: str, file: str
) -> tuple[list[int], list[float]]:
    """Give sizes in bytes and one-way times in µs, rising by size; 0 bytes as `empty_as` if given."""
    rows = rows.dropna(subset="bytes")
    by_rate = rows["bytes"].astype(float) / rows["bandwidth_MBps"].astype(float)
    times = rows["latency_us"].astype(float).fillna(by_rate)
    points: dict[int, float] = {}
    for size, time in zip(rows["bytes"].astype(int), times, strict=True):
        if not 0 < time < np.inf:
            raise InputError(f"{where}: {file}: no time above 0 for {size} bytes")
        if size in points:
            raise InputError(f"{where}: {file}: two times for {size} bytes: {points[size]:g} and {time:g} µs")
        points[size] = float(time)
    if empty_as is not None:
        if 0 in points:
            raise InputError(f"{where}.empty_as_bytes: does not belong here, since {file} has 0 bytes")
        if empty_as not in points:
            raise InputError(f"{where}.empty_as_bytes: {file} has no time for {empty_as} bytes")
        points[0] = points[empty_as]
    if 0 not in points:
        raise InputError(
            f"{where}: {file}: no time for 0 bytes, which gives the latency; empty_as_bytes names another"
        )
    if len(points) < 3:
        raise InputError(
            f"{where}: {file}: {len(points)} sizes; at least 3, or two_points instead of a curve"
        )
    sizes = sorted(points)
    return sizes, [points[size] for size in sizes]
