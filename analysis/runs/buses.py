"""Bandwidth of peripheral buses between an adapter and its node."""

from __future__ import annotations

import re
from typing import NamedTuple

from analysis.runs.errors import TableError

LANE_MBps = {1: 250.0, 2: 500.0, 3: 8000 * 128 / 130 / 8, 4: 16000 * 128 / 130 / 8, 5: 32000 * 128 / 130 / 8}
"""Bandwidth of a PCI Express lane in one direction by generation, in 10^6 bytes/s after coding.

The coding is 8b/10b, from 3.0 on 128b/130b (PCI Express Base Specifications 1.0 to 5.0)."""

PATTERN = r"^PCIe [1-5]\.0 x(1|2|4|8|12|16|32)$|^PCI(-X)? [0-9]+$"
"""Names of buses: PCI Express by generation and lanes (``PCIe 1.0 x8``), 64-bit PCI and PCI-X by MHz."""


class BusPeak(NamedTuple):
    """Peak bandwidth of a bus in one direction and in both directions together, 10^6 bytes/s."""

    one_way_MBps: float  # noqa: N815
    both_ways_MBps: float  # noqa: N815


def bus_peak(bus: str) -> BusPeak:
    """Compute the peak bandwidth of a bus.

    PCI and PCI-X share their wires between both directions; PCI Express has wires for each direction.

    Raises
    ------
    TableError
        If the name does not match `PATTERN`.

    Examples
    --------
    >>> bus_peak("PCI-X 133")
    BusPeak(one_way_MBps=1064.0, both_ways_MBps=1064.0)
    """
    if not re.search(PATTERN, bus):
        raise TableError(f"{bus!r} is no bus: PCIe 1.0 x8 to PCIe 5.0 x32, PCI-X 133 or PCI 33")
    speed, *lanes = bus.split()[1:]
    if lanes:
        one_way = LANE_MBps[int(speed[0])] * int(lanes[0][1:])
        return BusPeak(one_way, 2 * one_way)
    return BusPeak(8.0 * int(speed), 8.0 * int(speed))
