"""A model written as a SimGrid platform, which the replayer reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from xml.sax.saxutils import quoteattr

from workflows.domain import InputError
from workflows.simulation.model import Knot, Model

INFINITE = 1e12
FREE = (Knot(0, 0.0, 0.0, 0.0),)
"""Messages that cost nothing."""

_FIXED = {
    "network/model": "SMPI",
    "network/TCP-gamma": "0",
    "network/crosstraffic": "0",
    "network/weight-S": "0",
    "smpi/cpu-threshold": "-1",
    "smpi/host-speed": "1f",
    "surf/precision": "1e-9",
}
"""Switches off what SimGrid adds by itself: TCP's window, reverse traffic, its own costs of messages."""


def platform_xml(model: Model, nodes: int, host_speed: float) -> str:
    """Describe so many nodes, joined as the model says.

    Parameters
    ----------
    model : Model
    nodes : int
    host_speed : float
        Speed of a core relative to the traced one.

    Returns
    -------
    str
        Costs of messages are in the properties of its outer zone, where replayer.cpp reads them.

    Raises
    ------
    InputError
        If the topology has fewer nodes.
    """
    there = _nodes_of(model.topology, nodes)
    cluster = {
        "id": "nodes",
        "prefix": "node-",
        "suffix": "",
        "radical": f"0-{there - 1}",
        "speed": f"{host_speed!r}Gf",
        "core": str(model.cores_per_node),
        "lat": "1us",  # a unit: the replayer scales it to what a message waits
        "loopback_lat": "1us",
        "bw": f"{model.curve.bytes_per_us!r}MBps",
        "loopback_bw": f"{model.memory_bytes_per_us!r}MBps",
        **_topology(model.topology, nodes),
    }
    if model.half_duplex:
        cluster["limiter_link"] = cluster["bw"]
    settings = {"smpi/async-small-thresh": model.eager_limit_bytes + 1}
    settings["smpi/send-is-detached-thresh"] = model.eager_limit_bytes + 1
    settings |= {f"smpi/{name}": algorithm for name, algorithm in model.collectives.items()}
    properties = {
        "between_nodes": _told(model.between),
        "inside_node": _told(model.inside),
        "hop_us": repr(float(model.hop_us)),
    }
    return _xml(settings, cluster, properties)


def ideal(model: Model) -> Model:
    """Give a model of the same nodes, joined by an interconnect on which messages cost nothing."""
    return replace(
        model,
        curve=replace(model.curve, bytes_per_us=INFINITE),
        between=FREE,
        inside=FREE,
        memory_bytes_per_us=INFINITE,
        half_duplex=False,
        hop_us=0.0,
        topology={},
    )


def _told(knots: Sequence[Knot]) -> str:
    return " ".join(f"{one.bytes}:{one.wait_us!r}:{one.send_us!r}:{one.receive_us!r}" for one in knots)


def _topology(topology: Mapping[str, Any], nodes: int) -> dict[str, str]:
    """Attributes of SimGrid's cluster that join its nodes."""
    match dict(topology):
        case {"star": {"backbone_MBps": rate}}:
            return {"bb_bw": f"{float(rate)!r}MBps", "bb_lat": "0us"}
        case {"torus": {"dimensions": dimensions}}:
            return {"topology": "TORUS", "topo_parameters": ",".join(map(str, dimensions))}
        case {"fat_tree": {"ports": ports, **rest}}:
            return _two_levels(ports, rest.get("blocking_ratio", 1), nodes)
        case {"fat_tree": {"down": down, "up": up}}:
            return _tree(down, up)
        case _:
            return {}


def _leaf(ports: int, blocking_ratio: int) -> tuple[int, int]:
    """Ports of a leaf switch to nodes and upwards, the former `blocking_ratio` times the latter."""
    up = ports // (1 + blocking_ratio)
    return up * blocking_ratio, up


def _two_levels(ports: int, blocking_ratio: int, nodes: int) -> dict[str, str]:
    if nodes <= ports:
        return {}
    down, up = _leaf(ports, blocking_ratio)
    return _tree([down, math.ceil(nodes / down)], [1, up])


def _tree(down: Sequence[int], up: Sequence[int]) -> dict[str, str]:
    ones = ",".join("1" for _ in down)
    levels = f"{len(down)};{','.join(map(str, down))};{','.join(map(str, up))};{ones}"
    return {"topology": "FAT_TREE", "topo_parameters": levels}


def _nodes_of(topology: Mapping[str, Any], nodes: int) -> int:
    """Nodes that a platform must have for `nodes` to be used: a tree or a torus has a fixed number."""
    match dict(topology):
        case {"torus": {"dimensions": dimensions}}:
            there = math.prod(dimensions)
        case {"fat_tree": {"down": down}}:
            there = math.prod(down)
        case {"fat_tree": {"ports": ports, **rest}} if nodes > ports:
            down, _ = _leaf(ports, rest.get("blocking_ratio", 1))
            there = math.ceil(nodes / down) * down
        case _:
            there = nodes
    if there < nodes:
        (name,) = topology
        raise InputError(f"simulate.topology.{name}: has {there} nodes, {nodes} are needed")
    return there


def _xml(settings: Mapping[str, Any], cluster: Mapping[str, str], properties: Mapping[str, str]) -> str:
    config = [_property(name, value) for name, value in (_FIXED | dict(settings)).items()]
    attributes = " ".join(f"{name}={quoteattr(value)}" for name, value in cluster.items())
    inner = [_property(name, value) for name, value in properties.items()]
    lines = [
        '<?xml version="1.0"?>',
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1">',
        "<config>",
        *config,
        "</config>",
        '<zone id="all" routing="Full">',
        *inner,
        f"<cluster {attributes}/>",
        "</zone>",
        "</platform>",
    ]
    return "\n".join(lines) + "\n"


def _property(name: str, value: Any) -> str:
    return f"  <prop id={quoteattr(name)} value={quoteattr(str(value))}/>"
