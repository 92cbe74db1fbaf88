"""Measure the cost of simulating packets: 64 nodes of QsNet that send 16 MB each to random others.

.venv/bin/python -m tests.benchmarks.packets_speed
"""

import numpy as np

from workflows.paths import INTERCONNECTS, ROOT
from workflows.replay.points import PROGRAMS
from workflows.simulation import packets, programs, traffic
from workflows.simulation.model import make_model
from workflows.study.interconnects import load_interconnect
from workflows.traffic.schedule import MESSAGE

NODES, MESSAGES, BYTES = 64, 64, 250_000


def packet_seconds() -> float:
    """Carry the messages; return the CPU seconds of the simulation."""
    rng = np.random.default_rng(2003)
    messages = np.zeros(NODES * MESSAGES, MESSAGE)
    messages["process"] = np.repeat(np.arange(NODES), MESSAGES)
    other = rng.integers(1, NODES, len(messages))
    messages["destination"] = (messages["process"] + other) % NODES
    messages["bytes"], messages["write"] = BYTES, True
    model = make_model(load_interconnect("quadrics_elan3_packets", INTERCONNECTS), ROOT)
    program = programs.build(packets.SOURCE, PROGRAMS)
    network = traffic.Network(program, packets.network_text(model, NODES), NODES, 1, "benchmark")
    done = network.carry(messages, 10.0)
    if np.isnan(done.arrived).any():
        raise RuntimeError("a message did not arrive")
    return done.cpu_seconds


if __name__ == "__main__":
    print(f"{NODES} nodes, {MESSAGES * BYTES / 1e6:g} MB each: {packet_seconds():.1f} s CPU")
