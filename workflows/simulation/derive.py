"""Derive the model of an interconnect from the curves of benchmarks that ran on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from analysis.presentation.formats import listed, number
from analysis.topics.network.curves import after_work, availability
from workflows.domain import InputError
from workflows.simulation.curve import SMALL_BYTES, between_two_processes, link_rate, sizes_and_times
from workflows.simulation.protocols import changes_of_protocol, eager_limit

# Names of benchmarks, in order of preference.
PINGPONGS = ("osu_latency", "imb_pingpong", "netpipe", "pingpong")
STREAMS = ("osu_bandwidth", "imb_uniband")
BOTH_WAYS = ("osu_bi_directional_bandwidth", "imb_biband", "imb_sendrecv", "sendrecv")
EXCHANGES = ("sendrecv", "imb_sendrecv")
PAIRS = ("osu_multiple_bandwidth_message_rate",)
AVAILABILITY = ("availability",)
FLUSH = ("flush",)
WINDOW = ("window",)
AFTER_WORK = ("after_work",)

_NO_PINGPONG = f"no ping-pong ({', '.join(PINGPONGS)}) between two processes"

SHARED_RATIO, INDEPENDENT_RATIO = 1.01, 1.9
"""Ratios of the bandwidth of both directions together to the bandwidth of a single direction.

Below the first ratio, the directions share a bandwidth. From the second ratio on, they are independent.
"""

MIN_BURST_RATIO = 1.1
"""Ratio of an eager message's bandwidth, latency included, to the sustained rate, above which messages pass
in bursts."""

UNSLOWED_SHARE = 0.9
"""Pairs that reach this share of the message rate of independent pairs show no limit of the node."""

ASSUMED_EAGER_BYTES = 8192
ASSUMED_INSIDE = {"memory_latency_us": 0.5, "memory_MBps": 5000.0}

ROUNDING_MARGIN = 0.999
"""Factor on overheads, so that after rounding no processor is busy for longer than a message takes."""


@dataclass(frozen=True)
class Derived:
    """Model that follows from the curves of an interconnect.

    Attributes
    ----------
    simulate : dict
        Keys of the section ``simulate``, without ``source`` and without the file of the curve.
    curve : DataFrame
        Rows of the ping-pong, and of the exchange if the model uses one.
    notes : list of str
        Sentences about each derived or assumed parameter, and about benchmarks that are not used.
    """

    simulate: dict[str, Any]
    curve: pd.DataFrame
    notes: list[str]


@dataclass(frozen=True)
class _Part:
    """Part of a model: keys of ``simulate``, sentences about them, and names for the key ``assumed``."""

    keys: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _PingPong:
    """One-way times in microseconds by message size. `empty_as` is the size whose time stands for 0 bytes."""

    benchmark: str
    empty_as: int | None
    sizes: list[int]
    times: list[float]


@dataclass(frozen=True)
class _Link:
    """Bandwidths of a link in 10^6 bytes/s.

    `rate` is the bandwidth of single messages, `sustained` the bandwidth of many large messages. They differ
    only if `has_burst`.
    """

    rate: float
    sustained: float
    has_burst: bool
    notes: list[str]


@dataclass(frozen=True)
class _ProcessorTime:
    """Time for which a message keeps sender and receiver busy: `us` per message, and `ns_per_byte`.

    `ns_per_byte` is None if it is unknown. `basis` describes the benchmark that shows the time.
    """

    us: float
    ns_per_byte: float | None
    basis: str


def derive(
    curves: pd.DataFrame, inside: pd.DataFrame | None, cores: int | None, eager: int | None
) -> Derived:
    """Derive the model of an interconnect from its curves.

    Each parameter comes from the benchmarks that show it; parameters that no benchmark shows are listed under
    ``assumed``. docs/models.md describes the rules.

    Parameters
    ----------
    curves : DataFrame
        Columns of `analysis.importers.CURVES`: curves between two nodes.
    inside : DataFrame, optional
        The same columns: curves inside a node.
    cores : int, optional
        Cores of a node.
    eager : int, optional
        Largest message in bytes that is sent without waiting for its receive, if the user knows it.

    Raises
    ------
    InputError
        One line: the curves have no ping-pong, or the ping-pong cannot be the curve of a model.
    """
    curves, waiting = _without_waiting(curves)
    is_link = between_two_processes(curves)
    link_curves = curves[is_link]
    pingpong_rows = _rows_of_first(link_curves, PINGPONGS)
    if pingpong_rows is None and waiting:
        raise InputError(f"{_NO_PINGPONG} on two nodes is among the curves. {waiting[0]}")
    if pingpong_rows is None:
        raise InputError(f"{_NO_PINGPONG} is among the curves: {listed(sorted(set(curves['benchmark'])))}")
    pingpong = _read_pingpong(pingpong_rows, pingpong_rows["benchmark"].iloc[0])
    limit, protocols = _protocols(pingpong, eager)
    link = _link(link_curves, pingpong, limit)
    exchange = _exchange(link_curves, pingpong.empty_as, limit)
    processor_time = _processor_time(link_curves, limit, link)
    parts = [
        protocols,
        _curve_keys(pingpong, link, exchange),
        _host_overhead(processor_time, pingpong, limit, link),
        _both_directions(link_curves, link, exchange is not None),
        _one_sided(link_curves, pingpong.times[0]),
        _longer_after_work(link_curves),
        _message_rate(curves, processor_time.us if processor_time else None),
    ]
    assumed = [name for part in parts for name in part.assumed]
    if assumed:
        note = f"The band of simulated times covers the extremes of the assumed {listed(assumed)}."
        parts.append(_Part({"assumed": assumed}, [note]))
    parts += [
        _configuration(link_curves, pingpong.benchmark),
        _node(inside, cores),
        _unused(curves, is_link, pingpong.benchmark),
    ]
    simulate = {key: value for part in parts for key, value in part.keys.items()}
    notes = [*waiting, *(note for part in parts for note in part.notes)]
    return Derived(simulate, pd.concat([pingpong_rows, exchange], ignore_index=True), notes)


def _without_waiting(curves: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the curves without tables of IMB whose pair may share a node, and a sentence on these tables.

    If further processes wait, ranks 0 and 1 communicate, and most launchers place these ranks on one node.
    """
    if "waiting" not in curves or curves["waiting"].isna().all():
        return curves, []
    is_waiting = curves["waiting"].notna()
    names = listed(sorted(set(curves.loc[is_waiting, "benchmark"])))
    sentence = (
        f"Not used: tables of {names} with waiting processes, because the output does not show the nodes of "
        "the processes that communicate; run IMB with one process on each of two nodes."
    )
    return curves[~is_waiting], [sentence]


def at_rate(derived: Derived, rate: float) -> Derived:
    """Return the model of an interconnect that differs only by a slower link.

    The times of the curves become longer by the additional time that the slower link needs for the bytes.

    Parameters
    ----------
    rate : float
        Sustained bandwidth of the slower link, 10^6 bytes/s.

    Raises
    ------
    InputError
        The rate is above the rate that the benchmarks show: one line.
    """
    curve = derived.simulate["curve"]
    rows = derived.curve.dropna(subset="bytes").sort_values("bytes")
    is_pingpong = rows["benchmark"] == curve["benchmark"]
    pingpong = rows[is_pingpong]
    pingpong_rate = link_rate(pingpong["bytes"].to_numpy(float), pingpong["latency_us"].to_numpy(float))
    measured = derived.simulate.get("sustained_MBps", curve.get("peak_MBps", pingpong_rate))
    if rate > measured:
        raise InputError(f"--rate: {rate:g}: is above the {number(measured)} MB/s that the benchmarks show")
    directions = 1 if derived.simulate.get("half_duplex") else 2
    both_ways = derived.simulate.get("both_ways_MBps", directions * measured)
    link_bytes = np.where(is_pingpong, 1.0, 2 * measured / both_ways) * rows["bytes"]
    columns = rows.columns.intersection(["latency_us", "latency_us_low", "latency_us_high"])
    slower_times = rows[columns].add(link_bytes * (1 / rate - 1 / measured), axis="index")
    simulate = dict(derived.simulate)
    if "sustained_MBps" in simulate:
        simulate["sustained_MBps"] = rate
    elif "peak_MBps" in curve:
        simulate["curve"] = curve | {"peak_MBps": rate}
    if "both_ways_MBps" in simulate:
        simulate["both_ways_MBps"] *= rate / measured
    note = f"The rate of the link is set to {number(rate)} MB/s; {number(measured)} MB/s were measured."
    return Derived(simulate, rows.assign(**slower_times, bandwidth_MBps=np.nan), [*derived.notes, note])


def _rows_of_first(curves: pd.DataFrame, benchmarks: Sequence[str]) -> pd.DataFrame | None:
    """Return the rows of the first of these benchmarks that has rows; None if none has."""
    for benchmark in benchmarks:
        rows = curves[curves["benchmark"] == benchmark]
        if len(rows):
            return rows
    return None


def _peak(curves: pd.DataFrame, benchmarks: Sequence[str]) -> tuple[str, float] | None:
    """Return the name and the highest bandwidth of the first of these benchmarks that states bandwidths."""
    rows = _rows_of_first(curves.dropna(subset="bandwidth_MBps"), benchmarks)
    return None if rows is None else (rows["benchmark"].iloc[0], float(rows["bandwidth_MBps"].max()))


def _read_pingpong(rows: pd.DataFrame, title: str) -> _PingPong:
    rows = rows.dropna(subset="bytes")
    smallest = int(rows["bytes"].min()) if len(rows) else None
    if smallest is None or smallest > SMALL_BYTES:
        problem = (
            "no message has a size" if smallest is None else f"the smallest message has {smallest} bytes"
        )
        raise InputError(f"{title}: {problem}; the latency needs a message of at most {SMALL_BYTES} bytes")
    empty_as = smallest or None
    sizes, times = sizes_and_times(rows, empty_as, title, "the files")
    return _PingPong(title, empty_as, sizes, times)


def _protocols(pingpong: _PingPong, eager: int | None) -> tuple[int, _Part]:
    """Return the eager limit in bytes, and the part of the model with all changes of protocol."""
    changes = changes_of_protocol(pingpong.sizes, pingpong.times)
    notes = []
    if changes:
        sizes = listed(str(change.bytes) for change in changes)
        notes.append(
            f"The times of {pingpong.benchmark} jump after {sizes} bytes: the protocol changes there."
        )
    limit = eager
    if limit is None:
        limit = eager_limit(changes)
        if limit is None:
            limit = min(ASSUMED_EAGER_BYTES, pingpong.sizes[-2])
            notes.append(f"The eager limit is assumed to be {limit} bytes.")
        else:
            notes.append(f"The eager limit is {limit} bytes, according to these jumps.")
    elif limit >= pingpong.sizes[-1]:
        raise InputError(
            f"--eager: {limit}: must be below the largest message of {pingpong.benchmark}, "
            f"{pingpong.sizes[-1]} bytes"
        )
    keys: dict[str, Any] = {"eager_limit_bytes": limit}
    if switches := sorted({change.bytes for change in changes} - {limit}):
        keys["switches_bytes"] = switches
    return limit, _Part(keys, notes)


def _link(curves: pd.DataFrame, pingpong: _PingPong, limit: int) -> _Link:
    """Derive the bandwidth of the link from the ping-pong and from streams of two processes."""
    rate, notes = link_rate(pingpong.sizes, pingpong.times), []
    streamed = 0.0
    for benchmarks in (STREAMS, PAIRS):
        if peak := _peak(curves, benchmarks):
            benchmark, peak_rate = peak
            streamed = max(streamed, peak_rate)
            if peak_rate > 1.001 * rate:
                rate = peak_rate
                notes.append(f"The link carries {number(rate)} MB/s, as {benchmark} shows.")
    burst = _burst(pingpong, limit, streamed)
    if burst is None:
        return _Link(rate, rate, False, notes)
    burst_rate, sustained = burst
    notes.append(
        f"Single messages pass faster than the {number(sustained)} MB/s that the link sustains: each message "
        "waits until the link has carried the earlier messages at that rate."
    )
    return _Link(max(rate, burst_rate), sustained, True, notes)


def _burst(pingpong: _PingPong, limit: int, streamed: float) -> tuple[float, float] | None:
    """Compare eager messages with the sustained rate of the link.

    The sustained rate is the highest rate of large messages, or `streamed`, the rate of a stream.

    Returns
    -------
    tuple of float, or None
        Rate of a burst and sustained rate, 10^6 bytes/s; None if no eager message exceeds the sustained rate
        by `MIN_BURST_RATIO`.
    """
    sizes, times = pingpong.sizes, pingpong.times
    points = list(zip(sizes, times, strict=True))
    eager_points = [(size, time) for size, time in points if SMALL_BYTES < size <= limit]
    slope = (sizes[-1] - sizes[-2]) / max(times[-1] - times[-2], 1e-9)
    sustained = max(slope, streamed, *(size / time for size, time in points if size > limit))
    if not eager_points or max(size / time for size, time in eager_points) <= MIN_BURST_RATIO * sustained:
        return None
    latency = times[0]
    return max(size / max(time - latency, 0.05 * latency) for size, time in eager_points), sustained


def _exchange(curves: pd.DataFrame, empty_as: int | None, limit: int) -> pd.DataFrame | None:
    """Return the rows of an exchange that has an empty message and one above the eager limit, or None."""
    rows = _rows_of_first(curves.dropna(subset=["bytes", "latency_us"]), EXCHANGES)
    if rows is None or (empty_as or 0) not in set(rows["bytes"]) or rows["bytes"].max() <= limit:
        return None
    return rows


def _curve_keys(pingpong: _PingPong, link: _Link, exchange: pd.DataFrame | None) -> _Part:
    curve: dict[str, Any] = {"benchmark": pingpong.benchmark}
    notes = list(link.notes)
    if pingpong.empty_as:
        curve["empty_as_bytes"] = pingpong.empty_as
    if link.rate != link_rate(pingpong.sizes, pingpong.times):
        curve["peak_MBps"] = round(link.rate, 3)
    if exchange is not None:
        curve["exchange"] = exchange["benchmark"].iloc[0]
        notes.append(f"Two messages that meet are delayed as in {curve['exchange']}.")
    sustained = {"sustained_MBps": round(link.sustained, 3)} if link.has_burst else {}
    return _Part(sustained | {"curve": curve}, notes)


def _processor_time(curves: pd.DataFrame, limit: int, link: _Link) -> _ProcessorTime | None:
    """Derive how long a message keeps a processor busy; None if no benchmark shows it.

    In an exchange, a process sends a message and receives a message. Half of the overhead is attributed to
    each. If no benchmark has exchanges, the shortest interval in a stream of small messages is an upper
    bound.
    """
    rows = _rows_of_first(curves, AVAILABILITY)
    if rows is not None and "part" in rows and (time := _overhead_of_exchange(rows, limit, link)):
        return time
    stream = _rows_of_first(curves.dropna(subset="bandwidth_MBps"), STREAMS)
    if stream is None:
        return None
    small = stream[(stream["bytes"] > 0) & (stream["bytes"] <= SMALL_BYTES)]
    if small.empty:
        return None
    interval = float((small["bytes"] / small["bandwidth_MBps"]).min())
    benchmark = stream["benchmark"].iloc[0]
    basis = (
        f"the smaller of the smallest interval of {benchmark} and half of a message's time; the time per "
        "byte is assumed"
    )
    return _ProcessorTime(interval, None, basis)


def _overhead_of_exchange(rows: pd.DataFrame, limit: int, link: _Link) -> _ProcessorTime | None:
    """Return half of the overhead of an exchange of eager messages; None without small messages.

    On a link with bursts, processors may wait for the link. Such exchanges show no overhead and are left out:
    their time is close to the time that the link needs for the bytes at its sustained rate.
    """
    times = availability(rows).groupby("bytes")[["exchange_us", "overhead_us"]].median().reset_index()
    times = times[times["bytes"] <= limit]
    if link.has_burst:
        times = times[times["exchange_us"] > INDEPENDENT_RATIO * times["bytes"] / link.sustained]
    per_message = times["overhead_us"].clip(0, times["exchange_us"]).to_numpy(float) / 2
    size = times["bytes"].to_numpy(float)
    is_small = size <= SMALL_BYTES
    if not is_small.any():
        return None
    us = float(np.median(per_message[is_small]))
    sizes, beyond = size[~is_small], (per_message - us)[~is_small]
    # Least squares through the origin.
    ns_per_byte = 1000 * max(0.0, float(beyond @ sizes / (sizes @ sizes))) if len(sizes) else None
    basis = "half of the time by which an exchange delays concurrent computing"
    return _ProcessorTime(us, ns_per_byte, basis)


def _host_overhead(time: _ProcessorTime | None, pingpong: _PingPong, limit: int, link: _Link) -> _Part:
    """Derive the key ``host_overhead``; assumed if no benchmark shows it."""
    overhead = _limited_overhead(time, pingpong, limit, link.rate) if time else None
    if time and overhead:
        us, ns = number(overhead["send_us"]), number(overhead["send_ns_per_byte"])
        note = (
            f"A message keeps each of the two processors busy for {us} µs and {ns} ns per byte: {time.basis}."
        )
        return _Part({"host_overhead": overhead}, [note])
    is_hidden = time is not None and time.ns_per_byte is not None
    reason = ", because small messages pass faster than the link carries them" if is_hidden else ""
    note = f"A message is assumed to keep processors busy only for copying{reason}."
    return _Part({}, [note], ["host_overhead"])


def _limited_overhead(
    time: _ProcessorTime, pingpong: _PingPong, limit: int, rate: float
) -> dict[str, float] | None:
    """Limit the time of a processor to the part of an eager message's time that the link does not need.

    Returns
    -------
    dict, or None
        Section ``host_overhead``. None if the ping-pong shows no overhead. This is so in two cases: large
        eager messages leave less than half as much time beside the link as small messages do; or the overhead
        is below 1 % of the latency.
    """
    points = list(zip(pingpong.sizes, pingpong.times, strict=True))
    eager_points = np.array([(size, duration) for size, duration in points if size <= limit])
    size = eager_points[:, 0]
    beyond_link = eager_points[:, 1] - size / rate
    is_stream = time.ns_per_byte is None
    if is_stream:
        beyond_link = beyond_link / 2  # the adapter may cause the interval: the two ends share the time
    is_small = size <= SMALL_BYTES
    us = max(0.0, min(time.us, float(beyond_link.min())))
    is_hidden = us < min(time.us, float(beyond_link[is_small].min())) / 2
    if is_hidden or (is_stream and us < 0.01 * pingpong.times[0]):
        return None
    fixed = max(us, beyond_link[0]) if is_stream else us
    slopes = (beyond_link[~is_small] - fixed) / size[~is_small]
    ns_per_byte = 1000 * max(0.0, float(slopes.min())) if len(slopes) else 0.0
    if time.ns_per_byte is not None:
        ns_per_byte = min(time.ns_per_byte, ns_per_byte)
    us, ns_per_byte = round(ROUNDING_MARGIN * us, 4), round(ROUNDING_MARGIN * ns_per_byte, 5)
    return {
        "send_us": us,
        "receive_us": us,
        "send_ns_per_byte": ns_per_byte,
        "receive_ns_per_byte": ns_per_byte,
    }


def _both_directions(curves: pd.DataFrame, link: _Link, has_exchange: bool) -> _Part:
    """Derive whether both directions of the link slow each other; assumed if no benchmark shows it."""
    peak = _peak(curves, BOTH_WAYS)
    if peak is None:
        note = "The two directions of the link are assumed not to slow each other."
        return _Part({}, [note], ["both_ways"])
    benchmark, rate = peak
    if rate >= INDEPENDENT_RATIO * link.sustained:
        return _Part()
    if link.has_burst:
        unused = f"The {number(rate)} MB/s of both directions are not used, because bursts pass faster."
        return _Part({}, [] if has_exchange else [unused])
    if rate < SHARED_RATIO * link.sustained:
        note = f"Both directions share the bandwidth of one direction, as {benchmark} shows."
        return _Part({"half_duplex": True}, [note])
    note = f"Both directions together carry {number(rate)} MB/s, as {benchmark} shows."
    return _Part({"both_ways_MBps": rate}, [note])


def _one_sided(curves: pd.DataFrame, latency_us: float) -> _Part:
    """Derive the costs of one-sided calls and of their windows.

    If the completion of a call takes longer than a round trip, two messages carry the call. Each of them
    takes half of the difference longer than other messages.
    """
    part = _Part()
    flush = _rows_of_first(curves, FLUSH)
    if flush is not None:
        flush_us = float(flush["latency_us"].iloc[0])
        message_us = flush_us / 2 - latency_us
        if message_us > 0:
            part.keys["one_sided_us"] = round(message_us, 4)
            part.notes.append(
                f"A message that carries a one-sided call takes {number(message_us)} µs longer than others."
            )
        else:
            part.keys["flush_us"] = flush_us
            part.notes.append(f"Completing one-sided calls takes {number(flush_us)} µs.")
    window = _rows_of_first(curves, WINDOW)
    if window is not None:
        window_us = float(window["latency_us"].iloc[0]) - 2 * latency_us
        if window_us > 0:
            part.keys["window_us"] = round(window_us, 4)
            part.notes.append(
                f"A window for one-sided calls takes {number(window_us)} µs in addition to its two barriers."
            )
    return part


def _longer_after_work(curves: pd.DataFrame) -> _Part:
    """Derive the key ``after_work_us``: how much longer an exchange takes after some computing time.

    Each entry is [computing time, delay] in microseconds. If the curves hold the range of several runs, an
    entry also has the delays in the fastest and in the slowest run.
    """
    rows = _rows_of_first(curves, AFTER_WORK)
    if rows is None:
        return _Part()
    points = after_work(rows)[["work_us", "longer_us"]]
    for end in ("latency_us_low", "latency_us_high"):
        if end in rows and rows[end].notna().all():
            times = rows[end].where(rows["part"] != "after_0_us", rows["latency_us"])
            points[end] = after_work(rows.assign(latency_us=times))["longer_us"]
    delays: list[list[float]] = points.clip(0).cummax().round(3).to_numpy(float).tolist()
    work_us, delay_us = number(delays[-1][0]), number(delays[-1][1])
    note = f"After {work_us} µs of computing, an exchange takes {delay_us} µs longer than without."
    return _Part({"after_work_us": delays}, [note])


def _message_rate(curves: pd.DataFrame, interval_us: float | None) -> _Part:
    """Derive the key ``messages_per_second`` from pairs of processes that slowed each other.

    Parameters
    ----------
    interval_us : float or None
        Smallest time between two messages of a process; None if it is unknown.
    """
    rows = _rows_of_first(curves, PAIRS)
    if rows is None or rows["messages_per_second"].isna().all():
        return _Part()
    fastest = rows.iloc[int(rows["messages_per_second"].astype(float).argmax())]
    rate, processes = float(fastest["messages_per_second"]), fastest["processes"]
    # The output shows the pairs, but not their nodes.
    sentence = (
        f"A node sends at most {number(rate / 1e6)} million messages per second ({fastest['benchmark']}, if "
        "its pairs ran on two nodes)"
    )
    if pd.isna(processes) or not interval_us:
        return _Part({"messages_per_second": rate}, [f"{sentence}, assumed to be its limit."])
    pairs = int(processes) // 2
    if rate > UNSLOWED_SHARE * pairs * 1e6 / interval_us:
        return _Part({}, [f"{sentence}; its {pairs} pairs did not slow each other, so the limit is unknown."])
    return _Part({"messages_per_second": rate}, [f"{sentence}."])


def _node(inside: pd.DataFrame | None, cores: int | None) -> _Part:
    """Derive the section ``simulate.node`` of a model.

    It has the cores of a node, and latency and bandwidth between two processes of one node. `inside` holds
    curves measured within a node; without them, latency and bandwidth are assumed.
    """
    node, notes = dict(ASSUMED_INSIDE), []
    if inside is None:
        notes.append("Latency and bandwidth inside a node are assumed.")
    else:
        rows = _rows_of_first(inside[between_two_processes(inside)], PINGPONGS)
        if rows is None:
            raise InputError(f"--inside: {_NO_PINGPONG}")
        pingpong = _read_pingpong(rows, "--inside")
        node = {
            "memory_latency_us": pingpong.times[0],
            "memory_MBps": round(link_rate(pingpong.sizes, pingpong.times), 3),
        }
    if cores is None:
        notes.append("A node is assumed to have 1 core.")
    return _Part({"node": {"cores": cores or 1, **node}}, notes)


def _configuration(link_curves: pd.DataFrame, pingpong: str) -> _Part:
    """State the processes, the direction and the messages in flight for which the link's parameters hold."""
    measured = set(link_curves["benchmark"])
    streams = [name for name in STREAMS if name in measured]
    used = [pingpong, *streams, *(name for name in BOTH_WAYS if name in measured)]
    note = f"The parameters of the link hold for one pair of processes on two nodes: {listed(used)}."
    if streams:
        note += f" The files do not state how many messages {listed(streams)} kept in flight."
    return _Part({}, [note])


def _unused(curves: pd.DataFrame, is_link: pd.Series, pingpong: str) -> _Part:
    """Return sentences about benchmarks that the model does not use, fully or for several pairs."""
    other_benchmarks = (*AVAILABILITY, *FLUSH, *WINDOW, *AFTER_WORK)
    used = {pingpong, *STREAMS, *PAIRS, *BOTH_WAYS, *EXCHANGES, *other_benchmarks}
    notes = []
    pair_rows = curves[~is_link]
    if several := sorted(set(pair_rows["benchmark"]) & used):
        names = listed(_with_counts(name, pair_rows[pair_rows["benchmark"] == name]) for name in several)
        notes.append(f"Not used for the link: {names}, because several pairs of processes ran.")
    if unused := sorted(set(curves["benchmark"]) - used):
        notes.append(f"Not used: {listed(unused)}.")
    return _Part({}, notes)


def _with_counts(benchmark: str, rows: pd.DataFrame) -> str:
    """Return the name of a benchmark with the process counts of its rows."""
    counts = [str(int(count)) for count in sorted(set(rows["processes"].dropna()))]
    return f"{benchmark} of {listed(counts) if counts else 'an unknown number of'} processes"
