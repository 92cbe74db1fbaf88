"""A model written as a SimGrid platform, which the programs that simulate read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any
from xml.sax.saxutils import quoteattr

from workflows.domain import InputError
from workflows.simulation.model import InterconnectModel, Knot
from workflows.simulation.rings import make_rings, ring_zone
from workflows.simulation.tree import make_tree, tree_zone

INFINITE = 1e12
FREE = (Knot(0, 0.0, 0.0, 0.0, 0.0),)
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


def platform_xml(model: InterconnectModel, nodes: int, host_speed: float, corun_percent: float = 0.0) -> str:
    """Describe so many nodes, joined as the model says.

    Parameters
    ----------
    host_speed : float
        Speed of a core relative to a core of the traced machine.
    corun_percent : float
        How much longer a rank computes for each other rank of its node that computes at the same time.

    Returns
    -------
    str
        Costs of messages are in the properties of its outer zone, where messages.hpp reads them.

    Raises
    ------
    InputError
        If the topology has fewer nodes.
    """
    there = nodes_of(model.topology, nodes)
    host = {"speed": f"{float(host_speed)!r}Gf", "core": model.cores_per_node}
    settings = {
        **_FIXED,
        "smpi/coll-selector": "mpich" if model.mpi == "mpich" else "ompi",
        "smpi/async-small-thresh": model.eager_limit_bytes + 1,
        "smpi/send-is-detached-thresh": model.eager_limit_bytes + 1,
        **{f"smpi/{name}": algorithm for name, algorithm in model.collectives.items()},
    }
    properties = {
        "between_nodes": _as_text(model.between),
        "inside_node": _as_text(model.inside),
        "hop_us": float(model.hop_us),
        "eager_limit_bytes": model.eager_limit_bytes,
        "mpi": model.mpi,
        "one_sided": model.one_sided,
        "one_sided_us": float(model.one_sided_us),
        "flush_us": float(model.flush_us),
        "window_us": float(model.window_us),
        "after_work_us": " ".join(f"{work!r} {later!r}" for work, later in model.after_work_us),
        **{name: gap for name in ("gap_us", "gap_us_per_byte") if (gap := float(getattr(model, name)))},
        **({"corun_percent": corun_percent} if corun_percent else {}),
    }
    lines = [
        '<?xml version="1.0"?>',
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1">',
        "<config>",
        *_properties(settings),
        "</config>",
        '<zone id="all" routing="Full">',
        *_properties(properties),
        *_nodes(model, nodes, there, host),
        "</zone>",
        "</platform>",
    ]
    return "\n".join(lines) + "\n"


def _nodes(model: InterconnectModel, nodes: int, there: int, host: Mapping[str, Any]) -> list[str]:
    """Nodes and what joins them, in XML; `there` are the nodes that the topology has."""
    if "fat_tree" in model.topology:
        return tree_zone(model, nodes, host)
    if "rings" in model.topology:
        return ring_zone(model, nodes, host)
    return [_cluster(model, there, host)]


def ideal(model: InterconnectModel) -> InterconnectModel:
    """Give a model of the same nodes, joined by an interconnect on which messages cost nothing."""
    return replace(
        model,
        curve=replace(model.curve, bytes_per_us=INFINITE),
        between=FREE,
        inside=FREE,
        memory_bytes_per_us=INFINITE,
        both_ways_bytes_per_us=None,
        hop_us=0.0,
        gap_us=0.0,
        gap_us_per_byte=0.0,
        after_work_us=(),
        flush_us=0.0,
        window_us=0.0,
        topology={},
    )


def _as_text(knots: Sequence[Knot]) -> str:
    return " ".join(":".join(map(repr, astuple(knot))) for knot in knots)


def _properties(values: Mapping[str, Any]) -> list[str]:
    return [f"  <prop id={quoteattr(name)} value={quoteattr(str(value))}/>" for name, value in values.items()]


def _cluster(model: InterconnectModel, nodes: int, host: Mapping[str, Any]) -> str:
    """SimGrid's cluster of so many nodes."""
    cluster = {
        "id": "nodes",
        "prefix": "node-",
        "suffix": "",
        "radical": f"0-{nodes - 1}",
        **host,
        "lat": "1us",  # a unit: messages.hpp scales it to what a message waits
        "loopback_lat": "1us",
        "bw": f"{model.curve.bytes_per_us!r}MBps",
        "loopback_bw": f"{model.memory_bytes_per_us!r}MBps",
        **_topology(model.topology),
    }
    if model.both_ways_bytes_per_us is not None:
        cluster["limiter_link"] = f"{model.both_ways_bytes_per_us!r}MBps"
    attributes = " ".join(f"{name}={quoteattr(str(value))}" for name, value in cluster.items())
    return f"<cluster {attributes}/>"


def _topology(topology: Mapping[str, Any]) -> dict[str, str]:
    """Attributes of SimGrid's cluster that join its nodes."""
    match dict(topology):
        case {"star": {"backbone_MBps": rate}}:
            return {"bb_bw": f"{float(rate)!r}MBps", "bb_lat": "0us"}
        case {"torus": {"dimensions": dimensions}}:
            return {"topology": "TORUS", "topo_parameters": ",".join(map(str, dimensions))}
        case _:
            return {}


def nodes_of(topology: Mapping[str, Any], nodes: int) -> int:
    """Nodes that a platform must have for `nodes` to be used: a tree or a torus has a fixed number."""
    match dict(topology):
        case {"torus": {"dimensions": dimensions}}:
            there = math.prod(dimensions)
        case {"fat_tree": fat_tree}:
            there = make_tree(fat_tree, nodes).nodes
        case {"rings": rings}:
            there = len(make_rings(rings).nodes())
        case _:
            there = nodes
    if there < nodes:
        (name,) = topology
        raise InputError(f"simulate.topology.{name}: has {there} nodes, {nodes} are needed")
    return there
