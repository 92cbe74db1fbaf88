"""Measure a short ping-pong over a discovered interconnect, and derive the ranges that its file attests."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from workflows.discovery.selectable import Selectable
from workflows.domain import Interconnect, Point
from workflows.launch.cluster_launch import JobNode
from workflows.measure.attestation import QUANTITIES, probe
from workflows.study.interconnects import load_interconnect

LAUNCHES = 3
"""Number of launches of a ping-pong. Each repeats it for a few milliseconds and reports the best values."""

WORSE = 10.0
"""Factor between the worst launch and the bad end of a range: other programs make values worse."""

BETTER_INSIDE, BETTER_BETWEEN = 6.0, 2.0
"""Factors between the best launch and the good end of a range, inside a node and between nodes. Inside a
node, latency depends on whether the cores of the two ranks share a cache: a factor of 5 on a virtual
machine."""


@dataclass(frozen=True)
class PingPong:
    """Result of a ping-pong.

    Attributes
    ----------
    ranges : dict of str to list of float
        Lowest and highest value to attest, by quantity (``latency_us``, ``bandwidth_MBps``); empty without
        a result.
    best : dict of str to float
        Best value of all launches, by quantity.
    transports : list of str
        Transports that the MPI library reports.
    reason : str or None
        Why nothing was measured, in one line.
    failed : bool
        Whether the ping-pong was launched and did not work.
    """

    ranges: dict[str, list[float]] = field(default_factory=dict)
    best: dict[str, float] = field(default_factory=dict)
    transports: list[str] = field(default_factory=list)
    reason: str | None = None
    failed: bool = False


def play(selectable: Selectable, nodes: Sequence[JobNode], cores: int) -> PingPong:
    """Measure a ping-pong between two ranks, inside a node or on two nodes of a job.

    Parameters
    ----------
    nodes : sequence of JobNode
        Nodes of the job of this process; empty outside a job.
    cores : int
        Usable cores of a node.
    """
    if selectable.joins_nodes and len(nodes) < 2:
        return PingPong(reason="needs two nodes (--profile cluster)")
    if not selectable.joins_nodes and cores < 2:
        return PingPong(reason="needs two cores of a node")
    count = 2 if selectable.joins_nodes else 1
    point = Point("ping_pong", selectable.name, processes=2, oversubscription=1, nodes=count, cores=2)
    interconnect = _loaded(selectable)
    latencies, bandwidths, transports = [], [], []
    for _ in range(LAUNCHES):
        result = probe(point, interconnect, nodes[:count])
        if result.problem or result.latency_us is None or result.bandwidth_MBps is None:
            return PingPong(reason=result.problem or "the ping-pong reported no time", failed=True)
        latencies.append(result.latency_us)
        bandwidths.append(result.bandwidth_MBps)
        transports = list(result.transports)
    better = BETTER_BETWEEN if selectable.joins_nodes else BETTER_INSIDE
    latency = [min(latencies) / better, max(latencies) * WORSE]
    bandwidth = [min(bandwidths) / WORSE, max(bandwidths) * better]
    ranges = dict(zip(QUANTITIES, (latency, bandwidth), strict=True))
    return PingPong(
        {quantity: [float(f"{end:.2g}") for end in ends] for quantity, ends in ranges.items()},
        dict(zip(QUANTITIES, (min(latencies), max(bandwidths)), strict=True)),
        transports,
    )


def as_yaml(selectable: Selectable, ranges: dict[str, list[float]], host: str) -> str:
    """Return the text of an interconnect file."""
    content = selectable.content(ranges, host)
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)


def _loaded(selectable: Selectable) -> Interconnect:
    """Return a discovered interconnect as if it had been read from its file."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{selectable.name}.yaml").write_text(as_yaml(selectable, {}, "this machine"))
        return load_interconnect(selectable.name, Path(folder))
