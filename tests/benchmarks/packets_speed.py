"""What it costs to simulate packets: 64 nodes of QsNet that send 16 MB each to random others.

    .venv/bin/python tests/benchmarks/packets_speed.py

Fails above 60 s of CPU.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from workflows.paths import INTERCONNECTS, ROOT
from workflows.replay.points import PROGRAMS
from workflows.simulation import packets, programs, traffic
from workflows.simulation.model import make_model
from workflows.study.interconnects import load_interconnect
from workflows.traffic.schedule import MESSAGE

NODES, MESSAGES, BYTES = 64, 64, 250_000
ALLOWED_SECONDS = 60


def main() -> None:
    """Carry the messages, print the cost, fail where it is beyond its limit."""
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
    assert not np.isnan(done.arrived).any()
    print(
        f"{NODES} nodes, {MESSAGES * BYTES / 1e6:g} MB each: {done.cpu_seconds:.1f} s CPU, "
        f"{done.packet_hops / 1e6:.1f} million packet-hops, {done.packet_hops / 1e6 / done.cpu_seconds:.2f} million "
        f"a second, {done.memory_bytes / 1e6:.0f} MB"
    )
    sys.exit(done.cpu_seconds > ALLOWED_SECONDS)


if __name__ == "__main__":
    main()
