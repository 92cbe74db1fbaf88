"""Headline numbers of a network curve: latency, peak, N/2, protocol switches, and crossings of curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.statistics import Floats

STEP = 0.25
"""Least excess of the time over the prediction from smaller sizes that marks a protocol switch (a share)."""

BEND = 0.05
"""Least excess of this time over the straight line through the neighbouring sizes (a share)."""

DROP = 0.1
"""Least share by which a message is quicker than the next smaller size where a quicker protocol begins."""

LOSS = 0.05
"""Least share by which the bandwidth of large messages is below the peak if it counts as lost."""

MARGIN = 0.05
"""Least share by which the time of the faster of two interconnects is below the time of the other."""


@dataclass(frozen=True)
class CurveNumbers:
    """Headline numbers of a ping-pong or an exchange.

    Attributes
    ----------
    latency_us : float
        Latency at 0 bytes; NaN if the curve has no such size.
    peak_bandwidth, peak_bytes : float
        Highest bandwidth in MB/s, and its size.
    percent_of_link : float
        Peak in percent of the link's peak; NaN if the link is unknown.
    half_peak_bytes : float
        N/2, the size with half the peak; NaN if the smallest size has more.
    switches, drops : tuple of int
        See `protocol_switches` and `time_drops`.
    loses_from_bytes : float
        See `loses_from`.
    """

    latency_us: float
    peak_bandwidth: float
    peak_bytes: float
    percent_of_link: float
    half_peak_bytes: float
    switches: tuple[int, ...]
    drops: tuple[int, ...]
    loses_from_bytes: float


def curve_numbers(
    sizes: Floats, latency_us: Floats, bandwidth: Floats, link: float = float("nan")
) -> CurveNumbers:
    """Compute the headline numbers of a curve.

    Parameters
    ----------
    sizes : array of shape (n,)
        Message sizes in bytes, rising.
    latency_us, bandwidth : array of shape (n,)
        Time of a message and bandwidth of each size; the bandwidth at 0 bytes is NaN.
    link : float
        Peak of the link in MB/s; for an exchange, of both directions together.
    """
    is_sized = np.asarray(sizes) > 0
    sized, rate = np.asarray(sizes, float)[is_sized], np.asarray(bandwidth, float)[is_sized]
    best = int(np.argmax(rate))
    return CurveNumbers(
        latency_us=float(latency_us[0]) if sizes[0] == 0 else float("nan"),
        peak_bandwidth=float(rate[best]),
        peak_bytes=float(sized[best]),
        percent_of_link=100 * float(rate[best]) / link,
        half_peak_bytes=half_peak(sized, rate),
        switches=protocol_switches(sized, np.asarray(latency_us, float)[is_sized]),
        drops=time_drops(sized, np.asarray(latency_us, float)[is_sized]),
        loses_from_bytes=loses_from(sized, rate),
    )


def half_peak(sizes: Floats, bandwidth: Floats) -> float:
    """Find N/2, the smallest message size that reaches half the peak bandwidth.

    Between two sizes, the logarithm of the bandwidth is linear in the logarithm of the size.

    Parameters
    ----------
    sizes, bandwidth : array of shape (n,)
        Sizes above 0, rising.

    Returns
    -------
    float
        NaN if the smallest size already reaches half the peak.
    """
    half = np.max(bandwidth) / 2
    first_above = int(np.argmax(bandwidth >= half))
    if first_above == 0:
        return float("nan")
    neighbours = slice(first_above - 1, first_above + 1)
    log_size = np.interp(np.log(half), np.log(bandwidth[neighbours]), np.log(sizes[neighbours]))
    return float(np.exp(log_size))


def protocol_switches(sizes: Floats, latency: Floats) -> tuple[int, ...]:
    """Find the sizes at which the time of a message jumps, because another protocol takes over.

    The expected time at a size is extrapolated linearly from the two next smaller sizes. A size is a switch
    if its time is more than `STEP` above the expected time, and more than `BEND` above the straight line
    through its neighbours. The second condition excludes a size after a transition, at which the next
    smaller size already belongs to the new protocol.

    Parameters
    ----------
    sizes, latency : array of shape (n,)
        Sizes above 0, rising.

    Returns
    -------
    tuple of int
        First size of each new protocol in bytes.
    """
    switches: list[int] = []
    for index in range(2, len(sizes)):
        first, second = index - 2, index - 1
        slope = max((latency[second] - latency[first]) / (sizes[second] - sizes[first]), 0.0)
        expected = latency[second] + slope * (sizes[index] - sizes[second])
        jumped_before = bool(switches) and switches[-1] == int(sizes[second])
        between = -np.inf  # the last size has no larger neighbour
        if index + 1 < len(sizes):
            ends = [second, index + 1]
            between = np.interp(sizes[index], sizes[ends], latency[ends])
        is_above = latency[index] > max((1 + STEP) * expected, (1 + BEND) * between)
        if not jumped_before and is_above:
            switches.append(int(sizes[index]))
    return tuple(switches)


def time_drops(sizes: Floats, latency: Floats) -> tuple[int, ...]:
    """Find the sizes at which messages are quicker than smaller messages, because a protocol begins.

    Parameters
    ----------
    sizes, latency : array of shape (n,)
        Sizes above 0, rising.

    Returns
    -------
    tuple of int
        Sizes whose time is more than `DROP` below the time of the size before.
    """
    quicker = latency[1:] < (1 - DROP) * latency[:-1]
    return tuple(int(size) for size in np.asarray(sizes)[1:][quicker])


def loses_from(sizes: Floats, bandwidth: Floats) -> float:
    """Find the size from which bandwidth stays below its peak, for example because of a cache.

    Parameters
    ----------
    sizes, bandwidth : array of shape (n,)
        Rising sizes in bytes, and bandwidths in MB/s.

    Returns
    -------
    float
        Smallest size in bytes from which every bandwidth is more than `LOSS` below the peak. NaN if the
        bandwidth of the largest size is not that low.
    """
    best = int(np.argmax(bandwidth))
    low = bandwidth < (1 - LOSS) * bandwidth[best]
    last_near_peak = np.flatnonzero(~low)[-1]
    return float(sizes[last_near_peak + 1]) if last_near_peak + 1 < len(sizes) else float("nan")


def faster_from(sizes: Floats, latency: Floats, other_sizes: Floats, other_latency: Floats) -> list[int]:
    """Find the sizes at which an interconnect overtakes another interconnect.

    Parameters
    ----------
    sizes, latency : array of shape (n,)
        Curve of the interconnect, with rising sizes from 0 on.
    other_sizes, other_latency : array of shape (m,)
        Curve of the other interconnect. Only common sizes are compared.

    Returns
    -------
    list of int
        Sizes at which the interconnect is faster, after a size at which it was slower. Sizes whose times are
        within `MARGIN` are skipped. Empty if it is always faster, or always slower.
    """
    common, positions, other_positions = np.intersect1d(sizes, other_sizes, return_indices=True)
    time, other_time = np.asarray(latency)[positions], np.asarray(other_latency)[other_positions]
    is_faster, is_slower = time < (1 - MARGIN) * other_time, other_time < (1 - MARGIN) * time
    differs = is_faster | is_slower
    common, is_faster = common[differs], is_faster[differs]
    overtakes = is_faster[1:] & ~is_faster[:-1]
    return [int(size) for size in common[1:][overtakes]]
