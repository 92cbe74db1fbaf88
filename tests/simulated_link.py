"""A simulated interconnect whose times can be worked by hand."""

from workflows.domain import Interconnect

SIMULATE = {
    "two_points": {"latency_us": 10.0, "peak_MBps": 100.0},
    "eager_limit_bytes": 1000,
    "half_duplex": False,
    "hop_us": 0.0,
    "node": {"cores": 2, "memory_latency_us": 1.0, "memory_MBps": 1000.0},
}
"""10 µs and 10 ns a byte between nodes, 1 µs and 1 ns a byte inside one."""


def simulated_link(**changes):
    return Interconnect("mine", "simulated", "Mine", {}, None, 64, 2, simulate=SIMULATE | changes)
