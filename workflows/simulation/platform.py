"""Write a model as a SimGrid platform, which the simulating programs read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any
from xml.sax.saxutils import quoteattr

from workflows.domain import InputError
from workflows.simulation.model import InterconnectModel, Knot
from workflows.simulation.rings import make_rings, ring_routes
from workflows.simulation.tree import Routes, make_tree, tree_routes

INFINITE_MBPS = 1e12
NO_COST = (Knot(0, 0.0, 0.0, 0.0, 0.0),)
"""Knots of messages that cost nothing."""

_CONFIG = {
    "network/model": "SMPI",
    "network/TCP-gamma": "0",
    "network/crosstraffic": "0",
    "network/weight-S": "0",
    "smpi/cpu-threshold": "-1",
    "smpi/host-speed": "1f",
    "surf/precision": "1e-9",
}
"""SimGrid's options that switch off its own costs: the TCP window, reverse traffic, costs of messages."""


def platform_xml(model: InterconnectModel, nodes: int, host_speed: float, corun_percent: float = 0.0) -> str:
    """Describe nodes and the interconnect between them.

    Parameters
    ----------
    nodes : int
        Nodes in use.
    host_speed : float
        Speed of a core relative to a core of the traced machine.
    corun_percent : float
        Slowdown of a computing rank per other rank that computes on its node, in percent.

    Returns
    -------
    str
        Platform in XML. The properties of its outer zone hold the costs of messages for `messages.hpp`. The
        latency of a link is 1 µs or 0. `messages.hpp` counts the links with 1 µs on a route, and replaces
        their latency by the wait of the message.

    Raises
    ------
    InputError
        The topology has fewer nodes.
    """
    topology_nodes = count_nodes(model.topology, nodes)
    host = {"speed": f"{float(host_speed)!r}Gf", "core": str(model.cores_per_node)}
    settings = {
        **_CONFIG,
        "smpi/coll-selector": "mpich" if model.mpi == "mpich" else "ompi",
        "smpi/async-small-thresh": model.eager_limit_bytes + 1,
        "smpi/send-is-detached-thresh": model.eager_limit_bytes + 1,
        **{f"smpi/{name}": algorithm for name, algorithm in model.collectives.items()},
    }
    properties = {
        "between_nodes": _knots_text(model.between),
        "inside_node": _knots_text(model.inside),
        "hop_us": float(model.hop_us),
        "eager_limit_bytes": model.eager_limit_bytes,
        "mpi": model.mpi,
        "one_sided": model.one_sided,
        "one_sided_us": float(model.one_sided_us),
        "flush_us": float(model.flush_us),
        "window_us": float(model.window_us),
        "after_work_us": " ".join(f"{work!r} {delay!r}" for work, delay in model.after_work_us),
        **{name: gap for name in ("gap_us", "gap_us_per_byte") if (gap := float(getattr(model, name)))},
        **({"corun_percent": corun_percent} if corun_percent else {}),
    }
    if "fat_tree" in model.topology:
        zone = _full_zone(model, nodes, host, tree_routes(model, nodes))
    elif "rings" in model.topology:
        zone = _full_zone(model, nodes, host, ring_routes(model, nodes))
    else:
        zone = [_cluster(model, topology_nodes, host)]
    lines = [
        '<?xml version="1.0"?>',
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1">',
        "<config>",
        *_properties(settings),
        "</config>",
        '<zone id="all" routing="Full">',
        *_properties(properties),
        *zone,
        "</zone>",
        "</platform>",
    ]
    return "\n".join(lines) + "\n"


def ideal(model: InterconnectModel) -> InterconnectModel:
    """Return a model of the same nodes whose messages cost nothing."""
    return replace(
        model,
        curve=replace(model.curve, bytes_per_us=INFINITE_MBPS),
        between=NO_COST,
        inside=NO_COST,
        memory_bytes_per_us=INFINITE_MBPS,
        both_ways_bytes_per_us=None,
        hop_us=0.0,
        gap_us=0.0,
        gap_us_per_byte=0.0,
        after_work_us=(),
        flush_us=0.0,
        window_us=0.0,
        topology={},
    )


def count_nodes(topology: Mapping[str, Any], nodes: int) -> int:
    """Return the nodes of a topology: fixed for a tree, a torus or rings, otherwise the `nodes` in use.

    Raises
    ------
    InputError
        The topology has fewer nodes than are in use.
    """
    match dict(topology):
        case {"torus": {"dimensions": dimensions}}:
            count = math.prod(dimensions)
        case {"fat_tree": fat_tree}:
            count = make_tree(fat_tree, nodes).nodes
        case {"rings": rings}:
            count = len(make_rings(rings).nodes())
        case _:
            count = nodes
    if count < nodes:
        (name,) = topology
        raise InputError(f"simulate.topology.{name}: has {count} nodes, {nodes} are needed")
    return count


def _knots_text(knots: Sequence[Knot]) -> str:
    return " ".join(":".join(map(repr, astuple(knot))) for knot in knots)


def _properties(values: Mapping[str, Any]) -> list[str]:
    return [f"  <prop id={quoteattr(name)} value={quoteattr(str(value))}/>" for name, value in values.items()]


def _attributes(values: Mapping[str, str]) -> str:
    return " ".join(f"{name}={quoteattr(value)}" for name, value in values.items())


def _full_zone(model: InterconnectModel, nodes: int, host: Mapping[str, str], routes: Routes) -> list[str]:
    """Return the lines of a zone that lists the links of every route.

    If both directions of a node share a bandwidth, each route also passes the bus of both nodes. On a ring,
    the link ``in`` of a node has no latency. So a route to the next node has two links with latency, as in a
    crossbar, and the message waits as long as in the curve.
    """
    hosts = [f'<host id="node-{node}" {_attributes(host)}/>' for node in range(nodes)]
    links = [_link(f"loopback-{node}", model.memory_bytes_per_us) for node in range(nodes)]
    lines = [_route(node, node, [f"loopback-{node}"]) for node in range(nodes)]
    bus_rate = model.both_ways_bytes_per_us
    if bus_rate is not None:
        links += [_link(f"bus-{node}", bus_rate, latency_us=0) for node in range(nodes)]
    for name, rate in routes.rates.items():
        links.append(_link(name, rate, latency_us=0 if name.startswith("in-") else 1))
    for (source, destination), path in routes.paths.items():
        if bus_rate is not None:
            path = [f"bus-{source}", *path, f"bus-{destination}"]
        lines.append(_route(source, destination, path))
    return ['<zone id="nodes" routing="Full">', *hosts, *links, *lines, "</zone>"]


def _link(name: str, rate_MBps: float, latency_us: int = 1) -> str:  # noqa: N803
    return f'<link id="{name}" bandwidth="{rate_MBps!r}MBps" latency="{latency_us}us"/>'


def _route(source: int, destination: int, links: Sequence[str]) -> str:
    passed = "".join(f'<link_ctn id="{name}"/>' for name in links)
    return f'<route src="node-{source}" dst="node-{destination}" symmetrical="NO">{passed}</route>'


def _cluster(model: InterconnectModel, nodes: int, host: Mapping[str, str]) -> str:
    """Return SimGrid's element ``cluster`` for a crossbar, a star or a torus."""
    cluster = {
        "id": "nodes",
        "prefix": "node-",
        "suffix": "",
        "radical": f"0-{nodes - 1}",
        **host,
        "lat": "1us",
        "loopback_lat": "1us",
        "bw": f"{model.curve.bytes_per_us!r}MBps",
        "loopback_bw": f"{model.memory_bytes_per_us!r}MBps",
    }
    match dict(model.topology):
        case {"star": {"backbone_MBps": rate}}:
            cluster |= {"bb_bw": f"{float(rate)!r}MBps", "bb_lat": "0us"}
        case {"torus": {"dimensions": dimensions}}:
            cluster |= {"topology": "TORUS", "topo_parameters": ",".join(map(str, dimensions))}
    if model.both_ways_bytes_per_us is not None:
        cluster["limiter_link"] = f"{model.both_ways_bytes_per_us!r}MBps"
    return f"<cluster {_attributes(cluster)}/>"
