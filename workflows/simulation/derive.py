"""The model of an interconnect, worked out from what benchmarks of it printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.presentation.formats import listed, number
from analysis.topics.network.curves import after_work, availability
from workflows.domain import InputError
from workflows.simulation.curve import SMALL_BYTES, between_two_processes, link_rate, points_of

PINGPONGS = ("osu_latency", "imb_pingpong", "netpipe", "pingpong")
STREAMS = ("osu_bandwidth", "imb_uniband")
BOTH_WAYS = ("osu_bi_directional_bandwidth", "imb_biband", "imb_sendrecv", "sendrecv")
PAIRS = ("osu_multiple_bandwidth_message_rate",)
AVAILABILITY = ("availability",)
FLUSH = ("flush",)
WINDOW = ("window",)
AFTER_WORK = ("after_work",)
EXCHANGES = ("sendrecv", "imb_sendrecv")
"""Names of curves: of one message at a time, of many under way in one direction, in both, of pairs of
processes of two nodes, of work beside an exchange, of completing one-sided calls, of making windows
for them, of an exchange after work, and at once after another."""

_NO_PINGPONG = f"no ping-pong ({', '.join(PINGPONGS)}) between two processes"

UNSLOWED = 0.9
"""Share of what pairs would send if none slowed another, from which on they do not show a node's limit."""

RISE, DROP = 0.1, 0.2
"""How far the time of the next size is from what sizes on either side suggest, where the protocol changes.

Of the nine published curves that ship, these find each jump that a reader marked, and one more.
"""

SAME, FREE = 1.01, 1.9
"""Times the bandwidth of one direction: below the first both share it, from the second on both have it."""

BURST = 1.1
"""Times the rate of the long run, from which on an eager message, latency included, shows a burst."""

APART = 1.4
"""How many times as large a size must be as another, to show where a curve goes."""

LEAST_EAGER_BYTES, MOST_EAGER_BYTES, ASSUMED_EAGER_BYTES = 256, 262144, 8192
ASSUMED_INSIDE = {"memory_latency_us": 0.5, "memory_MBps": 5000.0}


@dataclass(frozen=True)
class Change:
    """A change of protocol: the largest size before it, and whether a message takes longer after it."""

    bytes: int
    rise: bool


@dataclass(frozen=True)
class Derived:
    """What follows from the curves of an interconnect.

    Attributes
    ----------
    simulate : dict
        Keys of the section of that name, without ``source`` and without the curve's file.
    curve : DataFrame
        Rows of the ping-pong, and of the exchange that the model knows.
    told : list of str
        A sentence for each thing that was found, or assumed.
    """

    simulate: dict[str, Any]
    curve: pd.DataFrame
    told: list[str]


def changes_of_protocol(sizes: Sequence[int], times: Sequence[float]) -> list[Change]:
    """Find where the curve of a ping-pong jumps.

    Between two sizes it does where the times of the next two are more than `RISE` above, or `DROP` below, the
    line through the two before, and the time before is likewise off the line through the two after.

    Parameters
    ----------
    sizes : sequence of int
        Bytes, rising.
    times : sequence of float
        Of each, in any unit.
    """
    size, time = np.array(sizes, float), np.array(times, float)
    apart = [0]  # lines through sizes that are close say nothing of others
    for i in range(1, len(size)):
        if size[i] >= APART * size[apart[-1]]:
            apart.append(i)
    found = []
    for first, second, third, fourth in zip(apart, apart[1:], apart[2:], apart[3:], strict=False):
        before, after = [first, second], [third, fourth]
        expected = np.maximum(_line(size[before], time[before], size[after]), 1e-9)
        back = _line(size[after], time[after], size[second])
        jumps = [*(time[after] / expected - 1), back / time[second] - 1]
        if min(jumps) > RISE or max(jumps) < -DROP:
            rises = bool(min(jumps) > 0)
            slope = (time[fourth] - time[third]) / (size[fourth] - size[third])
            steps = np.diff(time[second : third + 1] - slope * size[second : third + 1])
            found.append(Change(int(size[second + (steps if rises else -steps).argmax()]), rises))
    return found


def _line(sizes: np.ndarray, times: np.ndarray, at: np.ndarray | float) -> np.ndarray:
    """Times at sizes, on the line through two points."""
    return times[0] + (at - sizes[0]) * (times[1] - times[0]) / (sizes[1] - sizes[0])


def _with_counts(benchmark: str, rows: pd.DataFrame) -> str:
    """Name a benchmark with the counts of processes in its rows."""
    counts = [str(int(count)) for count in sorted(set(rows["processes"].dropna()))]
    return f"{benchmark} of {listed(counts) if counts else 'an unknown number of'} processes"


def eager_limit(changes: Sequence[Change]) -> int | None:
    """Which change is the eager limit, of those in the order of their sizes; None where none may be.

    The last rise from `LEAST_EAGER_BYTES` to `MOST_EAGER_BYTES`, or else the first drop up to a quarter of
    that.
    """
    likely = [change for change in changes if LEAST_EAGER_BYTES <= change.bytes <= MOST_EAGER_BYTES]
    rises = [change.bytes for change in likely if change.rise]
    drops = [change.bytes for change in likely if not change.rise and change.bytes <= MOST_EAGER_BYTES // 4]
    return rises[-1] if rises else drops[0] if drops else None


def derive(
    curves: pd.DataFrame, inside: pd.DataFrame | None, cores: int | None, eager: int | None
) -> Derived:
    """Work out the model of an interconnect.

    Sending or receiving a message keeps a processor busy for half of what an exchange takes from work beside
    it, and at most for what an eager message takes beyond its way through the link; where that is not known,
    for the least interval of a stream of small messages, and at most for half of that. Where eager messages
    pass faster than the link carries them in the long run (`BURST`), each waits until those before it have
    been sent. An exchange goes into the curve, for messages that meet. What nothing tells is ``assumed``.

    Parameters
    ----------
    curves : DataFrame
        Columns of `analysis.importers.CURVES`, between two nodes.
    inside : DataFrame, optional
        The same inside a node.
    eager : int, optional
        Largest message that is sent before its receive is there, where that is known.

    Raises
    ------
    InputError
        No ping-pong, or one that cannot be a model's curve: one line.
    """
    of_a_pair = between_two_processes(curves)
    all_curves, curves, of_pairs = curves, curves[of_a_pair], curves[~of_a_pair]
    pingpong = _first(curves, PINGPONGS)
    if pingpong is None:
        known = listed(sorted(set(all_curves["benchmark"])))
        raise InputError(f"{_NO_PINGPONG} is among the curves: {known}")
    name = pingpong["benchmark"].iloc[0]
    empty_as, sizes, times = _points(pingpong, name)
    changes = changes_of_protocol(sizes, times)
    limit, told = eager, []
    if changes:
        told.append(f"The protocol of {name} changes after {listed(_sizes(changes))} bytes, where it jumps.")
    if limit is None:
        found = eager_limit(changes)
        limit = min(ASSUMED_EAGER_BYTES, sizes[-2]) if found is None else found
        told.append(f"The eager limit, {limit} bytes, is {'assumed' if found is None else 'one of them'}.")
    elif limit >= sizes[-1]:
        raise InputError(f"--eager: {limit}: must be below the largest message of {name}, {sizes[-1]} bytes")
    others = sorted({change.bytes for change in changes} - {limit})
    rate, streamed, simulate = link_rate(sizes, times), 0.0, {}
    for names in (STREAMS, PAIRS):
        peak = _peak(curves, names)
        streamed = max(streamed, peak[1] if peak else 0.0)
        if peak and peak[1] > 1.001 * rate:
            rate = peak[1]
            told.append(f"The link carries {number(rate)} MB/s, as {peak[0]} shows.")
    long_run = rate
    if burst := _burst(sizes, times, limit, streamed):
        rate, long_run = max(rate, burst[0]), burst[1]
        simulate["sustained_MBps"] = round(long_run, 3)
        told.append(
            f"Single messages pass faster than the {number(long_run)} MB/s that the link carries in the long "
            "run: each waits until those before it have been sent."
        )
    curve = {} if rate == link_rate(sizes, times) else {"peak_MBps": round(rate, 3)}
    simulate["curve"] = {"benchmark": name, **({"empty_as_bytes": empty_as} if empty_as else {}), **curve}
    exchange = _exchange(curves, empty_as, limit)
    if exchange is not None:
        simulate["curve"]["exchange"] = exchange["benchmark"].iloc[0]
        told.append(f"Messages that meet take as much longer as in {simulate['curve']['exchange']}.")
    simulate["eager_limit_bytes"] = limit
    if others:
        simulate["switches_bytes"] = others
    assumed = []
    busy = _busy(curves, limit, long_run if burst else None)
    if overhead := busy and _overhead(busy, sizes, times, limit, rate):
        simulate["host_overhead"] = overhead
        us, ns = (number(overhead[f"send_{unit}"]) for unit in ("us", "ns_per_byte"))
        told.append(f"A message keeps either processor busy for {us} µs and {ns} ns a byte: {busy.how}.")
    else:
        assumed.append("host_overhead")
        why = (
            ", since some pass faster than the link carries them"
            if busy and busy.ns_per_byte is not None
            else ""
        )
        told.append(f"A message is assumed to keep processors busy for copying alone{why}.")
    both = _peak(curves, BOTH_WAYS)
    if both is None:
        assumed.append("both_ways")
        told.append("Both directions are assumed not to slow each other down.")
    elif burst and both[1] < FREE * long_run:
        if exchange is None:
            told.append(
                f"That both directions together carry {number(both[1])} MB/s is not used: bursts pass faster."
            )
    elif both[1] < SAME * long_run:
        simulate["half_duplex"] = True
        told.append(f"Both directions share the bandwidth of one, as {both[0]} shows.")
    elif both[1] < FREE * long_run:
        simulate["both_ways_MBps"] = both[1]
        told.append(f"Both directions together carry {number(both[1])} MB/s, as {both[0]} shows.")
    completed = _first(curves, FLUSH)
    if completed is not None:
        us = float(completed["latency_us"].iloc[0])
        if (longer := us / 2 - times[0]) > 0:
            simulate["one_sided_us"] = round(longer, 4)
            told.append(f"Where messages carry one-sided calls, each takes {number(longer)} µs longer.")
        else:
            simulate["flush_us"] = us
            told.append(f"Completing one-sided calls takes {number(us)} µs.")
    made = _first(curves, WINDOW)
    if made is not None and (window := float(made["latency_us"].iloc[0]) - 2 * times[0]) > 0:
        simulate["window_us"] = round(window, 4)
        told.append(f"A window for one-sided calls takes {number(window)} µs beside two barriers.")
    if (late := _first(curves, AFTER_WORK)) is not None:
        simulate["after_work_us"] = _longer_after_work(late)
        us, longer = map(number, simulate["after_work_us"][-1][:2])
        told.append(f"After {us} µs of computing an exchange takes {longer} µs longer than at once.")
    fewest = busy.us if busy else None
    told += _message_rate(all_curves, fewest, simulate)
    if assumed:
        simulate["assumed"] = assumed
        told.append(
            "The band of simulated times holds both ends of what is assumed of processors and directions."
        )
    node, said = _node(inside, cores)
    simulate["node"] = node
    once = (*AVAILABILITY, *FLUSH, *WINDOW, *AFTER_WORK)
    used = {name, *STREAMS, *PAIRS, *BOTH_WAYS, *EXCHANGES, *once}
    counts = [_with_counts(name, rows) for name, rows in of_pairs.groupby("benchmark") if name in used]
    if counts:
        why = "since several pairs do not show what one link carries"
        said.append(f"Not used for the link: {listed(counts)}, {why}.")
    if unused := sorted(set(all_curves["benchmark"]) - used):
        said.append(f"Not used: {listed(unused)}.")
    return Derived(simulate, pd.concat([pingpong, exchange], ignore_index=True), told + said)


def at_rate(made: Derived, rate: float) -> Derived:
    """Give the model of the same interconnect with a slower link: each byte takes as much longer.

    Parameters
    ----------
    rate : float
        What the link carries in the long run, MB/s.

    Raises
    ------
    InputError
        A rate above what the benchmarks show: one line.
    """
    curve, known = made.simulate["curve"], made.curve.dropna(subset="bytes").sort_values("bytes")
    one_way = known[known["benchmark"] == curve["benchmark"]]
    by_itself = link_rate(one_way["bytes"].to_numpy(float), one_way["latency_us"].to_numpy(float))
    shown = made.simulate.get("sustained_MBps", curve.get("peak_MBps", by_itself))
    if rate > shown:
        raise InputError(f"--rate: {rate:g}: is above the {number(shown)} MB/s that the benchmarks show")
    both = made.simulate.get("both_ways_MBps", (1 if made.simulate.get("half_duplex") else 2) * shown)
    longer = np.where(known["benchmark"] == curve["benchmark"], 1.0, 2 * shown / both) * known["bytes"]
    times = known.columns.intersection(["latency_us", "latency_us_low", "latency_us_high"])
    later = known[times].add(longer * (1 / rate - 1 / shown), axis="index")
    simulate = dict(made.simulate)
    if "sustained_MBps" in simulate:
        simulate["sustained_MBps"] = rate
    elif "peak_MBps" in curve:
        simulate["curve"] = curve | {"peak_MBps": rate}
    if "both_ways_MBps" in simulate:
        simulate["both_ways_MBps"] *= rate / shown
    said = (
        f"The link is taken to carry {number(rate)} MB/s instead of the {number(shown)} that were measured."
    )
    return Derived(simulate, known.assign(**later, bandwidth_MBps=np.nan), [*made.told, said])


@dataclass(frozen=True)
class _Busy:
    """How long a message keeps either processor busy, and how that shows; `ns_per_byte` None is not known."""

    us: float
    ns_per_byte: float | None
    how: str


def _burst(
    sizes: Sequence[int], times: Sequence[float], limit: int, streamed: float
) -> tuple[float, float] | None:
    """What a burst passes at, and what the link carries in the long run, MB/s; None without a burst.

    In the long run it carries what large messages show, or `streamed`, what many under way do.
    """
    points = list(zip(sizes, times, strict=True))
    known = [(size, time) for size, time in points if SMALL_BYTES < size <= limit]
    slope = (sizes[-1] - sizes[-2]) / max(times[-1] - times[-2], 1e-9)
    long_run = max(slope, streamed, *(size / time for size, time in points if size > limit))
    if not known or max(size / time for size, time in known) <= BURST * long_run:
        return None
    return max(size / max(time - times[0], 0.05 * times[0]) for size, time in known), long_run


def _busy(curves: pd.DataFrame, limit: int, held_to: float | None) -> _Busy | None:
    """What the curves tell of the time that processors spend with messages; None where they tell nothing.

    An exchange sends a message and receives one, which are taken to keep the processor busy for as long. One
    that takes hardly longer than the link, where that is `held_to` a rate in MB/s, tells nothing.
    """
    shared = _first(curves, AVAILABILITY)
    if shared is not None and "part" in shared:
        known = availability(shared).groupby("bytes")[["exchange_us", "overhead_us"]].median().reset_index()
        known = known[known["bytes"] <= limit]
        if held_to is not None:
            known = known[known["exchange_us"] > FREE * known["bytes"] / held_to]
        each = known["overhead_us"].clip(0, known["exchange_us"]).to_numpy(float) / 2
        size = known["bytes"].to_numpy(float)
        small = size <= SMALL_BYTES
        if small.any():
            us = float(np.median(each[small]))
            more, of = (each - us)[~small], size[~small]
            a_byte = 1000 * max(0.0, float(more @ of / (of @ of))) if len(of) else None
            return _Busy(us, a_byte, "half of what an exchange takes from work beside it")
    stream = _first(curves.dropna(subset="bandwidth_MBps"), STREAMS)
    small = None if stream is None else stream[(stream["bytes"] > 0) & (stream["bytes"] <= SMALL_BYTES)]
    if small is None or small.empty:
        return None
    interval = float((small["bytes"] / small["bandwidth_MBps"]).min())
    how = f"the least interval of {stream['benchmark'].iloc[0]}, or half of a message's time"
    return _Busy(interval, None, f"{how}; that of a byte is assumed")


def _longer_after_work(late: pd.DataFrame) -> list[list[float]]:
    """µs of work, how much longer than at once an exchange then takes, and in the fastest and slowest run."""
    ends = late.reindex(columns=["latency_us_low", "latency_us_high"]).dropna(axis="columns")
    points = after_work(late)[["work_us", "longer_us"]]
    for end in ends:
        times = late[end].where(late["part"] != "after_0_us", late["latency_us"])
        points[end] = after_work(late.assign(latency_us=times))["longer_us"]
    return points.clip(0).cummax().round(3).to_numpy(float).tolist()


def _message_rate(curves: pd.DataFrame, interval: float | None, simulate: dict[str, Any]) -> list[str]:
    """What pairs of processes say of the messages of a node: a key of the model where they slowed each other.

    `interval` is the least time between two messages of a process, in µs, where that is known.
    """
    rows = _first(curves, PAIRS)
    if rows is None or rows["messages_per_second"].isna().all():
        return []
    fastest = rows.loc[rows["messages_per_second"].astype(float).idxmax()]
    rate, processes = float(fastest["messages_per_second"]), fastest["processes"]
    said = f"A node sends {number(rate / 1e6)} million messages a second at most ({fastest['benchmark']})"
    if not pd.isna(processes) and interval and rate > UNSLOWED * (int(processes) // 2) * 1e6 / interval:
        return [
            f"{said}; its {int(processes) // 2} pairs did not slow each other, so that no limit is known."
        ]
    simulate["messages_per_second"] = rate
    unknown = "" if not pd.isna(processes) and interval else ", taken for its limit"
    return [f"{said}{unknown}."]


def _sizes(changes: Sequence[Change]) -> list[str]:
    return [str(change.bytes) for change in changes]


def _first(curves: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame | None:
    """Rows of the first of these benchmarks that there is."""
    there = [rows for name in names if len(rows := curves[curves["benchmark"] == name])]
    return there[0] if there else None


def _peak(curves: pd.DataFrame, names: Sequence[str]) -> tuple[str, float] | None:
    """Name and highest bandwidth of the first of these benchmarks that there is; None where it tells none."""
    rows = _first(curves.dropna(subset="bandwidth_MBps"), names)
    return None if rows is None else (rows["benchmark"].iloc[0], float(rows["bandwidth_MBps"].max()))


def _exchange(curves: pd.DataFrame, empty_as: int | None, limit: int) -> pd.DataFrame | None:
    """Rows of an exchange with the ping-pong's empty message and one past the limit; None without."""
    curves = curves.dropna(subset=["bytes", "latency_us"])
    rows = _first(curves, EXCHANGES)
    known = rows is not None and (empty_as or 0) in set(rows["bytes"]) and rows["bytes"].max() > limit
    return rows if known else None


def _points(rows: pd.DataFrame, name: str) -> tuple[int | None, list[int], list[float]]:
    """The size that stands for 0 bytes, where there is no such message; sizes and times from 0 bytes on."""
    rows = rows.dropna(subset="bytes")
    smallest = int(rows["bytes"].min()) if len(rows) else None
    if smallest is None or smallest > SMALL_BYTES:
        found = "no message has a size" if smallest is None else f"the smallest message has {smallest} bytes"
        raise InputError(f"{name}: {found}; one of up to {SMALL_BYTES} tells the latency")
    empty_as = smallest or None
    return empty_as, *points_of(rows, empty_as, name, "the files")


def _overhead(
    busy: _Busy, sizes: Sequence[int], times: Sequence[float], limit: int, rate: float
) -> dict[str, float] | None:
    """What a message costs either processor, no more than a ping-pong leaves; None where nothing tells.

    Nothing tells where the ping-pong leaves small messages what was measured, and larger ones, a burst that
    passes faster than the link, less than half of it.
    """
    known = np.array([(size, time) for size, time in zip(sizes, times, strict=True) if size <= limit])
    left = known[:, 1] - known[:, 0] / rate  # what a message takes beside its way through the link
    # An interval may be the adapter's: then both ends together take what is left at most.
    left = left / 2 if busy.ns_per_byte is None else left
    each = max(0.0, min(busy.us, float(left.min())))
    hidden = each < min(busy.us, float(left[known[:, 0] <= SMALL_BYTES].min())) / 2
    if hidden or (busy.ns_per_byte is None and each < 0.01 * times[0]):
        return None
    copied = known[:, 0] > SMALL_BYTES
    least = each if busy.ns_per_byte is not None else max(each, left[0])
    slopes = (left[copied] - least) / known[copied, 0]
    most = 1000 * max(0.0, float(slopes.min())) if copied.any() else 0.0
    a_byte = most if busy.ns_per_byte is None else min(busy.ns_per_byte, most)
    costs = {"us": round(0.999 * each, 4), "ns_per_byte": round(0.999 * a_byte, 5)}
    return {f"{end}_{unit}": cost for unit, cost in costs.items() for end in ("send", "receive")}


def _node(inside: pd.DataFrame | None, cores: int | None) -> tuple[dict[str, Any], list[str]]:
    """The section ``node``, and what is assumed of it."""
    node, told = dict(ASSUMED_INSIDE), []
    if inside is None:
        told.append("Messages inside a node are assumed.")
    else:
        rows = _first(inside[between_two_processes(inside)], PINGPONGS)
        if rows is None:
            raise InputError(f"--inside: {_NO_PINGPONG}")
        _, sizes, times = _points(rows, "--inside")
        node = {"memory_latency_us": times[0], "memory_MBps": round(link_rate(sizes, times), 3)}
    if cores is None:
        told.append("A node is assumed to have 1 core.")
    return {"cores": cores or 1, **node}, told
