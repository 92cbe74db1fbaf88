"""What an interconnect is made of, so that a comparison can say in what two of them differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workflows.domain import InputError, Interconnect
from workflows.launch.mpi.registry import MPI_LIBRARIES
from workflows.paths import ROOT

EMULATED = {"transport": "tcp", "path": "switched"}
"""Of every emulated interconnect: see `workflows.launch.emulation`."""

_KEYS = ("mpi", "link_mbps", "host_bus", "transport", "mtu", "cable", "path", "compiler", "storage")


def factors(interconnect: Interconnect) -> dict[str, str | float]:
    """Tell what an interconnect is made of, as far as it is known.

    Returns
    -------
    dict
        ``mpi`` (title of the MPI library), ``link_mbps`` (10^6 bit/s), ``transport``, ``mtu`` (bytes),
        ``cable``, ``path``, ``compiler``, ``storage``; then all else that decides how it is used, by the
        keys of its file (``launch.mca.btl``).
    """
    emulate, launch = interconnect.emulate or {}, interconnect.launch
    known = {
        "mpi": MPI_LIBRARIES[launch["mpi"]].title if launch else None,
        "link_mbps": interconnect.link_mbps,
        "host_bus": interconnect.host_bus,
        "mtu": emulate.get("mtu"),
        **(EMULATED if emulate else {}),
        **interconnect.factors,
    }
    builds = {"launch.path": ":".join(launch["path"])} if "path" in launch else {}
    sections = {"launch.mca": launch.get("mca"), "launch.env": launch.get("env"), "emulate": emulate}
    rest = {
        f"{section}.{key}": value
        for section, pairs in sections.items()
        for key, value in (pairs or {}).items()
    }
    for key in ("emulate.mtu", "emulate.rate_mbps"):  # among those that are known
        rest.pop(key, None)
    return {key: known[key] for key in _KEYS if known.get(key) is not None} | builds | rest


def model_factors(interconnect: Interconnect) -> dict[str, Any]:
    """Tell what the model of a simulated interconnect says of it.

    Returns
    -------
    dict
        ``latency_us`` and ``peak_MBps`` of its curve, where that is there; ``eager_limit_bytes`` and further
        ``switches_bytes``; ``host_overhead``, ``directions`` (what they share), ``hop_us`` and ``topology``,
        as the section ``simulate`` has them; nothing of another kind.
    """
    if interconnect.simulate is None:
        return {}
    from workflows.simulation.curve import read_curve  # here: a job that measures loads no NumPy

    simulate, known = interconnect.simulate, {}
    try:
        curve = read_curve(simulate, ROOT, f"{interconnect.name}.yaml")
        peak = simulate.get("sustained_MBps", curve.bytes_per_us)
        known = {"latency_us": curve.microseconds[0], "peak_MBps": peak}
    except InputError:  # a curve that no study has measured yet
        pass
    shared = {key: simulate[key] for key in ("half_duplex", "both_ways_MBps") if simulate.get(key)}
    return known | {
        "eager_limit_bytes": simulate["eager_limit_bytes"],
        "switches_bytes": simulate.get("switches_bytes", []),
        "host_overhead": simulate.get("host_overhead", {}),
        "directions": shared,
        "hop_us": simulate["hop_us"],
        "topology": simulate.get("topology", {"crossbar": {}}),
    }


def contradiction(data: Mapping[str, Any]) -> str | None:
    """Which factor of an interconnect's file contradicts what else the file says; one line."""
    given = data.get("factors", {})
    if "emulate" in data and (fixed := sorted(given.keys() & {*EMULATED, "mtu"})):
        return f"factors.{fixed[0]}: does not belong here, since kind is emulated: section emulate decides it"
    transport, carriers = given.get("transport"), data.get("launch", {}).get("env", {}).get("UCX_TLS")
    if transport in ("rc", "uc", "ud", "tcp") and carriers is not None:
        named = {name.partition("_")[0] for name in str(carriers).split(",")}
        if not named & {transport, "all", "ib"}:
            return f"factors.transport: {transport!r} is not among launch.env.UCX_TLS: {carriers}"
    return None
