"""Peripheral buses between an adapter and its node, and what they carry at most."""

from __future__ import annotations

import re
from typing import NamedTuple

from analysis.runs.errors import TableError

LANE_MBps = {1: 250.0, 2: 500.0, 3: 8000 * 128 / 130 / 8, 4: 16000 * 128 / 130 / 8, 5: 32000 * 128 / 130 / 8}
"""What a lane of PCI Express carries in one direction after its coding (8b/10b, from 3.0 on 128b/130b), by
generation: 10^6 bytes/s of PCI Express Base Specifications 1.0 to 5.0."""

PATTERN = r"^PCIe [1-5]\.0 x(1|2|4|8|12|16|32)$|^PCI(-X)? [0-9]+$"
"""PCI Express by generation and lanes, or PCI and PCI-X of 64 bits by MHz: ``PCIe 1.0 x8``, ``PCI-X 133``."""


class BusPeak(NamedTuple):
    """Most that a bus carries, 10^6 bytes/s: in one direction, and in both together."""

    one_way_MBps: float  # noqa: N815
    both_ways_MBps: float  # noqa: N815


def bus_peak(bus: str) -> BusPeak:
    """Work out what a bus, as `PATTERN` describes it, carries.

    PCI and PCI-X have one set of wires for both directions; a lane of PCI Express has one for each.

    Raises
    ------
    TableError
        If it is written otherwise.

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
