"""Headline numbers of a network curve: latency, peak, N/2, protocol switches, and crossings of two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.statistics import Floats

STEP = 0.25
"""At a protocol switch, the time exceeds what the sizes before it predict by more than this share."""

DROP = 0.1
"""Another protocol is quicker where a message takes less time than the size before, by more than this."""

LOSS = 0.05
"""Large messages lose where the bandwidth stays by more than this share below its peak."""

MARGIN = 0.05
"""Of two interconnects, one is faster where its time is less by more than this share of the other's."""


@dataclass(frozen=True)
class Headlines:
    """Headline numbers of a ping-pong or an exchange.

    Attributes
    ----------
    latency_us : float
        At 0 bytes; NaN where the curve has no such size.
    peak_bandwidth, peak_bytes : float
        Highest bandwidth, MB/s, and the size that has it.
    percent_of_link : float
        Peak in percent of the link's peak; NaN where that is not known.
    half_peak_bytes : float
        N/2, the size that has half the peak; NaN where the smallest size has more.
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


def headlines(sizes: Floats, latency_us: Floats, bandwidth: Floats, link: float = float("nan")) -> Headlines:
    """Make the headline numbers of one curve.

    Parameters
    ----------
    sizes : array of shape (n,)
        Message sizes, bytes, rising.
    latency_us, bandwidth : array of shape (n,)
        Time of a message and bandwidth of each size; no bandwidth (NaN) at 0 bytes.
    link : float
        Peak of the link, MB/s, of both directions together for an exchange.
    """
    moved = np.asarray(sizes) > 0
    large, rate = np.asarray(sizes, float)[moved], np.asarray(bandwidth, float)[moved]
    best = int(np.argmax(rate))
    return Headlines(
        latency_us=float(latency_us[0]) if sizes[0] == 0 else float("nan"),
        peak_bandwidth=float(rate[best]),
        peak_bytes=float(large[best]),
        percent_of_link=100 * float(rate[best]) / link,
        half_peak_bytes=half_peak(large, rate),
        switches=protocol_switches(large, np.asarray(latency_us, float)[moved]),
        drops=time_drops(large, np.asarray(latency_us, float)[moved]),
        loses_from_bytes=loses_from(large, rate),
    )


def half_peak(sizes: Floats, bandwidth: Floats) -> float:
    """Find N/2, the message size that reaches half the peak bandwidth for the first time.

    Between two sizes, the logarithm of the bandwidth is linear in the logarithm of the size.

    Parameters
    ----------
    sizes, bandwidth : array of shape (n,)
        Sizes above 0, rising.

    Returns
    -------
    float
        NaN where the smallest size has half the peak already.
    """
    half = np.max(bandwidth) / 2
    above = int(np.argmax(bandwidth >= half))
    if above == 0:
        return float("nan")
    near = slice(above - 1, above + 1)
    return float(np.exp(np.interp(np.log(half), np.log(bandwidth[near]), np.log(sizes[near]))))


def protocol_switches(sizes: Floats, latency: Floats) -> tuple[int, ...]:
    """Find the sizes at which the time of a message jumps, as where another protocol takes over.

    From the two sizes before (powers of two, or the last ones), the time expected at a size follows on the
    line through them, time against bytes. A size is a switch where the time is more than `STEP` above.

    Parameters
    ----------
    sizes, latency : array of shape (n,)
        Sizes above 0, rising.

    Returns
    -------
    tuple of int
        First size of each new protocol, bytes.
    """
    found: list[int] = []
    for index in range(2, len(sizes)):
        first, second = index - 2, index - 1
        slope = max((latency[second] - latency[first]) / (sizes[second] - sizes[first]), 0.0)
        expected = latency[second] + slope * (sizes[index] - sizes[second])
        jumped_before = bool(found) and found[-1] == int(sizes[second])
        if not jumped_before and latency[index] > (1 + STEP) * expected:
            found.append(int(sizes[index]))
    return tuple(found)


def time_drops(sizes: Floats, latency: Floats) -> tuple[int, ...]:
    """Find the sizes from which on messages are quicker than smaller ones, as where a protocol begins.

    Parameters
    ----------
    sizes, latency : array of shape (n,)
        Sizes above 0, rising.

    Returns
    -------
    tuple of int
        Sizes whose time is below that of the size before by more than `DROP` of it.
    """
    quicker = latency[1:] < (1 - DROP) * latency[:-1]
    return tuple(int(size) for size in np.asarray(sizes)[1:][quicker])


def loses_from(sizes: Floats, bandwidth: Floats) -> float:
    """Find where large messages lose, as beyond a cache.

    Returns
    -------
    float
        Smallest size above the peak's from which on every bandwidth is `LOSS` or more below the peak;
        NaN where the largest size's is not.
    """
    best = int(np.argmax(bandwidth))
    low = bandwidth < (1 - LOSS) * bandwidth[best]
    kept = np.flatnonzero(~low)[-1]
    return float(sizes[kept + 1]) if kept + 1 < len(sizes) else float("nan")


def faster_from(sizes: Floats, latency: Floats, other_sizes: Floats, other_latency: Floats) -> list[int]:
    """Find the sizes at which an interconnect overtakes another one.

    Parameters
    ----------
    sizes, latency : array of shape (n,)
        Curve of the interconnect, sizes rising, 0 allowed.
    other_sizes, other_latency : array of shape (m,)
        Curve of the other interconnect. Only sizes that both have are compared.

    Returns
    -------
    list of int
        Each size at which it is faster and before which it was slower; sizes whose times are within
        `MARGIN` are passed over. Empty where it is always faster, or always slower.
    """
    common, own, others = np.intersect1d(sizes, other_sizes, return_indices=True)
    time, other = np.asarray(latency)[own], np.asarray(other_latency)[others]
    lead = np.where(time < (1 - MARGIN) * other, 1, np.where(other < (1 - MARGIN) * time, -1, 0))
    common, lead = common[lead != 0], lead[lead != 0]
    return [int(size) for size in common[1:][(lead[1:] > 0) & (lead[:-1] < 0)]]
