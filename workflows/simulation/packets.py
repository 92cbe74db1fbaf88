"""Descriptions of interconnects for `packets.cpp`, which simulates each packet.

The simulation has virtual channels, finite buffers, and wormhole routing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflows.domain import InputError
from workflows.simulation import traffic
from workflows.simulation.model import InterconnectModel
from workflows.simulation.platform import count_nodes
from workflows.simulation.tree import make_tree
from workflows.traffic.schedule import HEAD_BYTES, MESSAGE

SOURCE = Path(__file__).with_name("packets.cpp")


def network_text(model: InterconnectModel, nodes: int) -> str:
    """Describe the network of a model for `packets.cpp`: one key and its value per line.

    Times are in seconds, rates in bytes per second. A message starts after ``start_up``: the latency of the
    model minus the time of an empty packet to the nearest node.

    Parameters
    ----------
    model : InterconnectModel
        With `InterconnectModel.packets`.
    nodes : int
        Nodes in use.

    Raises
    ------
    InputError
        The topology has fewer nodes, or an empty message takes less time than an empty packet.
    """
    packets = model.packets
    if packets is None:
        raise ValueError("simulate.packets is missing")
    count_nodes(model.topology, nodes)  # raises if the topology has fewer
    link_rate = 1e6 * packets["link_MBps"]
    latency = model.curve.knots()[1][0] * 1e-6
    switches = 2 if "torus" in model.topology else 1  # on the path to the nearest node
    start_up = latency - switches * packets["switch_us"] * 1e-6 - packets["overhead_bytes"] / link_rate
    if start_up < 0:
        raise InputError(
            f"simulate.two_points.latency_us: {latency * 1e6:g} is less than an empty packet takes to the "
            f"nearest node ({(latency - start_up) * 1e6:.3g})"
        )
    values = {
        "topology": _topology_text(model.topology, nodes),
        "channels": packets["virtual_channels"],
        "link_rate": link_rate,
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
    return "".join(f"{key} {value}\n" for key, value in values.items())


def one_way_us(program: Path, model: InterconnectModel, sizes: Sequence[int]) -> NDArray[np.float64]:
    """Simulate a message of each size to the nearest node, on an idle interconnect.

    A simulated write takes the time of the message and of its answer, which is a packet without data (a
    head). A message above the eager limit is also announced by a head. The times of the heads are subtracted.

    Parameters
    ----------
    program : Path
        `SOURCE` as `workflows.simulation.programs.build` built it.
    sizes : sequence of int (sizes,)
        Bytes.

    Returns
    -------
    array of float (sizes,)
        Times from send to arrival in microseconds.
    """
    messages = np.zeros(len(sizes) + 1, MESSAGE)
    messages["seconds"] = np.arange(len(messages))
    messages["bytes"] = [HEAD_BYTES, *sizes]
    messages["destination"], messages["write"] = 1, True
    network = traffic.Network(program, network_text(model, 2), 2, 1, "the fit of the model")
    round_trips = network.carry(messages, float(len(messages))).arrived - messages["seconds"]
    head = round_trips[0] / 2
    heads = 1 + (messages["bytes"][1:] > model.eager_limit_bytes)
    return 1e6 * (round_trips[1:] - heads * head)


def _topology_text(topology: Mapping[str, Any], nodes: int) -> str:
    """Return the words that ``read_topology`` of `topology.hpp` reads."""
    match dict(topology):
        case {"torus": {"dimensions": dimensions}}:
            return f"torus {_comma_separated(dimensions)}"
        case {"fat_tree": fat_tree}:
            tree = make_tree(fat_tree, nodes)
            routing = fat_tree.get("routing", "deterministic")
            return f"tree {_comma_separated(tree.down)} {_comma_separated(tree.up) or '-'} {routing}"
        case _:
            return f"tree {nodes} - deterministic"


def _comma_separated(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))
