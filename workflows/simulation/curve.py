"""Read, check and interpolate the curve of a ping-pong."""

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
"""Columns of ``tables/network.csv`` of a study that a curve needs."""

SMALL_BYTES = 64
"""Largest message whose time counts as latency, and whose interval counts as message rate."""

ONE_PAIR = ("pingpong", "sendrecv", "availability", "flush", "after_work")
"""Nodeworth's benchmarks in which only the first and the last process communicate, at any process count."""

SEVERAL_PAIRS = ("osu_multiple_bandwidth_message_rate", "imb_uniband", "imb_biband", "imb_sendrecv")
"""Benchmarks that may run several pairs of processes. Without a process count, a row shows no single link."""


@dataclass(frozen=True)
class PingPongCurve:
    """One-way times of messages between two nodes.

    Attributes
    ----------
    bytes : tuple of int
        Message sizes in ascending order; the first is 0.
    microseconds : tuple of float
        Half of the round trip, per size.
    switches : tuple of int
        Largest size before each change of protocol, ascending. Nothing is interpolated across a change.
    two_points : bool
        Whether the curve is made from a latency and a peak bandwidth: time = latency + bytes / bandwidth.
    bytes_per_us : float
        Bandwidth of the link, in 10^6 bytes/s: ``peak_MBps`` if given. Else it is the larger of two values:
        the slope between the two largest messages, and the highest bytes / time of any message.
    exchange : PingPongCurve or None
        Times if both nodes send a message at once, until both messages have arrived. None if not measured.
    low, high : tuple of float
        Range of each time over runs or processes. Equal to `microseconds` if no range was measured.
    has_stand_in : bool
        Whether the time of 0 bytes is the time of another size, because 0 bytes were not measured.
    """

    bytes: tuple[int, ...]
    microseconds: tuple[float, ...]
    switches: tuple[int, ...]
    two_points: bool
    bytes_per_us: float
    low: tuple[float, ...]
    high: tuple[float, ...]
    exchange: PingPongCurve | None = None
    has_stand_in: bool = False

    def regions(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the sizes and times of each protocol region that has points."""
        sizes, times = np.array(self.bytes), np.array(self.microseconds)
        region = np.searchsorted(self.switches, sizes)
        return [(sizes[region == number], times[region == number]) for number in np.unique(region)]

    def delayed(self, added_us: float) -> PingPongCurve:
        """Return the curve with `added_us` added to every time, and the same bandwidth of the link."""
        return replace(
            self,
            microseconds=tuple(time + added_us for time in self.microseconds),
            low=tuple(time + added_us for time in self.low),
            high=tuple(time + added_us for time in self.high),
            exchange=self.exchange and self.exchange.delayed(added_us),
        )

    def at(self, end: str) -> PingPongCurve:
        """Return the curve at the ``low`` or ``high`` end of its range; unchanged for any other `end`."""
        if end not in ("low", "high"):
            return self
        return replace(
            self, microseconds=getattr(self, end), exchange=self.exchange and self.exchange.at(end)
        )

    def knots(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the sizes and times of a piecewise linear curve: the points, and both sides of each switch.

        Each side of a switch extrapolates the line through the nearest two points of its region. The slope
        is at least 0. A region of one point uses the bandwidth of the link.
        """
        sizes, times = [], []
        smallest = [0, *(switch + 1 for switch in self.switches)]
        largest = [*self.switches, self.bytes[-1]]
        for region_sizes, region_times in self.regions():
            region = int(np.searchsorted(self.switches, region_sizes[0]))
            ends = [end for end in (smallest[region], largest[region]) if end not in region_sizes]
            all_sizes = np.concatenate([region_sizes, np.array(ends, int)])
            all_times = np.concatenate([region_times, self._extrapolated(region_sizes, region_times, ends)])
            order = np.argsort(all_sizes)
            sizes.append(all_sizes[order])
            times.append(all_times[order])
        return np.concatenate(sizes), np.concatenate(times)

    def _extrapolated(self, sizes: np.ndarray, times: np.ndarray, ends: Sequence[int]) -> list[float]:
        """Return the times, in microseconds, at the sizes `ends` below or above the points of a region.

        No time is below the time of the bytes at the bandwidth of the link.
        """
        extrapolated = []
        for end in ends:
            edge, next_to_edge = (0, 1) if end < sizes[0] else (-1, -2)
            slope = 1 / self.bytes_per_us
            if len(sizes) > 1:
                rise = times[edge] - times[next_to_edge]
                slope = max(0.0, float(rise / (sizes[edge] - sizes[next_to_edge])))
            time = times[edge] + slope * (end - sizes[edge])
            extrapolated.append(max(time, end / self.bytes_per_us))
        return extrapolated

    def left_out(self) -> pd.DataFrame:
        """Compute leave-one-out errors: predict each point from its two neighbours in its region.

        Returns
        -------
        DataFrame
            ``bytes, microseconds, left_out_percent``. ``left_out_percent`` is the error of the line through
            the two neighbours, in percent of the measured time. It is empty for the first and last point of a
            region.
        """
        rows = []
        for sizes, times in self.regions():
            for index, (size, time) in enumerate(zip(sizes, times, strict=True)):
                error = None
                if 0 < index < len(sizes) - 1:
                    neighbours = [index - 1, index + 1]
                    error = 100 * (np.interp(size, sizes[neighbours], times[neighbours]) / time - 1)
                rows.append({"bytes": int(size), "microseconds": time, "left_out_percent": error})
        return pd.DataFrame(rows).astype({"left_out_percent": float})


def read_curve(simulate: Mapping[str, Any], root: Path, where: str) -> PingPongCurve:
    """Read the curve that the section ``simulate`` of an interconnect's file names.

    Parameters
    ----------
    simulate : mapping
        The section, with ``curve`` (a file) or ``two_points`` (latency and peak), and ``eager_limit_bytes``.
    root : Path
        Folder to which ``curve.file`` is relative.
    where : str
        File of the interconnect, for messages.

    Raises
    ------
    InputError
        One line for any of these: the file or curve does not exist; a size has two times; 0 bytes have no
        time; a time is not above 0; a change of protocol lies beyond the curve; the peak is below the
        bandwidth of the ping-pong.
    """
    switches = tuple(sorted({simulate["eager_limit_bytes"], *simulate.get("switches_bytes", ())}))
    if two_points := simulate.get("two_points"):
        latency, peak = two_points["latency_us"], two_points["peak_MBps"]
        largest = max(switches[-1] + 1, 1 << 20)
        both_times = (latency, latency + largest / peak)
        return PingPongCurve((0, largest), both_times, (), True, peak, both_times, both_times)
    section = simulate["curve"]
    file = root / section["file"]
    rows = _rows(file, section, "benchmark", f"{where}: simulate.curve")
    sizes, times, low, high = _times_with_range(rows, section, f"{where}: simulate.curve")
    if late := [switch for switch in switches if switch >= sizes[-1]]:
        raise InputError(
            f"{where}: simulate: no point of the curve is above the change of protocol at {late[0]} bytes"
        )
    rate = link_rate(sizes, times)
    peak = section.get("peak_MBps", rate)
    if peak < rate:
        raise InputError(
            f"{where}: simulate.curve.peak_MBps: {peak:g} is less than the ping-pong shows ({rate:.4g})"
        )
    exchange = _exchange(file, section, switches, peak, f"{where}: simulate.curve")
    has_stand_in = "empty_as_bytes" in section
    return PingPongCurve(sizes, times, switches, False, peak, low, high, exchange, has_stand_in)


def _exchange(
    file: Path, section: Mapping[str, Any], switches: tuple[int, ...], peak: float, where: str
) -> PingPongCurve | None:
    if "exchange" not in section:
        return None
    rows = _rows(file, section, "exchange", where)
    one_way = rows.assign(bandwidth_MBps=rows["bandwidth_MBps"] / 2)
    sizes, times, low, high = _times_with_range(one_way, section, where)
    if late := [switch for switch in switches if switch >= sizes[-1]]:
        raise InputError(f"{where}.exchange: no point is above the change of protocol at {late[0]} bytes")
    return PingPongCurve(sizes, times, switches, False, peak, low, high)


def _times_with_range(
    rows: pd.DataFrame, section: Mapping[str, Any], where: str
) -> tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Return the sizes, and the median, lowest and highest time per size."""
    median = rows["latency_us"]
    low, high = (rows.get(f"latency_us_{end}", median).fillna(median) for end in ("low", "high"))
    (sizes, times), (_, lowest), (_, highest) = (
        sizes_and_times(
            rows.assign(latency_us=latency), section.get("empty_as_bytes"), where, section["file"]
        )
        for latency in (median, low, high)
    )
    return tuple(sizes), tuple(times), tuple(lowest), tuple(highest)


def link_rate(sizes: Sequence[int], times: Sequence[float]) -> float:
    """Compute the bandwidth of a link from a ping-pong, in 10^6 bytes/s: see `PingPongCurve.bytes_per_us`.

    Parameters
    ----------
    sizes, times : sequence (sizes,)
        Bytes in ascending order, and one-way times in microseconds.
    """
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
        is_study_table = {*NETWORK_COLUMNS, "runs"} <= set(pd.read_csv(file, nrows=0))
    except ValueError:  # empty or binary: read_foreign reports it
        is_study_table = False
    if not is_study_table:
        return read_foreign(file)
    ends = {"latency_us_lowest_run": "latency_us_low", "latency_us_highest_run": "latency_us_high"}
    return Import(curves=pd.read_csv(file).rename(columns=ends))


def between_two_processes(curves: pd.DataFrame) -> pd.Series:
    """Return which rows have only two communicating processes, and thus show the bandwidth of a link.

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
    is_one_pair = benchmark.isin(ONE_PAIR) & table["imported_from"].isna()
    is_two_by_default = processes.isna() & ~benchmark.isin(SEVERAL_PAIRS)
    return is_one_pair | is_two_by_default | (processes == 2)


def _rows(file: Path, section: Mapping[str, Any], benchmark_key: str, where: str) -> pd.DataFrame:
    """Return the rows of the interconnect, and of the benchmark that the key `benchmark_key` names."""
    if not file.exists():
        raise InputError(f"{where}.file: {section['file']}: no such file")
    name = section["interconnect"]
    format = "netpipe" if section["benchmark"] == "netpipe" else None  # its files do not show their format
    try:
        table = read_curves(file, name, format).curves
    except TableError as error:
        raise InputError(f"{where}.file: {error}") from None
    for key, column in (("interconnect", "interconnect"), (benchmark_key, "benchmark")):
        values, value = list(dict.fromkeys(table[column])), section[key]
        if value not in values:
            names = ", ".join(values) or "none"
            raise InputError(f"{where}.{key}: no {value!r} in {section['file']}; known: {names}")
        table = table[table[column] == value]
    table = table[between_two_processes(table)]
    if table.empty:
        raise InputError(
            f"{where}.{benchmark_key}: {section[benchmark_key]!r} has no row of two processes in "
            f"{section['file']}; several pairs of processes do not show the bandwidth of a link"
        )
    return table


def sizes_and_times(
    rows: pd.DataFrame, empty_as: int | None, where: str, file: str
) -> tuple[list[int], list[float]]:
    """Return the message sizes of a curve in bytes, and the one-way times in microseconds.

    Parameters
    ----------
    rows : DataFrame
        Rows of a benchmark. The time is ``latency_us``, or bytes / ``bandwidth_MBps`` if it is missing.
    empty_as : int or None
        Size whose time also counts as the time of 0 bytes.
    where, file : str
        Key and file in error messages.

    Raises
    ------
    InputError
        In one line, for a curve that cannot be used.
    """
    rows = rows.dropna(subset="bytes")
    transfer_us = rows["bytes"].astype(float) / rows["bandwidth_MBps"].astype(float)
    times = rows["latency_us"].astype(float).fillna(transfer_us)
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
