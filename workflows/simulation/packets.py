"""Networks whose packets are simulated one by one: virtual channels, finite buffers, wormholes.

What `workflows/simulation/packets.cpp` reads, and how long a message then takes that meets no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workflows.domain import InputError
from workflows.simulation import traffic
from workflows.simulation.model import InterconnectModel
from workflows.simulation.platform import nodes_of
from workflows.simulation.tree import make_tree
from workflows.traffic.schedule import HEAD_BYTES, MESSAGE

SOURCE = Path(__file__).with_name("packets.cpp")


def network_text(model: InterconnectModel, nodes: int) -> str:
    """Describe a network of so many nodes for the program: a word and its values a line.

    What a message of 0 bytes takes beyond the way of its packet to the nearest node passes before it is sent.

    Raises
    ------
    InputError
        If the topology has fewer nodes, or an empty message takes less than its packet.
    """
    nodes_of(model.topology, nodes)
    packets, rate = model.packets, 1e6 * model.packets["link_MBps"]
    latency = model.curve.knots()[1][0] * 1e-6
    start_up = latency - nearest(model) * packets["switch_us"] * 1e-6 - packets["overhead_bytes"] / rate
    if start_up < 0:
        raise InputError(
            f"simulate.two_points.latency_us: {latency * 1e6:g} is less than an empty packet takes to the "
            f"nearest node ({(latency - start_up) * 1e6:.3g})"
        )
    values = {
        "topology": _topology(model.topology, nodes),
        "channels": packets["virtual_channels"],
        "link_rate": rate,
        "node_rate": 1e6 * (model.both_ways_bytes_per_us or 0.0),
        "payload_bytes": packets["payload_bytes"],
        "overhead_bytes": packets["overhead_bytes"],
        "buffer_bytes": packets["buffer_bytes"],
        "turn_bytes": packets["turn_bytes"],
        "switch": packets["switch_us"] * 1e-6,
        "acknowledged": int(packets["acknowledged"]),
        "keeps_channel": int(packets["keeps_channel"]),
        "age_step": 1e-6 * packets["age_step_us"] if packets["arbitration"] == "oldest" else 0.0,
        "start_up": start_up,
        "memory_latency": model.inside[0].wait_us * 1e-6,
        "memory_rate": 1e6 * model.memory_bytes_per_us,
        "eager_limit_bytes": model.eager_limit_bytes,
    }
    return "".join(f"{word} {value}\n" for word, value in values.items())


def nearest(model: InterconnectModel) -> int:
    """Switches between a node and the nearest other one."""
    return 2 if "torus" in model.topology else 1


def one_way_us(program: Path, model: InterconnectModel, sizes: Sequence[int]) -> np.ndarray:
    """Microseconds that a message of each size takes to the nearest node, where there is no other.

    Parameters
    ----------
    program : Path
        `SOURCE`, built: see `workflows.simulation.programs.build`.
    """
    messages = np.zeros(len(sizes) + 1, MESSAGE)
    messages["seconds"] = np.arange(len(messages))
    messages["bytes"] = [HEAD_BYTES, *sizes]
    messages["destination"], messages["write"] = 1, True
    network = traffic.Network(program, network_text(model, 2), 2, 1, "a message alone")
    there_and_back = network.carry(messages, float(len(messages))).arrived - messages["seconds"]
    head = there_and_back[0] / 2
    heads = 1 + (messages["bytes"][1:] > model.eager_limit_bytes)
    return 1e6 * (there_and_back[1:] - heads * head)


def _topology(topology: Mapping[str, Any], nodes: int) -> str:
    match dict(topology):
        case {"torus": {"dimensions": dimensions}}:
            return f"torus {_listed(dimensions)}"
        case {"fat_tree": fat_tree}:
            tree = make_tree(fat_tree, nodes)
            return f"tree {_listed(tree.down)} {_listed(tree.up)} {fat_tree.get('routing', 'deterministic')}"
        case _:
            return f"tree {nodes} - deterministic"


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers)) or "-"
