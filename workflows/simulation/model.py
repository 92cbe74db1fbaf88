"""Fit the model of an interconnect: costs of messages, and the topology of the nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflows.domain import InputError, Interconnect
from workflows.simulation.curve import SMALL_BYTES, PingPongCurve, read_curve

Floats = NDArray[np.float64]
ENDS = ("low", "high", "corrected")
"""Both ends of the band of a simulated time, and the simulated time itself."""


@dataclass(frozen=True)
class Knot:
    """Costs of a message of `bytes`, in microseconds. They are linear between two knots.

    Attributes
    ----------
    wait_us : float
        Time in the network, in addition to the time that the links need for the bytes.
    send_us, receive_us : float
        Time for which the message keeps the sender and the receiver busy.
    after_us : float
        Time for which the sender stays busy after the message has left.
    meets_us : float
        Additional time of two messages of opposite directions that are in the network at the same time.
    """

    bytes: int
    wait_us: float
    send_us: float
    receive_us: float
    after_us: float
    meets_us: float = 0.0


@dataclass(frozen=True)
class InterconnectModel:
    """Parameters of a simulated interconnect, as a platform file needs them.

    Attributes
    ----------
    curve : PingPongCurve
        Curve that the model was fitted to.
    between, inside : tuple of Knot
        Costs of messages between two nodes, and inside a node.
    memory_bytes_per_us : float
        Bandwidth of messages inside a node, in 10^6 bytes/s.
    eager_limit_bytes : int
        Largest message that is sent without waiting for its receive.
    cores_per_node : int
    both_ways_bytes_per_us : float or None
        Bandwidth that both directions of a node share, in 10^6 bytes/s. On a half-duplex link (a PCI bus) it
        is the bandwidth of a single direction. None if the directions share nothing.
    hop_us : float
        Latency of each switch after the first.
    topology : mapping
        As in the schema; empty for a crossbar.
    mpi : str
        MPI library whose algorithms carry out collective operations.
    collectives : mapping of str to str
        Algorithm by collective operation, for operations where the library does not choose.
    packets : mapping or None
        Routing of packets, as in the schema. None if messages share links as fluids.
    gap_us : float
        Minimum time between two messages that a node sends to other nodes.
    gap_us_per_byte : float
        Additional gap for each byte of the first message.
    one_sided : str
        Carrier of one-sided calls: ``transfers`` do not use the target's processor, ``messages`` do.
    one_sided_us : float
        Additional time that the receiver needs for a message of a one-sided call.
    flush_us : float
        Time to complete one-sided calls at a target, if no message carries them.
    window_us : float
        Time per rank for a window of one-sided calls, without the barriers that create and free it.
    after_work_us : tuple of pairs of float
        Computing times, each with the delay of the communication that follows.
    one_machine : bool
        Whether all nodes are one machine, on which all ranks slow each other down.
    """

    curve: PingPongCurve
    between: tuple[Knot, ...]
    inside: tuple[Knot, ...]
    memory_bytes_per_us: float
    eager_limit_bytes: int
    cores_per_node: int
    both_ways_bytes_per_us: float | None
    hop_us: float
    topology: Mapping[str, Any]
    mpi: str
    collectives: Mapping[str, str]
    packets: Mapping[str, Any] | None = None
    gap_us: float = 0.0
    gap_us_per_byte: float = 0.0
    one_sided: str = "transfers"
    one_sided_us: float = 0.0
    flush_us: float = 0.0
    window_us: float = 0.0
    after_work_us: tuple[tuple[float, float], ...] = ()
    one_machine: bool = False


def check_section(simulate: Mapping[str, Any]) -> str | None:
    """Check the section ``simulate`` for mistakes that its schema cannot express.

    Returns
    -------
    str or None
        The first mistake, in one line; None without a mistake.
    """
    present = [key for key in ("curve", "two_points") if key in simulate]
    if len(present) != 1:
        keys = "both curve and two_points" if present else "neither curve nor two_points"
        return f"simulate: has {keys}; exactly one of them is allowed"
    if "two_points" in simulate and "switches_bytes" in simulate:
        return "simulate.switches_bytes: does not belong here, since two_points have no protocol changes"
    if "both_ways_MBps" in simulate and simulate.get("half_duplex"):
        return "simulate.both_ways_MBps: does not belong here, since half_duplex determines it"
    work = [point[0] for point in simulate.get("after_work_us", ())]
    if any(after <= before for before, after in pairwise([0, *work])):
        return f"simulate.after_work_us: computing times {work}: must be above 0 and in ascending order"
    for point in simulate.get("after_work_us", ()):
        if len(point) == 3 or sorted(point[1:]) != [*point[2:3], point[1], *point[3:]]:
            return (
                f"simulate.after_work_us: {point}: must be [computing, delay] or [computing, delay, lowest "
                "delay, highest delay]"
            )
    if mistake := _check_packets(simulate):
        return mistake
    if "torus" in simulate.get("topology", {}):
        if "both_ways" in simulate.get("assumed", ()):
            return "simulate.assumed: both_ways does not belong here, since nodes of a torus forward messages"
        for key in ("half_duplex", "both_ways_MBps"):
            if simulate.get(key):
                return f"simulate.{key}: does not belong here, since the nodes of a torus forward messages"
    tree = simulate.get("topology", {}).get("fat_tree", {})
    if "down" in tree and len(tree["up"]) != len(tree["down"]) - 1:
        return (
            f"simulate.topology.fat_tree.up: {len(tree['up'])} levels: must be one less than down "
            f"({len(tree['down'])})"
        )
    ratio = tree.get("blocking_ratio", 1)
    if "ports" in tree and tree["ports"] % (1 + ratio):
        return (
            f"simulate.topology.fat_tree.ports: {tree['ports']}: must be a multiple of {1 + ratio} for a "
            f"blocking_ratio of {ratio}"
        )
    return None


def _check_packets(simulate: Mapping[str, Any]) -> str | None:
    """Return the first mistake of ``packets``, or of keys that need or exclude it."""
    topology = simulate.get("topology", {})
    routing = topology.get("fat_tree", {}).get("routing")
    if "packets" not in simulate:
        if routing == "adaptive":
            return "simulate.topology.fat_tree.routing: adaptive needs simulate.packets; spread does not"
        return None
    for key in ("curve", "host_overhead", "hop_us", "messages_per_second", "sustained_MBps", "assumed"):
        if simulate.get(key):
            return f"simulate.{key}: does not belong here, since packets determine the time of a message"
    if "star" in topology:
        return "simulate.topology.star: does not belong here, since packets pass switches, not a backbone"
    if routing == "spread":
        return "simulate.topology.fat_tree.routing: spread is not available for packets; use adaptive"
    if "torus" in topology and simulate["packets"]["virtual_channels"] < 2:
        return "simulate.packets.virtual_channels: 1: must be 2 or more in a torus, to avoid deadlock"
    if "torus" in topology and simulate["packets"].get("keeps_channel"):
        return (
            "simulate.packets.keeps_channel: does not belong here, since packets in a torus change channels"
        )
    if "age_step_us" in simulate["packets"] and simulate["packets"].get("arbitration") != "oldest":
        return "simulate.packets.age_step_us: does not belong here, since arbitration is not oldest"
    return None


def make_model(interconnect: Interconnect, root: Path, end: str = "corrected") -> InterconnectModel:
    """Fit the model of a simulated interconnect.

    A message of s bytes takes the time T(s), which is linear between the points of the curve. The link needs
    s / bandwidth of this time. The rest is split as follows:

    - With ``host_overhead`` in the interconnect's file, an eager message keeps both processors busy for that
      time. (During a larger message, processors wait anyway.) If the overhead does not fit into T(s), the
      sender stays busy after the message has left. A ping-pong hides this part of the overhead, an exchange
      shows it.
    - Without ``host_overhead``, the time of an eager message beyond T(0) + s / bandwidth is copying, half by
    the
      sender and half by the receiver.
    - The remaining time keeps no processor busy.

    If the curve has an exchange, two messages that meet take longer, as in the exchange. Two parts of this
    delay are subtracted: the part that a shared bandwidth explains, and the delay of the smallest messages,
    which is caused by the benchmark. The second part is not subtracted if the hidden overhead is at least
    `HIDDEN_SHARE` of a small message's time: the overhead then contains it.

    Parameters
    ----------
    root : Path
        Folder to which the path of the curve's file is relative.
    end : {"corrected", "low", "high"}
        ``low`` and ``high`` are the ends of the band, at which messages cost least and most. ``corrected`` is
        the model itself. The band comes from two sources: the range of the curve over its runs, and the
        parameters that the interconnect's file lists as ``assumed``.

    Raises
    ------
    InputError
        The receiver is busy for longer than a message takes, or both directions together are slower than
        one direction. See also `workflows.simulation.curve.read_curve`.
    """
    simulate = interconnect.simulate
    if simulate is None:
        raise ValueError(f"{interconnect.name} is not simulated")
    where = f"{interconnect.name}.yaml"
    added_us = sum(simulate.get("added_us", {}).values())
    curve = read_curve(simulate, root, where).delayed(added_us).at(end)
    node, overhead = simulate["node"], simulate.get("host_overhead")
    both_ways = _both_ways(simulate, curve, where)
    if end != "corrected" and "host_overhead" in simulate.get("assumed", ()):
        overhead = _overhead_at(
            curve, simulate["eager_limit_bytes"], 0.0 if end == "low" else MAX_OVERHEAD_SHARE
        )
    if end == "high" and "both_ways" in simulate.get("assumed", ()):
        both_ways = curve.bytes_per_us
    return InterconnectModel(
        curve=curve,
        between=_knots(curve, simulate["eager_limit_bytes"], overhead, both_ways, where, end),
        inside=(Knot(0, node["memory_latency_us"], 0.0, 0.0, 0.0),),
        memory_bytes_per_us=node["memory_MBps"],
        eager_limit_bytes=simulate["eager_limit_bytes"],
        cores_per_node=node["cores"],
        both_ways_bytes_per_us=both_ways,
        hop_us=simulate["hop_us"],
        topology=simulate.get("topology", {}),
        mpi=simulate.get("mpi", "openmpi"),
        collectives=simulate.get("collectives", {}),
        packets=simulate.get("packets"),
        gap_us=1e6 / simulate["messages_per_second"] if "messages_per_second" in simulate else 0.0,
        gap_us_per_byte=1 / simulate["sustained_MBps"] if "sustained_MBps" in simulate else 0.0,
        one_sided=simulate.get("one_sided", "transfers"),
        one_sided_us=simulate.get("one_sided_us", 0.0),
        flush_us=simulate.get("flush_us", 0.0),
        window_us=simulate.get("window_us", 0.0),
        after_work_us=_after_work(simulate.get("after_work_us", ()), end),
        one_machine=simulate.get("one_machine", False),
    )


def _after_work(points: Iterable[Sequence[float]], end: str) -> tuple[tuple[float, float], ...]:
    """Return pairs of computing time and delay, in microseconds, at an end of the band.

    Points without a range have the same delay at both ends.
    """
    column = {"corrected": 1, "low": 2, "high": 3}[end]
    return tuple((float(point[0]), float(point[column if column < len(point) else 1])) for point in points)


HIDDEN_SHARE = 0.1
"""Smallest hidden overhead, as a share of a small message's time, that is more than measurement error."""

MAX_OVERHEAD_SHARE = 0.999
"""Share of the largest possible host overhead at the high end of the band; below 1 because of rounding."""


def _overhead_at(curve: PingPongCurve, eager_limit: int, share: float) -> dict[str, float]:
    """Return a host overhead that is `share` of the shortest time of an eager message beyond the link."""
    sizes, times, link = _times(curve, eager_limit)
    beyond_link = (times - link)[sizes <= eager_limit].min()
    busy = max(0.0, share * float(beyond_link)) / 2
    return {"send_us": busy, "receive_us": busy, "send_ns_per_byte": 0.0, "receive_ns_per_byte": 0.0}


def _both_ways(simulate: Mapping[str, Any], curve: PingPongCurve, where: str) -> float | None:
    """Return the bandwidth that both directions share, in 10^6 bytes/s; None if they share nothing."""
    if "both_ways_MBps" not in simulate:
        return curve.bytes_per_us if simulate["half_duplex"] else None
    both = float(simulate["both_ways_MBps"])
    if both < curve.bytes_per_us:
        raise InputError(
            f"{where}: simulate.both_ways_MBps: {both:g} is less than the bandwidth of a single direction "
            f"({curve.bytes_per_us:.4g})"
        )
    return both


def _times(curve: PingPongCurve, eager_limit: int) -> tuple[Floats, Floats, Floats]:
    """Return the sizes of the knots, the time of a message of each size, and the link's part of this time."""
    curve_sizes, curve_times = curve.knots()
    sizes = np.union1d(curve_sizes, [eager_limit, eager_limit + 1])
    return sizes, np.interp(sizes, curve_sizes, curve_times), sizes / curve.bytes_per_us


def _knots(
    curve: PingPongCurve,
    eager_limit: int,
    overhead: Mapping[str, Any] | None,
    both_ways: float | None,
    where: str,
    end: str,
) -> tuple[Knot, ...]:
    """Split the time of messages of each size into the costs of a knot: see `make_model`."""
    sizes, times, link = _times(curve, eager_limit)
    times = times if end == "corrected" else np.maximum(times, link)
    is_eager = sizes <= eager_limit  # during a larger message, SMPI's ranks wait and do nothing else
    if overhead is None:
        copying = np.where(is_eager, np.maximum(0.0, times - times[0] - link), 0.0)
        send = receive = copying / 2
    else:
        send = is_eager * (overhead["send_us"] + overhead["send_ns_per_byte"] * sizes / 1000)
        receive = is_eager * (overhead["receive_us"] + overhead["receive_ns_per_byte"] * sizes / 1000)
        receive = receive if end == "corrected" else np.minimum(receive, times - link)
    before_receive = times - link - receive
    if (before_receive < -1e-9 * times).any():
        size = int(sizes[before_receive.argmin()])
        raise InputError(
            f"{where}: simulate.host_overhead: the receiver is busy for longer than "
            f"{times[before_receive.argmin()] - link[before_receive.argmin()]:.3g} µs, the time of a message "
            f"of {size} bytes beyond the link"
        )
    after = np.maximum(0.0, send - np.maximum(before_receive, 0.0))
    send = send - after
    meets = np.zeros_like(times)
    if curve.exchange is not None:
        shared = 0.0 if both_ways is None else np.maximum(0.0, 2 * sizes / both_ways - link)
        delay = np.interp(sizes, *curve.exchange.knots()) - times - shared
        hidden = np.maximum(0.0, after - link)
        is_small = sizes <= SMALL_BYTES
        if np.median(hidden[is_small]) < HIDDEN_SHARE * np.median(times[is_small]):
            delay -= max(0.0, float(np.median((delay - hidden)[is_small])))
        meets = np.where(delay > hidden, delay, 0.0)
    columns = zip(sizes, np.maximum(before_receive - send, 0.0), send, receive, after, meets, strict=True)
    return tuple(Knot(int(size), *map(float, costs)) for size, *costs in columns)
